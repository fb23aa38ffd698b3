"""Which code a record was made by."""

import hashlib
import subprocess
from pathlib import Path

_ROOT = Path(__file__).parents[1]


def revision() -> str:
    """The commit that is measured, with a plus where files differ from it."""
    return _git("describe", "--always", "--dirty=+", "--exclude=*").strip()


def source_revision() -> str:
    """The last commit that changed `src`; with a plus and a digest where `src` differs from it."""
    commit = _git("log", "-1", "--format=%h", "--", "src").strip()
    changes = _git("diff", "HEAD", "--", "src")
    return commit + (f"+{hashlib.sha1(changes.encode()).hexdigest()[:7]}" if changes else "")


def _git(*arguments: str) -> str:
    found = subprocess.run(
        ["git", *arguments], cwd=_ROOT, capture_output=True, text=True, check=False
    )
    return found.stdout
