"""Where in the data the equations are not enough: the residual network, or else their error."""

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from ..._common.errors import DataError
from ...data import Dataset
from ...diagnostics import relative_error
from ...export import equation_names
from ...model.model import AbstractModel
from ..views import (
    NOTE,
    check_columns,
    chosen_names,
    largest,
    number,
    rows_of,
    share_shown,
    shortened,
)
from ._map import draw_map
from ._panels import open_panels
from ._style import SMALL, as_written, tidy

_MOST_EQUATIONS = 6
_COLUMNS = 3
_ROWS = 20_000  # that are looked at
_MOST_SHOWN = 0.99  # quantile of the values that the scale of colours ends at
_RESTS = 1e-9  # a derivative this small beside the state's size is rounding


@final
@dataclass(frozen=True, eq=False)
class _Sizes:
    """What is drawn of each equation at each row, and in words: the network's part, or where there
    is no network the error of the equations, relative to the size of the derivative.

    `share` is the root mean square of each column relative to that size, `error` that of the whole
    model over all equations, None where the runs are too short for derivatives. Without values
    there is a reason.
    """

    rows: Dataset
    word: str
    label: str
    values: Float[np.ndarray, "N c"] | None
    share: Float[np.ndarray, " c"]
    error: float | None
    reason: str = ""


def plot_residual(
    model: AbstractModel,
    data: Dataset,
    *,
    words: str | None = None,
    states: Sequence[str] | None = None,
    ax: Any = None,
) -> Figure:
    """The figure: size of the residual network at the measured states, a panel per equation that
    has one; without a network, the error of the equations against the measured derivatives.

    A panel is drawn over the two variables that tell most of it. Of many equations those with the
    largest share are shown, unless `states` names others. `words` are written under the title:
    what a summary says about the model. Nothing else is claimed than the numbers that stand there.

    `ax` takes Axes of your own, as many as there are panels, row by row; title and words are then
    yours to write. A figure that is made here does not enter pyplot: it is the return value,
    which a notebook shows.
    """
    check_columns(model, data, "plot_residual")
    names = model.output_names_
    labels = equation_names(names, model.velocity_of_)
    chosen = chosen_names(states, names, "plot_residual", "equations")
    sizes = _sizes(model, data)
    if sizes.values is None:
        return _say_why(sizes.reason, words, ax)
    learned = model.learned_equations()
    shown, which = _equations(sizes, chosen, learned)
    columns = min(len(shown), _COLUMNS)
    what = f"one for each of {len(shown)} equations"
    panels = open_panels(ax, len(shown), columns, who="plot_residual", what=what)
    for axes, c in zip(panels.axes, shown, strict=True):
        unit = _rate_unit(data, names[c]) if sizes.word == "residual" else ""
        text = f"{shortened(labels[c], 20)}'{unit}: {sizes.word} {number(sizes.share[c])}"
        as_written(axes.set_title(text, fontsize=SMALL, color=NOTE, y=1.0, pad=5))
        # errors are relative: one scale for all of them
        scale = sizes.values[:, [c] if sizes.word == "residual" else shown]
        # a few large values must not make all others pale
        top = max(float(np.quantile(scale, _MOST_SHOWN)), 1e-300)
        draw_map(axes, model, sizes.rows, c, sizes.values[:, c], sizes.label, top)
        tidy(axes)
    has_map = len(data.variable_names) > 1
    said = [
        f"{sizes.word} relative to the size of the derivative",
        f"colour: {sizes.label}" * has_map,
        share_shown(sizes.rows.n_samples, data.n_samples, "rows", ""),
    ]
    title, left = _title(sizes)
    notes = [
        words or "", share_shown(len(shown), len(learned), "equations", which),
        "; ".join(part for part in said if part), left,
    ]  # fmt: skip
    size = (4.0, 3.2) if len(shown) == 1 else (2.8, 2.5)
    every = [size] * -(-len(shown) // columns)
    return panels.finish(title, notes, (), sizes=every, right=0.74 if has_map else 0.16)


def _sizes(model: AbstractModel, data: Dataset) -> _Sizes:
    rows = rows_of(data, _ROWS)
    with np.errstate(all="ignore"):
        symbolic, neural = (
            np.asarray(part).reshape(rows.n_samples, -1) for part in model.decompose(rows)
        )
        whole = symbolic + neural
        size, error, missed, reason = _root_mean_square(whole), None, None, ""
        if model.output_names_ != model.state_names_:
            reason = "the model's targets are no derivatives of its states."
        else:
            try:
                slopes = np.asarray(model.target_derivatives(rows))
            except DataError as problem:
                reason = str(problem)
            else:
                time = float(np.ptp(rows.times)) or 1.0
                least = _RESTS * np.abs(rows.states).max(axis=0) / time
                size = np.maximum(_root_mean_square(slopes), least)
                learned = model.learned_equations()
                error = relative_error(whole[:, learned], slopes[:, learned])
                error = error if math.isfinite(error) else math.inf
                missed = symbolic - slopes
        size = np.where(size > 0, size, 1.0)
        if neural.any():
            share = _root_mean_square(neural) / size
            return _Sizes(rows, "residual", "|residual|", _finite(neural), share, error)
        if missed is None:
            return _Sizes(rows, "error", "", None, size, None, reason)
        missed = missed / size
        share = _root_mean_square(missed)
        return _Sizes(rows, "error", "|error| / size", _finite(missed), share, error)


def _root_mean_square(values: Float[np.ndarray, "N c"]) -> Float[np.ndarray, " c"]:
    """Of each column; infinite where a value is undefined."""
    return np.sqrt(np.square(np.where(np.isfinite(values), values, np.inf)).mean(axis=0))


def _finite(values: Float[np.ndarray, "N c"]) -> Float[np.ndarray, "N c"]:
    """Sizes to draw: an undefined one is as large as the largest."""
    known = np.isfinite(values)
    largest_known = float(np.abs(values[known]).max()) if known.any() else 1.0
    return np.where(known, np.abs(values), largest_known)


def _equations(
    sizes: _Sizes, chosen: list[int] | None, learned: list[int]
) -> tuple[list[int], str]:
    """Those that the caller chose, or the largest of those that were learned, and why these."""
    if chosen is not None:
        return chosen, ", as asked"
    share = sizes.share[learned]
    there = int(np.count_nonzero(share)) if sizes.word == "residual" else len(share)
    shown = [learned[i] for i in largest(share, min(there, _MOST_EQUATIONS))]
    if there == len(shown):
        return shown, ": the others have no residual"
    return shown, f": those with the largest {sizes.word}"


def _title(sizes: _Sizes) -> tuple[str, str]:
    """The title, and what is left where there is a network."""
    if sizes.word == "error":
        said = f"error of the equations {number(sizes.error or 0.0)} of the derivative's size"
        return f"No residual network: {said}", ""
    left = ""
    if sizes.error is not None:
        left = f"equations and network together: error {number(sizes.error)}"
    return "Residual network at the measured states", left


def _rate_unit(data: Dataset, name: str) -> str:
    """' [rad/s]' where both units are known."""
    unit, time = data.units.get(name), data.units.get(data.time_name)
    return f" [{unit}/{time}]" if unit and time else ""


def _say_why(reason: str, words: str | None, ax: Any) -> Figure:
    """No network and no derivatives: there is nothing to draw, and the reason is said."""
    panels = open_panels(ax, 1, 1, who="plot_residual", what="one")
    axes = panels.axes[0]
    axes.set_axis_off()
    text = axes.text(
        0.5, 0.5, textwrap.fill(f"The error of the equations is not known here: {reason}", 68),
        ha="center", va="center", fontsize=SMALL, color=NOTE, transform=axes.transAxes,
    )  # fmt: skip
    as_written(text)
    return panels.finish("No residual network", [words or ""], (), sizes=[(5.0, 1.6)])
