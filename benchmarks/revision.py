"""Which code a record was made by."""

import subprocess
from pathlib import Path


def revision() -> str:
    """The commit that is measured, with a plus where files differ from it."""
    found = subprocess.run(
        ["git", "describe", "--always", "--dirty=+", "--exclude=*"],
        cwd=Path(__file__).parent, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return found.stdout.strip()
