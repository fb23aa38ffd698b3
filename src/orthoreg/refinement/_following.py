"""Trajectories with their sensitivities, all steps from row to row at once.

Each step is a map x -> phi(x, p) of its own. From a guess of the states at all rows, phi and its
derivatives F = dphi/dx, G = dphi/dp are found together for all steps; Newton's method then closes
the gaps between the end of one step and the start of the next, and S -> F S + G chains the
sensitivities. [multiple shooting; Bock and Plitt 1984]
"""

from typing import NamedTuple, final

import numpy as np
from jaxtyping import Float

from ._segments import Segments
from ._shooting import STAGES, WEIGHTS, Box, Shot, shoot
from ._slope import SlopeAt

_BLOCK = 400_000  # numbers that are integrated at a time: about what a cache holds
_SWEEPS = 6
_CLOSED = 1e-7  # of a state's size: Newton's next gaps would be the square of it
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
) -> tuple[Shot, Float[np.ndarray, "B T n Q"]]:
    """The segments from their starts, and d states / d (constants, starts), `size` constants.

    Where a guess does not lead there, they are integrated row after row.
    """
    with np.errstate(all="ignore"):
        if guess is not None and size <= _FEW:
            tolerance = _CLOSED * (box.high - box.low)
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
    each = max(1, _BLOCK // (STAGES * (n * (size - wide + n + 1) + wide)))
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
    """phi and [G, F] over all substeps: S -> F S + G of each, one after the other."""
    x, by = _substep(slope, size, x, step, None if nodes is None else nodes[0])
    for part in range(1, substeps):
        x, then = _substep(slope, size, x, step, None if nodes is None else nodes[part])
        by = then[..., size:] @ by
        by[..., :size] += then[..., :size]
    return x.T, by


def _substep(
    slope: SlopeAt,
    size: int,
    x: Float[np.ndarray, "n M"],
    step: Float[np.ndarray, " M"],
    u: np.ndarray | None,
) -> tuple[Float[np.ndarray, "n M"], Float[np.ndarray, "M n Q"]]:
    """x' = f and S' = (df/dx) S + df/dp from S = [0, I], by one step.

    The step is linear in df/dp. For the many weights of a residual it is taken with a pulse at
    each stage in their place, and the basis functions at the stages are multiplied by the result.
    """
    n, weighted = len(x), slope.weighted if size else ()
    count = slope.count if size else 0
    pulses = STAGES * len(weighted)
    y = np.zeros((n, count + pulses + n + 1, x.shape[1]))
    y[:, -1] = x
    y[np.arange(n), count + pulses + np.arange(n)] = 1.0
    slopes = np.zeros((STAGES, *y.shape))
    flat = slopes.reshape(STAGES, -1)
    basis = np.empty((x.shape[1], STAGES, slope.width)) if pulses else None
    at = y
    for stage in range(STAGES):
        if stage:
            at = (WEIGHTS[stage - 1] @ flat[:stage]).reshape(y.shape)
            at *= step
            at += y
        found = slope.linearised(at[:, -1] if u is None else np.concatenate([at[:, -1], u[stage]]))
        out = slopes[stage]
        for c, j, value in found.jacobian:
            out[c, :-1] += value * at[j, :-1]
        for c, q, value in found.forcing if count else ():
            out[c, q] += value
        out[:, -1] = found.f
        if basis is not None:
            basis[:, stage] = found.basis
            for place, c in enumerate(weighted):
                out[c, count + place * STAGES + stage] += 1.0
    y = y + step * (WEIGHTS[-1] @ flat).reshape(y.shape)
    by = np.moveaxis(y[:, :-1], 2, 0)
    if basis is None:
        return y[:, -1], by
    answers = [
        by[..., count + i * STAGES : count + (i + 1) * STAGES] @ basis for i in range(len(weighted))
    ]
    return y[:, -1], np.concatenate([by[..., :count], *answers, by[..., -n:]], axis=2)
