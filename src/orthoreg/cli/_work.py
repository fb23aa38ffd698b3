"""Functions that commands share: scores, plots, the output folder, JSON entries."""

import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .. import findings as summary
from .._common.errors import DataWarning
from .._common.files import atomic_write
from ..data import PURE_NUMBER, ChunkedDataset, Dataset, read_table
from ..data.tables import COUNTED
from ..findings import Summary
from ..model.model import AbstractModel
from ..model.validation import in_states_of
from ..simulation import Rollout
from ._reading import in_unit_of, source_of, units_to_read

REPORT = "report.html"
PLOTS = ("forecast.png", "phase.png", "residual.png", "selection.png")


def runs_for(
    model: AbstractModel,
    files: Sequence[Path],
    time: str | None,
    group: str | None,
    reading: dict[str, Any],
    *,
    is_single: bool = False,
) -> Dataset:
    """Return the runs of tables, by default from the columns of the fit.

    If `is_single`, the table is one run, and no column identifies runs.
    """
    positions = model.schema_.positions
    fitted = model.columns_["time"]
    is_counted = model.schema_.discrete and fitted == COUNTED
    runs = read_table(
        source_of(files),
        time or (None if is_counted else fitted),
        [
            name
            for name in model.state_names_
            if name not in {*positions, *model.velocity_of_.values(), *model.schema_.hidden}
        ],
        list(model.schema_.measured_inputs),
        None if is_single else group or model.columns_["group"],
        positions=positions,
        order=max(model.schema_.order, 2),
        discrete=model.schema_.discrete,
        hidden=model.schema_.hidden,
        units=units_to_read(
            model,
            [
                *model.schema_.measured_states,
                *model.schema_.measured_inputs,
                *model.schema_.covariate_names,
            ],
        ),
        covariates=model.schema_.covariate_names,
        **in_unit_of(model, reading),
    )
    runs = in_memory(runs)
    # hidden states have added derivatives to the model
    if dict(runs.velocity_of) != model.velocity_of_:
        runs = runs.without_estimates().with_rates(model.velocity_of_)
    _warn_of_units(model, runs)
    return runs


def _warn_of_units(model: AbstractModel, runs: Dataset) -> None:
    """Warn about columns whose units are known and differ from those of the fit."""
    # the time column may have another name
    time = {model.columns_["time"]: runs.units.get(runs.time_name)}
    for name, unit in (dict(runs.units) | time).items():
        if unit and model.units_.get(name, unit) != unit:
            warnings.warn(
                f"{runs.source} has {name} in {unit}, but the model was fitted to {name} in "
                f"{model.units_[name]}. Convert the column.",
                DataWarning,
                stacklevel=3,
            )


def in_memory(runs: Dataset | ChunkedDataset) -> Dataset:
    """Return the runs, or the sample of chunked data."""
    return runs.sample if isinstance(runs, ChunkedDataset) else runs


def measure(model: AbstractModel, data: Dataset) -> dict[str, Any]:
    """Return the errors of derivatives and of forecasts from the first row of each run."""
    data = in_states_of(model, data)  # delayed variables: only rows with a history
    forecasts = model.forecast(data)
    return derivative_scores(model, data) | summary.forecast_scores(
        forecasts, summary.true_states(data, forecasts), data.is_measured
    )


def derivative_scores(model: AbstractModel, data: Dataset, slopes: Any = None) -> dict[str, Any]:
    """Return the errors of derivatives relative to `slopes`, by default estimated from the data."""
    if slopes is None:
        slopes = model.target_derivatives(data)
    learned = model.learned_equations()
    names = [model.output_names_[c] for c in learned]
    return summary.derivative_scores(model.predict(data)[:, learned], slopes[:, learned], names)


def draw(
    model: AbstractModel,
    data: Dataset,
    forecast_runs: Dataset,
    forecasts: Sequence[Rollout],
    what: str,
    words: str | None = None,
) -> dict[str, bytes]:
    """Return PNG images by name: forecasts, phase portrait, and residual and selection path if the
    model has them. `words` is the verdict.
    """
    from ..plotting import (
        plot_forecast,
        plot_phase,
        plot_residual,
        plot_selection,
        rendered,
    )

    figures = {
        "forecast.png": plot_forecast(
            forecast_runs, forecasts, title=f"Forecasts of {what}",
            interpolation=model.input_interpolation_,
        ),
        "phase.png": plot_phase(model, data),
    }  # fmt: skip
    if model.field_.has_residual:
        figures["residual.png"] = plot_residual(model, data, words=words)
    if model.selection_ is not None:
        figures["selection.png"] = plot_selection(model)
    return {name: rendered(figure) for name, figure in figures.items()}


def write_results(
    folder: Path,
    name: str,
    model: AbstractModel,
    plots: dict[str, bytes],
    found: Summary,
    page: str,
) -> list[Path]:
    """Write the model, report, plots, equations and summary to a folder.

    Return the files, model and report first.
    """
    folder.mkdir(parents=True, exist_ok=True)
    model.save(folder / name)
    texts = {
        "equations.txt": "\n".join(found.equations),
        "summary.txt": str(found),
        "summary.json": found.to_json(indent=1),
    }
    contents = {REPORT: page.encode()} | plots
    contents |= {file: f"{text}\n".encode() for file, text in texts.items()}
    for file in PLOTS:
        if file not in plots:  # remove plots of an earlier fit
            (folder / file).unlink(missing_ok=True)
    for file, content in contents.items():
        with atomic_write(folder / file) as stream:
            stream.write(content)
    return [folder / name, *(folder / file for file in contents)]


def coefficient_dict(model: AbstractModel) -> dict[str, dict[str, float]]:
    """Return the coefficients in use by equation and term."""
    units, values = model.coefficient_units_, model.coefficients_
    values = values if units is None else values * units.factors(model.support_)
    return {
        output: {
            name: float(value)
            for name, value in zip(model.feature_names_, row, strict=True)
            if value != 0
        }
        for output, row in zip(model.output_names_, values, strict=True)
    }


def unit_entries(model: AbstractModel) -> dict[str, Any]:
    """Return {'coefficient_units': units of the coefficients in use by equation and term}, None for
    a coefficient of unknown unit. Return {} if no unit of a column is known.
    """
    units = model.coefficient_units_
    if units is None:
        return {}
    texts: dict[str, dict[str, str | None]] = {output: {} for output in model.output_names_}
    for c, k in np.argwhere(model.support_).tolist():
        texts[model.output_names_[c]][model.feature_names_[k]] = units.text(c, k) or None
    return {"coefficient_units": texts}


def term_entries(model: AbstractModel, result: Summary) -> dict[str, Any]:
    """Return 'terms': coefficient, 95% interval, probability and stability by equation and term,
    and 'lookalikes': one sentence for each confounded pair. Given equations, and unused terms that
    no resample selected, are omitted. Return {} for a model without this evidence.
    """
    known = [row for row in result.terms if row.stability is not None]
    if not known:
        return {}
    labels = model.equation_labels()
    outputs = dict(zip(labels, model.output_names_, strict=True))  # theta_dot by theta'
    terms: dict[str, dict[str, Any]] = {
        outputs[equation.equation]: {} for equation in result.scores.equations
    }
    for row in known:
        terms[outputs[row.equation]][row.term] = {
            "coefficient": row.coefficient,
            "low": row.low,
            "high": row.high,
            "probability": row.probability,
            "stability": row.stability,
            **({} if row.unit is None else {"unit": row.unit}),
        }
    return {"terms": terms, "lookalikes": [pair.text for pair in result.confounded]}


def summary_entries(found: Summary) -> dict[str, Any]:
    """Return verdict, advice and the whole summary under the keys that all commands use."""
    values = found.to_dict()
    return {"verdict": values["verdict"], "advice": values["advice"], "summary": values}


def physics_entries(model: AbstractModel) -> dict[str, Any]:
    """Return 'given': the given equations, and 'parameters': the estimated constants with their 95%
    intervals. Return {} if the model has neither.
    """
    entries: dict[str, Any] = {"given": list(model.given_)} if model.given_ else {}
    if model.parameters_:
        intervals, units = model.parameter_intervals_, model.coefficient_units_
        entries["parameters"] = {}
        for name, value in model.parameters_.items():
            factor = 1.0 if units is None else units.factor_of_constant(name)
            low, high = (end * factor for end in intervals.get(name, (math.nan, math.nan)))
            ends = (low, high) if name in intervals else (None, None)
            unit = {} if units is None else {"unit": units.of_constant(name) or None}
            entries["parameters"][name] = (
                dict(zip(("value", "low", "high"), (value * factor, *ends), strict=True)) | unit
            )
    return entries


def per_run_units(model: AbstractModel) -> dict[str, tuple[float, str]]:
    """Return the factor and the unit with which each constant per run is printed. The unit is empty
    if it is unknown or that of a pure number."""
    units, result = model.coefficient_units_, {}
    for constant in model.schema_.per_run:
        unit = "" if units is None else units.of_constant(constant.name)
        factor = 1.0 if units is None else units.factor_of_constant(constant.name)
        result[constant.name] = factor, "" if unit == PURE_NUMBER else unit
    return result


def per_run_entries(model: AbstractModel, data: Dataset) -> dict[str, Any]:
    """Return 'per_run': the constants that differ between runs, each with its median, standard
    deviation (of the logarithm if `is_log`), and value and 95% interval in each run.
    """
    if not model.schema_.per_run:
        return {}
    values, units = model.per_run(data), per_run_units(model)
    return {
        "per_run": {
            constant.name: {
                "median": constant.center * units[constant.name][0],
                "std": constant.std * (1.0 if constant.is_log else units[constant.name][0]),
                "is_log": constant.is_log,
                **({"unit": units[constant.name][1]} if units[constant.name][1] else {}),
                "relation": None
                if constant.relation is None
                else {"formula": constant.relation.text, **constant.relation.to_dict()},
                "runs": {
                    run: {
                        key: end * units[constant.name][0]
                        for key, end in zip(("value", "low", "high"), ends, strict=True)
                    }
                    for run, ends in values[constant.name].items()
                },
            }
            for constant in model.schema_.per_run
        }
    }


def second_order_entries(model: AbstractModel) -> dict[str, Any]:
    """Return 'velocity_of': the velocity of each position, and 'estimated': unmeasured velocities.

    Return {} for a first-order model.
    """
    if not model.velocity_of_:
        return {}
    return {"velocity_of": model.velocity_of_, "estimated": list(model.estimated_)}
