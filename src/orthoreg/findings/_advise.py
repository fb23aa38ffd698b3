"""Collect advice about a model. Each item of advice requires evidence in the data."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from ..data import Dataset
from ..export import equation_names
from ..field.hybrid import HybridField
from ..fitting import Recipe
from . import _limits as limits
from ._findings import Advice, EquationScore, Scores
from ._held_out import beyond_noise
from ._motion import Motion
from ._observations import Observations
from ._verdict import judged_error
from ._words import listed, rates
from .diagnoses import (
    chaotic,
    dead_time,
    differs_by_run,
    discrete,
    few_rows,
    higher_order,
    lag,
    larger_library,
    missing_variable,
    noise,
    time_dependence,
)

_GOOD = ("explained", "needs-residual", "constant")


def advise(
    field: HybridField,
    recipe: Recipe,
    data: Dataset | None,
    seen: Observations | None,
    scores: Scores,
    places: Sequence[int] | None = None,
    complete: Sequence[int] = (),
    at_bounds: Sequence[str] = (),
) -> tuple[Advice, ...]:
    """Return advice in the order remedies (by their error on held-out rows), missing quantities,
    further measurements.

    `places` are the indices of the scored equations, by default all. `complete` are the indices of
    equations to which no terms can be added. `at_bounds` are the names of estimates at a bound.
    """
    period = None if seen is None or seen.motion is None else seen.motion.period
    mapped = None
    if data is not None and any(equation.status not in _GOOD for equation in scores.equations):
        mapped = discrete(data, period)
    resolved = period if mapped is None else None
    n_terms = len(field.features.terms)
    if set(range(len(field.features.mask))) <= set(complete):  # nothing is selected
        n_terms = int(np.count_nonzero(field.coefficients, axis=1).max(initial=0))
    few = None if data is None else few_rows(data, n_terms, resolved)
    if seen is None or len(seen.samples.targets) < limits.MIN_ROWS:
        return () if few is None else (few,)
    features = field.features
    values = features.values if field.parameters is None else np.asarray(field.parameters).tolist()
    seen = replace(seen, constants=dict(zip(features.parameters, values, strict=True)))
    places = range(len(scores.equations)) if places is None else places
    excess = {
        c: _excess(equation)
        for c, equation in zip(places, scores.equations, strict=True)
        if equation.status != "constant" and c not in complete
    }
    items = _remedies(field, recipe, seen, excess)
    items = items if mapped is None else [mapped, *items]
    if few is not None:
        items.append(few)
    if data is None or (seen.motion is None and not data.discrete):
        return tuple(items)
    wrong = [
        c
        for c, equation in zip(places, scores.equations, strict=True)
        if equation.status not in _GOOD
    ]
    items += _motion_advice(data, seen, [] if mapped is not None else wrong)
    ambiguous = [score.equation for score in scores.equations if score.is_ambiguous]
    if ambiguous:
        items.append(ambiguous_advice(ambiguous))
    items += _limits(field, data, seen.noise_level, scores)
    unexplained = {
        c: equation.equation
        for c, equation in zip(places, scores.equations, strict=True)
        if equation.exceeds_noise
        or (equation.trajectory_alone and equation.status == "needs-residual")
    }
    open_ = [name for c, name in unexplained.items() if c not in complete]
    if open_:
        items.append(explain_advice(open_))
    elif unexplained:
        items.append(given_advice(list(unexplained.values()), at_bounds))
    return tuple(items)


def explain_advice(equations: Sequence[str]) -> Advice:
    """Return advice to search for missing terms of equations whose misfit exceeds the noise."""
    return Advice(
        "explain",
        f"The misfit of {rates(equations)} exceeds the noise. Search for the missing terms with "
        f"`orthoreg explain`, or in Python with model.explain(data).",
    )


def ambiguous_advice(equations: Sequence[str]) -> Advice:
    """Return advice on equations that other terms explain as well."""
    return Advice(
        "few-rows",
        f"These data do not distinguish the terms of {rates(equations)} from other terms. Measure "
        "runs from other initial states, with other inputs, with more rows or with less noise.",
    )


def given_advice(equations: Sequence[str], at_bounds: Sequence[str] = ()) -> Advice:
    """Return advice on equations that are given completely but whose misfit exceeds the noise."""
    bounds = "the bound of" if len(at_bounds) == 1 else "a bound of one of"
    wrong = f"a given value or {bounds} {listed(at_bounds)}" if at_bounds else "a given value"
    are, these = ("was", "the equation") if len(equations) == 1 else ("were", "the equations")
    return Advice(
        "explain",
        f"{rates(equations)} {are} given completely, but the misfit exceeds the noise: a term is "
        f"missing, or {wrong} is wrong. End {these} with '+ ...' so that terms can be added; "
        f"then `orthoreg explain` (in Python, model.explain(data)) searches for missing terms.",
    )


def _motion_advice(data: Dataset, seen: Observations, wrong: Sequence[int]) -> list[Advice]:
    """Return advice on lagging velocities, and on noise in the equations `wrong`."""
    motion = seen.motion
    if motion is None:
        return []
    items = [lag(motion.data)]
    if wrong:
        items.append(_noise(data, motion, np.sqrt(np.maximum(seen.size, 1e-300)), wrong))
    return [item for item in items if item is not None]


def _noise(
    data: Dataset, motion: Motion, size: Float[np.ndarray, " n"], equations: Sequence[int]
) -> Advice | None:
    """Return advice if measured states are noisy enough to affect the derivatives in `equations`.

    For a position without a measured velocity, this is the second or a higher derivative.
    """
    rate_of = {i: i for i in np.flatnonzero(data.is_measured).tolist()}
    rate_of |= {state: rate for rate, (state, _) in data.schema.derivative_of.items()}
    pairs = [(i, c) for i, c in rate_of.items() if c in equations]
    states, learned = [i for i, _ in pairs], [c for _, c in pairs]
    labels = equation_names(data.state_names, data.velocity_of, discrete=data.discrete)
    return noise(
        tuple(data.state_names[i] for i in states),
        motion.noise_level[states],
        (np.sqrt(motion.slope_noise) / size)[learned],
        tuple(labels[i] for i in learned),
    )


def _excess(score: EquationScore) -> float:
    """Return the part of an equation's error that exceeds the noise."""
    if score.exceeds_noise is not None and score.status in ("explained", "noise-limited"):
        return 0.0
    error = max(score.equation_error or 0.0, judged_error(score))
    excess = beyond_noise(error, score.noise or 0.0, limits.NOISE_MARGIN)
    return max(excess, 2 * limits.IMPROVABLE_ERROR) if score.exceeds_noise else excess


def _remedies(
    field: HybridField, recipe: Recipe, seen: Observations, excess: dict[int, float]
) -> list[Advice]:
    """Return advice to add terms or columns; `excess` is the error of each equation beyond
    noise.
    """
    improvable = [c for c, error in excess.items() if error > limits.IMPROVABLE_ERROR]
    failing = [c for c, error in excess.items() if error > limits.GOOD_ERROR]
    if not improvable:
        return []
    first = seen.first_order()
    tried: list[tuple[float, Advice]] = []
    library, explained = recipe.library, list[int]()
    unknown = higher_order(seen, recipe, failing, first)
    order = None if unknown is None else unknown.advice(above=1)
    if unknown is not None and order is not None:
        tried.append((0.0, order[1]))
        explained += unknown.equations
    remaining = [c for c in improvable if c not in explained]
    delayed = dead_time(seen, library, remaining) if remaining else None
    if delayed is not None:
        tried.append((delayed.left, delayed.advice))
        explained.append(delayed.equation)
        remaining = [c for c in remaining if c != delayed.equation]
    varying = differs_by_run(seen, library, remaining) if remaining else None
    if varying is not None:
        tried.append((varying.left, varying.advice))
        explained.append(varying.equation)
        remaining = [c for c in remaining if c != varying.equation]
    jerk = None
    if unknown is not None and set(unknown.equations) <= set(remaining):
        jerk = unknown.advice(above=2)
    if unknown is not None and jerk is not None:
        tried.append(jerk)
        explained += unknown.equations
        remaining = [c for c in remaining if c not in explained]
    larger = larger_library(seen, library, remaining) if remaining else None
    if larger is not None:
        tried.append((larger.left, larger.advice))
        error = float(
            np.sqrt(seen.noise[larger.equation] / max(seen.size[larger.equation], 1e-300))
        )
        if beyond_noise(larger.after, error, limits.NOISE_MARGIN) <= limits.GOOD_ERROR:
            explained.append(larger.equation)
    rows, terms = len(seen.samples.targets), len(field.features.terms)
    open_ = remaining
    rival = np.inf if larger is None else larger.left
    # a complete forcing is reported in addition to the higher order
    if unknown is not None and jerk is not None:
        open_ = [*remaining, *unknown.equations]
        rival = min(rival, max(jerk[0], 2 * limits.FORCING_REMAINING_ERROR))
    if open_ and rows >= limits.MIN_ROWS_PER_TERM * terms:
        timed = time_dependence(seen, field.features, open_, first, rival)
        if timed is not None:
            tried.append((timed.left, timed.advice))
            explained.append(timed.equation)
    ordered = [advice for _, advice in sorted(tried, key=lambda pair: pair[0])]
    remaining = [c for c in failing if c not in explained]
    failure = "" if unknown is None else unknown.failure
    missing = (
        missing_variable(seen, field.features, remaining, first, failure) if remaining else None
    )
    return ordered + ([] if missing is None else [missing])


def _limits(field: HybridField, data: Dataset, level: np.ndarray, scores: Scores) -> list[Advice]:
    """Return advice on chaos if derivatives are accurate but forecasts are not."""
    if any(score.status in ("not-explained", "roughly-explained") for score in scores.equations):
        return []
    lasted = scores.forecasts and not scores.forecasts_failed
    if lasted and (scores.forecast_error or 0.0) <= limits.GOOD_FORECAST_ERROR:
        return []
    errors = [
        beyond_noise(judged_error(score), score.noise or 0.0, limits.NOISE_MARGIN)
        for score in scores.equations
        if score.status != "constant"
    ]
    limit = chaotic(field.values, data, max([*errors, float(level.max(initial=0.0))]))
    return [] if limit is None else [limit]
