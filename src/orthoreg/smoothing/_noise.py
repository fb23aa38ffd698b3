"""The level of noise from differences of samples, and its growth with what is measured."""

import numpy as np
from jaxtyping import Bool, Float, Int

from ._polynomial import have_equal_steps

_DIFFERENCE_ORDERS = (
    *range(3, 11),
    13,
    17,
    22,
    28,
    36,
    46,
)  # motion of few samples a period needs many
_MIN_ORDERS = 8  # that tell noise from motion
_NOISE_PLATEAU = 0.8  # the last differences keep so much of those two orders before: noise
_ROUNDING_NOISE = 1e-13  # of the largest value: what numbers of this size leave
_EQUAL_LEVELS = 1.2  # levels that differ by less, relatively, are the same but for chance
_MAX_DIFFERENCES = 1000
_MIN_DIFFERENCES = 10
_EQUAL_STEPS = 1e-9  # relative. Steps that differ by less are equal except for rounding
_LEVEL_OF_MEDIAN = 0.6745  # the median of |z| for standard normal z


def estimate_noise(
    times: Float[np.ndarray, " N"],
    values: Float[np.ndarray, "N n"],
    offsets: Int[np.ndarray, " bounds"],
) -> tuple[Float[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
    """The standard deviation of each column's noise, from differences that leave nothing else.

    The difference of order k with weights of unit norm, sum_j w_j x_j with w_j proportional to
    1 / prod_m (t_j - t_m), has the standard deviation of the noise and kills polynomials below
    degree k. Smooth motion shrinks from order to order, noise does not: that is the second answer.
    """
    equal = bool(have_equal_steps(times, offsets, _EQUAL_STEPS).all())
    levels = [
        _difference_level(times, values, offsets, order, equal) for order in _DIFFERENCE_ORDERS
    ]
    available = [level for level in levels if level is not None]
    if not available:
        return np.zeros(values.shape[1]), np.zeros(values.shape[1], dtype=bool)
    levels = np.array(available)
    # the lowest of the orders that motion no longer adds to is the least uncertain
    first = np.argmax(levels <= _EQUAL_LEVELS * levels.min(axis=0), axis=0)
    level = levels[first, np.arange(values.shape[1])]
    if len(available) < _MIN_ORDERS:
        return level, np.zeros(values.shape[1], dtype=bool)
    rounding = _ROUNDING_NOISE * np.abs(values).max(axis=0)
    return level, levels[-1] > np.maximum(_NOISE_PLATEAU * levels[-3], rounding)


def _difference_level(
    times: Float[np.ndarray, " N"],
    values: Float[np.ndarray, "N n"],
    offsets: Int[np.ndarray, " bounds"],
    order: int,
    equal: bool,
) -> Float[np.ndarray, " n"] | None:
    """The median size of differences of an order over that of a unit normal variable. With equal
    time steps all windows have the same weights."""
    last = np.repeat(offsets[1:], np.diff(offsets))
    starts = np.flatnonzero(np.arange(len(times)) + order < last)
    if len(starts) < _MIN_DIFFERENCES:
        return None
    starts = starts[np.unique(np.linspace(0, len(starts) - 1, _MAX_DIFFERENCES).astype(int))]
    members = starts[:, None] + np.arange(order + 1)
    inside = times[members[:1] if equal else members]
    inside = (inside - inside[:, :1]) / (inside[:, -1:] - inside[:, :1])
    gaps = inside[:, :, None] - inside[:, None, :] + np.eye(order + 1)
    weights = 1 / gaps.prod(axis=2)
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    sampled = values[members]
    sizes = np.abs(np.einsum("bw,bwn->bn", weights, sampled))
    moving = (sampled != sampled[:, :1]).any(axis=1)  # what stands still shows no noise
    medians = [
        np.median(size[is_moving]) if is_moving.any() else 0.0
        for size, is_moving in zip(sizes.T, moving.T, strict=True)
    ]
    return np.array(medians) / _LEVEL_OF_MEDIAN


_MIN_RELATIVE_VARIANCE = 1e-4  # of the mean noise variance of a state: the least one
_GROWTH_GROUPS = 8  # of rows, by the size of a state
_MEDIAN = 0.6745  # of |z| for standard normal z
_LOG_VARIANCE = 2.7  # variance of the log of a variance from a median, times the number of rows
_GROWTH_EVIDENCE = 20.0  # by which growing noise must lower the sum of squared standard errors
_GROWTH_SHARES = 1 - np.append(np.geomspace(1, 1e-4, 25), 0.0)


def estimate_noise_growth(
    states: Float[np.ndarray, "N n"], smoothed: Float[np.ndarray, "N n"]
) -> Float[np.ndarray, " n"]:
    """For each state the share g of its noise variance that grows with its square,
    sigma^2 (1 - g + g x^2 / mean(x^2)); zero where the data do not ask for it.

    Rows are grouped by the size of the state; the noise of a group comes from the median of what
    smoothing took away, which a few outliers leave alone.
    """
    result = np.zeros(states.shape[1])
    for c, residual in enumerate((states - smoothed).T):
        order = np.argsort(np.abs(smoothed[:, c]))
        groups = np.array_split(order, min(_GROWTH_GROUPS, len(order)))
        levels = np.array([np.median(np.abs(residual[rows])) / _MEDIAN for rows in groups])
        if len(groups) < 2 or not (levels > 0).all():
            continue
        count = np.array([len(rows) for rows in groups])
        # rows of a group are in the order of their variance: its median is that of the middle ones
        middle = [rows[k // 2] for rows in groups for k in (len(rows) - 1, len(rows))]
        sizes = np.repeat(smoothed[middle, c][:, None], len(_GROWTH_SHARES), axis=1)
        mean = np.full(len(_GROWTH_SHARES), np.mean(smoothed[:, c] ** 2))
        relative = (
            relative_variance(sizes, _GROWTH_SHARES, mean).reshape(len(groups), 2, -1).mean(axis=1)
        )
        difference = 2 * np.log(levels)[:, None] - np.log(relative)
        difference -= np.average(difference, axis=0, weights=count)
        values = (count[:, None] * difference**2).sum(axis=0) / _LOG_VARIANCE
        best = int(np.argmin(values))
        if values[best] < values[0] - _GROWTH_EVIDENCE:
            result[c] = _GROWTH_SHARES[best]
    return result


def relative_variance(
    smoothed: Float[np.ndarray, "N n"],
    growth: Float[np.ndarray, " n"],
    mean_square: Float[np.ndarray, " n"] | None = None,
) -> Float[np.ndarray, "N n"]:
    """1 - g + g x^2 / mean(x^2) for every value. The mean is that of these values by default."""
    squares = smoothed**2
    mean = np.maximum(squares.mean(axis=0) if mean_square is None else mean_square, 1e-300)
    return np.maximum(1 - growth + growth * squares / mean, _MIN_RELATIVE_VARIANCE)
