"""Hidden states, constants per run, delays, maps and identifiability, compared with targets."""

from pathlib import Path
from typing import Any

from benchmarks._jobs import run_jobs, selected, with_results
from benchmarks.revision import source_revision

from ._page import page
from ._ten import SYSTEMS

__all__ = ["measure", "page", "with_rows"]

CPU_LIMIT = 300.0  # seconds for a case
SEEDS = 5
_RECORDS = Path(__file__).parents[1] / "records"
STORE = _RECORDS / "partial" / "unmeasured.jsonl"
Case = dict[str, Any]


def cases(seeds: int = SEEDS) -> list[Case]:
    """Return all cases. Cases with rare errors have four times as many seeds. Cases without random
    numbers, and those that measure time, have one seed."""
    many: list[tuple[str, str, Case]] = [
        ("dead time of an oscillator", "dead_time", {"delay": 0.35}),
        ("oscillator without dead time", "dead_time", {"delay": 0.0}),
        ("20 pendulums, detected", "detection", {"differ": True}),
        ("20 equal pendulums", "detection", {"differ": False}),
    ]
    several: list[tuple[str, str, Case]] = [
        ("FitzHugh-Nagumo, poly(2)", "fitzhugh_nagumo", {"library": "poly(2)"}),
        ("FitzHugh-Nagumo, poly(3)", "fitzhugh_nagumo", {"library": "poly(3)"}),
        ("Lorenz from x", "lorenz", {"free_scale": False}),
        ("Lorenz from x, free scale", "lorenz", {"free_scale": True}),
        ("Rossler from y", "rossler", {"free_scale": False}),
        ("Rossler from y, free scale", "rossler", {"free_scale": True}),
        ("two tanks", "two_tanks", {"overflow": False}),
        ("two tanks with overflow", "two_tanks", {"overflow": True}),
        ("two tanks, order two", "two_tanks_order_two", {"overflow": True}),
        ("one compartment, 12 subjects", "one_compartment", {}),
        ("20 pendulums", "pendulums", {}),
        ("Mackey-Glass with a free delay", "mackey_glass", {}),
        ("dead time before a hidden state", "hidden_dead_time", {}),
        ("dead time with a constant per run", "per_run_dead_time", {}),
        ("logistic map", "logistic", {}),
        ("Henon map", "henon", {}),
        ("Ricker map", "ricker", {}),
        ("Ricker map, discovered", "ricker_discovered", {}),
        ("Genesio-Tesi jerk flow, order 3", "genesio_tesi", {}),
        ("motor with slow current, order 3", "motor", {}),
        ("van der Pol from x, nothing given", "van_der_pol", {}),
        ("Rossler from x and y, nothing given", "rossler_two", {}),
        ("advice on a missing state", "advice", {}),
    ]
    once: list[tuple[str, str, Case]] = [
        ("flu in a boarding school", "flu", {}),
        ("theophylline", "theophylline", {}),
        *((f"identifiability: {name}", "identifiability", {"system": name}) for name in SYSTEMS),
        ("cost of a hidden state", "cost_hidden", {}),
        ("cost of constants per run", "cost_per_run", {}),
        ("mistakes", "mistakes", {}),
    ]
    return [
        {"id": f"{name}/{seed}", "case": name, "function": function, "seed": seed} | settings
        for group, count in ((several, seeds), (many, 4 * seeds), (once, 1))
        for name, function, settings in group
        for seed in range(count)
    ]


def run_case(case: Case) -> dict[str, Any]:
    """Return the result of one case."""
    from . import _cases, _orders

    module = _orders if hasattr(_orders, case["function"]) else _cases
    return getattr(module, case["function"])(case)


def measure(
    only: str = "",
    limit: int | None = None,
    seeds: int = SEEDS,
    workers: int = 1,
    cpu_limit: float = CPU_LIMIT,
    store: Path = STORE,
    stored: bool = False,
) -> dict[str, Any]:
    """Return the record of all cases. If `stored` is set, nothing is fitted, and the record
    contains only cases with stored results."""
    chosen = selected(cases(seeds), only, limit)
    if stored:
        chosen = with_results(chosen, store)
    done = run_jobs(
        "benchmarks.unmeasured:run_case", chosen, store, workers=workers, cpu_limit=cpu_limit
    )
    return {
        "revision": source_revision(),
        "cpu_limit": cpu_limit,
        "rows": [case | done[case["id"]] for case in chosen],
    }


def with_rows(record: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Return a record with the rows of another one added or replaced, in the order of the cases.
    Added rows keep their revision."""
    rows = {row["id"]: row for row in record["rows"]}
    rows |= {row["id"]: row | {"revision": new["revision"]} for row in new["rows"]}
    order = [case["id"] for case in cases() if case["id"] in rows]
    return record | {"rows": [rows[name] for name in order]}
