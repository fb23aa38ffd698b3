"""Iterate a map from many initial states at once."""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

from .._common.errors import InputError
from . import _limits as limits
from ._inputs import Inputs
from ._integrate import Rollout, Status

NextState = Callable[[Any], Any]
"""A function of variables (B, V), states then inputs, that returns the next states (B, n)."""


def iterate(
    next_state: NextState,
    starts: Float[np.ndarray, "B n"],
    times: Float[np.ndarray, "B T"],
    step: float,
    inputs: Inputs | None = None,
    *,
    bound: Float[np.ndarray, "B n"],
) -> Rollout:
    """Iterate a map x[k+1] = f(x[k], u[k]), one trajectory per initial state.

    All times must be multiples of the `step` after the first one. A failure is a status, never an
    exception. A state has diverged if it is beyond `bound` or not finite.
    """
    starts, times = np.asarray(starts, float), np.asarray(times, float)
    index = _steps_of(times, step)
    count, n_times = times.shape
    last = index.max(axis=1)
    states = np.full((count, n_times, starts.shape[1]), np.nan)
    x, ended_at, end_state = np.array(starts), np.full(count, np.nan), [None] * count
    runs = np.ones(count, dtype=bool)
    columns = np.arange(count)
    position = np.zeros(count, dtype=int)  # index of the next time to be stored
    for k in range(int(last.max()) + 1):
        while True:
            due = position < n_times
            due &= index[columns, np.minimum(position, n_times - 1)] <= k
            if not due.any():
                break
            rows = np.flatnonzero(due)
            states[rows[runs[rows]], position[rows[runs[rows]]]] = x[rows[runs[rows]]]
            position[rows] += 1
        moving = np.flatnonzero(runs & (last > k))
        if not len(moving):
            break
        z = x[moving]
        if inputs is not None:
            now = _times_at(times[moving], index[moving], k, step)
            z = np.hstack([z, inputs.only(moving).at(now[:, None])[:, 0]])
        with np.errstate(all="ignore"):
            following = np.asarray(next_state(z))
            inside = (np.abs(following) <= bound[moving]).all(axis=1)  # False for NaN
        x[moving] = following
        for row, state in zip(moving[~inside], following[~inside], strict=True):
            runs[row], end_state[row] = False, state
            ended_at[row] = times[row, 0] + (k + 1) * step
    return Rollout(
        times=times,
        x=states,
        status=[Status.completed if ok else Status.diverged for ok in runs],
        stopped_at=[None if ok else float(t) for ok, t in zip(runs, ended_at, strict=True)],
        stopped_state=end_state,
        message=[
            "" if ok else f"The rollout left the range of finite states at t = {t:.6g}"
            for ok, t in zip(runs, ended_at, strict=True)
        ],
    )


def _steps_of(times: Float[np.ndarray, "B T"], step: float) -> np.ndarray:
    """Return the number of steps from the first time to each time."""
    exact = (times - times[:, :1]) / step
    index = np.rint(exact).astype(np.int64)
    tolerance = limits.EQUAL_MAP_STEPS + limits.EQUAL_MAP_STEPS * np.arange(times.shape[1])
    is_between = np.abs(exact - index) > np.minimum(tolerance, limits.MAX_STEP_TOLERANCE)
    if is_between.any():
        row, column = np.argwhere(is_between)[0]
        raise InputError(
            f"A map has states only at whole steps of {step:.6g} after the first time; the time "
            f"{times[row, column]:.6g} is {exact[row, column]:.6g} steps after "
            f"{times[row, 0]:.6g}."
        )
    return index


def _times_at(
    times: Float[np.ndarray, "B T"], index: np.ndarray, k: int, step: float
) -> Float[np.ndarray, " B"]:
    """Return the times after k steps.

    If no time is given there, the result is slightly later, so that a held input has its value of
    this step.
    """
    result = times[:, 0] + (k + limits.EQUAL_MAP_STEPS) * step
    row, column = np.nonzero(index == k)
    result[row] = times[row, column]
    return result
