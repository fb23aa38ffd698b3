"""Levenberg-Marquardt on constants, starts and the states of all rows together.

The states at the rows of a segment are unknowns. A linearization of all steps between rows closes
the gaps between steps to first order, and makes the sum of squares a quadratic function of
constants and starts. All states move to its minimum. Unlike a trajectory from a start, the states
remain near the data while the constants are wrong, so long and chaotic segments converge as fast as
short ones. [multiple shooting, Bock and Plitt 1984; lifted Newton, Albersmeyer and Diehl 2010]
"""

from collections.abc import Callable
from typing import NamedTuple, final

import numpy as np
from jaxtyping import Float

from . import _limits as limits
from ._problem import (
    Normal,
    Problem,
    eliminate_starts,
    joined,
    normal_equations,
    starts_step,
)
from ._segments import RunSegments, Trajectories, input_nodes
from ._sensitivities import linearized


@final
class Prior(NamedTuple):
    """A prior of the constants, which adds sum precision (p - mean)^2 / 2 to the cost."""

    mean: np.ndarray
    precision: np.ndarray

    def cost(self, p: np.ndarray) -> float:
        return float((self.precision * (p - self.mean) ** 2).sum() / 2)


@final
class MatchSolution(NamedTuple):
    """Constants, starts (n, B), normal equations, and whether the descent converged."""

    p: np.ndarray
    starts: np.ndarray
    normal: Normal
    converged: bool


@final
class Stage(NamedTuple):
    """Result of a match to segments of one length; `sigma` is the residual standard deviation."""

    length: int
    segments: RunSegments
    substeps: int
    sigma: np.ndarray
    precision: np.ndarray
    solution: MatchSolution

    @property
    def p(self) -> np.ndarray:
        return self.solution.p

    @property
    def normal(self) -> Normal:
        return self.solution.normal


def match_segments(
    problem: Problem,
    segments: RunSegments,
    substeps: int,
    p: Float[np.ndarray, " P"],
    states: Float[np.ndarray, "T n B"],
    sigma: Float[np.ndarray, " n"],
    prior: Prior,
    bounds: Float[np.ndarray, "2 P"],
    *,
    max_steps: int,
    tolerance: float,
    on_step: Callable[[], None] = lambda: None,
    is_measured: bool = False,
    starts_near: bool = False,
) -> MatchSolution:
    """Return the minimum of cost plus prior near these constants and states.

    The descent ends when the expected gain of a full step is below `tolerance` and the gaps are
    closed, or after `max_steps`. Segments with remaining gaps are integrated from their starts. If
    the states are measurements (`is_measured`), not piecewise trajectories, the first step moves
    only the states, so that their noise does not move poorly determined constants. If constants and
    states are near the minimum (`starts_near`), steps are hardly damped.
    """
    point, converged = _minimum(
        _Lifted(problem, segments, substeps, sigma), p, states, prior, bounds, max_steps,
        tolerance, on_step, is_measured, starts_near,
    )  # fmt: skip
    starts = point.normal.states[0]
    if point.gap < limits.NEARLY_CLOSED:
        return MatchSolution(point.p, starts, point.normal, converged)
    normal = problem.evaluate(point.p, starts, sigma, segments, substeps, point.normal.states)
    return MatchSolution(point.p, starts, normal, False)


def matched_normal(problem: Problem, stage: Stage, stretches: int = 1) -> Normal:
    """Return the normal equations of a stage at its states.

    There are separate scores for `stretches` of each segment. Trajectories from the starts alone
    would amplify rounding errors where errors grow fast, for instance in an ignition.
    """
    lifted = _Lifted(problem, stage.segments, stage.substeps, stage.sigma, stretches)
    return lifted.at(stage.p, stage.normal.states).normal


def match_starts(
    problem: Problem,
    segments: RunSegments,
    substeps: int,
    states: Float[np.ndarray, "T n B"],
    sigma: Float[np.ndarray, " n"],
    *,
    max_steps: int,
) -> Float[np.ndarray, "n B"]:
    """Return the initial states with the smallest misfit, for a problem without free constants.

    Where the match fails, the given states are returned.
    """
    none = np.zeros(0)
    point, _ = _minimum(
        _Lifted(problem, segments, substeps, sigma), none, states, Prior(none, none),
        np.zeros((2, 0)), max_steps, limits.NEAR_TOLERANCE * segments.count,
    )  # fmt: skip
    starts = point.normal.states[0]
    return np.where(np.isfinite(starts), starts, states[0])


@final
class _Point(NamedTuple):
    """Constants and states, with the linearized trajectory and its derivatives in each group.

    `gap` is the root mean square distance from this trajectory in standard deviations. `merit` is
    half the sum of squares of the misfit and, with less weight, of this distance.
    """

    p: np.ndarray
    states: np.ndarray
    normal: Normal
    by: list[np.ndarray]
    gap: float
    merit: float


def _minimum(
    lifted: "_Lifted",
    p: Float[np.ndarray, " P"],
    states: Float[np.ndarray, "T n B"],
    prior: Prior,
    bounds: Float[np.ndarray, "2 P"],
    max_steps: int,
    tolerance: float,
    on_step: Callable[[], None] = lambda: None,
    is_measured: bool = False,
    starts_near: bool = False,
) -> tuple[_Point, bool]:
    """Return the last point of the descent, and whether it converged."""
    point = lifted.at(p, states)
    min_damping = limits.NEAR_DAMPING if starts_near else limits.MIN_DAMPING
    damping = min_damping if starts_near and not is_measured else limits.FIRST_DAMPING
    closed = limits.NO_GAP if starts_near else limits.CLOSED
    step_fraction, converged = 1.0, False
    for _ in range(max_steps):
        step, moves, gain = _newton_step(point.normal, point.p, prior, damping, bounds - point.p)
        if not np.isfinite(gain):
            damping *= 10
            continue
        if gain < tolerance and point.gap < limits.CLOSED:
            converged = True
            break
        if is_measured:
            step, moves, is_measured = np.zeros_like(step), starts_step(point.normal), False
        trial = lifted.at(*lifted.moved(point, step, moves, step_fraction))
        on_step()
        before, after = point.merit + prior.cost(point.p), trial.merit + prior.cost(trial.p)
        gap_ratio = 1 - step_fraction * (1 - limits.CLOSING)
        closes = closed < point.gap and trial.gap < gap_ratio * point.gap
        is_closed = max(point.gap, trial.gap) < limits.CLOSED
        is_lower = after < before + limits.ROUNDING * abs(before)
        is_accepted = bool(np.isfinite(after) and (closes or is_lower))
        if is_accepted:
            point, damping = trial, max(damping * 0.1, min_damping)
            step_fraction = min(1.0, 2 * step_fraction)
        else:
            if damping > limits.SHORTENED and not trial.gap < point.gap:
                step_fraction /= 2  # the constants hardly move, so the states moved too far
            damping = max(damping * 10, limits.FIRST_DAMPING)
            if damping > limits.MAX_DAMPING:
                break
        # near the minimum, rounding limits a rejected step that changes so little
        if is_closed and abs(before - after) < tolerance and (is_accepted or starts_near):
            converged = True
            break
    return point, converged


@final
class _Lifted:
    """Linearizations of segments, in groups that limit memory use."""

    def __init__(
        self,
        problem: Problem,
        segments: RunSegments,
        substeps: int,
        sigma: Float[np.ndarray, " n"],
        stretches: int = 1,
    ):
        self._problem, self._substeps, self._stretches = problem, substeps, stretches
        width = (segments.length + 1) * len(sigma) * (problem.constants.size + len(sigma))
        per_group = max(1, limits.BLOCK // width)
        self._groups = [slice(i, i + per_group) for i in range(0, segments.count, per_group)]
        self._segments = [segments.subset(group) for group in self._groups]
        self._nodes = [
            input_nodes(problem.data, problem.inputs, part, substeps) for part in self._segments
        ]
        self._measured = [problem.measured_states(part) for part in self._segments]
        self._sigma = [problem.likelihood_std(sigma, part) for part in self._segments]
        self._clipped = [problem.clipped(part) for part in self._segments]
        self._scale = np.where(np.isfinite(sigma), sigma, problem.sizes)[:, None]

    def at(self, p: Float[np.ndarray, " P"], states: Float[np.ndarray, "T n B"]) -> _Point:
        """Return the linearization at these constants and states."""
        problem, box = self._problem, self._problem.box
        field = problem.field_at(p)
        normals, derivatives = [], []
        square, count = 0.0, 0.0
        for i, group in enumerate(self._groups):
            part, group_states = self._segments[i], states[:, :, group]
            with np.errstate(all="ignore"):
                near, by = linearized(
                    field, len(p), group_states, part, self._nodes[i], self._substeps
                )
                inside = ((group_states >= box.low) & (group_states <= box.high)).all(axis=(0, 1))
                finite = np.isfinite(by).all(axis=(1, 2, 3)) & np.isfinite(near).all(axis=(0, 1))
                is_valid = np.asarray(inside & finite)
                near = np.where(is_valid, near, group_states)
                gaps = ((near - group_states) / self._scale) ** 2 * part.weight[:, None]
            normal = normal_equations(
                Trajectories(near, is_valid), by, self._measured[i], part.weight, self._sigma[i],
                self._stretches, group_states, self._clipped[i],
            )  # fmt: skip
            normals.append(problem.with_starts(normal, group_states[0], part))
            by[~is_valid] = 0.0
            derivatives.append(by)
            square += float(gaps[:, :, is_valid].sum())
            count += float(part.weight[:, is_valid].sum()) * len(self._scale)
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
        step_fraction: float,
    ) -> tuple[Float[np.ndarray, " P"], Float[np.ndarray, "T n B"]]:
        """Return constants and states after this fraction of a step.

        The fraction is reduced if states would move too far.
        """
        change = point.normal.states - point.states
        for group, by in zip(self._groups, point.by, strict=True):
            group_moves = moves[:, group].T
            free = np.concatenate([np.tile(step, (len(group_moves), 1)), group_moves], axis=1)[
                :, :, None
            ]
            with np.errstate(all="ignore"):
                moved = (by.reshape(len(by), -1, by.shape[3]) @ free).reshape(by.shape[:3])
            change[:, :, group] += np.moveaxis(moved, 0, 2)
        change = np.where(np.isfinite(change), change, 0.0)
        distance = np.sqrt(np.mean((change / self._problem.sizes[:, None]) ** 2, axis=(0, 1)))
        farthest = max(float(np.quantile(distance, 0.9)), 1e-300)
        step_fraction = min(step_fraction, limits.MAX_MOVE / farthest)
        return point.p + step_fraction * step, point.states + step_fraction * change


def _bounded_step(
    H: Float[np.ndarray, "P P"], gradient: Float[np.ndarray, " P"], room: Float[np.ndarray, "2 P"]
) -> Float[np.ndarray, " P"]:
    """Return H^-1 gradient within `room`.

    Parameters that would leave `room` are set to its edge, and the system is solved again for the
    other parameters.
    """
    step = np.linalg.solve(H, gradient)
    free = np.ones(len(step), dtype=bool)
    while True:
        outside = free & ((step < room[0]) | (step > room[1]))
        if not outside.any():
            return step
        step[outside] = np.clip(step, *room)[outside]
        free &= ~outside
        remainder = gradient[free] - H[np.ix_(free, ~free)] @ step[~free]
        step[free] = np.linalg.solve(H[np.ix_(free, free)], remainder)


def _newton_step(
    normal: Normal, p: np.ndarray, prior: Prior, damping: float, room: Float[np.ndarray, "2 P"]
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the damped steps of the constants (within `room`) and of the starts (n, B), and the
    expected gain.
    """
    size, precision = len(p), prior.precision
    prior_score = precision * (prior.mean - p)
    try:
        H, scores, solved = eliminate_starts(normal, precision, damping)
        gradient = scores.sum(axis=(0, 1)) + prior_score
        step = np.zeros(size)
        if size:
            scale = np.sqrt(np.maximum(np.diag(normal.pp) + precision, 1e-300))
            scaled = H / np.outer(scale, scale) + (damping + limits.DIAGONAL_ROUNDING) * np.eye(
                size
            )
            step = _bounded_step(scaled, gradient / scale, room * scale) / scale
    except np.linalg.LinAlgError:
        return np.zeros(size), np.zeros((1, 1)), np.nan
    moves = solved[:, :, size:].sum(axis=2) - solved[:, :, :size] @ step
    # score' d - d'Hd / 2 over all unknowns, with the undamped matrix
    p_score = normal.p_scores.sum(axis=(0, 1)) + prior_score
    s_score = normal.s_scores.sum(axis=1)
    curve = step @ ((normal.pp + np.diag(precision)) @ step)
    curve += 2 * np.einsum("bn,bnp,p->", moves, normal.sp, step)
    curve += np.einsum("bn,bnm,bm->", moves, normal.ss, moves)
    gain = p_score @ step + (s_score * moves).sum() - curve / 2
    return step, moves.T, float(gain)
