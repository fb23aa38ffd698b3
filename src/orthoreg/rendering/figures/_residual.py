"""Draw maps of the residual network or, without a network, of the equations' error."""

import textwrap

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..._common.notation import left_side, target_word
from ...findings.charts import StateMap, StateMaps, shortened
from ._panels import GivenAxes, open_panels
from ._style import MAP, NOTE, RESIDUAL, SMALL, as_written, number, panel_title, tick, tidy

_COLUMNS = 3
_VALUES = {"residual": "|residual|", "error": "|error| / size"}


def draw_residual(chart: StateMaps, words: str | None = None, ax: GivenAxes = None) -> Figure:
    """Return a figure with a panel for each map, and with `words` below the title."""
    if not chart.maps:
        return _draw_reason(chart.reason, words, ax)
    maps, label = chart.maps, _VALUES[chart.kind]
    word = target_word(state_map.equation for state_map in maps)
    columns = min(len(maps), _COLUMNS)
    what = f"one for each of {len(maps)} equations"
    panels = open_panels(ax, len(maps), columns, who="plot_residual", what=what)
    for axes, state_map in zip(panels.axes, maps, strict=True):
        unit = state_map.rate_unit if chart.kind == "residual" else ""
        name = shortened(state_map.equation, 20)
        panel_title(axes, f"{left_side(name)}{unit}: {chart.kind} {number(state_map.share)}")
        _draw_map(axes, state_map, label)
        tidy(axes)
    has_colours = len(maps[0].labels) > 1
    meaning = [
        f"{chart.kind} relative to the size of the {word}",
        f"colour: {label}" * has_colours,
        chart.rows_note,
    ]
    title, together = "Residual network at the measured states", ""
    if chart.kind == "error":
        error = number(chart.error or 0.0)
        title = f"No residual network: error of the equations {error} of the {word}'s size"
    elif chart.error is not None:
        together = f"equations and network together: error {number(chart.error)}"
    notes = [
        words or "", chart.equations_note, "; ".join(part for part in meaning if part), together,
    ]  # fmt: skip
    size = (4.0, 3.2) if len(maps) == 1 else (2.8, 2.5)
    every = [size] * -(-len(maps) // columns)
    return panels.finish(title, notes, (), sizes=every, right=0.74 if has_colours else 0.16)


def _draw_map(axes: Axes, chart: StateMap, label: str) -> None:
    """Draw values against one variable, or as colours over two variables with large values on
    top.
    """
    axes.set_xlabel(str(chart.labels[0]))
    if len(chart.labels) == 1:
        axes.plot(
            chart.points[:, 0], chart.values, "o", color=RESIDUAL, markersize=2.6,
            markeredgewidth=0, label=label,
        )  # fmt: skip
        axes.set_ylim(0, 1.05 * max(float(chart.values.max()), 1e-300))
        axes.set_ylabel(label)
        return
    dots = axes.scatter(
        chart.points[:, 0], chart.points[:, 1], c=chart.values, s=9, cmap=MAP, vmin=0,
        vmax=chart.top, linewidths=0, label=label,
    )  # fmt: skip
    side = axes.inset_axes((1.04, 0.0, 0.045, 1.0))
    bar = axes.figure.colorbar(dots, cax=side, extend="max", extendfrac=0.03)
    bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]
    side.tick_params(labelsize=SMALL, width=0.7, color=NOTE)
    side.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    side.yaxis.set_major_formatter(tick)
    axes.set_ylabel(str(chart.labels[1]))


def _draw_reason(reason: str, words: str | None, ax: GivenAxes) -> Figure:
    """Return a figure that states why there is nothing to draw: no network and no derivatives."""
    panels = open_panels(ax, 1, 1, who="plot_residual", what="one")
    axes = panels.axes[0]
    axes.set_axis_off()
    text = axes.text(
        0.5, 0.5, textwrap.fill(f"The error of the equations is unknown: {reason}", 68),
        ha="center", va="center", fontsize=SMALL, color=NOTE, transform=axes.transAxes,
    )  # fmt: skip
    as_written(text)
    return panels.finish("No residual network", [words or ""], (), sizes=[(5.0, 1.6)])
