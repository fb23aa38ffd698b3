"""The learned flow under the measured runs."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..._common.errors import DataError, InputError
from ...data import Dataset
from ...model.model import AbstractModel
from ..views import (
    FITTED,
    FLOW,
    INK,
    MEASURED,
    NOTE,
    arrowheads,
    at_states,
    check_columns,
    choose_pairs,
    chosen_names,
    evenly,
    labelled,
    not_measured,
    rows_of,
    share_shown,
    shortened,
    streamlines,
    variable_label,
)
from ._panels import open_panels
from ._style import tidy

_COLUMNS = 3
_GRID = 40  # a side, at which the model is asked for its flow
_POINTS = 2_000  # of a run, and of all dots
_ROWS = 20_000  # at which derivatives are estimated
_FEWEST_RUNS, _MOST_RUNS, _SHOWN_ROWS = 12, 200, 3_000


def plot_phase(
    model: AbstractModel, data: Dataset, *, states: Sequence[str] | None = None, ax: Any = None
) -> Figure:
    """The figure: learned flow as thin lines, measured runs on top; for a single state, its rate of
    change over its value.

    A panel for each pair of states: positions against their velocities where the equations have
    any (x' = v), otherwise the states that are most coupled, six at most. `states` restricts the
    pairs to some states, two names to one pair. Other states and inputs are held at their mean.

    `ax` takes Axes of your own, as many as there are panels, row by row. A figure that is made
    here does not enter pyplot: it is the return value, which a notebook shows.
    """
    check_columns(model, data, "plot_phase", closed=True)
    among = chosen_names(states, data.state_names, "plot_phase", "states")
    if data.n_states == 1:
        return _plot_rate(model, data, ax)
    if among is not None and len(among) < 2:
        raise InputError(
            f"plot_phase(states=...) needs at least two of the states; got {list(states or [])}."
        )
    pairs, which = choose_pairs(model, data, among)
    columns = min(len(pairs), _COLUMNS)
    panels = open_panels(
        ax, len(pairs), columns, who="plot_phase", what=f"one for each of {len(pairs)} pairs"
    )
    size = (3.9, 3.5) if len(pairs) == 1 else (3.0, 2.75)
    shape = size if panels.is_own else panels.axes[0].bbox.size
    runs, drawn = _runs_shown(data), 0
    for axes, pair in zip(panels.axes, pairs, strict=True):
        low, high = _range(data.states[:, list(pair)])
        axes.set_xlim(low[0], high[0])
        axes.set_ylim(low[1], high[1])
        drawn += _draw_flow(axes, model, data, pair, (low, high), shape[0] / shape[1])
        _draw_runs(axes, data, pair, runs, high - low)
        axes.set_xlabel(variable_label(data, pair[0]))
        axes.set_ylabel(variable_label(data, pair[1]))
        tidy(axes)
    count = data.n_states * (data.n_states - 1) // 2
    notes = [
        share_shown(len(pairs), count, "pairs of states", which if among is None else ", as asked"),
        _held_at_mean(data),
        share_shown(len(runs), data.n_runs, "runs", ""),
        not_measured(data),
    ]
    handles = [
        Line2D([], [], color=INK, linewidth=1.2, marker="o", markersize=3.5, markevery=[0],
               label="measured runs (dot: first row)"),
        Line2D([], [], color=FLOW, linewidth=1.0, label="learned flow"),
    ][: 2 if drawn else 1]  # fmt: skip
    sizes = [size] * -(-len(pairs) // columns)
    return panels.finish("Learned flow and measured runs", notes, handles, sizes=sizes)


def _draw_flow(
    axes: Axes,
    model: AbstractModel,
    data: Dataset,
    pair: tuple[int, int],
    box: tuple[np.ndarray, np.ndarray],
    aspect: float,
) -> int:
    """Draws the flow; returns how many lines it has, none where nothing changes."""
    low, high = box
    first, second = (np.linspace(low[k], high[k], _GRID) for k in (0, 1))
    grid = np.stack(np.meshgrid(first, second), axis=-1)
    states = np.tile(data.states.mean(axis=0), (_GRID * _GRID, 1))
    states[:, list(pair)] = grid.reshape(-1, 2)
    rates = np.asarray(model.predict(at_states(data, states)))[:, list(pair)] / (high - low)
    lines = streamlines(rates.reshape(_GRID, _GRID, 2))
    heads = arrowheads(lines, aspect)
    axes.add_collection(
        LineCollection([low + line * (high - low) for line in lines], colors=FLOW, linewidths=0.8,
                       label="learned flow", zorder=1), autolim=False,
    )  # fmt: skip
    axes.add_collection(
        PolyCollection(list(low + heads * (high - low)), facecolors=FLOW, edgecolors="none",
                       zorder=1), autolim=False,
    )  # fmt: skip
    return len(lines)


def _draw_runs(
    axes: Axes,
    data: Dataset,
    pair: tuple[int, int],
    runs: np.ndarray,
    size: Float[np.ndarray, "2"],
) -> None:
    """Runs as lines from a dot; a run that is too long for that as dots."""
    lines, dots = [], []
    for run in runs:
        rows = np.arange(int(data.offsets[run]), int(data.offsets[run + 1]))
        some = rows[evenly(len(rows), _POINTS)]
        line = data.states[some][:, list(pair)]
        moved = np.abs(np.diff(line, axis=0) / size).max(axis=1) if len(line) > 1 else np.zeros(1)
        is_broken = len(some) < len(rows) and np.median(moved) > 0.03
        (dots if is_broken else lines).append(line)
    points = sum(map(len, lines))
    width = 1.2 if points < 1000 and len(lines) < 50 else 0.8 if points < 2500 else 0.6
    axes.add_collection(
        LineCollection(lines, colors=INK, linewidths=width, label="measured runs", zorder=3),
        autolim=False,
    )
    if dots:
        cloud = np.concatenate(dots)
        axes.plot(
            cloud[:, 0], cloud[:, 1], ".", color=INK, markersize=2, zorder=3,
            label="measured rows",
        )  # fmt: skip
    starts = data.states[data.offsets[runs]][:, list(pair)]
    axes.plot(
        starts[:, 0], starts[:, 1], "o", color=INK, markersize=3.5 if len(runs) < 50 else 2,
        markeredgewidth=0, zorder=4, label="first rows",
    )  # fmt: skip


def _runs_shown(data: Dataset) -> np.ndarray:
    """Evenly spaced runs: many short ones, few long ones."""
    usual = max(int(np.median(data.run_lengths)), 1)
    return evenly(data.n_runs, int(np.clip(_SHOWN_ROWS // usual, _FEWEST_RUNS, _MOST_RUNS)))


def _plot_rate(model: AbstractModel, data: Dataset, ax: Any) -> Figure:
    panels = open_panels(ax, 1, 1, who="plot_phase", what="one for the single state")
    axes = panels.axes[0]
    low, high = _range(data.states)
    grid = np.linspace(low, high, 200)
    symbolic, neural = (
        np.asarray(part).reshape(-1) for part in model.decompose(at_states(data, grid))
    )
    handles = []
    rows = rows_of(data, _ROWS)
    try:
        slopes = np.asarray(model.target_derivatives(rows))[:, 0]
    except DataError:  # runs that are too short for derivatives
        pass
    else:
        some = evenly(rows.n_samples, _POINTS)
        handles += axes.plot(
            rows.states[some, 0], slopes[some], "o", color=MEASURED, markersize=2.6,
            markeredgewidth=0, label="measured", zorder=2,
        )  # fmt: skip
    handles += axes.plot(
        grid[:, 0], symbolic + neural, color=FITTED, linewidth=1.6, label="model", zorder=4
    )
    if neural.any():
        handles += axes.plot(
            grid[:, 0], symbolic, color=FITTED, linestyle="--", linewidth=1.1,
            label="its equations alone", zorder=3,
        )  # fmt: skip
    axes.axhline(0, color=NOTE, linewidth=0.6, zorder=1)
    axes.set_xlabel(labelled(data.state_names[0], data.units))
    axes.set_ylabel(f"d/dt of {shortened(data.state_names[0])}")
    tidy(axes)
    return panels.finish(
        "Learned rate of change", [_held_at_mean(data)], handles, sizes=[(4.6, 2.9)]
    )


def _range(values: Float[np.ndarray, "N k"]) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper ends with a margin; a state that never varies gets one as well."""
    low, high = values.min(axis=0), values.max(axis=0)
    reach = np.maximum(np.abs(low), np.abs(high))
    constant = high - low <= 1e-9 * reach
    margin = np.where(constant, np.where(reach > 0, 0.5 * reach, 0.5), 0.05 * (high - low))
    return low - margin, high + margin


def _held_at_mean(data: Dataset) -> str:
    """What a picture over at most two states holds fixed."""
    held = ["other states"] if data.n_states > 2 else []
    held += [] if data.inputs is None else ["inputs"]
    return f"flow with {' and '.join(held)} at their mean" if held else ""
