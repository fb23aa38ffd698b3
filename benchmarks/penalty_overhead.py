"""What the orthogonality penalty costs, by the paper's timing protocol."""

from typing import Any

import numpy as np

import orthoreg as og
from orthoreg.experiments.timing import Epochs, Timing, batch
from orthoreg.experiments.timing import measure as timed

_SEEDS = 5


def measure() -> dict[str, Any]:
    """Median milliseconds of an epoch with B = 1000, n = 2, K = 10 and 128 x 3 units."""
    spec = Timing()
    rows = [row for seed in range(_SEEDS) for row in timed(Timing(seed=seed))]

    def values(method: str, metric: str) -> list[Any]:
        return [row["value"] for row in rows if (row["method"], row["metric"]) == (method, metric)]

    overheads = [value / 100 for value in values("orthoreg", "overhead_percent")]
    data = batch(spec.rows)
    memory = [
        Epochs(preset(), data).memory()
        for preset in (og.presets.paper_l2, og.presets.paper_orthoreg)
    ]
    return {
        "rows": spec.rows,
        "seeds": _SEEDS,
        "l2_ms": float(np.median(values("l2", "epoch_ms"))),
        "ortho_ms": float(np.median(values("orthoreg", "epoch_ms"))),
        "overheads": overheads,
        "overhead": float(np.median(overheads)),
        "extra_bytes": memory[1] - memory[0],
        "paper_bytes": 4 * spec.rows * 2 * 20,
        "library_bytes": 4 * spec.rows * 10,
    }


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
