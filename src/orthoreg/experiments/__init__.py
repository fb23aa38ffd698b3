"""The experiments of the paper: settings, methods, jobs, tables, verdicts and figures."""
