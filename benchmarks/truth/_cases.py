"""The cases: systems in their settings, with different noise."""

import hashlib
from collections.abc import Iterator
from typing import Any

from ._system import System
from ._systems import SYSTEMS

NOISES: dict[str, tuple[float, ...]] = {
    "plain": (0.0, 0.01, 0.02, 0.05),
    "lacking": (0.0, 0.02),
    "steps": (0.0, 0.01, 0.05),
    "sparse": (0.0, 0.01),
    "chaos": (0.0, 0.01, 0.05),
    "relaxation": (0.0, 0.01),
    "physics": (0.0, 0.02),
    "wrong physics": (0.01,),
    "positions": (0.0, 0.01),
}
IN_VIEW = (
    "RC low-pass", "conservative flow", "Lorenz", "chemostat", "thermal house", "cart",
    "reactor with ignition", "Duffing", "hardening Duffing", "fed chemostat",
)  # fmt: skip
"""Systems known to be misjudged when the benchmark was made. They are never held out."""
HARD_NOISES = (0.05, 0.1, 0.2)
HARD_GROUPS = ("plain", "steps", "positions")
HARD_ROWS, MIN_HARD_ROWS, HARD_RUNS = 0.2, 30, 2  # fraction of the usual rows, minimum rows, runs
LARGE_ROWS = 10_000  # rows of five runs of Duffing, whose library lacks the cubic term


def harder_case(
    group: str,
    name: str,
    noise: float,
    rows: int,
    runs: int,
    errors: str = "white",
    library: str | None = None,
) -> dict[str, Any]:
    """Return a case of a system with this number of rows and runs, kind of noise and library."""
    case = _case(SYSTEMS[name], group, noise, 0)
    words = [group, name, f"{100 * noise:g}%", f"{runs}x{rows}", *filter(None, [library])]
    return case | {
        "id": "/".join(words if errors == "white" else [*words, errors]),
        "library": library or case["library"],
        "rows": rows,
        "runs": runs,
        "errors": errors,
    }


def cases(seeds: int = 1) -> list[dict[str, Any]]:
    """Return all cases, about 200 for each seed."""
    return [case for seed in range(seeds) for case in _cases(seed)]


def hard_cases(seeds: int) -> list[dict[str, Any]]:
    """Return 132 cases for each seed with a complete library, much noise and few rows. The data
    often do not determine the terms."""
    return [
        _hard(_case(system, group, noise, seed), system)
        for seed in range(seeds)
        for system in SYSTEMS.values()
        for group in system.groups
        if group in HARD_GROUPS
        for noise in HARD_NOISES
    ]


def _hard(case: dict[str, Any], system: System) -> dict[str, Any]:
    return case | {
        "id": f"{case['id']}/few",
        "rows": max(MIN_HARD_ROWS, int(HARD_ROWS * system.rows)),
        "runs": min(HARD_RUNS, system.runs),
    }


def half(name: str) -> str:
    """Return whether a system belongs to the development or to the held-out half."""
    odd = hashlib.sha1(name.encode()).digest()[0] % 2
    return "held-out" if odd and name not in IN_VIEW else "development"


def _cases(seed: int) -> Iterator[dict[str, Any]]:
    for group, noises in NOISES.items():
        chosen = [system for system in SYSTEMS.values() if group in _groups(system)]
        for number, system in enumerate(chosen):
            for noise in _noises(group, noises, number):
                yield _case(system, group, noise, seed)
    for name in ("Duffing", "hardening Duffing"):
        large = _case(SYSTEMS[name], "lacking", 0.0, seed)
        yield large | {"id": large["id"] + "/50000 rows", "rows": LARGE_ROWS}


def _groups(system: System) -> tuple[str, ...]:
    return (*system.groups, *(("wrong physics",) if system.wrong else ()))


def _noises(group: str, noises: tuple[float, ...], number: int) -> tuple[float, ...]:
    """Return the noise levels of a system: zero, and one of the others in turn."""
    if group == "plain":
        return noises[0], noises[1 + number % 3]
    if group == "lacking" and number % 2:
        return noises[:1]
    if group == "steps":
        return noises[0], noises[1 + number % 2]
    if group == "wrong physics" and number % 2:
        return ()
    return noises


def _case(system: System, group: str, noise: float, seed: int) -> dict[str, Any]:
    physics = {"physics": system.physics, "wrong physics": system.wrong}.get(group)
    library = system.lacking if group == "lacking" else system.library
    return {
        "id": f"{group}/{system.name}/{100 * noise:g}%/{seed}",
        "system": system.name,
        "group": group,
        "noise": noise,
        "half": half(system.name),
        "right": group not in ("lacking", "wrong physics"),
        "library": library,
        "physics": None if physics is None else dict(physics),
    }
