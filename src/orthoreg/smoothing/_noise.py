"""The noise of samples: its level, and its growth with the measured value."""

import numpy as np
from jaxtyping import Bool, Float, Int

from . import _limits as limits
from ._polynomial import have_equal_steps


def estimate_noise(
    times: Float[np.ndarray, " N"],
    values: Float[np.ndarray, "N n"],
    offsets: Int[np.ndarray, " bounds"],
) -> tuple[Float[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
    """Estimate the standard deviation of each column's noise, and whether it is noise.

    The difference of order k, sum_j w_j x_j with weights of unit norm proportional to
    1 / prod_m (t_j - t_m), has the standard deviation of the noise and annihilates polynomials
    below degree k. The differences of smooth motion shrink with the order and those of noise do
    not, which tells the two apart.
    """
    equal = bool(have_equal_steps(times, offsets, limits.EQUAL_STEPS).all())
    levels = [
        _difference_level(times, values, offsets, order, equal)
        for order in limits.DIFFERENCE_ORDERS
    ]
    available = [level for level in levels if level is not None]
    if not available:
        return np.zeros(values.shape[1]), np.zeros(values.shape[1], dtype=bool)
    levels = np.array(available)
    # the lowest order without motion has the least statistical error
    first = np.argmax(levels <= limits.EQUAL_LEVELS * levels.min(axis=0), axis=0)
    level = levels[first, np.arange(values.shape[1])]
    if len(available) < limits.MIN_ORDERS:
        return level, np.zeros(values.shape[1], dtype=bool)
    rounding = limits.ROUNDING_NOISE * np.abs(values).max(axis=0)
    return level, levels[-1] > np.maximum(limits.NOISE_PLATEAU * levels[-3], rounding)


def _difference_level(
    times: Float[np.ndarray, " N"],
    values: Float[np.ndarray, "N n"],
    offsets: Int[np.ndarray, " bounds"],
    order: int,
    equal: bool,
) -> Float[np.ndarray, " n"] | None:
    """Return the noise level from the median difference of an order, or None for few samples.

    With equal time steps all windows have the same weights.
    """
    last = np.repeat(offsets[1:], np.diff(offsets))
    starts = np.flatnonzero(np.arange(len(times)) + order < last)
    if len(starts) < limits.MIN_DIFFERENCES:
        return None
    starts = starts[np.unique(np.linspace(0, len(starts) - 1, limits.MAX_DIFFERENCES).astype(int))]
    members = starts[:, None] + np.arange(order + 1)
    inside = times[members[:1] if equal else members]
    inside = (inside - inside[:, :1]) / (inside[:, -1:] - inside[:, :1])
    gaps = inside[:, :, None] - inside[:, None, :] + np.eye(order + 1)
    weights = 1 / gaps.prod(axis=2)
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    sampled = values[members]
    sizes = np.abs(np.einsum("bw,bwn->bn", weights, sampled))
    moving = (sampled != sampled[:, :1]).any(axis=1)  # constant samples do not show noise
    medians = [
        np.median(size[is_moving]) if is_moving.any() else 0.0
        for size, is_moving in zip(sizes.T, moving.T, strict=True)
    ]
    return np.array(medians) / limits.NORMAL_MEDIAN


def estimate_noise_growth(
    states: Float[np.ndarray, "N n"], smoothed: Float[np.ndarray, "N n"]
) -> Float[np.ndarray, " n"]:
    """Estimate the share g of each state's noise variance that grows with its square.

    The variance is sigma^2 (1 - g + g x^2 / mean(x^2)); g is zero without clear evidence. Rows are
    grouped by the size of the state. The noise of a group is the median residual of smoothing,
    which is robust to a few outliers.
    """
    result = np.zeros(states.shape[1])
    for c, residual in enumerate((states - smoothed).T):
        order = np.argsort(np.abs(smoothed[:, c]))
        groups = np.array_split(order, min(limits.GROWTH_GROUPS, len(order)))
        levels = np.array(
            [np.median(np.abs(residual[rows])) / limits.NORMAL_MEDIAN for rows in groups]
        )
        if len(groups) < 2 or not (levels > 0).all():
            continue
        count = np.array([len(rows) for rows in groups])
        # rows of a group are in the order of their variance, so the middle rows have the median
        middle = [rows[k // 2] for rows in groups for k in (len(rows) - 1, len(rows))]
        sizes = np.repeat(smoothed[middle, c][:, None], len(limits.GROWTH_SHARES), axis=1)
        mean = np.full(len(limits.GROWTH_SHARES), np.mean(smoothed[:, c] ** 2))
        relative = (
            relative_variance(sizes, limits.GROWTH_SHARES, mean)
            .reshape(len(groups), 2, -1)
            .mean(axis=1)
        )
        difference = 2 * np.log(levels)[:, None] - np.log(relative)
        difference -= np.average(difference, axis=0, weights=count)
        values = (count[:, None] * difference**2).sum(axis=0) / limits.LOG_VARIANCE
        best = int(np.argmin(values))
        if values[best] < values[0] - limits.GROWTH_EVIDENCE:
            result[c] = limits.GROWTH_SHARES[best]
    return result


def relative_variance(
    smoothed: Float[np.ndarray, "N n"],
    growth: Float[np.ndarray, " n"],
    mean_square: Float[np.ndarray, " n"] | None = None,
) -> Float[np.ndarray, "N n"]:
    """Return 1 - g + g x^2 / mean(x^2) for each value, by default with the mean of the values."""
    squares = smoothed**2
    mean = np.maximum(squares.mean(axis=0) if mean_square is None else mean_square, 1e-300)
    return np.maximum(1 - growth + growth * squares / mean, limits.MIN_RELATIVE_VARIANCE)
