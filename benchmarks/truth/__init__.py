"""Comparison of verdicts and intervals with the truth, on systems with known equations."""

from pathlib import Path
from typing import Any

from benchmarks._jobs import run_jobs, selected, with_results
from benchmarks.revision import source_revision

from ._cases import cases, harder_case
from ._page import before, page, render

__all__ = ["before", "cases", "harder_case", "measure", "page", "render"]

CPU_LIMIT = 300.0  # seconds for a fit with its summary
STORE = Path(__file__).parents[1] / "records" / "partial" / "truth.jsonl"
_KEPT = (
    "status", "error", "class", "structure", "field_error", "coefficient_error", "verdict", "text",
    "advice", "equations", "truth", "residual", "fit_seconds", "summary_seconds", "cpu_seconds",
)  # fmt: skip


def measure(
    only: str = "",
    limit: int | None = None,
    seeds: int = 1,
    workers: int = 1,
    cpu_limit: float = CPU_LIMIT,
    store: Path = STORE,
    stored: bool = False,
) -> dict[str, Any]:
    """Return what was said about each model, and its class; if `stored` is set, only of cases that
    have results already."""
    chosen = selected(cases(seeds), only, limit)
    if stored:
        chosen = with_results(chosen, store)
    done = run_jobs(
        "benchmarks.truth._case:run_case", chosen, store, workers=workers, cpu_limit=cpu_limit
    )
    rows = [
        {key: case[key] for key in ("id", "system", "group", "noise", "half", "right")}
        | {"library": case["library"], "result": done[case["id"]]}
        for case in chosen
    ]
    return {
        "revision": source_revision(),
        "cpu_limit": cpu_limit,
        "rows": [_row(row) for row in rows],
    }


def _row(row: dict[str, Any]) -> dict[str, Any]:
    """Return the record of a case, with terms as counts to keep it small."""
    result = row.pop("result")
    terms = " ".join(
        f"{probability:g}{'+' if true else '-'}{'' if used else '?'}"
        for probability, true, used in result.get("terms", ())
    )
    kept = {key: result[key] for key in _KEPT if key in result}
    coverage = result.get("coverage", {"all": [0, 0], "correlated": [0, 0]})
    spans = {kind: f"{held} of {count}" for kind, (held, count) in coverage.items()}
    return row | kept | {"terms": terms, "coverage": spans}
