"""Discovery of missing terms: pendulum, Duffing, withheld terms, complete libraries, ODEBench."""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, final

import numpy as np

from orthoreg import Dataset, OrthoReg, Zero, discover
from orthoreg.diagnostics import normalized_mse
from orthoreg.systems import Duffing, Pendulum, Split, generate
from orthoreg.terms import evaluate, parse

from ._discovery_systems import BENCHMARKS
from ._odebench import forecast, forecast_r2, odebench_runs, odebench_truth
from ._peers import EVALUATIONS, Slope, operon_model, pysindy_models
from ._settings import Scale
from .sweeps import Job, Record

NAME = "discovery"
TITLE = "Discovery of missing terms"
CAPTION = (
    "Derivatives are estimated from clean and noisy runs. For pendulum and Duffing, the first "
    "proposal of `explain` on a fit with poly(2) + fourier(1) is accepted. For withheld terms, the "
    "library lacks one term. For ODEBench, if its data are available, the result is the percentage "
    "of systems whose unseen initial state is forecast with R^2 > 0.9, by the first model and by "
    f"any model of the list. If installed, PySINDy (the best of nine models) and Operon "
    f"({EVALUATIONS} evaluations per equation) use the same derivatives."
)
PAPER = "none: beyond the paper"
LABELS = {
    "discovery/pendulum/low": "Pendulum, low difficulty",
    "discovery/pendulum/medium": "Pendulum, medium difficulty",
    "discovery/pendulum/high": "Pendulum, high difficulty",
    "discovery/duffing": "Duffing oscillator, one well",
    "discovery/withheld/0%": "One term withheld, clean",
    "discovery/withheld/2%": "One term withheld, noise 2%",
    "discovery/complete/1%": "Complete libraries, noise 1%",
    "discovery/odebench/0%": "ODEBench, clean",
    "discovery/odebench/2%": "ODEBench, noise 2%",
    "discovery/odebench/5%": "ODEBench, noise 5%",
}
SETTINGS = tuple(LABELS)
METHODS = ("base", "discovery", "truth", "pysindy", "operon")
METRICS = ("named_percent", "spurious", "derivative.t2", "top_percent", "list_percent", "seconds")
BLOCKS: Literal["setting", "metric"] = "setting"

SEED_STRIDE = 1000
"""Offset between the record numbers of a system in successive seeds."""
_SAME_FOR_ALL_SEEDS = "discovery/odebench/0%"  # is not random
_RUNS = 200
_QUICK_EVERY = 8
_N_ODEBENCH = 32
_SAME = 0.999  # correlation on the data above which two terms cannot be distinguished
_EQUAL = 1e-4  # relative mean squared error below which right-hand sides are equal
_GOOD = 0.9


@final
@dataclass(frozen=True, kw_only=True)
class Case:
    """A system in a setting."""

    setting: str
    system: str = ""
    seed: int = 0
    runs: int = _RUNS


def jobs(scale: Scale, seeds: int) -> list[Job]:
    """Return a job for each system and seed. The jobs of a seed precede those of the next seed, so
    that an interrupted run has complete seeds. A quick run uses a subset of the systems."""
    every = 1 if scale.is_full else _QUICK_EVERY
    runs = _RUNS if scale.is_full else scale.train_runs
    result = []
    for setting in SETTINGS:
        systems = [""]
        if "withheld" in setting or "complete" in setting:
            systems = list(BENCHMARKS)[::every]
        elif "odebench" in setting:
            systems = [str(number) for number in sorted(_odebench())[::every]]
        result += [
            Job(function=measure, spec=Case(setting=setting, system=system, seed=seed, runs=runs))
            for system in systems
            for seed in range(1 if setting == _SAME_FOR_ALL_SEEDS else seeds)
        ]
    return sorted(result, key=lambda job: job.spec.seed)


def n_cases(scale: Scale) -> dict[str, int]:
    """Return the number of systems in each setting, whether or not ODEBench is available."""
    every = 1 if scale.is_full else _QUICK_EVERY
    return {
        setting: -(-(_N_ODEBENCH if "odebench" in setting else len(BENCHMARKS)) // every)
        if setting.endswith("%")
        else 1
        for setting in SETTINGS
    }


def measure(case: Case) -> list[Record]:
    """Return the records of one case. Record numbers encode system and seed."""
    kind = case.setting.split("/")[1]
    found = _MEASURES[kind](case)
    order = {name: i for i, name in enumerate(BENCHMARKS)}
    place = int(case.system) if case.system.isdigit() else order.get(case.system, 0)
    return [
        {
            "setting": case.setting,
            "method": method,
            "seed": SEED_STRIDE * case.seed + place,
            "metric": metric,
            "value": value,
        }
        for (method, metric), value in found.items()
    ]


def _missing(case: Case) -> dict[tuple[str, str], float]:
    """Score the first proposal for the pendulum and for Duffing."""
    difficulty = case.setting.split("/")[-1]
    system = Duffing() if difficulty == "duffing" else Pendulum.of_difficulty(difficulty)
    runs = max(case.runs // 10, 4) if difficulty == "duffing" else case.runs
    data = generate(system, Split.train, runs=runs, seed=case.seed)
    began = time.process_time()
    model = OrthoReg("poly(2) + fourier(1)").fit(data)
    found = model.explain(data)
    seconds = time.process_time() - began
    larger = found.accept(0) if found.proposals else model
    test = generate(system, Split.t2, runs=30, seed=case.seed)
    truth = system(0.0, test.states)
    wanted = {"x**3"} if difficulty == "duffing" else {"cos(3*theta)", "exp(-theta**2)"}
    named = bool(found.proposals) and wanted <= set(found.proposals[0].terms)
    if difficulty == "duffing" and named:
        places = dict(zip(larger.feature_names_, larger.coefficients_[1], strict=True))
        named = abs(places["x**3"] / -system.c - 1) < 0.02  # type: ignore[union-attr]
    return {
        ("base", "derivative.t2"): normalized_mse(model.predict(test.states), truth),
        ("discovery", "derivative.t2"): normalized_mse(larger.predict(test.states), truth),
        ("discovery", "named_percent"): 100.0 * named,
        ("discovery", "seconds"): seconds,
    }


def _withheld(case: Case) -> dict[tuple[str, str], float]:
    """Score whether the first proposal has the withheld term, or an equal term on the data."""
    one = BENCHMARKS[case.system]
    data = one.generate(_noise(case), case.seed)
    model = OrthoReg(one.library(complete=False), Zero()).fit(data)
    began = time.process_time()
    found = model.explain(data)
    seconds = time.process_time() - began
    first = next((p for p in found.proposals if p.equation == one.equation), None)
    named = False
    if first is not None:
        clean = one.generate(0.0, case.seed).states
        truth = one.slope(clean)[:, one.names.index(one.equation)]
        named = any(_same(term, one.withheld, one.names, clean) for term in first.terms)
        # or an equivalent form: y/(1 + x) and y make x*y/(1 + x)
        named |= normalized_mse(first.values(clean), truth) < _EQUAL
    return {("discovery", "named_percent"): 100.0 * named, ("discovery", "seconds"): seconds}


def _complete(case: Case) -> dict[tuple[str, str], float]:
    """Count the equations with a proposal, although no term is missing."""
    one = BENCHMARKS[case.system]
    data = one.generate(_noise(case), case.seed)
    model = OrthoReg(one.library(complete=True), Zero()).fit(data)
    found = model.explain(data)
    return {("discovery", "spurious"): float(len({p.equation for p in found.proposals}))}


def _ode(case: Case) -> dict[tuple[str, str], float]:
    """Score forecasts from the other initial state, by the best model, the base library's model,
    any model of the list, and the true equations. In the first seed, also score other programs on
    the same derivatives."""
    train, test = _odebench()[int(case.system)]
    rng = np.random.default_rng(1000 * int(case.system) + case.seed)
    states = train[:, 1:] * (1 + _noise(case) * rng.standard_normal(train[:, 1:].shape))
    data = Dataset.from_arrays(states, train[:, 0])

    def is_good(slope: Slope) -> bool:
        return forecast_r2(forecast(slope, test[0, 1:], test[:, 0]), test[:, 1:]) > _GOOD

    began = time.process_time()
    found = discover(data)
    seconds = time.process_time() - began
    fields = [one.field_ for one in (found.models[0], found.base, *found.models[1:])]
    good = (is_good(lambda x, one=one: one.values(x[None])[0]) for one in fields)
    top, base = next(good), next(good)
    result = {
        ("base", "top_percent"): 100.0 * base,
        ("discovery", "top_percent"): 100.0 * top,
        ("discovery", "list_percent"): 100.0 * (top or base or any(good)),
        ("discovery", "seconds"): seconds,
        ("truth", "top_percent"): 100.0 * is_good(_truth(int(case.system))),
    }
    if case.seed:
        return result
    began = time.process_time()
    others = [is_good(slope) for slope in pysindy_models(data)]
    if others:
        result["pysindy", "list_percent"] = 100.0 * any(others)
        result["pysindy", "seconds"] = time.process_time() - began
    began = time.process_time()
    if (slope := operon_model(data)) is not None:
        result["operon", "seconds"] = time.process_time() - began
        result["operon", "top_percent"] = 100.0 * is_good(slope)
    return result


_MEASURES = {
    "pendulum": _missing,
    "duffing": _missing,
    "withheld": _withheld,
    "complete": _complete,
    "odebench": _ode,
}


def _noise(case: Case) -> float:
    return float(case.setting.split("/")[-1].rstrip("%")) / 100


def _same(term: str, other: str, names: tuple[str, ...], states: np.ndarray) -> bool:
    columns = list(states.T)
    values = [np.zeros(len(states)) + evaluate(parse(one, names), columns, np)
              for one in (term, other)]  # fmt: skip
    return bool(abs(np.corrcoef(values)[0, 1]) > _SAME)


def _odebench() -> dict[int, tuple[np.ndarray, np.ndarray]]:
    folder = os.environ.get("ORTHOREG_DATA")
    return odebench_runs(Path(folder)) if folder else {}


def _truth(number: int) -> Slope:
    return odebench_truth(Path(os.environ["ORTHOREG_DATA"]), number)
