"""Which sliding polynomial the samples prefer, and the velocities that it gives."""

import numpy as np
from jaxtyping import Bool, Float, Int

from ._polynomial import (
    equal_step_slopes,
    have_equal_steps,
    left_out_errors,
    local_values,
    parabola_slopes,
)

SHORTEST = 3
"""The fewest points of a run that has a velocity."""

_CANDIDATES = (
    (5, 3), (7, 3), (9, 3), (13, 3), (19, 3), (27, 3), (41, 3), (61, 3),
    (7, 5), (9, 5), (13, 5), (19, 5), (27, 5), (41, 5), (61, 5),
)  # fmt: skip
FEWEST_POINTS = _CANDIDATES[0][0]
"""The fewest points of a run that a polynomial is chosen for."""

EXACT = 1e-9
"""Steps that differ by no more, relatively, are equal but for rounding."""


def best_polynomial(
    times: Float[np.ndarray, " N"],
    values: Float[np.ndarray, "N n"],
    offsets: Int[np.ndarray, " bounds"],
) -> tuple[int, int] | None:
    """Window and degree of the sliding polynomial that best predicts points left out.

    Runs of fewer than `FEWEST_POINTS` points do not count. None where no other run is left, or
    where samples come in such bursts that no polynomial can be fitted.
    """
    long = np.diff(offsets) >= FEWEST_POINTS
    if not long.any():
        return None
    rows, bounds = _rows_of(offsets, long)
    times, values = times[rows], values[rows]
    shortest = int(np.diff(bounds).min())
    fitting = [(window, degree) for window, degree in _CANDIDATES if window <= shortest]
    varies = np.ptp(values, axis=0) > 0
    spread = np.where(varies, values.std(axis=0), np.inf)
    found = [left_out_errors(times, values, bounds, *choice) for choice in fitting]
    errors = np.array(
        [float(np.mean(one / spread**2)) if np.isfinite(one).all() else np.inf for one in found]
    )
    return fitting[int(np.argmin(errors))] if np.isfinite(errors).any() else None


def velocities(
    times: Float[np.ndarray, " N"],
    values: Float[np.ndarray, "N n"],
    offsets: Int[np.ndarray, " bounds"],
    polynomial: tuple[int, int] | None,
) -> Float[np.ndarray, "N n"]:
    """The derivative of each column, row by row, from a sliding polynomial.

    Runs of three or four points, and samples that no polynomial fits, get the parabola through
    three neighbours; such runs do not bind the others. No run may have fewer than three points.
    """
    long = np.diff(offsets) >= FEWEST_POINTS
    result = np.empty_like(values)
    for chosen in (long, ~long):
        if not chosen.any():
            continue
        rows, bounds = _rows_of(offsets, chosen)
        t, x = times[rows], values[rows]
        choice = polynomial if chosen is long else None
        if choice is None:
            result[rows] = parabola_slopes(t, x, bounds)
        elif have_equal_steps(t, bounds, EXACT).all():
            result[rows] = equal_step_slopes(t, x, bounds, *choice)
        else:
            result[rows] = local_values(t, x, bounds, *choice, derivative=1)
    return result


def _rows_of(
    offsets: Int[np.ndarray, " bounds"], runs: Bool[np.ndarray, " R"]
) -> tuple[Bool[np.ndarray, " N"], Int[np.ndarray, " some"]]:
    """The rows of these runs, as a mask, and where each begins among them."""
    lengths = np.diff(offsets)
    return np.repeat(runs, lengths), np.concatenate([[0], np.cumsum(lengths[runs])])
