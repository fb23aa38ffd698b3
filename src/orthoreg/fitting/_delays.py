"""Estimate delays: initial values from rows, and final values from trajectories."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from jaxtyping import Float

from .._common.errors import InputError
from .._common.progress import step
from ..data import Dataset, Delay, Rows, delays_in
from ..field import Zero
from ..field.hybrid import HybridField, switching_terms
from ..losses import Auto
from ..search import DelayEstimate, DelayProfile, delays_with
from ..simulation import input_interpolation, with_delays
from ..solving import Exact, Regularization
from ..terms import (
    Expression,
    FeatureMap,
    Terms,
    Variable,
    all_parts,
    parameter_bounds,
    replace_variables,
    variables_of,
)
from . import _limits as limits
from ._fit import Recipe
from ._route import choose_terms, finish, knowledge_of, prepare, with_parameters


def first_delays(recipe: Recipe, data: Dataset, delays: Sequence[Delay]) -> Dataset:
    """Return the runs with delayed columns, with an initial value for each unknown delay.

    This is the delay that best explains the rows. If there are several candidates, it is the delay
    whose terms have the best score of trajectories.
    """
    if not any(math.isnan(delay.value) for delay in delays):
        return with_delays(data, delays)
    with step("Estimating delays"):
        names, bounds = delay_ranges(recipe, data, delays)
        candidates, width = _from_rows(recipe, data, delays, names, bounds)
        named = [delays_with(delays, dict(zip(names, v, strict=True))) for v in candidates]
        if not recipe.loss.is_linear:
            return with_delays(data, named[0])
        starts = [_Candidate(option, _equations(recipe, data, option)) for option in named]
        ranked = _ranked(recipe, data, starts)[: limits.DELAY_MINIMA]
        ranked += _merged(ranked[0])
        matched = [_matched(recipe, data, option, width) for option in ranked]
        best = _ranked(recipe, data, matched)[0]
    return with_delays(data, best.delays)


@final
@dataclass(frozen=True, eq=False)
class _Candidate:
    """Delays, and the equations fitted to rows with these delays."""

    delays: tuple[Delay, ...]
    field: HybridField


def _equations(recipe: Recipe, data: Dataset, delays: Sequence[Delay]) -> HybridField:
    """Return the equations fitted to rows with these delays."""
    rows = recipe.loss.observe(with_delays(data.subsample_rows(limits.DELAY_ROWS), delays))
    recipe = replace(recipe, augmentation=Zero(), gate=None)
    task, selection = choose_terms(recipe, prepare(recipe, rows))
    return finish(recipe, task, recipe.solver.solve_all([task])[0], selection).field


def _ranked(recipe: Recipe, data: Dataset, candidates: Sequence[_Candidate]) -> list[_Candidate]:
    """Return the candidates, sorted by the scores of trajectories on short segments.

    The score has a price for each term. Candidates that do not follow the data come last.
    """
    if len(candidates) == 1:
        return list(candidates)
    scores = []
    longest = max(delay.value for option in candidates for delay in option.delays)
    for option in candidates:
        profile = _profile(recipe, option.field, data, option.delays, longest)
        trial = None
        if profile is not None:
            trial = profile.trial(
                option.field.without_residual(), profile.values_of(option.delays),
                max_stages=limits.DELAY_STAGES,
            )  # fmt: skip
        scores.append(math.inf if trial is None else trial.trial.score)
    return [candidates[i] for i in np.argsort(scores, kind="stable")]


def _matched(recipe: Recipe, data: Dataset, option: _Candidate, width: float) -> _Candidate:
    """Return a candidate with its delays matched to trajectories.

    If its delayed variables are states, the terms are selected again.
    """
    estimate = matched_delays(recipe, option.field, data, option.delays, width=width)
    if estimate is None:
        return option
    option = replace(option, delays=estimated(option.delays, estimate))
    if any(delay.variable in data.state_names for delay in option.delays):
        option = replace(option, field=_equations(recipe, data, option.delays))
    return option


def simpler_delays(
    recipe: Recipe, field: HybridField, data: Dataset, delays: Sequence[Delay]
) -> tuple[Delay, ...] | None:
    """Return delays for which one of the terms a u + b u(t - tau) is not needed.

    Return None unless the score of trajectories is better without that term.
    """
    present = _Candidate(tuple(delays), field.without_residual())
    width = limits.DELAY_REACH * float(np.median(data.step_of_run()))
    options = [_matched(recipe, data, option, width) for option in _merged(present)]
    best = _ranked(recipe, data, [present, *options])[0]
    return None if best is present else best.delays


def _merged(candidate: _Candidate) -> list[_Candidate]:
    """Return candidates that lack one of the terms a u + b u(t - tau) in an equation.

    Both terms together resemble (a + b) u(t - b tau / (a + b)), so a single short delay may look
    like both.
    """
    features, result = candidate.field.features, []
    coefficients = np.asarray(candidate.field.coefficients)
    for delay in candidate.delays:
        swapped = _without_delay(features, [delay])
        for c, k in np.argwhere(coefficients != 0) if delay.is_estimated else ():
            twin = replace_variables(features.terms[k], swapped)
            if twin == features.terms[k] or twin not in features.terms:
                continue
            m = features.terms.index(twin)
            a, b = float(coefficients[c, m]), float(coefficients[c, k])
            if a == 0 or not 0 < b / (a + b) < 1:
                continue
            changed = coefficients.copy()
            changed[c, m], changed[c, k] = 0.0, a + b
            value = {delay.delay: delay.value * b / (a + b)}
            field = replace(candidate.field, coefficients=changed)
            result.append(_Candidate(delays_with(candidate.delays, value), field))
    return result


def _without_delay(features: FeatureMap, delays: Sequence[Delay]) -> dict[int, Expression]:
    """Return the variables without delay, by the indices of the delayed variables."""
    index = features.variables.index
    return {index(delay.name): Variable(index(delay.variable), delay.variable) for delay in delays}


def estimated(delays: Sequence[Delay], estimate: DelayEstimate) -> tuple[Delay, ...]:
    """Return the delays with their estimates."""
    return delays_with(delays, dict(zip(estimate.names, estimate.values, strict=True)))


def delay_ranges(
    recipe: Recipe, data: Dataset, delays: Sequence[Delay]
) -> tuple[tuple[str, ...], Float[np.ndarray, "d 2"]]:
    """Return the names of unknown delays, and the range of each of them."""
    names = tuple(dict.fromkeys(delay.delay for delay in delays if delay.is_estimated))
    given = dict(parameter_bounds(recipe.library))
    if recipe.physics is not None:
        given |= {key: ends for key, ends in recipe.physics.bounds if isinstance(key, str)}
    last = data.times[data.offsets[1:] - 1]
    longest = float((last - data.times[data.offsets[:-1]]).max())
    ranges = []
    for name in names:
        shortest = _shortest(data, delays, name) if name in _in_open_equations(recipe) else 0.0
        low, high = given.get(name, (shortest, math.inf))
        low = max(low, 0.0)
        if not low < longest:
            raise InputError(
                f"The delay '{name}' must be shorter than the longest run, which lasts "
                f"{longest:.4g} {data.time_name}; its lower bound is {low:.4g}. Earlier rows have "
                "no history."
            )
        share = limits.MAX_DELAY_SHARE if math.isinf(high) else limits.MAX_BOUNDED_DELAY_SHARE
        ranges.append((low, max(min(high, share * longest), low)))
    return names, np.array(ranges, dtype=float).reshape(len(names), 2)


def _in_open_equations(recipe: Recipe) -> set[str]:
    """Return the names of delays in terms of the library, or in known equations with '...'."""
    texts = [formula for part in all_parts(recipe.library) if isinstance(part, Terms)
             for formula in part.formulas]  # fmt: skip
    if recipe.physics is not None:
        texts += [right for _, right in recipe.physics.equations if "..." in right]
    return {written.delay for text in texts for written in delays_in(text)}


def _shortest(data: Dataset, delays: Sequence[Delay], name: str) -> float:
    """Return the shortest delay to search for without bounds. It is zero for inputs.

    For a shorter delay of a state, x - x(t - tau) is nearly its derivative, which explains any
    data, and the smoothed x(t - tau) contains noise of x(t).
    """
    shortest, plan = 0.0, data.plan
    inside = np.diff(data.run_of_row) == 0
    for delay in delays:
        if delay.delay == name and delay.variable in data.state_names:
            index = data.state_names.index(delay.variable)
            column = plan.smoothed[:, index]
            rates = (np.diff(column) / np.diff(data.times))[inside]
            rate = float(np.sqrt(np.mean(rates**2))) if len(rates) else 0.0
            if rate > 0:
                shortest = max(shortest, limits.MIN_STATE_DELAY * float(column.std()) / rate)
            if plan.is_noisy:
                half = int(np.max(plan.smoother.window)) // 2
                shortest = max(shortest, half * float(np.median(data.step_of_run())))
    return shortest


def _from_rows(
    recipe: Recipe,
    data: Dataset,
    delays: Sequence[Delay],
    names: tuple[str, ...],
    bounds: Float[np.ndarray, "d 2"],
) -> tuple[list[Float[np.ndarray, " d"]], float]:
    """Return candidates for the delays, and the distance within which to search near each of them.

    The candidates are those that best explain the rows, on a grid for each delay in turn. A single
    delay has several candidates if the error has several minima, or if its variable is a state: the
    terms of a large library can then explain the rows with any delay.
    """
    error = _row_error(recipe, data, delays, names, bounds)
    values = bounds.mean(axis=1)
    step_size = width = float(np.median(data.step_of_run()))
    grid = errors = np.zeros(0)
    for _ in range(1 if len(names) == 1 else limits.DELAY_GRID_SWEEPS):
        for i, (low, high) in enumerate(bounds):
            count = int(np.clip((high - low) / step_size, *limits.DELAY_GRID)) + 1

            def at(value: float, i: int = i, values: np.ndarray = values) -> float:
                return error(np.where(np.arange(len(names)) == i, value, values))

            grid = np.linspace(low, high, count)
            errors = np.array([at(value) for value in grid])
            gap = grid[1] - grid[0] if high > low else 0.0
            width = max(width, gap)
            k = int(np.argmin(errors))
            inside = np.clip(grid[k] + gap * np.linspace(-1, 1, 9), low, high)
            finer = np.array([at(value) for value in inside])
            best = inside[int(np.argmin(finer))]
            values = np.where(np.arange(len(names)) == i, best, values)
    candidates = [values]
    if len(names) == 1:
        low, high = bounds[0]
        is_minimum = (errors <= np.append(np.inf, errors[:-1])) & (
            errors <= np.append(errors[1:], np.inf)
        )
        others = grid[is_minimum][np.argsort(errors[is_minimum])][: limits.DELAY_MINIMA].tolist()
        is_state = any(delay.variable in data.state_names for delay in delays)
        if is_state and names[0] in _in_open_equations(recipe):
            others += np.linspace(low, high, limits.STATE_DELAY_CANDIDATES).tolist()
        for other in others:
            if all(abs(other - c[0]) > limits.DELAY_WIDTH * width for c in candidates):
                candidates.append(np.array([other]))
    return candidates, limits.DELAY_WIDTH * width


def _row_error(
    recipe: Recipe,
    data: Dataset,
    delays: Sequence[Delay],
    names: tuple[str, ...],
    bounds: Float[np.ndarray, "d 2"],
) -> Callable[[Float[np.ndarray, " d"]], float]:
    """Return a function from delays to the logarithm of the error of all candidate terms."""
    data = data.subsample_rows(limits.DELAY_ROWS)
    longest = float(bounds[:, 1].max())
    is_linear = recipe.loss.is_linear
    plain = replace(
        recipe, augmentation=Zero(), selection=None, gate=None, fallback_sparsity=None,
        regularization=Regularization(0.0, math.inf, 0.0),
        loss=recipe.loss if is_linear else Auto(),
        solver=recipe.solver if is_linear else Exact(normalize=True),
    )  # fmt: skip

    def with_values(values: Float[np.ndarray, " d"]) -> Dataset:
        named = dict(zip(names, values, strict=True))
        return with_delays(data, delays_with(delays, named), longest)

    rule = plain.loss.rule(data)
    first = with_values(bounds.mean(axis=1))
    rows = rule.observe(first)
    assert isinstance(rows, Rows)
    is_aligned = rows.n_points == first.n_samples

    def error(values: Float[np.ndarray, " d"]) -> float:
        current = with_values(values)
        if is_aligned:
            points = rows.points.copy()
            assert current.inputs is not None
            points[:, current.n_states :] = current.inputs
            seen = replace(rows, points=points)
        else:
            seen = rule.observe(current)
        task = prepare(plain, seen)
        task = with_parameters(plain, task, task.support)
        field = finish(plain, task, plain.solver.solve_all([task])[0], None).field
        errors = seen.targets - seen.evaluate(field.symbolic, slice(None))
        learned = [c for c in range(errors.shape[1]) if c not in seen.given]
        square = np.mean(errors[:, learned] ** 2, axis=0)
        size = np.mean(seen.targets[:, learned] ** 2, axis=0)
        return float(np.log(square / np.maximum(size, 1e-300) + 1e-12).sum())

    return error


# -- from trajectories ---------------------------------------------------------------------


def matched_delays(
    recipe: Recipe,
    field: HybridField,
    data: Dataset,
    delays: Sequence[Delay],
    interpolation: Mapping[str, str] | None = None,
    width: float = 0.0,
) -> DelayEstimate | None:
    """Return the delays with which trajectories best follow the runs, near the given delays.

    `data` has no delayed columns. The search extends by `width` to both sides; zero if the delays
    are nearly correct. Return None if there is nothing to estimate, or if trajectories do not
    follow the data.
    """
    reach = max(width, limits.DELAY_REACH * float(np.median(data.step_of_run())))
    profile = _profile(recipe, field, data, delays, 0.0, reach, interpolation)
    if profile is None:
        return None
    values = profile.values_of(delays)
    start = profile.trial(field.without_residual(), values)
    if start is None:
        return None
    best = profile.best(start, np.full(len(values), width)) if width else start
    _, estimate = profile.estimate(best, np.full(len(values), reach / 10))
    names, bounds = delay_ranges(recipe, data, delays)
    bounds = bounds[[names.index(name) for name in profile.names]]
    return None if estimate is None else replace(estimate, bounds=bounds)


def _profile(
    recipe: Recipe,
    field: HybridField,
    data: Dataset,
    delays: Sequence[Delay],
    longest: float = 0.0,
    reach: float = 0.0,
    interpolation: Mapping[str, str] | None = None,
) -> DelayProfile | None:
    """Return the likelihood of the delays in use within `reach` of their values.

    Return None if trajectories cannot be matched. Rows within `longest` of the start of a run do
    not count.
    """
    names, bounds = delay_ranges(recipe, data, delays)
    used = delays_in_use(field, delays)
    kept = [i for i, name in enumerate(names) if name in used]
    names, bounds = tuple(names[i] for i in kept), bounds[kept]
    delayed = with_delays(data, delays)
    known = knowledge_of(
        recipe, delayed.variable_names, delayed.state_names, delayed.given_rates,
        delayed.schema.time_index,
    )  # fmt: skip
    equations = field.without_residual()
    is_empty = not names and not longest
    if is_empty or data.derivatives is not None or known.systems or switching_terms(equations):
        return None
    by_name = {delay.delay: delay.value for delay in delays}
    values = np.array([by_name[name] for name in names])
    low, high = np.maximum(bounds[:, 0], values - reach), np.minimum(bounds[:, 1], values + reach)
    return DelayProfile(
        data,
        tuple(delays),
        names,
        np.column_stack([low, np.maximum(high, low)]).reshape(len(names), 2),
        longest,
        interpolation or input_interpolation(delayed.input_names, delayed),
        parameter_bounds(recipe.library) | known.parameter_bounds,
        known,
    )


def away_from_zero(
    field: HybridField, data: Dataset, delays: Sequence[Delay], estimate: DelayEstimate
) -> tuple[Delay, ...] | None:
    """Return delays for another selection of terms, or None.

    The selection is repeated if the estimate of a delay is zero within its error and the library
    also has the terms without delay. These terms are then selected.
    """
    features, values = field.features, {}
    errors = np.sqrt(np.diag(estimate.covariance))
    for name, value, error in zip(estimate.names, estimate.values, errors, strict=True):
        if value > limits.NO_DELAY * error:
            continue
        swapped = _without_delay(features, [delay for delay in delays if delay.delay == name])
        has_twins = all(
            features.mask[c, features.terms.index(twin)] if twin in features.terms else False
            for c, k in np.argwhere(np.asarray(field.coefficients) != 0)
            if (twin := replace_variables(features.terms[k], swapped)) != features.terms[k]
        )
        if has_twins:
            step_size = float(np.median(data.step_of_run()))
            values[name] = max(step_size, limits.DISTINCT_DELAY * float(error))
    return delays_with(delays, values) if values else None


def delays_in_use(field: HybridField, delays: Sequence[Delay]) -> tuple[str, ...]:
    """Return the names of the estimated delays in the terms in use."""
    used = np.flatnonzero((np.asarray(field.coefficients) != 0).any(axis=0))
    features = field.features
    indices = frozenset().union(*(variables_of(features.terms[k]) for k in used))
    names = {features.variables[i] for i in indices}
    in_use = [delay.delay for delay in delays if delay.is_estimated and delay.name in names]
    return tuple(dict.fromkeys(in_use))
