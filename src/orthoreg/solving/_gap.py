"""A lower bound of the constrained minimum from any point, by weak duality.

For every x and every multiplier m of the equalities, with s = 2 (Qx - r) + E'm,

    value(v) >= -x'Qx - m'e + sum_k min { s_k v + l1 |v| : low_k <= v <= high_k }

at every v that meets the constraints. Against value(w) this leaves a sum of terms that are all
positive: (w - x)'Q(w - x), and for each coefficient what s_k and the norm lose between w_k and the
best end of its interval. Near the minimum x is the Newton step from w on what is free there.
"""

import numpy as np
from jaxtyping import Bool, Float

from ._linear import solve_symmetric

_ROUNDING = 1e-11  # of a slope, relative to the sizes of the parts that it is a sum of
_RANK = 1e-12  # singular values of the equalities below this share of the largest are zero


def constrained_gap(
    Q: Float[np.ndarray, "K K"],
    r: Float[np.ndarray, " K"],
    l1: float,
    E: Float[np.ndarray, "q K"],
    e: Float[np.ndarray, " q"],
    low: Float[np.ndarray, " K"],
    high: Float[np.ndarray, " K"],
    w: Float[np.ndarray, " K"],
    most: float,
) -> float:
    """value(w) minus a lower bound on the minimum; infinite where x and m yield none.

    `most` is an upper bound of l1 |v|_1 at the minimum, which bounds coefficients without bounds.
    """
    free = (w > low) & (w < high) & ((w != 0) | (l1 == 0))
    x = w + _newton(Q, r - Q @ w - l1 / 2 * np.sign(w), E, free)
    slope = 2 * (Q @ x - r)
    size = 2 * (np.abs(Q) @ np.abs(x) + np.abs(r)) + l1
    down, up = _slopes(w, l1, low, high)
    m = _multipliers(slope, E, down, up, free)
    slope, size = slope + m @ E, size + np.abs(m) @ np.abs(E)
    balanced = -np.clip(-slope, down, up)
    slope = np.where(np.abs(slope - balanced) <= _ROUNDING * size, balanced, slope)
    radius = most / l1 if l1 else np.inf
    ends = np.maximum(low, -radius), np.minimum(high, radius)
    here = slope * w + l1 * np.abs(w)
    best = np.minimum(_least(slope, l1, *ends), here)
    return float((w - x) @ Q @ (w - x) + (here - best).sum())


def _least(
    slope: Float[np.ndarray, " K"],
    l1: float,
    low: Float[np.ndarray, " K"],
    high: Float[np.ndarray, " K"],
) -> Float[np.ndarray, " K"]:
    """min { slope v + l1 |v| : low <= v <= high }, which is at an end or at zero."""
    with np.errstate(invalid="ignore"):  # zero times infinity, which counts as zero
        along = [(slope + l1 * np.sign(end)) * end for end in (low, high)]
    ends = [np.where(np.isnan(values), 0.0, values) for values in along]
    inside = (low <= 0) & (high >= 0)
    return np.where(inside, np.minimum(np.minimum(*ends), 0.0), np.minimum(*ends))


def _newton(
    Q: Float[np.ndarray, "K K"],
    slope: Float[np.ndarray, " K"],
    E: Float[np.ndarray, "q K"],
    free: Bool[np.ndarray, " K"],
) -> Float[np.ndarray, " K"]:
    """The step to the minimum over the free coefficients that keeps the equalities."""
    step = np.zeros(len(slope))
    inside, right = Q[np.ix_(free, free)], slope[free]
    if not len(E):
        step[free] = solve_symmetric(inside, right)
        return step
    _, sizes, turned = np.linalg.svd(E[:, free])
    rank = int((sizes > _RANK * max(float(sizes.max(initial=0.0)), 1e-300)).sum())
    moves = turned[rank:]
    step[free] = moves.T @ solve_symmetric(moves @ inside @ moves.T, moves @ right)
    return step


def _multipliers(
    slope: Float[np.ndarray, " K"],
    E: Float[np.ndarray, "q K"],
    down: Float[np.ndarray, " K"],
    up: Float[np.ndarray, " K"],
    free: Bool[np.ndarray, " K"],
) -> Float[np.ndarray, " q"]:
    """m with which down <= -(slope + E'm) <= up, in least squares; `down` = `up` where free."""
    if not len(E):
        return np.zeros(0)
    own, right = E[:, free].T, -(slope + up)[free]
    m, _, rank, _ = np.linalg.lstsq(own, right, rcond=_RANK)
    if rank == len(E):
        return m
    held = np.flatnonzero(~free & E.any(axis=0))
    # slack variables u for those that are held: slope + E'm + u = 0
    matrix = np.zeros((len(right) + len(held), len(E) + len(held)))
    matrix[: len(right), : len(E)] = own
    matrix[len(right) :, : len(E)] = E[:, held].T
    matrix[len(right) :, len(E) :] = np.eye(len(held))
    limits = [
        np.concatenate([np.full(len(E), end), limit[held]])
        for end, limit in ((-np.inf, down), (np.inf, up))
    ]
    from scipy.optimize import lsq_linear

    solved = lsq_linear(matrix, np.concatenate([right, -slope[held]]), limits, "bvls")
    return np.asarray(solved.x)[: len(E)]


def _slopes(
    w: Float[np.ndarray, " K"],
    l1: float,
    low: Float[np.ndarray, " K"],
    high: Float[np.ndarray, " K"],
) -> tuple[Float[np.ndarray, " K"], Float[np.ndarray, " K"]]:
    """The slopes of norm and bounds to the left and to the right of w."""
    down = np.where(w <= low, -np.inf, np.where(w > 0, l1, -l1))
    up = np.where(w >= high, np.inf, np.where(w < 0, -l1, l1))
    return down, up
