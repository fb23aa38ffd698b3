"""Estimate noise from residuals of trajectories: its size and its correlation between rows."""

from collections.abc import Sequence
from typing import NamedTuple, final

import numpy as np
from jaxtyping import Bool, Float

from ..data import Dataset
from . import _limits as limits
from ._censoring import expected_square
from ._matching import Stage
from ._problem import Normal, Problem
from ._segments import RunSegments


@final
class CorrelatedNoise(NamedTuple):
    """The variance of each state's noise, and the number of rows per independent value."""

    variance: np.ndarray
    time: np.ndarray


def white_noise_variance(data: Dataset) -> Float[np.ndarray, " n"]:
    """Return the noise variance of each state, estimated by smoothing."""
    plan = data.plan
    if data.discrete:  # nothing is smoothed
        return np.maximum(plan.noise**2, min_misfit(data.states))
    removed = (data.states - plan.smoothed) ** 2 / plan.relative_variance
    if plan.is_lost.any():
        removed = removed[~plan.is_lost]
    removed = removed.mean(axis=0)
    return np.maximum(removed / (1 - plan.smoother.leverage), min_misfit(data.states))


def min_misfit(states: Float[np.ndarray, "N n"]) -> Float[np.ndarray, " n"]:
    """Return the mean squared misfit of each state below which differences are rounding errors."""
    return np.maximum((limits.ROUNDING_FLOOR * states.std(axis=0)) ** 2, 1e-300)


def residual_std(
    problem: Problem,
    states: Float[np.ndarray, "T n B"],
    segments: RunSegments,
    is_valid: Bool[np.ndarray, " B"],
    n_estimated: float = 0.0,
) -> Float[np.ndarray, " n"]:
    """Return the standard deviation of each state's residuals.

    It is infinite for unmeasured states.

    Residuals beyond `HUBER` standard deviations are clipped to `HUBER`. `n_estimated` is the number
    of unknowns estimated from the data. Values at limits of sensors count with their expected
    squares.
    """
    relative = problem.relative_std(segments)
    r = np.abs((problem.measured_states(segments) - states) / relative)
    counts = np.broadcast_to(np.isfinite(relative), r.shape)[:, :, is_valid]
    r = r[:, :, is_valid]
    weight = segments.weight[:, None, is_valid]
    if not weight.sum():
        return np.where(problem.measured, problem.sizes, np.inf)
    count = np.maximum((weight * counts).sum(axis=(0, 2)), 1.0)
    free = max(1 - n_estimated / max(float(count[problem.measured].sum()), 1.0), 0.1)
    sigma = np.sqrt((r**2 * weight).sum(axis=(0, 2)) / count)
    for _ in range(30):
        clipped = np.minimum(r, limits.HUBER * sigma[:, None])
        previous, sigma = sigma, np.sqrt((clipped**2 * weight).sum(axis=(0, 2)) / count)
        if np.array_equal(previous, sigma):
            break
    if (beyond := _distance_beyond(problem, states, segments, is_valid)) is not None:
        distance, counted = beyond
        counted_weight = weight * counted
        total = np.maximum(count + counted_weight.sum(axis=(0, 2)), 1e-300)
        square = count * sigma**2
        for _ in range(30):
            expected = expected_square(distance / np.maximum(sigma, 1e-300)[:, None])
            at_limit = sigma**2 * (counted_weight * expected).sum(axis=(0, 2))
            sigma = np.sqrt((square + at_limit) / total)
    floor = limits.MIN_SIGMA_WEIGHTS if problem.constants.weighted else limits.MIN_SIGMA
    sigma = np.maximum(sigma / np.sqrt(free), floor * problem.sizes)
    return np.where(problem.measured, sigma, np.inf)


def _distance_beyond(
    problem: Problem,
    states: Float[np.ndarray, "T n B"],
    segments: RunSegments,
    is_valid: Bool[np.ndarray, " B"],
) -> tuple[Float[np.ndarray, "T n b"], Bool[np.ndarray, "T n b"]] | None:
    """Return how far states are beyond the limits of their sensors, and a mask of the values at
    limits.

    Return None if no value is at a limit.
    """
    clipped = problem.clipped(segments)
    if clipped is None:
        return None
    distance = clipped * (states - problem.measured_states(segments))
    return distance[:, :, is_valid], (clipped != 0)[:, :, is_valid]


def mean_squared_misfit(
    problem: Problem, segments: RunSegments, normal: Normal
) -> Float[np.ndarray, " n"]:
    """Return the mean square of each state's residuals. It is zero for unmeasured states.

    A diverged segment counts with the variance of the state.
    """
    weight, is_valid = segments.weight, normal.is_valid
    share = float(weight[:, is_valid].sum() / weight.sum())
    square = residual_std(problem, normal.states, segments, is_valid) ** 2
    diverged = (1 - share) * problem.sizes**2
    measured = problem.measured
    return np.where(measured, share * np.where(measured, square, 0.0) + diverged, 0.0)


def correlation_time(
    residuals: Float[np.ndarray, "T n B"], counted: Bool[np.ndarray, "T B"]
) -> Float[np.ndarray, " n"]:
    """Return the number of rows per independent value of each state's residuals.

    This is 1 + 2 sum_k rho_k over positive correlations.
    """
    r = np.where(counted[:, None], residuals, 0.0)
    size = np.sqrt((r**2).sum(axis=(0, 2)) / max(counted.sum(), 1))
    r = r / np.maximum(size, 1e-300)[:, None]
    r = np.clip(r, -limits.MAX_RESIDUAL, limits.MAX_RESIDUAL)
    total = np.maximum((r**2).sum(axis=(0, 2)) / max(counted.sum(), 1), 1e-300)
    time, positive = np.ones(r.shape[1]), np.ones(r.shape[1], dtype=bool)
    for k in range(1, max(len(r) // limits.LAG_SHARE, 2)):
        pairs = (counted[k:] & counted[:-k]).sum()
        if not pairs:
            break
        rho = (r[k:] * r[:-k]).sum(axis=(0, 2)) / pairs / total
        positive &= rho > 2 / np.sqrt(pairs)  # smaller correlations may be due to chance
        if not positive.any():
            break
        time += np.where(positive, 2 * rho, 0.0)
    return time


def _residual_time(problem: Problem, stage: Stage) -> Float[np.ndarray, " n"]:
    """Return the correlation time of a stage's residuals. It is 1 for unmeasured states."""
    residuals, counted = _residuals(problem, stage.segments, stage.normal)
    return np.where(problem.measured, correlation_time(residuals, counted), 1.0)


def long_run_time(problem: Problem, stage: Stage) -> Float[np.ndarray, " n"]:
    """Return the factor by which correlation of a stage's residuals increases the variance of their
    mean.

    It is 1 for unmeasured states.

    Estimated constants and starts absorb slow residuals, so a plain sum of correlations is too
    small. First-order correlation is therefore removed before the sum and restored after it.
    [prewhitening; Andrews and Monahan 1992]
    """
    residuals, counted = _residuals(problem, stage.segments, stage.normal)
    pairs = (counted[1:] & counted[:-1])[:, None]
    current, following = np.where(pairs, residuals[:-1], 0.0), np.where(pairs, residuals[1:], 0.0)
    squares = np.sqrt((current**2).sum(axis=(0, 2)) * (following**2).sum(axis=(0, 2)))
    rho = (current * following).sum(axis=(0, 2)) / np.maximum(squares, 1e-300)
    chance = 2 / np.sqrt(max(float(pairs.sum()), 1.0))
    rho = np.where(rho > chance, np.minimum(rho, limits.MAX_PREWHITENED), 0.0)
    time = correlation_time(following - rho[:, None] * current, pairs[:, 0])
    return np.where(problem.measured, time * (1 + rho) / (1 - rho), 1.0)


def are_correlated(problem: Problem, stage: Stage, normal: Normal) -> bool:
    """Return whether residuals of neighbouring rows are correlated in any state."""
    residuals, _ = _residuals(problem, stage.segments, normal)
    counted = (stage.segments.weight > 0)[:, None]
    r = residuals[:, problem.measured] / stage.sigma[problem.measured][:, None]
    r = np.clip(r, -limits.MAX_RESIDUAL, limits.MAX_RESIDUAL) * counted * normal.is_valid
    squares = np.maximum((r**2).sum(axis=(0, 2)), 1e-300)
    rho = (r[1:] * r[:-1]).sum(axis=(0, 2)) / squares
    chance = 3 / np.sqrt(max(counted.sum(), 1))
    return bool((rho > limits.CORRELATED_RESIDUALS + chance).any())


def estimate_correlated_noise(problem: Problem, stages: Sequence[Stage]) -> CorrelatedNoise | None:
    """Return the noise in the residuals of long segments, or None if it is not correlated.

    Correlated noise is small and correlated between rows. Unlike model errors, which accumulate, it
    is no larger in longer segments.
    """
    if len(stages) < 2 or stages[-2].length < limits.NOISE_MIN_STEPS:
        return None
    shorter, longer, m = stages[-2], stages[-1], problem.measured
    if not (longer.normal.is_valid.all() and shorter.normal.is_valid.all()):
        return None
    sigma, all_times = longer.sigma[m], _residual_time(problem, longer)
    time = all_times[m]
    growth = limits.NOISE_GROWTH + limits.NOISE_GROWTH_SLOW * np.minimum(time / shorter.length, 1.0)
    is_constant = (sigma <= growth * shorter.sigma[m]).all()
    is_small = (sigma**2 <= limits.MAX_NOISE_SHARE * problem.sizes[m] ** 2).all()
    is_correlated = (time > 1 + 2 * limits.MIN_NOISE_CORRELATION).any()
    if not (is_constant and is_small and is_correlated):
        return None
    return CorrelatedNoise(np.where(m, longer.sigma, 0.0) ** 2, all_times)


def _residuals(
    problem: Problem, segments: RunSegments, normal: Normal
) -> tuple[Float[np.ndarray, "T n B"], Bool[np.ndarray, "T B"]]:
    """Return residuals in units of the relative noise, and a mask of those that count."""
    residuals = problem.measured_states(segments) - normal.states
    return residuals / problem.relative_std(segments), (segments.weight > 0) & normal.is_valid
