"""Predicted cost of fits on clusters, from measured throughput, bytes and the actual scheduler."""

import pickle
import time
from functools import partial
from typing import Any

import numpy as np

from benchmarks import flows

from ._tables import GROUP_ROWS, RUN_ROWS

_SECONDS, _NUMBERS = 0.2, 2**17  # per chunk: seconds of sleep, numbers returned (1 MB)
FITTED, CHECKED = (
    (2, 8, 16),
    (4, 32),
)  # numbers of workers of the clusters used for fitting and for checking
_EACH = 20  # chunks per worker
BANDWIDTH = 1e9 / 8  # bytes per second between machines: one gigabit
_FAN_IN = 8


def measure() -> dict[str, Any]:
    """Measure passes on simulated clusters, and the bytes that a chunk returns in a real pass."""
    return {"clusters": [_simulated(count) for count in sorted(FITTED + CHECKED)],
            "bytes": _result_bytes()}  # fmt: skip


def _simulated(workers: int) -> dict[str, Any]:
    """Time a pass on a Dask cluster whose workers sleep, so that only scheduler and tree cost
    time."""
    import distributed

    from orthoreg import cluster
    from orthoreg._common.parallel import map_reduce

    tasks = _EACH * workers
    local = distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=False, dashboard_address=":0",
        silence_logs=50, memory_limit=0,
    )  # fmt: skip
    with local, distributed.Client(local, set_as_default=False) as client, cluster(client):
        map_reduce(partial(_slept, 0.0), range(workers), "")
        start = time.perf_counter()
        map_reduce(partial(_slept, _SECONDS), range(tasks), "")
        wall = time.perf_counter() - start
    return {"workers": workers, "tasks": tasks, "wall": wall, "ideal": _SECONDS * _EACH}


def _slept(seconds: float, number: int) -> np.ndarray:
    time.sleep(seconds)
    return np.full(_NUMBERS, float(number))


def _result_bytes() -> dict[str, int]:
    """Return the bytes that a chunk returns in the measuring pass and in the pass of moments."""
    import orthoreg as og
    from orthoreg.data import extrapolation_rule
    from orthoreg.data._rows import RowSums
    from orthoreg.solving import gather_partitioned
    from orthoreg.terms import bind

    states, times = flows.runs(GROUP_ROWS // RUN_ROWS, RUN_ROWS, flows.pendulum)
    rows = og.VectorField().observe(og.Dataset.from_arrays(states, times))
    features = bind(og.Polynomial(2) + og.Fourier(1), rows.names, rows.outputs)
    cells = gather_partitioned(features, rows, extrapolation_rule(rows, 0.5, 2.0))
    sums = RowSums.of(rows, 1000 * len(rows))
    return {"measuring": len(pickle.dumps(sums)), "moments": len(pickle.dumps(cells))}


def overhead(clusters: list[dict[str, Any]]) -> tuple[float, float]:
    """Return the scheduler's seconds per task and the tree's seconds per level, by least squares of
    wall - ideal on the simulated clusters for fitting."""
    from scipy.optimize import nnls

    fitted = [run for run in clusters if run["workers"] in FITTED]
    matrix = np.array([[run["tasks"], _levels(run["tasks"])] for run in fitted])
    delays = [max(run["wall"] - run["ideal"], 0.0) for run in fitted]
    task, level = nnls(matrix, np.array(delays))[0]
    return float(task), float(level)


def expected(clusters: list[dict[str, Any]], run: dict[str, Any]) -> float:
    """Return the predicted seconds of a simulated cluster."""
    task, level = overhead(clusters)
    return run["ideal"] + task * run["tasks"] + level * _levels(run["tasks"])


def _levels(chunks: float) -> float:
    return float(np.ceil(np.log(max(chunks, 2)) / np.log(_FAN_IN)))


def predicted(
    cost: dict[str, Any], fixed: float, each: float, passes: int, rows: float, workers: int
) -> dict[str, float]:
    """Return the predicted seconds of a fit and the bytes that workers return.

    The total is the larger of the times of workers and scheduler, plus the times of the tree and
    the client. `fixed` are the seconds independent of rows, and `each` the seconds per row.
    """
    chunks = rows / GROUP_ROWS
    task, level = overhead(cost["clusters"])
    scheduler = passes * chunks * task * (1 + 1 / (_FAN_IN - 1))  # tasks of chunks and of the tree
    moved = sum(cost["bytes"].values())
    tree = _levels(chunks) * (passes * level + _FAN_IN * moved / BANDWIDTH)
    work = each * rows / workers
    return {
        "work": work, "scheduler": scheduler, "tree": tree, "alone": fixed,
        "total": max(work, scheduler) + tree + fixed, "moved": chunks * moved,
    }  # fmt: skip
