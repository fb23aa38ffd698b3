"""Cases of a benchmark, each in a separate process with a CPU time limit, and stored when finished.

A case is a dictionary with an "id" and the input of a function, which is named `module:function`,
takes the case and returns a dictionary. Results are appended to a file of JSON lines as they
finish. A case with a result of the same revision is not run again.
"""

import argparse
import importlib
import json
import os
import resource
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zlib import crc32

from benchmarks.revision import source_revision
from benchmarks.timing import cpu_seconds

WALL_FACTOR = 20  # wall seconds allowed per CPU second, because the machine is shared
_ROOT = Path(__file__).parents[1]
_ONE_THREAD = {
    name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
} | {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"}


def run_jobs(
    function: str,
    cases: Sequence[dict[str, Any]],
    store: Path,
    *,
    workers: int = 1,
    cpu_limit: float = 300.0,
    revision: str | None = None,
) -> dict[str, dict[str, Any]]:
    """Return the results of all cases by id, including results in `store`.

    If a case takes more than `cpu_limit` CPU seconds, or fails, its result has "status" and "error"
    instead of the function's result.
    """
    revision = source_revision() if revision is None else revision
    done = stored(store, revision)
    pending = [case for case in cases if case["id"] not in done]
    pending.sort(
        key=lambda case: crc32(case["id"].encode())
    )  # random order, so that every part is representative
    store.parent.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(workers) as pool:
        futures = {pool.submit(_run, function, case, cpu_limit): case for case in pending}
        for number, future in enumerate(as_completed(futures), start=1):
            case, result = futures[future], future.result()
            done[case["id"]] = result
            with store.open("a") as lines:
                entry = {"id": case["id"], "revision": revision, "result": result}
                lines.write(json.dumps(entry) + "\n")
            note = f"{result['status']}, {result['cpu_seconds']:.1f} s of CPU"
            print(f"  {number}/{len(pending)} {case['id']}: {note}", file=sys.stderr, flush=True)
    return {case["id"]: done[case["id"]] for case in cases}


def stored(store: Path, revision: str) -> dict[str, dict[str, Any]]:
    """Return the results of this revision in a file of JSON lines, by id."""
    if not store.exists():
        return {}
    entries = [json.loads(line) for line in store.read_text().splitlines()]
    return {entry["id"]: entry["result"] for entry in entries if entry["revision"] == revision}


def with_results(
    cases: Sequence[dict[str, Any]], store: Path, revision: str | None = None
) -> list[dict[str, Any]]:
    """Return the cases that have a result of this revision."""
    done = stored(store, source_revision() if revision is None else revision)
    return [case for case in cases if case["id"] in done]


def _run(function: str, case: dict[str, Any], cpu_limit: float) -> dict[str, Any]:
    """Run one case in a new process."""
    start = time.monotonic()
    paths = [str(_ROOT / "src"), str(_ROOT), os.environ.get("PYTHONPATH", "")]
    variables = os.environ | _ONE_THREAD | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    command = [sys.executable, "-m", "benchmarks._jobs", function, str(cpu_limit)]
    try:
        process = subprocess.run(
            command, input=json.dumps(case), capture_output=True, text=True, cwd=_ROOT,
            env=variables, timeout=WALL_FACTOR * cpu_limit, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return _failed("time limit", "no CPU time was left for the case", cpu_limit)
    lines = process.stdout.splitlines()
    if process.returncode == 0 and lines:
        return json.loads(lines[-1]) | {"wall_seconds": round(time.monotonic() - start, 2)}
    if process.returncode in (-24, -9):  # SIGXCPU, or SIGKILL at the hard limit
        return _failed("time limit", f"more than {cpu_limit:g} s of CPU", cpu_limit)
    return _failed("crashed", (process.stderr.splitlines() or [""])[-1], 0.0)


def _failed(status: str, error: str, seconds: float) -> dict[str, Any]:
    return {"status": status, "error": error, "cpu_seconds": seconds}


def _work(function: str, cpu_limit: float) -> None:
    """Run the case that is read from standard input, and print its result as JSON."""
    case = json.loads(sys.stdin.read())
    module, name = function.split(":")
    call = getattr(importlib.import_module(module), name)
    spent = cpu_seconds()
    seconds = int(spent + cpu_limit) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    warnings.simplefilter("ignore")
    try:
        result: dict[str, Any] = {"status": "done"} | call(case)
    except Exception:
        traceback.print_exc()
        result = {"status": "failed", "error": traceback.format_exc().splitlines()[-1]}
    result["cpu_seconds"] = round(cpu_seconds() - spent, 2)
    print(json.dumps(result, default=float))


@contextmanager
def cpu_clock(seconds: dict[str, float], name: str) -> Iterator[None]:
    """Store the CPU seconds of a block under `name`."""
    start = cpu_seconds()
    yield
    seconds[name] = round(cpu_seconds() - start, 2)


def options(description: str, out: str) -> argparse.ArgumentParser:
    """Return the command line options that benchmarks of many cases share."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "--only", default="", help="run cases whose id contains this text, or one of several texts"
    )
    parser.add_argument("--limit", type=int, help="number of cases, selected evenly from all cases")
    parser.add_argument("--seeds", type=int, default=1, help="number of seeds")
    parser.add_argument("--workers", type=int, default=1, help="number of processes")
    parser.add_argument("--cpu-limit", type=float, default=300.0, help="CPU seconds per case")
    parser.add_argument(
        "--stored", action="store_true", help="use stored results instead of running cases"
    )
    parser.add_argument("--out", type=Path, default=Path(out), help="record to write")
    return parser


def selected(
    cases: Sequence[dict[str, Any]], only: str = "", limit: int | None = None
) -> list[dict[str, Any]]:
    """Return the cases whose id contains one of the words in `only`, or `limit` of them."""
    words = [word for word in only.split(",") if word]
    wanted = [case for case in cases if not words or any(word in case["id"] for word in words)]
    if limit is None or limit >= len(wanted):
        return wanted
    return [wanted[i * len(wanted) // limit] for i in range(limit)]


if __name__ == "__main__":
    _work(sys.argv[1], float(sys.argv[2]))
