"""Fields that jump where a function changes its sign, such as dry friction at rest.

The field is f(t, x, u, s) with s_i = sign(g_i(x, u)); it is smooth in x as long as s stays. So
each rollout has a mode for every g_i: 1 or -1, the sign, held fixed even a little beyond the
surface g_i = 0; or 0, sliding along the surface. There Filippov's convex combination of the two
fields at its sides moves on: its share lambda_i makes dg_i/dt zero, and s_i = 2 lambda_i - 1. For
dry friction g is the velocity, sliding is rest, and s times the dry friction is what balances
the other forces. A surface is left when lambda_i reaches 0 or 1. [Filippov 1988, chapter 2;
Acary and Brogliato 2008]
"""

import abc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from ._limits import INSIDE, SWEEPS
from ._tsit5 import LEAST, Cells, Limits


def put(array: Any, index: Any, value: Any, xp: Any) -> Any:
    """Return the array with one entry replaced; NumPy's array is changed."""
    if xp is not np:
        return array.at[index].set(value)
    array[index] = value
    return array


def loop(count: int, body: Callable[[Any, Any], Any], carry: Any, xp: Any) -> Any:
    """Return carry after carry = body(i, carry) for i = 0 ... count - 1."""
    if xp is not np:
        import jax

        return jax.lax.fori_loop(0, count, body, carry)
    for i in range(count):
        carry = body(i, carry)
    return carry


def repeat_while(
    should_continue: Callable[[Any], Any], body: Callable[[Any], Any], carry: Any, xp: Any
) -> Any:
    """Return carry after repeating carry = body(carry)."""
    if xp is not np:
        import jax

        return jax.lax.while_loop(should_continue, body, carry)
    while should_continue(carry):
        carry = body(carry)
    return carry


def choose(
    condition: Any, yes: Callable[..., Any], no: Callable[..., Any], parts: tuple[Any, ...], xp: Any
) -> Any:
    """Return yes(*parts) or no(*parts); only that one is computed."""
    if xp is not np:
        import jax

        return jax.lax.cond(condition, yes, no, *parts)
    return yes(*parts) if condition else no(*parts)


class AbstractSwitchedField(abc.ABC):
    """A field with signs: a pytree, in NumPy for many rollouts (first axis), in JAX for one."""

    @abc.abstractmethod
    def slope(self, t: Any, x: Any, u: Any, signs: Any, xp: Any) -> Any:
        """Return the derivatives, with these values in place of the signs."""

    @abc.abstractmethod
    def surfaces(self, x: Any, u: Any, xp: Any) -> tuple[Any, Any]:
        """Return the k functions whose signs the field has, and their derivatives, k x (n + m)."""


@final
@dataclass(frozen=True, eq=False)
class Switched:
    """A field with k signs, for many rollouts.

    `slope` is (times B, states B x n, inputs B x m or None, signs B x k) -> derivatives B x n;
    `surfaces` is (states, inputs) -> values of g, B x k, and their derivatives by states and
    inputs, B x k x (n + m).
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
    """Times, states, inputs and rates of inputs of B rollouts; None without inputs."""

    t: Any
    x: Any
    u: Any
    rate: Any


def inputs_at(cell: Any, cells: Cells | None, xp: Any) -> Callable[[Any], tuple[Any, Any]]:
    """Return a function of times: inputs and their rates in the current cells."""
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

    The margin is negative if the surface is left, and infinite if nothing slides.
    """
    return choose(
        (mode == 0).any(),
        lambda mode: _sliding(field, point, mode, xp),
        lambda mode: (
            field.slope(point.t, point.x, point.u, mode),
            xp.full(mode.shape, xp.inf),
        ),
        (mode,),
        xp,
    )


def _sliding(field: Switched, point: Point, mode: Any, xp: Any) -> tuple[Any, Any]:
    """Return the same if a rollout slides: lambda solves dg/dt = 0."""
    slides = mode == 0
    sides = _side_fields(field, point, mode, slides, xp)
    rows = xp.where(slides[:, :, None], sides.effects, xp.eye(mode.shape[1]))
    share = _solve(rows, xp.where(slides, -sides.drift, 0.0), xp)
    velocity = sides.base + xp.einsum("bi,ibn->bn", share, sides.jumps)
    # dg/dt is zero up to rounding. If g is a state, this makes rest exact
    velocity = _tangent(velocity, sides, slides, point.rate, xp)
    attracts = xp.einsum("bii->bi", sides.effects) < 0
    margin = xp.where(attracts, 0.5 - xp.abs(share - 0.5), -1.0)
    return velocity, xp.where(slides, margin, xp.inf)


def settle(
    field: Switched, point: Point, mode: Any, at: Any, limits: Limits, xp: Any
) -> tuple[Any, Any]:
    """The modes and states with which rollouts go on that stand at some surfaces.

    `at` (B x k) says which surfaces were reached. Those and the sliding ones share out s in
    [-1, 1] so that for each dg/dt = 0, or s = 1 and g grows, or s = -1 and g falls: a
    complementarity problem, solved by projected Gauss-Seidel sweeps. Where g itself has jumped
    over zero, its sign is taken.
    """
    g, gradient = field.surfaces(point.x, point.u)
    n = point.x.shape[1]
    scale = limits.atol + limits.rtol * xp.abs(point.x)
    reach = xp.einsum("bkn,bn->bk", xp.abs(gradient[:, :, :n]), scale)
    is_near = at & (xp.abs(g) <= reach) | (mode == 0)
    sides = _side_fields(field, point, mode, is_near, xp)
    # ignore a jump that cannot move g beyond its tolerance in the total time
    attracts = xp.einsum("bii->bi", sides.effects) < -reach * (LEAST / limits.min_step)[:, None]
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
    """Update each share in turn so that its own g stays constant, as far as possible."""
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
    """Return the states moved to the nearest points of the surfaces along which they slide."""
    for i in range(g.shape[1]):
        normal = gradient[:, i, : x.shape[1]]
        square = (normal * normal).sum(1)
        part = xp.where(slides[:, i], g[:, i] / xp.where(square > 0, square, 1.0), 0.0)
        x = x - part[:, None] * normal
    return x


@final
class _SideFields(NamedTuple):
    """The field on the negative side of surfaces, and its changes on the other sides."""

    base: Any  # B x n
    jumps: Any  # k x B x n
    gradient: Any  # B x k x (n + m)
    drift: Any  # B x k: dg/dt of the base
    effects: Any  # B x k x k: contribution of each jump to each dg/dt


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
    """Solve many small systems by elimination.

    A singular one gives infinity or NaN, and the step is rejected.
    """
    k = right.shape[1]
    rows = [xp.concatenate([matrix[:, i], right[:, i, None]], axis=1) for i in range(k)]
    for i in range(k):
        rows[i] = rows[i] / rows[i][:, i, None]
        for j in range(k):
            if j != i:
                rows[j] = rows[j] - rows[j][:, i, None] * rows[i]
    return xp.stack([row[:, k] for row in rows], axis=1)
