"""What the orthogonality penalty costs, by the paper's timing protocol."""

import time
from typing import Any, final

import jax
import numpy as np

import orthoreg as og
from orthoreg._model import prepared
from orthoreg.solvers import _adam
from orthoreg.solvers._training import stretch

from .pendulum import subset

_ROWS, _SEEDS, _EPOCHS, _WINDOWS = 1000, 5, 20, 40


def measure() -> dict[str, Any]:
    """Median seconds of an epoch with B = 1000, n = 2, K = 10 and 128 x 3 units.

    Windows of epochs of the L2 hybrid and of OrthoReg alternate, so that both see the same
    machine; the first windows warm up.
    """
    x, y = subset(_ROWS)
    overheads, medians, memory = [], [], {}
    for seed in range(_SEEDS):
        runs = {
            name: _Epochs(preset(seed=seed), x, y)
            for name, preset in (("l2", og.presets.paper_l2), ("ortho", og.presets.paper_orthoreg))
        }
        seconds: dict[str, list[float]] = {name: [] for name in runs}
        for window in range(_WINDOWS + 5):
            for name, run in runs.items():
                taken = run.window(window)
                if window >= 5:
                    seconds[name].append(taken / _EPOCHS)
        median = {name: float(np.median(values)) for name, values in seconds.items()}
        medians.append(median)
        overheads.append(median["ortho"] / median["l2"] - 1)
        memory = {name: run.memory() for name, run in runs.items()}
    return {
        "rows": _ROWS,
        "seeds": _SEEDS,
        "l2_ms": 1e3 * float(np.median([median["l2"] for median in medians])),
        "ortho_ms": 1e3 * float(np.median([median["ortho"] for median in medians])),
        "overheads": overheads,
        "overhead": float(np.median(overheads)),
        "extra_bytes": memory["ortho"] - memory["l2"],
        "paper_bytes": 4 * _ROWS * 2 * 20,
        "library_bytes": 4 * _ROWS * 10,
    }


@final
class _Epochs:
    """The compiled loop of one model, stretch by stretch."""

    def __init__(self, model: Any, x: np.ndarray, y: np.ndarray):
        samples, _ = prepared(model, x, y)
        plan = model._plan()
        names = {"state_names_": ("x0", "x1"), "input_names_": (), "output_names_": ("x0", "x1")}
        self.task = model._task(plan, samples, names)
        solver: Any = plan.solver
        setting = _adam.objective_of([self.task], samples, solver.normalize)
        self.loop = solver.loop([self.task], setting, samples, None)
        self.state = self.loop.first_state()

    def window(self, index: int) -> float:
        bounds = np.array([index * _EPOCHS, (index + 1) * _EPOCHS], np.int32)
        start = time.perf_counter()
        self.state = jax.block_until_ready(stretch(self.state, self.loop, bounds))
        return time.perf_counter() - start

    def memory(self) -> int:
        """Bytes that the compiled loop needs beside its arguments and results."""
        lowered = stretch.lower(self.state, self.loop, np.array([0, 1], np.int32))
        analysis: Any = lowered.compile().memory_analysis()
        return int(analysis.temp_size_in_bytes)


def render(record: dict[str, Any]) -> str:
    low, high = (100 * f(record["overheads"]) for f in (min, max))
    return (
        "## What the penalty costs\n\n"
        f"An epoch of OrthoReg against one of the L2 hybrid: {record['rows']} samples, two states, "
        f"ten terms, 128 x 3 units, medians over alternating windows, {record['seeds']} seeds. The "
        "paper has 5 to 15 %.\n\n"
        "| | |\n|---|---|\n"
        f"| L2 hybrid | {record['l2_ms']:.2f} ms an epoch |\n"
        f"| OrthoReg | {record['ortho_ms']:.2f} ms an epoch |\n"
        f"| overhead, median over seeds | {100 * record['overhead']:.1f} % "
        f"({low:.1f} to {high:.1f}) |\n"
        f"| memory of the compiled step, against the L2 hybrid | "
        f"{record['extra_bytes'] / 1e3:+.0f} kB |\n"
        f"| the paper's B n M floats | {record['paper_bytes'] / 1e3:.0f} kB |\n"
        f"| the B K floats of the library, which both need | "
        f"{record['library_bytes'] / 1e3:.0f} kB |\n"
    )
