"""Confidence intervals of matched constants, from their joint covariance and likelihood
profiles.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np
from jaxtyping import Float

from . import _limits as limits
from ._matching import MatchSolution, Prior, Stage, match_segments, matched_normal
from ._noise import are_correlated, long_run_time
from ._problem import Normal, Problem, eliminate_starts


@final
class Correlation(NamedTuple):
    """The correlation of two estimates, with the names of the constants."""

    first: str
    second: str
    value: float


@final
@dataclass(frozen=True, eq=False)
class Uncertainty:
    """Estimates of coefficients and inner parameters with their joint covariance.

    `places` contains the equation and term of each coefficient, `parameters` the names of the inner
    parameters. All arrays list coefficients first, in this order. Intervals use Student's t
    distribution with `degrees_of_freedom` and stay within `bounds`. `stretch` is the ratio of the
    lower and upper half-widths of the profile likelihood to the half-widths of its quadratic
    approximation. `undetermined` contains the relative changes of the estimates, one column for
    each direction that the data do not determine, and `free_states` are the states that change with
    them.
    """

    places: tuple[tuple[int, int], ...]
    parameters: tuple[str, ...]
    values: Float[np.ndarray, " k"]
    covariance: Float[np.ndarray, "k k"]
    degrees_of_freedom: float
    bounds: Float[np.ndarray, "k 2"]
    stretch: Float[np.ndarray, "k 2"]
    undetermined: Float[np.ndarray, "k d"] | None = None
    free_states: tuple[int, ...] = ()

    @property
    def standard_errors(self) -> Float[np.ndarray, " k"]:
        with np.errstate(invalid="ignore"):  # rounding may make a variance negative
            return np.sqrt(np.diag(self.covariance))

    def interval(self, level: float = limits.LEVEL) -> Float[np.ndarray, "k 2"]:
        """Return the interval of each constant."""
        reach = (self.quantile(level) * self.standard_errors)[:, None] * self.stretch
        interval = self.values[:, None] + reach * [-1.0, 1.0]
        if self.undetermined is not None:
            interval[np.any(self.undetermined != 0, axis=1)] = [-np.inf, np.inf]
        return np.clip(interval, self.bounds[:, :1], self.bounds[:, 1:])

    def coefficient_intervals(
        self, coefficients: Float[np.ndarray, "c K"], level: float = limits.LEVEL
    ) -> Float[np.ndarray, "c K 2"]:
        """Return the intervals in the shape of the coefficients.

        For coefficients that were not estimated, both ends equal the coefficient.
        """
        intervals = np.repeat(np.array(coefficients)[:, :, None], 2, axis=2)
        for place, interval in zip(self.places, self.interval(level), strict=False):
            intervals[place] = interval
        return intervals

    def parameter_intervals(self) -> dict[str, tuple[float, float]]:
        """Return the intervals of the inner parameters by name."""
        intervals = self.interval()[len(self.places) :].tolist()
        return dict(zip(self.parameters, map(tuple, intervals), strict=True))

    def interval_of(self, function: Callable[[np.ndarray], float]) -> tuple[float, float]:
        """Return the interval of a monotonic function of the constants.

        Its ends are the values at the two points of the confidence ellipsoid along the gradient, or
        NaN where the function is undefined.
        """
        gradient = self.gradient(function)
        used = np.flatnonzero(gradient)
        if len(used) == 1:  # the interval of a single constant includes the profile and the bounds
            points = [self._with_value(used, end) for end in self.interval()[used[0]]]
        else:
            direction = self.covariance @ gradient
            size = np.sqrt(max(float(gradient @ direction), 0.0))
            step = self.quantile() * direction / (size if size > 0 else 1.0)
            points = [np.clip(self.values + sign * step, *self.bounds.T) for sign in (-1.0, 1.0)]
        low, high = sorted(function(point) for point in points)
        return low, high

    def relative_changes(self, function: Callable[[np.ndarray], float]) -> Float[np.ndarray, " d"]:
        """Return the relative changes of a function of the constants along the undetermined
        directions.
        """
        if self.undetermined is None:
            return np.zeros(0)
        changes = self.gradient(function) @ (self.values[:, None] * self.undetermined)
        return changes / max(abs(function(self.values)), 1e-300)

    def gradient(self, function: Callable[[np.ndarray], float]) -> Float[np.ndarray, " k"]:
        """Return the gradient of a function of the constants, by central differences."""
        gradient = np.zeros(len(self.values))
        steps = 1e-3 * np.minimum(self.standard_errors, np.abs(self.values))
        for i, step in enumerate(np.maximum(steps, 1e-9 * np.abs(self.values))):
            if step > 0:
                upper, lower = (
                    self._with_value(i, self.values[i] + sign * step) for sign in (1, -1)
                )
                gradient[i] = (function(upper) - function(lower)) / (2 * step)
        return gradient

    def _with_value(self, index: int | np.ndarray, value: float) -> Float[np.ndarray, " k"]:
        values = self.values.copy()
        values[index] = value
        return values

    def correlations(
        self, named: Sequence[tuple[str, Float[np.ndarray, " k"]]]
    ) -> tuple[Correlation, ...]:
        """Return the pairs of quantities whose estimates have a correlation above `CORRELATED`,
        strongest first.

        Each quantity is given by its name and its gradient.
        """
        if not named:
            return ()
        G = np.stack([gradient for _, gradient in named])
        covariance = G @ self.covariance @ G.T
        size = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        rho = covariance / np.maximum(np.outer(size, size), 1e-300)
        pairs = [
            Correlation(named[i][0], named[j][0], float(np.clip(rho[i, j], -1, 1)))
            for i in range(len(named))
            for j in range(i + 1, len(named))
            if limits.CORRELATED < abs(rho[i, j]) < 1 - limits.TIED
        ]
        return tuple(sorted(pairs, key=lambda pair: -abs(pair.value)))

    def at_bound(self) -> list[int]:
        """Return the indices of the constants at an active bound."""
        near = limits.AT_A_BOUND * np.maximum(self.standard_errors, 1e-9 * np.abs(self.values))
        distance = np.abs(self.values[:, None] - self.bounds).min(axis=1)
        return np.flatnonzero(distance <= near).tolist()

    def quantile(self, level: float = limits.LEVEL) -> float:
        """Return the quantile of Student's t distribution for a two-sided interval."""
        from scipy.special import ndtri, stdtrit

        if np.isfinite(self.degrees_of_freedom):
            return float(stdtrit(self.degrees_of_freedom, (1 + level) / 2))
        return float(ndtri((1 + level) / 2))


@final
class Covariance(NamedTuple):
    """The covariance of all free parameters.

    `groups` is the number of groups of a sandwich estimate.
    """

    matrix: np.ndarray
    is_sandwich: bool
    groups: int


def estimate_covariance(problem: Problem, stage: Stage, first: Stage) -> Covariance:
    """Return the covariance of the constants in the last stage, with the starts eliminated.

    The covariance is H^-1 if the residuals are white noise. If the residuals are larger on long
    segments than on short ones, or correlated between rows, it is H^-1 (sum of s s') H^-1, where s
    are the scores of runs or stretches, but at least H^-1 times the number of rows per independent
    value.
    """
    stretches = max(1, -(-limits.COVARIANCE_GROUPS // stage.segments.count))
    normal = matched_normal(problem, stage, stretches)
    H, scores, _ = eliminate_starts(normal, stage.precision)
    plain = inverse_curvature(H, normal, stage.precision)
    m = problem.measured
    exceeds_noise = bool((stage.sigma[m] > limits.SANDWICH_MISFIT * first.sigma[m]).any())
    if not (exceeds_noise or are_correlated(problem, stage, normal)):
        return Covariance(plain, False, 0)
    scores = _group_scores(problem, stage, scores)
    scores = scores - scores.mean(axis=0)
    count = len(scores)
    if count < limits.MIN_SANDWICH_GROUPS:
        return Covariance(plain, False, 0)
    middle = scores.T @ scores * count / (count - 1)
    sandwich = plain @ middle @ plain
    min_variance = long_run_time(problem, stage).max() * np.diag(plain)
    ratio = min_variance / np.maximum(np.diag(sandwich), 1e-300)
    factor = np.sqrt(np.maximum(ratio, 1.0))
    return Covariance(sandwich * np.outer(factor, factor), True, count)


def _group_scores(
    problem: Problem, stage: Stage, scores: Float[np.ndarray, "B g P"]
) -> Float[np.ndarray, "G P"]:
    """Return the scores of each run or, if there are few runs, of consecutive stretches."""
    runs = problem.data.run_of_row[stage.segments.rows[0]]
    names, of_segment = np.unique(runs, return_inverse=True)
    if len(names) >= limits.MIN_RUN_GROUPS:
        totals = np.zeros((len(names), scores.shape[2]))
        np.add.at(totals, of_segment, scores.sum(axis=1))
        return totals
    flat = scores.reshape(-1, scores.shape[2])
    groups = np.arange(len(flat)) * min(limits.COVARIANCE_GROUPS, len(flat)) // len(flat)
    totals = np.zeros((int(groups[-1]) + 1, flat.shape[1]))
    np.add.at(totals, groups, flat)
    return totals


def inverse_curvature(
    H: Float[np.ndarray, "P P"], normal: Normal, precision: Float[np.ndarray, " P"]
) -> Float[np.ndarray, "P P"]:
    """Return H^-1.

    It is computed in units of each constant's curvature, so that the result does not depend on
    units. Directions that the data do not determine have a very large variance.
    """
    diagonal = np.diag(normal.pp) + precision
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    values, axes = np.linalg.eigh(H / np.outer(scale, scale))
    values = np.maximum(values, limits.UNDETERMINED * max(values.max(initial=0.0), 1.0))
    return (axes / values) @ axes.T / np.outer(scale, scale)


def profile_factors(
    problem: Problem, stage: Stage, bounds: Float[np.ndarray, "2 P"], freedom: float
) -> Float[np.ndarray, "p 2"]:
    """Return the distances to both ends of the 95% interval of the profile likelihood, for each
    free coefficient and inner parameter.

    Distances are in half-widths of the quadratic approximation.

    The profile fixes one constant and matches the other constants and the starts again. The
    interval ends where the misfit has increased by q^2 / 2, where q is the quantile of Student's t
    distribution. Only intervals wide enough for curvature to matter are profiled, and none if
    residual weights are free.
    """
    from scipy.special import stdtrit

    constants = problem.constants
    factors = np.ones((constants.count, 2))
    if constants.weighted:
        return factors
    normal = stage.normal
    H = eliminate_starts(normal, stage.precision)[0]
    covariance = inverse_curvature(H, normal, stage.precision)
    quantile = float(stdtrit(freedom, 0.975))
    half = quantile * np.sqrt(np.diag(covariance))
    wide = half > limits.CURVED_REACH * np.abs(stage.p)
    undetermined = half > limits.PROFILE_ENDS * np.abs(stage.p)
    chosen = np.flatnonzero((wide & ~undetermined)[: constants.count])
    if not len(chosen):
        return factors
    profile = _Profile(problem, stage, bounds, covariance)
    for j in chosen:
        for side, sign in enumerate((-1.0, 1.0)):
            factors[j, side] = profile.end(int(j), sign * half[j], quantile)
    return factors


@final
class _Profile:
    """The misfit as a function of one constant."""

    def __init__(
        self,
        problem: Problem,
        stage: Stage,
        bounds: Float[np.ndarray, "2 P"],
        covariance: Float[np.ndarray, "P P"],
    ):
        self._problem, self._stage = problem, stage
        self._bounds, self._covariance = bounds, covariance
        self._min_cost = stage.normal.cost

    def end(self, j: int, reach: float, quantile: float) -> float:
        """Return the distance at which the profile has increased by quantile^2 / 2, in units of
        `reach`.
        """
        goal = quantile**2 / 2
        room = self._bounds[1 if reach > 0 else 0, j] - self._stage.p[j]
        farthest = min(limits.PROFILE_ENDS, max(room / reach, 0.0))
        if farthest < 1.0:
            return 1.0  # the interval ends at the bound
        at, solution = 1.0, self._solution(j, reach, None)
        if not solution.converged:
            return 1.0  # this match did not converge, so its cost is not the profile
        increase = solution.normal.cost - self._min_cost
        if abs(increase / goal - 1) < limits.CURVED_COST:
            return 1.0
        below, above = (0.0, 0.0), None
        for _ in range(limits.PROFILE_SOLVES):
            if not np.isfinite(increase) or increase > goal:
                above = (at, increase)
            else:
                below = (at, max(increase, 1e-6))
            if above is None and at >= farthest:
                return farthest
            # the square root of the increase is nearly linear, and exactly linear for a parabola
            guess = at * np.sqrt(goal / max(increase, 1e-6)) if np.isfinite(increase) else 0.5 * at
            if above is not None and np.isfinite(above[1]):
                roots = np.sqrt([below[1], above[1]])
                fraction = (np.sqrt(goal) - roots[0]) / max(roots[1] - roots[0], 1e-12)
                guess = below[0] + fraction * (above[0] - below[0])
            at = float(min(guess, limits.PROFILE_STEP * at, farthest))
            solution = self._solution(j, at * reach, solution)
            increase = solution.normal.cost - self._min_cost
            if abs(increase / goal - 1) < limits.CURVED_COST / 2:
                return at
        return at if np.isfinite(increase) else below[0] or 1.0

    def _solution(self, j: int, move: float, previous: MatchSolution | None) -> MatchSolution:
        """Return the match with constant j fixed at its estimate plus `move`."""
        stage, p = self._stage, self._stage.p
        states = stage.normal.states
        if previous is None:
            begin = p + self._covariance[:, j] / self._covariance[j, j] * move
        else:
            begin = p + move / (previous.p[j] - p[j]) * (previous.p - p)
            states = previous.normal.states
        begin = np.clip(begin, *self._bounds)
        begin[j] = p[j] + move
        bounds = self._bounds.copy()
        bounds[:, j] = begin[j]
        return match_segments(
            self._problem, stage.segments, stage.substeps, begin, states, stage.sigma,
            Prior(p, stage.precision), bounds, max_steps=limits.PROFILE_EVALUATIONS,
            tolerance=limits.NEAR_TOLERANCE, starts_near=True,
        )  # fmt: skip
