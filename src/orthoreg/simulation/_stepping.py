"""Blocks of steps in NumPy, and the states at the requested times.

A step of a field that jumps ends at the first time at which a sign changes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple, final

import numpy as np
from jaxtyping import Bool, Float, Int

from ._inputs import Inputs
from ._limits import (
    FIRST_STEP,
    LEAVING_MARGIN,
    MAX_EVALUATIONS,
    ROOT_TOLERANCE,
    STIFF_RATE,
)
from ._switching import (
    Point,
    Switched,
    choose,
    inputs_at,
    loop,
    onto_surfaces,
    put,
    repeat_while,
    settle,
    sliding_slope,
)
from ._tsit5 import (
    COMPLETED,
    DENSE,
    ERROR,
    PLACES,
    RUNNING,
    WEIGHTS,
    Cells,
    Limits,
    Now,
    Slope,
    Step,
    advance,
    attempt,
    clipped,
    relative_size,
    rows_of,
    weights_at,
    with_inputs,
)

_STAGE_WEIGHTS = np.array([np.pad(row, (0, 7 - len(row))) for row in ((), *WEIGHTS)])
_STAGES = np.array([0.0, *PLACES])
_CHECKED_FRACTIONS = np.array([0.25, 0.5, 0.75])  # where signs are checked, besides the end


@final
class _ModeChange(NamedTuple):
    """The change of modes in a step: fraction of the step, state there and modes after it."""

    fraction: Any
    x: Any
    mode: Any


def initial_modes(
    field: Switched,
    starts: Float[np.ndarray, "B n"],
    first: Float[np.ndarray, " B"],
    limits: Limits,
    cell: np.ndarray,
    cells: Cells | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the initial modes of rollouts, and their starts."""
    point = Point(first, starts, *inputs_at(cell, cells, np)(first))
    g, _ = field.surfaces(starts, point.u)
    mode = np.where(g < 0, -1.0, 1.0)
    return settle(field, point, mode, g == 0, limits, np)


def attempt_switched(
    field: Switched, now: Now, limits: Limits, cells: Cells | None, xp: Any
) -> tuple[Now, Step]:
    """Attempt one step of each running rollout, which ends at a sign change or at leaving a
    surface."""
    inputs = inputs_at(now.cell, cells, xp)
    size = now.end - now.t
    count, n = now.x.shape

    zeros = (xp.zeros((7, count, n)), xp.zeros((7, *now.mode.shape)))
    slopes, margins = loop(7, lambda i, parts: _stage(field, now, inputs, i, parts, xp), zeros, xp)
    x = now.x + size[:, None] * xp.tensordot(xp.asarray(_STAGE_WEIGHTS)[6], slopes, 1)
    error = size[:, None] * xp.tensordot(xp.asarray(ERROR), slopes, 1)
    error = relative_size(error, now.x, x, limits, xp)
    kept = (error < 1) & (now.status == RUNNING)
    step = Step(now.t, now.end, size, now.x, slopes, kept)
    x, first = _check(field, now, step, x, margins, inputs, xp)
    change = choose(
        (first <= 1).any(),
        lambda x, first: _changes(
            field, now, step, _ModeChange(first, x, now.mode), limits, cells, xp
        ),
        lambda x, first: _ModeChange(xp.ones(count), x, now.mode),
        (x, first),
        xp,
    )
    end = xp.where(change.fraction < 1, now.t + change.fraction * size, now.end)
    end = xp.minimum(xp.maximum(end, now.t + limits.min_step), now.end)
    after = advance(now._replace(end=end), change.x, slopes[6], error, kept, limits, cells, xp)
    mode = xp.where(kept[:, None], change.mode, now.mode)
    return after._replace(mode=mode), step._replace(end=end)


def _stage(
    field: Switched, now: Now, inputs: Callable[..., Any], i: Any, so_far: tuple[Any, Any], xp: Any
) -> tuple[Any, Any]:
    """Return slopes and margins with those of one more stage."""
    slopes, margins = so_far
    size = now.end - now.t
    x = now.x + size[:, None] * xp.tensordot(xp.asarray(_STAGE_WEIGHTS)[i], slopes, 1)
    t = now.t + xp.asarray(_STAGES)[i] * size
    slope, margin = sliding_slope(field, Point(t, x, *inputs(t)), now.mode, xp)
    return put(slopes, i, slope, xp), put(margins, i, margin, xp)


def _check(
    field: Switched, now: Now, step: Step, x: Any, margins: Any, inputs: Callable[..., Any], xp: Any
) -> tuple[Any, Any]:
    """Return the states at the end, and the first fraction at which a mode is invalid (2: none).

    Sliding states are moved onto their surface.
    """
    count, n = x.shape
    size = step.size[:, None]
    weights = xp.asarray(_CHECKED_WEIGHTS)
    displacement = xp.einsum("ps,sbn->pbn", weights, step.slopes)
    states = xp.concatenate([now.x + size * displacement, x[None]])
    positions = np.append(_CHECKED_FRACTIONS, 1.0)
    times = [now.t + position * step.size for position in positions.tolist()]
    u = inputs(times[0])[0]
    if u is not None:
        u = xp.concatenate([inputs(t)[0] for t in times])
    g, gradient = field.surfaces(states.reshape(len(positions) * count, n), u)
    g = g.reshape(len(positions), *now.mode.shape)
    has_crossed = (g * now.mode < 0).any(2)
    has_left = (margins < LEAVING_MARGIN).any(2)
    first = xp.minimum(
        xp.where(has_crossed, xp.asarray(positions)[:, None], 2.0).min(0),
        xp.where(has_left, xp.asarray(_STAGES)[:, None], 2.0).min(0),
    )
    x = onto_surfaces(x, g[-1], gradient[-count:], now.mode == 0, xp)
    return x, xp.where(step.kept, first, 2.0)


def _changes(
    field: Switched,
    now: Now,
    step: Step,
    end: _ModeChange,
    limits: Limits,
    cells: Cells | None,
    xp: Any,
) -> _ModeChange:
    """Return `_change`; NumPy evaluates only rollouts that change, JAX all of them."""
    if xp is not np:
        return _change(field, now, step, end, limits, cells, xp)
    rows = np.flatnonzero(end.fraction <= 1)
    changing_cells = None if cells is None else cells._replace(signal=cells.signal[rows])
    changing = Step(*(part[:, rows] if part is step.slopes else part[rows] for part in step))
    part = (rows_of(now, rows), changing, rows_of(end, rows), rows_of(limits, rows))
    change = _change(field, *part, changing_cells, xp)
    result = _ModeChange(np.ones(len(end.fraction)), end.x, now.mode.copy())
    for array, values in zip(result, change, strict=True):
        array[rows] = values
    return result


def _change(
    field: Switched,
    now: Now,
    step: Step,
    end: _ModeChange,
    limits: Limits,
    cells: Cells | None,
    xp: Any,
) -> _ModeChange:
    """Return where steps change their modes, and the new modes; others are unchanged."""
    inputs = inputs_at(now.cell, cells, xp)
    margin = partial(_margin, field, step, inputs, now.mode, xp)
    high = xp.where(end.fraction <= 1, end.fraction, 1.0)
    before, after = margin(xp.zeros_like(high)), margin(high)
    changes = (end.fraction <= 1) & ((before < 0) | (after < 0))
    position = xp.where(before < 0, 0.0, first_root(margin, before, high, after, changes, xp))
    point = _within(step, inputs, position, xp)
    g, _ = field.surfaces(point.x, point.u)
    mode, x = settle(field, point, now.mode, now.mode * g <= 0, limits, xp)
    return _ModeChange(
        xp.where(changes, position, 1.0),
        xp.where(changes[:, None], x, end.x),
        xp.where(changes[:, None], mode, now.mode),
    )


def _within(step: Step, inputs: Callable[..., Any], position: Any, xp: Any) -> Point:
    """Return times, states and inputs at a fraction of each step."""
    displacement = xp.einsum("bs,sbn->bn", weights_at(position, xp), step.slopes)
    t = step.t + position * step.size
    return Point(t, step.x + step.size[:, None] * displacement, *inputs(t))


def _margin(
    field: Switched, step: Step, inputs: Callable[..., Any], mode: Any, xp: Any, position: Any
) -> Any:
    """Return the distance of each rollout from a change of modes, negative behind it."""
    point = _within(step, inputs, position, xp)
    _, slide_margin = sliding_slope(field, point, mode, xp)
    g, _ = field.surfaces(point.x, point.u)
    return xp.where(mode == 0, slide_margin - LEAVING_MARGIN, mode * g).min(1)


def first_root(
    function: Callable[[Any], Any], before: Any, high: Any, after: Any, wanted: Any, xp: Any
) -> Any:
    """Return a point between 0 and `high`, just behind a root, for many functions.

    The functions are non-negative at 0 and negative at `high`. Chandrupatla's method is used:
    inverse quadratic interpolation where that is safe, else bisection.
    """
    start = (0, xp.zeros_like(high), high, before, after, xp.full(high.shape, 0.5))
    _, a, b, value_a, *_ = repeat_while(
        lambda carry: (
            (carry[0] < MAX_EVALUATIONS)
            & (wanted & (xp.abs(carry[2] - carry[1]) > ROOT_TOLERANCE * high)).any()
        ),
        lambda carry: _narrower(function, carry, ROOT_TOLERANCE * high, xp),
        start,
        xp,
    )
    return xp.where(value_a >= 0, b, a)


def _narrower(function: Callable[[Any], Any], carry: Any, tolerance: Any, xp: Any) -> Any:
    """Evaluate once more: return the newest point a, a point b on the other side of the root, their
    values, and the fraction of the way from a to b to try next."""
    i, a, b, value_a, value_b, part = carry
    newest = a + part * (b - a)
    value = function(newest)
    is_same_side = (value >= 0) == (value_a >= 0)
    c, value_c = xp.where(is_same_side, a, b), xp.where(is_same_side, value_a, value_b)
    b, value_b = xp.where(is_same_side, b, a), xp.where(is_same_side, value_b, value_a)
    a, value_a = newest, value
    xi, phi = (a - b) / (c - b), (value_a - value_b) / (value_c - value_b)
    smooth = (phi * phi < xi) & ((1 - phi) ** 2 < 1 - xi)
    first = value_a / (value_b - value_a) * value_c / (value_b - value_c)
    second = (c - a) / (b - a) * value_a / (value_c - value_a) * value_b / (value_c - value_b)
    min_part = 0.5 * tolerance / xp.maximum(xp.abs(b - a), 1e-300)
    safe = smooth & (min_part < 0.5)
    return (
        i + 1,
        a,
        b,
        value_a,
        value_b,
        xp.where(safe, xp.clip(first + second, min_part, 1 - min_part), 0.5),
    )


_CHECKED_WEIGHTS = weights_at(_CHECKED_FRACTIONS)


_STATES_PER_BATCH = 8192  # states that are interpolated together, which stay in the cache


@final
@dataclass(frozen=True, eq=False)
class Grid:
    """All requested times, and the states there. Never copied, as there may be millions."""

    times: Float[np.ndarray, "R T"]
    states: Float[np.ndarray, "R T n"]

    @cached_property
    def is_shared(self) -> bool:
        """Whether all rollouts have the same times."""
        return bool((self.times == self.times[0]).all())

    def passed(
        self, now: Float[np.ndarray, " M"], row: Int[np.ndarray, " M"]
    ) -> Int[np.ndarray, " M"]:
        """Return how many of its times a rollout has reached at each of these times."""
        if self.is_shared:
            return np.searchsorted(self.times[0], now, side="right")
        passed = np.empty(len(now), dtype=np.int64)
        for index in np.unique(row):
            is_row = row == index
            passed[is_row] = np.searchsorted(self.times[index], now[is_row], side="right")
        return passed


def begin_rollouts(
    field: Slope | Switched,
    starts: Float[np.ndarray, "B n"],
    first: Float[np.ndarray, " B"],
    limits: Limits,
    inputs: Inputs | None,
) -> Now:
    """Return the rollouts before their first step. Those over no time are completed."""
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
    wanted = FIRST_STEP * np.minimum(limits.last - first, 1.0)
    status = np.where(limits.last > first, RUNNING, COMPLETED)
    end = clipped(first, wanted, cell, limits, cells, np)
    end = np.where(status == RUNNING, end, first)
    return Now(first, end, wanted, starts, slope, cell, status, mode)


def take_step(
    field: Slope | Switched, now: Now, limits: Limits, cells: Cells | None, jumps: bool, xp: Any
) -> tuple[Now, Step]:
    """Attempt one step of each running rollout."""
    if isinstance(field, Switched):
        return attempt_switched(field, now, limits, cells, xp)
    return attempt(field, now, limits, cells, jumps, xp)


def numpy_block(
    field: Slope | Switched, now: Now, limits: Limits, inputs: Inputs | None, max_steps: int
) -> tuple[Now, Step]:
    """Take at most `max_steps` steps of all rollouts, and return the state and the steps."""
    steps = []
    cells, jumps = (None, False) if inputs is None else (inputs.cells, inputs.jumps)
    with np.errstate(all="ignore"):
        while len(steps) < max_steps and (now.status == RUNNING).any():
            now, step = take_step(field, now, limits, cells, jumps, np)
            steps.append(step)
    return now, Step(*(np.array(part) for part in zip(*steps, strict=True)))


def read_out(step: Step, grid: Grid, rows: Int[np.ndarray, " B"]) -> None:
    """Write the states at the requested times within a block of steps into a grid.

    The first axis of the arrays of a block are the steps.
    """
    n = step.x.shape[-1]
    step_index, rollout = np.nonzero(step.kept)
    start, end = step.t[step_index, rollout], step.end[step_index, rollout]
    first, last = grid.passed(start, rows[rollout]), grid.passed(end, rows[rollout])
    has_times = np.flatnonzero(last > first)
    step_index, rollout, start, first = (
        part[has_times] for part in (step_index, rollout, start, first)
    )
    count = last[has_times] - first
    size = step.size[step_index, rollout]
    # the slopes of a step, (step, slope, rollout, state), as a polynomial in the part of it
    with np.errstate(all="ignore"):  # those of steps that were not kept may be anything
        displacements = np.tensordot(DENSE.T, step.slopes, axes=(1, 1))[:, step_index, rollout]
    displacements *= size[:, None]
    for batch in np.split(np.arange(len(has_times)), np.searchsorted(
        np.cumsum(count), np.arange(_STATES_PER_BATCH, count.sum(), _STATES_PER_BATCH)
    )):  # fmt: skip
        repeated = np.repeat(batch, count[batch])
        before = np.cumsum(count[batch]) - count[batch]
        column = first[repeated] + np.arange(len(repeated)) - np.repeat(before, count[batch])
        row = rows[rollout[repeated]]
        fraction = (grid.times[row, column] - start[repeated]) / size[repeated]
        fraction = np.repeat(fraction, n).reshape(-1, n)  # NumPy is slow along a short last axis
        total = displacements[3, repeated]
        for power in (2, 1, 0):
            total *= fraction
            total += displacements[power, repeated]
        total *= fraction
        total += step.x[step_index[repeated], rollout[repeated]]
        grid.states[row, column] = total


def is_held_by_stability(step: Step, limits: Limits) -> Bool[np.ndarray, " B"]:
    """Return whether most steps are limited by stability, not accuracy: the field is stiff.

    The rate of the fastest motion is estimated from two slopes at the end of a step. [Hairer and
    Wanner, section IV.2]
    """
    scale, size = limits.atol, step.size[..., None]
    with np.errstate(all="ignore"):
        weights = np.array(WEIGHTS[5]) - np.append(WEIGHTS[4], 0.0)
        difference = size * np.einsum("s,isbn->ibn", weights, step.slopes[:, :6])
        change = size * (step.slopes[:, 6] - step.slopes[:, 5])
        rate = np.linalg.norm(change / scale, axis=2) / np.linalg.norm(difference / scale, axis=2)
    n_limited = (step.kept & (rate > STIFF_RATE)).sum(0)
    return n_limited > 0.5 * np.maximum(step.kept.sum(0), 1)
