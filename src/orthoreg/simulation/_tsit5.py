"""Tsitouras' Runge-Kutta pair of orders 5 and 4 with step-size control, for many rollouts at
once.

The same code serves NumPy and JAX (`xp`). A simulation can therefore begin in NumPy and continue in
JAX, with equal results up to rounding. The pair, its dense output and the rule for step sizes are
those of diffrax (`Tsit5` with `PIDController`) and of Hairer, Norsett and Wanner, section II.4.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np
from jaxtyping import Bool, Float, Int

from .._common.arrays import Arrays
from ._limits import (
    GROWN_SHARE,
    MAX_STEP_RATIO,
    MIN_STEP_RATIO,
    STEP_SAFETY,
    STIFF_RATE,
)

RUNNING, COMPLETED, DIVERGED, STALLED, STUCK = -1, 0, 1, 2, 3
"""Status of a rollout. STALLED: it ran out of steps. STUCK: no step is small enough."""

PLACES = (161 / 1000, 327 / 1000, 9 / 10, 0.9800255409045097, 1.0, 1.0)
"""Fractions of the step at which the slopes after the first one are evaluated."""

WEIGHTS = (
    (161 / 1000,),
    (-0.008480655492356989, 0.335480655492357),
    (2.8971530571054935, -6.359448489975075, 4.3622954328695815),
    (5.325864828439257, -11.748883564062828, 7.4955393428898365, -0.09249506636175525),
    (5.86145544294642, -12.92096931784711, 8.159367898576159, -0.071584973281401,
     -0.028269050394068383),
    (0.09646076681806523, 0.01, 0.4798896504144996, 1.379008574103742, -3.290069515436081,
     2.324710524099774),
)  # fmt: skip
"""Weights of the previous slopes in each stage. The last row gives the end of the step."""

ERROR = (
    0.09646076681806523 - 0.09468075576583945,
    0.01 - 0.009183565540343254,
    0.4798896504144996 - 0.4877705284247616,
    1.379008574103742 - 1.234297566930479,
    -3.290069515436081 + 2.7077123499835256,
    2.324710524099774 - 1.866628418170587,
    -1 / 66,
)
"""Difference between the weights of the two orders."""

_ORDER = 5

Slope = Callable[[Any, Any, Any], Any]
"""A function of (times B, states B x n, inputs B x m or None) that returns derivatives B x n."""


@final
class State(NamedTuple):
    """The state of B rollouts, and the next step to attempt."""

    t: Any
    end: Any  # of the step
    next_size: Any  # step size before the step was cut at a knot
    x: Any
    slope: Any  # at t and x
    cell: Any  # of the inputs' polynomials
    status: Any
    mode: Any  # value of each sign in the field, or 0 if the rollout slides (B x k)


@final
class Limits(NamedTuple):
    """Last times, bounds on the states, tolerances and minimum step sizes of B rollouts."""

    last: Any
    bound: Any
    atol: Any
    rtol: Any
    min_step: Any


@final
class Cells(NamedTuple):
    """Inputs as polynomials in (t - start) / width.

    They lie between knots, at which steps must end.

    Coefficients (S signals, C cells, powers, m inputs) begin with the highest power. `signal` is
    the index of each rollout's signal. The last cell of a signal has zero width, for rollouts that
    have ended.
    """

    knots: Any  # (S, C + 1)
    coefficients: Any
    signal: Any


@final
class Step(NamedTuple):
    """An attempted step of B rollouts, with the data for interpolating states within it."""

    t: Any
    end: Any
    size: Any  # longer than end - t if a sign changed in the step
    x: Any
    slopes: Any  # 7 x B x n
    accepted: Any


def rows_of(parts: Any, rows: Any) -> Any:
    """Return the selected rows of all arrays in a tuple. Scalars are unchanged."""
    return type(parts)(*(part[rows] if np.ndim(part) else part for part in parts))


def with_inputs(field: Slope, cell: Any, cells: Cells | None) -> Callable[..., Any]:
    """Return the function (times, states) -> derivatives, with the inputs of the current cells."""
    if cells is None:
        return lambda t, x: field(t, x, None)
    start, stop = cells.knots[cells.signal, cell], cells.knots[cells.signal, cell + 1]
    pieces = cells.coefficients[cells.signal, cell]
    width = stop - start

    def slope(t: Any, x: Any) -> Any:
        position = ((t - start) / width)[:, None]
        u = pieces[:, 0]
        for power in range(1, pieces.shape[1]):
            u = u * position + pieces[:, power]
        return field(t, x, u)

    return slope


def attempt(
    field: Slope, now: State, limits: Limits, cells: Cells | None, jumps: bool, xp: Any
) -> tuple[State, Step]:
    """Attempt one step of each running rollout. A step is accepted if its error is small.

    With `jumps`, inputs are discontinuous at knots, so the slope at the end of a step is not the
    slope at the start of the next step.
    """
    slope = with_inputs(field, now.cell, cells)
    length = now.end - now.t
    size = length[:, None]
    slopes = [slope(now.t, now.x) if jumps else now.slope]
    x = now.x
    for fraction, weights in zip(PLACES, WEIGHTS, strict=True):
        x = now.x + size * _weighted(weights, slopes)
        slopes.append(slope(now.t + fraction * length, x))
    error = relative_size(size * _weighted(ERROR, slopes), now.x, x, limits, xp)
    accepted = (error < 1) & (now.status == RUNNING)
    step = Step(now.t, now.end, length, now.x, slopes, accepted)
    return advance(now, x, slopes[-1], error, accepted, limits, cells, xp), step


def _weighted(weights: Sequence[float], slopes: Sequence[Any]) -> Any:
    total = weights[0] * slopes[0]
    for weight, slope in zip(weights[1:], slopes[1:], strict=True):
        total = total + weight * slope
    return total


def relative_size(error: Any, before: Any, after: Any, limits: Limits, xp: Any) -> Any:
    """Return the size of an error relative to the tolerance, infinite if the error is NaN."""
    scale = limits.atol + limits.rtol * xp.maximum(xp.abs(before), xp.abs(after))
    size = _norm(error / scale, xp)
    return xp.where(xp.isnan(size), xp.inf, size)


def _norm(x: Any, xp: Any) -> Any:
    return xp.sqrt((x * x).sum(1) / x.shape[1])


def advance(
    now: State,
    x: Any,
    slope: Any,
    error: Any,
    is_accepted: Any,
    limits: Limits,
    cells: Cells | None,
    xp: Any,
) -> State:
    """Return the rollouts after a step, with the next steps to attempt."""
    min_factor = xp.where(is_accepted, 1.0, MIN_STEP_RATIO)
    max_factor = xp.where(is_accepted, MAX_STEP_RATIO, STEP_SAFETY)
    size = now.end - now.t
    next_size = size * xp.minimum(
        xp.maximum(STEP_SAFETY * error ** (-1 / _ORDER), min_factor), max_factor
    )
    # a step that was cut at a knot contains little information on the next step size
    next_size = xp.where(is_accepted, xp.maximum(next_size, now.next_size), next_size)
    t = xp.where(is_accepted, now.end, now.t)
    x = xp.where(is_accepted[:, None], x, now.x)
    slope = xp.where(is_accepted[:, None], slope, now.slope)
    size = xp.abs(x)
    escaped = is_accepted & ~(size <= limits.bound).all(1)
    vanished = (now.status == RUNNING) & ~is_accepted & (next_size < limits.min_step)
    grown = ~(size <= GROWN_SHARE * limits.bound).all(1)
    status = xp.where(t >= limits.last, COMPLETED, now.status)
    status = xp.where(escaped | (vanished & grown), DIVERGED, xp.where(vanished, STUCK, status))
    cell = now.cell
    if cells is not None:
        cell = xp.where(is_accepted & (t >= cells.knots[cells.signal, cell + 1]), cell + 1, cell)
    end = clipped(t, next_size, cell, limits, cells, xp)
    return State(
        t, xp.where(status == RUNNING, end, t), next_size, x, slope, cell, status, now.mode
    )


def clipped(t: Any, next_size: Any, cell: Any, limits: Limits, cells: Cells | None, xp: Any) -> Any:
    """Return the end of a step. It is at most the last time or the next knot."""
    stop = limits.last
    if cells is not None:
        stop = xp.minimum(stop, cells.knots[cells.signal, cell + 1])
    return xp.where(t + next_size > stop - limits.min_step, stop, t + next_size)


def _quartic(factor: float, *parts: Sequence[float]) -> np.ndarray:
    """Return the coefficients of s, ..., s^4 in a product of polynomials."""
    product = np.array([factor])
    for part in parts:
        product = np.polynomial.polynomial.polymul(product, part)
    return product[1:]


_SQUARE = (0.0, 0.0, 1.0)
DENSE = np.stack([
    _quartic(-1.0530884977290216, (0.0, 1.0), (-1.3299890189751412, 1.0),
             (0.7139816917074209, -1.4364028541716351, 1.0)),
    _quartic(0.1017, _SQUARE, (1.2949852507374631, -2.1966568338249754, 1.0)),
    _quartic(2.490627285651252793, _SQUARE, (1.57803468208092486, -2.38535645472061657, 1.0)),
    _quartic(-16.54810288924490272, _SQUARE, (-1.21712927295533244, 1.0),
             (-0.61620406037800089, 1.0)),
    _quartic(47.37952196281928122, _SQUARE, (-1.203071208372362603, 1.0),
             (-0.658047292653547382, 1.0)),
    _quartic(-34.87065786149660974, _SQUARE, (-1.2, 1.0), (-0.666666666666666667, 1.0)),
    _quartic(2.5, _SQUARE, (-1.0, 1.0), (-0.6, 1.0)),
])  # fmt: skip
"""Dense output. The displacement at a fraction s of a step is sum_k s^k sum_j DENSE[j, k - 1]
slope_j, in units of the step."""


def weights_at(position: Float[Arrays, " M"], xp: Any = np) -> Float[Arrays, "M 7"]:
    """Return the weights of the slopes in the displacement at a fraction of a step."""
    return xp.stack([position, position**2, position**3, position**4], axis=1) @ DENSE.T


# -- states at the requested times -------------------------------------------------------------

_STATES_PER_BATCH = 8192  # states that are interpolated together and stay in the cache


@final
@dataclass(frozen=True, eq=False)
class Grid:
    """All requested times and the states there.

    The arrays are never copied, because they may have millions of rows.
    """

    times: Float[np.ndarray, "R T"]
    states: Float[np.ndarray, "R T n"]

    @cached_property
    def is_shared(self) -> bool:
        """Whether all rollouts have the same times."""
        return bool((self.times == self.times[0]).all())

    def passed(
        self, now: Float[np.ndarray, " M"], row: Int[np.ndarray, " M"]
    ) -> Int[np.ndarray, " M"]:
        """Return how many requested times of its row each rollout has passed at the times `now`."""
        if self.is_shared:
            return np.searchsorted(self.times[0], now, side="right")
        passed = np.empty(len(now), dtype=np.int64)
        for index in np.unique(row):
            is_row = row == index
            passed[is_row] = np.searchsorted(self.times[index], now[is_row], side="right")
        return passed


def read_out(step: Step, grid: Grid, rows: Int[np.ndarray, " B"]) -> None:
    """Write the states at the requested times within a block of steps to a grid.

    The first axis of the arrays in `step` is the steps of the block.
    """
    n = step.x.shape[-1]
    step_index, rollout = np.nonzero(step.accepted)
    start, end = step.t[step_index, rollout], step.end[step_index, rollout]
    first, last = grid.passed(start, rows[rollout]), grid.passed(end, rows[rollout])
    has_times = np.flatnonzero(last > first)
    step_index, rollout, start, first = (
        part[has_times] for part in (step_index, rollout, start, first)
    )
    count = last[has_times] - first
    size = step.size[step_index, rollout]
    # the slopes (step, slope, rollout, state) as a polynomial in the fraction of the step
    with np.errstate(all="ignore"):  # rejected steps may have slopes of any value
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
    """Return whether stability, not accuracy, limits most steps, which means that the field is
    stiff.

    The rate of the fastest motion is estimated from two slopes at the end of a step. [Hairer and
    Wanner, section IV.2]
    """
    scale, size = limits.atol, step.size[..., None]
    with np.errstate(all="ignore"):
        weights = np.array(WEIGHTS[5]) - np.append(WEIGHTS[4], 0.0)
        difference = size * np.einsum("s,isbn->ibn", weights, step.slopes[:, :6])
        change = size * (step.slopes[:, 6] - step.slopes[:, 5])
        rate = np.linalg.norm(change / scale, axis=2) / np.linalg.norm(difference / scale, axis=2)
    n_limited = (step.accepted & (rate > STIFF_RATE)).sum(0)
    return n_limited > 0.5 * np.maximum(step.accepted.sum(0), 1)
