"""The best two columns to add to a support at once: neither may help alone."""

from typing import NamedTuple, final

import numpy as np
from jaxtyping import Bool, Float

from ._beam import DEPENDENT, POOL, RIDGE, TEMPERATURES, Support, take_best
from ._equation import Equation

_BLOCK = 32  # columns whose pairs are compared at a time: about what a cache holds


def best_pairs(
    equation: Equation, support: Support, allowed: Bool[np.ndarray, " K"], width: int
) -> list[Support]:
    """The support with every two columns tried: the best at each temperature."""
    places = np.flatnonzero(allowed)
    beside = _left_over(equation, support.columns, places)
    price = equation.price[places]
    # total, first, second, rss, price
    pools: list[np.ndarray] = [np.zeros((0, 5)) for _ in TEMPERATURES]
    for begin in range(0, len(places), _BLOCK):
        end = min(begin + _BLOCK, len(places))
        rss = np.maximum(support.rss - _gains(beside, slice(begin, end)), 0.0)
        nats = equation.nats(rss)
        prices = support.price + price[begin:end, None] + price[:end]
        for k, temperature in enumerate(TEMPERATURES):
            total = nats / temperature + prices
            last = pools[k][-1, 0] if len(pools[k]) == POOL else np.inf
            at = np.unravel_index(np.flatnonzero(total < last), total.shape)
            found = np.column_stack([total[at], at[0] + begin, at[1], rss[at], prices[at]])
            both = np.concatenate([pools[k], found])
            pools[k] = both[np.argsort(both[:, 0], kind="stable")[:POOL]]
    kept: dict[frozenset[int], Support] = {}
    for pool in pools:

        def at_place(place: int, pool: np.ndarray = pool) -> Support:
            _, first, second, rss, price = pool[place].tolist()
            pair = (int(places[int(first)]), int(places[int(second)]))
            return Support((*support.columns, *pair), rss, price)

        take_best(equation, pool[:, 0], at_place, width, kept)
    return list(kept.values())


@final
class _Beside(NamedTuple):
    """Columns beside those of a support: their moments, their squares, and their Gram matrix as
    that of the columns themselves, less across' across."""

    moments: np.ndarray
    own: np.ndarray
    gram: np.ndarray
    across: np.ndarray


def _left_over(equation: Equation, columns: tuple[int, ...], places: np.ndarray) -> _Beside:
    whole = len(places) == len(equation)
    gram = equation.gram if whole else equation.gram[np.ix_(places, places)]
    chosen = list(columns)
    inner = equation.gram[np.ix_(chosen, chosen)] + RIDGE * np.eye(len(chosen))
    inverse = np.linalg.inv(np.linalg.cholesky(inner))
    across = inverse @ equation.gram[chosen][:, places]
    moments = equation.moments[places] - across.T @ (inverse @ equation.moments[chosen])
    return _Beside(moments, np.diag(gram) - (across**2).sum(axis=0), gram, across)


def _gains(beside: _Beside, rows: slice) -> Float[np.ndarray, "b e"]:
    """By how much each of these columns and one before it lower the squared misfit together; minus
    infinity where they depend on each other or on the support."""
    moments, own, whole, across = beside
    before = slice(rows.stop)
    gram = whole[rows, before] - across[:, rows].T @ across[:, before]
    size = np.outer(own[rows], own[before])
    det = size - gram**2
    square = np.outer(moments[rows] ** 2, own[before])
    square += np.outer(own[rows], moments[before] ** 2)
    product = np.outer(moments[rows], moments[before])
    good = np.outer(own[rows] > DEPENDENT, own[before] > DEPENDENT) & (det > DEPENDENT * size)
    good &= np.tri(*size.shape, k=rows.start - 1, dtype=bool)
    with np.errstate(all="ignore"):
        return np.where(good, (square - 2 * product * gram) / det, -np.inf)
