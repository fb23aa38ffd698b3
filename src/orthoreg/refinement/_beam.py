"""Sets of terms by their likelihood: a beam search on normal equations."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Float

from ._integral import NormalEquations

_WIDTH = 14
_MOST_TERMS = 8
_PIVOT = 1e-5  # of a term's square, that terms before it must leave
_CANCELS = 10.0  # times that terms may be larger than their sum
_PATIENCE = 2  # sizes without a better set, after which none is expected

Support = tuple[int, ...]


def beam_search(
    equations: NormalEquations,
    allowed: Bool[np.ndarray, " K"],
    price: Float[np.ndarray, " K"],
    misfit: Callable[[float], float],
    first: Support | None = None,
    always: Support = (),
) -> list[tuple[float, Support]]:
    """Sets of terms with their scores, the lowest first: misfit(mean square) plus the price of
    each term. Sets grow by one term at a time, the best ones of each size; sets whose terms cancel
    are not in the answer. `first` is one that is scored in any case. The terms `always` are in
    each.
    """
    Q, r, yy = equations.Q, equations.r, equations.yy
    rows = max(equations.rows - equations.offsets, 1)
    scored: dict[Support, float] = {}
    start = max(yy - float(r[list(always)] @ solved(equations, always)), 0.0)
    beam: dict[Support, float] = {always: start}
    if always:
        scored[always] = misfit(start / rows) + float(price[list(always)].sum())
    best, since = misfit(start / rows), 0
    for _ in range(_MOST_TERMS):
        grown: dict[Support, float] = {}
        for support, square in beam.items():
            left, places = _with_one_more(Q, r, square, support, allowed)
            for k, value in zip(places, left, strict=True):
                grown[tuple(sorted((*support, int(k))))] = float(value)
        if not grown:
            break

        def score(support: Support, grown: dict[Support, float] = grown) -> float:
            return misfit(grown[support] / rows) + float(price[list(support)].sum())

        kept = sorted(grown, key=score)[:_WIDTH]
        beam = {support: grown[support] for support in kept}
        found = {s: score(s) for s in kept if not _cancels(equations, s)}
        scored.update(found)
        since += 1
        if min(found.values(), default=np.inf) < best:
            best, since = min(found.values()), 0
        if since >= _PATIENCE:
            break
    usable = bool(first) and bool((np.diag(Q)[list(first or ())] > 0).all())
    if first and usable and first not in scored and not _cancels(equations, first):
        square = yy - float(r[list(first)] @ solved(equations, first))
        scored[first] = misfit(max(square, 0.0) / rows) + float(price[list(first)].sum())
    return sorted((value, support) for support, value in scored.items())


def solved(equations: NormalEquations, support: Support) -> Float[np.ndarray, " k"]:
    """The coefficients of these terms."""
    chosen = list(support)
    Q, r = equations.Q[np.ix_(chosen, chosen)], equations.r[chosen]
    scale = np.sqrt(np.diag(Q))
    return np.linalg.lstsq(Q / np.outer(scale, scale), r / scale, rcond=1e-13)[0] / scale


def _with_one_more(
    Q: np.ndarray, r: np.ndarray, square: float, support: Support, allowed: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The sum of squares that each further term leaves, and which these are."""
    places = allowed & (np.diag(Q) > 0)
    places[list(support)] = False
    k = np.flatnonzero(places)
    if not support:
        return square - r[k] ** 2 / np.diag(Q)[k], k
    S = list(support)
    scale = np.sqrt(np.diag(Q)[S])
    inner = Q[np.ix_(S, S)] / np.outer(scale, scale)
    right = np.column_stack([Q[S][:, k], r[S]]) / scale[:, None]
    answer = np.linalg.lstsq(inner, right, rcond=1e-13)[0]
    pivot = np.diag(Q)[k] - np.einsum("sk,sk->k", right[:, :-1], answer[:, :-1])
    slope = r[k] - right[:, :-1].T @ answer[:, -1]
    free = pivot > _PIVOT * np.diag(Q)[k]
    gain = np.where(free, slope**2 / np.where(free, pivot, 1.0), 0.0)
    return np.maximum(square - gain, 0.0)[free], k[free]


def _cancels(equations: NormalEquations, support: Support) -> bool:
    """Whether a term is many times larger than all that is explained."""
    sizes = np.abs(solved(equations, support)) * np.sqrt(np.diag(equations.Q)[list(support)])
    return bool(sizes.max() > _CANCELS * np.sqrt(equations.yy))
