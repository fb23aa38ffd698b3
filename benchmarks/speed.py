"""Whole commands in new processes, compared with targets and with an earlier revision.

`python -m benchmarks speed --before CHECKOUT` alternates between the source of the checkout and the
current source. Seconds are CPU seconds of the process with one thread of linear algebra, the
minimum of a few repetitions.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

import numpy as np

from benchmarks.revision import source_revision
from benchmarks.truth._systems import SYSTEMS

_ROOT = Path(__file__).parents[1]
_MEMORY = 4 << 30  # bytes. Memory limit of a process
_MAX_MEMORY = 1000  # MB, for a million rows
_LAUNCH = """
import json, resource, subprocess, sys, time
limit = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
start = time.monotonic()
done = subprocess.run(sys.argv[2:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({"code": done.returncode, "cpu": used.ru_utime + used.ru_stime,
                  "wall": time.monotonic() - start, "mb": used.ru_maxrss / 1024,
                  "error": done.stderr.decode()[-500:]}))
"""
_FIT = """
import sys, time
from pathlib import Path
import orthoreg as og
data = og.read_table(sys.argv[1], "t", ["x", "y", "z"], group="run")
estimator = og.OrthoReg("poly(2)")
start = time.process_time()
estimator.fit(data)
Path("seconds").write_text(str(time.process_time() - start))
"""


@final
@dataclass(frozen=True)
class Case:
    """Commands on a table. The slowest command counts, and all must exit with `code`."""

    name: str
    target: float | None
    table: str
    commands: tuple[tuple[str, ...], ...]
    repeats: int = 2
    code: int = 0
    most_mb: float | None = field(default=None)


_OSCILLATOR = ("--time", "t", "--states", "x,v", "--group", "run")
_FORCED = ("--time", "t", "--positions", "x", "--inputs", "u")
_CUBIC = ("--library", "poly(3)")
_REACTOR = (
    "--time", "t", "--states", "C,T", "--inputs", "Tc", "--group", "run", "--library", "poly(1)",
    "--known", "C' = 1 - C - k*exp(-E/T)*C",
    "--known", "T' = 350 - T + h*k*exp(-E/T)*C - w*(T - Tc)",
)  # fmt: skip


def _fit(*options: str) -> tuple[tuple[str, ...], ...]:
    return (("-m", "orthoreg", "fit", "TABLE", *options, "--out", "out", "--json"),)


_MISTAKES = tuple(
    ("-m", "orthoreg", "fit", *words)
    for words in (
        ("absent.csv", *_OSCILLATOR),
        ("TABLE", "--time", "t", "--states", "x,w", "--group", "run"),
        ("TABLE", "--time", "time", "--states", "x,v"),
        ("TABLE", *_OSCILLATOR, "--library", "poly(2)+sinn(x)"),
        ("TABLE", *_OSCILLATOR, "--bound", "x <> 3"),
    )
)
CASES = (
    Case("import of NumPy, for comparison", None, "small", (("-c", "import numpy"),)),
    Case("3 x 200 rows, library complete", 1.5, "small", _fit(*_OSCILLATOR, *_CUBIC)),
    Case("3 x 200 rows, library lacks a term", 1.5, "small", _fit(*_OSCILLATOR)),
    Case("3 x 200 rows, 2% noise", 1.5, "small_noisy", _fit(*_OSCILLATOR)),
    Case("1,000 rows, position and input, complete", 4, "forced", _fit(*_FORCED, *_CUBIC)),
    Case("1,000 rows, position and input, lacks a term", 4, "forced", _fit(*_FORCED)),
    Case("slowest of five user errors", 0.5, "small", _MISTAKES, code=2),
    *(
        Case(f"fit alone, 5 x 300 rows, 3 states, {noise}", None, table, (("-c", _FIT, "TABLE"),))
        for noise, table in (("clean", "chaotic_clean"), ("1% noise", "chaotic"),
                             ("5% noise", "chaotic_noisy"))
    ),
    Case("reactor with ignition, known up to constants", 20, "reactor", _fit(*_REACTOR), 1),
    Case("1e6 rows of CSV", 20, "large", _fit(*_OSCILLATOR, *_CUBIC), 1, 0, _MAX_MEMORY),
    Case("1e6 rows of CSV, 1% noise", 20, "large_noisy", _fit(*_OSCILLATOR, *_CUBIC), 1, 0,
         _MAX_MEMORY),
)  # fmt: skip


def measure(before: Path | None = None) -> dict[str, Any]:
    """Measure CPU and wall seconds and peak memory of every case."""
    sides = {"now": _ROOT} | ({} if before is None else {"before": before.resolve()})
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for case in CASES:
            table = folder / f"{case.table}.csv"
            if not table.exists():
                _TABLES[case.table](table)
            for side in (
                sides if case.repeats > 1 else ()
            ):  # the first run compiles and fills the file cache
                _slowest(case, table, sides[side], folder / side)
            found: dict[str, list[dict[str, float]]] = {side: [] for side in sides}
            for _ in range(case.repeats):
                for side in reversed(sides):
                    found[side].append(_slowest(case, table, sides[side], folder / side))
            best = {side: min(runs, key=lambda one: one["cpu"]) for side, runs in found.items()}
            rows.append({"case": case.name, "target": case.target, "most_mb": case.most_mb} | best)
            print(json.dumps(rows[-1]), file=sys.stderr)
    return {
        "revision": source_revision(),
        "before": None if before is None else _revision_of(before),
        "rows": rows,
    }


def _slowest(case: Case, table: Path, source: Path, folder: Path) -> dict[str, float]:
    """Return the cost of the slowest command of a case."""
    folder.mkdir(exist_ok=True)
    kept = {key: one for key, one in os.environ.items() if not key.startswith("PYTHON")}
    environment = kept | {
        "PYTHONPATH": str(source / "src"),
        "PYTHONPYCACHEPREFIX": str(folder / "compiled"),
        "OPENBLAS_NUM_THREADS": "1",
    }
    runs = []
    for command in case.commands:
        words = [str(table) if word == "TABLE" else word for word in command]
        launched = subprocess.run(
            [sys.executable, "-c", _LAUNCH, str(_MEMORY), sys.executable, *words],
            cwd=folder, env=environment, capture_output=True, text=True, check=True,
        )  # fmt: skip
        result = json.loads(launched.stdout)
        if result["code"] != case.code:
            raise RuntimeError(f"{case.name} ended with {result['code']}: {result['error']}")
        seconds = folder / "seconds"
        if seconds.exists():  # seconds of one part of the command
            result["cpu"] = float(seconds.read_text())
            seconds.unlink()
        runs.append({key: round(result[key], 3) for key in ("cpu", "wall", "mb")})
    return max(runs, key=lambda run: run["cpu"])


def _revision_of(checkout: Path) -> str:
    done = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=checkout, capture_output=True, text=True
    )
    return done.stdout.strip()


def _runs(rate: Callable[[Any, Any], Any], starts: Any, step: float, rows: int) -> np.ndarray:
    """Return states (runs, rows, n) by the classical Runge-Kutta method, ten steps per row."""
    x, states = np.array(starts, dtype=float), []
    h = step / 10
    for k in range(rows):
        states.append(x)
        for j in range(10):
            t = k * step + j * h
            a = rate(t, x)
            b = rate(t + h / 2, x + h / 2 * a)
            c = rate(t + h / 2, x + h / 2 * b)
            x = x + h / 6 * (a + 2 * b + 2 * c + rate(t + h, x + h * c))
    return np.stack(states, axis=1)


def _write(file: Path, names: str, states: np.ndarray, step: float, noise: float) -> None:
    """Write a table with the columns run, t and the states."""
    runs, rows, n = states.shape
    rng = np.random.default_rng(1)
    spread = states.std(axis=(0, 1))
    states = states + noise * spread * rng.standard_normal(states.shape)
    with file.open("w") as stream:
        stream.write(f"run,t,{names}\n")
        for r in range(runs):
            for k, row in enumerate(states[r].tolist()):
                stream.write(f"{r},{step * k!r},{','.join(map(repr, row))}\n")


def _duffing(file: Path, runs: int, rows: int, step: float, noise: float) -> None:
    def rate(t: float, x: np.ndarray) -> np.ndarray:
        return np.stack([x[:, 1], -0.3 * x[:, 1] - x[:, 0] - x[:, 0] ** 3], axis=1)

    starts = np.random.default_rng(0).uniform(-1.5, 1.5, (runs, 2))
    _write(file, "x,v", _runs(rate, starts, step, rows), step, noise)


def _forced(file: Path) -> None:
    def push(t: Any) -> Any:
        return np.sin(2.1 * t + 1) + 0.5 * np.sin(0.7 * t)

    def rate(t: float, x: np.ndarray) -> np.ndarray:
        force = push(t) - 0.5 * x[:, 1] - x[:, 0] - 0.8 * x[:, 0] ** 3
        return np.stack([x[:, 1], force], axis=1)

    step, rows = 0.04, 1000
    x = _runs(rate, [[0.5, 0.0]], step, rows)[0, :, 0]
    x = x + 0.005 * x.std() * np.random.default_rng(1).standard_normal(rows)
    t = step * np.arange(rows)
    lines = [f"{a!r},{b!r},{c!r}" for a, b, c in zip(*map(np.ndarray.tolist, (t, x, push(t))),
                                                       strict=True)]  # fmt: skip
    file.write_text("t,x,u\n" + "\n".join(lines) + "\n")


def _reactor(file: Path) -> None:
    drawn = SYSTEMS["reactor with ignition"].drawn(0)
    runs = drawn.simulate(600, 3, 0)
    std = np.concatenate(runs.states).std(axis=0)
    rng = np.random.default_rng(1)
    lines = ["run,t,C,T,Tc"]
    for r, states in enumerate(runs.states):
        noisy = states + 0.005 * std * rng.standard_normal(states.shape)
        columns = np.column_stack([runs.times, noisy, runs.inputs[r]])
        lines += [f"{r}," + ",".join(map(repr, row)) for row in columns.tolist()]
    file.write_text("\n".join(lines) + "\n")


def _chaotic(file: Path, noise: float) -> None:
    def rate(t: float, s: np.ndarray) -> np.ndarray:
        x, y, z = s.T
        return np.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z], axis=1)

    starts = np.random.default_rng(0).uniform(-10, 10, (5, 3)) + [0, 0, 25]
    _write(file, "x,y,z", _runs(rate, starts, 0.025, 300), 0.025, noise)


_TABLES: dict[str, Callable[[Path], None]] = {
    "small": lambda file: _duffing(file, 3, 200, 0.05, 0.0),
    "small_noisy": lambda file: _duffing(file, 3, 200, 0.05, 0.02),
    "forced": _forced,
    "chaotic_clean": lambda file: _chaotic(file, 0.0),
    "chaotic": lambda file: _chaotic(file, 0.01),
    "chaotic_noisy": lambda file: _chaotic(file, 0.05),
    "reactor": _reactor,
    "large": lambda file: _duffing(file, 1000, 1000, 0.02, 0.0),
    "large_noisy": lambda file: _duffing(file, 1000, 1000, 0.02, 0.01),
}


def render(record: dict[str, Any]) -> str:
    lines = []
    for row in record["rows"]:
        now, old = row["now"], row.get("before")
        target = "-" if row["target"] is None else f"{row['target']:g}"
        ratio = "-" if old is None else f"{old['cpu'] / now['cpu']:.1f}"
        cells = [target, "-" if old is None else f"{old['cpu']:.2f}", f"{now['cpu']:.2f}", ratio]
        cells += ["-" if old is None else f"{old['mb']:.0f}", f"{now['mb']:.0f}"]
        lines.append(f"| {row['case']} | {' | '.join(cells)} |")
    before = f", alternating with revision {record['before']}" if record["before"] else ""
    return (
        "## Speed of commands\n\n"
        "Each case runs `orthoreg fit` in a new process, which writes model, report and JSON, at "
        f"revision {record['revision']}{before}. Times are CPU seconds on one thread, the minimum "
        "of two runs. Targets are for an idle machine. The memory target for 1e6 rows is "
        f"{_MAX_MEMORY} MB.\n\n"
        "| case | target | before | now | before / now | MB before | MB now |\n"
        "|---|---|---|---|---|---|---|\n" + "\n".join(lines) + "\n"
    )
