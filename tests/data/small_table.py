"""A small table, and functions that write it to a file."""

from pathlib import Path

import numpy as np

T = np.array([0.0, 0.5, 1.0, 1.5, 2.0])
X = np.array([1.25, -2.5, 3.75, -5.125, 6.5])
V = np.array([-0.5, 0.25, 1e-3, 2.0, 12.0])
ROWS = "".join(f"{t},{x},{v}\n" for t, x, v in zip(T, X, V, strict=True))
CSV = "t,x,v\n" + ROWS


def written(folder: Path, content: str | bytes, name: str = "runs.csv") -> Path:
    """Write a file with this content."""
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path
