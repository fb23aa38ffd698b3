"""How noisy samples are, from differences that leave nothing but noise."""

import numpy as np
from jaxtyping import Bool, Float, Int

from ._polynomial import have_equal_steps

_ORDERS = (*range(3, 11), 13, 17, 22, 28, 36, 46)  # motion of few samples a period needs many
_FEWEST_ORDERS = 8  # that tell noise from motion
_PLATEAU = 0.8  # the last differences keep so much of those two orders before: noise
_ROUNDING = 1e-13  # of the largest value: what numbers of this size leave
_ALIKE = 1.2  # levels that differ by less, relatively, are the same but for chance
_WINDOWS = 1000
_FEWEST = 10
_EQUAL = 1e-9  # relative. Steps that differ by less are equal except for rounding
_LEVEL_OF_MEDIAN = 0.6745  # the median of |z| for standard normal z


def noise_level(
    times: Float[np.ndarray, " N"],
    values: Float[np.ndarray, "N n"],
    offsets: Int[np.ndarray, " bounds"],
) -> tuple[Float[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
    """The standard deviation of each column's noise, from differences that leave nothing else.

    The difference of order k with weights of unit norm, sum_j w_j x_j with w_j proportional to
    1 / prod_m (t_j - t_m), has the standard deviation of the noise and kills polynomials below
    degree k. Smooth motion shrinks from order to order, noise does not: that is the second answer.
    """
    equal = bool(have_equal_steps(times, offsets, _EQUAL).all())
    levels = [_difference_level(times, values, offsets, order, equal) for order in _ORDERS]
    found = [level for level in levels if level is not None]
    if not found:
        return np.zeros(values.shape[1]), np.zeros(values.shape[1], dtype=bool)
    levels = np.array(found)
    # the lowest of the orders that motion no longer adds to is the least uncertain
    first = np.argmax(levels <= _ALIKE * levels.min(axis=0), axis=0)
    level = levels[first, np.arange(values.shape[1])]
    if len(found) < _FEWEST_ORDERS:
        return level, np.zeros(values.shape[1], dtype=bool)
    rounding = _ROUNDING * np.abs(values).max(axis=0)
    return level, levels[-1] > np.maximum(_PLATEAU * levels[-3], rounding)


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
    if len(starts) < _FEWEST:
        return None
    starts = starts[np.unique(np.linspace(0, len(starts) - 1, _WINDOWS).astype(int))]
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
        np.median(size[own]) if own.any() else 0.0
        for size, own in zip(sizes.T, moving.T, strict=True)
    ]
    return np.array(medians) / _LEVEL_OF_MEDIAN
