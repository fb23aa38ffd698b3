"""Blocks of steps by NumPy, and the states at the asked times out of any block."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from jaxtyping import Bool, Float, Int

from ._events import attempt_switched, initial_modes
from ._inputs import Inputs
from ._switching import Switched
from ._tsit5 import (
    COMPLETED,
    DENSE,
    RUNNING,
    WEIGHTS,
    Cells,
    Limits,
    Now,
    Slope,
    Step,
    attempt,
    clipped,
    with_inputs,
)

_FIRST = 0.01  # size of the first step, in units of time or of the whole time: soon forgotten
_WRITTEN = 8192  # states that are read out at once, so that they stay in the cache
_STABLE = 2.0  # rate times step: the method is stable up to about 3, and accurate far below


@final
@dataclass(frozen=True, eq=False)
class Grid:
    """All asked times, and room for the states there. Never copied: there may be millions."""

    times: Float[np.ndarray, "R T"]
    states: Float[np.ndarray, "R T n"]

    @cached_property
    def is_shared(self) -> bool:
        """Whether all rollouts have the same times."""
        return bool((self.times == self.times[0]).all())

    def passed(
        self, now: Float[np.ndarray, " M"], row: Int[np.ndarray, " M"]
    ) -> Int[np.ndarray, " M"]:
        """How many of its times a rollout has passed, or just reached, at each of these."""
        if self.is_shared:
            return np.searchsorted(self.times[0], now, side="right")
        passed = np.empty(len(now), dtype=np.int64)
        for one in np.unique(row):
            mine = row == one
            passed[mine] = np.searchsorted(self.times[one], now[mine], side="right")
        return passed


def begin(
    field: Slope | Switched,
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
        if isinstance(field, Switched):
            slope = np.zeros_like(starts)  # taken anew at each step
            mode, starts = initial_modes(field, starts, first, limits, cell, cells)
        else:
            slope = np.asarray(with_inputs(field, cell, cells)(first, starts))
            mode = np.zeros((len(starts), 0))
    wanted = _FIRST * np.minimum(limits.last - first, 1.0)
    status = np.where(limits.last > first, RUNNING, COMPLETED)
    end = clipped(first, wanted, cell, limits, cells, np)
    end = np.where(status == RUNNING, end, first)
    return Now(first, end, wanted, starts, slope, cell, status, mode)


def take_step(
    field: Slope | Switched, now: Now, limits: Limits, cells: Cells | None, jumps: bool, xp: Any
) -> tuple[Now, Step]:
    """One step of every running rollout."""
    if isinstance(field, Switched):
        return attempt_switched(field, now, limits, cells, xp)
    return attempt(field, now, limits, cells, jumps, xp)


def numpy_block(
    field: Slope | Switched, now: Now, limits: Limits, inputs: Inputs | None, most: int
) -> tuple[Now, Step]:
    """At most so many steps of all rollouts, and what they were, one after the other."""
    steps = []
    cells, jumps = (None, False) if inputs is None else (inputs.cells, inputs.jumps)
    with np.errstate(all="ignore"):
        while len(steps) < most and (now.status == RUNNING).any():
            now, step = take_step(field, now, limits, cells, jumps, np)
            steps.append(step)
    return now, Step(*(np.array(part) for part in zip(*steps, strict=True)))


def read_out(step: Step, grid: Grid, rows: Int[np.ndarray, " B"]) -> None:
    """Writes the states at the times that lie in a block of steps into these rows of a grid.

    The arrays of a block have one more axis in front: the steps.
    """
    n = step.x.shape[-1]
    number, which = np.nonzero(step.kept)
    begin, end = step.t[number, which], step.end[number, which]
    first, last = grid.passed(begin, rows[which]), grid.passed(end, rows[which])
    asked = np.flatnonzero(last > first)
    number, which, begin, first = (part[asked] for part in (number, which, begin, first))
    count = last[asked] - first
    size = step.size[number, which]
    # the slopes of a step, (step, slope, rollout, state), as a polynomial in the part of it
    with np.errstate(all="ignore"):  # those of steps that were not kept may be anything
        ways = np.tensordot(DENSE.T, step.slopes, axes=(1, 1))[:, number, which]
    ways *= size[:, None]
    for some in np.split(np.arange(len(asked)), np.searchsorted(
        np.cumsum(count), np.arange(_WRITTEN, count.sum(), _WRITTEN)
    )):  # fmt: skip
        again = np.repeat(some, count[some])
        before = np.cumsum(count[some]) - count[some]
        column = first[again] + np.arange(len(again)) - np.repeat(before, count[some])
        row = rows[which[again]]
        place = (grid.times[row, column] - begin[again]) / size[again]
        place = np.repeat(place, n).reshape(-1, n)  # NumPy is slow along a short last axis
        total = ways[3, again]
        for power in (2, 1, 0):
            total *= place
            total += ways[power, again]
        total *= place
        total += step.x[number[again], which[again]]
        grid.states[row, column] = total


def is_held_by_stability(step: Step, limits: Limits) -> Bool[np.ndarray, " B"]:
    """Whether most steps of a block are as long as stability allows, which accuracy would not ask
    for: the field is stiff there. [Hairer and Wanner, section IV.2]

    The rate of the fastest motion is estimated from two slopes at the end of a step.
    """
    scale, size = limits.atol, step.size[..., None]
    with np.errstate(all="ignore"):
        weights = np.array(WEIGHTS[5]) - np.append(WEIGHTS[4], 0.0)
        apart = size * np.einsum("s,isbn->ibn", weights, step.slopes[:, :6])
        change = size * (step.slopes[:, 6] - step.slopes[:, 5])
        rate = np.linalg.norm(change / scale, axis=2) / np.linalg.norm(apart / scale, axis=2)
    held = (step.kept & (rate > _STABLE)).sum(0)
    return held > 0.5 * np.maximum(step.kept.sum(0), 1)
