"""Three pictures of a model: its forecasts, its flow, and where its residual is large."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from .._model import AbstractModel
from ..data import Dataset
from ._style import DATA, GREY, MODEL, RESIDUAL, labelled, new_figure, tidy

_MOST_STATES = 6
_MOST_PAIRS = 3
_POINTS = 20_000


def plot_forecast(
    data: Dataset, forecasts: Sequence[np.ndarray], *, title: str, most_runs: int = 3
) -> Figure:
    """Measured runs as dots, forecasts from their first row as lines, one panel per state."""
    shown = np.unique(np.linspace(0, data.n_runs - 1, most_runs).astype(int))
    names = data.state_names[:_MOST_STATES]
    figure = new_figure(3.1 * len(shown) + 0.6, 1.9 * len(names) + 0.7)
    grid = figure.subplots(len(names), len(shown), squeeze=False, sharex="col", sharey="row")
    for column, run in enumerate(shown):
        rows = slice(int(data.offsets[run]), int(data.offsets[run + 1]))
        times, states = data.times[rows], data.states[rows]
        for row, name in enumerate(names):
            axes = grid[row, column]
            axes.plot(times, states[:, row], "o", color=GREY, markersize=3.5, label="measured")
            axes.plot(times, forecasts[run][:, row], color=MODEL, linewidth=1.3, label="forecast")
            low, high = states[:, row].min(), states[:, row].max()
            margin = 0.25 * max(high - low, 1e-12)
            bottom, top = axes.get_ylim() if column else (low - margin, high + margin)
            axes.set_ylim(min(bottom, low - margin), max(top, high + margin))
            if column == 0:
                axes.set_ylabel(labelled(name, data.units))
            tidy(axes)
        grid[0, column].set_title(f"run {data.labels[run]}".replace("$", r"\$"), fontsize=10)
        grid[-1, column].set_xlabel(labelled(data.time_name, data.units))
    grid[0, 0].legend(frameon=False, fontsize=9)
    figure.suptitle(title, fontsize=11)
    return figure


def plot_phase(model: AbstractModel, data: Dataset) -> Figure:
    """The learned flow over the measured states; for one state, its rate of change."""
    if data.n_states == 1:
        return _plot_rate(model, data)
    pairs = list(combinations(range(data.n_states), 2))[:_MOST_PAIRS]
    figure = new_figure(4.6 * len(pairs), 4.2)
    centre = data.states.mean(axis=0)
    for axes, (i, j) in zip(figure.subplots(1, len(pairs), squeeze=False)[0], pairs, strict=True):
        axes_values = [_span(data.states[:, k]) for k in (i, j)]
        first, second = np.meshgrid(*axes_values)
        states = np.tile(centre, (first.size, 1))
        states[:, i], states[:, j] = first.ravel(), second.ravel()
        slopes = model.predict(states, _mean_inputs(data, len(states)))
        axes.streamplot(
            *axes_values, slopes[:, i].reshape(first.shape), slopes[:, j].reshape(first.shape),
            color=MODEL, linewidth=0.8, density=1.1, arrowsize=0.9,
        )  # fmt: skip
        for run in range(min(data.n_runs, 12)):
            rows = slice(int(data.offsets[run]), int(data.offsets[run + 1]))
            axes.plot(
                data.states[rows, i], data.states[rows, j], color=DATA, linewidth=0.7, alpha=0.6,
                label="measured runs" if run == 0 else None,
            )  # fmt: skip
        axes.set_xlabel(labelled(data.state_names[i], data.units))
        axes.set_ylabel(labelled(data.state_names[j], data.units))
        axes.plot([], [], color=MODEL, linewidth=0.8, label="learned flow")
        axes.legend(frameon=True, framealpha=0.9, edgecolor="none", fontsize=8, loc="upper right")
        tidy(axes)
    figure.suptitle(f"Learned flow{_held_at_mean(data)}", fontsize=11)
    return figure


def plot_residual(model: AbstractModel, data: Dataset) -> Figure:
    """The size of the residual at the measured states, one panel per equation that has one."""
    every = max(1, data.n_samples // _POINTS)
    variables = data.variables[::every]
    size = np.abs(model.field_.neural(variables))
    panels = [c for c in range(len(model.output_names_)) if np.any(size[:, c])][:_MOST_STATES]
    figure = new_figure(4.8 * max(len(panels), 1), 4.0)
    figure.suptitle("Where the equations are not enough", fontsize=11)
    if not panels:
        axes = figure.subplots()
        axes.set_axis_off()
        axes.text(0.5, 0.5, "The equations explain the data: no residual", ha="center")
        return figure
    for axes, c in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        title = f"|residual| of {labelled(model.output_names_[c], {})}'"
        if data.n_states == 1:
            axes.plot(variables[:, 0], size[:, c], ".", color=RESIDUAL, markersize=3)
            axes.set_ylabel(title)
        else:
            picture = axes.hexbin(
                variables[:, 0], variables[:, 1], size[:, c], gridsize=40, cmap="cividis",
                linewidths=0.1, vmin=0,
            )  # fmt: skip
            figure.colorbar(picture, ax=axes, label=title)
            axes.set_ylabel(labelled(data.state_names[1], data.units))
        axes.set_xlabel(labelled(data.state_names[0], data.units))
        tidy(axes)
    return figure


def _plot_rate(model: AbstractModel, data: Dataset) -> Figure:
    figure = new_figure(5.2, 3.8)
    axes = figure.subplots()
    grid = _span(data.states[:, 0])[:, None]
    inputs = _mean_inputs(data, len(grid))
    symbolic, neural = model.decompose(grid, inputs)
    axes.plot(grid, symbolic + neural, color=MODEL, label="model")
    axes.plot(grid, symbolic, color=MODEL, linestyle="--", linewidth=1, label="equations alone")
    axes.axhline(0, color=DATA, linewidth=0.5)
    axes.set_xlabel(labelled(data.state_names[0], data.units))
    axes.set_ylabel(f"d/dt of {labelled(data.state_names[0], {})}")
    axes.legend(frameon=False, fontsize=9)
    axes.set_title(f"Learned rate of change{_held_at_mean(data)}", fontsize=11)
    tidy(axes)
    return figure


def _span(values: np.ndarray, points: int = 60) -> np.ndarray:
    """Equally spaced values over the range of the data, which may be a single value."""
    low, high = float(values.min()), float(values.max())
    margin = 0.0 if high > low else 0.5 * max(abs(low), 1.0)
    return np.linspace(low - margin, high + margin, points)


def _held_at_mean(data: Dataset) -> str:
    """What a picture over at most two states holds fixed, for its title."""
    held = ["other states"] if data.n_states > 2 else []
    held += [] if data.inputs is None else ["inputs"]
    return f" ({' and '.join(held)} at their mean)" if held else ""


def _mean_inputs(data: Dataset, rows: int) -> Any:
    return None if data.inputs is None else np.tile(data.inputs.mean(axis=0), (rows, 1))
