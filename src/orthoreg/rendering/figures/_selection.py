"""The path of a selection: what one more term brings."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

from ..._common.errors import InputError
from ..._common.scikit import check_is_fitted
from ...export import equation_names
from ...model.model import AbstractModel
from ...search.rows import EquationPath, InformationCriterion
from ..views import (
    FITTED,
    GRID,
    INK,
    NOTE,
    RESIDUAL,
    chosen_names,
    largest,
    share_shown,
    shortened,
    tick,
)
from ._panels import open_panels
from ._style import SMALL, as_written, tidy

_MOST_EQUATIONS = 6
_COLUMNS = 3
_LONGEST = 40
_MOST_TICKS = 6
_LEAST = 1e-7  # relative error that is drawn; below it is rounding


def plot_selection(
    model: AbstractModel, *, states: Sequence[str] | None = None, ax: Any = None
) -> Figure:
    """The figure: error against the number of terms, on the rows that were fitted and on those that
    were not, a panel per equation with a ring around the chosen number.

    The band around the error on rows that were not fitted is a standard error of its comparison
    with the best; an `InformationCriterion` holds no rows out and has its penalised error there.
    Of many equations those with the largest error are shown, unless `states` names others.

    `ax` takes Axes of your own, as many as there are panels, row by row. A figure that is made
    here does not enter pyplot: it is the return value, which a notebook shows.
    """
    check_is_fitted(model)
    selected = model.selection_
    if selected is None:
        raise InputError(
            "plot_selection needs a model whose fit chose terms by a selection, as that of "
            "OrthoReg() does; older model files do not keep it."
        )
    names = model.output_names_
    shown = chosen_names(states, names, "plot_selection", "equations")
    which = ", as asked"
    learned = model.learned_equations()
    if shown is None:
        errors = np.array([selected.paths[c].outer[selected.paths[c].chosen] for c in learned])
        shown = [learned[i] for i in largest(errors, _MOST_EQUATIONS)]
        which = ": those with the largest error"
    columns = min(len(shown), _COLUMNS)
    panels = open_panels(
        ax, len(shown), columns, who="plot_selection",
        what=f"one for each of {len(shown)} equations",
    )  # fmt: skip
    # the one rule that fits all rows: what it compares is no error on others
    is_penalised = isinstance(getattr(model, "selection", None), InformationCriterion)
    outer = "error with the penalty for terms" if is_penalised else "rows that were not fitted"
    for i, (axes, c) in enumerate(zip(panels.axes, shown, strict=True)):
        _draw_path(axes, selected.paths[c], outer)
        as_written(axes.set_title(_title(model, c), fontsize=SMALL, color=NOTE, y=1.0, pad=5))
        if i % columns == 0 or not panels.is_own:
            axes.set_ylabel("relative error")
        if i + columns >= len(shown) or not panels.is_own:
            axes.set_xlabel("number of terms")
        tidy(axes)
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    handles = [
        Line2D([], [], color=RESIDUAL, marker="o", markersize=4, linewidth=1.4, label=outer),
        Line2D([], [], color=FITTED, marker="s", markersize=3.5, linewidth=1.1, linestyle="--",
               label="rows that were fitted"),
        Line2D([], [], linestyle="none", marker="o", color=INK, markersize=9,
               markerfacecolor="none", markeredgewidth=1.4, label="chosen"),
    ]  # fmt: skip
    note = share_shown(len(shown), len(learned), "equations", which)
    size = (4.6, 2.8) if len(shown) == 1 else (2.9, 2.3)
    sizes = [size] * -(-len(shown) // columns)
    title = "Error of each equation by its number of terms"
    return panels.finish(title, [note], handles, sizes=sizes)


def _draw_path(axes: Axes, path: EquationPath, label: str) -> None:
    outer = _root(path.outer)
    factor = np.exp(path.standard_error / np.maximum(path.outer, _LEAST**2) / 2)  # of the root
    axes.fill_between(
        path.n_terms, outer / factor, outer * factor, color=RESIDUAL, alpha=0.2, linewidth=0
    )
    axes.plot(
        path.n_terms, outer, color=RESIDUAL, marker="o", markersize=4, linewidth=1.4, label=label
    )
    axes.plot(
        path.n_terms, _root(path.inner), color=FITTED, marker="s", markersize=3.5, linewidth=1.1,
        linestyle="--", label="rows that were fitted",
    )  # fmt: skip
    axes.plot(
        path.n_terms[path.chosen], outer[path.chosen], "o", color=INK, markersize=11,
        markerfacecolor="none", markeredgewidth=1.5, linestyle="none", label="chosen",
    )  # fmt: skip
    values = np.concatenate([outer, _root(path.inner)])
    low = max((outer / factor).min(), values.min() / 3) / 1.6  # a wide band may be cut
    high = min((outer * factor).max(), values.max() * 3) * 1.6
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
    """Powers of ten, some of them, or with others between; at most six or so.

    >>> _ticks(0.3, 4.0), _ticks(2e-7, 2.0)
    ([0.5, 1.0, 2.0], [1e-06, 0.0001, 0.01, 1.0])
    """
    first, last = int(np.floor(np.log10(low))), int(np.ceil(np.log10(high)))
    powers = range(first, last + 1)
    if high < 1000 * low:
        parts = (1, 2, 5) if high < 30 * low else (1, 3)
        every = [float(f"{part}e{power}") for power in powers for part in parts]
    else:
        step = -(-len(powers) // _MOST_TICKS)
        every = [float(f"1e{power}") for power in powers if power % step == 0]
    return [tick for tick in every if low <= tick <= high]


def _title(model: AbstractModel, equation: int) -> str:
    """The chosen terms, or their number where their names are long."""
    terms = [name for name, used in zip(model.feature_names_, model.support_[equation], strict=True)
             if used]  # fmt: skip
    text = ", ".join(terms)
    if not terms or len(text) > _LONGEST:
        text = f"{len(terms)} term{'' if len(terms) == 1 else 's'}"
    label = equation_names(model.output_names_, model.velocity_of_)[equation]
    return f"{shortened(label)}': {text}"


def _root(squares: Float[np.ndarray, " M"]) -> Float[np.ndarray, " M"]:
    return np.sqrt(np.maximum(squares, _LEAST**2))
