"""A number at each measured state, over the two variables that tell most of it."""

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from .._model import AbstractModel
from ..data import Dataset
from ._choice import evenly
from ._pairs import velocities
from ._style import MAP, NOTE, RESIDUAL, SMALL, tick, variable_label

_POINTS = 4_000  # that are drawn
_BINS = 8  # of a variable, to see whether something depends on it
_DEPENDS = 0.1  # share of the variation that a variable's bins must tell apart


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
    i, j = _telling_pair(model, variables, values, equation)
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


def _telling_pair(
    model: AbstractModel,
    variables: Float[np.ndarray, "N V"],
    values: Float[np.ndarray, " N"],
    equation: int,
) -> tuple[int, int]:
    """The two variables whose bins tell most of the variation of the values; where none tells any,
    the state of the equation and its velocity or position."""
    count = variables.shape[1]
    if count == 2:
        return 0, 1
    told = np.array([_told_by(variables[:, k], values) for k in range(count)])
    best = np.argsort(-told, kind="stable")[:2]
    if told[best[0]] >= _DEPENDS or equation >= len(model.state_names_):
        first, second = sorted(int(k) for k in best)
        return first, second
    other = velocities(model)
    partner = other.get(equation, {j: i for i, j in other.items()}.get(equation))
    partner = (equation + 1) % len(model.state_names_) if partner is None else partner
    if partner == equation:  # one state, and inputs
        partner = 1
    return min(equation, partner), max(equation, partner)


def _told_by(variable: Float[np.ndarray, " N"], values: Float[np.ndarray, " N"]) -> float:
    """The correlation ratio: the variance of the values' means in bins, over their variance."""
    total = float(values.var())
    if not total > 0:
        return 0.0
    bins = np.argsort(np.argsort(variable, kind="stable"), kind="stable") * _BINS // len(variable)
    counts = np.maximum(np.bincount(bins, minlength=_BINS), 1)
    means = np.bincount(bins, values, minlength=_BINS) / counts
    between = float((counts * np.square(means - values.mean())).sum() / len(values))
    return between / total
