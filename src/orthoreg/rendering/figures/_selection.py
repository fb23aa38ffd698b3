"""Draw errors of equations by number of terms, and the partial residual of a proposal."""

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

from ..._common.notation import left_side
from ...findings.charts import ErrorPath, ErrorPaths, shortened
from ._panels import GivenAxes, open_panels
from ._style import FITTED, GRID, INK, MEASURED, NOTE, RESIDUAL, panel_title, tick, tidy

_COLUMNS = 3
_MAX_TITLE = 40  # characters
_MAX_TICKS = 6


def draw_paths(chart: ErrorPaths, ax: GivenAxes = None) -> Figure:
    """Return a figure with a panel for each path, and with a ring around the terms in use."""
    count = len(chart.paths)
    columns = min(count, _COLUMNS)
    what = f"one for each of {count} equations"
    panels = open_panels(ax, count, columns, who="plot_selection", what=what)
    for i, (axes, path) in enumerate(zip(panels.axes, chart.paths, strict=True)):
        _draw_path(axes, path, chart.outer)
        panel_title(axes, _title(path))
        if i % columns == 0 or not panels.is_own:
            axes.set_ylabel("relative error")
        if i + columns >= count or not panels.is_own:
            axes.set_xlabel("number of terms")
        tidy(axes)
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    handles = [
        Line2D([], [], color=RESIDUAL, marker="o", markersize=4, linewidth=1.4, label=chart.outer),
        Line2D([], [], color=FITTED, marker="s", markersize=3.5, linewidth=1.1, linestyle="--",
               label="rows that were fitted"),
        Line2D([], [], linestyle="none", marker="o", color=INK, markersize=9,
               markerfacecolor="none", markeredgewidth=1.4, label="chosen"),
    ]  # fmt: skip
    size = (4.6, 2.8) if count == 1 else (2.9, 2.3)
    sizes = [size] * -(-count // columns)
    title = "Error of each equation by its number of terms"
    return panels.finish(title, [chart.note], handles, sizes=sizes)


def _draw_path(axes: Axes, path: ErrorPath, label: str) -> None:
    axes.fill_between(path.n_terms, path.low, path.high, color=RESIDUAL, alpha=0.2, linewidth=0)
    axes.plot(
        path.n_terms, path.outer, color=RESIDUAL, marker="o", markersize=4, linewidth=1.4,
        label=label,
    )  # fmt: skip
    axes.plot(
        path.n_terms, path.inner, color=FITTED, marker="s", markersize=3.5, linewidth=1.1,
        linestyle="--", label="rows that were fitted",
    )  # fmt: skip
    if path.used is not None:
        axes.plot(
            path.n_terms[path.used], path.outer[path.used], "o", color=INK, markersize=11,
            markerfacecolor="none", markeredgewidth=1.5, linestyle="none", label="chosen",
        )  # fmt: skip
    values = np.concatenate([path.outer, path.inner])
    low = max(path.low.min(), values.min() / 3) / 1.6  # a wide band may be cut off
    high = min(path.high.max(), values.max() * 3) * 1.6
    low, high = min(low, values.min() / 1.6), max(high, values.max() * 1.6)
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    axes.yaxis.set_major_locator(FixedLocator(_ticks(low, high)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(tick)
    axes.set_xlim(-0.4, float(path.n_terms[-1]) + 0.4)
    axes.grid(axis="y", color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)


def _ticks(low: float, high: float) -> list[float]:
    """Return at most about six ticks: powers of ten, or multiples of them.

    >>> _ticks(0.3, 4.0), _ticks(2e-7, 2.0)
    ([0.5, 1.0, 2.0], [1e-06, 0.0001, 0.01, 1.0])
    """
    first, last = int(np.floor(np.log10(low))), int(np.ceil(np.log10(high)))
    powers = range(first, last + 1)
    if high < 1000 * low:
        parts = (1, 2, 5) if high < 30 * low else (1, 3)
        every = [float(f"{part}e{power}") for power in powers for part in parts]
    else:
        step = -(-len(powers) // _MAX_TICKS)
        every = [float(f"1e{power}") for power in powers if power % step == 0]
    return [tick for tick in every if low <= tick <= high]


def _title(path: ErrorPath) -> str:
    """Return the terms in use, or their number if their names are long."""
    text, count = ", ".join(path.terms), len(path.terms)
    if not count or len(text) > _MAX_TITLE:
        text = f"{count} term{'' if count == 1 else 's'}"
    return f"{left_side(shortened(path.equation))}: {text}"


def draw_proposal(
    left: str, formula: str, note: str, residual: Float[np.ndarray, "N 2"], ax: GivenAxes = None
) -> Figure:
    """Return a plot of an equation's partial residual against the proposed terms.

    The columns of `residual` are the values of the terms, and the left side without the other
    terms.
    """
    panels = open_panels(ax, 1, 1, who="plot_proposal", what="one panel")
    axes = panels.axes[0]
    values, remainder = residual.T
    dots = axes.plot(values, remainder, ".", color=MEASURED, markersize=4, label="rows of the data")
    ends = np.array([values.min(), values.max()])
    line = axes.plot(ends, ends, color=FITTED, linewidth=1.4, label="proposal")
    axes.set_xlabel(shortened(formula))
    axes.set_ylabel(f"{left} without the other terms")
    axes.axhline(0.0, color=NOTE, linewidth=0.6)
    tidy(axes)
    title = f"{left} lacks {shortened(formula)}"
    return panels.finish(title, [note], [*dots, *line], sizes=[(4.6, 3.4)])
