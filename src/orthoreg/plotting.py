"""Figures with Matplotlib: chart data of a model, drawn by `rendering.figures`.

Each function returns the figure. `ax` takes Axes of the caller, as many as there are panels, row by
row; title and notes are then left to the caller. A figure that is created here is not registered
with pyplot: it is the return value, which a notebook shows.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from ._common.errors import InputError
from ._common.scikit import check_is_fitted
from .data import Dataset
from .findings.charts import (
    PICTURE,
    check_columns,
    chosen_names,
    error_paths,
    forecast_chart,
    phase_chart,
    state_maps,
)
from .model.explanation import Proposal
from .model.model import AbstractModel
from .rendering import figures
from .rendering.figures import GivenAxes
from .rendering.figures import rendered as rendered
from .simulation import Rollout

_MAX_POINTS = 3000  # of a partial residual


def plot_forecast(
    data: Dataset,
    forecasts: Sequence[np.ndarray] | Sequence[Rollout] | Rollout,
    *,
    title: str = "Forecasts from the first row of each run",
    states: Sequence[str] | None = None,
    most_runs: int = PICTURE.runs,
    interpolation: Mapping[str, str] | None = None,
    ax: GivenAxes = None,
) -> Figure:
    """Plot forecasts beside the measured runs, with a row of panels for each state and a column for
    each run; inputs are in thin panels below.

    `forecasts` is the result of `model.forecast(data)`, or the states at each run's own times as
    arrays. A line ends where its forecast stopped. The panel is shaded from where a rollout left
    the training data. If there are more runs than `most_runs`, those shown are evenly spaced from
    the smallest forecast error to the largest. If there are more than six states, those with the
    largest error are shown, unless `states` names others. An input whose `interpolation` is "hold"
    is drawn in steps; pass `model.input_interpolation_`, or omit it to detect it from the data.
    """
    chart = forecast_chart(
        data, forecasts, interpolation=interpolation or {}, states=states, max_runs=most_runs
    )
    return figures.draw_forecasts(chart, title, ax)


def plot_phase(
    model: AbstractModel,
    data: Dataset,
    *,
    states: Sequence[str] | None = None,
    ax: GivenAxes = None,
) -> Figure:
    """Plot the learned flow under the measured runs; of a single state, its rate of change over its
    value.

    There is a panel for each pair of states, six at most: positions against their velocities if the
    equations have any (x' = v), otherwise the most coupled states. `states` restricts the pairs to
    some states. Other states and inputs are held at their mean.
    """
    check_columns(model, data, "plot_phase", closed=True)
    among = chosen_names(states, data.state_names, "plot_phase", "states")
    return figures.draw_phase(phase_chart(model, data, PICTURE, among=among), ax)


def plot_residual(
    model: AbstractModel,
    data: Dataset,
    *,
    words: str | None = None,
    states: Sequence[str] | None = None,
    ax: GivenAxes = None,
) -> Figure:
    """Plot the size of the residual network at the measured states, with a panel for each equation
    that has one; without a network, the error of the equations against the measured derivatives.

    Each panel shows the two variables that the values depend on most. Six equations with the
    largest share are shown, unless `states` names others. `words` are written under the title, such
    as the verdict of a summary.
    """
    check_columns(model, data, "plot_residual")
    return figures.draw_residual(state_maps(model, data, states), words, ax)


def plot_selection(
    model: AbstractModel, *, states: Sequence[str] | None = None, ax: GivenAxes = None
) -> Figure:
    """Plot error against the number of terms, on the rows that were fitted and on others, with a
    panel for each equation and a ring around the terms in use. There is no ring if trajectories
    chose other terms than those of the path.

    The band around the error on rows that were not fitted is a standard error of its comparison
    with the best; an `InformationCriterion` holds no rows out and has its penalised error there.
    Six equations with the largest error are shown, unless `states` names others.
    """
    check_is_fitted(model)
    chart = error_paths(model, states)
    if chart is None:
        raise InputError(
            "plot_selection needs a model whose fit chose terms by a selection, as that of "
            "OrthoReg() does; older model files do not keep it."
        )
    return figures.draw_paths(chart, ax)


def plot_proposal(proposal: Proposal, *, ax: GivenAxes = None) -> Figure:
    """Plot the partial residual, which is the derivative without the library's terms, against the
    proposed terms. Points on the line are explained."""
    if not isinstance(proposal, Proposal):
        raise InputError(
            f"plot_proposal takes a proposal, such as model.explain(data).proposals[0]; got "
            f"{proposal!r}."
        )
    residual = proposal.partial_residual
    residual = residual[:: max(1, len(residual) // _MAX_POINTS)]
    note = f"It {proposal.explains}."
    return figures.draw_proposal(proposal.equation, proposal.formula, note, residual, ax)
