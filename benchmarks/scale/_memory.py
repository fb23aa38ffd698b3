"""The memory of a process."""

import re
from pathlib import Path


def peak_memory() -> float:
    """Return the peak memory of this process in MB. The count of the system (`ru_maxrss`) includes
    the memory of the parent process."""
    match = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    assert match is not None
    return int(match[1]) / 1024
