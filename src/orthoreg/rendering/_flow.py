"""Streamlines of a planar flow, integrated all at once.

Matplotlib's `streamplot` integrates lines one by one in Python and draws each arrow as an object.
That takes ten times as long (0.3 s per panel).
"""

import numpy as np
from jaxtyping import Complex, Float, Int

_STEP = 0.015  # step along a line, as a share of the panel
_STEPS = 60  # maximum number of steps on each side of a seed
_CELLS = 26  # cells per side; two lines never share a cell
_SHORTEST = 10  # minimum number of steps of a line that is drawn
_HEAD = 0.022  # length of an arrow, in panel heights
_SEEDS = 13  # seeds per side; a second round with a seed in each cell fills gaps


def streamlines(
    velocity: Float[np.ndarray, "rows columns 2"],
) -> list[Float[np.ndarray, "points 2"]]:
    """Return evenly spaced lines along the flow over the unit square.

    `velocity` is given on a regular grid, [row, column] at (y, x), in panel widths and heights per
    time. Lines end where the velocity is not finite.
    """
    flow = velocity[..., 0] + 1j * velocity[..., 1]
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        speed = np.abs(flow)
        direction = np.where(speed > 0, flow / speed, 0.0)
    taken: set[int] = set()
    lines = []
    for seeds in (_grid(_SEEDS), _grid(_CELLS)):
        seeds = seeds[[cell not in taken for cell in _cells(seeds).tolist()]]
        # points are complex numbers; each seed is followed forwards and backwards at once
        paths, lengths = _follow(direction, np.concatenate([seeds, seeds]))
        cells = _cells(paths).T.tolist()
        for i, j in zip(range(len(seeds)), range(len(seeds), 2 * len(seeds)), strict=True):
            if cells[i][0] in taken:
                continue
            visited = {cells[i][0]}
            onwards = _walk(cells[i][: lengths[i]], taken, visited)
            backwards = _walk(cells[j][: lengths[j]], taken, visited)
            if onwards + backwards > _SHORTEST:
                taken |= visited
                line = np.concatenate([paths[backwards - 1 : 0 : -1, j], paths[:onwards, i]])
                lines.append(np.column_stack([np.real(line), np.imag(line)]))
    return lines


def arrowheads(
    lines: list[Float[np.ndarray, "points 2"]], aspect: float
) -> Float[np.ndarray, "lines 3 2"]:
    """Return a triangle in the middle of each line. `aspect` is the panel's width over its
    height.
    """
    scale = np.array([aspect, 1.0])
    middle = np.array([line[len(line) // 2] for line in lines]).reshape(-1, 2) * scale
    before = np.array([line[len(line) // 2 - 1] for line in lines]).reshape(-1, 2) * scale
    along = middle - before
    along *= _HEAD / np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-12)
    across = 0.38 * along[:, ::-1] * [1.0, -1.0]
    corners = [middle + 0.5 * along, middle - 0.5 * along + across, middle - 0.5 * along - across]
    return np.stack(corners, axis=1) / scale


def _grid(side: int) -> Complex[np.ndarray, " seeds"]:
    """Return the centres of equal squares, sorted by distance from the middle of the panel."""
    places = (np.arange(side) + 0.5) / side
    seeds = (places[:, None] + 1j * places).ravel()
    away = np.maximum(np.abs(seeds.real - 0.5), np.abs(seeds.imag - 0.5))
    return seeds[np.argsort(away, kind="stable")]


def _cells(points: Complex[np.ndarray, "..."]) -> Int[np.ndarray, "..."]:
    """Return the index of the cell of each point."""
    x, y = np.real(points), np.imag(points)
    x, y = (np.clip(axis * _CELLS, 0, _CELLS - 1).astype(np.int64) for axis in (x, y))
    return x * _CELLS + y


def _follow(
    direction: Complex[np.ndarray, "rows columns"], seeds: Complex[np.ndarray, " seeds"]
) -> tuple[Complex[np.ndarray, "steps seeds"], Int[np.ndarray, " seeds"]]:
    """Return paths from the seeds by the midpoint rule, and their numbers of points.

    The second half of the seeds is followed backwards. A path ends where it leaves the square or
    comes to rest.
    """
    step = np.where(np.arange(len(seeds)) < len(seeds) // 2, _STEP, -_STEP)
    path = np.empty((_STEPS + 1, len(seeds)), dtype=complex)
    path[0] = here = seeds
    lengths = np.ones(len(seeds), dtype=np.int64)
    moves = np.ones(len(seeds), dtype=bool)
    for k in range(1, _STEPS + 1):
        move = step * _value(direction, here + 0.5 * step * _value(direction, here))
        there = here + move
        # around a fixed point, directions differ, so their mean is short and the line ends
        moves &= (np.abs(move) > 0.3 * _STEP) & (np.abs(there.real - 0.5) <= 0.5)
        moves &= np.abs(there.imag - 0.5) <= 0.5
        here = np.where(moves, there, here)
        lengths += moves
        path[k] = here
        if not moves.any():
            path[k:] = here
            break
    return path, lengths


def _value(
    field: Complex[np.ndarray, "rows columns"], points: Complex[np.ndarray, " seeds"]
) -> Complex[np.ndarray, " seeds"]:
    """Return the bilinear interpolation of a field at these points."""
    rows, columns = field.shape
    x, y = np.real(points) * (columns - 1), np.imag(points) * (rows - 1)
    column = np.clip(np.nan_to_num(x), 0, columns - 2).astype(np.int64)
    row = np.clip(np.nan_to_num(y), 0, rows - 2).astype(np.int64)
    a, b = x - column, y - row
    flat, index = field.ravel(), row * columns + column
    lower = flat[index] * (1 - a) + flat[index + 1] * a
    upper = flat[index + columns] * (1 - a) + flat[index + columns + 1] * a
    return lower * (1 - b) + upper * b


def _walk(cells: list[int], taken: set[int], visited: set[int]) -> int:
    """Return the number of points of a line before it enters a taken cell or returns to one of its
    own.

    The cells of the line are added to `visited`.
    """
    last = cells[0]
    for k, cell in enumerate(cells):
        if cell != last:
            if cell in taken or cell in visited:
                return k
            visited.add(cell)
            last = cell
    return len(cells)
