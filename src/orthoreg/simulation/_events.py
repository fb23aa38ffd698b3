"""A step of a field that jumps: up to the first time at which a sign changes, and no further."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, final

import numpy as np
from jaxtyping import Float

from ._control import choose, loop, put, repeat_while
from ._switching import Point, Switched, inputs_at, onto_surfaces, settle, sliding_slope
from ._tsit5 import (
    ERROR,
    PLACES,
    RUNNING,
    WEIGHTS,
    Cells,
    Limits,
    Now,
    Step,
    advance,
    relative_size,
    rows_of,
    weights_at,
)

_TABLE = np.array([np.pad(row, (0, 7 - len(row))) for row in ((), *WEIGHTS)])
_STAGES = np.array([0.0, *PLACES])
_CHECKS = np.array([0.25, 0.5, 0.75])  # places where signs are looked at, besides the end
_LEFT = -1e-10  # shares beyond 0 and 1 by so much end sliding
_SHARP = 1e-13  # of a step: how well the time of a change is known
_MOST = 100  # evaluations


@final
class _Found(NamedTuple):
    """Where a step changes a mode: part of the step, state there and the modes from there on."""

    place: Any
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
    """The modes in which rollouts begin, and their starts."""
    point = Point(first, starts, *inputs_at(cell, cells, np)(first))
    g, _ = field.surfaces(starts, point.u)
    mode = np.where(g < 0, -1.0, 1.0)
    return settle(field, point, mode, g == 0, limits, np)


def attempt_switched(
    field: Switched, now: Now, limits: Limits, cells: Cells | None, xp: Any
) -> tuple[Now, Step]:
    """One step of every running rollout, as `attempt` has it; one in which a sign changes, or a
    surface is left, ends there."""
    inputs = inputs_at(now.cell, cells, xp)
    size = now.end - now.t
    count, n = now.x.shape

    room = (xp.zeros((7, count, n)), xp.zeros((7, *now.mode.shape)))
    slopes, margins = loop(7, lambda i, done: _stage(field, now, inputs, i, done, xp), room, xp)
    x = now.x + size[:, None] * xp.tensordot(xp.asarray(_TABLE)[6], slopes, 1)
    error = size[:, None] * xp.tensordot(xp.asarray(ERROR), slopes, 1)
    error = relative_size(error, now.x, x, limits, xp)
    kept = (error < 1) & (now.status == RUNNING)
    step = Step(now.t, now.end, size, now.x, slopes, kept)
    x, first = _check(field, now, step, x, margins, inputs, xp)
    found = choose(
        (first <= 1).any(),
        lambda x, first: _changes(field, now, step, _Found(first, x, now.mode), limits, cells, xp),
        lambda x, first: _Found(xp.ones(count), x, now.mode),
        (x, first),
        xp,
    )
    end = xp.where(found.place < 1, now.t + found.place * size, now.end)
    end = xp.minimum(xp.maximum(end, now.t + limits.least), now.end)
    after = advance(now._replace(end=end), found.x, slopes[6], error, kept, limits, cells, xp)
    mode = xp.where(kept[:, None], found.mode, now.mode)
    return after._replace(mode=mode), step._replace(end=end)


def _stage(
    field: Switched, now: Now, inputs: Callable[..., Any], i: Any, done: tuple[Any, Any], xp: Any
) -> tuple[Any, Any]:
    """The slopes and margins so far with those of one more stage."""
    slopes, margins = done
    size = now.end - now.t
    x = now.x + size[:, None] * xp.tensordot(xp.asarray(_TABLE)[i], slopes, 1)
    t = now.t + xp.asarray(_STAGES)[i] * size
    slope, margin = sliding_slope(field, Point(t, x, *inputs(t)), now.mode, xp)
    return put(slopes, i, slope, xp), put(margins, i, margin, xp)


def _check(
    field: Switched, now: Now, step: Step, x: Any, margins: Any, inputs: Callable[..., Any], xp: Any
) -> tuple[Any, Any]:
    """The states at the end, those that slide exactly on their surface; and the first place of
    each step at which a mode no longer fits, 2 where there is none."""
    count, n = x.shape
    size = step.size[:, None]
    weights = xp.asarray(_DENSE)
    way = xp.einsum("ps,sbn->pbn", weights, step.slopes)
    states = xp.concatenate([now.x + size * way, x[None]])
    places = np.append(_CHECKS, 1.0)
    times = [now.t + place * step.size for place in places.tolist()]
    u = inputs(times[0])[0]
    if u is not None:
        u = xp.concatenate([inputs(t)[0] for t in times])
    g, gradient = field.surfaces(states.reshape(len(places) * count, n), u)
    g = g.reshape(len(places), *now.mode.shape)
    crossed = (g * now.mode < 0).any(2)
    left = (margins < _LEFT).any(2)
    first = xp.minimum(
        xp.where(crossed, xp.asarray(places)[:, None], 2.0).min(0),
        xp.where(left, xp.asarray(_STAGES)[:, None], 2.0).min(0),
    )
    x = onto_surfaces(x, g[-1], gradient[-count:], now.mode == 0, xp)
    return x, xp.where(step.kept, first, 2.0)


def _changes(
    field: Switched,
    now: Now,
    step: Step,
    end: _Found,
    limits: Limits,
    cells: Cells | None,
    xp: Any,
) -> _Found:
    """What `_change` says; by NumPy for the rollouts that do change, by JAX for all alike."""
    if xp is not np:
        return _change(field, now, step, end, limits, cells, xp)
    rows = np.flatnonzero(end.place <= 1)
    own = None if cells is None else cells._replace(signal=cells.signal[rows])
    some = Step(*(part[:, rows] if part is step.slopes else part[rows] for part in step))
    part = (rows_of(now, rows), some, rows_of(end, rows), rows_of(limits, rows))
    found = _change(field, *part, own, xp)
    whole = _Found(np.ones(len(end.place)), end.x, now.mode.copy())
    for array, values in zip(whole, found, strict=True):
        array[rows] = values
    return whole


def _change(
    field: Switched,
    now: Now,
    step: Step,
    end: _Found,
    limits: Limits,
    cells: Cells | None,
    xp: Any,
) -> _Found:
    """Where the steps change their modes, to what; the others as they are."""
    inputs = inputs_at(now.cell, cells, xp)
    margin = partial(_margin, field, step, inputs, now.mode, xp)
    high = xp.where(end.place <= 1, end.place, 1.0)
    before, after = margin(xp.zeros_like(high)), margin(high)
    changes = (end.place <= 1) & ((before < 0) | (after < 0))
    place = xp.where(before < 0, 0.0, first_root(margin, before, high, after, changes, xp))
    point = _within(step, inputs, place, xp)
    g, _ = field.surfaces(point.x, point.u)
    mode, x = settle(field, point, now.mode, now.mode * g <= 0, limits, xp)
    return _Found(
        xp.where(changes, place, 1.0),
        xp.where(changes[:, None], x, end.x),
        xp.where(changes[:, None], mode, now.mode),
    )


def _within(step: Step, inputs: Callable[..., Any], place: Any, xp: Any) -> Point:
    """Times, states and inputs at a place of each step."""
    way = xp.einsum("bs,sbn->bn", weights_at(place, xp), step.slopes)
    t = step.t + place * step.size
    return Point(t, step.x + step.size[:, None] * way, *inputs(t))


def _margin(
    field: Switched, step: Step, inputs: Callable[..., Any], mode: Any, xp: Any, place: Any
) -> Any:
    """How far each rollout is from a change of its modes; negative where one does not fit."""
    point = _within(step, inputs, place, xp)
    _, left = sliding_slope(field, point, mode, xp)
    g, _ = field.surfaces(point.x, point.u)
    return xp.where(mode == 0, left - _LEFT, mode * g).min(1)


def first_root(
    function: Callable[[Any], Any], before: Any, high: Any, after: Any, wanted: Any, xp: Any
) -> Any:
    """A place between 0 and `high`, just behind a root, of many functions at once.

    They are not negative at 0 and negative at `high`. By Chandrupatla's method: inverse quadratic
    interpolation where that is safe, halving elsewhere.
    """
    start = (0, xp.zeros_like(high), high, before, after, xp.full(high.shape, 0.5))
    _, a, b, value_a, *_ = repeat_while(
        lambda carry: (
            (carry[0] < _MOST) & (wanted & (xp.abs(carry[2] - carry[1]) > _SHARP * high)).any()
        ),
        lambda carry: _narrower(function, carry, _SHARP * high, xp),
        start,
        xp,
    )
    return xp.where(value_a >= 0, b, a)


def _narrower(function: Callable[[Any], Any], carry: Any, tolerance: Any, xp: Any) -> Any:
    """One more evaluation: the newest place a, b on the other side of the root, their values, and
    the part of the way from a to b that is tried next."""
    i, a, b, value_a, value_b, part = carry
    place = a + part * (b - a)
    value = function(place)
    same = (value >= 0) == (value_a >= 0)
    c, value_c = xp.where(same, a, b), xp.where(same, value_a, value_b)
    b, value_b = xp.where(same, b, a), xp.where(same, value_b, value_a)
    a, value_a = place, value
    xi, phi = (a - b) / (c - b), (value_a - value_b) / (value_c - value_b)
    smooth = (phi * phi < xi) & ((1 - phi) ** 2 < 1 - xi)
    first = value_a / (value_b - value_a) * value_c / (value_b - value_c)
    second = (c - a) / (b - a) * value_a / (value_c - value_a) * value_b / (value_c - value_b)
    least = 0.5 * tolerance / xp.maximum(xp.abs(b - a), 1e-300)
    safe = smooth & (least < 0.5)
    return (
        i + 1,
        a,
        b,
        value_a,
        value_b,
        xp.where(safe, xp.clip(first + second, least, 1 - least), 0.5),
    )


_DENSE = weights_at(_CHECKS)
