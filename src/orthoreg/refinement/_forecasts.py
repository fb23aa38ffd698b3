"""How far a field's forecasts are from runs."""

from collections.abc import Mapping

import numpy as np

from .._field import HybridField
from ..data import Dataset
from ..smoothing import smooth
from ._constants import Constants
from ._problem import Problem
from ._segments import from_rows

_FORECASTS = 24
_MOST_STEPS = 1000
_ACCURACY = 1e-3  # of a state's standard deviation, that the integration may err


def forecast_error(field: HybridField, data: Dataset, interpolation: Mapping[str, str]) -> float:
    """The root mean squared error of forecasts from rows spread over the runs to their ends, in
    standard deviations of the states that were measured.

    They begin at smoothed states. No state of a forecast counts as worse than its mean would be.
    """
    spread = data.states.std(axis=0)
    sizes = np.where(spread > 0, spread, 1.0)
    measured = np.array([name not in data.estimated for name in data.state_names])
    constants = Constants.of(field, residual=False)
    problem = Problem(field, constants, data, dict(interpolation), sizes, measured, gated=True)
    place = np.arange(data.n_samples) - data.offsets[data.run_of_row]
    possible = np.flatnonzero(place <= 0.5 * (data.run_lengths[data.run_of_row] - 2))
    if not len(possible):
        return np.nan
    few = np.linspace(0, len(possible) - 1, min(_FORECASTS, len(possible))).round().astype(int)
    begins = np.unique(possible[few])
    segments = from_rows(data, begins, _MOST_STEPS)
    states = smooth(data.times, data.states, data.offsets).values
    guess = np.moveaxis(states[segments.rows], 2, 1)
    p, starts = constants.read(field), states[begins].T
    with np.errstate(all="ignore"):
        substeps = problem.substeps(p, starts, guess, segments, _ACCURACY * sizes)
        found, sound = problem.simulate(p, starts, segments, substeps)
    weight = segments.weight[1:, None]
    apart = (found - problem.states_of(segments))[1:] / sizes[:, None]
    squares = (apart**2 * weight).sum(axis=0) / np.maximum(weight.sum(axis=0), 1)
    squares = np.where(sound & np.isfinite(squares), np.minimum(squares, 1.0), 1.0)[measured]
    return float(np.sqrt(squares.mean()))
