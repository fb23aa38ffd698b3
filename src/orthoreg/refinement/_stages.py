"""From short segments to long ones: each stage begins where the one before ended."""

from collections.abc import Callable
from typing import NamedTuple, final

import numpy as np
from jaxtyping import Float

from ._levenberg import Evaluate, Prior, Solution, descend, eliminated
from ._problem import Problem
from ._segments import Segments, cut

_MOST_ROWS, _MOST_ROWS_LAST = 20_000, 100_000  # of all segments, but for the last stage
_MOST_ROWS_WEIGHTS = 4_000  # the same where there are weights
_TOLERANCE_WEIGHTS = 0.1  # as `Effort.tolerance` where there are weights, of which there are many
_LENGTH_WEIGHTS = 100  # steps of a segment where there are weights
_ROUGH = 1e-2
_SOUND = 0.5  # of the segments must not run away
_HOPELESS = 0.5  # of a state's spread: a misfit that no model needs
_HARMLESS = 0.01  # of a state's spread: a misfit below this may grow
_AS_EXPECTED = 1.2  # times the noise that is expected: a misfit that may grow as well
_FINER = 0.5  # of the misfit for which substeps were chosen: they are checked again below
_SETTLED = 0.02  # relative change of the misfit, from which on a stage goes on
_SETTLED_PRIOR = 0.2  # the same of the weights' precision
_ROUNDS_WEIGHTS = 5
_LEAST_CHANGE = 0.04  # of the weights' mean square, that their prior allows
_STEP_ERROR = 0.3  # standard errors of a mean over all rows, for the integration

_LEAST_STEP_ERROR = 1e-9  # of a state's spread


@final
class Effort(NamedTuple):
    """Steps of the first segments and by how much they grow; `rounds` after the first, rough one;
    the gain, in units of half a squared standard error, that ends a descent; the most evaluations
    of one, steps of the integration from row to row, and steps of a segment; by how much the
    misfit may grow with the length of segments."""

    first: int = 4
    growth: float = 2.5
    rounds: int = 2
    tolerance: float = 1e-6
    evaluations: int = 20
    substeps: int = 32
    longest: int = 1000
    jump: float = 1.5


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
    """4, 10, 25, ... steps, the last one the longest run's."""
    longest = int(problem.data.run_lengths.max()) - 1
    last = min(longest, _LENGTH_WEIGHTS if problem.constants.weighted else effort.longest)
    found, length = [], float(effort.first)
    while length < 0.7 * last:
        found.append(round(length))
        length *= effort.growth
    return [*found, last]


def all_stages(
    problem: Problem,
    bounds: Float[np.ndarray, "2 P"],
    told: Callable[[float], None] = lambda done: None,
    *,
    effort: Effort = FULL,
    goes_on: Callable[[Stage], bool] = lambda stage: True,
) -> tuple[list[Stage], Float[np.ndarray, "N n"]]:
    """The stages that converged, and the states of all rows as the last one has them.

    The first stage whose misfit jumps, or in which trajectories run away, is the end: noise or
    chaos allow no longer segments; or one after which it does not go on.
    """
    smooth = np.array(problem.data.states)
    p, precision = problem.old, first_precision(problem)
    stages: list[Stage] = []
    schedule = lengths(problem, effort)
    for i, length in enumerate(schedule):
        sigma = stages[-1].sigma if stages else None
        stage = run_stage(
            problem, length, p, smooth, precision, bounds, sigma=sigma,
            told=lambda i=i: told(i / len(schedule)), effort=effort,
        )  # fmt: skip
        m = problem.measured
        if stage.solution.normal.sound.mean() < _SOUND or np.all(
            stage.sigma[m] > _HOPELESS * problem.sizes[m]
        ):
            break
        if stages and _is_worse(problem, stages[-1], stage, effort.jump):
            break
        stages.append(stage)
        p, precision = stage.p, stage.precision
        sound = stage.solution.normal.sound
        smooth[stage.segments.rows[:, sound]] = np.moveaxis(
            stage.solution.normal.states[:, :, sound], 1, 2
        )
        if not goes_on(stage):
            break
    return stages, smooth


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
    told: Callable[[], None] = lambda: None,
    effort: Effort = FULL,
) -> Stage:
    """The best constants for segments of this length: with the misfit of the start, roughly, then
    with the one that this leaves."""
    segments = cut(problem.data, length, _most_rows(problem, length))
    guess = np.moveaxis(smooth[segments.rows], 2, 1)
    starts = guess[0].copy()
    if sigma is None:
        states, sound = problem.simulate(p, starts, segments, 1)
        sigma = problem.noise(states, segments, sound, 0.0)
    m, has_weights = problem.measured, bool(problem.constants.weighted)
    fine = _TOLERANCE_WEIGHTS if has_weights else effort.tolerance
    rounds = _ROUNDS_WEIGHTS if has_weights else effort.rounds
    substeps, checked, tolerance = 1, problem.sizes, max(_ROUGH, fine)
    evaluate: Evaluate | None = None
    while True:
        scale = np.where(m, sigma, problem.sizes)
        if evaluate is None or np.any(scale < _FINER * checked):
            accuracy = _STEP_ERROR * scale / np.sqrt(segments.weight.sum())
            accuracy = np.maximum(accuracy, _LEAST_STEP_ERROR * problem.sizes)
            needed = problem.substeps(p, starts, guess, segments, accuracy, effort.substeps)
            checked, substeps = scale, max(substeps, needed)
            evaluate = problem.evaluator(segments, substeps, guess)
        solution = descend(
            evaluate, p, starts, sigma, Prior(problem.old, precision), bounds,
            most=effort.evaluations if most is None else most,
            tolerance=tolerance, told=told,
        )  # fmt: skip
        p, starts, guess = solution.p, solution.starts, solution.normal.states
        found, sharper = reestimated(problem, segments, solution, precision)
        settled = np.all(np.abs(found[m] / sigma[m] - 1) < _SETTLED)
        settled &= np.all(np.abs(sharper - precision) <= _SETTLED_PRIOR * precision)
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
                most = constants.width / float((_LEAST_CHANGE * problem.old[at] ** 2).sum())
                new[at] = min(max(determined, 1e-3) / square, most)
    used += segments.count * len(problem.sizes)
    return problem.noise(normal.states, segments, normal.sound, used), new


def first_precision(problem: Problem) -> Float[np.ndarray, " P"]:
    """Zero for constants; for weights as if all might change by their size."""
    p, precision = problem.old, np.zeros(problem.constants.size)
    for place in range(len(problem.constants.weighted)):
        at = problem.constants.weights_of(place)
        precision[at] = problem.constants.width / float((p[at] ** 2).sum())
    return precision


def _most_rows(problem: Problem, length: int) -> int:
    if problem.constants.weighted:
        return _MOST_ROWS_WEIGHTS
    return _MOST_ROWS_LAST if length >= lengths(problem, FULL)[-1] else _MOST_ROWS


def _is_worse(problem: Problem, before: Stage, after: Stage, jump: float) -> bool:
    """Whether longer segments are no longer followed."""
    if not after.solution.normal.sound.all() and before.solution.normal.sound.all():
        return True
    m = problem.measured
    harmless = _HARMLESS * problem.sizes[m]
    if problem.expected is not None:
        harmless = np.maximum(harmless, _AS_EXPECTED * problem.expected[m])
    grown = after.sigma[m] > np.maximum(jump * before.sigma[m], harmless)
    return bool(grown.any())
