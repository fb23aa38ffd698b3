"""Where in state space the network is large, where the data lie, and where they end."""

from typing import Any

import numpy as np
from jaxtyping import Float

from ...data import Dataset
from ...export import equation_names
from ..views import evenly, share_shown, telling_pair, variable_label
from ._data import ResidualMap
from ._numbers import short
from ._phase import span

_GRID = 44
_FEWEST_ROWS = 100  # that have a density
_MOST = 4  # equations
_POINTS = 500
_HELD = (0.5, 0.9)  # shares of the data that the lines of density enclose
_BLUR = 1.3  # cells


def residual_maps(model: Any, rows: Dataset) -> tuple[tuple[ResidualMap, ...], str]:
    """A map for each equation that has a network, and a note; empty without a network."""
    if not model.field_.has_residual:
        return (), ""
    with np.errstate(all="ignore"):
        _, neural = model.decompose(rows)
    sizes = np.sqrt(np.square(neural).mean(axis=0))
    chosen = [c for c in model.learned_equations() if sizes[c] > 0]
    shown = [chosen[i] for i in np.argsort(-sizes[chosen], kind="stable")[:_MOST]]
    maps = [_network(model, rows, c, np.abs(neural[:, c])) for c in shown]
    return tuple(maps), share_shown(len(shown), len(chosen), "equations", "")


def _network(model: Any, rows: Dataset, c: int, sizes: Float[np.ndarray, " N"]) -> ResidualMap:
    variables = rows.variables
    what = "size of the network's part"
    if variables.shape[1] == 1:
        grid, neural = _on_grid(model, rows, (0,), _GRID * 3)
        return _line(model, rows, c, grid[:, 0], np.abs(neural[:, c]), what)
    i, j = telling_pair(model, variables, sizes, c)
    grid, neural = _on_grid(model, rows, (i, j), _GRID)
    values = np.abs(neural[:, c]).reshape(_GRID, _GRID)
    return _map(model, rows, c, (i, j), grid, values, what)


def _on_grid(
    model: Any, rows: Dataset, places: tuple[int, ...], side: int
) -> tuple[np.ndarray, np.ndarray]:
    """Points over these variables, the others at their mean, and the network there."""
    low, high = span(rows.variables[:, list(places)], 0.15)
    lines = [np.linspace(low[k], high[k], side) for k in range(len(places))]
    grid = np.stack(np.meshgrid(*lines), axis=-1).reshape(-1, len(places))
    points = np.tile(rows.variables.mean(axis=0), (len(grid), 1))
    points[:, list(places)] = grid
    with np.errstate(all="ignore"):
        return grid, np.asarray(model.field_.neural(points))


def _map(
    model: Any,
    rows: Dataset,
    c: int,
    places: tuple[int, int],
    grid: Float[np.ndarray, "G 2"],
    values: Float[np.ndarray, "r c"],
    what: str,
) -> ResidualMap:
    i, j = places
    variables = rows.variables
    x, y = np.unique(grid[:, 0]), np.unique(grid[:, 1])
    fine = [np.linspace(at[0], at[-1], _GRID) for at in (x, y)]
    density = np.zeros((0, 0))
    if len(variables) >= _FEWEST_ROWS:
        density = _density(variables[:, i], variables[:, j], *fine)
    distance = None
    region = model.field_.region
    if region is not None:
        points = np.tile(variables.mean(axis=0), (_GRID * _GRID, 1))
        points[:, [i, j]] = np.stack(np.meshgrid(*fine), axis=-1).reshape(-1, 2)
        found = np.minimum(region.distance(points), 5.0).reshape(_GRID, _GRID)
        if found.min() < 1 < found.max():  # else the edge is not on the map
            distance = short(found, 3)
    some = evenly(len(variables), _POINTS)
    label = equation_names(model.output_names_, model.velocity_of_)[c]
    return ResidualMap(
        f"{label}'",
        variable_label(rows, i),
        variable_label(rows, j),
        short(x),
        short(y),
        short(values, 3),
        short(fine[0]),
        short(fine[1]),
        short(density, 3),
        short(_levels(density)) if density.size else [],
        distance,
        short(variables[some, i]),
        short(variables[some, j]),
        what,
    )


def _line(
    model: Any, rows: Dataset, c: int, x: np.ndarray, values: np.ndarray, what: str
) -> ResidualMap:
    order = np.argsort(x, kind="stable")
    order = order[evenly(len(order), 600)]
    label = equation_names(model.output_names_, model.velocity_of_)[c]
    some = evenly(rows.n_samples, _POINTS)
    return ResidualMap(
        f"{label}'", variable_label(rows, 0), "", short(x[order]), [], short(values[order]), [],
        [], [], [], None, short(rows.variables[some, 0]), [], what,
    )  # fmt: skip


def _density(
    x: np.ndarray, y: np.ndarray, columns: np.ndarray, lines: np.ndarray
) -> Float[np.ndarray, "r c"]:
    """Where the data lie, blurred by about a cell; at most one."""
    edges = [
        np.concatenate([[-np.inf], (at[1:] + at[:-1]) / 2, [np.inf]]) for at in (columns, lines)
    ]
    place = [np.clip(np.searchsorted(edge, v) - 1, 0, len(edge) - 2)
             for edge, v in zip(edges, (x, y), strict=True)]  # fmt: skip
    count = np.zeros((len(lines), len(columns)))
    np.add.at(count, (place[1], place[0]), 1.0)
    count = _blurred(count)
    return count / max(float(count.max()), 1e-300)


def _blurred(count: Float[np.ndarray, "r c"]) -> Float[np.ndarray, "r c"]:
    """`scipy.ndimage.gaussian_filter(count, _BLUR)`, whose import takes longer than the page."""
    radius = round(4 * _BLUR)
    kernel = np.exp(-0.5 * (np.arange(-radius, radius + 1) / _BLUR) ** 2)
    kernel /= kernel.sum()
    for axis in (0, 1):
        width = [(radius, radius) if k == axis else (0, 0) for k in (0, 1)]
        padded = np.pad(count, width, mode="symmetric")
        count = np.lib.stride_tricks.sliding_window_view(padded, len(kernel), axis) @ kernel
    return count


def _levels(density: Float[np.ndarray, "r c"]) -> list[float]:
    """The levels whose lines enclose half of the data and most of them."""
    ordered = np.sort(density.ravel())[::-1]
    held = np.cumsum(ordered) / max(float(ordered.sum()), 1e-300)
    return [
        float(ordered[min(int(np.searchsorted(held, share)), len(held) - 1)]) for share in _HELD
    ]
