"""How far a field's forecasts are from runs."""

from collections.abc import Mapping

import numpy as np

from ..data import Dataset
from ..field.hybrid import HybridField
from ._constants import Constants
from ._problem import Problem
from ._segments import from_rows

_FORECASTS = 10
_MOST_STEPS = 200
_MOST_SUBSTEPS = 8
_ACCURACY = 0.02  # of a forecast error, that the integration may change it


def forecast_error(field: HybridField, data: Dataset, interpolation: Mapping[str, str]) -> float:
    """The root mean squared error of forecasts from rows spread over the runs to their ends, in
    standard deviations of the states that were measured.

    They begin at smoothed states. No state of a forecast counts as worse than its mean would be.
    """
    spread = data.states.std(axis=0)
    sizes = np.where(spread > 0, spread, 1.0)
    measured = data.is_measured
    constants = Constants.of(field, residual=False)
    problem = Problem(field, constants, data, dict(interpolation), sizes, measured, gated=True)
    place = np.arange(data.n_samples) - data.offsets[data.run_of_row]
    possible = np.flatnonzero(place <= 0.5 * (data.run_lengths[data.run_of_row] - 2))
    if not len(possible):
        return np.nan
    few = np.linspace(0, len(possible) - 1, min(_FORECASTS, len(possible))).round().astype(int)
    begins = np.unique(possible[few])
    segments = from_rows(data, begins, _MOST_STEPS)
    p, starts = constants.read(field), data.plan.smoothed[begins].T
    weight = segments.weight[1:, None]

    def error(substeps: int) -> float:
        with np.errstate(all="ignore"):
            found, sound = problem.simulate(p, starts, segments, substeps)
            apart = (found - problem.states_of(segments))[1:] / sizes[:, None]
            squares = (apart**2 * weight).sum(axis=0) / np.maximum(weight.sum(axis=0), 1)
        squares = np.where(sound & np.isfinite(squares), np.minimum(squares, 1.0), 1.0)
        return float(np.sqrt(squares[measured].mean()))

    substeps, coarse, fine = 2, error(1), error(2)
    while abs(fine - coarse) > _ACCURACY * fine and substeps < _MOST_SUBSTEPS:
        substeps *= 2
        coarse, fine = fine, error(substeps)
    return fine
