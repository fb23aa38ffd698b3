"""Ablations: the same cases with one mechanism of a default fit switched off at a time.

The cases are development systems that are harder than those of `truth` and `dysts`. A mechanism is
switched off by replacing a limit or a function in a copy of the process of the case.
"""

import dataclasses
import importlib
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks import truth
from benchmarks._jobs import run_jobs
from benchmarks.revision import source_revision

STORE = Path(__file__).parent / "records" / "partial" / "ablations.jsonl"
HARD: tuple[tuple[Any, ...], ...] = (
    ("plain", "Allee growth", 0.05, 20, 8),
    ("plain", "falling body", 0.05, 30, 3),
    ("plain", "Duffing", 0.1, 60, 2),
    ("plain", "Duffing", 0.1, 30, 2, "white", "poly(4) + fourier(1)"),
    ("plain", "Duffing", 0.05, 25, 3, "white", "poly(5)"),
    ("plain", "hardening Duffing", 0.2, 40, 2, "white", "poly(5)"),
    ("plain", "pendulum", 0.1, 50, 2),
    ("plain", "pendulum", 0.1, 30, 2, "white", "poly(5) + fourier(2)"),
    ("plain", "pendulum", 0.2, 40, 3, "white", "poly(3) + fourier(2)"),
    ("plain", "generator", 0.1, 40, 2, "white", "poly(3) + fourier(2)"),
    ("plain", "grazing", 0.1, 50, 2),
    ("plain", "grazing", 0.1, 25, 4, "white", "poly(3) + x*y/(H + x)"),
    ("plain", "grazing", 0.05, 30, 2, "white", "poly(3) + x*y/(H + x)"),
    ("plain", "chemostat", 0.02, 40, 3),
    ("plain", "chemostat", 0.1, 60, 3),
    ("plain", "chemostat", 0.05, 20, 3, "white", "poly(3) + X*S/(K + S)"),
    ("plain", "enzyme kinetics", 0.1, 20, 6),
    ("plain", "enzyme kinetics", 0.05, 15, 4, "white", "poly(3)"),
    ("plain", "enzyme kinetics", 0.1, 20, 4, "white", "poly(3)"),
    ("plain", "epidemic with waning immunity", 0.1, 40, 3, "white", "poly(3)"),
    ("plain", "FitzHugh-Nagumo", 0.1, 60, 2),
    ("plain", "FitzHugh-Nagumo", 0.05, 40, 2, "white", "poly(4)"),
    ("steps", "cart", 0.2, 40, 2, "white", "poly(3) + v*abs(v)"),
    ("steps", "cart with friction", 0.1, 40, 2, "white", "poly(3) + tanh(4*v) + v*abs(v)"),
    ("steps", "thermal house", 0.1, 100, 1),
    ("steps", "draining tank", 0.1, 40, 2, "white", "poly(3) + sqrt(h)"),
    ("steps", "tanks with orifices", 0.1, 40, 2, "white", "poly(3) + sqrt(h1) + sqrt(h2)"),
    ("steps", "RC low-pass", 0.1, 60, 2),
    ("sparse", "enzyme kinetics", 0.0, 15, 4),
    ("chaos", "Genesio-Tesi", 0.0, 160, 4),
    ("sparse", "pendulum", 0.0, 30, 3),
    ("lacking", "Allee growth", 0.05, 20, 4),
    ("lacking", "Duffing", 0.05, 60, 2),
    ("lacking", "hardening Duffing", 0.1, 60, 2),
    ("lacking", "pendulum", 0.05, 50, 2),
    ("lacking", "falling body", 0.05, 30, 3),
    ("lacking", "grazing", 0.02, 60, 2),
    ("lacking", "enzyme kinetics", 0.05, 20, 4),
    ("lacking", "draining tank", 0.05, 60, 2),
    ("lacking", "cart with friction", 0.02, 60, 2),
    ("lacking", "FitzHugh-Nagumo", 0.05, 100, 1),
    ("positions", "pendulum", 0.05, 30, 2, "white", "poly(3) + fourier(2)"),
    ("positions", "Duffing", 0.1, 40, 2, "white", "poly(5)"),
    ("positions", "cart", 0.05, 60, 2),
    ("positions", "driven pendulum", 0.1, 60, 1, "white", "poly(3) + fourier(2)"),
    ("physics", "chemostat", 0.05, 30, 3),
    ("physics", "fed chemostat", 0.05, 60, 2),
    ("physics", "pendulum", 0.1, 50, 2),
    ("wrong physics", "cart", 0.05, 60, 2),
    ("wrong physics", "generator", 0.05, 60, 2),
    ("plain", "pendulum", 0.02, 120, 2, "spiked"),
    ("plain", "falling body", 0.001, 80, 3, "spiked"),
    ("plain", "grazing", 0.02, 120, 2, "spiked"),
    ("steps", "cart", 0.001, 100, 2, "spiked"),
    ("positions", "Duffing", 0.0, 120, 2, "spiked"),
    ("plain", "Allee growth", 0.1, 30, 4, "growing"),
    ("plain", "grazing", 0.1, 60, 2, "growing"),
    ("plain", "epidemic with waning immunity", 0.2, 120, 1, "growing"),
    ("plain", "enzyme kinetics", 0.1, 30, 4, "growing"),
    ("plain", "pendulum", 0.05, 100, 2, "slow"),
    ("plain", "generator", 0.05, 100, 2, "slow"),
    ("plain", "grazing", 0.05, 60, 2, "slow"),
    ("physics", "chemostat", 0.03, 60, 3, "slow"),
    ("chaos", "Lorenz", 0.1, 300, 1, "white", "poly(3)"),
    ("chaos", "Sprott E", 0.1, 300, 1, "white", "poly(3)"),
    ("chaos", "conservative flow", 0.05, 120, 1),
    ("chaos", "conservative flow", 0.1, 60, 1, "white", "poly(3)"),
    ("chaos", "Thomas", 0.1, 120, 1),
)  # fmt: skip
"""Group, system, noise, rows per run, runs, kind of noise, and the library if not the usual one."""
DIFFERS = 0.01  # relative. Smaller changes of an error do not count
MIN_ERROR, MAX_ERROR = 1e-4, 10.0  # relative errors of derivatives are clipped to this range
HARD_FLOWS = (("Arneodo", 0.1), ("SprottO", 0.1))

Patch = Callable[[], None]


def _limit(name: str, value: Any) -> Patch:
    return lambda: set_name("matching._limits", name, value)


def set_name(module: str, name: str, value: Any) -> None:
    """Replace a name in a module of the package, and in all modules that imported it."""
    import sys

    owner = importlib.import_module(f"orthoreg.{module}")
    old = getattr(owner, name)
    for key, other in list(sys.modules.items()):
        if key.startswith("orthoreg.") and getattr(other, name, None) is old:
            setattr(other, name, value)
    setattr(owner, name, value)


def _no_exchange() -> None:
    subsets = importlib.import_module("orthoreg.search._proposals")
    found = subsets.neighbours

    def neighbours(*args: Any) -> Any:
        near = found(*args)
        return near._replace(exchanged=np.full_like(near.exchanged, np.inf))

    set_name("search._proposals", "neighbours", neighbours)


def _no_search() -> None:
    structure = importlib.import_module("orthoreg.search._trajectories")
    structure.TermSearch._improved = lambda self, best, *rest: (best, self._linearized(best))


def _one_length() -> None:
    limits = importlib.import_module("orthoreg.matching._limits")
    set_name("matching._limits", "SEARCH_EFFORT", limits.SEARCH_EFFORT._replace(first_length=200))


def _no_integral_form() -> None:
    structure = importlib.import_module("orthoreg.search._trajectories")
    structure.TermSearch._initial_fields = lambda self: [self.field]


def _unchanged_parameters() -> None:
    structure = importlib.import_module("orthoreg.search._trajectories")
    structure.TermSearch._parameter_starts = lambda self: iter([self.field])


def _no_near_fields() -> None:
    structure = importlib.import_module("orthoreg.search._trajectories")
    structure.TermSearch._near_fields = lambda self, *rest: iter(())


def _plain_covariance() -> None:
    set_name("matching._limits", "SANDWICH_MISFIT", np.inf)
    set_name("matching._noise", "are_correlated", lambda *args: False)


def _white_noise() -> None:
    trials = importlib.import_module("orthoreg.search._trials")
    trials.TrialMatcher.correlated_noise = lambda self: None


def _no_outliers() -> None:
    from orthoreg.smoothing import Outliers

    def none(times: Any, values: np.ndarray, *rest: Any) -> Outliers:
        return Outliers(np.zeros(values.shape, bool), values, np.zeros(values.shape[1], bool))

    set_name("data._plan", "find_outliers", none)


def _no_systematic_error() -> None:
    rows = importlib.import_module("orthoreg.fitting._row_uncertainty")
    rows._Moments.derivative_errors = lambda self, H, observed: np.zeros_like(H)


def _no_term_price() -> None:
    score = importlib.import_module("orthoreg.matching._score").Score
    of = score.of

    def without(data: Any, features: Any) -> Any:
        result = of(data, features)
        price = result.term_price - np.log(len(features.terms))
        return dataclasses.replace(result, term_price=price)

    score.of = staticmethod(without)


MECHANISMS: dict[str, tuple[str, Patch]] = {
    "none": ("all mechanisms are on", lambda: None),
    "search": ("the terms of the first proposals are final", _no_search),
    "exchange": ("terms are added and removed, but not exchanged", _no_exchange),
    "integral form": ("the search starts from the fit to rows", _no_integral_form),
    "growing segments": ("the search uses the longest segments only", _one_length),
    "price of choice": ("a term costs log(N)/2, without the number of candidates", _no_term_price),
    "price of symbols": ("long terms cost as much as short ones", _limit("SYMBOL", 0.0)),
    "cancellation": ("terms may cancel each other", _limit("CANCELS", np.inf)),
    "prior": ("constants have a flat prior", _limit("PRIOR_WIDTH", 1e6)),
    "outliers": ("outliers are kept", _no_outliers),
    "noise growth": (
        "the noise does not depend on the state",
        lambda: set_name(
            "smoothing._noise", "estimate_noise_growth", lambda x, y: np.zeros(np.shape(x)[1])
        ),
    ),
    "tempering": ("all rows count if the misfit exceeds the noise", _limit("TEMPERED", np.inf)),
    "limit of growth": (
        "segments along which errors grow a thousandfold are allowed", _limit("MATCH_GROWTH", 1e30)
    ),
    "derivative errors": (
        "intervals ignore the systematic error of derivatives", _no_systematic_error
    ),
    "correlated noise": ("correlated noise counts as a misfit", _white_noise),
    "rivals": (
        "sets of terms that lose on short segments are not compared on longer ones",
        _limit("MAX_RIVALS", 0),
    ),
    "near sets": ("sets near the best one are not matched at the end", _no_near_fields),
    "window": (
        "probabilities compare sets that differ by one term", _limit("MAX_WINDOW_SETS", 1)
    ),
    "evidence temperature": (
        "probabilities use undivided score differences", _limit("EVIDENCE_TEMPERATURE", 1.0)
    ),
    "parameter starts": (
        "parameters inside terms start from one value", _unchanged_parameters
    ),
    "sandwich": ("intervals assume white noise", _plain_covariance),
    "profiles": ("intervals are those of a quadratic likelihood", _limit("CURVED_REACH", np.inf)),
    "horizon": ("models are judged on segments of up to 300 rows", _limit("HORIZON_GROWTH", 1e9)),
    "constant margin": (
        "the judgement does not adjust constants", _limit("CONSTANT_MARGIN", 0.0)
    ),
}  # fmt: skip


KEPT = {
    "derivative errors": "without it, intervals of clean runs with many rows are too narrow: at "
    "revision 6438106, their coverage was 88% instead of 99% in 39 easier cases",
    "tempering": "it matters for `discover`, whose candidates have larger misfits. These cases do "
    "not use `discover`",
    "profiles": "wide intervals become more accurate, although their coverage does not change",
    "horizon": "it allows summaries of chaotic systems to attribute failed forecasts to the growth "
    "of small errors of the initial state. Without it, the summaries of Lorenz and Chen with 1% "
    "noise do not",
}
"""Reasons for keeping mechanisms that have no effect on these cases."""


def measure(workers: int = 1, store: Path = STORE) -> dict[str, Any]:
    """Run all cases without each mechanism."""
    cases = hard_cases()
    done = run_jobs("benchmarks.ablations:run_case", cases, store, workers=workers)
    rows = [
        {"mechanism": name, "case": case["id"]} | result
        for case in cases
        for name, result in done[case["id"]]["rows"].items()
    ]
    return {"revision": source_revision(), "rows": rows}


def hard_cases() -> list[dict[str, Any]]:
    """Return development systems with few rows, much noise, incomplete libraries, positions only,
    outliers or coloured noise, and some chaotic flows."""
    from benchmarks.dysts._flows import names

    cases = [{"kind": "truth"} | truth.harder_case(*described) for described in HARD]
    assert all(case["half"] == "development" for case in cases)
    for flow, noise in HARD_FLOWS if names() else ():
        key = {"id": f"flow {flow}/{100 * noise:g}%", "flow": flow, "noise": noise, "seed": 0}
        cases.append({"kind": "flow"} | key)
    return cases


def run_case(case: dict[str, Any]) -> dict[str, Any]:
    """Fit one case without each mechanism, each in a separate process."""
    fit_case(case, lambda: None)  # imports all modules and simulates the system
    rows = {name: _in_copy(case, name) for name in MECHANISMS}
    return {"rows": rows}


def _in_copy(case: dict[str, Any], mechanism: str) -> dict[str, Any]:
    """Fit a case without a mechanism, in a copy of this process with a separate CPU limit."""
    with ProcessPoolExecutor(1, get_context("fork")) as pool:
        try:
            result = pool.submit(_without, case, mechanism).result()
        except Exception as error:  # recorded as a failed case
            result = {"status": "failed", "error": str(error)}
    return in_short(result | {"status": result.get("status", "done")})


def _without(case: dict[str, Any], mechanism: str) -> dict[str, Any]:
    return fit_case(case, MECHANISMS[mechanism][1])


def fit_case(case: dict[str, Any], patch: Patch) -> dict[str, Any]:
    """Fit one case after a change to the package."""
    import orthoreg.findings
    import orthoreg.search.formulas

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
        "error": float(f"{result['field_error']:.3g}") if "field_error" in result else None,
        "seconds": round(result.get("fit_seconds", 0) + result.get("summary_seconds", 0), 2),
    }


def page(record: dict[str, Any]) -> str:
    """Return the page: every mechanism, and the cases that change without it."""
    rows = record["rows"]
    cases = len({row["case"] for row in rows})
    return (
        f"# Ablations\n\nThis page shows how the results of {cases} hard cases change if one "
        f"mechanism of a default fit is switched off. {_conclusion(rows)} `python -m benchmarks "
        f"ablations` wrote this page at revision {record['revision']}.\n\n{_table(rows)}\n"
        "- **right**: models with the true terms and constants, and equivalent models.\n"
        "- **called right**: right models with the verdict `explained`.\n"
        "- **wrong called right**: wrong models with the verdict `explained`.\n"
        "- **coverage**: the share of 95% intervals that contain the true value.\n"
        "- **error**: the error of derivatives at states of other runs, relative to that with all "
        "mechanisms (geometric mean over the cases).\n"
        "- **differ**: the number of cases in which the class, the verdict or the coverage "
        f"changes, or the error changes by more than {DIFFERS:.0%}.\n"
        "- **CPU**: the time relative to that with all mechanisms (median over the cases).\n\n"
        "The cases are development systems of [Are verdicts true?](truth.md) and [Chaotic "
        "flows](dysts.md). Most have 60 to 240 rows and 5 to 20% noise. Some have large or "
        "incomplete libraries, positions only, outliers, noise that grows with the state, or "
        "correlated noise. All but two cases were chosen before any mechanism was switched off. "
        "The other two, falling body with outliers and Genesio-Tesi, were chosen because a "
        "mechanism matters for them.\n" + _changed(rows) + _kept(rows)
    )


def _conclusion(rows: list[dict[str, Any]]) -> str:
    """Return a sentence with the mechanisms that matter most for the number of right models."""
    right = {
        name: sum(row["class"] in ("correct", "equivalent") for row in _of(rows, name))
        for name in MECHANISMS
        if _of(rows, name)
    }
    usual = right.pop("none")
    most = sorted(right, key=lambda name: right[name])[:3]
    effects = [f"{right[name]} without *{name}*" for name in most]
    return (
        f"With all mechanisms, {usual} models are right. The number falls to "
        f"{', '.join(effects[:-1])} and {effects[-1]}."
    )


def _changed(rows: list[dict[str, Any]]) -> str:
    """Return a list of the cases that change without each mechanism."""
    text = (
        "\n## Cases that change\n\nThe name of a case consists of group, system, noise, runs x "
        "rows, the library if it is not the usual one, and the kind of noise if it is not "
        "white.\n\n"
    )
    described = {name: words for name, (words, _) in MECHANISMS.items()}
    for name, words in described.items():
        changed = _changes(rows, name)
        if changed:
            text += f"- **{name}** ({words}): {'; '.join(changed)}.\n"
    return text


def _kept(rows: list[dict[str, Any]]) -> str:
    """Return the reasons for keeping mechanisms that change no case."""
    usual = {row["case"]: row for row in _of(rows, "none")}
    reasons = [
        f"- **{name}**: {reason}.\n"
        for name, reason in KEPT.items()
        if not any(_differ(row, usual[row["case"]]) for row in _of(rows, name))
    ]
    return (
        "\n## Mechanisms without an effect on these cases\n\nThey are kept for these reasons:\n\n"
        + "".join(reasons)
        if reasons
        else ""
    )


def _table(rows: list[dict[str, Any]]) -> str:
    text = "| without | meaning | right | called right | wrong called right | coverage | error "
    text += "| differ | CPU |\n|---|---|---|---|---|---|---|---|---|\n"
    usual = {row["case"]: row for row in _of(rows, "none")}
    described = {name: words for name, (words, _) in MECHANISMS.items()}
    for name, words in described.items():
        own = _of(rows, name)
        if not own:
            continue
        right = [row for row in own if row["class"] in ("correct", "equivalent")]
        wrong = [row for row in own if row["class"] not in ("correct", "equivalent")]
        held, count = sum(row["held"] for row in own), sum(row["intervals"] for row in own)
        pairs = [(row, usual[row["case"]]) for row in own]
        ratios = [a["seconds"] / b["seconds"] for a, b in pairs if a["seconds"] and b["seconds"]]
        errors = [np.log(_error(a) / _error(b)) for a, b in pairs if a.get("error") and b["error"]]
        text += (
            f"| {name} | {words} | {len(right)} of {len(own)} | "
            f"{sum(row['explained'] for row in right)} | {sum(row['explained'] for row in wrong)} "
            f"of {len(wrong)} | {f'{100 * held / count:.0f}%' if count else '-'} | "
            f"{f'{np.exp(np.mean(errors)):.2f}' if errors else '-'} | "
            f"{sum(_differ(a, b) for a, b in pairs)} | {median(ratios) if ratios else 1:.2f} |\n"
        )
    return text


def _error(row: dict[str, Any]) -> float:
    return min(max(row["error"], MIN_ERROR), MAX_ERROR)


def _differ(row: dict[str, Any], other: dict[str, Any]) -> bool:
    """Return whether any result of a case differs by more than rounding."""
    if any(row[key] != other[key] for key in ("class", "explained", "held", "intervals")):
        return True
    if not (row.get("error") and other.get("error")):
        return False
    return abs(np.log(_error(row) / _error(other))) > DIFFERS


def _changes(rows: list[dict[str, Any]], name: str) -> list[str]:
    return changes(_of(rows, name), _of(rows, "none"))


def changes(rows: list[dict[str, Any]], without: list[dict[str, Any]]) -> list[str]:
    """Return descriptions of the cases whose model or verdict differs from the other rows."""
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
