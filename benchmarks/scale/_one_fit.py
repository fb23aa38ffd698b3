"""Fit in a separate process: `python -m benchmarks.scale._one_fit FOLDER ROWS WORKERS KILL`.

Print the cost as a line of JSON.
"""

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import orthoreg as og
from orthoreg.data import ChunkedDataset

from ._memory import peak_memory
from ._tables import FILE_ROWS, GROUP_ROWS


def main(folder: str, rows: str, workers: str, kill: str) -> None:
    """Read `rows` rows in chunks and fit the default model. If `kill` is not 0, one of the workers
    is killed after `kill` seconds."""
    passes: dict[str, list[float]] = {}
    for name in ("sum_chunks", "map_chunks"):
        setattr(ChunkedDataset, name, _timed(getattr(ChunkedDataset, name), passes))
    files = sorted(Path(folder).glob("*.parquet"))[: max(1, int(rows) // FILE_ROWS)]
    with og.cluster(int(workers) or None) as client:
        if float(kill):
            threading.Thread(target=_kill_worker, args=(client, float(kill)), daemon=True).start()
        before, model = (
            _worker_cpu(client),
            og.OrthoReg(),
        )  # all processes have now imported the package
        start, cpu = time.perf_counter(), time.process_time()
        data = og.read_table(files, "t", ["theta", "omega"], group="run", chunks=GROUP_ROWS)
        indexed = time.perf_counter()
        model.fit(data)
        result: dict[str, Any] = {
            "wall": time.perf_counter() - start,
            "index": indexed - start,
            "cpu": time.process_time() - cpu,
        }
        after = _worker_cpu(client)
        # the seconds of a killed worker are lost
        result["worker_cpu"] = sum(after.values()) - sum(before.get(k, 0.0) for k in after)
        result["worker_memory"] = max(client.run(peak_memory).values()) if client else 0.0
    print(json.dumps(result | {
        "rows": data.n_samples, "runs": data.n_runs, "chunks": data.n_chunks,
        "memory": peak_memory(), "passes": passes, "equations": model.equations(),
        "coefficients": model.coefficients_.tolist(),
    }))  # fmt: skip


def _timed(method: Any, passes: dict[str, list[float]]) -> Any:
    def call(self: Any, function: Any, words: str) -> Any:
        start = time.perf_counter()
        result = method(self, function, words)
        passes.setdefault(words, []).append(time.perf_counter() - start)
        return result

    return call


def _kill_worker(client: Any, after: float) -> None:
    time.sleep(after)
    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)


def _worker_cpu(client: Any) -> dict[str, float]:
    return {} if client is None else client.run(_cpu)


def _cpu() -> float:
    """Return the CPU seconds of a process after imports."""
    og.OrthoReg()
    return time.process_time()


if __name__ == "__main__":
    main(*sys.argv[1:])
