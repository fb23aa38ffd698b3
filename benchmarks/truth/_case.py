"""One case: data, fit, summary, and whether the model is correct."""

import re
import zlib
from functools import lru_cache
from typing import Any

import numpy as np

from benchmarks._jobs import cpu_clock

from ._information import Key, covariance
from ._system import Drawn, Runs, renamed
from ._systems import SYSTEMS

COEFFICIENT_LIMIT = 0.03  # maximum relative error of a coefficient of a correct model
JUSTIFIED = 3.0  # standard errors (Cramer-Rao). Maximum error of a coefficient
FIELD_LIMIT = 0.002  # maximum relative error of the field of an equivalent model, without noise
FIELD_PER_NOISE = 2.0  # increase of this limit per unit of relative noise
LARGEST_FIELD_LIMIT = 0.05
CORRELATED = 0.9  # minimum correlation of two constants that count as correlated
_TEST_SEED = 7919  # added to the seed of the training runs
_SPIKE = (1.0, 2.0)  # size of an outlier, in standard deviations of a state
_ALIKE = 0.7  # correlation of neighbouring errors of correlated noise


def run_case(case: dict[str, Any]) -> dict[str, Any]:
    """Fit with the defaults, and compare the summary with the truth."""
    import orthoreg as og

    system = SYSTEMS[case["system"]]
    seed = zlib.crc32(case["id"].encode())
    sparse = system.sparse_rows if case["group"] == "sparse" else None
    rows = case.get("rows") or sparse or system.rows
    drawn, runs, test = _simulated(system.name, seed, rows, case.get("runs", system.runs))
    names = _names(case)
    spread = np.concatenate(runs.states).std(axis=0)
    data = _dataset(case, runs, spread, names, seed)
    arguments: dict[str, Any] = {"library": renamed(case["library"], names)}
    if case.get("physics"):
        given = {names.get(k, k): renamed(v, names) for k, v in case["physics"].items()}
        values = {name: drawn.constants[name] for name in system.known}
        arguments["physics"] = og.Physics(equations=given, values=values)
    seconds: dict[str, float] = {}
    with cpu_clock(seconds, "fit"):
        model = og.OrthoReg(**arguments).fit(data)
    with cpu_clock(seconds, "summary"):
        summary = model.summary(data)
    result = _judged(case, drawn, runs, test, model, spread)
    return result | {
        "verdict": summary.verdict.code,
        "text": summary.verdict.text,
        "advice": [[advice.code, advice.text] for advice in summary.advice],
        "equations": list(summary.equations),
        "terms": _probabilities(case, drawn, model, summary),
        "coverage": _coverage(case, drawn, runs, model, summary, spread, result["structure"]),
        "truth": _written(drawn),
        "residual": bool(np.any(model.field_.weights)),
        "fit_seconds": seconds["fit"],
        "summary_seconds": seconds["summary"],
    }


@lru_cache(maxsize=1)  # the same for all fits of a case
def _simulated(name: str, seed: int, rows: int, runs: int) -> tuple[Drawn, Runs, Runs]:
    """Return a system, its runs, and further runs for testing a model."""
    system = SYSTEMS[name]
    drawn = system.drawn(seed)
    test = drawn.simulate(system.rows, system.runs, seed + _TEST_SEED)
    return drawn, drawn.simulate(rows, runs, seed), test


def class_of(correct: bool, field_error: float, noise: float) -> str:
    """Return the class of a model, given whether it has the true terms and constants."""
    limit = min(LARGEST_FIELD_LIMIT, FIELD_LIMIT + FIELD_PER_NOISE * noise)
    return "correct" if correct else "equivalent" if field_error <= limit else "wrong"


def _names(case: dict[str, Any]) -> dict[str, str]:
    """Return other names of velocities that are not measured."""
    if case["group"] != "positions":
        return {}
    return {v: f"{q}_dot" for q, v in SYSTEMS[case["system"]].positions.items()}


def _dataset(
    case: dict[str, Any], runs: Runs, spread: np.ndarray, names: dict[str, str], seed: int
) -> Any:
    import orthoreg as og

    system = SYSTEMS[case["system"]]
    rng = np.random.default_rng([seed, 2])
    errors = _ERRORS[case.get("errors", "white")]
    noisy = [x + case["noise"] * spread * errors(x, rng) for x in runs.states]
    if case.get("errors") == "spiked":
        noisy = [x + spread * _spikes(x, rng) for x in noisy]
    inputs = runs.inputs if system.inputs else None
    signals = list(system.inputs) or None
    if names:
        columns = [system.states.index(q) for q in system.positions]
        return og.Dataset.from_positions(
            [x[:, columns] for x in noisy], runs.times, inputs, list(system.positions), signals
        )
    return og.Dataset.from_arrays(noisy, runs.times, inputs, system.states, input_names=signals)


def _white(states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal(states.shape)


def _spikes(states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return an outlier in a run, in standard deviations of the state."""
    result = np.zeros(states.shape)
    result.flat[rng.integers(states.size)] = rng.uniform(*_SPIKE) * rng.choice([-1, 1])
    return result


def _growing(states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return noise proportional to the state."""
    return _white(states, rng) * np.abs(states) / np.sqrt(np.mean(states**2, axis=0))


def _slow(states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return correlated noise with the same variance."""
    result = _white(states, rng)
    for before, now in zip(result[:-1], result[1:], strict=True):
        now *= np.sqrt(1 - _ALIKE**2)
        now += _ALIKE * before
    return result


_ERRORS = {"white": _white, "spiked": _white, "growing": _growing, "slow": _slow}
"""Errors of measured states by kind, in standard deviations of the noise."""


def _judged(
    case: dict[str, Any], drawn: Drawn, runs: Runs, test: Runs, model: Any, spread: np.ndarray
) -> dict[str, Any]:
    """Return the class of the model ("correct", "equivalent", "wrong") and its basis. A model is
    correct if it has the true terms and every constant is within 3% or within three standard errors
    of the Cramer-Rao bound. Otherwise, the derivatives of the equations without a residual are
    compared with the true ones at states of other runs: the model is equivalent if the error of
    each equation is small."""
    states, inputs = np.concatenate(test.states), np.concatenate(test.inputs)
    truth = drawn.derivatives(states, inputs)
    size = np.sqrt(np.mean(truth**2, axis=0))
    with np.errstate(all="ignore"):
        field = np.asarray(model.decompose(states, inputs if inputs.shape[1] else None)[0])
        errors = np.sqrt(np.mean((field - truth) ** 2, axis=0)) / size
    error = float(np.max(np.nan_to_num(errors, nan=1e9, posinf=1e9)))
    pairs = _constants(case, drawn, model)
    structure = case["right"] and pairs is not None
    off = [] if pairs is None else [abs(estimate / true - 1) for estimate, true in pairs.values()]
    worst = max(off, default=0.0)
    within = structure and worst <= COEFFICIENT_LIMIT
    if structure and pairs and not within and case["noise"] and case["group"] != "chaos":
        bound_covariance = covariance(drawn, runs, _noise(case, spread), tuple(pairs))
        if bound_covariance is not None:
            allowed = JUSTIFIED * np.sqrt(np.diag(bound_covariance))
            within = all(
                abs(estimate - true) <= max(bound, COEFFICIENT_LIMIT * abs(true))
                for (estimate, true), bound in zip(pairs.values(), allowed, strict=True)
            )
    return {
        "class": class_of(within, error, case["noise"]),
        "structure": bool(structure),
        "field_error": error,
        "coefficient_error": worst,
    }


def _noise(case: dict[str, Any], spread: np.ndarray) -> tuple[float, ...]:
    """Return the noise of each state, infinite for velocities that are not measured."""
    noise = case["noise"] * spread
    if case["group"] == "positions":
        system = SYSTEMS[case["system"]]
        measured = np.array([name in system.positions for name in system.states])
        noise = np.where(measured, noise, np.inf)
    return tuple(noise.tolist())


def _constants(
    case: dict[str, Any], drawn: Drawn, model: Any
) -> dict[Key, tuple[float, float]] | None:
    """Return all learned constants with the true values, or None if the terms of an equation are
    not the true terms."""
    result: dict[Key, tuple[float, float]] = {
        name: (float(value), drawn.constants[name])
        for name, value in dict(model.parameters_).items()
        if name in drawn.constants
    }
    given = case.get("physics") or {}
    for c, chosen in _learned(case, model):
        state = drawn.system.states[c]
        if state in given and not given[state].endswith("..."):
            continue
        truth = {_canonical(term): (term, v) for term, v in drawn.coefficients[c].items()}
        if set(truth) != set(chosen):
            return None
        for key, value in chosen.items():
            term, true = truth[key]
            words = re.findall(r"[A-Za-z_]\w*", drawn.system.equations[state][term])
            if state not in given or not any(word in result for word in words):
                result[c, term] = (value, true)
    return result


def _learned(case: dict[str, Any], model: Any) -> list[tuple[int, dict[str, float]]]:
    """Return the learned equations, except those of velocities, with the coefficients of their
    terms."""
    system = SYSTEMS[case["system"]]
    skipped = set(system.positions) if case["group"] == "positions" else set()
    names = {new: old for old, new in _names(case).items()}
    terms = [_canonical(renamed(name, names)) for name in model.feature_names_]
    return [
        (c, {term: float(v) for term, v in zip(terms, model.coefficients_[c], strict=True) if v})
        for c, state in enumerate(system.states)
        if state not in skipped
    ]


@lru_cache(maxsize=4096)
def _canonical(term: str) -> str:
    """Return the text of a term in a form that does not depend on the order of its factors."""
    import sympy

    names: dict[str, Any] = {name: sympy.Symbol(name) for name in re.findall(r"[A-Za-z_]\w*", term)}
    names |= {name: getattr(sympy, name) for name in ("sin", "cos", "exp", "sqrt", "tanh", "sign")}
    return str(sympy.parse_expr(term, local_dict=names | {"abs": sympy.Abs}))


def _rows(case: dict[str, Any], drawn: Drawn, model: Any, summary: Any) -> list[Any]:
    """Return (equation, canonical term, row) of the terms in a summary."""
    from orthoreg.export import equation_names

    labels = list(equation_names(model.output_names_, model.velocity_of_))
    names = {new: old for old, new in _names(case).items()}
    return [
        (labels.index(row.equation), _canonical(renamed(row.term, names)), row)
        for row in summary.terms
    ]


def _probabilities(case: dict[str, Any], drawn: Drawn, model: Any, summary: Any) -> list[Any]:
    """Return [probability, is true, is in use] of each term that the summary shows."""
    given = case.get("physics") or {}
    truth = [{_canonical(term) for term in row} for row in drawn.coefficients]
    return [
        [round(float(row.probability), 5), term in truth[c], bool(row.coefficient)]
        for c, term, row in _rows(case, drawn, model, summary)
        if row.probability is not None and drawn.system.states[c] not in given
    ]


def _coverage(
    case: dict[str, Any],
    drawn: Drawn,
    runs: Runs,
    model: Any,
    summary: Any,
    spread: np.ndarray,
    structure: bool,
) -> dict[str, list[int]]:
    """Return the number of intervals that contain the truth and the number of all intervals, for
    models with the true terms; the same for correlated constants."""
    pairs = _constants(case, drawn, model) if structure else None
    if not pairs:
        return {"all": [0, 0], "correlated": [0, 0]}
    ends = dict(model.parameter_intervals_ or {})
    shown = {(c, term): (row.low, row.high) for c, term, row in _rows(case, drawn, model, summary)}
    inside: dict[Key, bool] = {}
    for key, (_, true) in pairs.items():
        interval = (
            ends.get(key) if isinstance(key, str) else shown.get((key[0], _canonical(key[1])))
        )
        low, high = interval or (None, None)
        if low is not None and high is not None and not np.isnan(low + high):
            inside[key] = bool(low <= true <= high)
    correlated: set[Key] = set()
    keys = list(inside)
    if len(keys) > 1 and case["noise"] and case["group"] != "chaos":
        bound_covariance = covariance(drawn, runs, _noise(case, spread), tuple(keys))
        if bound_covariance is not None:
            errors = np.sqrt(np.diag(bound_covariance))
            strength = np.abs(bound_covariance / np.outer(errors, errors)) - np.eye(len(keys))
            correlated = {key for key, row in zip(keys, strength, strict=True)
                          if row.max() >= CORRELATED}  # fmt: skip
    return {
        "all": [sum(inside.values()), len(inside)],
        "correlated": [sum(inside[key] for key in correlated), len(correlated)],
    }


def _written(drawn: Drawn) -> list[str]:
    return [
        f"{state}' = " + " + ".join(f"{v:.4g} {term}" for term, v in row.items())
        for state, row in zip(drawn.system.states, drawn.coefficients, strict=True)
    ]
