"""Beam search over supports on the Gram matrix, and the best pairs of columns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple, final

import numpy as np
from jaxtyping import Bool, Float, Int

from . import _limits as limits
from ._equation import Equation


@final
@dataclass(frozen=True)
class Support:
    """Columns with their squared misfit and price."""

    columns: tuple[int, ...]
    rss: float
    price: float


def beam(
    equation: Equation,
    allowed: Bool[np.ndarray, " K"],
    starts: Sequence[tuple[int, ...]] = ((),),
    *,
    depth: int,
) -> list[Support]:
    """Every support that was kept at some level, from these starts up to `depth` columns more."""
    level = all_measured(equation, starts)
    found = {frozenset(one.columns): one for one in level}
    for _ in range(depth):
        level = _next_level(equation, level, allowed)
        level = [one for one in level if frozenset(one.columns) not in found]
        if not level:
            break
        found |= {frozenset(one.columns): one for one in level}
    return list(found.values())


def exchange(
    equation: Equation,
    allowed: Bool[np.ndarray, " K"],
    supports: Sequence[Support],
) -> list[Support]:
    """The supports, and those with one or two of their columns replaced by another, for as long
    as the best of them change."""
    found = {frozenset(one.columns): one for one in supports}
    seen: set[frozenset[int]] = set()
    for _ in range(limits.EXCHANGE_ROUNDS):
        best = [one for one in best_of(equation, list(found.values()), limits.EXCHANGED_SUPPORTS)
                if frozenset(one.columns) not in seen]  # fmt: skip
        if not best:
            break
        seen |= {frozenset(one.columns) for one in best}
        smaller = {
            frozenset(kept): kept
            for one in best
            for out in (1, 2)
            for kept in combinations(one.columns, max(len(one.columns) - out, 0))
        }
        parents = all_measured(equation, list(smaller.values()))
        if parents:
            for one in _next_level(equation, parents, allowed):
                found.setdefault(frozenset(one.columns), one)
    return list(found.values())


def best_of(equation: Equation, supports: Sequence[Support], count: int) -> list[Support]:
    """The best at each temperature, at most `count` for each, one of a structure."""
    chosen: dict[frozenset[int], Support] = {}
    nats = equation.nats(np.array([one.rss for one in supports]))
    price = np.array([one.price for one in supports])
    for temperature in limits.TEMPERATURES:
        taken: set[tuple[int, ...]] = set()
        for place in np.argsort(nats / temperature + price):
            one = supports[int(place)]
            structure = _structure(equation, one.columns)
            if structure in taken:
                continue
            taken.add(structure)
            chosen.setdefault(frozenset(one.columns), one)
            if len(taken) == count:
                break
    return list(chosen.values())


def _next_level(
    equation: Equation, parents: Sequence[Support], allowed: np.ndarray
) -> list[Support]:
    places = np.flatnonzero(allowed)
    gains = _gains(equation, [one.columns for one in parents], places)
    rss = np.maximum(np.array([[one.rss] for one in parents]) - gains, 0.0)
    price = np.array([[one.price] for one in parents]) + equation.price[places]
    nats = equation.nats(np.where(np.isfinite(rss), rss, 1e300))
    kept: dict[frozenset[int], Support] = {}
    for temperature in limits.TEMPERATURES:
        total = np.where(gains > 0, nats / temperature + price, np.inf).ravel()

        def at(place: int) -> Support:
            parent, k = divmod(place, len(places))
            columns = (*parents[parent].columns, int(places[k]))
            return Support(columns, float(rss[parent, k]), float(price[parent, k]))

        take_best(equation, total, at, limits.BEAM_WIDTH, kept)
    return list(kept.values())


def take_best(
    equation: Equation,
    total: Float[np.ndarray, " L"],
    at: Callable[[int], Support],
    width: int,
    kept: dict[frozenset[int], Support],
) -> None:
    """Adds to `kept` the supports `at` the lowest totals, at most two of one structure."""
    count = min(limits.POOL_SIZE, len(total))
    pool = np.argpartition(total, count - 1)[:count] if count else np.zeros(0, dtype=int)
    taken, variants = 0, dict[tuple[int, ...], int]()
    for place in pool[np.argsort(total[pool])]:
        if taken == width or not np.isfinite(total[place]):
            break
        one = at(int(place))
        structure = _structure(equation, one.columns)
        if variants.get(structure, 0) == limits.MAX_VARIANTS:
            continue
        variants[structure] = variants.get(structure, 0) + 1
        taken += 1
        kept.setdefault(frozenset(one.columns), one)


def _structure(equation: Equation, columns: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(equation.shape[list(columns)].tolist()))


def _gains(
    equation: Equation, supports: Sequence[tuple[int, ...]], places: Int[np.ndarray, " L"]
) -> Float[np.ndarray, "P L"]:
    """By how much each of these further columns lowers the squared misfit of each support; minus
    infinity where it depends on those that are there."""
    gram, moments = equation.gram[:, places], equation.moments[places]
    result = np.empty((len(supports), len(places)))
    sizes = np.array([len(one) for one in supports])
    for size in np.unique(sizes):
        same = np.flatnonzero(sizes == size)
        if size == 0:
            result[same] = moments**2
            continue
        chosen = np.array([supports[p] for p in same.tolist()])
        inverse = np.linalg.inv(np.linalg.cholesky(_gram(equation, chosen)))
        across = inverse @ gram[chosen]
        inner = inverse @ equation.moments[chosen][:, :, None]
        left = 1.0 - (across**2).sum(axis=1)
        correlation = moments - (np.matrix_transpose(inner) @ across)[:, 0]
        sound = left > limits.MIN_NEW_NORM
        result[same] = np.where(sound, correlation**2 / np.where(sound, left, 1.0), -np.inf)
    return result


def added_gains(equation: Equation, columns: tuple[int, ...]) -> Float[np.ndarray, " K"]:
    """By how much each further column lowers the squared misfit of these."""
    return _gains(equation, [columns], np.arange(len(equation)))[0]


def measured(equation: Equation, columns: tuple[int, ...]) -> Support:
    """What these columns leave and cost."""
    return all_measured(equation, [columns])[0]


def all_measured(equation: Equation, supports: Sequence[tuple[int, ...]]) -> list[Support]:
    """What each of these sets of columns leaves and costs; sets of one size are solved at once."""
    found = {place: Support((), equation.square, 0.0) for place in range(len(supports))}
    sizes = np.array([len(one) for one in supports])
    for size in np.unique(sizes[sizes > 0]):
        places = np.flatnonzero(sizes == size).tolist()
        chosen = np.array([supports[p] for p in places])
        right = equation.moments[chosen]
        w = np.linalg.solve(_gram(equation, chosen), right[:, :, None])[:, :, 0]
        rss = np.maximum(equation.square - np.vecdot(right, w), 0.0)
        price = equation.price[chosen].sum(axis=1)
        for p, left, cost in zip(places, rss.tolist(), price.tolist(), strict=True):
            found[p] = Support(tuple(supports[p]), left, cost)
    return list(found.values())


def _gram(equation: Equation, chosen: Int[np.ndarray, "P s"]) -> Float[np.ndarray, "P s s"]:
    """The Gram matrix of each of these sets of columns."""
    size = chosen.shape[1]
    return equation.gram[chosen[:, :, None], chosen[:, None, :]] + limits.RIDGE * np.eye(size)


_BLOCK = 32  # columns whose pairs are compared at a time: about what a cache holds


def best_pairs(
    equation: Equation, support: Support, allowed: Bool[np.ndarray, " K"], width: int
) -> list[Support]:
    """The support with every two columns tried: the best at each temperature."""
    places = np.flatnonzero(allowed)
    beside = _left_over(equation, support.columns, places)
    price = equation.price[places]
    # total, first, second, rss, price
    pools: list[np.ndarray] = [np.zeros((0, 5)) for _ in limits.TEMPERATURES]
    for begin in range(0, len(places), _BLOCK):
        end = min(begin + _BLOCK, len(places))
        rss = np.maximum(support.rss - _pair_gains(beside, slice(begin, end)), 0.0)
        nats = equation.nats(rss)
        prices = support.price + price[begin:end, None] + price[:end]
        for k, temperature in enumerate(limits.TEMPERATURES):
            total = nats / temperature + prices
            last = pools[k][-1, 0] if len(pools[k]) == limits.POOL_SIZE else np.inf
            at = np.unravel_index(np.flatnonzero(total < last), total.shape)
            found = np.column_stack([total[at], at[0] + begin, at[1], rss[at], prices[at]])
            both = np.concatenate([pools[k], found])
            pools[k] = both[np.argsort(both[:, 0], kind="stable")[: limits.POOL_SIZE]]
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
    inner = equation.gram[np.ix_(chosen, chosen)] + limits.RIDGE * np.eye(len(chosen))
    inverse = np.linalg.inv(np.linalg.cholesky(inner))
    across = inverse @ equation.gram[chosen][:, places]
    moments = equation.moments[places] - across.T @ (inverse @ equation.moments[chosen])
    return _Beside(moments, np.diag(gram) - (across**2).sum(axis=0), gram, across)


def _pair_gains(beside: _Beside, rows: slice) -> Float[np.ndarray, "b e"]:
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
    good = np.outer(own[rows] > limits.MIN_NEW_NORM, own[before] > limits.MIN_NEW_NORM) & (
        det > limits.MIN_NEW_NORM * size
    )
    good &= np.tri(*size.shape, k=rows.start - 1, dtype=bool)
    with np.errstate(all="ignore"):
        return np.where(good, (square - 2 * product * gram) / det, -np.inf)
