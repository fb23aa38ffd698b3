"""Code that all packages use: errors, progress, files, worker processes, contracts."""
