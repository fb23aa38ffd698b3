"""Matplotlib figures of a model's chart data, drawn by `rendering.figures`.

Each function returns the figure. `ax` may contain existing Axes, one for each panel, row by row;
title and notes are then not drawn. New figures are not registered with pyplot. A notebook shows the
returned figure.
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
    """Plot forecasts and measured runs.

    There is a row of panels for each state and a column for each run. Inputs are in thin panels
    below.

    `forecasts` is the result of `model.forecast(data)`, or a list of arrays with the states at the
    times of each run. A line ends where its forecast stopped. Panels are shaded from the time at
    which a rollout left the training data. If there are more runs than `most_runs`, the runs shown
    are evenly spaced from the smallest forecast error to the largest. If there are more than six
    states, the states with the largest errors are shown, unless `states` names others. An input
    whose `interpolation` is "hold" is drawn in steps; pass `model.input_interpolation_`, or omit
    the argument to detect the interpolation from the data.
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
    """Plot the learned flow and the measured runs.

    For a single state, plot its rate of change against its value.

    There is a panel for each of at most six pairs of states: positions against their velocities if
    there are any (x' = v), otherwise the most strongly coupled states. `states` restricts the
    pairs. All other states and inputs are fixed at their means.
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
    """Plot the size of the residual network at the measured states.

    There is a panel for each equation with a network. Without a network, plot the error of the
    equations relative to the derivatives.

    Each panel shows the two variables on which the values depend most. The six equations with the
    largest values are shown, unless `states` names others. `words`, such as the verdict of a
    summary, are written below the title.
    """
    check_columns(model, data, "plot_residual")
    return figures.draw_residual(state_maps(model, data, states), words, ax)


def plot_selection(
    model: AbstractModel, *, states: Sequence[str] | None = None, ax: GivenAxes = None
) -> Figure:
    """Plot errors on fitted rows and on other rows against the number of terms.

    There is a panel for each equation, and a ring around the terms in use. The ring is missing if
    trajectories selected terms that are not on the path.

    The band around the error on other rows is the standard error of its difference from the
    minimum. An `InformationCriterion` holds out no rows; its penalised error is shown instead. The
    six equations with the largest errors are shown, unless `states` names others.
    """
    check_is_fitted(model)
    chart = error_paths(model, states)
    if chart is None:
        raise InputError(
            "plot_selection needs a model whose terms were chosen by a selection, such as "
            "OrthoReg(); older model files do not contain the selection."
        )
    return figures.draw_paths(chart, ax)


def plot_proposal(proposal: Proposal, *, ax: GivenAxes = None) -> Figure:
    """Plot the partial residual against the proposed terms.

    The partial residual is the derivative minus the library's terms. Points on the line are
    explained.
    """
    if not isinstance(proposal, Proposal):
        raise InputError(
            f"plot_proposal takes a proposal, such as model.explain(data).proposals[0]; got "
            f"{proposal!r}."
        )
    residual = proposal.partial_residual
    residual = residual[:: max(1, len(residual) // _MAX_POINTS)]
    note = f"It {proposal.explains}."
    return figures.draw_proposal(proposal.left, proposal.formula, note, residual, ax)
