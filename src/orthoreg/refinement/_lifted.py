"""Gauss-Newton on constants, starts and the states at all rows together.

The states at the rows of a segment are unknowns of their own. One linearization of all steps from
row to row closes the gaps between them to first order and gives the sum of squares as a quadratic
function of constants and starts. All states move along with the minimum of it. Unlike a trajectory
from a start, they stay near the data while constants are wrong, so chaotic and long segments
converge as fast as short ones. [multiple shooting, Bock and Plitt 1984; lifted Newton,
Albersmeyer and Diehl 2010]
"""

from collections.abc import Callable
from typing import NamedTuple, final

import numpy as np
from jaxtyping import Float

from . import _limits as limits
from ._following import linearized
from ._levenberg import Prior, Solution, newton_step, starts_alone
from ._normal import Normal, joined, normal_equations
from ._problem import Problem
from ._segments import Segments, input_nodes
from ._shooting import Shot


@final
class _Point(NamedTuple):
    """Constants and states, the trajectory next to them and its derivatives, group by group; `gap`
    is the root mean square distance to that trajectory in standard deviations, `merit` half the
    sum of squares of the states' misfit and, with less weight, of that distance."""

    p: np.ndarray
    states: np.ndarray
    normal: Normal
    by: list[np.ndarray]
    gap: float
    merit: float


def match_segments(
    problem: Problem,
    segments: Segments,
    substeps: int,
    p: Float[np.ndarray, " P"],
    states: Float[np.ndarray, "T n B"],
    sigma: Float[np.ndarray, " n"],
    prior: Prior,
    bounds: Float[np.ndarray, "2 P"],
    *,
    most: int,
    tolerance: float,
    on_step: Callable[[], None] = lambda: None,
    is_measured: bool = False,
) -> Solution:
    """The minimum of cost and prior, from these constants and states. Where the states were
    measured, and are no piecewise trajectory, the first step moves them alone: their noise would
    determine what the motion leaves open. Ends once a full step is
    expected to gain less than `tolerance` and the gaps are closed, or after `most` steps; what was
    not closed by then is integrated from the starts."""
    point, converged = _minimum(
        _Lifted(problem, segments, substeps, sigma), p, states, prior, bounds, most, tolerance,
        on_step, is_measured,
    )  # fmt: skip
    starts = point.normal.states[0]
    if point.gap < limits.NEARLY_CLOSED:
        return Solution(point.p, starts, point.normal, converged)
    evaluate = problem.evaluator(segments, substeps, point.normal.states)
    return Solution(point.p, starts, evaluate(point.p, starts, sigma), False)


def _minimum(
    lifted: "_Lifted",
    p: Float[np.ndarray, " P"],
    states: Float[np.ndarray, "T n B"],
    prior: Prior,
    bounds: Float[np.ndarray, "2 P"],
    most: int,
    tolerance: float,
    on_step: Callable[[], None] = lambda: None,
    is_measured: bool = False,
) -> tuple[_Point, bool]:
    """The last point of the descent, and whether it converged."""
    point = lifted.at(p, states)
    damping, share, converged = limits.FIRST_DAMPING, 1.0, False
    for _ in range(most):
        step, moves, gain = newton_step(point.normal, point.p, prior, damping, bounds - point.p)
        if not np.isfinite(gain):
            damping *= 10
            continue
        if gain < tolerance and point.gap < limits.CLOSED:
            converged = True
            break
        if is_measured:
            step, moves, is_measured = np.zeros_like(step), starts_alone(point.normal), False
        trial = lifted.at(*lifted.moved(point, step, moves, share))
        on_step()
        before, after = point.merit + prior.cost(point.p), trial.merit + prior.cost(trial.p)
        closed = 1 - share * (1 - limits.CLOSING)
        closes = limits.CLOSED < point.gap and trial.gap < closed * point.gap
        if np.isfinite(after) and (closes or after < before + limits.ROUNDING * abs(before)):
            gained, is_closed = before - after, max(point.gap, trial.gap) < limits.CLOSED
            point, damping = trial, max(damping * 0.1, limits.LEAST_DAMPING)
            share = min(1.0, 2 * share)
            if gained < tolerance and is_closed:
                converged = True
                break
        else:
            if damping > limits.SHORTENED and not trial.gap < point.gap:
                share /= 2  # constants hardly move, so it is the states that move too far
            damping = max(damping * 10, limits.FIRST_DAMPING)
            if damping > limits.LARGEST_DAMPING:
                break
    return point, converged


def match_starts(
    problem: Problem,
    segments: Segments,
    substeps: int,
    states: Float[np.ndarray, "T n B"],
    sigma: Float[np.ndarray, " n"],
    *,
    most: int,
) -> Float[np.ndarray, "n B"]:
    """The initial states from which the field of a problem without free constants follows the
    segments best; those of `states` where none are found."""
    none = np.zeros(0)
    point, _ = _minimum(
        _Lifted(problem, segments, substeps, sigma), none, states, Prior(none, none),
        np.zeros((2, 0)), most, limits.STARTS_TOLERANCE * segments.count,
    )  # fmt: skip
    found = point.normal.states[0]
    return np.where(np.isfinite(found), found, states[0])


@final
class _Lifted:
    """Segments in groups whose derivatives are held at a time."""

    def __init__(
        self, problem: Problem, segments: Segments, substeps: int, sigma: Float[np.ndarray, " n"]
    ):
        self._problem, self._substeps = problem, substeps
        width = (segments.length + 1) * len(sigma) * (problem.constants.size + len(sigma))
        each = max(1, limits.BLOCK // width)
        self._groups = [slice(i, i + each) for i in range(0, segments.count, each)]
        self._segments = [segments.only(group) for group in self._groups]
        self._nodes = [
            input_nodes(problem.data, problem.inputs, part, substeps) for part in self._segments
        ]
        self._measured = [problem.states_of(part) for part in self._segments]
        self._sigma = [
            sigma[:, None] * problem.relative(part) * np.ones_like(measured)
            for part, measured in zip(self._segments, self._measured, strict=True)
        ]
        self._scale = np.where(np.isfinite(sigma), sigma, problem.sizes)[:, None]

    def at(self, p: Float[np.ndarray, " P"], states: Float[np.ndarray, "T n B"]) -> _Point:
        """The linearization at these constants and states."""
        problem, box = self._problem, self._problem.box
        slope = problem.slope.at(problem.constants.values(problem.field, p))
        normals, derivatives = [], []
        square, count = 0.0, 0.0
        for i, group in enumerate(self._groups):
            part, own = self._segments[i], states[:, :, group]
            with np.errstate(all="ignore"):
                near, by = linearized(slope, len(p), own, part, self._nodes[i], self._substeps)
                inside = ((own >= box.low) & (own <= box.high)).all(axis=(0, 1))
                finite = np.isfinite(by).all(axis=(1, 2, 3)) & np.isfinite(near).all(axis=(0, 1))
                sound = np.asarray(inside & finite)
                near = np.where(sound, near, own)
                apart = ((near - own) / self._scale) ** 2 * part.weight[:, None]
            normals.append(normal_equations(
                Shot(near, sound), by, self._measured[i], part.weight, self._sigma[i],
                reference=own,
            ))  # fmt: skip
            by[~sound] = 0.0
            derivatives.append(by)
            square += float(apart[:, :, sound].sum())
            count += float(part.weight[:, sound].sum()) * len(self._scale)
        normal = joined(normals)
        gap = float(np.sqrt(square / max(count, 1.0)))
        return _Point(
            p, states, normal, derivatives, gap, normal.cost + limits.GAP_WEIGHT * square / 2
        )

    def moved(
        self,
        point: _Point,
        step: Float[np.ndarray, " P"],
        moves: Float[np.ndarray, "n B"],
        share: float,
    ) -> tuple[Float[np.ndarray, " P"], Float[np.ndarray, "T n B"]]:
        """Constants and states after this share of a step, or less where states would move far."""
        change = point.normal.states - point.states
        for group, by in zip(self._groups, point.by, strict=True):
            own = moves[:, group].T
            free = np.concatenate([np.tile(step, (len(own), 1)), own], axis=1)[:, :, None]
            with np.errstate(all="ignore"):
                moved = (by.reshape(len(by), -1, by.shape[3]) @ free).reshape(by.shape[:3])
            change[:, :, group] += np.moveaxis(moved, 0, 2)
        change = np.where(np.isfinite(change), change, 0.0)
        far = np.sqrt(np.mean((change / self._problem.sizes[:, None]) ** 2, axis=(0, 1)))
        share = min(share, limits.LONGEST_MOVE / max(float(np.quantile(far, 0.9)), 1e-300))
        return point.p + share * step, point.states + share * change
