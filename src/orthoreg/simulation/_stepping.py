"""Blocks of steps by NumPy, and the states at the asked times out of any block."""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from ._inputs import Inputs
from ._tsit5 import (
    COMPLETED,
    RUNNING,
    WEIGHTS,
    Limits,
    Now,
    Slope,
    Step,
    attempt,
    clipped,
    weights_at,
    with_inputs,
)

_FIRST = 0.01  # size of the first step, in units of time or of the whole time: soon forgotten
_STABLE = 2.0  # rate times step: the method is stable up to about 3, and accurate far below


def begin(
    field: Slope,
    starts: Float[np.ndarray, "B n"],
    first: Float[np.ndarray, " B"],
    limits: Limits,
    inputs: Inputs | None,
) -> Now:
    """The rollouts before their first step. Those over no time at all are completed."""
    cells, cell = None, np.zeros(len(starts), dtype=np.int64)
    if inputs is not None:
        cells, cell = inputs.cells, inputs.cell_at(first)
    with np.errstate(all="ignore"):
        slope = np.asarray(with_inputs(field, cell, cells)(first, starts))
    wanted = _FIRST * np.minimum(limits.last - first, 1.0)
    status = np.where(limits.last > first, RUNNING, COMPLETED)
    end = clipped(first, wanted, cell, limits, cells, np)
    return Now(first, np.where(status == RUNNING, end, first), wanted, starts, slope, cell, status)


def numpy_block(
    field: Slope, now: Now, limits: Limits, inputs: Inputs | None, most: int
) -> tuple[Now, Step]:
    """At most so many steps of all rollouts, and what they were, one after the other."""
    steps = []
    cells, jumps = (None, False) if inputs is None else (inputs.cells, inputs.jumps)
    with np.errstate(all="ignore"):
        while len(steps) < most and (now.status == RUNNING).any():
            now, step = attempt(field, now, limits, cells, jumps, np)
            steps.append(step)
    return now, Step(*(np.array(part) for part in zip(*steps, strict=True)))


def rows_of(parts: Any, rows: Any) -> Any:
    """A tuple of arrays with some of their rows; scalars stay."""
    return type(parts)(*(part[rows] if np.ndim(part) else part for part in parts))


def read_out(
    step: Step,
    times: Float[np.ndarray, "B T"],
    states: Float[np.ndarray, "all T n"],
    rows: Int[np.ndarray, " B"],
) -> None:
    """Writes the states at the times that lie in a block of steps into these rows of `states`.

    The arrays of a block have one more axis in front: the steps.
    """
    number, row = np.nonzero(step.kept)
    begin, end = step.t[number, row], step.end[number, row]
    first, last = _passed(times, begin, row), _passed(times, end, row)
    count = last - first
    which = np.repeat(np.arange(len(row)), count)
    behind = np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count)
    column = first[which] + behind
    row, number = row[which], number[which]
    place = (times[row, column] - begin[which]) / (end - begin)[which]
    weights = weights_at(place) * (end - begin)[which, None]
    slopes = step.slopes[number, :, row]
    states[rows[row], column] = step.x[number, row] + np.einsum("ms,msn->mn", weights, slopes)


def _passed(
    times: Float[np.ndarray, "B T"], now: Float[np.ndarray, " M"], row: Int[np.ndarray, " M"]
) -> Int[np.ndarray, " M"]:
    """How many of its times each rollout has passed, or just reached."""
    if (times == times[0]).all():
        return np.searchsorted(times[0], now, side="right")
    passed = np.empty(len(now), dtype=np.int64)
    for one in np.unique(row):
        mine = row == one
        passed[mine] = np.searchsorted(times[one], now[mine], side="right")
    return passed


def is_held_by_stability(step: Step, limits: Limits) -> Bool[np.ndarray, " B"]:
    """Whether most steps of a block are as long as stability allows, which accuracy would not ask
    for: the field is stiff there. [Hairer and Wanner, section IV.2]

    The rate of the fastest motion is estimated from two slopes at the end of a step.
    """
    scale, size = limits.atol, (step.end - step.t)[..., None]
    with np.errstate(all="ignore"):
        weights = np.array(WEIGHTS[5]) - np.append(WEIGHTS[4], 0.0)
        apart = size * np.einsum("s,isbn->ibn", weights, step.slopes[:, :6])
        change = size * (step.slopes[:, 6] - step.slopes[:, 5])
        rate = np.linalg.norm(change / scale, axis=2) / np.linalg.norm(apart / scale, axis=2)
    held = (step.kept & (rate > _STABLE)).sum(0)
    return held > 0.5 * np.maximum(step.kept.sum(0), 1)
