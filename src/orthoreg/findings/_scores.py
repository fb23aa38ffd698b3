"""Errors of derivatives and of forecasts, as plain numbers.

Metrics are imported where they are used: printing a summary needs none of them.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from ..data import Dataset
from . import _limits as limits


def forecast_sample(data: Dataset) -> Dataset:
    """The runs that are forecast where all would take long: at most 256, evenly chosen."""
    if data.n_runs <= limits.MAX_FORECASTS:
        return data
    return data[np.unique(np.linspace(0, data.n_runs - 1, limits.MAX_FORECASTS).astype(int))]


def derivative_scores(
    predicted: Float[np.ndarray, "N c"], slopes: Float[np.ndarray, "N c"], names: Sequence[str]
) -> dict[str, Any]:
    """The relative error of all derivatives and of each, and R^2, the mean over equations."""
    from ..diagnostics import relative_error

    return {
        "derivative_error": relative_error(predicted, slopes),
        "r2": r_squared(predicted, slopes),
        "derivative_error_by_equation": {
            name: relative_error(predicted[:, [c]], slopes[:, [c]]) for c, name in enumerate(names)
        },
    }


def r_squared(predicted: Float[np.ndarray, "N c"], true: Float[np.ndarray, "N c"]) -> float:
    """1 - |error|^2 / |true - mean|^2, the mean over columns; one that never varies counts as 1
    where it is met, and as 0 where it is not."""
    error = np.sum((predicted - true) ** 2, axis=0)
    variation = np.sum((true - true.mean(axis=0)) ** 2, axis=0)
    varies = variation > 0
    share = np.where(varies, error / np.where(varies, variation, 1.0), np.sign(error))
    return float(np.mean(1 - share))


def forecast_scores(
    forecasts: Sequence[Any],
    true_states: Sequence[np.ndarray],
    measured: Bool[np.ndarray, " n"] | None = None,
) -> dict[str, Any]:
    """The error over the last rows of completed forecasts, relative to how far the states vary
    about their mean, and the number of the others.

    Diverged forecasts are counted, not averaged in. Only states that were `measured` count.
    """
    from ..diagnostics import relative_error
    from ..simulation import Status

    done = [i for i, forecast in enumerate(forecasts) if forecast.status is Status.completed]
    error = None
    if done:
        columns = slice(None) if measured is None else measured
        found = np.concatenate([forecasts[i].x[-len(true_states[i]) :, columns] for i in done])
        true = np.concatenate([true_states[i][:, columns] for i in done])
        mean = true.mean(axis=0) * np.any(true != true[0])  # of what never varies, its size counts
        error = relative_error(found - mean, true - mean)
    return {
        "forecast_error": error,
        "forecasts": len(forecasts),
        "forecasts_failed": len(forecasts) - len(done),
        "first_failure": next(
            (f.message for f in forecasts if f.status is not Status.completed), None
        ),
    }
