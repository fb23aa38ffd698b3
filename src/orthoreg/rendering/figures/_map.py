"""A number at each measured state, over the two variables that tell most of it."""

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from ...data import Dataset
from ...model.model import AbstractModel
from ..views import NOTE, RESIDUAL, evenly, telling_pair, tick, variable_label
from ._style import MAP, SMALL

_POINTS = 4_000  # that are drawn


def draw_map(
    axes: Axes,
    model: AbstractModel,
    rows: Dataset,
    equation: int,
    values: Float[np.ndarray, " N"],
    label: str,
    top: float,
) -> None:
    """The values over the two variables that tell most of them, large ones on top."""
    variables = rows.variables
    some = evenly(len(values), _POINTS)
    some = some[np.argsort(values[some], kind="stable")]
    if variables.shape[1] == 1:
        axes.plot(
            variables[some, 0], values[some], "o", color=RESIDUAL, markersize=2.6,
            markeredgewidth=0, label=label,
        )  # fmt: skip
        axes.set_ylim(0, 1.05 * max(float(values.max()), 1e-300))
        axes.set_ylabel(label)
        axes.set_xlabel(variable_label(rows, 0))
        return
    i, j = telling_pair(model, variables, values, equation)
    dots = axes.scatter(
        variables[some, i], variables[some, j], c=values[some], s=9, cmap=MAP, vmin=0, vmax=top,
        linewidths=0, label=label,
    )  # fmt: skip
    side = axes.inset_axes((1.04, 0.0, 0.045, 1.0))
    bar = axes.figure.colorbar(dots, cax=side, extend="max", extendfrac=0.03)
    bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]
    side.tick_params(labelsize=SMALL, width=0.7, color=NOTE)
    side.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    side.yaxis.set_major_formatter(tick)
    axes.set_xlabel(variable_label(rows, i))
    axes.set_ylabel(variable_label(rows, j))
