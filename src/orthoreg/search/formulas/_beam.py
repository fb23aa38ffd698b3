"""Beam search over supports on the Gram matrix."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import final

import numpy as np
from jaxtyping import Bool, Float, Int

from ._equation import Equation

TEMPERATURES = (1.0, 4.0, 16.0)
"""By which the misfit is divided: a simple truth loses against better fits at the first only."""
_WIDTH = 10  # supports kept at each temperature
_EXCHANGED = 4  # of these, whose columns are replaced
_ROUNDS = 4
_VARIANTS = 2  # of one structure, with other values of its parameters
POOL = 60
"""Supports of a level among which the best are sought, one of a structure."""
RIDGE = 1e-13
DEPENDENT = 1e-9
"""Of a column's squared norm, that must be left beside the others."""


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
    for _ in range(_ROUNDS):
        best = [one for one in best_of(equation, list(found.values()), _EXCHANGED)
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
    for temperature in TEMPERATURES:
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
    for temperature in TEMPERATURES:
        total = np.where(gains > 0, nats / temperature + price, np.inf).ravel()

        def at(place: int) -> Support:
            parent, k = divmod(place, len(places))
            columns = (*parents[parent].columns, int(places[k]))
            return Support(columns, float(rss[parent, k]), float(price[parent, k]))

        take_best(equation, total, at, _WIDTH, kept)
    return list(kept.values())


def take_best(
    equation: Equation,
    total: Float[np.ndarray, " L"],
    at: Callable[[int], Support],
    width: int,
    kept: dict[frozenset[int], Support],
) -> None:
    """Adds to `kept` the supports `at` the lowest totals, at most two of one structure."""
    count = min(POOL, len(total))
    pool = np.argpartition(total, count - 1)[:count] if count else np.zeros(0, dtype=int)
    taken, variants = 0, dict[tuple[int, ...], int]()
    for place in pool[np.argsort(total[pool])]:
        if taken == width or not np.isfinite(total[place]):
            break
        one = at(int(place))
        structure = _structure(equation, one.columns)
        if variants.get(structure, 0) == _VARIANTS:
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
        sound = left > DEPENDENT
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
    return equation.gram[chosen[:, :, None], chosen[:, None, :]] + RIDGE * np.eye(size)
