"""Draw forecasts and measured runs over time."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ...findings.charts import ForecastRun, Forecasts, shortened
from ._panels import GivenAxes, Panels, open_panels
from ._style import FORECAST, INK, INPUT, MEASURED, SHADE, number, panel_title, tidy

_MEANING = "error of a run: root mean square, relative to the variation of the states"
_WIDTHS = {1: 5.4, 2: 3.6, 3: 2.75}  # width of a panel in inches, by the number of runs
_LABEL_LENGTH = 16  # characters


def draw_forecasts(chart: Forecasts, title: str, ax: GivenAxes = None) -> Figure:
    """Return a figure with measured runs as dots and forecasts as lines.

    States are rows of panels, and runs are columns. Inputs are in thin panels below.
    """
    runs, n_states, n_inputs = chart.runs, len(chart.states), len(chart.inputs)
    rows = n_states + n_inputs
    what = f"{n_states} states{f' and {n_inputs} inputs' * bool(n_inputs)} x {len(runs)} runs"
    panels = open_panels(
        ax, rows * len(runs), len(runs), who="plot_forecast", what=what, shares=True
    )
    for column, run in enumerate(runs):
        for state in range(n_states):
            _draw_state(panels[state, column], run, state)
        for k in range(n_inputs):
            axes = panels[n_states + k, column]
            _draw_input(axes, run, k, chart.held[k])
            if column == 0:  # above the panel, which is too low for a name beside it
                panel_title(axes, f"input {chart.inputs[k]}", loc="left", color=INPUT, pad=3)
    for row in range(rows):
        of_row = [panels[row, column] for column in range(len(runs))]
        if row < n_states:
            _set_range(of_row, runs, row, chart.states[row].short(_LABEL_LENGTH))
        _tidy_row(panels, of_row, is_last=row == rows - 1, is_input=row >= n_states)
    _name_columns(panels, chart, rows)
    width = _WIDTHS.get(len(runs), 2.3)
    sizes = [(width, 1.35)] * n_states + [(width, 0.55)] * n_inputs
    return panels.finish(title, [chart.note, _MEANING], _handles(runs), sizes=sizes)


def _draw_state(axes: Axes, run: ForecastRun, state: int) -> None:
    axes.plot(
        run.times, run.measured[state], "o", color=MEASURED, markeredgewidth=0, label="measured",
        markersize=4.0 if len(run.times) <= 60 else 3.0, zorder=2,
    )  # fmt: skip
    known = np.isfinite(run.forecast[state])
    axes.plot(
        run.forecast_times[known], run.forecast[state][known], color=FORECAST, linewidth=1.2,
        label="forecast", zorder=3, marker="o" if known.sum() == 1 else None, markersize=3,
    )  # fmt: skip
    _shade(axes, run)


def _draw_input(axes: Axes, run: ForecastRun, k: int, is_held: bool) -> None:
    axes.plot(
        run.input_times[k], run.inputs[k], color=INPUT, linewidth=1.0, label="input",
        marker="o" if len(run.inputs[k]) == 1 else None, markersize=3,
        drawstyle="steps-post" if is_held else "default",
    )  # fmt: skip
    axes.margins(y=0.15)
    _shade(axes, run)


def _shade(axes: Axes, run: ForecastRun) -> None:
    if run.lost is not None:
        axes.axvline(run.lost, color=INK, linewidth=0.8, linestyle=":", zorder=1)
    if run.left is not None:
        end = float(run.forecast_times[-1])
        axes.axvspan(run.left, end, color=SHADE, linewidth=0, zorder=0)


def _set_range(row: list[Axes], runs: tuple[ForecastRun, ...], state: int, label: str) -> None:
    """Set the vertical range to that of the measurements, extended by up to half for forecasts.

    Crosses mark where forecasts stopped, at the edge of the panel if they stopped outside.
    """
    values = np.concatenate([run.measured[state] for run in runs])
    if np.isnan(values).all():  # a hidden state
        values = np.concatenate([run.forecast[state] for run in runs])
    low, high = float(values.min()), float(values.max())
    size = high - low
    if size <= 1e-9 * max(abs(low), abs(high)):  # constant up to rounding
        size = 0.2 * max(abs(low), abs(high)) or 1.0
    lines = np.concatenate([run.forecast[state] for run in runs])
    lines = lines[np.isfinite(lines)]
    low = max(float(lines.min(initial=low)), low - 0.5 * size) - 0.08 * size
    high = min(float(lines.max(initial=high)), high + 0.5 * size) + 0.08 * size
    for axes, run in zip(row, runs, strict=True):
        axes.set_ylim(low, high)
        axes.set_ylabel(label)
        finite = run.forecast[state][np.isfinite(run.forecast[state])]
        if run.ended is not None and finite.size:
            axes.plot(
                [run.ended], [float(np.clip(finite[-1], low, high))], "X", color=INK, markersize=6,
                markeredgecolor="white", markeredgewidth=0.6, clip_on=False, zorder=5,
                label="forecast stopped",
            )  # fmt: skip


def _tidy_row(panels: Panels, row: list[Axes], *, is_last: bool, is_input: bool) -> None:
    for column, axes in enumerate(row):
        tidy(axes, 5, 2 if is_input else 4)
        if panels.is_own:
            axes.tick_params(labelleft=column == 0, labelbottom=is_last)
            if column:
                axes.set_ylabel("")


def _name_columns(panels: Panels, chart: Forecasts, rows: int) -> None:
    """Label the time axis of the lowest panels, and write run and error above the highest
    panels.
    """
    for column, run in enumerate(chart.runs):
        first = min(float(run.times[0]), float(run.forecast_times[0]))
        last = max(float(run.times[-1]), float(run.forecast_times[-1]))
        margin = 0.03 * (last - first) or 0.5
        for row in range(rows):
            panels[row, column].set_xlim(first - margin, last + margin)
        label = f"run {shortened(run.label, 16)}: " if chart.n_runs > 1 else ""
        text = f"error {number(run.error)}"
        if run.ended is not None:
            text = f"stopped at {shortened(chart.time.name, 8)} = {run.ended:.3g}"
        panel_title(panels[0, column], f"{label}{text}", pad=4)
        panels[rows - 1, column].set_xlabel(str(chart.time))


def _handles(runs: Iterable[ForecastRun]) -> list[Any]:
    handles: list[Any] = [
        Line2D([], [], linestyle="none", marker="o", color=MEASURED, markersize=4,
               label="measured"),
        Line2D([], [], color=FORECAST, linewidth=1.2, label="forecast"),
    ]  # fmt: skip
    if any(run.left is not None for run in runs):
        handles.append(Patch(color=SHADE, label="outside the training data"))
    if any(run.lost is not None for run in runs):
        handles.append(
            Line2D([], [], color=INK, linewidth=0.8, linestyle=":", label="predictable until here")
        )
    if any(run.ended is not None for run in runs):
        handles.append(
            Line2D([], [], linestyle="none", marker="X", color=INK, markersize=6,
                   label="forecast stopped")
        )  # fmt: skip
    return handles
