"""Comparison of verdicts and intervals with the truth, on systems with known equations."""

from pathlib import Path
from typing import Any

from benchmarks._jobs import run_jobs, selected, with_results
from benchmarks.revision import source_revision

from ._cases import cases, hard_cases, harder_case
from ._page import before, page

__all__ = ["before", "cases", "hard_cases", "harder_case", "measure", "page"]

HARD_SEEDS = 4
CPU_LIMIT = 300.0  # seconds for a fit with its summary
STORE = Path(__file__).parents[1] / "records" / "partial" / "truth.jsonl"
_KEPT = (
    "status", "error", "class", "structure", "field_error", "coefficient_error", "verdict", "text",
    "advice", "equations", "truth", "residual", "fit_seconds", "summary_seconds", "cpu_seconds",
)  # fmt: skip
_KEPT_HARD = (
    "id", "system", "group", "noise", "half", "right", "status", "class", "verdict", "terms",
    "coverage",
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
    """Return the verdict and the class of each model. If `stored` is set, use only cases with
    stored results."""

    def results(chosen: list[dict[str, Any]]) -> list[dict[str, Any]]:
        chosen = selected(chosen, only, limit)
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
        return [_row(row) for row in rows]

    hard = [
        {key: row[key] for key in _KEPT_HARD if key in row}
        for row in results(hard_cases(HARD_SEEDS))
    ]
    return {
        "revision": source_revision(),
        "cpu_limit": cpu_limit,
        "rows": results(cases(seeds)),
        "hard": hard,
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
