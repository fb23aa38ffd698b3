"""Trajectories with their sensitivities, all steps from row to row at once.

Each step is a map x -> phi(x, p) of its own. From a guess of the states at all rows, phi and its
derivatives F = dphi/dx, G = dphi/dp are found together for all steps; Newton's method then closes
the gaps between the end of one step and the start of the next, and S -> F S + G chains the
sensitivities. [multiple shooting; Bock and Plitt 1984]
"""

from typing import NamedTuple, final

import numpy as np
from jaxtyping import Float

from ._segments import MIDDLE_NODE, Segments
from ._shooting import BOX_WIDTH, Box, Shot, shoot, step_once
from ._slope import Linearised, SlopeAt

_BLOCK = 400_000  # numbers that are integrated at a time: about what a cache holds
_SWEEPS = 6
_CLOSED = 0.3  # of the root of the accuracy: margin for the curvature of the flow
_STORED = 5  # arrays of derivatives that a step holds
_RATE = 0.7  # |df/dx| h of one step: the classical Runge-Kutta method is then off by about 0.1%
_LAST_NODE = 5  # of a step, at its end, before a jump of an input
_FEW = 50  # constants; with more, sweeps cost more than they save


@final
class Maps(NamedTuple):
    """Ends phi (B, L, n) of all steps and their derivatives [G, F] (B, L, n, Q)."""

    ends: np.ndarray
    by: np.ndarray


def follow(
    slope: SlopeAt,
    size: int,
    guess: Float[np.ndarray, "T n B"] | None,
    starts: Float[np.ndarray, "n B"],
    segments: Segments,
    nodes: np.ndarray | None,
    substeps: int,
    box: Box,
    accuracy: Float[np.ndarray, " n"],
) -> tuple[Shot, Float[np.ndarray, "B T n Q"]]:
    """The segments from their starts, and d states / d (constants, starts), `size` constants.

    Newton's method squares the relative size of the gaps, so gaps are closed for the last time
    when their square is within the `accuracy` of each state. Where a guess does not lead there,
    segments are integrated row after row.
    """
    with np.errstate(all="ignore"):
        if guess is not None and size <= _FEW:
            width = (box.high - box.low) / BOX_WIDTH
            tolerance = np.sqrt(np.minimum(accuracy[:, None] / width, 1.0)) * _CLOSED * width
            states = guess.copy()
            states[0] = starts
            for _ in range(_SWEEPS):
                maps = step_maps(slope, size, states, segments, nodes, substeps)
                gaps = _gaps(maps, states)
                closed = bool((np.abs(gaps) <= tolerance).all())  # False for NaN
                states = states + gaps
                if closed and ((states >= box.low) & (states <= box.high)).all():
                    shot = Shot(states, np.ones(states.shape[2], dtype=bool))
                    return shot, _chained(maps, size)
                if not np.isfinite(states).all():
                    break
        shot = shoot(slope, starts, segments, nodes, substeps, box)
        maps = step_maps(slope, size, shot.states, segments, nodes, substeps)
        return shot, _chained(maps, size)


def linearized(
    slope: SlopeAt,
    size: int,
    states: Float[np.ndarray, "T n B"],
    segments: Segments,
    nodes: np.ndarray | None,
    substeps: int,
) -> tuple[Float[np.ndarray, "T n B"], Float[np.ndarray, "B T n Q"]]:
    """The trajectory from the first of these states, to first order, and its derivatives with
    respect to (constants, starts)."""
    maps = step_maps(slope, size, states, segments, nodes, substeps)
    found = _chained(maps, size, _apart(maps, states))
    return states + np.moveaxis(found[..., 0], 0, 2), found[..., 1:]


def growth_of_errors(
    slope: SlopeAt,
    states: Float[np.ndarray, "T n B"],
    segments: Segments,
    nodes: np.ndarray | None,
) -> Float[np.ndarray, "B n n"]:
    """d (last state) / d (first state) of each segment, to first order around these states."""
    maps = step_maps(slope, 0, states, segments, nodes, 1)
    return _chained(maps, 0)[:, -1]


def _apart(maps: Maps, states: Float[np.ndarray, "T n B"]) -> Float[np.ndarray, "B L n 1"]:
    """By how much the end of each step misses the state at the next row."""
    return (maps.ends - np.moveaxis(states[1:], 2, 0))[..., None]


def _gaps(maps: Maps, states: Float[np.ndarray, "T n B"]) -> Float[np.ndarray, "T n B"]:
    """By how much the state at each row moves when all gaps are closed: d_0 = 0 and
    d_k+1 = phi_k - x_k+1 + F_k d_k."""
    n = states.shape[1]
    moves = _chain(maps.by[..., -n:], _apart(maps, states))[..., 0]
    return np.moveaxis(moves, 0, 2)


def _chained(
    maps: Maps, size: int, further: Float[np.ndarray, "B L n k"] | None = None
) -> Float[np.ndarray, "B T n Q"]:
    """S_0 = [0, I] and S_k+1 = F_k S_k + [G_k, 0], with `further` columns before those of G."""
    G = maps.by[..., :size]
    if further is not None:
        G = np.concatenate([further, G], axis=3)
    return _chain(maps.by[..., size:], G)


def _chain(
    F: Float[np.ndarray, "B L n n"], G: Float[np.ndarray, "B L n q"]
) -> Float[np.ndarray, "B T n Q"]:
    """S_0 = [0, I] and S_k+1 = F_k S_k + [G_k, 0] for all k.

    Steps are chained within blocks of about sqrt(L) steps, all blocks at once, and the blocks
    then one after the other: a loop over 2 sqrt(L) steps with large arrays takes far less time
    than one over L steps with small ones.
    """
    count, length, n, q = G.shape
    each = max(1, round(length**0.5))
    blocks = -(-length // each)
    # the last block is filled up with steps that change nothing
    rates = np.zeros((count, blocks * each, n, n))
    rates[:, :length], rates[:, length:] = F, np.eye(n)
    pushes = np.zeros((count, blocks * each, n, q))
    pushes[:, :length] = G
    rates = rates.reshape(count, blocks, each, n, n)
    pushes = pushes.reshape(count, blocks, each, n, q)
    inside = np.empty((count, blocks, each, n, q + n))
    state = np.zeros((count, blocks, n, q + n))
    state[..., q:] = np.eye(n)
    for k in range(each):
        state = rates[:, :, k] @ state
        state[..., :q] += pushes[:, :, k]
        inside[:, :, k] = state
    begins = np.zeros((count, blocks, n, q + n))
    begins[:, 0, :, q:] = np.eye(n)
    for j in range(blocks - 1):
        begins[:, j + 1] = inside[:, j, -1, :, q:] @ begins[:, j]
        begins[:, j + 1, :, :q] += inside[:, j, -1, :, :q]
    found = np.empty((count, length + 1, n, q + n))
    found[:, 0] = begins[:, 0]
    later = inside[..., q:] @ begins[:, :, None]
    later[..., :q] += inside[..., :q]
    found[:, 1:] = later.reshape(count, blocks * each, n, q + n)[:, :length]
    return found


def step_maps(
    slope: SlopeAt,
    size: int,
    states: Float[np.ndarray, "T n B"],
    segments: Segments,
    nodes: np.ndarray | None,
    substeps: int,
) -> Maps:
    """All steps from row to row, each from the state at its first row; with no derivatives in the
    constants where `size` is 0."""
    length, (n, count) = segments.length, states.shape[1:]
    at, steps, nodes = _flat(states, segments, nodes, substeps)
    ends = np.empty((at.shape[1], n))
    by = np.empty((at.shape[1], n, size + n))
    wide = slope.width if size else 0
    each = max(1, _BLOCK // (_STORED * (n * (size - wide + n + 1) + wide)))
    for i in range(0, at.shape[1], each):
        few = slice(i, i + each)
        u = None if nodes is None else nodes[..., few]
        ends[few], by[few] = _integrated(slope, size, at[:, few], steps[few], u, substeps)
    return Maps(ends.reshape(count, length, n), by.reshape(count, length, n, size + n))


def step_ends(
    slope: SlopeAt,
    states: Float[np.ndarray, "T n B"],
    segments: Segments,
    nodes: np.ndarray | None,
    substeps: int,
) -> Float[np.ndarray, "n B L"]:
    """Where each step from row to row ends, from the state at its first row."""
    at, steps, nodes = _flat(states, segments, nodes, substeps)
    return _path(slope, at, steps, nodes, substeps)[-1].reshape(len(at), -1, segments.length)


def _flat(
    states: Float[np.ndarray, "T n B"],
    segments: Segments,
    nodes: np.ndarray | None,
    substeps: int,
) -> tuple[Float[np.ndarray, "n M"], Float[np.ndarray, " M"], np.ndarray | None]:
    """The states at which steps begin, the lengths of substeps and the inputs, all steps in one
    axis, segment by segment."""
    at = states[:-1].transpose(1, 2, 0).reshape(states.shape[1], -1)
    if nodes is not None:
        nodes = np.moveaxis(nodes, 0, -1).reshape(*nodes.shape[1:4], -1)
    return at, segments.steps.T.reshape(-1) / substeps, nodes


def _path(
    slope: SlopeAt,
    x: Float[np.ndarray, "n M"],
    step: Float[np.ndarray, " M"],
    nodes: np.ndarray | None,
    substeps: int,
    first: Float[np.ndarray, "n M"] | None = None,
) -> list[Float[np.ndarray, "n M"]]:
    """The states before and after each substep; `first` is the slope at x, if that is known."""
    path = [x]
    for part in range(substeps):
        u = None if nodes is None else nodes[part]
        path.append(step_once(slope, path[-1], step, u, None if part else first))
    return path


def _integrated(
    slope: SlopeAt,
    size: int,
    x: Float[np.ndarray, "n M"],
    step: Float[np.ndarray, " M"],
    nodes: np.ndarray | None,
    substeps: int,
) -> tuple[Float[np.ndarray, "M n"], Float[np.ndarray, "M n Q"]]:
    """phi over all substeps of length `step`, and [G, F]."""
    first = slope.linearised(_with_inputs(x, nodes, 0, 0))
    path = _path(slope, x, step, nodes, substeps, first.f)
    rate = np.zeros(x.shape[1])
    for _, _, value in first.jacobian:
        rate = rate + np.square(value)
    # Gauss-Newton needs derivatives less accurately than states: |J| h of about one is enough
    needed = float(np.sqrt(np.median(rate * (step * substeps) ** 2))) / _RATE
    count = 1
    while count < min(needed, substeps):
        count *= 2
    return path[-1].T, _derivatives(slope, size, path, step, nodes, count, first)


def _derivatives(
    slope: SlopeAt,
    size: int,
    path: list[Float[np.ndarray, "n M"]],
    step: Float[np.ndarray, " M"],
    nodes: np.ndarray | None,
    count: int,
    first: Linearised,
) -> Float[np.ndarray, "M n Q"]:
    """[G, F] along a path: S' = (df/dx) S + df/dp by `count` steps of the classical Runge-Kutta
    method, which looks at the path at the ends and in the middle of each.

    The steps are linear in df/dp. For the many weights of a residual they are taken with a pulse at
    each of these three places instead, and the result is multiplied with the basis functions there.
    """
    each = (len(path) - 1) // count
    h = each * step
    by: np.ndarray | None = None
    begin = first
    for part in range(count):
        i, k = part * each, (part + 1) * each
        end = slope.linearised(_with_inputs(path[k], nodes, k - 1, _LAST_NODE))
        if each > 1:
            at = _with_inputs(path[i + each // 2], nodes, i + each // 2, 0)
        else:
            middle = (path[i] + path[k]) / 2 + h / 8 * (begin.f - end.f)
            at = _with_inputs(middle, nodes, i, MIDDLE_NODE)
        then = _one_step(slope, size, (begin, slope.linearised(at), end), h)
        if by is None:
            by = then
        else:
            by = np.ascontiguousarray(then[..., size:]) @ by
            by[..., :size] += then[..., :size]
        begin = end
        if nodes is not None and k < len(path) - 1:
            begin = slope.linearised(_with_inputs(path[k], nodes, k, 0))  # behind a jump
    assert by is not None
    return by


def _with_inputs(
    x: Float[np.ndarray, "n M"], nodes: np.ndarray | None, substep: int, node: int
) -> Float[np.ndarray, "V M"]:
    return x if nodes is None else np.concatenate([x, nodes[substep, node]])


def _one_step(
    slope: SlopeAt, size: int, at: tuple[Linearised, ...], h: Float[np.ndarray, " M"]
) -> Float[np.ndarray, "M n Q"]:
    """[G, F] of one Runge-Kutta step of S' = J S + B through three places.

    With A_i = h J_i at the places, F is what the step makes of the identity, and
    G = h/6 ((I + A_1 + A_1^2/2 + A_2 A_1^2/4) B_0 + (4 I + A_1 + A_2 + A_2 A_1/2) B_1 + B_2).
    """
    n, count = len(at[0].f), len(h)
    one = np.zeros((n, n, count))
    one[np.arange(n), np.arange(n)] = 1.0
    part = np.empty((n, count))  # for products, so that no memory is asked for again and again

    def times_jacobian(place: int, S: np.ndarray) -> np.ndarray:
        """A_place S"""
        out = np.zeros_like(S)
        for c, j, value in at[place].jacobian:
            out[c] += np.multiply(value, S[j], out=part)
        out *= h
        return out

    def jacobian(place: int) -> np.ndarray:
        """A_place"""
        out = np.zeros_like(one)
        for c, j, value in at[place].jacobian:
            out[c, j] = value * h
        return out

    k1 = jacobian(0)
    k2 = times_jacobian(1, one + k1 / 2)
    k3 = times_jacobian(1, one + k2 / 2)
    k4 = times_jacobian(2, one + k3)
    by = np.empty((n, size + n, count))
    by[:, size:] = one + (k1 + 2 * (k2 + k3) + k4) / 6
    if size:
        A1, A2 = jacobian(1), jacobian(2)
        squared = times_jacobian(1, A1)
        responses = (
            h / 6 * (one + A1 + squared / 2 + times_jacobian(2, squared) / 4),
            h / 6 * (4 * one + A1 + A2 + times_jacobian(2, A1) / 2),
            h / 6 * one,
        )
        by[:, :size] = 0.0
        for (c, q, first), (_, _, middle), (_, _, last) in zip(
            *(one.forcing for one in at), strict=True
        ):
            for response, value in zip(responses, (first, middle), strict=False):
                by[:, q] += np.multiply(response[:, c], value, out=part)
            by[c, q] += h / 6 * last
        if slope.weighted:
            basis = np.stack([np.asarray(found.basis) for found in at], axis=1)  # M 3 H
            for i, c in enumerate(slope.weighted):
                first = slope.count + i * slope.width
                pulse = np.stack([response[:, c] for response in responses], axis=2)  # n M 3
                by[:, first : first + slope.width] = np.moveaxis(
                    np.swapaxes(pulse, 0, 1) @ basis, 0, 2
                )
    return np.moveaxis(by, 2, 0)
