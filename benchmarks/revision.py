"""The revision of the code that produced a record."""

import hashlib
import subprocess
from pathlib import Path

_ROOT = Path(__file__).parents[1]


def revision() -> str:
    """Return the current commit, with a plus if files differ from it."""
    return _git("describe", "--always", "--dirty=+", "--exclude=*").strip()


def source_revision() -> str:
    """Return the last commit that changed `src`, with a plus and a digest if `src` differs."""
    commit = _git("log", "-1", "--format=%h", "--", "src").strip()
    changes = _git("diff", "HEAD", "--", "src")
    return commit + (f"+{hashlib.sha1(changes.encode()).hexdigest()[:7]}" if changes else "")


def _git(*arguments: str) -> str:
    found = subprocess.run(
        ["git", *arguments], cwd=_ROOT, capture_output=True, text=True, check=False
    )
    return found.stdout
