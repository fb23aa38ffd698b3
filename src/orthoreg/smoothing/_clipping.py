"""Find the limits of a sensor's range, beyond which all readings are equal.

At a limit, several consecutive rows have exactly the largest (or smallest) value of a column.
Either of two observations distinguishes a limit of the sensor from other causes. The first is that
noise separates all other readings. A state that really rests at a value, or that is stopped there,
has readings that differ by noise, although the noise at a small value may be small, as for counts
near zero. The second is that the motion does not slow down before and after these rows: polynomials
through the rows on either side extend beyond the limit by much more than their usual errors. In
contrast, a state slows down before it comes to rest, it leaves a mechanical stop slowly, and a peak
of rounded values is about one rounding step high.
"""

import math
from typing import NamedTuple, final

import numpy as np
from jaxtyping import Bool, Float, Int

from . import _limits as limits
from ._noise import estimate_noise
from ._polynomial import Offsets, Times, Values


@final
class _Column(NamedTuple):
    """A column, the run of each row, the rows at the limit, and the rows at either extreme
    value."""

    times: Float[np.ndarray, " N"]
    values: Float[np.ndarray, " N"]
    run: Int[np.ndarray, " N"]
    at_limit: Bool[np.ndarray, " N"]
    at_extreme: Bool[np.ndarray, " N"]

    def reversed(self) -> "_Column":
        return _Column(
            -self.times[::-1], self.values[::-1], -self.run[::-1], self.at_limit[::-1],
            self.at_extreme[::-1],
        )  # fmt: skip


def find_range_limits(times: Times, values: Values, offsets: Offsets) -> Float[np.ndarray, "2 n"]:
    """Return the lower and upper limit of the range of each column's sensor.

    A limit is infinite if no reading is at it.
    """
    run = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    result = np.empty((2, values.shape[1]))
    result[0], result[1] = -np.inf, np.inf
    for c, x in enumerate(values.T):
        low, high = float(x.min()), float(x.max())
        at_extreme = (x == low) | (x == high)
        for side, (sign, limit) in enumerate(((-1.0, low), (1.0, high))):
            column = _Column(times, sign * x, run, x == limit, at_extreme)
            rows = _stretches(column.at_limit, run)
            if low == high or rows.max() < limits.MIN_CLIPPED_ROWS:
                continue
            step = _rounding_step(column.values)
            if _noise_is_missing(column, rows, step) or _motion_is_missing(column, step):
                result[side, c] = limit
    return result


def _stretches(marked: Bool[np.ndarray, " N"], run: Int[np.ndarray, " N"]) -> Int[np.ndarray, " S"]:
    """Return the length of each stretch of consecutive marked rows."""
    rows = np.flatnonzero(marked)
    is_start = (np.diff(rows, prepend=-2) > 1) | (np.diff(run[rows], prepend=-1) != 0)
    return np.diff(np.append(np.flatnonzero(is_start), len(rows)))


def _rounding_step(x: Float[np.ndarray, " N"]) -> float:
    """Return the smallest difference between values near the largest one.

    This is the rounding step of rounded values; for other values, it is negligible.
    """
    levels = np.unique(x)
    count = max(len(levels) // limits.LEVELS_NEAR_LIMIT, limits.MIN_LEVELS_NEAR_LIMIT)
    steps = np.diff(levels[-count:])
    return float(steps[steps > limits.EQUAL_VALUES * np.ptp(levels)].min(initial=np.inf))


def _noise_is_missing(column: _Column, rows: Int[np.ndarray, " S"], step: float) -> bool:
    """Return whether noise would have separated so many consecutive readings of a state at rest.

    Values may be rounded to a `step`.
    """
    kept = np.flatnonzero(~column.at_extreme)
    is_start = (np.diff(kept, prepend=-2) > 1) | (np.diff(column.run[kept], prepend=-1) != 0)
    offsets = np.append(np.flatnonzero(is_start), len(kept))
    x = column.values[kept]
    if len(x) < limits.MIN_CLIPPING_WINDOWS:
        return False
    noise = _noise_level(column.times[kept], x, offsets)
    if not noise:  # noise cannot be separated from motion in short pieces
        noise = _noise_level(column.times, column.values, _offsets(column.run))
    # noise may grow in proportion to the state
    limit = float(column.values[column.at_limit][0])
    level = noise * min(1.0, abs(limit) / max(float(np.sqrt(np.mean(x**2))), 1e-300))
    variance = level**2 - limits.ROUNDING_MARGIN * step**2 / 12
    if variance <= 0:
        return False
    together = np.diff(kept) == 1
    n_equal = float((np.diff(x)[together] == 0).sum())
    equal = max(
        math.erf(step / math.sqrt(8 * variance)),
        (n_equal + limits.CLIPPING_QUANTILE * math.sqrt(n_equal)) / max(together.sum(), 1),
    )
    if equal >= 1:
        return False
    # a stretch may begin in any row
    evidence = np.maximum(rows * -math.log(equal) - math.log(len(x)), 0.0).sum()
    return bool(evidence > -math.log(limits.FALSE_CLIPPING))


def _noise_level(times: Times, x: Float[np.ndarray, " N"], offsets: Offsets) -> float:
    """Return the standard deviation of the noise, or zero if motion may be the cause of
    differences.
    """
    noise, is_noise = estimate_noise(times, x[:, None], offsets)
    return float(noise[0]) if is_noise[0] else 0.0


def _offsets(run: Int[np.ndarray, " N"]) -> Offsets:
    return np.append(np.flatnonzero(np.diff(run, prepend=run[0] - 1)), len(run))


def _motion_is_missing(column: _Column, step: float) -> bool:
    """Return whether the motion leads beyond the limit, both before and after the rows at the
    limit.
    """
    both = (column, column.reversed())
    return any(
        all(_leads_beyond(side, width, degree, step) for side in both)
        for width in limits.CLIPPING_WIDTHS
        for degree in limits.CLIPPING_DEGREES
    )


def _leads_beyond(column: _Column, width: int, degree: int, step: float) -> bool:
    """Return whether polynomials through the `width` rows before the limit extend clearly beyond
    it.

    They must do so by more than chance, rounding and their usual errors can explain.
    """
    ahead = max(width // limits.CLIPPING_AHEAD, 2)
    total = width + ahead
    if len(column.times) < total:
        return False
    windows = np.lib.stride_tricks.sliding_window_view
    is_inside = column.run[total - 1 :] == column.run[: len(column.run) - total + 1]
    before = ~windows(column.at_extreme, width)[: len(is_inside)].any(axis=1) & is_inside
    limit = windows(column.at_limit, ahead)[width:].all(axis=1)
    other = ~windows(column.at_extreme, ahead)[width:].any(axis=1)
    ends, usual = np.flatnonzero(before & limit), np.flatnonzero(before & other)
    if not len(ends) or len(usual) < limits.MIN_CLIPPING_WINDOWS:
        return False
    excess = _prediction_errors(column, ends, width, ahead, degree)
    errors = _prediction_errors(column, usual, width, ahead, degree)
    scale = float(np.sqrt(np.mean(errors**2)))
    mean = float(excess.mean()) - step / 2
    chance = limits.CLIPPING_QUANTILE * scale / np.sqrt(len(excess))
    return bool(mean > max(chance, limits.CLIPPING_EXCESS * scale, limits.CLIPPING_STEPS * step))


def _prediction_errors(
    column: _Column, first: Int[np.ndarray, " B"], width: int, ahead: int, degree: int
) -> Float[np.ndarray, " b"]:
    """Return how far polynomials through the rows from `first` extend beyond the rows that
    follow.
    """
    if len(first) > limits.CLIPPING_WINDOWS:
        first = first[np.linspace(0, len(first) - 1, limits.CLIPPING_WINDOWS).astype(int)]
    rows = first[:, None] + np.arange(width + ahead)
    t = column.times[rows]
    t = (t - t[:, :1]) / (t[:, width - 1 : width] - t[:, :1])
    powers = (2 * t - 1)[..., None] ** np.arange(degree + 1)
    known, later = powers[:, :width], powers[:, width:].mean(axis=1)
    x = column.values[rows]
    level = x[:, :1]
    moments = np.swapaxes(known, 1, 2) @ (x[:, :width] - level)[..., None]
    w = np.linalg.solve(np.swapaxes(known, 1, 2) @ known, moments)[..., 0]
    return (later * w).sum(axis=1) - (x[:, width:] - level).mean(axis=1)


def bridged(
    times: Times, values: Values, offsets: Offsets, clipped: Int[np.ndarray, "N n"], width: int
) -> Values:
    """Return the values with those at a limit replaced by cubics.

    `clipped` marks values at an upper (1) or lower (-1) limit. The cubics continue the lines
    through `width` rows before and after, at or beyond the limit. At the ends of runs, values at a
    limit are unchanged.
    """
    result = np.array(values)
    starts = np.repeat(offsets[:-1], np.diff(offsets))
    ends = np.repeat(offsets[1:], np.diff(offsets))
    for c in np.flatnonzero(clipped.any(axis=0)).tolist():
        rows = np.flatnonzero(clipped[:, c])
        cuts = np.flatnonzero((np.diff(rows) > 1) | (np.diff(starts[rows]) != 0)) + 1
        for stretch in np.split(rows, cuts):
            first, last = int(stretch[0]), int(stretch[-1])
            before = np.arange(max(first - width, int(starts[first])), first)
            after = np.arange(last + 1, min(last + 1 + width, int(ends[first])))
            before, after = before[clipped[before, c] == 0], after[clipped[after, c] == 0]
            if min(len(before), len(after)) < 2:
                continue
            sign = int(clipped[first, c])
            between = _cubic(times, values[:, c], before, after, stretch)
            result[stretch, c] = sign * np.maximum(sign * between, sign * values[stretch, c])
    return result


def _cubic(
    times: Times,
    x: Float[np.ndarray, " N"],
    before: Int[np.ndarray, " k"],
    after: Int[np.ndarray, " m"],
    rows: Int[np.ndarray, " r"],
) -> Float[np.ndarray, " r"]:
    """Return the cubic that connects the lines through the rows `before` and `after`."""
    from scipy.interpolate import CubicHermiteSpline

    knots, values, slopes = [], [], []
    for side, at in ((before, before[-1]), (after, after[0])):
        t = times[side] - times[at]
        slope, value = np.polyfit(t, x[side], 1)
        knots.append(times[at])
        values.append(value)
        slopes.append(slope)
    return np.asarray(CubicHermiteSpline(knots, values, slopes)(times[rows]))
