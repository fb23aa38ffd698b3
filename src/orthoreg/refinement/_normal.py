"""From simulated segments to the normal equations, segment by segment."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from jaxtyping import Bool, Float

from ._shooting import Shot

HUBER = 4.0
"""Residuals beyond so many standard deviations count linearly, not squared."""
_RUNAWAY = 1e3  # standard deviations at which a row counts whose trajectory ran away


@final
@dataclass(frozen=True, eq=False)
class Normal:
    """What Gauss-Newton needs, with r the residuals in standard deviations, weighted.

    `costs` are half the sums of squares (beyond `HUBER` linear), segment by segment. For
    constants p and starts s: `pp` = sum J_p'J_p, `ss` and `sp` segment by segment, and the scores
    J'r by segment and stretch of it. `states` (T, n, B) is what was simulated.
    """

    costs: Float[np.ndarray, " B"]
    pp: Float[np.ndarray, "P P"]
    ss: Float[np.ndarray, "B n n"]
    sp: Float[np.ndarray, "B n P"]
    p_scores: Float[np.ndarray, "B g P"]
    s_scores: Float[np.ndarray, "B g n"]
    states: Float[np.ndarray, "T n B"]
    sound: Bool[np.ndarray, " B"]

    @property
    def cost(self) -> float:
        return float(self.costs.sum())


def normal_equations(
    shot: Shot,
    sensitivities: Float[np.ndarray, "B T n Q"],
    measured: Float[np.ndarray, "T n B"],
    weight: Float[np.ndarray, "T B"],
    sigma: Float[np.ndarray, "T n B"],
    stretches: int = 1,
    reference: Float[np.ndarray, "T n B"] | None = None,
) -> Normal:
    """The normal equations of these segments; states with an infinite sigma do not count. Costs and
    the weights of outliers are those at the `reference` states, by default the trajectory itself.
    """
    counted: Any = np.flatnonzero(np.isfinite(sigma[0, :, 0]))
    if len(counted) == sigma.shape[1]:
        counted = slice(None)  # a view
    sigma = sigma[:, counted]
    length, n, count = shot.states.shape
    sound = shot.sound & np.isfinite(sensitivities.sum(axis=(1, 2, 3)))
    r = np.where(sound, measured - shot.states, 0.0)[:, counted] / sigma
    near = r
    if reference is not None:
        near = np.where(sound, measured - reference, 0.0)[:, counted] / sigma
    cost, down = huber(near)
    lost = HUBER * _RUNAWAY * sigma.shape[1] * weight.sum(axis=0)
    root = np.sqrt(down * weight[:, None])
    scale = np.moveaxis(root / sigma, 2, 0)[..., None]
    J = sensitivities[:, :, counted] * scale
    J[~sound] = 0.0
    r = np.moveaxis(r * root, 2, 0)
    parts = np.array_split(np.arange(length), stretches)
    scores = np.concatenate(
        [
            r[:, rows].reshape(count, 1, -1) @ J[:, rows].reshape(count, -1, J.shape[3])
            for rows in parts
        ],
        axis=1,
    )
    J = J.reshape(count, -1, J.shape[3])
    size = J.shape[2] - n
    p, s = J[:, :, :size], J[:, :, size:]
    flat = J.reshape(-1, J.shape[2])[:, :size]
    return Normal(
        costs=np.where(sound, (cost * weight[:, None]).sum(axis=(0, 1)), lost),
        pp=flat.T @ flat,
        ss=s.transpose(0, 2, 1) @ s,
        sp=s.transpose(0, 2, 1) @ p,
        p_scores=scores[..., :size],
        s_scores=scores[..., size:],
        states=shot.states,
        sound=sound,
    )


def joined(parts: Sequence[Normal]) -> Normal:
    """The normal equations of all segments of several groups."""
    if len(parts) == 1:
        return parts[0]

    def stacked(name: str, axis: int = 0) -> np.ndarray:
        return np.concatenate([getattr(part, name) for part in parts], axis=axis)

    return Normal(
        costs=stacked("costs"),
        pp=np.sum([part.pp for part in parts], axis=0),
        ss=stacked("ss"),
        sp=stacked("sp"),
        p_scores=stacked("p_scores"),
        s_scores=stacked("s_scores"),
        states=stacked("states", 2),
        sound=stacked("sound"),
    )


def huber(r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Half of r^2, linear beyond `HUBER`, and the weight that r^2 / 2 has in it."""
    size = np.abs(r)
    far = size > HUBER
    cost = np.where(far, HUBER * (size - HUBER / 2), r * r / 2)
    return cost, np.where(far, HUBER / np.maximum(size, HUBER), 1.0)
