"""Compute the errors of derivatives and forecasts as plain numbers.

Metrics are imported where they are used, because printing findings does not need them.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float

from ..data import Dataset, spaced
from . import _limits as limits

if TYPE_CHECKING:
    from ..simulation import Rollout


def forecast_sample(data: Dataset) -> Dataset:
    """Return the runs to forecast: all of them, or 256 evenly spaced runs if there are more."""
    if data.n_runs <= limits.MAX_FORECASTS:
        return data
    return data.sorted_runs[spaced(data.n_runs, limits.MAX_FORECASTS)]


def true_states(data: Dataset, forecasts: Sequence["Rollout"]) -> list[Float[np.ndarray, "T n"]]:
    """Return the states of each run to compare with its forecast.

    Where a sensor is at its limit, a forecast beyond the limit counts as correct.
    """
    states, clipped = np.array(data.states), data.plan.clipped
    bounds = zip(data.offsets[:-1], data.offsets[1:], strict=True)
    parts = [slice(int(first), int(last)) for first, last in bounds]
    if clipped.any():
        for part, forecast in zip(parts, forecasts, strict=True):
            x, sign = states[part], clipped[part]
            if len(forecast.x) >= len(x):
                predicted = forecast.x[-len(x) :]
                x[:] = np.where(sign * (predicted - x) > 0, predicted, x)
    return [states[part] for part in parts]


def derivative_scores(
    predicted: Float[np.ndarray, "N c"], slopes: Float[np.ndarray, "N c"], names: Sequence[str]
) -> dict[str, Any]:
    """Return the relative error of all derivatives and of each, and the mean R^2 of the
    equations.
    """
    from ..diagnostics import relative_error

    return {
        "derivative_error": relative_error(predicted, slopes),
        "r2": r_squared(predicted, slopes),
        "derivative_error_by_equation": {
            name: relative_error(predicted[:, [c]], slopes[:, [c]]) for c, name in enumerate(names)
        },
    }


def r_squared(predicted: Float[np.ndarray, "N c"], true: Float[np.ndarray, "N c"]) -> float:
    """Return 1 - |error|^2 / |true - mean|^2, averaged over columns.

    A constant column counts as 1 if its prediction is exact and as 0 otherwise.
    """
    error = np.sum((predicted - true) ** 2, axis=0)
    variation = np.sum((true - true.mean(axis=0)) ** 2, axis=0)
    varies = variation > 0
    share = np.where(varies, error / np.where(varies, variation, 1.0), np.sign(error))
    return float(np.mean(1 - share))


def forecast_scores(
    forecasts: Sequence["Rollout"],
    true_states: Sequence[np.ndarray],
    measured: Bool[np.ndarray, " n"] | None = None,
) -> dict[str, Any]:
    """Return the error of completed forecasts, relative to the variation of the states, and the
    number of failed forecasts.

    Diverged forecasts are counted but not averaged. Errors include only states that were
    `measured`.
    """
    from ..diagnostics import relative_error
    from ..simulation import Status

    done = [i for i, forecast in enumerate(forecasts) if forecast.status is Status.completed]
    error = None
    if done:
        columns = slice(None) if measured is None else measured
        predicted = np.concatenate([forecasts[i].x[-len(true_states[i]) :, columns] for i in done])
        true = np.concatenate([true_states[i][:, columns] for i in done])
        mean = true.mean(axis=0) * np.any(true != true[0])  # zero for constant columns
        error = relative_error(predicted - mean, true - mean)
    return {
        "forecast_error": error,
        "forecasts": len(forecasts),
        "forecasts_failed": len(forecasts) - len(done),
        "first_failure": next(
            (f.message for f in forecasts if f.status is not Status.completed), None
        ),
    }
