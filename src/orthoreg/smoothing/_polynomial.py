"""Least-squares polynomials on sliding windows: values, slopes, choice of window, smoothing.

Runs are stored one after the other: run r has the rows `offsets[r]` to `offsets[r + 1]`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from jaxtyping import Bool, Float, Int

from . import _limits as limits

Times = Float[np.ndarray, " N"]
"""The times of all rows. Runs are stored one after the other."""

Values = Float[np.ndarray, "N n"]
"""Values, with one row for each time."""

Offsets = Int[np.ndarray, " bounds"]
"""Run r has the rows `offsets[r]` to `offsets[r + 1]`."""

_BLOCK = 8192  # number of rows that are processed together


def windows(
    offsets: Offsets, width: int, rows: Int[np.ndarray, " B"] | None = None
) -> tuple[Int[np.ndarray, " B"], Int[np.ndarray, " B"]]:
    """Return the first row of each row's window, and the position of the row in the window.

    By default, all rows are used. A window is centred on its row, and shifted inwards near the ends
    of a run.
    """
    rows = np.arange(int(offsets[-1])) if rows is None else rows
    run = np.searchsorted(offsets, rows, side="right") - 1
    start = np.clip(rows - width // 2, offsets[run], offsets[run + 1] - width)
    return start, rows - start


def _shifted_rows(offsets: Offsets, width: int) -> Int[np.ndarray, " B"]:
    """Return the rows whose windows are shifted inwards.

    All other rows are in the middle of their window.
    """
    first = offsets[:-1, None] + np.arange(width // 2)
    last = offsets[1:, None] - np.arange(1, width - width // 2)
    return np.concatenate([first.ravel(), last.ravel()])


def _blocks(n_samples: int, width: int) -> Iterator[tuple[int, int]]:
    """Yield the first and the last start of windows, in blocks that fit into the cache."""
    count = n_samples - width + 1
    for first in range(0, count, _BLOCK):
        yield first, min(first + _BLOCK, count)


def have_equal_steps(times: Times, offsets: Offsets, tolerance: float) -> Bool[np.ndarray, " R"]:
    """Return, for each run, whether its time steps agree to the relative tolerance."""
    steps = np.append(np.diff(times), 0.0)
    steps[offsets[1:] - 1] = np.inf  # steps between runs
    low = np.minimum.reduceat(steps, offsets[:-1])
    steps[offsets[1:] - 1] = 0.0
    high = np.maximum.reduceat(steps, offsets[:-1])
    return (high - low <= tolerance * high) | (np.diff(offsets) < 3)


def mean_steps(times: Times, offsets: Offsets) -> Float[np.ndarray, " R"]:
    """Return the mean time step of each run."""
    first, last = offsets[:-1], offsets[1:] - 1
    return (times[last] - times[first]) / np.maximum(np.diff(offsets) - 1, 1)


def polynomial_weights(
    points: Float[np.ndarray, "#B W"], at: Float[np.ndarray, " B"], degree: int, derivative: int
) -> Float[np.ndarray, "B W"]:
    """Return the weights, for each row, of a least-squares polynomial's value or slope at `at`.

    A single row of points may be shared by all rows. The weights are sum_k q_k(at) q_k(points),
    where q_k are the Legendre polynomials orthonormalized on the points, which lie in [-1, 1].
    Gram-Schmidt is applied twice to remove rounding errors.
    """
    legendre = np.polynomial.legendre
    columns = np.ascontiguousarray(np.moveaxis(legendre.legvander(points, degree), 2, 0))
    if derivative == 0:
        targets = legendre.legvander(at, degree).T.copy()
    else:
        slopes = [legendre.legder(row, derivative) for row in np.eye(degree + 1)]
        targets = np.stack([legendre.legval(at, slope) for slope in slopes])
    weights = np.zeros((len(at), points.shape[1]))
    min_norm = limits.MIN_RELATIVE_NORM * np.sqrt(
        points.shape[1]
    )  # relative to the norm of the first polynomial, a constant
    for k, column in enumerate(columns):
        for _ in range(2):
            share = np.vecdot(columns[:k], column)
            column -= np.einsum("kb,kbw->bw", share, columns[:k])
            targets[k] -= np.sum(share * targets[:k], axis=0)
        # on points in two clusters, polynomials are almost dependent and have small norms
        norm = np.maximum(np.sqrt(np.vecdot(column, column)), min_norm)
        column /= norm[:, None]
        targets[k] /= norm
        weights += targets[k][:, None] * column
    return weights


def equal_step_weights(
    window: int, degree: int, *, derivative: int
) -> Float[np.ndarray, "position member"]:
    """Return the weights of a window's members for the fitted value (0) or the slope per step
    (1).

    There is a row of weights for each position in the window.
    """
    positions = np.arange(window, dtype=np.float64)
    scale = (window - 1) / 2
    scaled = (positions - scale) / scale
    weights = polynomial_weights(scaled[None], scaled, degree, derivative)
    return weights / scale**derivative


def weighted_sum(
    values: Values, offsets: Offsets, weights: Float[np.ndarray, "position member"]
) -> Values:
    """Return sum_j weights[position, j] values[start + j] for each row."""
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
    rows = _shifted_rows(offsets, width)
    start, position = windows(offsets, width, rows)
    result[rows] = 0.0
    for j in range(width):
        result[rows] += weights[position, j, None] * values[start + j]
    return result


def local_weights(
    times: Times,
    offsets: Offsets,
    rows: Int[np.ndarray, " B"],
    window: int,
    degree: int,
    *,
    derivative: int,
) -> tuple[Float[np.ndarray, "B W"], Int[np.ndarray, "B W"]]:
    """Return weights for these rows, computed from the actual times, and the rows of each
    window.
    """
    start, _ = windows(offsets, window, rows)
    members = start[:, None] + np.arange(window)
    inside = times[members]
    middle = (inside[:, :1] + inside[:, -1:]) / 2
    scale = (inside[:, -1:] - inside[:, :1]) / 2
    at = (times[rows] - middle[:, 0]) / scale[:, 0]
    weights = polynomial_weights((inside - middle) / scale, at, degree, derivative)
    return weights / scale**derivative, members


def sliding_fit(
    times: Times,
    values: Values,
    offsets: Offsets,
    window: int,
    degree: int,
    *,
    derivative: int,
    tolerance: float = limits.EQUAL_STEPS,
) -> Values:
    """Return the value (0) or slope (1), at each row, of the polynomial fitted to its window.

    If all steps agree to the relative tolerance, one set of weights is used. Otherwise, weights are
    computed from the actual times.
    """
    if have_equal_steps(times, offsets, tolerance).all():
        weights = equal_step_weights(window, degree, derivative=derivative)
        result = weighted_sum(values, offsets, weights)
        if derivative:
            result /= np.repeat(mean_steps(times, offsets), np.diff(offsets))[:, None] ** derivative
        return result
    result = np.empty_like(values)
    for first in range(0, len(times), _BLOCK):
        rows = np.arange(first, min(first + _BLOCK, len(times)))
        weights, members = local_weights(
            times, offsets, rows, window, degree, derivative=derivative
        )
        result[rows] = np.einsum("bw,bwn->bn", weights, values[members])
    return result


def parabola_slopes(times: Times, values: Values, offsets: Offsets) -> Values:
    """Return the slope, at each row, of the parabola through its window of three rows.

    The slope is sum_j y_j l_j'(t) with l_j'(t) = (2t - t_k - t_m) / ((t_j - t_k)(t_j - t_m)).
    """
    result = np.empty_like(values)
    with np.errstate(all="ignore"):  # windows that extend over two runs are corrected below
        for first, last in _blocks(len(values), 3):
            steps = np.diff(times[first : last + 2])
            share = steps[:-1] / (steps[:-1] + steps[1:])
            after, before = share / steps[1:], (1 - share) / steps[:-1]
            for column, slopes in zip(values.T, result.T, strict=True):
                increments = np.diff(column[first : last + 2])
                slopes[first + 1 : last + 1] = after * increments[1:] + before * increments[:-1]
    rows = _shifted_rows(offsets, 3)
    start, _ = windows(offsets, 3, rows)
    result[rows] = _parabola_slope(times, values, rows, [start, start + 1, start + 2])
    return result


def _parabola_slope(
    times: Times, values: Values, at: Any, members: list[Any]
) -> Float[np.ndarray, "B n"]:
    """Return the slopes at these rows, each from the three members of its window."""
    t = times[at]
    total: Any = 0.0
    for j, k, m in ((0, 1, 2), (1, 0, 2), (2, 0, 1)):
        tj, tk, tm = (times[members[i]] for i in (j, k, m))
        weight = (2 * t - tk - tm) / ((tj - tk) * (tj - tm))
        total = total + weight[:, None] * values[members[j]]
    return total


def left_out_errors(
    times: Times, values: Values, offsets: Offsets, window: int, degree: int
) -> Float[np.ndarray, " n"]:
    """Return the mean squared error, for each column, of predicting a row from the others in its
    window.

    For a linear fit with leverage h, the left-out error is (y - fit) / (1 - h). The mean is over a
    sample of rows, from runs that are long enough for a window. The error is infinite if a row has
    leverage one.
    """
    rows = np.unique(np.linspace(0, len(times) - 1, limits.MAX_SCORED_ROWS).astype(int))
    run = np.searchsorted(offsets, rows, side="right") - 1
    rows = rows[np.diff(offsets)[run] >= window]
    if not len(rows):
        return np.full(values.shape[1], np.inf)
    if have_equal_steps(times, offsets, limits.EQUAL_STEPS).all():
        start, position = windows(offsets, window, rows)
        weights = equal_step_weights(window, degree, derivative=0)[position]
    else:
        weights, members = local_weights(times, offsets, rows, window, degree, derivative=0)
        start = members[:, 0]
        position = rows - start
    columns = np.ascontiguousarray(values.T)
    inside = np.lib.stride_tricks.sliding_window_view(columns, window, axis=1)[:, start]
    fitted = np.vecdot(inside, weights).T
    leverage = weights[np.arange(len(rows)), position]
    if (leverage > limits.MAX_LEVERAGE).any():
        return np.full(values.shape[1], np.inf)
    return np.mean(((values[rows] - fitted) / (1 - leverage)[:, None]) ** 2, axis=0)


def best_polynomial(times: Times, values: Values, offsets: Offsets) -> tuple[int, int] | None:
    """Return the window and the degree of the sliding polynomial that best predicts left-out
    points.

    Runs with fewer than `MIN_POLYNOMIAL_ROWS` points do not count. The result is None if no run
    remains, or if samples come in bursts to which no polynomial can be fitted.
    """
    long = np.diff(offsets) >= limits.MIN_POLYNOMIAL_ROWS
    if not long.any():
        return None
    rows, bounds = _rows_of_runs(offsets, long)
    times, values = times[rows], values[rows]
    shortest = int(np.diff(bounds).min())
    fitting = [(window, degree) for window, degree in limits.POLYNOMIALS if window <= shortest]
    varies = np.ptp(values, axis=0) > 0
    std = np.where(varies, values.std(axis=0), np.inf)
    candidate_errors = [left_out_errors(times, values, bounds, *choice) for choice in fitting]
    errors = np.array(
        [
            float(np.mean(error / std**2)) if np.isfinite(error).all() else np.inf
            for error in candidate_errors
        ]
    )
    return fitting[int(np.argmin(errors))] if np.isfinite(errors).any() else None


def velocities(
    times: Times, values: Values, offsets: Offsets, polynomial: tuple[int, int] | None
) -> Values:
    """Return the derivative of each column from a sliding polynomial.

    Runs of three or four points, and samples to which no polynomial can be fitted, use the parabola
    through three neighbours. No run may have fewer than three points.
    """
    long = np.diff(offsets) >= limits.MIN_POLYNOMIAL_ROWS
    result = np.empty_like(values)
    for chosen in (long, ~long):
        if not chosen.any():
            continue
        rows, bounds = _rows_of_runs(offsets, chosen)
        t, x = times[rows], values[rows]
        choice = polynomial if chosen is long else None
        if choice is None:
            result[rows] = parabola_slopes(t, x, bounds)
        else:
            result[rows] = sliding_fit(t, x, bounds, *choice, derivative=1)
    return result


def _rows_of_runs(
    offsets: Offsets, runs: Bool[np.ndarray, " R"]
) -> tuple[Bool[np.ndarray, " N"], Int[np.ndarray, " some"]]:
    """Return a mask of the rows of these runs, and the offsets of the runs among these rows."""
    lengths = np.diff(offsets)
    return np.repeat(runs, lengths), np.concatenate([[0], np.cumsum(lengths[runs])])


@final
@dataclass(frozen=True, eq=False)
class Smoother:
    """A sliding polynomial for each column, and the standard deviation of its noise.

    `window` is the number of rows over which a column is smoothed (1 for no smoothing), and
    `degree` the degree of the polynomial.
    """

    noise: Float[np.ndarray, " n"]
    window: Int[np.ndarray, " n"]
    degree: Int[np.ndarray, " n"]

    @property
    def leverage(self) -> Float[np.ndarray, " n"]:
        """The leverage h of a value on its own smoothed value, in the middle of a window.

        Smoothing removes the share 1 - h of the noise variance.
        """
        return np.array(
            [
                equal_step_weights(w, d, derivative=0)[w // 2, w // 2] if w > 1 else 0.0
                for w, d in zip(self.window.tolist(), self.degree.tolist(), strict=True)
            ]
        )

    def __call__(self, times: Times, values: Values, offsets: Offsets) -> Values:
        """Return smoothed values. Runs shorter than a window are smoothed over all their rows."""
        result = np.array(values)
        for window, degree in set(zip(self.window.tolist(), self.degree.tolist(), strict=True)):
            columns = np.flatnonzero((self.window == window) & (self.degree == degree))
            if window > 1:
                result[:, columns] = _smoothed(times, values[:, columns], offsets, window, degree)
        return result


def best_smoother(
    times: Times, values: Values, offsets: Offsets, columns: Bool[np.ndarray, " n"] | None = None
) -> Smoother:
    """Return, for each of the `columns`, the polynomial that best predicts left-out rows."""
    smoothed = np.arange(values.shape[1]) if columns is None else np.flatnonzero(columns)
    noise = np.zeros(values.shape[1])
    window, degree = np.ones((2, values.shape[1]), dtype=np.int64)
    median_length = int(np.median(np.diff(offsets)))
    candidates = [
        (w, d)
        for d in limits.SMOOTHER_DEGREES
        for w in limits.SMOOTHER_WINDOWS
        if d + 1 < w <= max(median_length, 5)
    ]
    values = values[:, smoothed]
    errors = np.stack([left_out_errors(times, values, offsets, w, d) for w, d in candidates])
    if np.isfinite(errors).any():  # no polynomial can be fitted to samples in bursts
        window[smoothed], degree[smoothed] = np.array(candidates)[errors.argmin(axis=0)].T
        noise[smoothed] = np.sqrt(errors.min(axis=0))
    return Smoother(noise, window, degree)


def _smoothed(times: Times, values: Values, offsets: Offsets, window: int, degree: int) -> Values:
    """Return the value, at each row, of the polynomial fitted to its window."""
    lengths = np.diff(offsets)
    result = np.array(values)
    long = lengths >= window
    for chosen, width in ((long, window), *((lengths == n, n) for n in set(lengths[~long]))):
        power = degree if width == window else min(limits.SMOOTHER_DEGREES[0], int(width) - 2)
        if power < 1 or not chosen.any():
            continue
        mask, bounds = _rows_of_runs(offsets, chosen)
        result[mask] = sliding_fit(
            times[mask], values[mask], bounds, int(width), power, derivative=0,
            tolerance=limits.NEARLY_EQUAL_STEPS,
        )  # fmt: skip
    return result
