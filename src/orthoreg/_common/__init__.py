"""Code shared by all packages: errors, progress, files, worker processes, contracts."""
