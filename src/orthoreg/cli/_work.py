"""What several commands do: measure a model on runs, draw its pictures, make its folder."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import r2_score

from .._bootstrap import bootstrap
from .._files import atomic_write
from .._model import AbstractModel
from ..data import Dataset, read_table
from ..diagnostics import relative_error
from ..plotting import plot_forecast, plot_phase, plot_residual, plot_selection, rendered
from ..simulation import Rollout, Status


def runs_for(
    model: AbstractModel, file: Path, time: str | None, group: str | None, delimiter: str
) -> Dataset:
    """The runs of a table, in the columns that a model knows unless others are named."""
    return read_table(
        file,
        time or model.columns_["time"],
        model.state_names_,
        model.input_names_,
        group or model.columns_["group"],
        delimiter=delimiter,
    )


def measure(model: AbstractModel, data: Dataset) -> dict[str, Any]:
    """Errors of derivatives and of forecasts from each run's first row."""
    states = [run.states for run in data]
    return derivative_scores(model, data) | forecast_scores(model.forecast(data), states)


def derivative_scores(model: AbstractModel, data: Dataset, slopes: Any = None) -> dict[str, Any]:
    """Errors against the given derivatives, or else against those estimated from the data."""
    if slopes is None:
        slopes = model.target_derivatives(data)
    predicted = model.predict(data)
    return {
        "derivative_error": relative_error(predicted, slopes),
        "r2": float(r2_score(slopes, predicted)),
        "derivative_error_by_equation": {
            name: relative_error(predicted[:, [c]], slopes[:, [c]])
            for c, name in enumerate(model.output_names_)
        },
    }


def forecast_scores(
    forecasts: Sequence[Rollout], true_states: Sequence[np.ndarray]
) -> dict[str, Any]:
    """The error over the last rows of completed forecasts, and the number of the others.

    Diverged forecasts are counted, not averaged in.
    """
    done = [i for i, forecast in enumerate(forecasts) if forecast.status is Status.completed]
    error = None
    if done:
        error = relative_error(
            np.concatenate([forecasts[i].x[-len(true_states[i]) :] for i in done]),
            np.concatenate([true_states[i] for i in done]),
        )
    return {
        "forecast_error": error,
        "forecasts": len(forecasts),
        "forecasts_failed": len(forecasts) - len(done),
        "first_failure": next(
            (f.message for f in forecasts if f.status is not Status.completed), None
        ),
    }


def draw(
    model: AbstractModel,
    data: Dataset,
    forecast_runs: Dataset,
    forecasts: Sequence[Rollout],
    what: str,
) -> dict[str, bytes]:
    """Forecasts, phase portrait and map of the residual over the data, and the path of the
    selection where there was one, as PNG by name."""
    figures = {
        "forecast.png": plot_forecast(
            forecast_runs, [forecast.x for forecast in forecasts], title=f"Forecasts of {what}"
        ),
        "phase.png": plot_phase(model, data),
        "residual.png": plot_residual(model, data),
    }
    if model.selection_ is not None:
        figures["selection.png"] = plot_selection(model)
    return {name: rendered(figure) for name, figure in figures.items()}


def write_results(
    folder: Path, name: str, model: AbstractModel, plots: dict[str, bytes]
) -> list[Path]:
    """Makes the folder if need be and writes the model, first, and its pictures into it."""
    folder.mkdir(parents=True, exist_ok=True)
    model.save(folder / name)
    for plot, content in plots.items():
        with atomic_write(folder / plot) as stream:
            stream.write(content)
    return [folder / name, *(folder / plot for plot in plots)]


def coefficient_dict(model: AbstractModel) -> dict[str, dict[str, float]]:
    """The terms in use, by equation."""
    return {
        output: {
            name: float(value)
            for name, value in zip(model.feature_names_, row, strict=True)
            if value != 0
        }
        for output, row in zip(model.output_names_, model.coefficients_, strict=True)
    }


def term_entries(model: AbstractModel) -> dict[str, Any]:
    """'terms': coefficient, 95 % interval and inclusion probability, by equation and term;
    'lookalikes': a sentence for each pair that the data cannot tell apart.

    Terms that are not in use and that no resample chose are left out. Empty for a model without
    a selection.
    """
    if model.selection_ is None:
        return {}
    sure = bootstrap(model)
    terms: dict[str, dict[str, dict[str, float]]] = {}
    for c, output in enumerate(model.output_names_):
        shown = np.flatnonzero(model.support_[c] | (sure.probability[c] > 0))
        terms[output] = {
            model.feature_names_[k]: {
                "coefficient": float(model.coefficients_[c, k]),
                "low": float(sure.interval[c, k, 0]),
                "high": float(sure.interval[c, k, 1]),
                "probability": float(sure.probability[c, k]),
            }
            for k in shown
        }
    sentences = [
        f"{model.output_names_[pair.equation]}': {pair.advice}" for pair in sure.confounded
    ]
    return {"terms": terms, "lookalikes": sentences}
