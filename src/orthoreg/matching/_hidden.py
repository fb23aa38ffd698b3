"""Find hidden states and constants that explain the measured states, from several starting points.

`_weak_constraint` descends from each of these points.
"""

from collections.abc import Sequence
from typing import NamedTuple, final

import numpy as np
from jaxtyping import Float

from .._common.progress import progress
from ..terms import Expression, variables_of
from . import _limits as limits
from ._kinks import argument_values, kinks_of
from ._problem import Problem
from ._weak_constraint import Descent, DescentPoint, StartingPoint


@final
class InitialPoint(NamedTuple):
    """Constants and states near a minimum, or at the minimum of a similar problem."""

    p: Float[np.ndarray, " P"]
    states: Float[np.ndarray, "N n"]
    is_minimum: bool = False


@final
class HiddenEstimate(NamedTuple):
    """Constants, and the states of all rows with estimates of the hidden states.

    In `trajectories`, measured states are replaced by estimates too.

    `misfit` is the mean square of the residuals in noise variances. `agreeing` of the `tried`
    starting points led to this estimate. `start_variance` is the variance of the first state of
    each run, for noise estimated from the residuals.
    """

    p: Float[np.ndarray, " P"]
    states: Float[np.ndarray, "N n"]
    trajectories: Float[np.ndarray, "N n"]
    misfit: float
    agreeing: int
    tried: int
    start_variance: Float[np.ndarray, "n R"]


def estimate_hidden(
    problem: Problem,
    hidden: Sequence[int],
    bounds: Float[np.ndarray, "2 P"],
    signs: Float[np.ndarray, " P"],
    *,
    initial: InitialPoint | None = None,
    is_rough: bool = False,
    max_starts: int | None = None,
    seed: int = 0,
) -> HiddenEstimate | None:
    """Return the hidden states and constants with the smallest misfit, or None if no misfit is
    finite.

    `signs` are the known signs of constants, and 0 for others. With an `initial` point, the only
    starting point is the first working point near it. A rough estimate is not weighted by the noise
    of its residuals and has no variance. `max_starts` limits the number of starting points.
    """
    rng = np.random.default_rng(seed)
    descent = Descent(problem, bounds)
    draw = _Draw(problem, hidden, signs, bounds, initial)
    best: DescentPoint | None = None
    misfits: list[float] = []
    tried, agreeing = 0, 0
    n_starts = limits.HIDDEN_STARTS
    n_agreeing = limits.HIDDEN_AGREEING if len(hidden) else limits.MEASURED_AGREEING
    if kinks_of(problem) and len(hidden):
        n_starts = limits.HIDDEN_STARTS_KINKS
    if np.any(problem.field.weights):
        n_starts = limits.HIDDEN_STARTS_RESIDUAL
    n_starts = n_starts if max_starts is None else min(max_starts, n_starts)
    with np.errstate(all="ignore"), progress("Estimating hidden states", 1.0) as show:
        while tried < n_starts:
            show(tried / n_starts, f"(starting point {tried + 1})")
            tried += 1
            point = descent(draw(rng), None if best is None else best.path)
            if point is None:
                continue
            misfits.append(point.misfit)
            if best is None or point.misfit < best.misfit:
                best = point
            agreeing = sum(misfit < limits.HIDDEN_AGREES * best.misfit for misfit in misfits)
            is_good = best.misfit < limits.HIDDEN_MISFIT or not len(hidden)
            if initial is not None:
                break
            if (is_good or tried >= n_starts / 2) and agreeing >= n_agreeing:
                break
    if best is None:
        return None
    start_variance = np.full(best.states.shape[1:], np.inf)
    if not is_rough:
        with np.errstate(all="ignore"):
            best, start_variance = descent.reweighted(best)
    states, segments = np.array(problem.data.states), descent.segments
    is_row = segments.weight > 0
    estimated = np.array(states)
    estimated[segments.rows[is_row]] = np.moveaxis(best.states, 1, 2)[is_row]
    states[:, hidden] = estimated[:, hidden]
    return HiddenEstimate(best.p, states, estimated, best.misfit, agreeing, tried, start_variance)


def hidden_std(
    problem: Problem,
    states: Float[np.ndarray, "N n"],
    covariance: Float[np.ndarray, "P P"],
) -> Float[np.ndarray, "N n"]:
    """Return the standard deviations of the `states` on trajectories that match the data.

    They follow from the noise of the data and the covariance of the constants.
    """
    descent = Descent(problem, np.tile([[-np.inf], [np.inf]], problem.constants.size))
    segments = descent.segments
    at = np.moveaxis(states[segments.rows], 2, 1)
    with np.errstate(all="ignore"):
        variance = descent.variance(problem.initial_constants, at, covariance)
    result, is_row = np.full(states.shape, np.nan), segments.weight > 0
    result[segments.rows[is_row]] = np.sqrt(variance)[is_row]
    return result


def natural_sizes(
    problem: Problem, states: Float[np.ndarray, "N n"], sizes: Float[np.ndarray, " n"]
) -> Float[np.ndarray, " P"]:
    """Return the natural size of each constant.

    With this size, its term alone would move its state by `sizes` in the time in which measured
    states move by their sizes. It is 1 for parameters inside terms, and for terms that are zero.
    """
    data, constants = problem.data, problem.constants
    rates = sizes / _time_scale(problem)
    variables = states if data.inputs is None else np.hstack([states, data.inputs])
    terms = problem.field.features
    result = np.ones(constants.size)
    with np.errstate(all="ignore"):
        columns = terms.columns(variables.T, np, problem.field.parameters)
        for i, k in enumerate(constants.lead):
            values = np.broadcast_to(columns[constants.columns[k]], len(variables))
            finite = values[np.isfinite(values)]
            size = float(np.sqrt(np.mean(finite**2))) if len(finite) else 1.0
            if size > 0:  # otherwise, the term does not act at these states
                result[i] = rates[constants.rows[k]] / size
    return np.where(np.isfinite(result) & (result > 0), result, 1.0)


def _time_scale(problem: Problem) -> float:
    """Return the time in which measured states move by their standard deviation, as a geometric
    mean over states.
    """
    data, times = problem.data, []
    inside = np.diff(data.run_of_row) == 0
    smoothed, steps = data.plan.smoothed, np.diff(data.times)[inside]
    for c in np.flatnonzero(problem.measured):
        rate = float(np.sqrt(np.mean((np.diff(smoothed[:, c])[inside] / steps) ** 2)))
        if rate > 0 and np.isfinite(rate):
            times.append(problem.sizes[c] / rate)
    return float(np.exp(np.mean(np.log(times)))) if times else float(np.ptp(data.times))


@final
class _Draw:
    """A generator of random starting points: constants of natural sizes, hidden states with simple
    courses.
    """

    def __init__(
        self,
        problem: Problem,
        hidden: Sequence[int],
        signs: Float[np.ndarray, " P"],
        bounds: Float[np.ndarray, "2 P"],
        initial: InitialPoint | None,
    ):
        self._problem, self._hidden, self._signs, self._bounds = problem, hidden, signs, bounds
        self._initial, self._spread = initial, 0.0
        self._measured = np.flatnonzero(problem.measured)
        smoothed = np.array(problem.data.plan.smoothed)
        self._smoothed = smoothed
        self._is_positive = bool((problem.data.states[:, self._measured] >= 0).all())
        self._kinks = [kink for kink in kinks_of(problem) if variables_of(kink) & {*hidden}]
        first = problem.data.offsets[:-1]
        self._first = first[problem.data.run_of_row]  # first row of each row's run

    def __call__(self, rng: np.random.Generator) -> "StartingPoint":
        """Return a starting point."""
        if self._initial is not None:
            return self._near(self._initial, rng)
        problem = self._problem
        states, sizes = np.array(self._smoothed), np.array(problem.sizes)
        for j in self._hidden:
            size = float(np.median(sizes[self._measured]) * np.exp(rng.normal()))
            states[:, j] = size * self._course(rng)
            sizes[j] = size
        states = self._started(states, rng)
        if self._kinks and rng.integers(2):
            states = self._beyond_kink(states, rng)
        for j in self._hidden:
            sizes[j] = max(sizes[j], float(np.abs(states[:, j]).max()))
        natural = natural_sizes(problem, states, sizes)
        p = natural * np.exp(limits.HIDDEN_SPREAD * rng.normal(size=len(natural)))
        count = len(problem.constants.lead)
        p[:count] *= self._signs[:count]
        width = float(rng.choice(limits.KINK_WIDTHS)) if self._kinks else 1.0
        start = StartingPoint(np.clip(p, *self._bounds), natural, states, sizes)
        return start._replace(kink_width=width)

    def _near(self, initial: InitialPoint, rng: np.random.Generator) -> StartingPoint:
        """Return the initial constants and states first, and variants of them later."""
        sizes = np.maximum(self._problem.sizes, 1e-300)
        p, states = initial.p, np.array(initial.states)
        skipped = limits.NEAR_TOLERANCES
        if initial.is_minimum and not self._spread:
            skipped = len(limits.HIDDEN_TOLERANCES) - 1
        states[:, self._measured] = self._smoothed[:, self._measured]
        for j in self._hidden:
            states[:, j] *= np.exp(self._spread * rng.normal())
            sizes[j] = max(float(np.abs(states[:, j]).max()), 1e-300)
        p = np.clip(p * np.exp(self._spread * rng.normal(size=len(p))), *self._bounds)
        self._spread = limits.HIDDEN_SPREAD
        natural = natural_sizes(self._problem, states, sizes)
        return StartingPoint(p, natural, states, sizes, skipped)

    def _course(self, rng: np.random.Generator) -> Float[np.ndarray, " N"]:
        """Return a constant course, or a course like that of a measured state or of its slope."""
        kind, column = rng.integers(3), rng.choice(self._measured)
        if kind == 0:
            return np.ones(len(self._smoothed))
        course = self._smoothed[:, column] - self._smoothed[:, column].mean()
        if kind == 2:
            course = np.gradient(course)
        course = course / max(float(course.std()), 1e-300)
        return 2 + course if self._is_positive else course * rng.choice([-1.0, 1.0])

    def _beyond_kink(
        self, states: Float[np.ndarray, "N n"], rng: np.random.Generator
    ) -> Float[np.ndarray, "N n"]:
        """Return the states with one hidden state at a constant level beyond a kink.

        A term that acts in no row, such as an overflow, has no natural size and no slope. If the
        descent starts at a level at which the term acts in all rows, states can return to levels at
        which it does not act.
        """
        problem, inputs = self._problem, self._problem.data.inputs
        values = problem.constants.values(problem.field, problem.initial_constants).parameters

        def share(kink: Expression, z: Float[np.ndarray, "N n"]) -> float:
            z = z if inputs is None else np.hstack([z, inputs])
            return float(np.mean(argument_values(problem, [kink], z, values)[0] > 0))

        for i in rng.permutation(len(self._kinks)).tolist():
            kink = self._kinks[i]
            j = int(rng.choice(sorted(variables_of(kink) & {*self._hidden})))
            side, size = share(kink, states) > 0.5, max(float(np.abs(states[:, j]).mean()), 1e-300)
            for ratio in limits.KINK_RATIOS:
                trial = np.array(states)
                trial[:, j] = (
                    ratio
                    * size
                    * np.exp(np.sign(np.log(ratio)) * limits.HIDDEN_SPREAD * abs(rng.normal()))
                )
                if share(kink, trial) == float(not side):
                    return trial
        return states

    def _started(
        self, states: Float[np.ndarray, "N n"], rng: np.random.Generator
    ) -> Float[np.ndarray, "N n"]:
        """Return the states with hidden states constant if their first value is known.

        The constant is this value or another level. A state that starts at zero keeps its course,
        because terms that contain it would have no size.
        """
        problem, starts = self._problem, self._problem.starts
        if starts is None:
            return states
        for j in self._hidden:
            rule = starts.of(j)
            if rule is not None and rule.range is not None:
                states[:, j] = rng.uniform(*rule.range)
        inputs = problem.data.inputs
        z = states if inputs is None else np.hstack([states, inputs])
        covariates = problem.data.covariates
        covariates = None if covariates is None else covariates[self._first]
        known = starts.values(z[self._first].T, covariates).T
        for j in self._hidden:
            if starts.of(j) is not None and known[:, j].any():
                level = np.exp(limits.LEVEL_SPREAD * rng.normal()) if rng.integers(2) else 1.0
                states[:, j] = level * known[:, j]
        return states
