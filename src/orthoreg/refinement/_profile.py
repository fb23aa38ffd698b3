"""Intervals where the likelihood is curved: by its profile, not its curvature at the maximum."""

from typing import final

import numpy as np
from jaxtyping import Float

from . import _limits as limits
from ._covariance import covariance_of
from ._levenberg import Prior, Solution, eliminated
from ._lifted import match_segments
from ._limits import CURVED_COST, CURVED_REACH, PROFILE_ENDS
from ._problem import Problem
from ._stages import Stage


def profiled(
    problem: Problem, stage: Stage, bounds: Float[np.ndarray, "2 P"], freedom: float
) -> Float[np.ndarray, "p 2"]:
    """For each coefficient and inner parameter that is free, the distance of both ends of its
    95% interval by the profile of the likelihood, in half-widths of the quadratic approximation.

    With one constant held, the others and the starts are estimated again. An end is where the
    misfit has risen by q^2 / 2, q being Student's quantile. Only for constants whose intervals are
    wide enough for curvature to matter, and with the weights of a residual for none.
    """
    from scipy.special import stdtrit

    constants = problem.constants
    factors = np.ones((constants.count, 2))
    if constants.weighted:
        return factors
    normal = stage.solution.normal
    H = eliminated(normal, stage.precision)[0]
    covariance = covariance_of(H, normal, stage.precision)
    quantile = float(stdtrit(freedom, 0.975))
    half = quantile * np.sqrt(np.diag(covariance))
    wide = half > CURVED_REACH * np.abs(stage.p)
    undetermined = half > PROFILE_ENDS * np.abs(stage.p)
    chosen = np.flatnonzero((wide & ~undetermined)[: constants.count])
    if not len(chosen):
        return factors
    profile = _Profile(problem, stage, bounds, covariance)
    for j in chosen:
        for side, way in enumerate((-1.0, 1.0)):
            factors[j, side] = profile.end(int(j), way * half[j], quantile)
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
        self._least = stage.solution.normal.cost

    def end(self, j: int, reach: float, quantile: float) -> float:
        """Where the profile has risen by quantile^2 / 2, in units of `reach`."""
        goal = quantile**2 / 2
        room = self._bounds[1 if reach > 0 else 0, j] - self._stage.p[j]
        most = min(PROFILE_ENDS, max(room / reach, 0.0))
        if most < 1.0:
            return 1.0  # the bound ends the interval before
        at, solution = 1.0, self._solution(j, reach, None)
        if not solution.converged:
            return 1.0  # its misfit is not that of the profile
        risen = solution.normal.cost - self._least
        if abs(risen / goal - 1) < CURVED_COST:
            return 1.0
        below, above = (0.0, 0.0), None
        for _ in range(limits.PROFILE_SOLVES):
            if not np.isfinite(risen) or risen > goal:
                above = (at, risen)
            else:
                below = (at, max(risen, 1e-6))
            if above is None and at >= most:
                return most
            # the root of the rise is nearly a line, which a parabola's is
            guess = at * np.sqrt(goal / max(risen, 1e-6)) if np.isfinite(risen) else 0.5 * at
            if above is not None and np.isfinite(above[1]):
                roots = np.sqrt([below[1], above[1]])
                share = (np.sqrt(goal) - roots[0]) / max(roots[1] - roots[0], 1e-12)
                guess = below[0] + share * (above[0] - below[0])
            at = float(min(guess, 2.5 * at, most))
            solution = self._solution(j, at * reach, solution)
            risen = solution.normal.cost - self._least
            if abs(risen / goal - 1) < CURVED_COST / 2:
                return at
        return at if np.isfinite(risen) else below[0] or 1.0

    def _solution(self, j: int, move: float, before: Solution | None) -> Solution:
        """The best other constants and starts with constant j moved by `move`."""
        stage, p = self._stage, self._stage.p
        states = stage.solution.normal.states
        if before is None:
            begin = p + self._covariance[:, j] / self._covariance[j, j] * move
        else:
            begin = p + move / (before.p[j] - p[j]) * (before.p - p)
            states = before.normal.states
        begin = np.clip(begin, *self._bounds)
        begin[j] = p[j] + move
        bounds = self._bounds.copy()
        bounds[:, j] = begin[j]
        return match_segments(
            self._problem, stage.segments, stage.substeps, begin, states, stage.sigma,
            Prior(p, stage.precision), bounds, most=limits.PROFILE_EVALUATIONS,
            tolerance=limits.PROFILE_TOLERANCE,
        )  # fmt: skip
