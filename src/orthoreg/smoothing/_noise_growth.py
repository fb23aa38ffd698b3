"""Noise that grows with what is measured."""

import numpy as np
from jaxtyping import Float

_FLOOR = 1e-4  # of the mean noise variance of a state: the least one
_GROUPS = 8  # of rows, by the size of a state
_MEDIAN = 0.6745  # of |z| for standard normal z
_UNCERTAIN = 2.7  # variance of the log of a variance from a median, times the number of rows
_EVIDENCE = 20.0  # by which growing noise must lower the sum of squared standard errors
_SHARES = 1 - np.append(np.geomspace(1, 1e-4, 25), 0.0)


def noise_growth(
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
        groups = np.array_split(order, min(_GROUPS, len(order)))
        found = np.array([np.median(np.abs(residual[rows])) / _MEDIAN for rows in groups])
        if len(groups) < 2 or not (found > 0).all():
            continue
        count = np.array([len(rows) for rows in groups])
        # rows of a group are in the order of their variance: its median is that of the middle ones
        middle = [rows[k // 2] for rows in groups for k in (len(rows) - 1, len(rows))]
        sizes = np.repeat(smoothed[middle, c][:, None], len(_SHARES), axis=1)
        mean = np.full(len(_SHARES), np.mean(smoothed[:, c] ** 2))
        each = relative_variance(sizes, _SHARES, mean).reshape(len(groups), 2, -1).mean(axis=1)
        apart = 2 * np.log(found)[:, None] - np.log(each)
        apart -= np.average(apart, axis=0, weights=count)
        values = (count[:, None] * apart**2).sum(axis=0) / _UNCERTAIN
        best = int(np.argmin(values))
        if values[best] < values[0] - _EVIDENCE:
            result[c] = _SHARES[best]
    return result


def relative_variance(
    smoothed: Float[np.ndarray, "N n"],
    growth: Float[np.ndarray, " n"],
    mean_square: Float[np.ndarray, " n"] | None = None,
) -> Float[np.ndarray, "N n"]:
    """1 - g + g x^2 / mean(x^2) for every value. The mean is that of these values by default."""
    squares = smoothed**2
    mean = np.maximum(squares.mean(axis=0) if mean_square is None else mean_square, 1e-300)
    return np.maximum(1 - growth + growth * squares / mean, _FLOOR)
