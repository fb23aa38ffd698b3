"""A step of a field that jumps: up to the first time at which a sign changes, and no further."""

from collections.abc import Callable
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
    weights_at,
)

_TABLE = np.array([np.pad(row, (0, 7 - len(row))) for row in ((), *WEIGHTS)])
_STAGES = np.array([0.0, *PLACES])
_CHECKS = np.array([0.25, 0.5, 0.75])  # places where signs are looked at, besides the end
_LEFT = -1e-10  # shares beyond 0 and 1 by so much end sliding
_SHARP = 1e-13  # of a step: how well the time of a change is known
_MOST = 80  # halvings and secants


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

    def stage(i: Any, carry: Any) -> Any:
        slopes, margins = carry
        x = now.x + size[:, None] * xp.tensordot(xp.asarray(_TABLE)[i], slopes, 1)
        t = now.t + xp.asarray(_STAGES)[i] * size
        slope, margin = sliding_slope(field, Point(t, x, *inputs(t)), now.mode, xp)
        return put(slopes, i, slope, xp), put(margins, i, margin, xp)

    room = (xp.zeros((7, count, n)), xp.zeros((7, *now.mode.shape)))
    slopes, margins = loop(7, stage, room, xp)
    x = now.x + size[:, None] * xp.tensordot(xp.asarray(_TABLE)[6], slopes, 1)
    error = size[:, None] * xp.tensordot(xp.asarray(ERROR), slopes, 1)
    error = relative_size(error, now.x, x, limits, xp)
    kept = (error < 1) & (now.status == RUNNING)
    step = Step(now.t, now.end, size, now.x, slopes, kept)
    x, first = _check(field, now, step, x, margins, inputs, xp)
    found = choose(
        (first <= 1).any(),
        lambda x, first: _change(field, now, step, _Found(first, x, now.mode), limits, inputs, xp),
        lambda x, first: _Found(xp.ones(count), x, now.mode),
        (x, first),
        xp,
    )
    end = xp.where(found.place < 1, now.t + found.place * size, now.end)
    end = xp.minimum(xp.maximum(end, now.t + limits.least), now.end)
    after = advance(
        now._replace(end=end), found.x, slopes[6], error, kept, limits, cells, xp
    )
    mode = xp.where(kept[:, None], found.mode, now.mode)
    return after._replace(mode=mode), step._replace(end=end)


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


def _change(
    field: Switched,
    now: Now,
    step: Step,
    end: _Found,
    limits: Limits,
    inputs: Callable[..., Any],
    xp: Any,
) -> _Found:
    """Where the steps change their modes, to what; the others as they are."""

    def at(place: Any) -> Point:
        weights = weights_at(place, xp)
        x = now.x + step.size[:, None] * xp.einsum("bs,sbn->bn", weights, step.slopes)
        t = now.t + place * step.size
        return Point(t, x, *inputs(t))

    def margin(place: Any) -> Any:
        """Negative where a mode does not fit."""
        point = at(place)
        _, left = sliding_slope(field, point, now.mode, xp)
        g, _ = field.surfaces(point.x, point.u)
        return xp.where(now.mode == 0, left - _LEFT, now.mode * g).min(1)

    high = xp.where(end.place <= 1, end.place, 1.0)
    before, after = margin(xp.zeros_like(high)), margin(high)
    changes = (end.place <= 1) & ((before < 0) | (after < 0))
    place = xp.where(before < 0, 0.0, first_root(margin, before, high, after, changes, xp))
    point = at(place)
    g, _ = field.surfaces(point.x, point.u)
    mode, x = settle(field, point, now.mode, now.mode * g <= 0, limits, xp)
    return _Found(
        xp.where(changes, place, 1.0),
        xp.where(changes[:, None], x, end.x),
        xp.where(changes[:, None], mode, now.mode),
    )


def first_root(
    function: Callable[[Any], Any], before: Any, high: Any, after: Any, wanted: Any, xp: Any
) -> Any:
    """A place between 0 and `high`, just behind a root, of many functions at once.

    They are not negative at 0 and negative at `high`. By the Illinois variant of regula falsi,
    every third time by halving.
    """

    def goes_on(carry: Any) -> Any:
        i, low, high, *_ = carry
        return (i < _MOST) & (wanted & (high - low > _SHARP * high)).any()

    def body(carry: Any) -> Any:
        i, low, high, below, above, side = carry
        secant = (low * above - high * below) / (above - below)
        middle = (low + high) / 2
        inside = (i % 3 != 2) & (secant > low) & (secant < high)
        place = xp.where(inside, secant, middle)
        value = function(place)
        bad = ~(value >= 0)
        again = xp.where(bad, 1, -1) == side
        below, above = (
            xp.where(bad, xp.where(again, below / 2, below), value),
            xp.where(bad, value, xp.where(again, above / 2, above)),
        )
        return (
            i + 1, xp.where(bad, low, place), xp.where(bad, place, high), below, above,
            xp.where(bad, 1, -1),
        )  # fmt: skip

    start = (0, xp.zeros_like(high), high, before, after, xp.zeros(high.shape, int))
    return repeat_while(goes_on, body, start, xp)[2]


_DENSE = weights_at(_CHECKS)
