"""Maximum rates of this machine for the operations of the cases."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .timing import best

_SIDE = 1024
_BLOCK = 4096
_BYTES = 2**26


def _gemm() -> tuple[Callable[[], Any], float]:
    a = np.random.default_rng(0).random((_SIDE, _SIDE))
    out = np.empty_like(a)
    return lambda: np.matmul(a, a, out=out), 2.0 * _SIDE**3


def _sine() -> tuple[Callable[[], Any], float]:
    x = np.random.default_rng(0).uniform(-2, 2, _BLOCK)
    out = np.empty_like(x)
    return lambda: [np.sin(x, out=out) for _ in range(100)], 100.0 * _BLOCK


def _copy() -> tuple[Callable[[], Any], float]:
    x = np.ones(_BYTES // 16)
    out = np.zeros_like(x)
    return lambda: np.copyto(out, x), float(_BYTES)


def _call() -> tuple[Callable[[], Any], float]:
    x = np.arange(10.0)
    return lambda: [x + x for _ in range(20_000)], 20_000.0


def _start() -> tuple[Callable[[], Any], float]:
    return lambda: subprocess.run([sys.executable, "-c", "import numpy"], check=True), 1.0


LIMITS: dict[str, tuple[str, Callable[[], tuple[Callable[[], Any], float]]]] = {
    "gemm": ("floating-point operations of a matrix product", _gemm),
    "sine": ("sines of values in the cache", _sine),
    "copy": ("bytes read and written in memory", _copy),
    "call": ("NumPy calls with ten numbers", _call),
    "start": ("starts of a process that imports NumPy", _start),
}


def measure_limit(name: str, repeats: int = 5, min_seconds: float = 0.02) -> float:
    """Return the amount per CPU second, from windows of at least `min_seconds`."""
    run, amount = LIMITS[name][1]()
    return amount / best(run, repeats=repeats, min_seconds=min_seconds if name != "start" else 0.0)


def disk() -> dict[str, float]:
    """Return the bytes written to and read from the disk per second of wall time."""
    content = np.random.default_rng(0).bytes(_BYTES)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "bytes"
        start = time.perf_counter()
        with file.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        written = time.perf_counter()
        file.read_bytes()
        done = time.perf_counter()
    return {"disk_write": _BYTES / (written - start), "disk_read": _BYTES / (done - written)}


def seconds_at_limit(work: dict[str, float], seconds: float, repeats: int = 5) -> float:
    """Return the minimum CPU seconds of an amount of work, measured now. Windows are about as long
    as the `seconds` that the work took, because other processes disturb short windows more."""
    window = min(max(seconds, 0.02), 0.5)
    return sum(amount / measure_limit(name, repeats, window) for name, amount in work.items())
