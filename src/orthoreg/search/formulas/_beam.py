"""Beam search over supports on the Gram matrix, and a search for the best pairs of columns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple, final

import numpy as np
from jaxtyping import Bool, Float, Int

from . import _limits as limits
from ._equation import DictionaryProblem


@final
@dataclass(frozen=True)
class Support:
    """A set of columns with its squared misfit and its price."""

    columns: tuple[int, ...]
    rss: float
    price: float


def beam(
    equation: DictionaryProblem,
    allowed: Bool[np.ndarray, " K"],
    starts: Sequence[tuple[int, ...]] = ((),),
    *,
    depth: int,
) -> list[Support]:
    """Return the supports kept at all levels, from `starts` up to `depth` added columns."""
    level = supports_of(equation, starts)
    supports = {frozenset(support.columns): support for support in level}
    for _ in range(depth):
        level = _next_level(equation, level, allowed)
        level = [support for support in level if frozenset(support.columns) not in supports]
        if not level:
            break
        supports |= {frozenset(support.columns): support for support in level}
    return list(supports.values())


def exchange(
    equation: DictionaryProblem,
    allowed: Bool[np.ndarray, " K"],
    supports: Sequence[Support],
) -> list[Support]:
    """Return the supports, and their variants with one or two columns replaced.

    Repeat until the best supports no longer change.
    """
    candidates = {frozenset(support.columns): support for support in supports}
    seen: set[frozenset[int]] = set()
    for _ in range(limits.EXCHANGE_ROUNDS):
        best = best_of(equation, list(candidates.values()), limits.EXCHANGED_SUPPORTS)
        best = [support for support in best if frozenset(support.columns) not in seen]
        if not best:
            break
        seen |= {frozenset(support.columns) for support in best}
        smaller = {
            frozenset(columns): columns
            for support in best
            for count in (1, 2)
            for columns in combinations(support.columns, max(len(support.columns) - count, 0))
        }
        parents = supports_of(equation, list(smaller.values()))
        if parents:
            for support in _next_level(equation, parents, allowed):
                candidates.setdefault(frozenset(support.columns), support)
    return list(candidates.values())


def best_of(equation: DictionaryProblem, supports: Sequence[Support], count: int) -> list[Support]:
    """Return the best supports at each temperature, at most `count` with different structures."""
    chosen: dict[frozenset[int], Support] = {}
    nats = equation.nats(np.array([support.rss for support in supports]))
    price = np.array([support.price for support in supports])
    for temperature in limits.TEMPERATURES:
        structures: set[tuple[int, ...]] = set()
        for index in np.argsort(nats / temperature + price):
            support = supports[int(index)]
            structure = _structure(equation, support.columns)
            if structure in structures:
                continue
            structures.add(structure)
            chosen.setdefault(frozenset(support.columns), support)
            if len(structures) == count:
                break
    return list(chosen.values())


def _next_level(
    equation: DictionaryProblem, parents: Sequence[Support], allowed: np.ndarray
) -> list[Support]:
    """Return the best supports with one column more than their parent."""
    columns = np.flatnonzero(allowed)
    gains = _gains(equation, [parent.columns for parent in parents], columns)
    rss = np.maximum(np.array([[parent.rss] for parent in parents]) - gains, 0.0)
    price = np.array([[parent.price] for parent in parents]) + equation.price[columns]
    nats = equation.nats(np.where(np.isfinite(rss), rss, 1e300))
    supports: dict[frozenset[int], Support] = {}
    for temperature in limits.TEMPERATURES:
        total = np.where(gains > 0, nats / temperature + price, np.inf).ravel()

        def support_at(index: int) -> Support:
            i, k = divmod(index, len(columns))
            larger = (*parents[i].columns, int(columns[k]))
            return Support(larger, float(rss[i, k]), float(price[i, k]))

        take_best(equation, total, support_at, limits.BEAM_WIDTH, supports)
    return list(supports.values())


def take_best(
    equation: DictionaryProblem,
    total: Float[np.ndarray, " L"],
    support_at: Callable[[int], Support],
    width: int,
    supports: dict[frozenset[int], Support],
) -> None:
    """Add the supports with the lowest totals to `supports`.

    At most `width` supports are added, and at most `MAX_VARIANTS` per structure.
    """
    size = min(limits.POOL_SIZE, len(total))
    pool = np.argpartition(total, size - 1)[:size] if size else np.zeros(0, dtype=int)
    count, variants = 0, dict[tuple[int, ...], int]()
    for index in pool[np.argsort(total[pool])]:
        if count == width or not np.isfinite(total[index]):
            break
        support = support_at(int(index))
        structure = _structure(equation, support.columns)
        if variants.get(structure, 0) == limits.MAX_VARIANTS:
            continue
        variants[structure] = variants.get(structure, 0) + 1
        count += 1
        supports.setdefault(frozenset(support.columns), support)


def _structure(equation: DictionaryProblem, columns: Sequence[int]) -> tuple[int, ...]:
    """Return the terms of a support without their parameter values."""
    return tuple(sorted(equation.term_of_column[list(columns)].tolist()))


def _gains(
    equation: DictionaryProblem, supports: Sequence[tuple[int, ...]], further: Int[np.ndarray, " L"]
) -> Float[np.ndarray, "P L"]:
    """Return the decrease of each support's squared misfit by each further column.

    It is minus infinity if the column depends on the support.
    """
    gram, moments = equation.gram[:, further], equation.moments[further]
    result = np.empty((len(supports), len(further)))
    sizes = np.array([len(columns) for columns in supports])
    for size in np.unique(sizes):
        same = np.flatnonzero(sizes == size)
        if size == 0:
            result[same] = moments**2
            continue
        chosen = np.array([supports[p] for p in same.tolist()])
        inverse = np.linalg.inv(np.linalg.cholesky(_gram(equation, chosen)))
        across = inverse @ gram[chosen]
        inner = inverse @ equation.moments[chosen][:, :, None]
        remaining = 1.0 - (across**2).sum(axis=1)
        correlation = moments - (np.matrix_transpose(inner) @ across)[:, 0]
        is_independent = remaining > limits.MIN_NEW_NORM
        result[same] = np.where(
            is_independent, correlation**2 / np.where(is_independent, remaining, 1.0), -np.inf
        )
    return result


def added_gains(equation: DictionaryProblem, columns: tuple[int, ...]) -> Float[np.ndarray, " K"]:
    """Return the decrease of a support's squared misfit by each further column."""
    return _gains(equation, [columns], np.arange(len(equation)))[0]


def support_of(equation: DictionaryProblem, columns: tuple[int, ...]) -> Support:
    """Return a set of columns as a support with misfit and price."""
    return supports_of(equation, [columns])[0]


def supports_of(equation: DictionaryProblem, supports: Sequence[tuple[int, ...]]) -> list[Support]:
    """Return sets of columns as supports. Sets of equal size are solved together."""
    result = {index: Support((), equation.square, 0.0) for index in range(len(supports))}
    sizes = np.array([len(columns) for columns in supports])
    for size in np.unique(sizes[sizes > 0]):
        indices = np.flatnonzero(sizes == size).tolist()
        chosen = np.array([supports[p] for p in indices])
        right = equation.moments[chosen]
        w = np.linalg.solve(_gram(equation, chosen), right[:, :, None])[:, :, 0]
        rss = np.maximum(equation.square - np.vecdot(right, w), 0.0)
        price = equation.price[chosen].sum(axis=1)
        for p, misfit, cost in zip(indices, rss.tolist(), price.tolist(), strict=True):
            result[p] = Support(tuple(supports[p]), misfit, cost)
    return list(result.values())


def _gram(
    equation: DictionaryProblem, chosen: Int[np.ndarray, "P s"]
) -> Float[np.ndarray, "P s s"]:
    """Return the Gram matrix of each set of columns."""
    size = chosen.shape[1]
    return equation.gram[
        chosen[:, :, None], chosen[:, None, :]
    ] + limits.DIAGONAL_ROUNDING * np.eye(size)


def best_pairs(
    equation: DictionaryProblem, support: Support, allowed: Bool[np.ndarray, " K"], width: int
) -> list[Support]:
    """Return supports with the best pairs of columns added, at each temperature.

    Neither column needs to improve the fit on its own.
    """
    columns = np.flatnonzero(allowed)
    remaining = _left_over(equation, support.columns, columns)
    price = equation.price[columns]
    # columns of a pool: total, first, second, rss, price
    pools: list[np.ndarray] = [np.zeros((0, 5)) for _ in limits.TEMPERATURES]
    for begin in range(0, len(columns), limits.PAIR_BLOCK):
        end = min(begin + limits.PAIR_BLOCK, len(columns))
        rss = np.maximum(support.rss - _pair_gains(remaining, slice(begin, end)), 0.0)
        nats = equation.nats(rss)
        prices = support.price + price[begin:end, None] + price[:end]
        for k, temperature in enumerate(limits.TEMPERATURES):
            total = nats / temperature + prices
            limit = pools[k][-1, 0] if len(pools[k]) == limits.POOL_SIZE else np.inf
            at = np.unravel_index(np.flatnonzero(total < limit), total.shape)
            entries = np.column_stack([total[at], at[0] + begin, at[1], rss[at], prices[at]])
            merged = np.concatenate([pools[k], entries])
            pools[k] = merged[np.argsort(merged[:, 0], kind="stable")[: limits.POOL_SIZE]]
    supports: dict[frozenset[int], Support] = {}
    for pool in pools:

        def support_at(index: int, pool: np.ndarray = pool) -> Support:
            _, first, second, rss, price = pool[index].tolist()
            pair = (int(columns[int(first)]), int(columns[int(second)]))
            return Support((*support.columns, *pair), rss, price)

        take_best(equation, pool[:, 0], support_at, width, supports)
    return list(supports.values())


@final
class _Beside(NamedTuple):
    """Columns orthogonalized to a support: their moments and squared norms.

    Two matrices give their Gram matrix as gram - across' across.
    """

    moments: np.ndarray
    own: np.ndarray
    gram: np.ndarray
    across: np.ndarray


def _left_over(
    equation: DictionaryProblem, columns: tuple[int, ...], further: np.ndarray
) -> _Beside:
    """Return further columns after their projection on a support is removed."""
    is_complete = len(further) == len(equation)
    gram = equation.gram if is_complete else equation.gram[np.ix_(further, further)]
    chosen = list(columns)
    inner = equation.gram[np.ix_(chosen, chosen)] + limits.DIAGONAL_ROUNDING * np.eye(len(chosen))
    inverse = np.linalg.inv(np.linalg.cholesky(inner))
    across = inverse @ equation.gram[chosen][:, further]
    moments = equation.moments[further] - across.T @ (inverse @ equation.moments[chosen])
    return _Beside(moments, np.diag(gram) - (across**2).sum(axis=0), gram, across)


def _pair_gains(remaining: _Beside, rows: slice) -> Float[np.ndarray, "b e"]:
    """Return the decrease of the squared misfit by pairs of a column in `rows` and an earlier
    column.

    It is minus infinity for dependent columns.
    """
    moments, squares, all_gram, across = remaining
    earlier = slice(rows.stop)
    gram = all_gram[rows, earlier] - across[:, rows].T @ across[:, earlier]
    size = np.outer(squares[rows], squares[earlier])
    det = size - gram**2
    square = np.outer(moments[rows] ** 2, squares[earlier])
    square += np.outer(squares[rows], moments[earlier] ** 2)
    product = np.outer(moments[rows], moments[earlier])
    is_independent = np.outer(
        squares[rows] > limits.MIN_NEW_NORM, squares[earlier] > limits.MIN_NEW_NORM
    ) & (det > limits.MIN_NEW_NORM * size)
    is_independent &= np.tri(*size.shape, k=rows.start - 1, dtype=bool)
    with np.errstate(all="ignore"):
        return np.where(is_independent, (square - 2 * product * gram) / det, -np.inf)
