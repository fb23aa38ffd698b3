"""CPU seconds of commands and fits, each in a process of its own with one thread.

With `ORTHOREG_BEFORE=<git revision>` the same cases also run with the package of that revision, in
turn with today's, so that the ratio is one of the same minutes on the same machine.
"""

import json
import os
import resource
import subprocess
import sys
import tarfile
import tempfile
from io import BytesIO
from pathlib import Path
from statistics import median
from typing import Any

_ROOT = Path(__file__).parents[1]
_RUNS = """
import numpy as np
import orthoreg as og

def runs(count, rows, step, slope, dimension=2, seed=0):
    x = np.random.default_rng(seed).uniform(-2, 2, (count, dimension))
    states = [x]
    for _ in range(rows - 1):
        for _ in range(5):
            h = step / 5
            k1 = slope(x)
            k2 = slope(x + h / 2 * k1)
            k3 = slope(x + h / 2 * k2)
            k4 = slope(x + h * k3)
            x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        states.append(x)
    return list(np.stack(states, axis=1)), step * np.arange(rows)

def pendulum(x, missing=0.0):
    force = -np.sin(x[:, 0]) - 0.2 * x[:, 1] + missing * np.tanh(4 * x[:, 0])
    return np.stack([x[:, 1], force], axis=1)

def chain(x, n=10):
    q, v = x[:, :n], x[:, n:]
    a = -1.2 * q - 0.15 * v
    a[:, 1:] += 0.5 * (q[:, :-1] - q[:, 1:])
    a[:, :-1] += 0.5 * (q[:, 1:] - q[:, :-1])
    return np.hstack([v, a])

def table(count, rows, file):
    states, times = runs(count, rows, 0.05, pendulum)
    number = np.repeat(np.arange(count), rows)
    columns = np.column_stack([number, np.tile(times, count), np.concatenate(states)])
    np.savetxt(file, columns, delimiter=",", header="run,t,theta,omega", comments="", fmt="%.12g")
"""
_FIT = ["--time", "t", "--states", "theta,omega", "--group", "run", "--out", "{folder}/out"]
_COMMANDS = {
    "import orthoreg": ["-c", "import orthoreg"],
    "orthoreg --version": ["-m", "orthoreg", "--version"],
    "orthoreg --help": ["-m", "orthoreg", "--help"],
    "orthoreg fit, 3 runs of 200 rows": ["-m", "orthoreg", "fit", "{folder}/small.csv", *_FIT],
    "orthoreg fit, 100,000 rows": ["-m", "orthoreg", "fit", "{folder}/large.csv", *_FIT],
}
_FITS = {
    "default fit, 100,000 samples, with a residual":
        "runs(1000, 100, 0.05, lambda x: pendulum(x, 0.5))",
    "default fit, 1,000,000 samples, complete library": "runs(10000, 100, 0.05, pendulum)",
    "default fit, 1,000,000 samples, with a residual":
        "runs(10000, 100, 0.05, lambda x: pendulum(x, 0.5))",
    "default fit, 20 states, 2,000 samples": "runs(10, 200, 0.05, chain, 20)",
}  # fmt: skip
_MEASURED = """
states, times = {data}
data = og.Dataset.from_arrays(states, times)
og.OrthoReg().fit(data[:2])  # loads what a fit needs
import time
start = time.process_time()
{fit}
print(time.process_time() - start)
"""
_STLSQ = {
    "STLSQ, smoothed differences, 1,000,000 samples in 10,000 runs":
        "og.STLSQ(loss=og.VectorField(og.SmoothedFiniteDifference())).fit(data)",
    "PySINDy's STLSQ, the same": (
        "import pysindy\n"
        "start = time.process_time()\n"
        "library = pysindy.PolynomialLibrary(degree=2) + pysindy.FourierLibrary(n_frequencies=1)\n"
        "optimizer = pysindy.STLSQ(threshold=0.045)\n"
        "model = pysindy.SINDy(optimizer=optimizer, feature_library=library,\n"
        "    differentiation_method=pysindy.SmoothedFiniteDifference())\n"
        "model.fit(states, t=times[1] - times[0])"
    ),
}  # fmt: skip


def measure(repeats: int = 3) -> dict[str, Any]:
    """Medians over repeats that alternate between the versions."""
    before = os.environ.get("ORTHOREG_BEFORE")
    with tempfile.TemporaryDirectory() as folder:
        sources = {"now": _ROOT / "src"}
        if before:
            sources["before"] = _checked_out(before, Path(folder))
        _python(sources["now"], ["-c", _RUNS + f"table(3, 200, {folder + '/small.csv'!r})\n"
                                 f"table(1000, 100, {folder + '/large.csv'!r})"])  # fmt: skip
        rows = []
        for name, arguments in _COMMANDS.items():
            filled = [part.format(folder=folder) for part in arguments]
            rows.append(_compared(name, sources, repeats, lambda src, a=filled: _cpu(src, a)))
        for name, data in _FITS.items():
            script = _RUNS + _MEASURED.format(data=data, fit="og.OrthoReg().fit(data)")
            rows.append(_compared(name, sources, 1, lambda src, s=script: _printed(src, s)))
        for name, call in _STLSQ.items():
            script = _RUNS + _MEASURED.format(data=_FITS_DATA, fit=call)
            rows.append(_compared(name, sources, 1, lambda src, s=script: _printed(src, s)))
    return {"rows": rows, "before": before}


_FITS_DATA = "runs(10000, 100, 0.05, pendulum)"


def _compared(name: str, sources: dict[str, Path], repeats: int, cpu: Any) -> dict[str, Any]:
    print(f"  {name}", file=sys.stderr)
    seconds: dict[str, list[float]] = {version: [] for version in sources}
    for _ in range(repeats):
        for version, source in sources.items():
            seconds[version].append(cpu(source))
    return {"case": name, **{version: median(values) for version, values in seconds.items()}}


def _checked_out(revision: str, folder: Path) -> Path:
    archive = subprocess.run(
        ["git", "archive", revision, "src"], cwd=_ROOT, check=True, capture_output=True
    ).stdout
    with tarfile.open(fileobj=BytesIO(archive)) as tar:
        tar.extractall(folder / "before", filter="data")
    return folder / "before" / "src"


def _python(source: Path, arguments: list[str]) -> str:
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
               "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"}  # fmt: skip
    environment = {**os.environ, **threads, "PYTHONPATH": str(source)}
    return subprocess.run(
        [sys.executable, *arguments], env=environment, check=True, capture_output=True, text=True
    ).stdout


def _cpu(source: Path, arguments: list[str]) -> float:
    """User and system seconds of a whole process."""
    start = resource.getrusage(resource.RUSAGE_CHILDREN)
    _python(source, arguments)
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    return end.ru_utime + end.ru_stime - start.ru_utime - start.ru_stime


def _printed(source: Path, script: str) -> float:
    return float(json.loads(_python(source, ["-c", script]).splitlines()[-1]))


def render(record: dict[str, Any]) -> str:
    before = record["before"]
    head = "| case | CPU seconds |" + (" before | ratio |" if before else "")
    rule = "|---|---|" + ("---|---|" if before else "")
    lines = []
    for row in record["rows"]:
        line = f"| {row['case']} | {row['now']:.2f} |"
        if before:
            line += f" {row['before']:.2f} | {row['before'] / row['now']:.1f} |"
        lines.append(line)
    text = (
        "## Start-up, commands and fits\n\n"
        "One thread, a process for each; commands with start-up and all files they write, fits "
        "without.\n\n" + "\n".join([head, rule, *lines]) + "\n"
    )
    if before:
        text += f'\n"Before" is revision `{before}`, measured in turn with today\'s.\n'
    return text
