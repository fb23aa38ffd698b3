"""Trajectories with their sensitivities, all steps from row to row at once.

Each step is a map x -> phi(x, p) of its own. From a guess of the states at all rows, phi and its
derivatives F = dphi/dx, G = dphi/dp are found together for all steps; Newton's method then closes
the gaps between the end of one step and the start of the next, and S -> F S + G chains the
sensitivities. [multiple shooting; Bock and Plitt 1984]
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ._segments import Segments
from ._shooting import STAGES, WEIGHTS, Box, Shot, shoot
from ._slope import SlopeAt

_BLOCK = 50_000  # sensitivities that are integrated at a time: what a cache holds
_SWEEPS = 6
_CLOSED = 1e-7  # of a state's size: Newton's next gaps would be the square of it
_FEW = 20  # constants, from which on sweeps go without their derivatives


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
) -> tuple[Shot, Float[np.ndarray, "B T n Q"]]:
    """The segments from their starts, and d states / d (constants, starts), `size` constants.

    Where a guess does not lead there, they are integrated row after row.
    """
    with np.errstate(all="ignore"):
        if guess is not None:
            tolerance = _CLOSED * (box.high - box.low)
            states = guess.copy()
            states[0] = starts
            for _ in range(_SWEEPS):
                known = size if size <= _FEW else 0
                maps = step_maps(slope, known, states, segments, nodes, substeps)
                gaps = _gaps(maps, states)
                closed = bool((np.abs(gaps) <= tolerance).all())  # False for NaN
                states = states + gaps
                if closed and ((states >= box.low) & (states <= box.high)).all():
                    if known < size:
                        maps = step_maps(slope, size, states, segments, nodes, substeps)
                    shot = Shot(states, np.ones(states.shape[2], dtype=bool))
                    return shot, _chained(maps, size)
                if not np.isfinite(states).all():
                    break
        shot = shoot(slope, starts, segments, nodes, substeps, box)
        maps = step_maps(slope, size, shot.states, segments, nodes, substeps)
        return shot, _chained(maps, size)


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
    """All steps from row to row, each from the state at its first row."""
    length, (n, count) = segments.length, states.shape[1:]
    at = np.moveaxis(states[:-1], 1, 0).reshape(n, -1)
    steps = segments.steps.reshape(-1) / substeps
    if nodes is not None:
        nodes = np.moveaxis(nodes, 0, -2).reshape(*nodes.shape[1:4], -1)
    found = np.empty((n, size + n + 1, at.shape[1]))
    each = max(1, _BLOCK // (n * (size + n + 1)))
    for i in range(0, at.shape[1], each):
        few = slice(i, i + each)
        u = None if nodes is None else nodes[..., few]
        found[..., few] = _integrated(slope, size, at[:, few], steps[few], u, substeps)
    by_step = found.reshape(n, size + n + 1, length, count).transpose(3, 2, 0, 1)
    by_step = np.ascontiguousarray(by_step)
    return Maps(by_step[..., -1], by_step[..., :-1])


def _integrated(
    slope: SlopeAt,
    size: int,
    x: Float[np.ndarray, "n M"],
    step: Float[np.ndarray, " M"],
    nodes: np.ndarray | None,
    substeps: int,
) -> Float[np.ndarray, "n Y M"]:
    """[G, F, phi]: x' = f and S' = (df/dx) S + df/dp from S = [0, I]."""
    n = len(x)
    y = np.zeros((n, size + n + 1, x.shape[1]))
    y[:, -1] = x
    y[np.arange(n), size + np.arange(n)] = 1.0
    slopes = np.zeros((STAGES, *y.shape))
    flat = slopes.reshape(STAGES, -1)
    for part in range(substeps):
        at = y
        for stage in range(STAGES):
            if stage:
                at = (WEIGHTS[stage - 1] @ flat[:stage]).reshape(y.shape)
                at *= step
                at += y
            x = at[:, -1]
            z = x if nodes is None else np.concatenate([x, nodes[part, stage]])
            _write_slopes(slope, z, at, slopes[stage], with_constants=bool(size))
        y = y + step * (WEIGHTS[-1] @ flat).reshape(y.shape)
    return y


def _write_slopes(
    slope: SlopeAt, z: np.ndarray, at: np.ndarray, out: np.ndarray, *, with_constants: bool
) -> None:
    """The time derivatives of sensitivities and states, written into `out`."""
    found = slope.linearised(z)
    out[:, :-1] = 0.0
    for c, j, value in found.jacobian:
        out[c, :-1] += value * at[j, :-1]
    for c, q, value in found.forcing if with_constants else ():
        out[c, q] += value
    out[:, -1] = found.f
