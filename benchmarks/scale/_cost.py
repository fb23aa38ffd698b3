"""What fits on clusters cost, on paper: from measured throughput, bytes and the real scheduler."""

import pickle
import time
from functools import partial
from typing import Any

import numpy as np

from benchmarks import flows

from ._tables import GROUP_ROWS, RUN_ROWS

_SECONDS, _NUMBERS = 0.2, 2**17  # that a worker sleeps for a chunk, and hands on: 1 MB
FITTED, CHECKED = (2, 8, 16), (4, 32)  # workers of the clusters that costs come from and not
_EACH = 20  # chunks for each worker
BANDWIDTH = 1e9 / 8  # bytes a second between machines: one gigabit
_FAN_IN = 8


def measure() -> dict[str, Any]:
    """Passes on simulated clusters, and the bytes that a chunk hands on in each real pass."""
    return {"clusters": [_simulated(count) for count in sorted(FITTED + CHECKED)],
            "bytes": _result_bytes()}  # fmt: skip


def _simulated(workers: int) -> dict[str, Any]:
    """A pass on a Dask cluster whose workers sleep in place of working: what scheduler and tree
    cost."""
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
    """What one chunk sends on in the pass that measures the data, and in that of moments."""
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
    """Seconds that the scheduler needs for a task, and that a level of the tree adds: least
    squares of wall - ideal on the simulated clusters that costs come from."""
    from scipy.optimize import nnls

    chosen = [one for one in clusters if one["workers"] in FITTED]
    matrix = np.array([[one["tasks"], _levels(one["tasks"])] for one in chosen])
    late = [max(one["wall"] - one["ideal"], 0.0) for one in chosen]
    task, level = nnls(matrix, np.array(late))[0]
    return float(task), float(level)


def expected(clusters: list[dict[str, Any]], one: dict[str, Any]) -> float:
    """The seconds of a simulated cluster by the costs of others."""
    task, level = overhead(clusters)
    return one["ideal"] + task * one["tasks"] + level * _levels(one["tasks"])


def _levels(chunks: float) -> float:
    return float(np.ceil(np.log(max(chunks, 2)) / np.log(_FAN_IN)))


def predicted(
    cost: dict[str, Any], fixed: float, each: float, passes: int, rows: float, workers: int
) -> dict[str, float]:
    """Seconds of a fit: passes shared by workers, or the scheduler where it is slower; the tree;
    what only the client does; and the bytes that workers hand on. `fixed` are the seconds that do
    not depend on rows, `each` those of a row."""
    chunks = rows / GROUP_ROWS
    task, level = overhead(cost["clusters"])
    scheduler = passes * chunks * task * (1 + 1 / (_FAN_IN - 1))  # tasks, and those of the tree
    moved = sum(cost["bytes"].values())
    tree = _levels(chunks) * (passes * level + _FAN_IN * moved / BANDWIDTH)
    work = each * rows / workers
    return {
        "work": work, "scheduler": scheduler, "tree": tree, "alone": fixed,
        "total": max(work, scheduler) + tree + fixed, "moved": chunks * moved,
    }  # fmt: skip
