"""How far a field's trajectories stay from runs, each segment from its own best start."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from .._field import HybridField
from ..data import Dataset
from ..smoothing import smooth
from ._constants import Constants
from ._levenberg import fit_starts
from ._problem import Problem
from ._segments import cut

_MOST_ROWS = 5000
_MOST_EVALUATIONS = 12
_ACCURACY = 0.1  # of the noise


def segment_misfit(
    field: HybridField,
    data: Dataset,
    interpolation: Mapping[str, str],
    steps: int,
    noise: Float[np.ndarray, " n"],
) -> Float[np.ndarray, " n"]:
    """The mean squared distance of each state from segments of about so many steps, whose starts
    follow them best given the noise of each state; zero for states that were not measured. None
    counts as further away than the variance of the state."""
    spread = data.states.std(axis=0)
    sizes = np.where(spread > 0, spread, 1.0)
    measured = data.is_measured
    problem = Problem(field, Constants.none(), data, dict(interpolation), sizes, measured)
    segments = cut(data, steps, _MOST_ROWS)
    states = np.array(data.states)
    states[:, measured] = smooth(data.times, states[:, measured], data.offsets).values
    guess = np.moveaxis(states[segments.rows], 2, 1)
    sigma = np.where(measured, noise, np.inf)
    none = np.zeros(0)
    with np.errstate(all="ignore"):
        substeps = problem.substeps(none, guess[0], guess, segments, _ACCURACY * noise)
        evaluate = problem.evaluator(segments, substeps, guess)
        starts = fit_starts(evaluate, none, guess[0].copy(), sigma, most=_MOST_EVALUATIONS)
        found, sound = problem.simulate(none, starts, segments, substeps)
        apart = (found - problem.states_of(segments)) ** 2
    worst = (sizes**2)[:, None]
    apart = np.where(sound & np.isfinite(apart), np.minimum(apart, worst), worst)
    weight = segments.weight[:, None]
    return np.where(measured, (apart * weight).sum(axis=(0, 2)) / weight.sum(), 0.0)
