"""Sweeps: the same cases with each limit of a default fit halved and doubled."""

import importlib
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import truth
from benchmarks._jobs import run_jobs, selected
from benchmarks.ablations import changes, fit_case, in_short, set_name
from benchmarks.revision import source_revision

STORE = Path(__file__).parent / "records" / "partial" / "sweeps.jsonl"
FACTORS = (0.5, 2.0)
KNOWN_SYSTEMS, FLOWS, NOISE = 5, 1, 0.05
AS_IT_IS = "as it is"
SWEPT = {
    "matching": (
        "PRIOR_WIDTH", "MATCH_GROWTH", "SEARCH_ROWS", "SYMBOL", "MAX_PROPOSALS", "RIVAL",
        "TEMPERED", "NOISE_ACCURACY", "CANCELS", "FOLLOWED", "JUDGED_ACCURACY", "MISFIT_FLOOR",
        "CLEARLY_LESS", "MISFIT_QUANTILE", "CONSTANT_MARGIN", "HORIZON_GROWTH", "EXPECTED_MISFIT",
        "WINDOW", "EVIDENCE_TEMPERATURE",
    ),
    "data": ("CLEAN", "CLEAR", "NARROWEST"),
    "smoothing": ("FALSE_OUTLIERS", "OUTLIER_CONTRAST"),
    "fitting": ("PREFERRED", "EXPLAINED_NOISE"),
}  # fmt: skip
"""The limits that decide terms and verdicts."""


def measure(workers: int = 1, store: Path = STORE) -> dict[str, Any]:
    """Run all cases with each limit halved and doubled."""
    cases = development_cases()
    limits = [(package, name) for package, names in SWEPT.items() for name in names]
    keys = [("", AS_IT_IS, 1.0), *((*limit, factor) for limit in limits for factor in FACTORS)]
    jobs = [
        {"id": f"{package} {name} {factor}|{case['id']}", "limit": (package, name), "case": case}
        | {"factor": factor}
        for package, name, factor in keys
        for case in cases
    ]
    done = run_jobs("benchmarks.sweeps:run_case", jobs, store, workers=workers)
    rows = [
        {"package": job["limit"][0], "limit": job["limit"][1], "factor": job["factor"]}
        | {"case": job["case"]["id"]}
        | in_short(done[job["id"]])
        for job in jobs
    ]
    return {"revision": source_revision(), "rows": rows, "values": _values()}


def development_cases() -> list[dict[str, Any]]:
    """Return some development systems with known truth, and a chaotic flow."""
    from benchmarks.dysts._flows import names

    known = [case for case in truth.cases() if case["half"] == "development"]
    cases = [{"kind": "truth"} | case for case in selected(known, limit=KNOWN_SYSTEMS)]
    every = names() or []
    for flow in every[:FLOWS]:
        key = {"id": f"flow {flow}/{100 * NOISE:g}%", "flow": flow, "noise": NOISE, "seed": 0}
        cases.append({"kind": "flow"} | key)
    return cases


def _values() -> dict[str, float]:
    return {
        f"{package} {name}": getattr(importlib.import_module(f"orthoreg.{package}._limits"), name)
        for package, names in SWEPT.items()
        for name in names
    }


def run_case(job: dict[str, Any]) -> dict[str, Any]:
    """Fit one case with one limit changed."""
    package, name = job["limit"]
    return fit_case(job["case"], partial(_scale, package, name, job["factor"]))


def _scale(package: str, name: str, factor: float) -> None:
    if package:
        limits = importlib.import_module(f"orthoreg.{package}._limits")
        value = getattr(limits, name)
        scaled = max(round(value * factor), 1) if isinstance(value, int) else value * factor
        set_name(f"{package}._limits", name, scaled)


def page(record: dict[str, Any]) -> str:
    """Return the section of the page on ablations."""
    cases = len({row["case"] for row in record["rows"]})
    changed = len({row[0] for row in _table_rows(record) if row[2] != "-"})
    text = (
        f"## Sweeps\n\n{changed} of {len(record['values'])} limits change a model, a verdict or "
        f"the coverage of {cases} development cases if one limit of `src/orthoreg/*/_limits.py` "
        "at a time is halved or doubled. A dash means that nothing changes. With so few cases, "
        "the other limits may still matter for other data. `python -m benchmarks sweeps` wrote "
        f"this section at revision {record['revision']}.\n\n"
        "| limit | value | halved | doubled |\n|---|---|---|---|\n"
    )
    for name, value, halved, doubled in _grouped(record):
        text += f"| {name} | {value:g} | {halved} | {doubled} |\n"
    return text


def _grouped(record: dict[str, Any]) -> list[tuple[str, float, str, str]]:
    effects = {(name, factor): words for name, factor, words in _table_rows(record)}
    return [
        (f"`{name.replace(' ', '.')}`", value, effects[name, FACTORS[0]], effects[name, FACTORS[1]])
        for name, value in record["values"].items()
    ]


def _table_rows(record: dict[str, Any]) -> list[tuple[str, float, str]]:
    """Return for each limit and factor a description of the changes."""
    rows = record["rows"]
    usual = [row for row in rows if row["limit"] == AS_IT_IS]
    result = []
    for name in record["values"]:
        for factor in FACTORS:
            changed = [
                row
                for row in rows
                if f"{row['package']} {row['limit']}" == name and row["factor"] == factor
            ]
            words = changes(changed, usual)
            held, before = _coverage(changed), _coverage(usual)
            if held != before:
                words.append(f"coverage {before:.0f} → {held:.0f}%")
            result.append((name, factor, "; ".join(words) or "-"))
    return result


def _coverage(rows: list[dict[str, Any]]) -> float:
    count = sum(row["intervals"] for row in rows)
    return round(100 * sum(row["held"] for row in rows) / count) if count else 100.0
