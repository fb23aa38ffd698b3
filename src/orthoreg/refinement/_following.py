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
    return states + _gaps(maps, states), _chained(maps, size)


def _gaps(maps: Maps, states: Float[np.ndarray, "T n B"]) -> Float[np.ndarray, "T n B"]:
    """By how much the state at each row moves when all gaps are closed: d_0 = 0 and
    d_k+1 = phi_k - x_k+1 + F_k d_k."""
    n = states.shape[1]
    apart = maps.ends - np.moveaxis(states[1:], 2, 0)
    move = np.zeros((states.shape[2], len(states), n, 1))
    F = maps.by[..., -n:]
    for row in range(len(states) - 1):
        move[:, row + 1] = F[:, row] @ move[:, row] + apart[:, row, :, None]
    return np.moveaxis(move[..., 0], 0, 2)


def _chained(maps: Maps, size: int) -> Float[np.ndarray, "B T n Q"]:
    """S_0 = [0, I] and S_k+1 = F_k S_k + [G_k, 0]."""
    count, length, n, _ = maps.by.shape
    found = np.zeros((count, length + 1, n, size + n))
    found[:, 0, :, size:] = np.eye(n)
    F = np.ascontiguousarray(maps.by[..., size:])
    for row in range(length):
        found[:, row + 1] = F[:, row] @ found[:, row]
        found[:, row + 1, :, :size] += maps.by[:, row, :, :size]
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
    at = np.moveaxis(states[:-1], 1, 0).reshape(n, -1)
    steps = segments.steps.reshape(-1) / substeps
    if nodes is not None:
        nodes = np.moveaxis(nodes, 0, -2).reshape(*nodes.shape[1:4], -1)
    ends = np.empty((at.shape[1], n))
    by = np.empty((at.shape[1], n, size + n))
    wide = slope.width if size else 0
    each = max(1, _BLOCK // (_STORED * (n * (size - wide + n + 1) + wide)))
    for i in range(0, at.shape[1], each):
        few = slice(i, i + each)
        u = None if nodes is None else nodes[..., few]
        ends[few], by[few] = _integrated(slope, size, at[:, few], steps[few], u, substeps)

    def by_segment(array: np.ndarray) -> np.ndarray:
        shaped = array.reshape(length, count, *array.shape[1:])
        return np.ascontiguousarray(np.swapaxes(shaped, 0, 1))

    return Maps(by_segment(ends), by_segment(by))


def _integrated(
    slope: SlopeAt,
    size: int,
    x: Float[np.ndarray, "n M"],
    step: Float[np.ndarray, " M"],
    nodes: np.ndarray | None,
    substeps: int,
) -> tuple[Float[np.ndarray, "M n"], Float[np.ndarray, "M n Q"]]:
    """phi over all substeps of length `step`, and [G, F]."""
    path = [x]
    for part in range(substeps):
        u = None if nodes is None else nodes[part]
        path.append(step_once(slope, path[-1], step, u))
    first = slope.linearised(_with_inputs(x, nodes, 0, 0))
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
            by = then[..., size:] @ by
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
    """[G, F] of one Runge-Kutta step through three places."""
    n, weighted = len(at[0].f), slope.weighted if size else ()
    count = slope.count if size else 0
    pulses = len(at) * len(weighted)
    start = np.zeros((n, count + pulses + n, len(h)))
    start[np.arange(n), count + pulses + np.arange(n)] = 1.0

    def rate(place: int, S: np.ndarray) -> np.ndarray:
        found = at[place]
        out = np.zeros_like(S)
        for c, j, value in found.jacobian:
            out[c] += value * S[j]
        for c, q, value in found.forcing if count else ():
            out[c, q] += value
        for i, c in enumerate(weighted):
            out[c, count + len(at) * i + place] += 1.0
        return out

    k1 = rate(0, start)
    k2 = rate(1, start + h / 2 * k1)
    k3 = rate(1, start + h / 2 * k2)
    k4 = rate(2, start + h * k3)
    S = start + h / 6 * (k1 + 2 * (k2 + k3) + k4)
    by = np.moveaxis(S, 2, 0)
    if not weighted:
        return by
    basis = np.stack([np.asarray(found.basis) for found in at], axis=1)  # M 3 H
    parts = [by[..., count + 3 * i : count + 3 * (i + 1)] @ basis for i in range(len(weighted))]
    return np.concatenate([by[..., :count], *parts, by[..., -n:]], axis=2)
