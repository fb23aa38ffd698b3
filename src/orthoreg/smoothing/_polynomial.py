"""Least-squares polynomials on sliding windows of runs, for equal steps and for any.

Runs are stored one after the other: run r owns the rows `offsets[r]` to `offsets[r + 1]`.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

_BLOCK = 8192
_WEAK = 1e-14
_MOST_ROWS = 2000
_EQUAL = 1e-9  # steps that differ by no more, relatively, are equal but for rounding
_ALONE = 1 - 1e-6  # own weight of a row that the rest of its window says nothing about


def windows(
    offsets: Int[np.ndarray, " bounds"], width: int, rows: Int[np.ndarray, " B"] | None = None
) -> tuple[Int[np.ndarray, " B"], Int[np.ndarray, " B"]]:
    """For each of these rows, the first row of its window and its own place in that window.

    By default for all rows. A window is centred on its row, and shifted inwards near the ends of
    a run.
    """
    rows = np.arange(int(offsets[-1])) if rows is None else rows
    run = np.searchsorted(offsets, rows, side="right") - 1
    start = np.clip(rows - width // 2, offsets[run], offsets[run + 1] - width)
    return start, rows - start


def _near_ends(offsets: Int[np.ndarray, " bounds"], width: int) -> Int[np.ndarray, " B"]:
    """The rows whose windows are shifted inwards. All others are in the middle of theirs, so that
    one pass of slices over the rows, whatever their runs, serves them."""
    first = offsets[:-1, None] + np.arange(width // 2)
    last = offsets[1:, None] - np.arange(1, width - width // 2)
    return np.concatenate([first.ravel(), last.ravel()])


def _blocks(n_samples: int, width: int) -> Iterator[tuple[int, int]]:
    """First and last of rows that a window can start at, few enough to stay in the cache."""
    count = n_samples - width + 1
    for first in range(0, count, _BLOCK):
        yield first, min(first + _BLOCK, count)


def have_equal_steps(
    times: Float[np.ndarray, " N"], offsets: Int[np.ndarray, " bounds"], tolerance: float
) -> Bool[np.ndarray, " R"]:
    """For each run, whether its time steps agree to the relative tolerance."""
    steps = np.append(np.diff(times), 0.0)
    steps[offsets[1:] - 1] = np.inf  # from one run to the next
    low = np.minimum.reduceat(steps, offsets[:-1])
    steps[offsets[1:] - 1] = 0.0
    high = np.maximum.reduceat(steps, offsets[:-1])
    return (high - low <= tolerance * high) | (np.diff(offsets) < 3)


def mean_steps(
    times: Float[np.ndarray, " N"], offsets: Int[np.ndarray, " bounds"]
) -> Float[np.ndarray, " R"]:
    """The mean time step of each run."""
    first, last = offsets[:-1], offsets[1:] - 1
    return (times[last] - times[first]) / np.maximum(np.diff(offsets) - 1, 1)


def polynomial_weights(
    points: Float[np.ndarray, "#B W"],
    at: Float[np.ndarray, " B"],
    degree: int,
    derivative: int,
) -> Float[np.ndarray, "B W"]:
    """Row by row, the weights that give a least-squares polynomial's value or slope at `at`;
    one row of points may serve all.

    They are sum_k q_k(at) q_k(points), with q_k the Legendre polynomials made orthonormal on the
    points, which lie in [-1, 1], by the Gram-Schmidt method, twice: once loses what rounding takes.
    """
    legendre = np.polynomial.legendre
    columns = np.ascontiguousarray(np.moveaxis(legendre.legvander(points, degree), 2, 0))
    if derivative == 0:
        targets = legendre.legvander(at, degree).T.copy()
    else:
        slopes = [legendre.legder(row, derivative) for row in np.eye(degree + 1)]
        targets = np.stack([legendre.legval(at, slope) for slope in slopes])
    weights = np.zeros((len(at), points.shape[1]))
    least = _WEAK * np.sqrt(points.shape[1])  # of the norm of the first polynomial, a constant
    for k, one in enumerate(columns):
        for _ in range(2):
            share = np.vecdot(columns[:k], one)
            one -= np.einsum("kb,kbw->bw", share, columns[:k])
            targets[k] -= np.sum(share * targets[:k], axis=0)
        # on points in two clusters polynomials are all but dependent: small norms are held up
        norm = np.maximum(np.sqrt(np.vecdot(one, one)), least)
        one /= norm[:, None]
        targets[k] /= norm
        weights += targets[k][:, None] * one
    return weights


def equal_step_weights(
    window: int, degree: int, *, derivative: int
) -> Float[np.ndarray, "place member"]:
    """Weights of the window's members for the fitted value (0) or unit-step slope (1) at each
    place in the window."""
    places = np.arange(window, dtype=np.float64)
    scale = (window - 1) / 2
    at = (places - scale) / scale
    weights = polynomial_weights(at[None], at, degree, derivative)
    return weights / scale**derivative


def weighted_sum(
    values: Float[np.ndarray, "N n"],
    offsets: Int[np.ndarray, " bounds"],
    weights: Float[np.ndarray, "place member"],
) -> Float[np.ndarray, "N n"]:
    """sum_j weights[place, j] values[start + j] for every row."""
    width = weights.shape[1]
    middle = width // 2
    result = np.empty_like(values)
    scratch = np.empty_like(values[:_BLOCK])
    for first, last in _blocks(len(values), width):
        block, part = result[first + middle : last + middle], scratch[: last - first]
        np.multiply(values[first:last], weights[middle, 0], out=block)
        for j in range(1, width):
            np.multiply(values[first + j : last + j], weights[middle, j], out=part)
            block += part
    rows = _near_ends(offsets, width)
    start, place = windows(offsets, width, rows)
    result[rows] = 0.0
    for j in range(width):
        result[rows] += weights[place, j, None] * values[start + j]
    return result


def equal_step_slopes(
    times: Float[np.ndarray, " N"],
    values: Float[np.ndarray, "N n"],
    offsets: Int[np.ndarray, " bounds"],
    window: int,
    degree: int,
) -> Float[np.ndarray, "N n"]:
    """The slope, at every row, of the polynomial fitted to its window of equal steps."""
    weights = equal_step_weights(window, degree, derivative=1)
    step = np.repeat(mean_steps(times, offsets), np.diff(offsets))
    return weighted_sum(values, offsets, weights) / step[:, None]


def local_weights(
    times: Float[np.ndarray, " N"],
    offsets: Int[np.ndarray, " bounds"],
    rows: Int[np.ndarray, " B"],
    window: int,
    degree: int,
    *,
    derivative: int,
) -> tuple[Float[np.ndarray, "B W"], Int[np.ndarray, "B W"]]:
    """Weights on true times for these rows, and the rows that each window is made of."""
    start, _ = windows(offsets, window, rows)
    members = start[:, None] + np.arange(window)
    inside = times[members]
    middle = (inside[:, :1] + inside[:, -1:]) / 2
    scale = (inside[:, -1:] - inside[:, :1]) / 2
    at = (times[rows] - middle[:, 0]) / scale[:, 0]
    weights = polynomial_weights((inside - middle) / scale, at, degree, derivative)
    return weights / scale**derivative, members


def local_values(
    times: Float[np.ndarray, " N"],
    values: Float[np.ndarray, "N n"],
    offsets: Int[np.ndarray, " bounds"],
    window: int,
    degree: int,
    *,
    derivative: int,
) -> Float[np.ndarray, "N n"]:
    """The value (0) or slope (1), at every row, of the polynomial fitted to its window on true
    times."""
    result = np.empty_like(values)
    for first in range(0, len(times), _BLOCK):
        rows = np.arange(first, min(first + _BLOCK, len(times)))
        weights, members = local_weights(
            times, offsets, rows, window, degree, derivative=derivative
        )
        result[rows] = np.einsum("bw,bwn->bn", weights, values[members])
    return result


def parabola_slopes(
    times: Float[np.ndarray, " N"],
    values: Float[np.ndarray, "N n"],
    offsets: Int[np.ndarray, " bounds"],
) -> Float[np.ndarray, "N n"]:
    """Slope at each row of the parabola through its window of three.

    sum_j y_j l_j'(t) with l_j'(t) = (2t - t_k - t_m) / ((t_j - t_k)(t_j - t_m)).
    """
    result = np.empty_like(values)
    with np.errstate(all="ignore"):  # windows over the border of two runs, mended below
        for first, last in _blocks(len(values), 3):
            steps = np.diff(times[first : last + 2])
            share = steps[:-1] / (steps[:-1] + steps[1:])
            after, before = share / steps[1:], (1 - share) / steps[:-1]
            for column, slopes in zip(values.T, result.T, strict=True):
                rises = np.diff(column[first : last + 2])
                slopes[first + 1 : last + 1] = after * rises[1:] + before * rises[:-1]
    rows = _near_ends(offsets, 3)
    start, _ = windows(offsets, 3, rows)
    result[rows] = _parabola_slope(times, values, rows, [start, start + 1, start + 2])
    return result


def _parabola_slope(
    times: Float[np.ndarray, " N"], values: Float[np.ndarray, "N n"], at: Any, members: list[Any]
) -> Float[np.ndarray, "B n"]:
    """Slopes at these rows, of which each has three members of its window."""
    t = times[at]
    total: Any = 0.0
    for j, k, m in ((0, 1, 2), (1, 0, 2), (2, 0, 1)):
        tj, tk, tm = (times[members[i]] for i in (j, k, m))
        weight = (2 * t - tk - tm) / ((tj - tk) * (tj - tm))
        total = total + weight[:, None] * values[members[j]]
    return total


def left_out_errors(
    times: Float[np.ndarray, " N"],
    values: Float[np.ndarray, "N n"],
    offsets: Int[np.ndarray, " bounds"],
    window: int,
    degree: int,
) -> Float[np.ndarray, " n"]:
    """For each column the mean squared error of predicting a row from the others of its window.

    For a linear fit with own weight h the left-out error is (y - fit) / (1 - h). Some rows of the
    runs that hold a window count; it is infinite where one is alone in its window.
    """
    rows = np.unique(np.linspace(0, len(times) - 1, _MOST_ROWS).astype(int))
    run = np.searchsorted(offsets, rows, side="right") - 1
    rows = rows[np.diff(offsets)[run] >= window]
    if not len(rows):
        return np.full(values.shape[1], np.inf)
    if have_equal_steps(times, offsets, _EQUAL).all():
        start, place = windows(offsets, window, rows)
        weights = equal_step_weights(window, degree, derivative=0)[place]
    else:
        weights, members = local_weights(times, offsets, rows, window, degree, derivative=0)
        start = members[:, 0]
        place = rows - start
    columns = np.ascontiguousarray(values.T)
    inside = np.lib.stride_tricks.sliding_window_view(columns, window, axis=1)[:, start]
    fitted = np.vecdot(inside, weights).T
    own = weights[np.arange(len(rows)), place]
    if (own > _ALONE).any():
        return np.full(values.shape[1], np.inf)
    return np.mean(((values[rows] - fitted) / (1 - own)[:, None]) ** 2, axis=0)
