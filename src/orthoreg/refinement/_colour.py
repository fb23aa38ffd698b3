"""Noise that is like that of the rows before: how long, and when a misfit is such noise."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float

from . import _limits as limits
from ._limits import LARGEST_PREWHITENED
from ._problem import Problem
from ._stages import Stage


def correlation_time(
    residuals: Float[np.ndarray, "T n B"], counted: Bool[np.ndarray, "T B"]
) -> Float[np.ndarray, " n"]:
    """1 + 2 sum_k rho_k for each state, as far as correlations are positive: the number of rows
    that tell as much as one whose noise is its own."""
    r = np.where(counted[:, None], residuals, 0.0)
    size = np.sqrt((r**2).sum(axis=(0, 2)) / max(counted.sum(), 1))
    r = np.clip(r / np.maximum(size, 1e-300)[:, None], -limits.COLOUR_FAR, limits.COLOUR_FAR)
    total = np.maximum((r**2).sum(axis=(0, 2)) / max(counted.sum(), 1), 1e-300)
    time, positive = np.ones(r.shape[1]), np.ones(r.shape[1], dtype=bool)
    for k in range(1, max(len(r) // limits.COLOUR_SHARE, 2)):
        pairs = (counted[k:] & counted[:-k]).sum()
        if not pairs:
            break
        rho = (r[k:] * r[:-k]).sum(axis=(0, 2)) / pairs / total
        positive &= rho > 2 / np.sqrt(pairs)  # what is less may be chance
        if not positive.any():
            break
        time += np.where(positive, 2 * rho, 0.0)
    return time


def long_run_time(problem: Problem, stage: Stage) -> Float[np.ndarray, " n"]:
    """By how much correlation of a stage's residuals raises the variance of a mean of them; one
    for states that were not measured.

    Estimated constants and starts absorb what is slow in the residuals, so that a sum of their
    correlations is too small. First-order correlation is therefore removed before the sum and put
    back after it. [prewhitening; Andrews and Monahan 1992]
    """
    normal, segments = stage.solution.normal, stage.segments
    apart = (problem.states_of(segments) - normal.states) / problem.relative(segments)
    counted = (segments.weight > 0) & normal.sound
    both = (counted[1:] & counted[:-1])[:, None]
    here, next_ = np.where(both, apart[:-1], 0.0), np.where(both, apart[1:], 0.0)
    squares = np.sqrt((here**2).sum(axis=(0, 2)) * (next_**2).sum(axis=(0, 2)))
    rho = (here * next_).sum(axis=(0, 2)) / np.maximum(squares, 1e-300)
    chance = 2 / np.sqrt(max(float(both.sum()), 1.0))
    rho = np.where(rho > chance, np.minimum(rho, LARGEST_PREWHITENED), 0.0)
    time = correlation_time(next_ - rho[:, None] * here, both[:, 0])
    return np.where(problem.measured, time * (1 + rho) / (1 - rho), 1.0)


def residual_time(problem: Problem, stage: Stage) -> Float[np.ndarray, " n"]:
    """The correlation time of what a stage leaves; one for states that were not measured."""
    normal, segments = stage.solution.normal, stage.segments
    apart = (problem.states_of(segments) - normal.states) / problem.relative(segments)
    time = correlation_time(apart, (segments.weight > 0) & normal.sound)
    return np.where(problem.measured, time, 1.0)


def is_noise(problem: Problem, stages: Sequence[Stage]) -> bool:
    """Whether what long segments leave is noise, though more than smoothing takes away: small,
    alike from row to row, and no more in longer segments, in which what an equation lacks adds
    up."""
    if len(stages) < 2 or stages[-2].length < limits.COLOUR_LONG:
        return False
    before, after, m = stages[-2], stages[-1], problem.measured
    if not (after.solution.normal.sound.all() and before.solution.normal.sound.all()):
        return False
    sigma = after.sigma[m]
    time = residual_time(problem, after)[m]
    growth = limits.COLOUR_PLATEAU + limits.COLOUR_SLOW * np.minimum(time / before.length, 1.0)
    plateau = (sigma <= growth * before.sigma[m]).all()
    small = (sigma**2 <= limits.COLOUR_SMALL * problem.sizes[m] ** 2).all()
    return bool(plateau and small and (time > 1 + 2 * limits.COLOUR_ALIKE).any())
