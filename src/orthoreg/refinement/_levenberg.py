"""Levenberg-Marquardt over constants and starts; each segment's start is eliminated on its own."""

from collections.abc import Callable
from typing import NamedTuple, final

import numpy as np
from jaxtyping import Float

from ._normal import Normal

_RIDGE = 1e-13  # of a diagonal: what rounding needs


@final
class Prior(NamedTuple):
    """What is known of the constants beforehand: sum precision (p - mean)^2 / 2 is added."""

    mean: np.ndarray
    precision: np.ndarray

    def cost(self, p: np.ndarray) -> float:
        return float((self.precision * (p - self.mean) ** 2).sum() / 2)


@final
class Solution(NamedTuple):
    """Constants, starts (n, B), the normal equations there, and whether the descent had ended."""

    p: np.ndarray
    starts: np.ndarray
    normal: Normal
    converged: bool


Evaluate = Callable[[np.ndarray, np.ndarray, np.ndarray], Normal]


def starts_alone(normal: Normal) -> Float[np.ndarray, "n B"]:
    """The step of the starts with the constants as they are."""
    diagonal = np.einsum("bii->bi", normal.ss)
    floor = np.where(diagonal > 0, _RIDGE * diagonal, 1.0)
    ss = normal.ss + np.eye(len(normal.states[0])) * floor[:, None]
    return np.linalg.solve(ss, normal.s_scores.sum(axis=1)[..., None])[..., 0].T


def eliminated(
    normal: Normal, precision: Float[np.ndarray, " P"], damping: float = 0.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The Schur complement H = pp - sum sp' ss^-1 sp, the scores by stretch and segment with the
    starts eliminated (B, g, P), and ss^-1 [sp, s_scores]."""
    n, size = normal.sp.shape[1:]
    diagonal = np.einsum("bii->bi", normal.ss)
    floor = np.where(diagonal > 0, _RIDGE * diagonal, 1.0)
    ss = normal.ss + np.eye(n) * (damping * diagonal + floor)[:, None]
    right = np.concatenate([normal.sp, np.swapaxes(normal.s_scores, 1, 2)], axis=2)
    solved = np.linalg.solve(ss, right)
    sp = normal.sp.reshape(len(normal.sp) * n, size)
    H = normal.pp - sp.T @ solved[:, :, :size].reshape(sp.shape) + np.diag(precision)
    scores = normal.p_scores - np.einsum("bnp,bng->bgp", normal.sp, solved[:, :, size:])
    return (H + H.T) / 2, scores, solved


def _within(
    H: Float[np.ndarray, "P P"], gradient: Float[np.ndarray, " P"], room: Float[np.ndarray, "2 P"]
) -> Float[np.ndarray, " P"]:
    """H^-1 gradient; a number that would leave its room goes to the edge of it, and the others
    are solved for again."""
    step = np.linalg.solve(H, gradient)
    free = np.ones(len(step), dtype=bool)
    while True:
        outside = free & ((step < room[0]) | (step > room[1]))
        if not outside.any():
            return step
        step[outside] = np.clip(step, *room)[outside]
        free &= ~outside
        rest = gradient[free] - H[np.ix_(free, ~free)] @ step[~free]
        step[free] = np.linalg.solve(H[np.ix_(free, free)], rest)


def newton_step(
    normal: Normal, p: np.ndarray, prior: Prior, damping: float, room: Float[np.ndarray, "2 P"]
) -> tuple[np.ndarray, np.ndarray, float]:
    """Steps of the constants, which stay within `room`, and of the starts (n, B); and the gain
    that the model promises."""
    size, precision = len(p), prior.precision
    pull = precision * (prior.mean - p)
    try:
        H, scores, solved = eliminated(normal, precision, damping)
        gradient = scores.sum(axis=(0, 1)) + pull
        step = np.zeros(size)
        if size:
            scale = np.sqrt(np.maximum(np.diag(normal.pp) + precision, 1e-300))
            scaled = H / np.outer(scale, scale) + (damping + _RIDGE) * np.eye(size)
            step = _within(scaled, gradient / scale, room * scale) / scale
    except np.linalg.LinAlgError:
        return np.zeros(size), np.zeros((1, 1)), np.nan
    moves = solved[:, :, size:].sum(axis=2) - solved[:, :, :size] @ step
    # model: score' d - d'Hd / 2 over all unknowns, with the undamped matrix
    p_score = normal.p_scores.sum(axis=(0, 1)) + pull
    s_score = normal.s_scores.sum(axis=1)
    curve = step @ ((normal.pp + np.diag(precision)) @ step)
    curve += 2 * np.einsum("bn,bnp,p->", moves, normal.sp, step)
    curve += np.einsum("bn,bnm,bm->", moves, normal.ss, moves)
    gain = p_score @ step + (s_score * moves).sum() - curve / 2
    return step, moves.T, float(gain)
