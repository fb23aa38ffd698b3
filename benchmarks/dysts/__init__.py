"""Recovery of chaotic flows with polynomial equations, compared with PySINDy."""

import sys
from pathlib import Path
from typing import Any

from benchmarks._jobs import run_jobs, selected, with_results
from benchmarks.revision import source_revision

from ._flows import names
from ._page import page

__all__ = ["measure", "page"]

NOISES = (0.0, 0.01, 0.05)
CPU_LIMIT = 300.0  # seconds for a fit with its summary
_RECORDS = Path(__file__).parents[1] / "records"
STORE = _RECORDS / "partial" / "dysts.jsonl"


def measure(
    only: str = "",
    limit: int | None = None,
    seeds: int = 1,
    workers: int = 1,
    cpu_limit: float = CPU_LIMIT,
    store: Path = STORE,
    stored: bool = False,
) -> dict[str, Any]:
    """Return the record of the fits by orthoreg and PySINDy. They alternate in random order, so
    that CPU times can be compared. If `stored` is set, nothing is fitted, and the record contains
    only cases with stored results."""
    flows = names()
    if flows is None:
        sys.exit("error: dysts_half.json is not in the folder named by ORTHOREG_DATA.")
    cases = [
        {"id": f"{name}/{100 * noise:g}%/{seed}", "flow": name, "noise": noise, "seed": seed}
        for seed in range(seeds)
        for name in flows
        for noise in NOISES
    ]
    cases = selected(cases, only, limit)
    every = cases + [
        case | {"id": f"{case['id']}/{method}", "method": method}
        for case in cases
        for method in ("strong", "weak")
    ]
    if stored:
        every = with_results(every, store)
    done = run_jobs(
        "benchmarks.dysts._case:fit_case", every, store, workers=workers, cpu_limit=cpu_limit
    )
    results = {case["id"]: case | done[case["id"]] for case in every}
    return {
        "revision": source_revision(),
        "cpu_limit": cpu_limit,
        "rows": {key: row for key, row in results.items() if "method" not in row},
        "peers": {key: row for key, row in results.items() if "method" in row},
    }
