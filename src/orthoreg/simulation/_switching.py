"""Fields that jump where a function changes its sign, such as dry friction at rest.

The field is f(t, x, u, s) with s_i = sign(g_i(x, u)), and is smooth in x while s is constant. Each
rollout has a mode for every g_i. Modes 1 and -1 are the sign, which is constant until a step ends
at the surface g_i = 0. Mode 0 is sliding along the surface, with Filippov's convex combination of
the fields on both sides: its weight lambda_i makes dg_i/dt zero, and s_i = 2 lambda_i - 1. For dry
friction, g is the velocity, sliding is rest, and s times the friction force balances the other
forces. A rollout leaves a surface when lambda_i reaches 0 or 1. [Filippov 1988, chapter 2; Acary
and Brogliato 2008]
"""

import abc
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, final

import numpy as np
from jaxtyping import Float

from .._common.arrays import choose, loop, put, repeat_while
from ._limits import (
    CHECKED_FRACTIONS,
    INSIDE,
    LEAVING_MARGIN,
    MAX_EVALUATIONS,
    MIN_STEP,
    ROOT_TOLERANCE,
    SWEEPS,
)
from ._tsit5 import (
    ERROR,
    PLACES,
    RUNNING,
    WEIGHTS,
    Cells,
    Limits,
    Slope,
    State,
    Step,
    advance,
    attempt,
    relative_size,
    rows_of,
    weights_at,
)


class AbstractSwitchedField(abc.ABC):
    """A field with signs, as a pytree.

    It handles many rollouts in NumPy (first axis) or one rollout in JAX.
    """

    @abc.abstractmethod
    def slope(self, t: Any, x: Any, u: Any, signs: Any, xp: Any) -> Any:
        """Return the derivatives for the values `signs` of the signs."""

    @abc.abstractmethod
    def surfaces(self, x: Any, u: Any, xp: Any) -> tuple[Any, Any]:
        """Return the k functions whose signs occur in the field, and their derivatives, k x (n +
        m).
        """


@final
@dataclass(frozen=True, eq=False)
class Switched:
    """A field with k signs, for many rollouts.

    `slope` maps (times B, states B x n, inputs B x m or None, signs B x k) to derivatives B x n.
    `surfaces` maps (states, inputs) to the values of g, B x k, and their derivatives with respect
    to states and inputs, B x k x (n + m).
    """

    slope: Callable[[Any, Any, Any, Any], Any]
    surfaces: Callable[[Any, Any], Any]


def in_numpy(field: AbstractSwitchedField) -> Switched:
    """Return the field for many rollouts in NumPy."""
    return Switched(
        lambda t, x, u, signs: field.slope(t, x, u, signs, np),
        lambda x, u: field.surfaces(x, u, np),
    )


@final
class Point(NamedTuple):
    """Times, states, inputs and rates of inputs of B rollouts. Inputs and rates may be None."""

    t: Any
    x: Any
    u: Any
    rate: Any


def inputs_at(cell: Any, cells: Cells | None, xp: Any) -> Callable[[Any], tuple[Any, Any]]:
    """Return a function from times to the inputs and their rates in the current cells."""
    if cells is None:
        return lambda t: (None, None)
    start, stop = cells.knots[cells.signal, cell], cells.knots[cells.signal, cell + 1]
    pieces = cells.coefficients[cells.signal, cell]
    return lambda t: _polynomials(pieces, t - start, stop - start, xp)


def _polynomials(pieces: Any, since: Any, width: Any, xp: Any) -> tuple[Any, Any]:
    position = (since / width)[:, None]
    u, rate = pieces[:, 0], xp.zeros_like(pieces[:, 0])
    for power in range(1, pieces.shape[1]):
        rate = rate * position + u
        u = u * position + pieces[:, power]
    return u, rate / width[:, None]


def sliding_slope(field: Switched, point: Point, mode: Any, xp: Any) -> tuple[Any, Any]:
    """Return the derivatives in these modes, and the margin of each surface (B x k).

    The margin is negative if the rollout leaves the surface, and infinite if it does not slide on
    it.
    """
    return choose(
        (mode == 0).any(),
        lambda mode: _sliding(field, point, mode, xp),
        lambda mode: (field.slope(point.t, point.x, point.u, mode), xp.full(mode.shape, xp.inf)),
        (mode,),
        xp,
    )


def _sliding(field: Switched, point: Point, mode: Any, xp: Any) -> tuple[Any, Any]:
    """Return derivatives and margins for sliding rollouts, where lambda solves dg/dt = 0."""
    slides = mode == 0
    sides = _side_fields(field, point, mode, slides, xp)
    rows = xp.where(slides[:, :, None], sides.effects, xp.eye(mode.shape[1]))
    share = _solve(rows, xp.where(slides, -sides.drift, 0.0), xp)
    velocity = sides.base + xp.einsum("bi,ibn->bn", share, sides.jumps)
    # removes the rounding error of dg/dt; if g is a state, rest is then exact
    velocity = _tangent(velocity, sides, slides, point.rate, xp)
    attracts = xp.einsum("bii->bi", sides.effects) < 0
    margin = xp.where(attracts, 0.5 - xp.abs(share - 0.5), -1.0)
    return velocity, xp.where(slides, margin, xp.inf)


def settle(
    field: Switched, point: Point, mode: Any, at: Any, limits: Limits, xp: Any
) -> tuple[Any, Any]:
    """Return the next modes and states of rollouts that have reached surfaces.

    `at` (B x k) marks the surfaces that were reached. On these surfaces and on sliding surfaces, s
    in [-1, 1] is chosen such that dg/dt = 0, or s = 1 and g grows, or s = -1 and g falls. Projected
    Gauss-Seidel sweeps solve this complementarity problem. If g itself has jumped across zero, its
    sign is used.
    """
    g, gradient = field.surfaces(point.x, point.u)
    n = point.x.shape[1]
    scale = limits.atol + limits.rtol * xp.abs(point.x)
    reach = xp.einsum("bkn,bn->bk", xp.abs(gradient[:, :, :n]), scale)
    is_near = at & (xp.abs(g) <= reach) | (mode == 0)
    sides = _side_fields(field, point, mode, is_near, xp)
    # ignores a jump that cannot move g beyond its tolerance in the total time
    attracts = xp.einsum("bii->bi", sides.effects) < -reach * (MIN_STEP / limits.min_step)[:, None]
    share = xp.where(is_near, xp.where(mode == 0, 0.5, (1 + mode) / 2), 0.0)
    first = share
    sweeps = 1 if mode.shape[1] == 1 else SWEEPS
    share = loop(sweeps, lambda _, now: _sweep(sides, is_near, attracts, first, now, xp), share, xp)
    slides = is_near & attracts & (share > INSIDE) & (share < 1 - INSIDE)
    sliding_mode = xp.where(slides, 0.0, xp.where(share >= 0.5, 1.0, -1.0))
    has_jumped = at & ~is_near
    new = xp.where(is_near, sliding_mode, xp.where(has_jumped & (g != 0), xp.sign(g), mode))
    return new, onto_surfaces(point.x, g, gradient, slides, xp)


def _sweep(sides: "_SideFields", near: Any, attracts: Any, first: Any, share: Any, xp: Any) -> Any:
    """Return the weights after one sweep.

    Each weight is updated in turn so that its own g stays constant, as far as possible.
    """
    columns = [share[:, i] for i in range(share.shape[1])]
    for i in range(share.shape[1]):
        effects = sides.effects[:, i]
        rate = sides.drift[:, i] + (effects * xp.stack(columns, axis=1)).sum(1)
        effect = xp.where(attracts[:, i], effects[:, i], -1.0)
        slid = xp.clip(columns[i] - rate / effect, 0.0, 1.0)
        side = xp.where(rate > 0, 1.0, xp.where(rate < 0, 0.0, first[:, i]))
        columns[i] = xp.where(near[:, i], xp.where(attracts[:, i], slid, side), 0.0)
    return xp.stack(columns, axis=1)


def onto_surfaces(x: Any, g: Any, gradient: Any, slides: Any, xp: Any) -> Any:
    """Return the states, moved to the nearest points of the surfaces along which they slide."""
    for i in range(g.shape[1]):
        normal = gradient[:, i, : x.shape[1]]
        square = (normal * normal).sum(1)
        part = xp.where(slides[:, i], g[:, i] / xp.where(square > 0, square, 1.0), 0.0)
        x = x - part[:, None] * normal
    return x


@final
class _SideFields(NamedTuple):
    """The field on the negative side of all surfaces, and its changes on the other sides."""

    base: Any  # B x n
    jumps: Any  # k x B x n
    gradient: Any  # B x k x (n + m)
    drift: Any  # B x k; dg/dt for the base field
    effects: Any  # B x k x k; contribution of each jump to each dg/dt


def _side_fields(field: Switched, point: Point, mode: Any, free: Any, xp: Any) -> _SideFields:
    k, n = mode.shape[1], point.x.shape[1]
    base = xp.where(free, -1.0, xp.where(mode == 0, -1.0, mode))
    flips = free[None] & xp.eye(k, dtype=bool)[:, None, :]
    signs = xp.concatenate([base[None], xp.where(flips, 1.0, base[None])])
    t, x, u = (part if part is None else _repeated(part, k + 1, xp) for part in point[:3])
    slopes = field.slope(t, x, u, signs.reshape(-1, k)).reshape(k + 1, -1, n)
    jumps = slopes[1:] - slopes[:1]
    _, gradient = field.surfaces(point.x, point.u)
    by_state = gradient[:, :, :n]
    drift = xp.einsum("bkn,bn->bk", by_state, slopes[0])
    if point.rate is not None:
        drift = drift + xp.einsum("bkm,bm->bk", gradient[:, :, n:], point.rate)
    return _SideFields(
        slopes[0], jumps, gradient, drift, xp.einsum("bkn,ibn->bki", by_state, jumps)
    )


def _repeated(rows: Any, count: int, xp: Any) -> Any:
    """Return the rows repeated `count` times."""
    return xp.concatenate([rows] * count)


def _tangent(velocity: Any, sides: _SideFields, slides: Any, rate: Any, xp: Any) -> Any:
    n = velocity.shape[1]
    for i in range(slides.shape[1]):
        normal = sides.gradient[:, i, :n]
        square = (normal * normal).sum(1)
        along = (normal * velocity).sum(1)
        if rate is not None:
            along = along + (sides.gradient[:, i, n:] * rate).sum(1)
        part = xp.where(slides[:, i], along / xp.where(square > 0, square, 1.0), 0.0)
        velocity = velocity - part[:, None] * normal
    return velocity


def _solve(matrix: Any, right: Any, xp: Any) -> Any:
    """Return the solutions of many small linear systems, by elimination.

    For a singular system, the result is infinite or NaN, and the step is rejected.
    """
    k = right.shape[1]
    rows = [xp.concatenate([matrix[:, i], right[:, i, None]], axis=1) for i in range(k)]
    for i in range(k):
        rows[i] = rows[i] / rows[i][:, i, None]
        for j in range(k):
            if j != i:
                rows[j] = rows[j] - rows[j][:, i, None] * rows[i]
    return xp.stack([row[:, k] for row in rows], axis=1)


# -- steps -------------------------------------------------------------------------------------

_STAGE_WEIGHTS = np.array([np.pad(row, (0, 7 - len(row))) for row in ((), *WEIGHTS)])
_STAGES = np.array([0.0, *PLACES])
_CHECKED_WEIGHTS = weights_at(CHECKED_FRACTIONS)


@final
class _ModeChange(NamedTuple):
    """A change of modes in a step: the fraction of the step, the state there, and the modes after
    it.
    """

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
    """Return the initial modes of rollouts and their initial states."""
    point = Point(first, starts, *inputs_at(cell, cells, np)(first))
    g, _ = field.surfaces(starts, point.u)
    mode = np.where(g < 0, -1.0, 1.0)
    return settle(field, point, mode, g == 0, limits, np)


def attempt_switched(
    field: Switched, now: State, limits: Limits, cells: Cells | None, xp: Any
) -> tuple[State, Step]:
    """Attempt one step of each running rollout. A step ends where a sign changes or sliding
    stops.
    """
    inputs = inputs_at(now.cell, cells, xp)
    size = now.end - now.t
    count, n = now.x.shape

    zeros = (xp.zeros((7, count, n)), xp.zeros((7, *now.mode.shape)))
    slopes, margins = loop(7, lambda i, parts: _stage(field, now, inputs, i, parts, xp), zeros, xp)
    x = now.x + size[:, None] * xp.tensordot(xp.asarray(_STAGE_WEIGHTS)[6], slopes, 1)
    error = size[:, None] * xp.tensordot(xp.asarray(ERROR), slopes, 1)
    error = relative_size(error, now.x, x, limits, xp)
    accepted = (error < 1) & (now.status == RUNNING)
    step = Step(now.t, now.end, size, now.x, slopes, accepted)
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
    after = advance(now._replace(end=end), change.x, slopes[6], error, accepted, limits, cells, xp)
    mode = xp.where(accepted[:, None], change.mode, now.mode)
    return after._replace(mode=mode), step._replace(end=end)


def _stage(
    field: Switched,
    now: State,
    inputs: Callable[..., Any],
    i: Any,
    so_far: tuple[Any, Any],
    xp: Any,
) -> tuple[Any, Any]:
    """Return slopes and margins with those of stage i added."""
    slopes, margins = so_far
    size = now.end - now.t
    x = now.x + size[:, None] * xp.tensordot(xp.asarray(_STAGE_WEIGHTS)[i], slopes, 1)
    t = now.t + xp.asarray(_STAGES)[i] * size
    slope, margin = sliding_slope(field, Point(t, x, *inputs(t)), now.mode, xp)
    return put(slopes, i, slope, xp), put(margins, i, margin, xp)


def _check(
    field: Switched,
    now: State,
    step: Step,
    x: Any,
    margins: Any,
    inputs: Callable[..., Any],
    xp: Any,
) -> tuple[Any, Any]:
    """Return the states at the end, and the first checked fraction at which a mode is invalid, or
    2.

    Sliding states are moved onto their surface.
    """
    count, n = x.shape
    size = step.size[:, None]
    weights = xp.asarray(_CHECKED_WEIGHTS)
    displacement = xp.einsum("ps,sbn->pbn", weights, step.slopes)
    states = xp.concatenate([now.x + size * displacement, x[None]])
    positions = np.append(CHECKED_FRACTIONS, 1.0)
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
    return x, xp.where(step.accepted, first, 2.0)


def _changes(
    field: Switched,
    now: State,
    step: Step,
    end: _ModeChange,
    limits: Limits,
    cells: Cells | None,
    xp: Any,
) -> _ModeChange:
    """Return the result of `_change`.

    NumPy evaluates only the rollouts that change, JAX evaluates all rollouts.
    """
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
    now: State,
    step: Step,
    end: _ModeChange,
    limits: Limits,
    cells: Cells | None,
    xp: Any,
) -> _ModeChange:
    """Return the fractions at which steps change their modes, with the states and modes there."""
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
    """Return the distance of each rollout from a change of modes. It is negative after the
    change.
    """
    point = _within(step, inputs, position, xp)
    _, slide_margin = sliding_slope(field, point, mode, xp)
    g, _ = field.surfaces(point.x, point.u)
    return xp.where(mode == 0, slide_margin - LEAVING_MARGIN, mode * g).min(1)


def first_root(
    function: Callable[[Any], Any], before: Any, high: Any, after: Any, wanted: Any, xp: Any
) -> Any:
    """Return a point between 0 and `high` immediately after a root, for many functions.

    The functions are non-negative at 0 and negative at `high`. This is Chandrupatla's method:
    inverse quadratic interpolation where it is safe, and bisection elsewhere.
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
    """Evaluate the functions once. Return the carry of the next iteration.

    The carry consists of the newest point a, a point b on the other side of the root, their values,
    and the next point as a fraction of the way from a to b.
    """
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


def take_step(
    field: Slope | Switched,
    now: State,
    limits: Limits,
    cells: Cells | None,
    jumps: bool,
    xp: Any,
) -> tuple[State, Step]:
    """Attempt one step of each running rollout."""
    if isinstance(field, Switched):
        return attempt_switched(field, now, limits, cells, xp)
    return attempt(field, now, limits, cells, jumps, xp)
