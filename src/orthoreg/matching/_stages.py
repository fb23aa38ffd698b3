"""Match segments of growing length. Each match starts from the previous result."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from . import _limits as limits
from ._limits import FULL, Effort
from ._matching import MatchSolution, Prior, Stage, match_segments
from ._noise import residual_std
from ._problem import Problem, eliminate_starts
from ._segments import RunSegments, cut


def segment_lengths(problem: Problem, effort: Effort) -> list[int]:
    """Return growing lengths, in steps, up to the longest run or `max_length`.

    Lengths are larger if samples are dense relative to the motion. Hidden states need long
    segments, because each segment has to determine their start.
    """
    longest = int(problem.data.run_lengths.max()) - 1
    if problem.data.hidden:
        if problem.data.schema.per_run:
            return [longest]  # shorter segments would each have their own constants
        shares = range(limits.HIDDEN_HALVINGS, -1, -1)
        return sorted({max(longest // 2**k, min(longest, effort.first_length)) for k in shares})
    last = limits.LENGTH_WEIGHTS if problem.constants.weighted else effort.max_length
    density = problem.data.plan.oversampling
    last = min(longest, round(density * last))
    first = limits.FIRST_MAP_LENGTH if problem.data.discrete else effort.first_length
    lengths, length = [], density * first
    while length < 0.7 * last:
        lengths.append(round(length))
        length *= effort.growth
    return [*lengths, last]


def match_stages(
    problem: Problem,
    bounds: Float[np.ndarray, "2 P"],
    on_progress: Callable[[float], None] = lambda fraction: None,
    *,
    effort: Effort = FULL,
    states: Float[np.ndarray, "N n"] | None = None,
    sigma: Float[np.ndarray, " n"] | None = None,
) -> tuple[list[Stage], Float[np.ndarray, "N n"]]:
    """Return the successful stages, and the states of all rows in the last stage.

    The first match starts from `states`, by default the measured states. If they are trajectories,
    `sigma` contains the standard deviations of their residuals.

    Noise and chaos limit the segment length. It stops growing when errors of the initial state grow
    by more than `MATCH_GROWTH` along the segments, when the misfit grows, or when trajectories
    diverge.
    """
    states = np.array(problem.initial_states if states is None else states)
    p, precision = problem.initial_constants, prior_precision(problem)
    stages: list[Stage] = []
    lengths = segment_lengths(problem, effort)
    for i, length in enumerate(lengths):
        if stages:
            segments = cut(problem.data, length, _max_rows(problem, length))
            if problem.error_growth(p, states, segments) > limits.MATCH_GROWTH:
                break
        stage = match_stage(
            problem, length, p, states, precision, bounds, sigma=sigma,
            on_step=lambda i=i: on_progress(i / len(lengths)), effort=effort,
        )  # fmt: skip
        if not follows_data(problem, stages[-1] if stages else None, stage, effort):
            break
        stages.append(stage)
        p, precision, sigma = stage.p, stage.precision, stage.sigma
        states = updated_states(states, stage)
    return stages, states


def updated_states(states: Float[np.ndarray, "N n"], stage: Stage) -> Float[np.ndarray, "N n"]:
    """Return the states of all rows, replaced by those of a stage where its segments are valid."""
    states, is_valid = np.array(states), stage.normal.is_valid
    states[stage.segments.rows[:, is_valid]] = np.moveaxis(
        stage.normal.states[:, :, is_valid], 1, 2
    )
    return states


def follows_data(problem: Problem, shorter: Stage | None, stage: Stage, effort: Effort) -> bool:
    """Return whether a stage fits its segments, and fits them about as well as the `shorter`
    stage.
    """
    m = problem.measured
    valid_share = stage.normal.is_valid.mean()
    if valid_share < limits.MIN_VALID_SHARE or not np.isfinite(stage.p).all():
        return False
    if np.all(stage.sigma[m] > limits.HOPELESS_MISFIT * problem.sizes[m]):
        return False
    return shorter is None or not _is_worse(problem, shorter, stage, effort.max_misfit_growth)


def match_stage(
    problem: Problem,
    length: int,
    p: Float[np.ndarray, " P"],
    states: Float[np.ndarray, "N n"],
    precision: Float[np.ndarray, " P"],
    bounds: Float[np.ndarray, "2 P"],
    *,
    sigma: Float[np.ndarray, " n"] | None = None,
    max_evaluations: int | None = None,
    on_step: Callable[[], None] = lambda: None,
    effort: Effort = FULL,
) -> Stage:
    """Return the best constants on segments of this length.

    A rough match with the given sigma comes first, then matches with the estimated sigma.
    """
    segments = cut(problem.data, length, _max_rows(problem, length))
    guess = np.moveaxis(states[segments.rows], 2, 1)
    is_measured = sigma is None
    if sigma is None:
        sigma = np.where(problem.measured, limits.FIRST_SIGMA * problem.sizes, np.inf)
    m, has_weights = problem.measured, bool(problem.constants.weighted)
    final_tolerance = limits.TOLERANCE_WEIGHTS if has_weights else effort.tolerance
    rounds = limits.ROUNDS_WEIGHTS if has_weights else effort.rounds
    substeps, checked_scale = 0, problem.sizes
    is_rough = is_measured or not effort.starts_near
    tolerance = max(limits.ROUGH_TOLERANCE, final_tolerance) if is_rough else final_tolerance
    while True:
        scale = np.where(m, sigma, problem.sizes)
        if not substeps or np.any(scale < limits.FINER * checked_scale):
            accuracy = limits.STEP_ERROR * scale / np.sqrt(segments.weight.sum())
            accuracy = np.maximum(accuracy, limits.MIN_STEP_ERROR * problem.sizes)
            needed = problem.substeps(p, guess[0], guess, segments, accuracy, effort.max_substeps)
            checked_scale, substeps = scale, max(substeps, needed)
        solution = match_segments(
            problem, segments, substeps, p, guess, sigma, 
            Prior(problem.initial_constants, precision), bounds,
            max_steps=effort.max_evaluations if max_evaluations is None else max_evaluations,
            tolerance=tolerance, on_step=on_step, is_measured=is_measured,
            starts_near=effort.starts_near,
        )  # fmt: skip
        p, guess, is_measured = solution.p, solution.normal.states, False
        new_sigma, new_precision = _reestimated(problem, segments, solution, precision)
        new_sigma = np.maximum(new_sigma, effort.min_sigma * problem.sizes)
        is_stable = np.all(np.abs(new_sigma[m] / sigma[m] - 1) < limits.NOISE_TOLERANCE)
        change = np.abs(new_precision - precision)
        is_stable &= np.all(change <= limits.PRECISION_TOLERANCE * precision)
        sigma, precision = new_sigma, new_precision
        if rounds == 0 or is_stable and tolerance == final_tolerance:
            break
        tolerance, rounds = final_tolerance, rounds - 1
    return Stage(length, segments, substeps, sigma, precision, solution)


def _reestimated(
    problem: Problem, segments: RunSegments, solution: MatchSolution, precision: np.ndarray
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " P"]]:
    """Return the residual standard deviation of each state, and the precision of the weights'
    prior.

    The precision is g / |v - v_0|^2, where g is the number of weights that the data determine.
    [MacKay 1992]
    """
    constants, normal = problem.constants, solution.normal
    n_estimated = float(constants.count)
    new_precision = precision.copy()
    if constants.weighted:
        H = eliminate_starts(normal, precision)[0]
        variance = np.diag(np.linalg.pinv(H, hermitian=True))
        initial = problem.initial_constants
        for i in range(len(constants.weighted)):
            at = constants.weights_of(i)
            n_determined = float(np.clip(1 - precision[at] * variance[at], 0, 1).sum())
            n_estimated += n_determined
            square = float(((solution.p - initial)[at] ** 2).sum())
            if square > 0:
                min_square = float((limits.MIN_WEIGHT_CHANGE * initial[at] ** 2).sum())
                max_precision = constants.width / min_square
                new_precision[at] = min(max(n_determined, 1e-3) / square, max_precision)
    n_estimated += segments.count * len(problem.sizes)
    sigma = residual_std(problem, normal.states, segments, normal.is_valid, n_estimated)
    return sigma, new_precision


def prior_precision(problem: Problem) -> Float[np.ndarray, " P"]:
    """Return the precision of a weak prior around the initial constants.

    Its standard deviation is `PRIOR_WIDTH` times the size of a constant; for weights, the size is
    their root mean square.
    """
    p, constants = problem.initial_constants, problem.constants
    precision = 1 / np.maximum(limits.PRIOR_WIDTH * np.abs(p), 1e-100) ** 2
    precision = np.where(p != 0, precision, 0.0)
    for i in range(len(constants.weighted)):
        at = constants.weights_of(i)
        precision[at] = constants.width / float((p[at] ** 2).sum())
    return precision


def _max_rows(problem: Problem, length: int) -> int:
    if problem.constants.weighted:
        return limits.STAGE_ROWS_WEIGHTS
    return (
        limits.STAGE_ROWS_LAST
        if length >= segment_lengths(problem, FULL)[-1]
        else limits.STAGE_ROWS
    )


def _is_worse(problem: Problem, shorter: Stage, longer: Stage, max_growth: float) -> bool:
    """Return whether trajectories diverge or the misfit grows on longer segments."""
    if not longer.normal.is_valid.all() and shorter.normal.is_valid.all():
        return True
    m = problem.measured
    harmless = limits.HARMLESS_MISFIT * problem.sizes[m]
    if problem.expected_noise is not None:
        harmless = np.maximum(harmless, limits.EXPECTED_MISFIT * problem.expected_noise[m])
    return bool((longer.sigma[m] > np.maximum(max_growth * shorter.sigma[m], harmless)).any())
