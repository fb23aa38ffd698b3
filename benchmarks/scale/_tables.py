"""Parquet files of runs of a pendulum, and fits of these files in processes with one thread."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import flows

ROOT = Path(__file__).parents[2]
FILE_ROWS, RUN_ROWS, GROUP_ROWS = 1_000_000, 100, 250_000
_OTHER = 8  # columns that the fit does not use


@contextmanager
def tables(rows: int) -> Iterator[Path]:
    """Yield a folder with Parquet files of `rows` rows, and remove it afterwards."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("ORTHOREG_SCALE_FOLDER")) as folder:
        _write(Path(folder), rows)
        yield Path(folder)


def _write(folder: Path, rows: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    own = min(rows, FILE_ROWS)
    for number in range(max(1, rows // FILE_ROWS)):
        states, times = flows.runs(own // RUN_ROWS, RUN_ROWS, flows.pendulum, seed=number)
        x = np.concatenate(states)
        rng = np.random.default_rng(number)
        columns = {
            "run": np.repeat(np.arange(own // RUN_ROWS), RUN_ROWS),
            "t": np.tile(times, own // RUN_ROWS),
            "theta": x[:, 0],
            "omega": x[:, 1],
        } | {f"other{i}": rng.standard_normal(own) for i in range(_OTHER)}
        pq.write_table(pa.table(columns), folder / f"{number:05d}.parquet",
                       row_group_size=GROUP_ROWS)  # fmt: skip


def size_of(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.glob("*.parquet"))


def fitted(folder: Path, rows: int, *, workers: int = 0, kill: float = 0) -> dict[str, Any]:
    """Return the cost of a default fit of these files."""
    return in_process("benchmarks.scale._one_fit", folder, rows, workers, kill)


def in_process(module: str, *arguments: Any) -> dict[str, Any]:
    """Return the JSON that a module prints in a process with one thread."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    done = subprocess.run(
        [sys.executable, "-m", module, *map(str, arguments)], capture_output=True, text=True,
        env=os.environ | dict.fromkeys(names, "1"), cwd=ROOT,
    )  # fmt: skip
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def difference(one: dict[str, Any], other: dict[str, Any]) -> float:
    """Return the largest difference between the coefficients of two fits."""
    a, b = np.array(one["coefficients"]), np.array(other["coefficients"])
    return float(np.abs(a - b).max())
