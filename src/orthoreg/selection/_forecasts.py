"""Sets of terms whose forecasts fail give way to others that do as well beyond the data."""

from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from ..data import Samples
from ..moments import Moments
from ._selected import EquationPath, Selected

_STRETCHES, _STEPS = 200, 300
_CLEAR = 2.0  # standard errors
_FEW = 0.1  # of the forecasts that the chosen set loses
_LOST = 1.0  # variances of the states: the mean of the data would be a better forecast
_FAR = 10.0  # ranges of the data from their middle: as far as a forecast is followed


def by_forecasts(selected: Selected, moments: Moments, features: Any, samples: Samples) -> Selected:
    """The selection, with other sets where the forecasts of those that were chosen fail.

    A larger set takes the place of the chosen one if it loses almost none of the forecasts that
    the chosen one loses and its outer error is no larger: that difference had been in doubt. Where
    both lose some, runs are hard to forecast, as near a ridge between two wells, and nothing
    follows. How exact forecasts are does not count, for in the data more terms are always more
    exact. Equations are revised one after the other, each together with what is chosen for the
    others. Where the targets are no derivatives of states in time, there is nothing to forecast.
    """
    if samples.times is None or samples.outputs != samples.names[: len(samples.outputs)]:
        return selected
    paths = list(selected.paths)
    for c, path in enumerate(paths):
        larger = path.n_terms > path.n_terms[path.chosen]
        rivals = [path.chosen, *np.flatnonzero(larger & (path.outer <= path.outer[path.chosen]))]
        if len(rivals) > 1:
            fits = [_coefficients(moments, _with(paths, c, int(place))) for place in rivals]
            lost = forecast_errors(features, samples, np.stack(fits)) > _LOST
            paths[c] = replace(path, chosen=int(rivals[_least_lost(lost)]))
    return Selected.of(paths)


def _least_lost(lost: Bool[np.ndarray, "M R"]) -> int:
    """The first set, or else the one that loses least of those that lose almost none."""
    share = lost.mean(axis=1)
    gain = lost[0] - lost.astype(float)
    doubt = gain.std(axis=1) / np.sqrt(gain.shape[1])
    clear = (gain.mean(axis=1) > _CLEAR * doubt) & (share <= _FEW * share[0])
    return int(np.argmax(np.where(clear, gain.mean(axis=1), 0.0)))


def _with(paths: list[EquationPath], equation: int, place: int) -> Bool[np.ndarray, "c K"]:
    """The chosen supports, with that of one equation taken from another place of its path."""
    support = np.stack([path.support for path in paths])
    support[equation] = paths[equation].supports[place]
    return support


def _coefficients(moments: Moments, support: Bool[np.ndarray, "c K"]) -> Float[np.ndarray, "c K"]:
    """Least squares on all rows."""
    result = np.zeros(support.shape)
    for c, used in enumerate(support):
        gram, cross = moments.A[np.ix_(used, used)], moments.a[used, c]
        result[c, used] = np.linalg.lstsq(gram, cross, rcond=None)[0]
    return result


def forecast_errors(
    features: Any, samples: Samples, coefficients: Float[np.ndarray, "M c K"]
) -> Float[np.ndarray, "M R"]:
    """The mean squared error of forecasts of R stretches of runs by M sets of equations.

    Errors are in variances of the states. Forecasts start from measured states and step through
    the measured times by Runge-Kutta; one that leaves the data by far stays where it left.
    """
    assert samples.times is not None
    rows = _stretches(samples.run_of_row)
    times, size = samples.times[rows], coefficients.shape[1]
    truth, inputs = np.split(samples.variables[rows], [size], axis=2)
    low, high = samples.variables[:, :size].min(axis=0), samples.variables[:, :size].max(axis=0)
    middle, reach = (low + high) / 2, _FAR * (high - low)
    variance = samples.variables[:, :size].var(axis=0)
    variance = np.where(variance > 0, variance, 1.0)
    count, n_sets = len(rows), len(coefficients)
    weights = np.swapaxes(coefficients, 1, 2)

    def slope(states, driven):
        given = np.broadcast_to(driven, (n_sets, *driven.shape))
        variables = np.concatenate([states, given], axis=2)
        terms = features(variables.reshape(n_sets * count, -1)).reshape(n_sets, count, -1)
        return np.nan_to_num(terms @ weights, nan=np.inf)

    def bounded(states):
        return np.clip(np.nan_to_num(states, nan=np.inf), middle - reach, middle + reach)

    states = np.repeat(truth[None, :, 0], n_sets, axis=0)
    errors = np.zeros((n_sets, count))
    with np.errstate(all="ignore"):
        for k, h in enumerate(np.diff(times).T[..., None]):
            now, then = inputs[:, k], inputs[:, k + 1]
            first = slope(states, now)
            second = slope(bounded(states + h / 2 * first), (now + then) / 2)
            third = slope(bounded(states + h / 2 * second), (now + then) / 2)
            fourth = slope(bounded(states + h * third), then)
            step = h / 6 * (first + 2 * second + 2 * third + fourth)
            states = bounded(states + np.where(h > 0, step, 0.0))
            errors += (h[:, 0] > 0) * ((states - truth[:, k + 1]) ** 2 / variance).mean(axis=2)
    return errors / np.maximum((np.diff(times) > 0).sum(axis=1), 1)


def _stretches(run_of_row: Int[np.ndarray, " N"]) -> Int[np.ndarray, "R L"]:
    """Rows that follow each other, in stretches from the first half of runs; a stretch that
    meets the end of its run repeats its last row."""
    starts = np.flatnonzero(np.diff(run_of_row, prepend=-1))
    ends = np.append(starts[1:], len(run_of_row)) - 1
    if len(starts) >= _STRETCHES:
        chosen = np.arange(_STRETCHES) * len(starts) // _STRETCHES
        first, last = starts[chosen], ends[chosen]
    else:
        each = np.arange(-(-_STRETCHES // len(starts))) / (2 * -(-_STRETCHES // len(starts)))
        first = (starts[:, None] + (ends - starts)[:, None] * each).astype(int).ravel()
        last = np.repeat(ends, len(each))
    steps = min(_STEPS, int((last - first).max(initial=0)))
    return np.minimum(first[:, None] + np.arange(steps + 1), last[:, None])
