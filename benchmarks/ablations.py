"""What each mechanism of a default fit is worth: the same cases with one of them switched off.

Cases are a part of those of `truth` and of `dysts`, development systems only. A mechanism is
switched off by replacing a limit or a function in the process of the case.
"""

import importlib
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks import truth
from benchmarks._jobs import run_jobs, selected
from benchmarks.revision import source_revision

STORE = Path(__file__).parent / "records" / "partial" / "ablations.jsonl"
TRUTH_CASES, FLOWS = 30, 9
NOISES = (0.05,)

Patch = Callable[[], None]


def _limit(name: str, value: Any) -> Patch:
    return lambda: set_name("refinement._limits", name, value)


def set_name(module: str, name: str, value: Any) -> None:
    """Replace a name in a module of the package, and wherever it was imported from there."""
    import sys

    owner = importlib.import_module(f"orthoreg.{module}")
    old = getattr(owner, name)
    for key, other in list(sys.modules.items()):
        if key.startswith("orthoreg.") and getattr(other, name, None) is old:
            setattr(other, name, value)
    setattr(owner, name, value)


def _no_exchange() -> None:
    subsets = importlib.import_module("orthoreg.refinement._subsets")
    found = subsets.neighbours

    def neighbours(*args: Any) -> Any:
        near = found(*args)
        return near._replace(exchanged=np.full_like(near.exchanged, np.inf))

    set_name("refinement._subsets", "neighbours", neighbours)


def _no_search() -> None:
    structure = importlib.import_module("orthoreg.refinement._structure")
    structure._Search._improved = lambda self, best, states: (best, self._linearized(best))


def _one_length() -> None:
    limits = importlib.import_module("orthoreg.refinement._limits")
    set_name("refinement._limits", "SEARCH_EFFORT", limits.SEARCH_EFFORT._replace(first=200))


def _no_integral_form() -> None:
    structure = importlib.import_module("orthoreg.refinement._structure")
    structure._Search._first_fields = lambda self: [self.field]


def _plain_covariance() -> None:
    set_name("refinement._limits", "SANDWICH_MISFIT", np.inf)
    set_name("refinement._covariance", "_are_correlated", lambda *args: False)


def _no_outliers() -> None:
    from orthoreg.smoothing import Outliers

    def none(times: Any, values: np.ndarray, *rest: Any) -> Outliers:
        return Outliers(np.zeros(values.shape, bool), values, np.zeros(values.shape[1], bool))

    set_name("data._plan", "find_outliers", none)


def _no_systematic_error() -> None:
    rows = importlib.import_module("orthoreg.fitting._row_uncertainty")
    rows._Moments.systematic = lambda self, H, observed: np.zeros_like(H)


def _no_term_price() -> None:
    structure = importlib.import_module("orthoreg.refinement._structure")
    make = structure._Search.__init__

    def without(self: Any, field: Any, *args: Any) -> None:
        make(self, field, *args)
        self._price = self._price - np.log(len(field.features.terms))

    structure._Search.__init__ = without


MECHANISMS: dict[str, tuple[str, Patch]] = {
    "none": ("everything as it is", lambda: None),
    "search": ("terms of the first proposals are final", _no_search),
    "exchange": ("terms are added and removed, but not exchanged", _no_exchange),
    "integral form": ("the search starts from the fit of the rows alone", _no_integral_form),
    "growing segments": ("the search uses the longest segments only", _one_length),
    "price of choice": ("a term costs half a log N, whatever the number of terms", _no_term_price),
    "price of symbols": ("long terms cost as much as short ones", _limit("SYMBOL", 0.0)),
    "cancellation": ("terms may cancel each other", _limit("CANCELS", np.inf)),
    "prior": ("constants have a flat prior", _limit("PRIOR_WIDTH", 1e6)),
    "outliers": ("outliers count", _no_outliers),
    "noise growth": (
        "noise is the same for all values of a state",
        lambda: set_name(
            "smoothing._noise", "estimate_noise_growth", lambda x, y: np.zeros(np.shape(x)[1])
        ),
    ),
    "tempering": ("a misfit beyond noise counts in every row", _limit("TEMPERED", np.inf)),
    "limit of growth": (
        "segments may be longer than errors grow a thousandfold", _limit("MATCH_GROWTH", 1e30)
    ),
    "derivative errors": (
        "intervals ignore errors that all derivatives share", _no_systematic_error
    ),
    "sandwich": ("intervals assume white noise", _plain_covariance),
    "profiles": ("intervals are quadratic", _limit("CURVED_REACH", np.inf)),
    "horizon": ("models are judged on segments of up to 300 rows", _limit("HORIZON_GROWTH", 1e9)),
    "constant margin": (
        "the judgement keeps constants where they are", _limit("CONSTANT_MARGIN", 0.0)
    ),
}  # fmt: skip


REMOVED = {"hot proposals": "no smaller sets are proposed (removed since)"}
"""Mechanisms of earlier records that showed no effect and were deleted."""


def measure(workers: int = 1, store: Path = STORE) -> dict[str, Any]:
    """Run all cases without each mechanism."""
    cases = development_cases()
    jobs = [
        {"id": f"{name}|{case['id']}", "mechanism": name, "case": case}
        for case in cases
        for name in MECHANISMS
    ]
    done = run_jobs("benchmarks.ablations:run_case", jobs, store, workers=workers)
    rows = []
    for name in MECHANISMS:
        for case in cases:
            result = done[f"{name}|{case['id']}"]
            rows.append({"mechanism": name, "case": case["id"]} | in_short(result))
    return {"revision": source_revision(), "rows": rows}


def development_cases(known_systems: int = TRUTH_CASES, flows: int = FLOWS) -> list[dict[str, Any]]:
    """Development systems: some of those with known truth, and every other flow."""
    from benchmarks.dysts._flows import names

    known = [case for case in truth.cases() if case["half"] == "development"]
    cases = [{"kind": "truth"} | case for case in selected(known, limit=known_systems)]
    every = names() or []
    for flow in [every[i * len(every) // flows] for i in range(flows)] if every else []:
        for noise in NOISES:
            key = {"id": f"flow {flow}/{100 * noise:g}%", "flow": flow, "noise": noise, "seed": 0}
            cases.append({"kind": "flow"} | key)
    return cases


def run_case(job: dict[str, Any]) -> dict[str, Any]:
    """Fit one case without a mechanism."""
    return fit_case(job["case"], MECHANISMS[job["mechanism"]][1])


def fit_case(case: dict[str, Any], patch: Patch) -> dict[str, Any]:
    """Fit one case after a change to the package."""
    import orthoreg.explanation
    import orthoreg.summary

    del orthoreg
    patch()
    if case["kind"] == "truth":
        return importlib.import_module("benchmarks.truth._case").run_case(case)
    found = importlib.import_module("benchmarks.dysts._ours").our_case(case)
    exact = found["exact"]
    return found | {
        "class": "correct" if exact else "wrong",
        "structure": exact,
        "coverage": {"all": [0, 0]},
    }


def in_short(result: dict[str, Any]) -> dict[str, Any]:
    held, count = result.get("coverage", {}).get("all", [0, 0])
    return {
        "status": result["status"],
        "class": result.get("class", "failed"),
        "explained": result.get("verdict") == "explained",
        "held": held,
        "intervals": count,
        "seconds": round(result.get("fit_seconds", 0) + result.get("summary_seconds", 0), 2),
    }


def render(record: dict[str, Any]) -> str:
    """The section of the page of benchmarks."""
    return (
        "## Ablations\n\nA default fit with one mechanism switched off at a time "
        f"([page](ablations.md)). Revision {record['revision']}.\n\n" + _table(record["rows"])
    )


def page(record: dict[str, Any]) -> str:
    """The page: every mechanism, and the cases that change without it."""
    rows = record["rows"]
    cases = len({row["case"] for row in rows})
    text = (
        "# Ablations\n\nWritten by `python -m benchmarks ablations`; revision "
        f"{record['revision']} of the source. {cases} cases of development systems, "
        "those of [truth](truth.md) and [chaotic flows](dysts.md), fitted with defaults while one "
        "mechanism is switched off.\n\n"
        "- **right**: models with the true terms and constants, or equivalent ones;\n"
        "- **called right**: how many of these have the verdict `explained`;\n"
        "- **wrong called right**: wrong models whose verdict is `explained`;\n"
        "- **coverage**: share of 95% intervals that contain the true value;\n"
        "- **CPU**: median over the cases of the time relative to that with everything on.\n\n"
        "With so few cases, only large effects are visible. A mechanism that changes nothing here "
        "may still matter in rare cases.\n\n"
    )
    text += _table(rows) + "\n## Cases that change\n\n"
    for name, (words, _) in MECHANISMS.items():
        changed = _changes(rows, name)
        if changed:
            text += f"**{name}** ({words}): {'; '.join(changed)}.\n\n"
    return text


def _table(rows: list[dict[str, Any]]) -> str:
    text = "| without | that is | right | called right | wrong called right | coverage | CPU |\n"
    text += "|---|---|---|---|---|---|---|\n"
    usual = {row["case"]: row for row in _of(rows, "none")}
    described = {name: words for name, (words, _) in MECHANISMS.items()} | REMOVED
    for name, words in described.items():
        own = _of(rows, name)
        if not own:
            continue
        right = [row for row in own if row["class"] in ("correct", "equivalent")]
        wrong = [row for row in own if row["class"] not in ("correct", "equivalent")]
        held, count = sum(row["held"] for row in own), sum(row["intervals"] for row in own)
        ratios = [
            row["seconds"] / usual[row["case"]]["seconds"]
            for row in own
            if row["seconds"] and usual[row["case"]]["seconds"]
        ]
        text += (
            f"| {name} | {words} | {len(right)} of {len(own)} | "
            f"{sum(row['explained'] for row in right)} | {sum(row['explained'] for row in wrong)} "
            f"of {len(wrong)} | {f'{100 * held / count:.0f}%' if count else '-'} | "
            f"{median(ratios) if ratios else 1:.2f} |\n"
        )
    return text


def _changes(rows: list[dict[str, Any]], name: str) -> list[str]:
    return changes(_of(rows, name), _of(rows, "none"))


def changes(rows: list[dict[str, Any]], without: list[dict[str, Any]]) -> list[str]:
    """In words, the cases whose model or verdict differs from that of the other rows."""
    usual = {row["case"]: row for row in without}
    return [
        f"{row['case']} {_state(usual[row['case']])} → {_state(row)}"
        for row in rows
        if _state(row) != _state(usual[row["case"]])
    ]


def _state(row: dict[str, Any]) -> str:
    return f"{row['class']}{', explained' if row['explained'] else ''}"


def _of(rows: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [row for row in rows if row["mechanism"] == name]
