"""Smooth curves through noisy samples: for each column the polynomial that it prefers itself."""

from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Bool, Float, Int

from ._polynomial import (
    equal_step_weights,
    have_equal_steps,
    left_out_errors,
    local_values,
    weighted_sum,
)

_WINDOWS = (5, 7, 9, 13, 19, 27, 41, 61, 91, 131, 191, 281)
_DEGREES = (3, 5)
_EXACT = 1e-4  # relative. Steps that differ by no more are equal: motion within them is rounding


@final
@dataclass(frozen=True, eq=False)
class Smoother:
    """A sliding polynomial for each column, and the standard deviation of the noise that it shows.

    `window` is the number of rows that a column is smoothed over; one where it is not smoothed.
    `degree` is that of the polynomials.
    """

    noise: Float[np.ndarray, " n"]
    window: Int[np.ndarray, " n"]
    degree: Int[np.ndarray, " n"]

    @property
    def leverage(self) -> Float[np.ndarray, " n"]:
        """The weight h of a value in its own smoothed value, in the middle of a window. Smoothing
        removes the share 1 - h of the noise variance."""
        return np.array(
            [
                equal_step_weights(w, d, derivative=0)[w // 2, w // 2] if w > 1 else 0.0
                for w, d in zip(self.window.tolist(), self.degree.tolist(), strict=True)
            ]
        )

    def __call__(
        self,
        times: Float[np.ndarray, " N"],
        values: Float[np.ndarray, "N n"],
        offsets: Int[np.ndarray, " bounds"],
    ) -> Float[np.ndarray, "N n"]:
        """Return smoothed values. Runs shorter than a window are smoothed over all their rows."""
        result = np.array(values)
        for window, degree in set(zip(self.window.tolist(), self.degree.tolist(), strict=True)):
            columns = np.flatnonzero((self.window == window) & (self.degree == degree))
            if window > 1:
                result[:, columns] = polynomial_values(
                    times, values[:, columns], offsets, window, degree
                )
        return result


def best_smoother(
    times: Float[np.ndarray, " N"],
    values: Float[np.ndarray, "N n"],
    offsets: Int[np.ndarray, " bounds"],
    columns: Bool[np.ndarray, " n"] | None = None,
) -> Smoother:
    """For each column, or only for `columns`, the polynomial that best predicts rows left out."""
    chosen = np.arange(values.shape[1]) if columns is None else np.flatnonzero(columns)
    noise = np.zeros(values.shape[1])
    window, degree = np.ones((2, values.shape[1]), dtype=np.int64)
    usual = int(np.median(np.diff(offsets)))
    candidates = [(w, d) for d in _DEGREES for w in _WINDOWS if d + 1 < w <= max(usual, 5)]
    values = values[:, chosen]
    errors = np.stack([left_out_errors(times, values, offsets, w, d) for w, d in candidates])
    if np.isfinite(errors).any():  # no polynomial can be fitted to samples in bursts
        window[chosen], degree[chosen] = np.array(candidates)[errors.argmin(axis=0)].T
        noise[chosen] = np.sqrt(errors.min(axis=0))
    return Smoother(noise, window, degree)


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
    return local_values(times, values, offsets, window, degree, derivative=0)
