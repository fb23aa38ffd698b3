"""Trajectories with their sensitivities, vectorized over all steps between rows.

Each step is a map x -> phi(x, p). From a guess of the states at all rows, phi and its derivatives F
= dphi/dx and G = dphi/dp are computed for all steps together. Newton's method closes the gaps
between the end of one step and the start of the next, and S -> F S + G chains the sensitivities.
[multiple shooting; Bock and Plitt 1984]
"""

from typing import NamedTuple, final

import numpy as np
from jaxtyping import Float

from . import _limits as limits
from ._linearization import Derivatives, FieldAt
from ._segments import (
    MIDDLE_NODE,
    Box,
    RunSegments,
    Trajectories,
    map_once,
    shoot,
    step_once,
)

_LAST_NODE = 5  # node at the end of a step, before an input jumps


@final
class Maps(NamedTuple):
    """The ends phi (B, L, n) of all steps, and their derivatives [G, F] (B, L, n, Q)."""

    ends: np.ndarray
    by: np.ndarray


def follow(
    field: FieldAt,
    size: int,
    guess: Float[np.ndarray, "T n B"],
    starts: Float[np.ndarray, "n B"],
    segments: RunSegments,
    nodes: np.ndarray | None,
    substeps: int,
    box: Box,
    accuracy: Float[np.ndarray, " n"],
) -> tuple[Trajectories, Float[np.ndarray, "B T n Q"]]:
    """Return the trajectories from these starts, and d states / d (constants, starts) for `size`
    constants.

    Newton's method squares the relative size of the gaps, so it stops once their square is within
    the `accuracy` of each state. If it does not converge from the guess, the segments are
    integrated row by row.
    """
    with np.errstate(all="ignore"):
        if size <= limits.MAX_SWEPT_CONSTANTS:
            width = (box.high - box.low) / limits.BOX_WIDTH
            tolerance = (
                np.sqrt(np.minimum(accuracy[:, None] / width, 1.0)) * limits.SWEEP_CLOSED * width
            )
            states = guess.copy()
            states[0] = starts
            for _ in range(limits.MAX_SWEEPS):
                maps = step_maps(field, size, states, segments, nodes, substeps)
                moves = _closing_moves(maps, states)
                is_closed = bool((np.abs(moves) <= tolerance).all())  # False for NaN
                states = states + moves
                if is_closed and ((states >= box.low) & (states <= box.high)).all():
                    is_valid = np.ones(states.shape[2], dtype=bool)
                    return Trajectories(states, is_valid), _chained(maps, size)
                if not np.isfinite(states).all():
                    break
        trajectories = shoot(field, starts, segments, nodes, substeps, box)
        maps = step_maps(field, size, trajectories.states, segments, nodes, substeps)
        return trajectories, _chained(maps, size)


def linearized(
    field: FieldAt,
    size: int,
    states: Float[np.ndarray, "T n B"],
    segments: RunSegments,
    nodes: np.ndarray | None,
    substeps: int,
) -> tuple[Float[np.ndarray, "T n B"], Float[np.ndarray, "B T n Q"]]:
    """Return the trajectory from the first of these states, to first order.

    Also return its derivatives with respect to (constants, starts).
    """
    maps = step_maps(field, size, states, segments, nodes, substeps)
    chained = _chained(maps, size, _gaps(maps, states))
    return states + np.moveaxis(chained[..., 0], 0, 2), chained[..., 1:]


def growth_of_errors(
    field: FieldAt,
    states: Float[np.ndarray, "T n B"],
    segments: RunSegments,
    nodes: np.ndarray | None,
) -> Float[np.ndarray, "B n n"]:
    """Return d (last state) / d (first state) of each segment, linearized at these states."""
    maps = step_maps(field, 0, states, segments, nodes, 1)
    return _chained(maps, 0)[:, -1]


def _gaps(maps: Maps, states: Float[np.ndarray, "T n B"]) -> Float[np.ndarray, "B L n 1"]:
    """Return the end of each step minus the state at the next row."""
    return (maps.ends - np.moveaxis(states[1:], 2, 0))[..., None]


def _closing_moves(maps: Maps, states: Float[np.ndarray, "T n B"]) -> Float[np.ndarray, "T n B"]:
    """Return the changes of the states that close all gaps: d_0 = 0, d_k+1 = phi_k - x_k+1 + F_k
    d_k.
    """
    n = states.shape[1]
    moves = _chain(maps.by[..., -n:], _gaps(maps, states))[..., 0]
    return np.moveaxis(moves, 0, 2)


def _chained(
    maps: Maps, size: int, extra: Float[np.ndarray, "B L n k"] | None = None
) -> Float[np.ndarray, "B T n Q"]:
    """Return S_0 = [0, I], S_k+1 = F_k S_k + [G_k, 0], with `extra` columns before those of G."""
    G = maps.by[..., :size]
    if extra is not None:
        G = np.concatenate([extra, G], axis=3)
    return _chain(maps.by[..., size:], G)


def _chain(
    F: Float[np.ndarray, "B L n n"], G: Float[np.ndarray, "B L n q"]
) -> Float[np.ndarray, "B T n Q"]:
    """Return S_0 = [0, I] and S_k+1 = F_k S_k + [G_k, 0] for all k.

    Steps are chained within blocks of about sqrt(L) steps, vectorized over the blocks, and then
    from block to block. A loop of 2 sqrt(L) steps over large arrays is much faster than a loop of L
    steps over small arrays.
    """
    count, length, n, q = G.shape
    per_block = max(1, round(length**0.5))
    blocks = -(-length // per_block)
    # the last block is padded with identity steps
    rates = np.zeros((count, blocks * per_block, n, n))
    rates[:, :length], rates[:, length:] = F, np.eye(n)
    pushes = np.zeros((count, blocks * per_block, n, q))
    pushes[:, :length] = G
    rates = rates.reshape(count, blocks, per_block, n, n)
    pushes = pushes.reshape(count, blocks, per_block, n, q)
    inside = np.empty((count, blocks, per_block, n, q + n))
    state = np.zeros((count, blocks, n, q + n))
    state[..., q:] = np.eye(n)
    for k in range(per_block):
        state = rates[:, :, k] @ state
        state[..., :q] += pushes[:, :, k]
        inside[:, :, k] = state
    block_starts = np.zeros((count, blocks, n, q + n))
    block_starts[:, 0, :, q:] = np.eye(n)
    for j in range(blocks - 1):
        block_starts[:, j + 1] = inside[:, j, -1, :, q:] @ block_starts[:, j]
        block_starts[:, j + 1, :, :q] += inside[:, j, -1, :, :q]
    chained = np.empty((count, length + 1, n, q + n))
    chained[:, 0] = block_starts[:, 0]
    later = inside[..., q:] @ block_starts[:, :, None]
    later[..., :q] += inside[..., :q]
    chained[:, 1:] = later.reshape(count, blocks * per_block, n, q + n)[:, :length]
    return chained


def step_maps(
    field: FieldAt,
    size: int,
    states: Float[np.ndarray, "T n B"],
    segments: RunSegments,
    nodes: np.ndarray | None,
    substeps: int,
) -> Maps:
    """Return the maps of all steps between rows, each from the state at its first row.

    If `size` is 0, derivatives with respect to the constants are omitted.
    """
    length, (n, count) = segments.length, states.shape[1:]
    at, steps, nodes = _flat(states, segments, nodes, substeps)
    ends = np.empty((at.shape[1], n))
    by = np.empty((at.shape[1], n, size + n))
    width = field.width if size else 0
    per_block = max(
        1, limits.STEP_BLOCK // (limits.STORED_ARRAYS * (n * (size - width + n + 1) + width))
    )
    for i in range(0, at.shape[1], per_block):
        block = slice(i, i + per_block)
        u = None if nodes is None else nodes[..., block]
        if segments.discrete:
            ends[block], by[block] = _mapped(field, size, at[:, block], steps[block], u)
            continue
        ends[block], by[block] = _integrated(field, size, at[:, block], steps[block], u, substeps)
    return Maps(ends.reshape(count, length, n), by.reshape(count, length, n, size + n))


def step_ends(
    field: FieldAt,
    states: Float[np.ndarray, "T n B"],
    segments: RunSegments,
    nodes: np.ndarray | None,
    substeps: int,
) -> Float[np.ndarray, "n B L"]:
    """Return the end of each step between rows, from the state at its first row."""
    at, steps, nodes = _flat(states, segments, nodes, substeps)
    if segments.discrete:
        ends = map_once(field, at, steps, None if nodes is None else nodes[0])
        return ends.reshape(len(at), -1, segments.length)
    return _path(field, at, steps, nodes, substeps)[-1].reshape(len(at), -1, segments.length)


def _flat(
    states: Float[np.ndarray, "T n B"],
    segments: RunSegments,
    nodes: np.ndarray | None,
    substeps: int,
) -> tuple[Float[np.ndarray, "n M"], Float[np.ndarray, " M"], np.ndarray | None]:
    """Return first states, substep lengths and inputs, with all steps on one axis, ordered by
    segment.
    """
    at = states[:-1].transpose(1, 2, 0).reshape(states.shape[1], -1)
    if nodes is not None:
        nodes = np.moveaxis(nodes, 0, -1).reshape(*nodes.shape[1:4], -1)
    return at, segments.steps.T.reshape(-1) / substeps, nodes


def _path(
    field: FieldAt,
    x: Float[np.ndarray, "n M"],
    step: Float[np.ndarray, " M"],
    nodes: np.ndarray | None,
    substeps: int,
    first: Float[np.ndarray, "n M"] | None = None,
) -> list[Float[np.ndarray, "n M"]]:
    """Return the states before and after each substep. `first` is f at x, if known."""
    path = [x]
    for part in range(substeps):
        u = None if nodes is None else nodes[part]
        path.append(step_once(field, path[-1], step, u, None if part else first))
    return path


def _mapped(
    field: FieldAt,
    size: int,
    x: Float[np.ndarray, "n M"],
    step: Float[np.ndarray, " M"],
    nodes: np.ndarray | None,
) -> tuple[Float[np.ndarray, "M n"], Float[np.ndarray, "M n Q"]]:
    """Return f and [df/dp, df/dx] of a map. After the end of a segment, the map is the identity."""
    at = field.derivatives(_with_inputs(x, nodes, 0, 0))
    n, count = x.shape
    by = np.zeros((n, size + n, count))
    for c, j, value in at.jacobian:
        by[c, size + j] = value
    if size:
        for c, q, value in at.forcing:
            by[c, q] += value
        if field.weighted:
            for i, c in enumerate(field.weighted):
                first = field.count + i * field.width
                by[c, first : first + field.width] = np.asarray(at.basis).T
    has_ended = step <= 0
    by[:, :, has_ended] = np.eye(n, size + n, size)[:, :, None]
    ends = np.where(has_ended, x, at.f)
    return ends.T, np.moveaxis(by, 2, 0)


def _integrated(
    field: FieldAt,
    size: int,
    x: Float[np.ndarray, "n M"],
    step: Float[np.ndarray, " M"],
    nodes: np.ndarray | None,
    substeps: int,
) -> tuple[Float[np.ndarray, "M n"], Float[np.ndarray, "M n Q"]]:
    """Return phi over all substeps of length `step`, and [G, F]."""
    first = field.derivatives(_with_inputs(x, nodes, 0, 0))
    path = _path(field, x, step, nodes, substeps, first.f)
    rate = np.zeros(x.shape[1])
    for _, _, value in first.jacobian:
        rate = rate + np.square(value)
    # Gauss-Newton needs less accurate derivatives than states: |J| h of about one is enough
    needed = float(np.sqrt(np.median(rate * (step * substeps) ** 2))) / limits.DERIVATIVE_RATE
    count = 1
    while count < min(needed, substeps):
        count *= 2
    return path[-1].T, _derivatives(field, size, path, step, nodes, count, first)


def _derivatives(
    field: FieldAt,
    size: int,
    path: list[Float[np.ndarray, "n M"]],
    step: Float[np.ndarray, " M"],
    nodes: np.ndarray | None,
    count: int,
    first: Derivatives,
) -> Float[np.ndarray, "M n Q"]:
    """Return [G, F] along a path.

    S' = (df/dx) S + df/dp is integrated by `count` steps of the classical Runge-Kutta method, which
    evaluates the path at the start, the middle and the end of each step.

    The steps are linear in df/dp. For the many weights of a residual, the response to a pulse at
    each of these three nodes is computed and multiplied by the basis functions there.
    """
    per_step = (len(path) - 1) // count
    h = per_step * step
    by: np.ndarray | None = None
    begin = first
    for part in range(count):
        i, k = part * per_step, (part + 1) * per_step
        end = field.derivatives(_with_inputs(path[k], nodes, k - 1, _LAST_NODE))
        if per_step > 1:
            at = _with_inputs(path[i + per_step // 2], nodes, i + per_step // 2, 0)
        else:
            middle = (path[i] + path[k]) / 2 + h / 8 * (begin.f - end.f)
            at = _with_inputs(middle, nodes, i, MIDDLE_NODE)
        step_by = _runge_kutta_step(field, size, (begin, field.derivatives(at), end), h)
        if by is None:
            by = step_by
        else:
            by = np.ascontiguousarray(step_by[..., size:]) @ by
            by[..., :size] += step_by[..., :size]
        begin = end
        if nodes is not None and k < len(path) - 1:
            begin = field.derivatives(_with_inputs(path[k], nodes, k, 0))  # after a jump
    assert by is not None
    return by


def _with_inputs(
    x: Float[np.ndarray, "n M"], nodes: np.ndarray | None, substep: int, node: int
) -> Float[np.ndarray, "V M"]:
    return x if nodes is None else np.concatenate([x, nodes[substep, node]])


def _runge_kutta_step(
    field: FieldAt, size: int, at: tuple[Derivatives, ...], h: Float[np.ndarray, " M"]
) -> Float[np.ndarray, "M n Q"]:
    """Return [G, F] of one Runge-Kutta step of S' = J S + B through three nodes.

    With A_i = h J_i at the nodes, F is the result of the step from the identity, and
    G = h/6 ((I + A_1 + A_1^2/2 + A_2 A_1^2/4) B_0 + (4 I + A_1 + A_2 + A_2 A_1/2) B_1 + B_2).
    """
    n, count = len(at[0].f), len(h)
    identity = np.zeros((n, n, count))
    identity[np.arange(n), np.arange(n)] = 1.0
    product = np.empty((n, count))  # reused to avoid allocations

    def times_jacobian(node: int, S: np.ndarray) -> np.ndarray:
        """A_node S"""
        out = np.zeros_like(S)
        for c, j, value in at[node].jacobian:
            out[c] += np.multiply(value, S[j], out=product)
        out *= h
        return out

    def jacobian(node: int) -> np.ndarray:
        """A_node"""
        out = np.zeros_like(identity)
        for c, j, value in at[node].jacobian:
            out[c, j] = value * h
        return out

    k1 = jacobian(0)
    k2 = times_jacobian(1, identity + k1 / 2)
    k3 = times_jacobian(1, identity + k2 / 2)
    k4 = times_jacobian(2, identity + k3)
    by = np.empty((n, size + n, count))
    by[:, size:] = identity + (k1 + 2 * (k2 + k3) + k4) / 6
    if size:
        A1, A2 = jacobian(1), jacobian(2)
        squared = times_jacobian(1, A1)
        responses = (
            h / 6 * (identity + A1 + squared / 2 + times_jacobian(2, squared) / 4),
            h / 6 * (4 * identity + A1 + A2 + times_jacobian(2, A1) / 2),
            h / 6 * identity,
        )
        by[:, :size] = 0.0
        for (c, q, first), (_, _, middle), (_, _, last) in zip(
            *(node.forcing for node in at), strict=True
        ):
            for response, value in zip(responses, (first, middle), strict=False):
                by[:, q] += np.multiply(response[:, c], value, out=product)
            by[c, q] += h / 6 * last
        if field.weighted:
            basis = np.stack([np.asarray(node.basis) for node in at], axis=1)  # M 3 H
            for i, c in enumerate(field.weighted):
                first = field.count + i * field.width
                pulse = np.stack([response[:, c] for response in responses], axis=2)  # n M 3
                by[:, first : first + field.width] = np.moveaxis(
                    np.swapaxes(pulse, 0, 1) @ basis, 0, 2
                )
    return np.moveaxis(by, 2, 0)
