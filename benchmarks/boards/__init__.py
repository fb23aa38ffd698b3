"""Comparison with other tools: ODE-Strogatz is measured here, the rest is read from records."""

import os
from pathlib import Path
from typing import Any

from benchmarks._jobs import run_jobs, with_results
from benchmarks.revision import source_revision

from ._page import METHODS, page
from ._snippets import code_lines
from ._strogatz import NOISES, SYSTEMS

__all__ = ["measure", "page"]

SEEDS = 1
CPU_LIMIT = 300.0  # seconds for the fits of one system by all methods
STORE = Path(__file__).parents[1] / "records" / "partial" / "boards.jsonl"


def measure() -> dict[str, Any]:
    """Return the fits of ODE-Strogatz by all methods, and the lines of the programs.

    Stored fits of the same revision are not repeated. With ORTHOREG_STORED=1, nothing is fitted,
    and the record contains only stored fits.
    """
    cases = [
        {
            "id": f"{system}/{100 * noise:g}%/{seed}",
            "system": system,
            "noise": noise,
            "seed": seed,
            "methods": list(METHODS),
        }
        for noise in NOISES
        for seed in range(SEEDS if noise else 1)
        for system in SYSTEMS
    ]
    if os.environ.get("ORTHOREG_STORED"):
        cases = with_results(cases, STORE)
    done = run_jobs("benchmarks.boards._strogatz:fit_case", cases, STORE, cpu_limit=CPU_LIMIT)
    return {
        "revision": source_revision(),
        "rows": [
            {key: case[key] for key in ("system", "noise", "seed")} | {"method": method} | fit
            for case in cases
            for method, fit in _fits(done[case["id"]]).items()
        ],
        "lines": {method: code_lines(method) for method in METHODS},
    }


def _fits(result: dict[str, Any]) -> dict[str, Any]:
    """Return the fits of a case. If its process ended early, all methods failed."""
    failed = {"failure": result.get("error"), "seconds": None, "error": None, "r2": None}
    return result.get("fits") or dict.fromkeys(METHODS, failed)
