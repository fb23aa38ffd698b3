"""Code that all packages share: errors, progress, files, worker processes, contracts."""
