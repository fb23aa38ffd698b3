"""Draw the learned flow with the measured runs."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ...findings.charts import Phase, Portrait, Rate
from .._flow import arrowheads, streamlines
from ._panels import GivenAxes, open_panels
from ._style import FITTED, FLOW, INK, MEASURED, NOTE, tidy

_COLUMNS = 3


def draw_phase(chart: Phase, ax: GivenAxes = None) -> Figure:
    """Return a figure of the learned flow as thin lines with measured runs on top.

    For a single state, draw its rate against its value.
    """
    if chart.rate is not None:
        return _draw_rate(chart.rate, chart.note, ax)
    portraits = chart.portraits
    columns = min(len(portraits), _COLUMNS)
    what = f"one for each of {len(portraits)} pairs"
    panels = open_panels(ax, len(portraits), columns, who="plot_phase", what=what)
    size = (3.9, 3.5) if len(portraits) == 1 else (3.0, 2.75)
    shape = size if panels.is_own else panels.axes[0].bbox.size
    has_flow = False
    for axes, portrait in zip(panels.axes, portraits, strict=True):
        axes.set_xlim(portrait.low[0], portrait.high[0])
        axes.set_ylim(portrait.low[1], portrait.high[1])
        has_flow |= _draw_flow(axes, portrait, shape[0] / shape[1])
        _draw_runs(axes, portrait)
        for filled in (True, False):
            _draw_equilibria(axes, portrait, filled)
        axes.set_xlabel(str(portrait.x_label))
        axes.set_ylabel(str(portrait.y_label))
        tidy(axes)
    handles = [
        Line2D([], [], color=INK, linewidth=1.2, marker="o", markersize=3.5, markevery=[0],
               label="measured runs (dot: first row)"),
        Line2D([], [], color=FLOW, linewidth=1.0, label="learned flow"),
    ][: 2 if has_flow else 1]  # fmt: skip
    for filled, label in ((True, "stable equilibrium"), (False, "equilibrium, not stable")):
        if any(filled in portrait.is_stable for portrait in portraits):
            handles.append(Line2D([], [], label=label, **_equilibrium_style(filled)))
    sizes = [size] * -(-len(portraits) // columns)
    return panels.finish("Learned flow and measured runs", chart.notes, handles, sizes=sizes)


def _draw_flow(axes: Axes, portrait: Portrait, aspect: float) -> bool:
    """Draw the flow. Return whether there are any lines."""
    low, size = portrait.low, portrait.high - portrait.low
    lines = streamlines(portrait.flow)
    axes.add_collection(
        LineCollection([low + line * size for line in lines], colors=FLOW, linewidths=0.8,
                       label="learned flow", zorder=1), autolim=False,
    )  # fmt: skip
    axes.add_collection(
        PolyCollection(list(low + arrowheads(lines, aspect) * size), facecolors=FLOW,
                       edgecolors="none", zorder=1), autolim=False,
    )  # fmt: skip
    return bool(lines)


def _draw_runs(axes: Axes, portrait: Portrait) -> None:
    """Draw runs as lines that start at a dot, and broken runs as dots only."""
    pairs = list(zip(portrait.runs, portrait.broken, strict=True))
    lines = [line for line, broken in pairs if not broken]
    dots = [line for line, broken in pairs if broken]
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
    axes.plot(
        portrait.starts[:, 0], portrait.starts[:, 1], "o", color=INK, markeredgewidth=0, zorder=4,
        markersize=3.5 if len(portrait.runs) < 50 else 2, label="first rows",
    )  # fmt: skip


def _equilibrium_style(filled: bool) -> dict[str, Any]:
    return {
        "linestyle": "", "marker": "o", "markersize": 7, "markeredgewidth": 1.5,
        "markeredgecolor": FITTED, "markerfacecolor": FITTED if filled else "white",
    }  # fmt: skip


def _draw_equilibria(axes: Axes, portrait: Portrait, filled: bool) -> None:
    """Draw the stable equilibria if `filled`, or else the other equilibria."""
    points = portrait.equilibria[np.array(portrait.is_stable, dtype=bool) == filled]
    if len(points):
        axes.plot(points[:, 0], points[:, 1], zorder=5, **_equilibrium_style(filled))


def _draw_rate(rate: Rate, note: str, ax: GivenAxes) -> Figure:
    panels = open_panels(ax, 1, 1, who="plot_phase", what="one for the single state")
    axes, handles = panels.axes[0], []
    if len(rate.measured_x):
        handles += axes.plot(
            rate.measured_x, rate.measured_y, "o", color=MEASURED, markersize=2.6,
            markeredgewidth=0, label="measured", zorder=2,
        )  # fmt: skip
    handles += axes.plot(rate.x, rate.model, color=FITTED, linewidth=1.6, label="model", zorder=4)
    if rate.network is not None:
        handles += axes.plot(
            rate.x, rate.equations, color=FITTED, linestyle="--", linewidth=1.1,
            label="its equations alone", zorder=3,
        )  # fmt: skip
    axes.axhline(0, color=NOTE, linewidth=0.6, zorder=1)
    axes.set_xlabel(str(rate.x_label))
    axes.set_ylabel(rate.y_label)
    tidy(axes)
    return panels.finish("Learned rate of change", [note], handles, sizes=[(4.6, 2.9)])
