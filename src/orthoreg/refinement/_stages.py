"""From short segments to long ones: each stage begins where the one before ended."""

from collections.abc import Callable
from typing import NamedTuple, final

import numpy as np
from jaxtyping import Float

from . import _limits as limits
from ._levenberg import Prior, Solution, eliminated
from ._lifted import match_segments
from ._limits import Effort
from ._problem import Problem
from ._segments import Segments, cut

FULL = Effort()


@final
class Stage(NamedTuple):
    """What a stage ended with; `p` are the constants, `sigma` the misfit of each state."""

    length: int
    segments: Segments
    substeps: int
    sigma: np.ndarray
    precision: np.ndarray
    solution: Solution

    @property
    def p(self) -> np.ndarray:
        return self.solution.p


def lengths(problem: Problem, effort: Effort) -> list[int]:
    """4, 10, 25, ... steps, the last one the longest run's; more of them where samples are dense
    beside the motion."""
    longest = int(problem.data.run_lengths.max()) - 1
    last = limits.LENGTH_WEIGHTS if problem.constants.weighted else effort.longest
    density = problem.data.plan.oversampling
    last = min(longest, round(density * last))
    found, length = [], density * effort.first
    while length < 0.7 * last:
        found.append(round(length))
        length *= effort.growth
    return [*found, last]


def all_stages(
    problem: Problem,
    bounds: Float[np.ndarray, "2 P"],
    on_step: Callable[[float], None] = lambda done: None,
    *,
    effort: Effort = FULL,
    states: Float[np.ndarray, "N n"] | None = None,
) -> tuple[list[Stage], Float[np.ndarray, "N n"]]:
    """The stages that converged, and the states of all rows as the last one has them. Segments
    begin near `states`, by default those that were measured.

    The stages end where errors of the initial state would grow more than `MATCH_GROWTH` times along
    the segments, where the misfit jumps, or where trajectories run away: noise or chaos allow no
    longer segments.
    """
    smooth = np.array(problem.data.states if states is None else states)
    p, precision = problem.old, first_precision(problem)
    stages: list[Stage] = []
    schedule = lengths(problem, effort)
    for i, length in enumerate(schedule):
        sigma = stages[-1].sigma if stages else None
        if stages:
            segments = cut(problem.data, length, _most_rows(problem, length))
            if problem.growth_along(p, smooth, segments) > limits.MATCH_GROWTH:
                break
        stage = run_stage(
            problem, length, p, smooth, precision, bounds, sigma=sigma,
            on_step=lambda i=i: on_step(i / len(schedule)), effort=effort,
        )  # fmt: skip
        if not is_followed(problem, stages[-1] if stages else None, stage, effort):
            break
        stages.append(stage)
        p, precision = stage.p, stage.precision
        sound = stage.solution.normal.sound
        smooth[stage.segments.rows[:, sound]] = np.moveaxis(
            stage.solution.normal.states[:, :, sound], 1, 2
        )
    return stages, smooth


def is_followed(problem: Problem, before: Stage | None, stage: Stage, effort: Effort) -> bool:
    """Whether a stage follows its segments, and no worse than the shorter ones `before`."""
    m = problem.measured
    if stage.solution.normal.sound.mean() < limits.FOLLOWED_SHARE or not np.isfinite(stage.p).all():
        return False
    if np.all(stage.sigma[m] > limits.HOPELESS_MISFIT * problem.sizes[m]):
        return False
    return before is None or not _is_worse(problem, before, stage, effort.jump)


def run_stage(
    problem: Problem,
    length: int,
    p: Float[np.ndarray, " P"],
    smooth: Float[np.ndarray, "N n"],
    precision: Float[np.ndarray, " P"],
    bounds: Float[np.ndarray, "2 P"],
    *,
    sigma: Float[np.ndarray, " n"] | None = None,
    most: int | None = None,
    on_step: Callable[[], None] = lambda: None,
    effort: Effort = FULL,
) -> Stage:
    """The best constants for segments of this length: with the misfit of the start, roughly, then
    with the one that this leaves."""
    segments = cut(problem.data, length, _most_rows(problem, length))
    guess = np.moveaxis(smooth[segments.rows], 2, 1)
    is_measured = sigma is None
    if sigma is None:
        sigma = np.where(problem.measured, limits.FIRST_SIGMA * problem.sizes, np.inf)
    m, has_weights = problem.measured, bool(problem.constants.weighted)
    fine = limits.TOLERANCE_WEIGHTS if has_weights else effort.tolerance
    rounds = limits.ROUNDS_WEIGHTS if has_weights else effort.rounds
    substeps, checked, tolerance = 0, problem.sizes, max(limits.ROUGH_TOLERANCE, fine)
    while True:
        scale = np.where(m, sigma, problem.sizes)
        if not substeps or np.any(scale < limits.FINER * checked):
            accuracy = limits.STEP_ERROR * scale / np.sqrt(segments.weight.sum())
            accuracy = np.maximum(accuracy, limits.LEAST_STEP_ERROR * problem.sizes)
            needed = problem.substeps(p, guess[0], guess, segments, accuracy, effort.substeps)
            checked, substeps = scale, max(substeps, needed)
        solution = match_segments(
            problem, segments, substeps, p, guess, sigma, Prior(problem.old, precision), bounds,
            most=effort.evaluations if most is None else most,
            tolerance=tolerance, on_step=on_step, is_measured=is_measured,
        )  # fmt: skip
        p, guess, is_measured = solution.p, solution.normal.states, False
        found, sharper = reestimated(problem, segments, solution, precision)
        settled = np.all(np.abs(found[m] / sigma[m] - 1) < limits.SETTLED)
        settled &= np.all(np.abs(sharper - precision) <= limits.SETTLED_PRIOR * precision)
        sigma, precision = found, sharper
        if rounds == 0 or settled and tolerance == fine:
            break
        tolerance, rounds = fine, rounds - 1
    return Stage(length, segments, substeps, sigma, precision, solution)


def reestimated(
    problem: Problem, segments: Segments, solution: Solution, precision: np.ndarray
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " P"]]:
    """The misfit of each state, and the precision of the weights' prior by its evidence:
    precision = g / |v - v_old|^2, with g the number of weights that the data determine.
    [MacKay 1992]"""
    constants, normal = problem.constants, solution.normal
    used = float(constants.count)
    new = precision.copy()
    if constants.weighted:
        H = eliminated(normal, precision)[0]
        spread = np.diag(np.linalg.pinv(H, hermitian=True))
        for place in range(len(constants.weighted)):
            at = constants.weights_of(place)
            determined = float(np.clip(1 - precision[at] * spread[at], 0, 1).sum())
            used += determined
            square = float(((solution.p - problem.old)[at] ** 2).sum())
            if square > 0:
                most = constants.width / float((limits.LEAST_CHANGE * problem.old[at] ** 2).sum())
                new[at] = min(max(determined, 1e-3) / square, most)
    used += segments.count * len(problem.sizes)
    return problem.noise(normal.states, segments, normal.sound, used), new


def first_precision(problem: Problem) -> Float[np.ndarray, " P"]:
    """A weak prior around what the constants were: several times their size, which keeps those
    that trajectories do not determine; for weights as if all might change by their size."""
    p, constants = problem.old, problem.constants
    precision = 1 / np.maximum(limits.PRIOR_WIDTH * np.abs(p), 1e-100) ** 2
    precision = np.where(p != 0, precision, 0.0)
    for place in range(len(constants.weighted)):
        at = constants.weights_of(place)
        precision[at] = constants.width / float((p[at] ** 2).sum())
    return precision


def _most_rows(problem: Problem, length: int) -> int:
    if problem.constants.weighted:
        return limits.STAGE_ROWS_WEIGHTS
    return limits.STAGE_ROWS_LAST if length >= lengths(problem, FULL)[-1] else limits.STAGE_ROWS


def _is_worse(problem: Problem, before: Stage, after: Stage, jump: float) -> bool:
    """Whether longer segments are no longer followed."""
    if not after.solution.normal.sound.all() and before.solution.normal.sound.all():
        return True
    m = problem.measured
    harmless = limits.HARMLESS_MISFIT * problem.sizes[m]
    if problem.expected is not None:
        harmless = np.maximum(harmless, limits.EXPECTED_MISFIT * problem.expected[m])
    grown = after.sigma[m] > np.maximum(jump * before.sigma[m], harmless)
    return bool(grown.any())
