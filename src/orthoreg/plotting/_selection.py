"""The path of a selection: what one more term brings, on the data that it was not fitted to."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter
from sklearn.utils.validation import check_is_fitted

from .._errors import InputError
from .._model import AbstractModel
from ..selection import EquationPath
from ._style import DATA, MODEL, RESIDUAL, labelled, new_figure, tidy

_MOST_EQUATIONS = 6
_COLUMNS = 3
_LONGEST = 45
_LEAST = 1e-7  # relative error that is drawn; below it is rounding


def plot_selection(model: AbstractModel) -> Figure:
    """Error against the number of terms, where they were fitted and where they were not.

    One panel per equation, with a mark at the chosen number. The band around the outer error is
    a standard error of its comparison with the best.
    """
    check_is_fitted(model)
    selected = model.selection_
    if selected is None:
        raise InputError(
            "plot_selection needs a model whose fit chose terms by a selection, as that of "
            "OrthoReg() does; a model file does not keep it."
        )
    paths = selected.paths[:_MOST_EQUATIONS]
    columns = min(len(paths), _COLUMNS)
    rows = -(-len(paths) // columns)
    figure = new_figure(4.4 * columns, 3.5 * rows + 0.4)
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes in grid.flat[len(paths) :]:
        axes.set_axis_off()
    for i, (axes, path) in enumerate(zip(grid.flat, paths, strict=False)):
        _draw_path(axes, path)
        axes.set_title(_title(model, i), fontsize=10)
        if i % columns == 0:
            axes.set_ylabel("relative error")
        if i + columns >= len(paths):
            axes.set_xlabel("number of terms")
    grid[0, 0].legend(frameon=False, fontsize=9)
    figure.suptitle("Does one more term hold where it was not fitted?", fontsize=11)
    return figure


def _draw_path(axes: Axes, path: EquationPath) -> None:
    outer = _root(path.outer)
    factor = np.exp(path.standard_error / np.maximum(path.outer, _LEAST**2) / 2)  # of the root
    axes.fill_between(
        path.n_terms, outer / factor, outer * factor, color=RESIDUAL, alpha=0.2, linewidth=0
    )
    axes.plot(
        path.n_terms, outer, color=RESIDUAL, marker="o", markersize=5, linewidth=1.5,
        label="outer part, not fitted",
    )  # fmt: skip
    axes.plot(
        path.n_terms, _root(path.inner), color=MODEL, marker="s", markersize=4, linewidth=1.2,
        linestyle="--", label="inner part, fitted",
    )  # fmt: skip
    axes.plot(
        path.n_terms[path.chosen], outer[path.chosen], "o", color=DATA, markersize=13,
        markerfacecolor="none", markeredgewidth=1.8, linestyle="none", label="chosen",
    )  # fmt: skip
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    if high < 100 * low:  # powers of ten alone would be too few
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(axis="y", color="#DDDDDD", linewidth=0.6)
    axes.set_axisbelow(True)
    tidy(axes)


def _title(model: AbstractModel, equation: int) -> str:
    """The chosen terms, or their number where their names are long."""
    terms = [name for name, used in zip(model.feature_names_, model.support_[equation], strict=True)
             if used]  # fmt: skip
    text = ", ".join(terms)
    if not terms or len(text) > _LONGEST:
        text = f"{len(terms)} terms"
    return labelled(f"{model.output_names_[equation]}': {text}", {})


def _root(squares: np.ndarray) -> np.ndarray:
    return np.sqrt(np.maximum(squares, _LEAST**2))
