"""Estimate hidden states and constants per run of the training data from the known equations."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple, final

import numpy as np
from jaxtyping import Float

from .._common.arrays import Mask
from .._common.errors import InputError, quoted
from ..data import Dataset, PerRun
from ..field import Zero
from ..field.hybrid import HybridField
from ..matching import Constants, InitialPoint, Problem, Uncertainty, estimate_hidden, hidden_std
from ..physics import Bound, ConstantSystem, Knowledge, bind_physics, constant_values
from ..simulation import input_interpolation
from ..terms import complexity, parameter_bounds, variables_of
from . import _limits as limits
from ._fit import Recipe
from ._relations import find_relation


@final
class HiddenStates(NamedTuple):
    """Runs with estimated hidden states, and estimated constants.

    Constants are given by name and by (equation, term). The variance is that of the first states of
    runs. The misfit is the mean squared residual in noise variances. `sizes` are the numbers of
    symbols of optional terms, without the largest.
    """

    data: Dataset
    named: dict[str, float]
    coefficients: dict[tuple[int, str], float]
    start_variance: Float[np.ndarray, "n R"]
    misfit: float
    n_constants: int
    sizes: tuple[int, ...]


def with_hidden_states(recipe: Recipe, data: Dataset) -> Dataset:
    """Return the runs with estimates of their hidden states.

    The estimates follow from the equations in the recipe's physics. Equations that end with "..."
    may have any term of the library.

    Constants per run become hidden states that do not change and start at the common value of all
    runs. Their values and their distribution are estimated in turn. [empirical Bayes]
    """
    names = () if recipe.physics is None else recipe.physics.per_run
    if not names or data.schema.per_run:
        return _simplest_estimate(recipe, data).data if data.has_unknown_states else data
    estimate = _first_estimate(recipe, data, names)
    constants = tuple(_pooled(estimate, constant) for constant in estimate.data.schema.per_run)
    for _ in range(limits.POOLING_ROUNDS - 1):
        runs = estimate.data.with_parts(per_run=constants)
        estimate = _estimated(recipe, runs, estimate, is_minimum=True)
        constants = tuple(_repooled(estimate, constant) for constant in runs.schema.per_run)
    constants = tuple(map(partial(_related, estimate), estimate.data.schema.per_run, constants))
    return estimate.data.with_parts(per_run=constants)


def _simplest_estimate(recipe: Recipe, data: Dataset) -> HiddenStates:
    """Return the estimate with all terms of the library, or with its simplest terms alone if these
    explain the data as well.

    A large library may describe the data with many courses of a hidden state, such as w or w - v,
    and the equations of most of them need more terms. The information criterion decides. [Schwarz
    1978] All terms remain candidates of the later search.
    """
    best = _estimated(recipe, data)
    criterion = _criterion(best)
    while best.sizes:
        try:
            simpler = _estimated(
                recipe, data, max_starts=limits.SIMPLER_STARTS, max_size=best.sizes[-1]
            )
        except InputError:  # from no starting point
            break
        if _criterion(simpler) > criterion:
            break
        best, criterion = simpler, _criterion(simpler)
    return best


def _criterion(estimate: HiddenStates) -> float:
    """Return the Bayesian information criterion of an estimate, in nats."""
    rows = estimate.data.n_samples * int(estimate.data.is_measured.sum())
    misfit = max(estimate.misfit, limits.MIN_HIDDEN_MISFIT)
    return 0.5 * rows * float(np.log(misfit)) + 0.5 * float(np.log(rows)) * estimate.n_constants


def rough_estimate(recipe: Recipe, data: Dataset, near: HiddenStates | None = None) -> HiddenStates:
    """Return the hidden states and constants from a few starting points.

    If `near` is an estimate for the same rows, it is the only starting point. Distributions of
    constants per run are wide.
    """
    names = () if recipe.physics is None else recipe.physics.per_run
    if near is not None:
        runs = data.with_hidden([], near.data.schema.per_run)
        return _estimated(recipe, runs, near, is_rough=True)
    if names:
        return _first_estimate(recipe, data, names, max_starts=limits.HIDDEN_DELAY_STARTS)
    return _estimated(recipe, data, is_rough=True, max_starts=limits.HIDDEN_DELAY_STARTS)


def _first_estimate(
    recipe: Recipe, data: Dataset, names: Sequence[str], max_starts: int | None = None
) -> HiddenStates:
    """Return the estimate with wide distributions of constants per run.

    It starts at the common values of all runs. With `max_starts`, the estimate is rough.
    """
    # without hidden states, the common values are only starting points
    sample = data if data.hidden else data.subsample(0, limits.SHARED_RUNS)
    shared = _estimated(recipe, sample, is_rough=True, max_starts=max_starts)
    start = shared.data if data.hidden else data
    constants = tuple(_first_distribution(name, shared.named.get(name, 1.0)) for name in names)
    columns = np.tile([constant.center for constant in constants], (data.n_samples, 1))
    runs = start.with_hidden([], constants)
    initial = runs.with_parts(states=np.hstack([start.states, columns]))
    near = shared._replace(data=initial)
    return _estimated(recipe, runs, near, is_rough=max_starts is not None)


def _related(estimate: HiddenStates, prior: PerRun, constant: PerRun) -> PerRun:
    """Return the constant with its relation to covariates, if there is one.

    The information that the distribution `prior` contributed to the estimates is removed first.
    """
    data = estimate.data
    if data.covariates is None:
        return constant
    value, variance = _in_runs(estimate, prior)
    informed = variance < limits.INFORMED * prior.std**2
    own = np.where(informed, 1 / np.where(informed, 1 / variance - 1 / prior.std**2, 1.0), np.inf)
    value = own * (value / variance - prior.mean / prior.std**2)
    value, std = np.where(informed, value, np.nan), np.sqrt(own)
    if prior.is_log:
        value = np.exp(value)
        std = std * value
    first = data.offsets[:-1]
    relation = find_relation(value, std, data.covariates[first], data.covariate_names)
    return replace(constant, relation=relation)


def _first_distribution(name: str, value: float) -> PerRun:
    """Return a wide distribution around the common value of all runs."""
    if value > 0:
        return PerRun(name, float(np.log(value)), limits.FIRST_POOLED_STD, is_log=True)
    return PerRun(name, value, limits.FIRST_POOLED_STD * max(abs(value), 1.0))


def _pooled(estimate: HiddenStates, constant: PerRun) -> PerRun:
    """Return the distribution of a constant per run for which its estimates are most likely.

    An estimate combines the information of its run with the first distribution, which is removed
    here.
    """
    if constant.is_log:
        linear = PerRun(constant.name, std=np.inf)
        value, _ = _in_runs(estimate, linear)
        if (value <= 0).any():  # the initial value had the wrong sign
            constant = linear
    value, variance = _in_runs(estimate, constant)
    prior = constant.std**2
    informed = variance < limits.INFORMED * prior
    if informed.sum() < 2:
        return constant
    value, variance = value[informed], variance[informed]
    own = 1 / (1 / variance - 1 / prior)
    value = own * (value / variance - constant.mean / prior)
    stds = float(np.ptp(value)) * np.geomspace(limits.MIN_POOLED_STD, 2.0, limits.POOLED_STDS)
    total = own + stds[:, None] ** 2
    means = (value / total).sum(axis=1) / (1 / total).sum(axis=1)
    likelihood = -0.5 * (np.log(total) + (value - means[:, None]) ** 2 / total).sum(axis=1)
    # this term accounts for the uncertainty of the mean: without it, few runs would show too small
    # a variation
    likelihood -= 0.5 * np.log((1 / total).sum(axis=1))
    best = int(np.argmax(likelihood))
    # the likelihood of few runs is often largest at zero, which later rounds could not leave
    least = limits.LEAST_POOLED * float(np.sqrt(np.median(own)))
    return replace(constant, mean=float(means[best]), std=max(float(stds[best]), least, 1e-300))


def _repooled(estimate: HiddenStates, constant: PerRun) -> PerRun:
    """Return the next distribution in the expectation-maximization algorithm."""
    value, variance = _in_runs(estimate, constant)
    if not np.isfinite(variance).all():
        return constant
    mean = float(value.mean())
    std = float(np.sqrt(np.mean((value - mean) ** 2 + variance)))
    return replace(constant, mean=mean, std=max(std, 1e-300))


def _in_runs(
    estimate: HiddenStates, constant: PerRun
) -> tuple[Float[np.ndarray, " R"], Float[np.ndarray, " R"]]:
    """Return the values of a constant in each run, or their logarithms, and their variances."""
    data = estimate.data
    j = data.state_names.index(constant.name)
    value, variance = data.states[data.offsets[:-1], j], estimate.start_variance[j]
    if constant.is_log:
        value = np.maximum(value, 1e-300)
        value, variance = np.log(value), variance / value**2
    return value, np.maximum(variance, limits.MIN_VARIANCE * np.mean(value**2))


def _estimated(
    recipe: Recipe,
    data: Dataset,
    near: HiddenStates | None = None,
    *,
    is_minimum: bool = False,
    is_rough: bool = False,
    max_starts: int | None = None,
    max_size: int | None = None,
) -> HiddenStates:
    """Return the runs with estimated hidden states and constants.

    The search starts `near` another estimate if given. With `max_size`, optional terms have at most
    this number of symbols.
    """
    blank = data.with_parts(states=np.nan_to_num(data.states))
    bound = bind_physics(
        recipe.physics, recipe.library, blank.variable_names, blank.state_names,
        dict(blank.given_rates), blank.schema.time_index,
    )  # fmt: skip
    _check(bound, data.hidden, blank)
    known = bound.knowledge
    candidates = bound.features.mask & ~known.given
    symbols = np.array([complexity(term) for term in bound.features.terms])
    is_optional = candidates & ~known.required
    is_optional[[*known.complete, *blank.given_rates]] = False
    if max_size is not None:
        candidates &= ~(is_optional & (symbols > max_size))
    sizes = np.unique(symbols[(is_optional & candidates).any(axis=0)])[:-1]
    field = _field(bound, candidates, len(blank.variable_names))
    initial = None
    if near is not None:
        field = _with_constants(field, bound, near)
    fixed = list(blank.given_rates)
    constants = Constants.of(field, fixed, residual=False, knowledge=known, candidates=candidates)
    if near is not None:
        initial = InitialPoint(constants.read(field), near.data.states, is_minimum)
    interpolation = input_interpolation(blank.input_names, blank)
    problem = Problem.of(field, constants, blank, interpolation, starts=known.starts)
    bounds = parameter_bounds(recipe.library) | known.parameter_bounds
    estimate = estimate_hidden(
        problem,
        blank.schema.hidden_columns,
        constants.bounds(field, bounds, known),
        _signs(constants, known),
        initial=initial,
        is_rough=is_rough,
        max_starts=max_starts,
        seed=int(recipe.seed),
    )
    if estimate is None:
        raise InputError(
            "The equations could not be matched to the data from any starting point, so hidden "
            f"{quoted(data.hidden)} cannot be estimated. Give bounds of the constants, or "
            "Physics(start=...) of the hidden states."
        )
    values = constants.values(field, estimate.p)
    named = dict(zip(bound.features.parameters, values.parameters.tolist(), strict=True))
    named |= constant_values(known.constants, values.coefficients)
    coefficients = {
        (int(c), bound.features.names[k]): float(values.coefficients[c, k])
        for c, k in np.argwhere(values.coefficients != 0)
    }
    runs = blank.with_parts(states=estimate.states)
    return HiddenStates(
        runs, named, coefficients, estimate.start_variance, estimate.misfit, constants.size,
        tuple(sizes.tolist()),
    )  # fmt: skip


def _with_constants(field: HybridField, bound: Bound, near: HiddenStates) -> HybridField:
    """Return the field with the constants of another estimate."""
    coefficients = np.array(field.coefficients)
    names = bound.features.names
    for c, k in np.argwhere(coefficients != 0):
        coefficients[c, k] = near.coefficients.get((int(c), names[k]), coefficients[c, k])
    system = ConstantSystem(bound.knowledge.constants)
    for place, value in system.at(lambda name: near.named.get(name, 1.0)).items():
        coefficients[place] = value or coefficients[place]
    values = [near.named.get(name, 1.0) for name in bound.features.parameters]
    features = bound.features.with_values(np.array(values))
    return replace(field, features=features, coefficients=coefficients, parameters=np.array(values))


def estimate_hidden_states(
    field: HybridField,
    known: Knowledge,
    data: Dataset,
    interpolation: Mapping[str, str],
    uncertainty: Uncertainty | None = None,
) -> Dataset:
    """Return the runs with the hidden states of the trajectories of a field that fit best.

    Standard deviations are included if the `uncertainty` of the constants is known.
    """
    blank = data.with_parts(states=np.nan_to_num(data.states))
    constants = Constants.none()
    problem = Problem.of(field, constants, blank, interpolation, starts=known.starts)
    nothing = np.zeros((2, 0))
    estimate = estimate_hidden(problem, blank.schema.hidden_columns, nothing, nothing[0])
    if estimate is None:
        raise InputError(
            f"The trajectories of the model do not follow {data.source}, so hidden "
            f"{quoted(data.hidden)} cannot be estimated."
        )
    runs = blank.with_parts(states=estimate.states)
    if uncertainty is None or field.has_residual:
        return runs
    constants = Constants.of(field, list(runs.given_rates), residual=False, knowledge=known)
    free = [*constants.lead, *(len(constants.rows) + i for i in range(len(constants.inner)))]
    if len(uncertainty.values) != len(constants.rows) + len(constants.inner):
        return runs
    problem = Problem.of(field, constants, runs, interpolation, starts=known.starts)
    covariance = uncertainty.covariance[np.ix_(free, free)]
    return runs.with_parts(state_std=hidden_std(problem, estimate.trajectories, covariance))


def _check(bound: Bound, names: tuple[str, ...], data: Dataset) -> None:
    """Raise an error for a hidden state that no measured state depends on and whose start is not
    given.
    """
    mask, terms, starts = bound.features.mask, bound.features.terms, bound.knowledge.starts
    index = {name: c for c, name in enumerate(data.state_names)}
    uses = {
        c: frozenset().union(*(variables_of(terms[k]) for k in np.flatnonzero(row)))
        for c, row in enumerate(mask)
    }
    reached = {c for c in range(data.n_states) if data.is_measured[c]}
    while new := {v for c in reached for v in uses[c] if v < data.n_states} - reached:
        reached |= new
    for name in names:
        rule = None if starts is None else starts.of(index[name])
        if index[name] not in reached and (rule is None or rule.formula is None):
            raise InputError(
                f"hidden state '{name}' is in no equation of a measured state, so the data say "
                f"nothing about it. Give the equations with physics=Physics(equations=...)."
            )


def _field(bound: Bound, support: Mask, n_variables: int) -> HybridField:
    """Return the field with given coefficients.

    Named constants without values, coefficients of other terms, and parameters inside terms equal
    one.
    """
    known, features = bound.knowledge, bound.features
    if not features.values:
        features = features.with_values([1.0] * len(features.parameters))
    coefficients = np.where(known.given, known.low, support.astype(float))
    for place, value in ConstantSystem(known.constants).at(lambda name: 1.0).items():
        coefficients[place] = value or 1.0  # a difference of constants
    basis = Zero().init(np.zeros(n_variables), np.ones(n_variables), rng=np.random.default_rng(0))
    return HybridField(
        features, coefficients, basis, np.zeros((basis.size, len(coefficients))),
        np.zeros_like(coefficients), parameters=np.array(features.values),
    )  # fmt: skip


def _signs(constants: Constants, known: Knowledge) -> Float[np.ndarray, " P"]:
    """Return the signs of coefficients if all named constants are positive.

    A sign that may be either is 0.
    """
    system = ConstantSystem(known.constants)
    signs = np.zeros(constants.size)
    for i, k in enumerate(constants.lead):
        signs[i] = system.sign((int(constants.rows[k]), int(constants.columns[k])))
    return signs
