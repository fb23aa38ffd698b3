"""What every package uses: errors, progress, files, worker processes, contracts."""
