"""Smooth curves through noisy samples: for each column the polynomial that it prefers itself."""

import hashlib
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from jaxtyping import Float, Int

from ._polynomial import (
    equal_step_weights,
    have_equal_steps,
    left_out_errors,
    local_values,
    weighted_sum,
)

_WINDOWS = (5, 7, 9, 13, 19, 27, 41, 61, 91, 131, 191, 281)
_DEGREES = (3, 5)
_MOST_RECENT = 8  # data sets whose errors at rows left out are kept
_recent: dict[bytes, np.ndarray] = {}
_EXACT = 1e-4  # relative. Steps that differ by no more are equal: motion within them is rounding


@final
@dataclass(frozen=True, eq=False)
class Smooth:
    """Values without most of their noise, and the standard deviation of what was taken away.

    `window` is the number of rows that each column was smoothed over; one where it was not.
    `degree` is that of the polynomials.
    """

    values: Float[np.ndarray, "N n"]
    noise: Float[np.ndarray, " n"]
    window: Int[np.ndarray, " n"]
    degree: Int[np.ndarray, " n"]

    @property
    def leverage(self) -> Float[np.ndarray, " n"]:
        """What a value counts in its own smoothed one, h, in the middle of a window: of the noise's
        variance 1 - h is in what smoothing takes away."""
        return np.array(
            [
                equal_step_weights(w, d, derivative=0)[w // 2, w // 2] if w > 1 else 0.0
                for w, d in zip(self.window.tolist(), self.degree.tolist(), strict=True)
            ]
        )

    def like(
        self,
        times: Float[np.ndarray, " M"],
        values: Float[np.ndarray, "M n"],
        offsets: Int[np.ndarray, " bounds"],
    ) -> "Smooth":
        """Other values of the same columns, smoothed in the same way."""
        result = np.array(values)
        for window, degree in set(zip(self.window.tolist(), self.degree.tolist(), strict=True)):
            columns = np.flatnonzero((self.window == window) & (self.degree == degree))
            if window > 1:
                result[:, columns] = polynomial_values(
                    times, values[:, columns], offsets, window, degree
                )
        return replace(self, values=result)


def smooth(
    times: Float[np.ndarray, " N"],
    values: Float[np.ndarray, "N n"],
    offsets: Int[np.ndarray, " bounds"],
) -> Smooth:
    """Each column by the sliding polynomial (window and degree) that best predicts rows left out.

    Runs that are shorter than a window are smoothed over all of their rows.
    """
    candidates, errors = _left_out(times, values, offsets)
    if not np.isfinite(errors).any():  # samples in bursts, which no polynomial can be fitted to
        alone = np.ones(values.shape[1], dtype=np.int64)
        return Smooth(np.array(values), np.zeros(values.shape[1]), alone, alone)
    window, degree = np.array(candidates)[errors.argmin(axis=0)].T
    return Smooth(values, np.sqrt(errors.min(axis=0)), window, degree).like(times, values, offsets)


def _left_out(
    times: Float[np.ndarray, " N"],
    values: Float[np.ndarray, "N n"],
    offsets: Int[np.ndarray, " bounds"],
) -> tuple[list[tuple[int, int]], Float[np.ndarray, "candidates n"]]:
    """Windows and degrees, and the errors of each at rows left out. A fit asks for the same data
    several times, hence the last results are kept, by the content of the arrays."""
    usual = int(np.median(np.diff(offsets)))
    candidates = [(w, d) for d in _DEGREES for w in _WINDOWS if d + 1 < w <= max(usual, 5)]
    key = b"".join(hashlib.sha256(one.tobytes()).digest() for one in (times, values, offsets))
    if key not in _recent:
        while len(_recent) >= _MOST_RECENT:
            _recent.pop(next(iter(_recent)), None)
        _recent[key] = np.stack(
            [left_out_errors(times, values, offsets, w, d) for w, d in candidates]
        )
    return candidates, _recent[key]


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
