"""Forecasts beside the measured runs, over time."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ...data import Dataset
from ...simulation import Interpolation, Rollout, input_interpolation
from ..views import (
    FORECAST,
    INK,
    INPUT,
    MEASURED,
    NOTE,
    SHADE,
    Curve,
    as_curves,
    choose_runs,
    chosen_names,
    curve_errors,
    envelope,
    labelled,
    largest,
    not_measured,
    number,
    share_shown,
    shortened,
    steps,
    variable_label,
)
from ._panels import Panels, open_panels
from ._style import SMALL, as_written, tidy

_MOST_STATES = 6
_MOST_INPUTS = 3
_MEANING = "error of a run: root mean square, relative to how far the states vary"
_POINTS = 800  # of a curve in one panel
_WIDTHS = {1: 5.4, 2: 3.6, 3: 2.75}  # inches of a panel, by the number of runs


def plot_forecast(
    data: Dataset,
    forecasts: Sequence[np.ndarray] | Sequence[Rollout] | Rollout,
    *,
    title: str = "Forecasts from the first row of each run",
    states: Sequence[str] | None = None,
    most_runs: int = 3,
    interpolation: Mapping[str, str] | None = None,
    ax: Any = None,
) -> Figure:
    """The figure: measured runs as dots, forecasts as lines, a row of panels for each state and a
    column for each run; inputs in thin panels below.

    `forecasts` is what `model.forecast(data)` returns, or the states at each run's own times as
    arrays. A line ends where its forecast stopped. From where a rollout left the training data on,
    the panel is shaded. Of more runs than `most_runs` those are shown that are evenly spaced from
    the smallest forecast error to the largest; of more than six states those with the largest
    error, unless `states` names others. An input whose `interpolation` is "hold" is drawn in steps;
    pass `model.input_interpolation_`, or leave it out to have it detected from the data.

    `ax` takes Axes of your own, as many as there are panels, row by row. A figure that is made
    here does not enter pyplot: it is the return value, which a notebook shows.
    """
    curves = as_curves(data, forecasts)
    run_errors, state_errors = curve_errors(data, curves)
    runs = choose_runs(run_errors, most_runs)
    shown = chosen_names(states, data.state_names, "plot_forecast", "states")
    which = ", as asked"
    if shown is None:
        shown = largest(state_errors, _MOST_STATES)
        which = ": those with the largest forecast error" if state_errors.any() else ""
    inputs = range(min(len(data.input_names), _MOST_INPUTS))
    kinds = input_interpolation(data.input_names, data) | dict(interpolation or {})
    rows = len(shown) + len(inputs)
    what = f"{len(shown)} states{f' and {len(inputs)} inputs' * bool(inputs)} x {len(runs)} runs"
    panels = open_panels(
        ax, rows * len(runs), len(runs), who="plot_forecast", what=what, shares=True
    )
    for column, run in enumerate(runs):
        for row, state in enumerate(shown):
            _draw_state(panels[row, column], data, run, state, curves[run])
        for row, one in enumerate(inputs, start=len(shown)):
            is_held = kinds[data.input_names[one]] == Interpolation.hold
            _draw_input(panels[row, column], data, run, one, curves[run], is_held)
            if column == 0:  # above the panel, which is too low for a name beside it
                _name_input(panels[row, column], data, one)
    for row in range(rows):
        of_row = [panels[row, column] for column in range(len(runs))]
        if row < len(shown):
            _set_range(of_row, data, runs, shown[row], curves)
        _tidy_row(panels, of_row, is_last=row == rows - 1, is_input=row >= len(shown))
    _name(panels, data, runs, run_errors, [curves[run] for run in runs], rows)
    notes = [
        share_shown(len(shown), data.n_states, "states", which),
        share_shown(
            len(runs), data.n_runs, "runs", ", from the smallest forecast error to the largest"
        ),
        share_shown(len(inputs), len(data.input_names), "inputs", ": the first"),
        not_measured(data),
    ]
    width = _WIDTHS.get(len(runs), 2.3)
    sizes = [(width, 1.35)] * len(shown) + [(width, 0.55)] * len(inputs)
    return panels.finish(
        title, ["; ".join(note for note in notes if note), _MEANING],
        _handles([curves[run] for run in runs]), sizes=sizes,
    )  # fmt: skip


def _draw_state(axes: Axes, data: Dataset, run: int, state: int, curve: Curve) -> None:
    rows = slice(int(data.offsets[run]), int(data.offsets[run + 1]))
    times, measured = data.times[rows], data.states[rows, state]
    kept = envelope(measured, _POINTS)
    size = 4.0 if len(kept) <= 60 else 3.0
    axes.plot(
        times[kept], measured[kept], "o", color=MEASURED, markersize=size, markeredgewidth=0,
        label="measured", zorder=2,
    )  # fmt: skip
    line = curve.x[:, state]
    kept = envelope(line, _POINTS)
    axes.plot(
        curve.times[kept], line[kept], color=FORECAST, linewidth=1.2, label="forecast", zorder=3,
        marker="o" if len(kept) == 1 else None, markersize=3,
    )  # fmt: skip
    _shade(axes, curve)


def _draw_input(axes: Axes, data: Dataset, run: int, one: int, curve: Curve, is_held: bool) -> None:
    assert data.inputs is not None
    rows = slice(int(data.offsets[run]), int(data.offsets[run + 1]))
    kept = (steps if is_held else envelope)(data.inputs[rows, one], _POINTS)
    axes.plot(
        data.times[rows][kept], data.inputs[rows, one][kept], color=INPUT, linewidth=1.0,
        label="input", marker="o" if len(kept) == 1 else None, markersize=3,
        drawstyle="steps-post" if is_held else "default",
    )  # fmt: skip
    axes.margins(y=0.15)
    _shade(axes, curve)


def _name_input(axes: Axes, data: Dataset, one: int) -> None:
    text = f"input {labelled(data.input_names[one], data.units)}"
    as_written(axes.set_title(text, loc="left", fontsize=SMALL, color=INPUT, y=1.0, pad=3))


def _shade(axes: Axes, curve: Curve) -> None:
    if curve.left is not None:
        axes.axvspan(curve.left, float(curve.times[-1]), color=SHADE, linewidth=0, zorder=0)


def _set_range(
    row: list[Axes], data: Dataset, runs: list[int], state: int, curves: list[Curve]
) -> None:
    """The range of what was measured, with half of it more where forecasts need that; crosses
    where forecasts stopped, at the edge of the panel if they stopped beyond it."""
    values = np.concatenate(
        [data.states[data.offsets[run] : data.offsets[run + 1], state] for run in runs]
    )
    low, high = float(values.min()), float(values.max())
    size = high - low
    if size <= 1e-9 * max(abs(low), abs(high)):  # constant but for rounding
        size = 0.2 * max(abs(low), abs(high)) or 1.0
    with np.errstate(invalid="ignore"):
        lines = np.concatenate([curves[run].x[:, state] for run in runs])
    lines = lines[np.isfinite(lines)]
    low = max(float(lines.min(initial=low)), low - 0.5 * size) - 0.08 * size
    high = min(float(lines.max(initial=high)), high + 0.5 * size) + 0.08 * size
    for axes, run in zip(row, runs, strict=True):
        curve = curves[run]
        axes.set_ylim(low, high)
        axes.set_ylabel(variable_label(data, state, 16))
        good = np.flatnonzero(np.isfinite(curve.x[:, state]))
        if curve.ended is not None and good.size:
            ended = float(curve.x[good[-1], state])
            axes.plot(
                [curve.ended], [float(np.clip(ended, low, high))], "X", color=INK, markersize=6,
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


def _name(
    panels: Panels,
    data: Dataset,
    runs: list[int],
    errors: Float[np.ndarray, " R"],
    curves: list[Curve],
    rows: int,
) -> None:
    """Times on the lowest panels, the run and how well it was forecast on the highest."""
    for column, (run, curve) in enumerate(zip(runs, curves, strict=True)):
        times = data.times[data.offsets[run] : data.offsets[run + 1]]
        first = min(float(times[0]), float(curve.times[0]))
        last = max(float(times[-1]), float(curve.times[-1]))
        margin = 0.03 * (last - first) or 0.5
        for row in range(rows):
            panels[row, column].set_xlim(first - margin, last + margin)
        label = f"run {shortened(data.labels[run], 16)}: " if data.n_runs > 1 else ""
        said = f"error {number(errors[run])}"
        if curve.ended is not None:
            said = f"stopped at {shortened(data.time_name, 8)} = {curve.ended:.3g}"
        title = panels[0, column].set_title(
            f"{label}{said}", fontsize=SMALL, color=NOTE, y=1.0, pad=4
        )
        as_written(title)
        panels[rows - 1, column].set_xlabel(labelled(data.time_name, data.units))


def _handles(curves: list[Curve]) -> list[Any]:
    handles: list[Any] = [
        Line2D([], [], linestyle="none", marker="o", color=MEASURED, markersize=4,
               label="measured"),
        Line2D([], [], color=FORECAST, linewidth=1.2, label="forecast"),
    ]  # fmt: skip
    if any(curve.left is not None for curve in curves):
        handles.append(Patch(color=SHADE, label="outside the training data"))
    if any(curve.ended is not None for curve in curves):
        handles.append(
            Line2D([], [], linestyle="none", marker="X", color=INK, markersize=6,
                   label="forecast stopped")
        )  # fmt: skip
    return handles
