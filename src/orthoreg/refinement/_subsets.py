"""Sets of terms with the lowest score under a quadratic sum of squares: a local search."""

from typing import NamedTuple, final

import numpy as np
from jaxtyping import Bool, Float

from ._linearization import Quadratic

PIVOT = 1e-6
"""Share of a term's square that the terms of a set must leave, or it is taken as dependent."""
_ROUNDING = 1e-12  # of the largest eigenvalue: directions that are rounding
MAX_MOVES = 60
"""Of one search. Each move lowers the score, so the search ends without it as well."""

Mask = Bool[np.ndarray, " P"]


@final
class Neighbours(NamedTuple):
    """A set, its RSS and coefficients, and the RSS with one term added (P,), removed (P,) or
    exchanged (P, P: row removed, column added); infinite where that is not possible."""

    rss: float
    coefficients: np.ndarray
    added: np.ndarray
    removed: np.ndarray
    exchanged: np.ndarray


def neighbours(quadratic: Quadratic, support: Mask, candidates: Mask, always: Mask) -> Neighbours:
    """All sets that differ from `support` by one added, removed or exchanged term."""
    H, q = quadratic.H, quadratic.q
    scale = np.sqrt(np.maximum(np.diag(H), 1e-300))
    H, q = H / np.outer(scale, scale), q / scale
    size = len(q)
    inside = np.flatnonzero(support)
    outside = np.flatnonzero(candidates & ~support & (np.diag(quadratic.H) > 0))
    inverse = _inverse(H[np.ix_(inside, inside)])
    w = inverse @ q[inside]
    rss = quadratic.square - float(q[inside] @ w)
    # what terms outside have beyond those inside: slope of the RSS, and square that is left
    cross = H[np.ix_(outside, inside)]
    reach = cross @ inverse
    slope, pivot = q[outside] - cross @ w, 1 - np.sum(reach * cross, axis=1)
    added, removed = np.full(size, np.inf), np.full(size, np.inf)
    added[outside] = rss - _gains(slope, pivot)
    # without term j of the set, by a rank-one change of the inverse
    free = np.flatnonzero(~always[inside])
    out, diagonal = inside[free], np.maximum(np.diag(inverse)[free], 1e-12)
    removed[out] = rss + w[free] ** 2 / diagonal
    slope = slope + (w[free] / diagonal)[:, None] * reach.T[free]
    pivot = pivot + reach.T[free] ** 2 / diagonal[:, None]
    exchanged = np.full((size, size), np.inf)
    exchanged[np.ix_(out, outside)] = removed[out][:, None] - _gains(slope, pivot)
    coefficients = np.zeros(size)
    coefficients[inside] = w / scale[inside]
    return Neighbours(rss, coefficients, added, removed, exchanged)


def descend(
    quadratic: Quadratic,
    support: Mask,
    candidates: Mask,
    always: Mask,
    price: Float[np.ndarray, " P"],
    temperature: float,
) -> tuple[float, Mask, Neighbours]:
    """The set from which no added, removed or exchanged term leads to a lower score,
    RSS / (2 temperature) plus the price of each term."""
    support = support | always
    near = neighbours(quadratic, support, candidates, always)
    for _ in range(MAX_MOVES):
        gain, move = _best_move(near, price, temperature)
        if not gain > 1e-9:
            break
        support = support ^ np.isin(np.arange(len(support)), move)
        near = neighbours(quadratic, support, candidates, always)
    score = near.rss / (2 * temperature) + float(price[support].sum())
    return score, support, near


def scores_nearby(
    near: Neighbours, support: Mask, price: Float[np.ndarray, " P"], temperature: float
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """Scores of a set and of those with one term added, removed and exchanged."""
    own = float(price[support].sum())
    return (
        near.rss / (2 * temperature) + own,
        near.added / (2 * temperature) + own + price,
        near.removed / (2 * temperature) + own - price,
        near.exchanged / (2 * temperature) + own - price[:, None] + price,
    )


def _best_move(
    near: Neighbours, price: Float[np.ndarray, " P"], temperature: float
) -> tuple[float, list[int]]:
    """By how much the best move lowers the score, and the terms that it toggles."""
    gains = (near.rss - near.added) / (2 * temperature) - price
    losses = (near.rss - near.removed) / (2 * temperature) + price
    swaps = (near.rss - near.exchanged) / (2 * temperature) + price[:, None] - price
    best = [
        (float(gains.max()), [int(gains.argmax())]),
        (float(losses.max()), [int(losses.argmax())]),
        (float(swaps.max()), [int(i) for i in np.unravel_index(swaps.argmax(), swaps.shape)]),
    ]
    return max(best, key=lambda item: item[0])


def _gains(slope: np.ndarray, pivot: np.ndarray) -> np.ndarray:
    """By how much each further term lowers the RSS; not at all if it depends on the others."""
    free = pivot > PIVOT
    return np.where(free, slope**2 / np.where(free, pivot, 1.0), 0.0)


def _inverse(H: np.ndarray) -> np.ndarray:
    """The inverse of a correlation matrix; directions that are rounding stay at zero."""
    values, axes = np.linalg.eigh(H)
    usable = values > _ROUNDING * values.max(initial=0.0)
    return (axes[:, usable] / values[usable]) @ axes[:, usable].T
