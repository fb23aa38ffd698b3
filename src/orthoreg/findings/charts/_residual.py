"""Maps of the network, or of the equations' error, over the states; errors against variables."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float, Int

from ..._common.notation import left_side, rate_unit
from ...data import Dataset
from ...diagnostics import relative_error
from ._choice import (
    PAGE,
    PICTURE,
    AbstractFittedModel,
    Label,
    Slopes,
    bounds_of,
    chosen_names,
    equation_labels,
    evenly,
    largest,
    share_shown,
    slopes_of,
    variable_labels,
)
from ._phase import informative_pair

_GRID = 44
_MIN_DENSITY_ROWS = 100
_MAP_POINTS = 500  # measured states on a map in a page
_DENSITY_SHARES = (0.5, 0.9)  # shares of the data inside the density contours
_BLUR = 1.3  # cells
_MAX_DISTANCE = 5.0  # maximum distance, in units of the trust region's edge
_PICTURE_POINTS = 4_000  # measured states on a map in a picture
_COLOUR_QUANTILE = 0.99  # quantile of the values at which the colour scale ends
_REST = 1e-9  # share of the state's size per duration of the data: smaller derivatives are rounding
_MAX_VARIABLES = 6
_ERROR_POINTS = 350
_MAX_BINS = 14
_MIN_BIN_ROWS = 4
_MAX_LAGS = 40
_ROUNDING = 1e-7  # of the derivative's size

_ERRORS_NOTE = (
    "Errors are relative to the size of each derivative. Derivatives are estimated from "
    "neighbouring rows, so their errors are correlated over a few rows. Correlation at small lags "
    "alone is therefore no evidence against the equations."
)
_MAP_ERRORS_NOTE = (
    "Errors are relative to the size of each next value. The noise of a row affects its own error "
    "and that of the next row. Correlation at lag one alone is therefore no evidence against the "
    "equations."
)


@final
@dataclass(frozen=True, eq=False)
class StateMap:
    """Values of one equation at measured states, over one or two variables, in increasing order.

    The colour scale ends at `top`, and `share` is the root mean square over all rows.
    """

    equation: str
    rate_unit: str
    labels: tuple[Label, ...]
    points: Float[np.ndarray, "N d"]
    values: Float[np.ndarray, " N"]
    top: float
    share: float


@final
@dataclass(frozen=True, eq=False)
class StateMaps:
    """The contribution of the network at measured states.

    Without a network, `kind` is "error", and the values are errors of the equations relative to the
    derivative. `error` is the error of the whole model, or None if it is unknown for the reason
    `reason`.
    """

    maps: tuple[StateMap, ...]
    kind: str
    error: float | None
    reason: str
    equations_note: str = ""
    rows_note: str = ""


@final
@dataclass(frozen=True, eq=False)
class NetworkMap:
    """Size of the network in one equation over two variables, or over one if `y` is empty.

    On the same grid are the `density` of the data and the `distance` from them, in units of the
    trust region's edge.
    """

    equation: str
    x_label: Label
    y_label: Label | None
    x: Float[np.ndarray, " _"]
    y: Float[np.ndarray, " _"]
    values: Float[np.ndarray, "..."]
    density: Float[np.ndarray, "_ _"]
    levels: Float[np.ndarray, " _"]
    distance: Float[np.ndarray, "_ _"] | None
    points_x: Float[np.ndarray, " M"]
    points_y: Float[np.ndarray, " _"]


@final
@dataclass(frozen=True, eq=False)
class Against:
    """Errors against one variable: a sample of points, and means over bins with 95% intervals."""

    label: Label
    x: Float[np.ndarray, " M"]
    y: Float[np.ndarray, " M"]
    bins: Float[np.ndarray, " b"]
    means: Float[np.ndarray, " b"]
    errors: Float[np.ndarray, " b"]


@final
@dataclass(frozen=True, eq=False)
class Diagnostics:
    """Errors of one equation: their autocorrelation, and the errors against each variable.

    The autocorrelation of white noise lies within `white`.
    """

    equation: str
    lags: Int[np.ndarray, " L"]
    correlation: Float[np.ndarray, " L"]
    white: float
    against: tuple[Against, ...]


def state_maps(
    model: AbstractFittedModel, data: Dataset, states: Sequence[str] | None
) -> StateMaps:
    """Return maps at the measured states, for the equations in `states` or those with the largest
    values.
    """
    names = model.output_names_
    chosen = chosen_names(states, names, "plot_residual", "equations")
    slopes = slopes_of(model, data, PICTURE.rows)
    rows, learned = slopes.rows, model.learned_equations()
    with np.errstate(all="ignore"):
        parts = model.decompose(rows)
        symbolic, neural = (np.asarray(part).reshape(rows.n_samples, -1) for part in parts)
        total = symbolic + neural
        error = None
        size = _root_mean_square(total)
        if slopes.values is not None:
            time = float(np.ptp(rows.times)) or 1.0
            floor = _REST * np.abs(rows.states).max(axis=0) / time
            size = np.maximum(_root_mean_square(slopes.values), floor)
            error = relative_error(total[:, learned], slopes.values[:, learned])
            error = error if math.isfinite(error) else math.inf
        size = np.where(size > 0, size, 1.0)
        if neural.any():
            kind, values = "residual", _drawn(neural)
            share = _root_mean_square(neural) / size
        elif slopes.values is None:
            return StateMaps((), "error", None, slopes.reason)
        else:
            missed = (symbolic - slopes.values) / size
            kind, values, share = "error", _drawn(missed), _root_mean_square(missed)
    reason = ", as requested"
    if chosen is None:
        there = int(np.count_nonzero(share[learned])) if kind == "residual" else len(learned)
        chosen = [learned[i] for i in largest(share[learned], min(there, PICTURE.equations))]
        reason = f": those with the largest {kind}"
        if there == len(chosen):
            reason = ": the others have no residual"
    maps = tuple(
        # errors are relative, so all of them share one colour scale
        _state_map(model, rows, c, values, share, [c] if kind == "residual" else chosen)
        for c in chosen
    )
    return StateMaps(
        maps,
        kind,
        error,
        "",
        share_shown(len(chosen), len(learned), "equations", reason),
        share_shown(rows.n_samples, data.n_samples, "rows", ""),
    )


def _state_map(
    model: AbstractFittedModel,
    rows: Dataset,
    equation: int,
    values: Float[np.ndarray, "N c"],
    share: Float[np.ndarray, " c"],
    scale: list[int],
) -> StateMap:
    shown, variables = values[:, equation], rows.variables
    places = [0]
    if variables.shape[1] > 1:
        places = list(informative_pair(model, variables, shown, equation))
    some = evenly(len(shown), _PICTURE_POINTS)
    some = some[np.argsort(shown[some], kind="stable")]
    labels = variable_labels(rows)
    unit, time = rows.units.get(model.output_names_[equation]), rows.units.get(rows.time_name)
    return StateMap(
        equation_labels(model)[equation],
        f" [{rate_unit(unit, time)}]" if unit and time else "",
        tuple(labels[k] for k in places),
        variables[some][:, places],
        shown[some],
        # so that a few large values do not fade all others
        max(float(np.quantile(values[:, scale], _COLOUR_QUANTILE)), 1e-300),
        float(share[equation]),
    )


def _root_mean_square(values: Float[np.ndarray, "N c"]) -> Float[np.ndarray, " c"]:
    """Return the root mean square of each column, infinite if a value is undefined."""
    return np.sqrt(np.square(np.where(np.isfinite(values), values, np.inf)).mean(axis=0))


def _drawn(values: Float[np.ndarray, "N c"]) -> Float[np.ndarray, "N c"]:
    """Return absolute values, with undefined values replaced by the largest."""
    known = np.isfinite(values)
    top = float(np.abs(values[known]).max()) if known.any() else 1.0
    return np.where(known, np.abs(values), top)


def network_maps(model: AbstractFittedModel, rows: Dataset) -> tuple[tuple[NetworkMap, ...], str]:
    """Return a map for each equation with a network, and a note.

    Both are empty without a network.
    """
    if not model.field_.has_residual:
        return (), ""
    with np.errstate(all="ignore"):
        _, neural = model.decompose(rows)
    sizes = np.sqrt(np.square(neural).mean(axis=0))
    chosen = [c for c in model.learned_equations() if sizes[c] > 0]
    order = np.argsort(-sizes[chosen], kind="stable")[: PAGE.equations]
    maps = [_network_map(model, rows, chosen[i], np.abs(neural[:, chosen[i]])) for i in order]
    return tuple(maps), share_shown(len(maps), len(chosen), "equations", "")


def _network_map(
    model: AbstractFittedModel, rows: Dataset, c: int, sizes: Float[np.ndarray, " N"]
) -> NetworkMap:
    variables, labels = rows.variables, variable_labels(rows)
    some = evenly(len(variables), _MAP_POINTS)
    empty, none = np.zeros(0), np.zeros((0, 0))
    equation = left_side(equation_labels(model)[c])
    if variables.shape[1] == 1:
        (x,), neural = _network_on_grid(model, rows, (0,), _GRID * 3)
        return NetworkMap(
            equation, labels[0], None, x, empty, np.abs(neural[:, c]), none, empty, None,
            variables[some, 0], empty,
        )  # fmt: skip
    i, j = informative_pair(model, variables, sizes, c)
    (x, y), neural = _network_on_grid(model, rows, (i, j), _GRID)
    density = none
    if len(variables) >= _MIN_DENSITY_ROWS:
        density = _density(variables[:, i], variables[:, j], x, y)
    distance = None
    region = model.field_.region
    if region is not None:
        points = np.tile(variables.mean(axis=0), (_GRID * _GRID, 1))
        points[:, [i, j]] = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
        reach = np.minimum(region.distance(points), _MAX_DISTANCE).reshape(_GRID, _GRID)
        # only if the edge lies on the map
        distance = reach if reach.min() < 1 < reach.max() else None
    return NetworkMap(
        equation, labels[i], labels[j], x, y, np.abs(neural[:, c]).reshape(_GRID, _GRID), density,
        _levels(density), distance, variables[some, i], variables[some, j],
    )  # fmt: skip


def _network_on_grid(
    model: AbstractFittedModel, rows: Dataset, places: tuple[int, ...], side: int
) -> tuple[list[np.ndarray], np.ndarray]:
    """Return axes over these variables, and the network on their grid with other variables at their
    mean.
    """
    low, high = bounds_of(rows.variables[:, list(places)], 0.15)
    lines = [np.linspace(low[k], high[k], side) for k in range(len(places))]
    grid = np.stack(np.meshgrid(*lines), axis=-1).reshape(-1, len(places))
    points = np.tile(rows.variables.mean(axis=0), (len(grid), 1))
    points[:, list(places)] = grid
    with np.errstate(all="ignore"):
        return lines, np.asarray(model.field_.neural(points))


def _density(
    x: np.ndarray, y: np.ndarray, columns: np.ndarray, lines: np.ndarray
) -> Float[np.ndarray, "r c"]:
    """Return the density of the data on the grid, blurred by about one cell and at most 1."""
    edges = [
        np.concatenate([[-np.inf], (at[1:] + at[:-1]) / 2, [np.inf]]) for at in (columns, lines)
    ]
    cell = [np.clip(np.searchsorted(edge, v) - 1, 0, len(edge) - 2)
             for edge, v in zip(edges, (x, y), strict=True)]  # fmt: skip
    count = np.zeros((len(lines), len(columns)))
    np.add.at(count, (cell[1], cell[0]), 1.0)
    count = _blurred(count)
    return count / max(float(count.max()), 1e-300)


def _blurred(count: Float[np.ndarray, "r c"]) -> Float[np.ndarray, "r c"]:
    """Return `scipy.ndimage.gaussian_filter(count, _BLUR)`.

    Importing that function takes longer than writing the page.
    """
    radius = round(4 * _BLUR)
    kernel = np.exp(-0.5 * (np.arange(-radius, radius + 1) / _BLUR) ** 2)
    kernel /= kernel.sum()
    for axis in (0, 1):
        width = [(radius, radius) if k == axis else (0, 0) for k in (0, 1)]
        padded = np.pad(count, width, mode="symmetric")
        count = np.lib.stride_tricks.sliding_window_view(padded, len(kernel), axis) @ kernel
    return count


def _levels(density: Float[np.ndarray, "r c"]) -> Float[np.ndarray, " _"]:
    """Return the levels whose contours enclose the shares `_DENSITY_SHARES` of the data."""
    if not density.size:
        return np.zeros(0)
    ordered = np.sort(density.ravel())[::-1]
    held = np.cumsum(ordered) / max(float(ordered.sum()), 1e-300)
    last = len(held) - 1
    return np.array(
        [ordered[min(int(np.searchsorted(held, share)), last)] for share in _DENSITY_SHARES]
    )


def diagnostics_of(
    model: AbstractFittedModel, slopes: Slopes
) -> tuple[tuple[Diagnostics, ...], str]:
    """Return the errors of the learned equations against lags and variables, and a note."""
    if slopes.values is None:
        return (), f"The errors of the derivatives are unknown: {slopes.reason}"
    rows, targets = slopes.rows, slopes.values
    with np.errstate(all="ignore"):
        errors = targets - np.asarray(model.predict(rows))
    size = np.sqrt(np.square(targets).mean(axis=0))
    errors = errors / np.where(size > 0, size, 1.0)
    errors = np.where(np.isfinite(errors), errors, 0.0)
    learned = model.learned_equations()
    total = np.sqrt(np.square(errors).mean(axis=0))
    shown = [learned[i] for i in np.argsort(-total[learned], kind="stable")[: PAGE.equations]]
    labels = equation_labels(model)
    result = tuple(_diagnostics(rows, errors[:, c], left_side(labels[c])) for c in shown)
    note = share_shown(len(shown), len(learned), "equations", ": those with the largest error")
    general = _MAP_ERRORS_NOTE if rows.discrete else _ERRORS_NOTE
    exact = [labels[c] for c in shown if total[c] < _ROUNDING]
    if exact:
        note = f"{note} {', '.join(exact)}: these errors are rounding.".strip()
    return result, f"{general} {note}".strip()


def _diagnostics(rows: Dataset, errors: Float[np.ndarray, " N"], equation: str) -> Diagnostics:
    correlation = _autocorrelation(rows, errors)
    against = tuple(
        _against(label, variable, errors)
        for label, variable in list(zip(variable_labels(rows), rows.variables.T, strict=True))[
            :_MAX_VARIABLES
        ]
    )
    white = 1.96 / np.sqrt(max(len(errors), 1))
    return Diagnostics(equation, np.arange(len(correlation)), correlation, float(white), against)


def _autocorrelation(rows: Dataset, errors: Float[np.ndarray, " N"]) -> Float[np.ndarray, " lags"]:
    """Return the autocorrelation over all runs, relative to the overall mean."""
    longest = int(rows.run_lengths.max())
    lags = min(_MAX_LAGS, max(longest // 3, 1))
    centred = errors - errors.mean()
    total = float(np.square(centred).sum())
    result = np.zeros(lags + 1)
    run = rows.run_of_row
    for lag in range(lags + 1):
        end = len(centred) - lag
        same = run[:end] == run[lag:]
        result[lag] = float((centred[:end] * centred[lag:])[same].sum())
    return result / max(total, 1e-300)


def _against(
    label: Label, variable: Float[np.ndarray, " N"], errors: Float[np.ndarray, " N"]
) -> Against:
    some = evenly(len(errors), _ERROR_POINTS)
    order = np.argsort(variable, kind="stable")
    bins = int(np.clip(len(errors) // (2 * _MIN_BIN_ROWS), 2, _MAX_BINS))
    parts = [part for part in np.array_split(order, bins) if len(part) >= _MIN_BIN_ROWS]
    centres = np.array([variable[part].mean() for part in parts])
    means = np.array([errors[part].mean() for part in parts])
    std = np.array([errors[part].std() / np.sqrt(len(part)) for part in parts])
    return Against(label, variable[some], errors[some], centres, means, 1.96 * std)
