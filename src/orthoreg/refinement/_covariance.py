"""How well the constants are known: Gauss-Newton, or how scores vary between runs."""

from typing import NamedTuple, final

import numpy as np
from jaxtyping import Float

from . import _limits as limits
from ._colour import long_run_time
from ._levenberg import eliminated
from ._normal import Normal
from ._problem import Problem
from ._stages import Stage

_UNDETERMINED = 1e-13  # dimensionless: a share of the curvature that is rounding error


@final
class Spread(NamedTuple):
    """The covariance of all free numbers, and whether it is the sandwich of so many groups."""

    covariance: np.ndarray
    is_sandwich: bool
    groups: int


def spread(problem: Problem, stage: Stage, first: Stage) -> Spread:
    """The covariance in the last stage, the starts eliminated.

    H^-1 where residuals are noise. Where those of long segments exceed those of short ones, or
    neighbouring ones are alike, H^-1 (sum of s s') H^-1 with s the scores of runs or stretches,
    and nowhere less than H^-1 times the number of rows that tell as much as one.
    """
    per_segment = max(1, -(-limits.COVARIANCE_GROUPS // stage.segments.count))
    states = stage.solution.normal.states
    evaluate = problem.evaluator(stage.segments, stage.substeps, states, per_segment)
    normal = evaluate(stage.p, stage.solution.starts, stage.sigma)
    H, scores, _ = eliminated(normal, stage.precision)
    plain = covariance_of(H, normal, stage.precision)
    m = problem.measured
    misfit = bool((stage.sigma[m] > limits.SANDWICH_MISFIT * first.sigma[m]).any())
    if not (misfit or _are_correlated(problem, stage, normal)):
        return Spread(plain, False, 0)
    by_group = _grouped(problem, stage, scores)
    by_group = by_group - by_group.mean(axis=0)
    count = len(by_group)
    if count < 3:
        return Spread(plain, False, 0)
    middle = by_group.T @ by_group * count / (count - 1)
    robust = plain @ middle @ plain
    least = long_run_time(problem, stage).max() * np.diag(plain)
    wider = np.sqrt(np.maximum(least / np.maximum(np.diag(robust), 1e-300), 1.0))
    return Spread(robust * np.outer(wider, wider), True, count)


def _grouped(
    problem: Problem, stage: Stage, scores: Float[np.ndarray, "B g P"]
) -> Float[np.ndarray, "G P"]:
    """Scores by run where there are many, else by stretches that follow each other."""
    runs = problem.data.run_of_row[stage.segments.rows[0]]
    names, of_segment = np.unique(runs, return_inverse=True)
    if len(names) >= limits.ENOUGH_RUNS:
        found = np.zeros((len(names), scores.shape[2]))
        np.add.at(found, of_segment, scores.sum(axis=1))
        return found
    flat = scores.reshape(-1, scores.shape[2])
    groups = np.arange(len(flat)) * min(limits.COVARIANCE_GROUPS, len(flat)) // len(flat)
    found = np.zeros((int(groups[-1]) + 1, flat.shape[1]))
    np.add.at(found, groups, flat)
    return found


def _are_correlated(problem: Problem, stage: Stage, normal: Normal) -> bool:
    """Whether neighbouring residuals of some state are alike."""
    apart = (problem.states_of(stage.segments) - normal.states) / problem.relative(stage.segments)
    r = apart[:, problem.measured]
    sigma = stage.sigma[problem.measured][:, None]
    r = np.clip(r / sigma, -4, 4) * (stage.segments.weight > 0)[:, None] * normal.sound
    both = np.maximum((r**2).sum(axis=(0, 2)), 1e-300)
    together = (r[1:] * r[:-1]).sum(axis=(0, 2)) / both
    chance = 3 / np.sqrt(max((stage.segments.weight > 0).sum(), 1))
    return bool((together > limits.CORRELATED_RESIDUALS + chance).any())


def covariance_of(
    H: Float[np.ndarray, "P P"], normal: Normal, precision: Float[np.ndarray, " P"]
) -> Float[np.ndarray, "P P"]:
    """H^-1, whatever the units of the constants: each is measured by the curvature that it has
    with all other constants and the starts fixed. Directions that the data do not determine have
    a huge variance."""
    diagonal = np.diag(normal.pp) + precision
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    values, axes = np.linalg.eigh(H / np.outer(scale, scale))
    values = np.maximum(values, _UNDETERMINED * max(values.max(initial=0.0), 1.0))
    return (axes / values) @ axes.T / np.outer(scale, scale)
