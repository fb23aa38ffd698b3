"""Fits of tables that do not fit into memory: time and memory by rows, two workers against one, a
worker that is killed, and from these what 1e9 and 1e11 rows would cost.

`ORTHOREG_SCALE_ROWS` is the largest number of rows (1e7 if not given; 1e8 are 10 GB of Parquet,
made on the spot in a temporary folder and removed after), `ORTHOREG_SCALE_FOLDER` where they go.
"""

import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import flows

_ROOT = Path(__file__).parents[1]
_FILE_ROWS, _RUN_ROWS, _GROUP_ROWS = 1_000_000, 100, 250_000
_OTHER = 8  # columns beside run, time and two states, which the fit does not use
_MOST = 10_000_000
_FIT = """
import json, resource, sys, time
import orthoreg as og
from orthoreg.data import ChunkedDataset
folder, rows, workers, kill, out = sys.argv[1:]
passes = {}

def timed(method):
    def call(self, function, words):
        start = time.perf_counter()
        found = method(self, function, words)
        passes.setdefault(words, []).append(time.perf_counter() - start)
        return found
    return call

def fit():
    files = sorted(__import__("pathlib").Path(folder).glob("*.parquet"))[:max(1, int(rows) // FILE)]
    data = og.read_table(files, "t", ["theta", "omega"], group="run", chunks=CHUNK)
    indexed = time.perf_counter()
    ChunkedDataset.total = timed(ChunkedDataset.total)
    ChunkedDataset.each = timed(ChunkedDataset.each)
    model = og.OrthoReg().fit(data)
    return model, data, indexed

def main():
    start, cpu = time.perf_counter(), time.process_time()
    with og.cluster(int(workers) or None) as client:
        begun = time.perf_counter()
        if int(kill):
            import os, signal, threading
            def end_one():
                time.sleep(float(kill))
                pid = list(client.run(os.getpid).values())[0]
                os.kill(pid, signal.SIGKILL)
            threading.Thread(target=end_one, daemon=True).start()
        used = sum(client.run(time.process_time).values()) if client else 0.0
        model, data, indexed = fit()
        ended = time.perf_counter()
        of_workers = sum(client.run(time.process_time).values()) - used if client else 0.0
    print(json.dumps({
        "rows": data.n_samples, "runs": data.n_runs, "chunks": data.n_chunks,
        "wall": ended - begun, "index": indexed - begun,
        "cpu": time.process_time() - cpu, "worker_cpu": of_workers,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "passes": passes, "equations": model.equations(),
        "coefficients": model.coefficients_.tolist(),
    }))

if __name__ == "__main__":
    main()
"""


def measure() -> dict[str, Any]:
    """Fits of 1e5 rows up to the largest number, each in a process of one thread."""
    most = int(float(os.environ.get("ORTHOREG_SCALE_ROWS", _MOST)))
    sizes = [10**power for power in range(5, 12) if 10**power <= most]
    with tempfile.TemporaryDirectory(dir=os.environ.get("ORTHOREG_SCALE_FOLDER")) as place:
        folder = Path(place)
        found: dict[str, Any] = {"fits": []}
        for size in sizes:
            found["bytes"] = write_tables(folder, size)
            found["fits"].append(_fitted(folder, size))
        rows = min(most, 10**7)
        found["workers"] = [_fitted(folder, rows, workers=count) for count in (1, 2)]
        plain = next(one for one in found["fits"] if one["rows"] == rows)
        delay = max(1, int(0.4 * found["workers"][1]["wall"]))
        killed = _fitted(folder, rows, workers=2, kill=delay)
        found["killed"] = {"after": delay, "wall": killed["wall"],
                           "difference": _difference(killed, plain)}  # fmt: skip
        found["difference"] = max(_difference(one, plain) for one in found["workers"])
        found["cluster"] = simulated()
        found["result_bytes"] = result_bytes()
    return found


def write_tables(folder: Path, rows: int) -> int:
    """Parquet files of a pendulum's runs, a million rows each; the bytes of all."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for number in range(max(1, rows // _FILE_ROWS)):
        file = folder / f"{number:05d}.parquet"
        own = min(rows, _FILE_ROWS)
        if file.exists() and pq.read_metadata(file).num_rows == own:
            continue
        states, times = flows.runs(own // _RUN_ROWS, _RUN_ROWS, flows.pendulum, seed=number)
        x = np.concatenate(states)
        rng = np.random.default_rng(number)
        columns = {
            "run": np.repeat(np.arange(own // _RUN_ROWS), _RUN_ROWS),
            "t": np.tile(times, own // _RUN_ROWS),
            "theta": x[:, 0],
            "omega": x[:, 1],
        } | {f"other{i}": rng.standard_normal(own) for i in range(_OTHER)}
        pq.write_table(pa.table(columns), file, row_group_size=_GROUP_ROWS)
    return sum(file.stat().st_size for file in folder.glob("*.parquet"))


def _fitted(folder: Path, rows: int, *, workers: int = 0, kill: int = 0) -> dict[str, Any]:
    code = _FIT.replace("FILE", str(_FILE_ROWS)).replace("CHUNK", str(_GROUP_ROWS))
    script = folder / "fit.py"
    script.write_text(code)
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    arguments = [str(folder), str(rows), str(workers), str(kill), ""]
    done = subprocess.run(
        [sys.executable, str(script), *arguments], capture_output=True, text=True,
        env=os.environ | one, cwd=_ROOT,
    )  # fmt: skip
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def _difference(one: dict[str, Any], other: dict[str, Any]) -> float:
    a, b = np.array(one["coefficients"]), np.array(other["coefficients"])
    return float(np.abs(a - b).max())


def result_bytes() -> int:
    """What one chunk of the moment pass sends on: the moments of all its cells."""
    import orthoreg as og
    from orthoreg.data import extrapolation_rule
    from orthoreg.libraries import bind
    from orthoreg.moments import gather_partitioned

    states, times = flows.runs(_GROUP_ROWS // _RUN_ROWS, _RUN_ROWS, flows.pendulum)
    rows = og.VectorField().observe(og.Dataset.from_arrays(states, times))
    features = bind(og.Polynomial(2) + og.Fourier(1), rows.names, rows.outputs)
    cells = gather_partitioned(features, rows, extrapolation_rule(rows, 0.5, 2.0))
    return len(pickle.dumps(cells))


def simulated() -> list[dict[str, Any]]:
    """A pass on a Dask cluster whose workers sleep in place of working: what scheduler and tree
    cost. Each chunk takes 0.2 s and hands on 1 MB."""
    import distributed

    from orthoreg import cluster
    from orthoreg._parallel import map_reduce

    found, seconds, size = [], 0.2, 2**17
    for workers in (2, 8, 32):
        tasks = 20 * workers
        local = distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=False, dashboard_address=":0",
            silence_logs=50, memory_limit=0,
        )  # fmt: skip
        with local, distributed.Client(local, set_as_default=False) as client, cluster(client):
            map_reduce(partial(_slept, 0.0, size), range(workers), "")
            start = time.perf_counter()
            map_reduce(partial(_slept, seconds, size), range(tasks), "")
            wall = time.perf_counter() - start
        found.append({"workers": workers, "tasks": tasks, "seconds": seconds, "wall": wall,
                      "ideal": seconds * tasks / workers})  # fmt: skip
    return found


def _slept(seconds: float, size: int, number: int) -> np.ndarray:
    time.sleep(seconds)
    return np.full(size, float(number))


def overhead(record: dict[str, Any]) -> tuple[float, float]:
    """Seconds that the scheduler needs for a task, and that a level of the tree adds: least
    squares of wall - ideal on the simulated clusters."""
    rows = record["cluster"]
    levels = [np.ceil(np.log(one["tasks"]) / np.log(8)) for one in rows]
    matrix = np.column_stack([[one["tasks"] for one in rows], levels])
    late = [max(one["wall"] - one["ideal"], 0.0) for one in rows]
    from scipy.optimize import nnls

    return tuple(float(value) for value in nnls(matrix, np.array(late))[0])  # type: ignore


def predicted(record: dict[str, Any], rows: float, workers: int) -> dict[str, float]:
    """Seconds of a fit: passes shared by workers, or the scheduler where it is slower; the tree;
    what only the client does; and the bytes that reach it."""
    largest = record["fits"][-1]
    passes = len([one for own in largest["passes"].values() for one in own]) + 1  # the index
    work = largest["cpu"] / largest["rows"] * rows / workers
    chunks = rows / _GROUP_ROWS
    task, level = overhead(record)
    scheduler = passes * chunks * task * (1 + 1 / 7)  # tasks, and those of the tree
    levels = np.ceil(np.log(max(chunks, 2)) / np.log(8))
    per_level = level + 8 * record["result_bytes"] / _BANDWIDTH
    alone = record["fits"][0]["cpu"]
    return {
        "work": work, "scheduler": scheduler, "tree": passes * levels * per_level,
        "alone": alone, "total": max(work, scheduler) + passes * levels * per_level + alone,
        "moved": passes * chunks * record["result_bytes"],
    }  # fmt: skip


_BANDWIDTH = 1e9 / 8  # bytes a second between machines: one gigabit


def render(record: dict[str, Any]) -> str:
    """The section of the page."""
    fits, workers = record["fits"], record["workers"]
    lines = ["## Beyond memory", "", _WORDS, "", "| rows | CPU s | ns a row | peak MB |",
             "|---|---|---|---|"]  # fmt: skip
    for one in fits:
        each = 1e9 * one["cpu"] / one["rows"]
        lines.append(f"| {one['rows']:.0e} | {one['cpu']:.1f} | {each:.0f} | {one['memory']:.0f} |")
    first, second = workers
    shared = [one["worker_cpu"] / (one["worker_cpu"] + one["cpu"]) for one in workers]
    lines += [
        "",
        f"On {first['rows']:.0e} rows one worker takes {first['wall']:.1f} s of wall time, two "
        f"{second['wall']:.1f} s: {first['wall'] / second['wall']:.2f} times; workers do "
        f"{100 * shared[1]:.0f} % of the CPU seconds. Coefficients differ from those of one "
        f"process by at most {record['difference']:.1g}; with one of two workers killed after "
        f"{record['killed']['after']} s, by {record['killed']['difference']:.1g}.",
        "",
    ]
    return "\n".join(lines)


_WORDS = (
    "The default fit of a pendulum's runs of 100 rows in Parquet files of a million, read in "
    "chunks of 250,000 rows; one thread, peak memory of the process with all libraries."
)


def page(record: dict[str, Any]) -> str:
    """`docs/scale.md`."""
    task, level = overhead(record)
    largest = record["fits"][-1]
    passes = len([one for own in largest["passes"].values() for one in own]) + 1
    lines = [
        "# Scale",
        "",
        "Written by `python -m benchmarks scale` from `benchmarks/records/scale.json`.",
        "",
        render(record).partition("\n")[2].strip(),
        "",
        "## On paper",
        "",
        f"A fit makes {passes} passes over the data, the index of runs among them. A core does "
        f"{largest['rows'] / largest['cpu']:.2g} rows a second, all passes together. A chunk of "
        f"{_GROUP_ROWS:,} rows hands on {record['result_bytes'] / 1e6:.1f} MB of moments whatever "
        f"its rows; eight of them are added up at a time. A task costs the scheduler "
        f"{1e3 * task:.2f} ms and a level of the tree {1e3 * level:.0f} ms, fitted to the "
        "simulated clusters below; machines are taken to be joined by one gigabit a second. A fit "
        "takes the longer of work shared by workers and tasks handed out by one scheduler, the "
        "tree, and what the client does alone (selection, solving, forecasts: the fit of 1e5 "
        "rows). The time to read from a store is that of the workers' own disks here.",
        "",
        "| rows | workers | work s | scheduler s | tree s | alone s | together | moments moved |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for rows in (1e9, 1e11):
        for workers in (10, 1000):
            one = predicted(record, rows, workers)
            lines.append(
                f"| {rows:.0e} | {workers} | {one['work']:.0f} | {one['scheduler']:.0f} | "
                f"{one['tree']:.1f} | {one['alone']:.1f} | {one['total']:.0f} s | "
                f"{one['moved'] / 1e9:.1f} GB |"
            )
    most = largest["cpu"] / largest["rows"] * _GROUP_ROWS / (passes * task * (1 + 1 / 7) or 1e-9)
    lines += [
        "",
        f"It stops scaling where the scheduler hands out chunks more slowly than workers finish "
        f"them: at about {most:,.0f} workers with chunks of {_GROUP_ROWS:,} rows, and at "
        "proportionally more with larger ones, until memory ends that. With fewer rows the part "
        "that the client does alone decides.",
        "",
        "Workers that sleep 0.2 s a chunk and hand on 1 MB, on the real scheduler and tree, in one "
        "process (on a busy machine the excess is an upper bound):",
        "",
        "| workers | chunks | ideal s | measured s |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {one['workers']} | {one['tasks']} | {one['ideal']:.2f} | {one['wall']:.2f} |"
        for one in record["cluster"]
    ]
    return "\n".join(lines) + "\n"
