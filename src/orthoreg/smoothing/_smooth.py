"""Smooth curves through noisy samples: for each column the polynomial that it prefers itself."""

from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float, Int

from ._polynomial import equal_step_weights, have_equal_steps, local_weights, weighted_sum

_WINDOWS = (5, 7, 9, 13, 19, 27, 41, 61, 91, 131, 191, 281)
_DEGREES = (3, 5)
_MOST_ROWS = 2000
_BLOCK = 4096
_EXACT = 1e-9  # steps that differ by no more, relatively, are equal but for rounding


@final
@dataclass(frozen=True, eq=False)
class Smooth:
    """Values without most of their noise, and the standard deviation of what was taken away.

    `window` is the number of rows that each column was smoothed over; one where it was not.
    """

    values: Float[np.ndarray, "N n"]
    noise: Float[np.ndarray, " n"]
    window: Int[np.ndarray, " n"]


def smooth(
    times: Float[np.ndarray, " N"],
    values: Float[np.ndarray, "N n"],
    offsets: Int[np.ndarray, " bounds"],
) -> Smooth:
    """Each column by the sliding polynomial (window and degree) that best predicts rows left out.

    Runs that are shorter than a window are smoothed over all of their rows.
    """
    usual = int(np.median(np.diff(offsets)))
    candidates = [(w, d) for d in _DEGREES for w in _WINDOWS if d + 1 < w <= max(usual, 5)]
    rows = np.unique(np.linspace(0, len(times) - 1, _MOST_ROWS).astype(int))
    errors = np.stack([left_out_errors(times, values, offsets, rows, w, d) for w, d in candidates])
    result, window = np.empty_like(values), np.ones(values.shape[1], dtype=np.int64)
    noise = np.sqrt(errors.min(axis=0))
    best = errors.argmin(axis=0)
    for choice in np.unique(best):
        columns = np.flatnonzero(best == choice)
        window[columns] = candidates[choice][0]
        result[:, columns] = polynomial_values(
            times, values[:, columns], offsets, *candidates[choice]
        )
    return Smooth(result, noise, window)


def left_out_errors(
    times: Float[np.ndarray, " N"],
    values: Float[np.ndarray, "N n"],
    offsets: Int[np.ndarray, " bounds"],
    rows: Int[np.ndarray, " B"],
    window: int,
    degree: int,
) -> Float[np.ndarray, " n"]:
    """For each column the mean squared error of predicting rows from the others of their window,
    (y - fit) / (1 - h) with h a row's own weight; only rows of runs that hold a window count."""
    run = np.searchsorted(offsets, rows, side="right") - 1
    rows = rows[np.diff(offsets)[run] >= window]
    if not len(rows):
        return np.full(values.shape[1], np.inf)
    total = np.zeros(values.shape[1])
    for block in np.array_split(rows, -(-len(rows) // _BLOCK)):
        weights, members = local_weights(times, offsets, block, window, degree, derivative=0)
        own = weights[np.arange(len(block)), block - members[:, 0]]
        left = values[block] - np.einsum("bw,bwn->bn", weights, values[members])
        total += ((left / np.maximum(1 - own, 1e-9)[:, None]) ** 2).sum(axis=0)
    return total / len(rows)


def polynomial_values(
    times: Float[np.ndarray, " N"],
    values: Float[np.ndarray, "N n"],
    offsets: Int[np.ndarray, " bounds"],
    window: int,
    degree: int,
) -> Float[np.ndarray, "N n"]:
    """What the polynomial fitted to each row's window says at that row."""
    lengths = np.diff(offsets)
    result = np.array(values)
    long = lengths >= window
    for chosen, width in ((long, window), *((lengths == n, n) for n in set(lengths[~long]))):
        power = degree if width == window else min(_DEGREES[0], int(width) - 2)
        if power < 1 or not chosen.any():
            continue
        mask = np.repeat(chosen, lengths)
        bounds = np.concatenate([[0], np.cumsum(lengths[chosen])])
        result[mask] = _values(times[mask], values[mask], bounds, int(width), power)
    return result


def _values(
    times: Float[np.ndarray, " N"],
    values: Float[np.ndarray, "N n"],
    offsets: Int[np.ndarray, " bounds"],
    window: int,
    degree: int,
) -> Float[np.ndarray, "N n"]:
    if have_equal_steps(times, offsets, _EXACT).all():
        return weighted_sum(values, offsets, equal_step_weights(window, degree, derivative=0))
    result = np.empty_like(values)
    for first in range(0, len(times), _BLOCK):
        rows = np.arange(first, min(first + _BLOCK, len(times)))
        weights, members = local_weights(times, offsets, rows, window, degree, derivative=0)
        result[rows] = np.einsum("bw,bwn->bn", weights, values[members])
    return result
