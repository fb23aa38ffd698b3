"""From a model and data to everything that a report shows."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...data import Dataset
from ...findings import Summary, counted, forecast_sample
from ...findings._verdict import trust_sentences
from ...findings._words import listed
from ...model.validation import in_states_of
from ...simulation import Rollout
from ..views import as_curves, check_columns, curve_errors
from ._data import ReportData
from ._diagnostics import diagnostics_of
from ._earlier import earlier_of
from ._equations import coefficients_of, constants_of, equations_of
from ._forecasts import forecasts_of
from ._found import proposals_of, ranking_of
from ._path import paths_of
from ._phase import phase_of
from ._quality import quality_of
from ._repeat import repeat_of
from ._residual import residual_maps
from ._slopes import slopes_of

if TYPE_CHECKING:  # both bring the whole search for formulas
    from ...model.discovery import Discovery
    from ...model.explanation import Explanation


def collect(
    model: Any,
    data: Dataset | None = None,
    *,
    summary: Summary | None = None,
    forecasts: Sequence[Rollout] | None = None,
    explanation: "Explanation | None" = None,
    discovery: "Discovery | None" = None,
    title: str | None = None,
    command: str = "",
) -> ReportData:
    """All parts; `forecasts` are those of `forecast_sample(data)`, where they are there already."""
    parts: dict[str, Any] = {}
    is_closed = model.output_names_ == model.state_names_
    if data is not None:
        data = in_states_of(model, data)
        check_columns(model, data, "report")
        some = forecast_sample(data)
        if forecasts is None and is_closed:
            forecasts = model.forecast(some)
        if summary is None:
            summary = model.summary(data, forecasts=forecasts)
        parts = _with_data(model, data, some, forecasts if is_closed else None)
    said: Summary = model.summary() if summary is None else summary
    if explanation is not None:
        parts["proposals"] = proposals_of(explanation, model)
    if discovery is not None:
        parts["ranking"] = ranking_of(discovery)
    return ReportData(
        title=title or _title(model),
        subtitle=_subtitle(model, data),
        equations=equations_of(model, said),
        summary=said,
        sentences=trust_sentences(said),
        repeat=repeat_of(model, data, command),
        constants=constants_of(model),
        coefficients=coefficients_of(said),
        names=_names(model),
        has_network=model.field_.has_residual,
        earlier=earlier_of(model, explanation, data, said),
        **parts,
    )


def _with_data(
    model: Any, data: Dataset, some: Dataset, forecasts: Sequence[Rollout] | None
) -> dict[str, Any]:
    """The parts that need data, and forecasts of some runs where the model can make them."""
    parts: dict[str, Any] = {"quality": quality_of(data)}
    if model.output_names_ != model.state_names_:
        return parts
    seen = slopes_of(model, data)
    parts["residual"], parts["residual_note"] = residual_maps(model, seen.rows)
    parts["diagnostics"], parts["diagnostics_note"] = diagnostics_of(model, seen)
    parts["phase"] = phase_of(model, data, seen)
    if forecasts is not None:
        parts["forecasts"] = forecasts_of(model, some, forecasts)
        parts["paths"] = paths_of(model, some, forecasts, _usual_run(some, forecasts))
    return parts


def _usual_run(data: Dataset, forecasts: Sequence[Rollout]) -> int:
    """The run whose forecast error is in the middle."""
    errors, _ = curve_errors(data, as_curves(data, forecasts))
    return int(np.argsort(errors, kind="stable")[len(errors) // 2])


def _names(model: Any) -> tuple[str, ...]:
    """What a formula in a sentence may name: variables, constants and time."""
    features = model.field_.features
    return (*features.variables, *features.parameters, model.columns_["time"])


def _title(model: Any) -> str:
    names = [name for name in model.output_names_ if name not in model.velocity_of_.values()]
    return f"Equations of {listed(names)}"


def _subtitle(model: Any, data: Dataset | None) -> str:
    if data is None:
        return counted(len(model.state_names_), "state")
    size = f"{counted(data.n_runs, 'run')} · {data.n_samples:,} samples"
    states = counted(data.n_states, "state")
    inputs = f" · {counted(len(data.input_names), 'input')}" if data.input_names else ""
    source = f"{data.source} · " if "." in data.source else ""
    return f"{source}{size} · {states}{inputs}"
