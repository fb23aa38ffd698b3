"""Segments integrated with fixed steps, one row after the other."""

from collections.abc import Callable
from typing import NamedTuple, final

import numpy as np
from jaxtyping import Bool, Float

from ..simulation import WEIGHTS as TSITOURAS
from ._segments import Segments

Slopes = Callable[[np.ndarray], np.ndarray]  # (V, B) -> (n, B), such as SlopeAt
WEIGHTS = tuple(np.array(row) for row in TSITOURAS)
STAGES = len(WEIGHTS)


@final
class Shot(NamedTuple):
    """States (T, n, B), and which segments stayed finite and within the box."""

    states: np.ndarray
    sound: np.ndarray


@final
class Box(NamedTuple):
    """Beyond this a trajectory has run away."""

    low: np.ndarray
    high: np.ndarray


BOX_WIDTH = 21
"""The width of the box in that of the data."""


def box_around(states: Float[np.ndarray, "N n"]) -> Box:
    """Ten times as wide as the data, on either side."""
    low, high = states.min(axis=0), states.max(axis=0)
    width = (BOX_WIDTH - 1) / 2 * np.where(high > low, high - low, 1 + np.abs(high))
    return Box((low - width)[:, None], (high + width)[:, None])


def shoot(
    slope: Slopes,
    starts: Float[np.ndarray, "n B"],
    segments: Segments,
    nodes: np.ndarray | None,
    substeps: int,
    box: Box,
) -> Shot:
    """All segments from their starts: x' = f(x, u) by Tsitouras' fifth-order method, `substeps`
    equal steps from row to row."""
    states = np.empty((segments.length + 1, *starts.shape))
    states[0] = starts
    sound = np.ones(starts.shape[1], dtype=bool)
    with np.errstate(all="ignore"):
        for row in range(segments.length):
            x = states[row]
            u = None if nodes is None else nodes[row]
            for part in range(substeps):
                x = step_once(
                    slope, x, segments.steps[row] / substeps, None if u is None else u[part]
                )
            states[row + 1], sound = _bounded(x, sound, box)
    return Shot(states, sound)


def step_once(
    slope: Slopes,
    x: Float[np.ndarray, "n B"],
    step: Float[np.ndarray, " B"],
    u: np.ndarray | None,
    first: Float[np.ndarray, "n B"] | None = None,
) -> Float[np.ndarray, "n B"]:
    """One step of Tsitouras' method, with the inputs `u` at its stages, and the slope at the
    `first` of these if that is known."""
    slopes = np.empty((STAGES, x.size))
    at = x
    for stage in range(STAGES):
        if stage:
            at = (WEIGHTS[stage - 1] @ slopes[:stage]).reshape(x.shape)
            at *= step
            at += x
        elif first is not None:
            slopes[0] = first.reshape(-1)
            continue
        z = at if u is None else np.concatenate([at, u[stage]])
        slopes[stage] = slope(z).reshape(-1)
    return x + step * (WEIGHTS[-1] @ slopes).reshape(x.shape)


def _bounded(
    x: Float[np.ndarray, "n B"], sound: Bool[np.ndarray, " B"], box: Box
) -> tuple[Float[np.ndarray, "n B"], Bool[np.ndarray, " B"]]:
    """Trajectories that leave the box begin anew in its middle, and count no more."""
    inside = ((x >= box.low) & (x <= box.high)).all(axis=0)
    if inside.all():
        return x, sound
    return np.where(inside, x, (box.low + box.high) / 2), sound & inside
