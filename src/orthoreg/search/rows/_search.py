"""Candidate supports: all of them where they are few, a beam and three paths where they are not."""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float, Int

from ...solving import Moments, QuadraticProblem, independent_terms
from . import _limits as limits
from ._splits import Splits


@final
@dataclass(frozen=True, eq=False)
class Candidates:
    """The best few supports of one size, best first, and their errors split by split."""

    supports: Int[np.ndarray, "M k"]
    inner: Float[np.ndarray, "M S"]
    outer: Float[np.ndarray, "M S"]


def search(
    parts: Splits,
    score: Callable[[np.ndarray], np.ndarray],
    moments: Moments,
    terms: Int[np.ndarray, " k"],
    equation: int,
    most_terms: int,
    always: Int[np.ndarray, " q"] | None = None,
) -> list[Candidates]:
    """For each number of terms, from none on, the best supports by `score` of their outer errors.
    The terms `always` are in each of them, and are not counted.

    Sizes are searched exhaustively while there are at most 3000 supports in all. From there on
    the best of one size grow by every other term; the Lasso path, forward growth and backward
    elimination on all rows add theirs. Of more than 64 terms only a shortlist is looked at.
    """
    terms = shortlist(moments, terms, equation)
    found: list[Candidates] = []
    seeds: list[np.ndarray] | None = None
    seen, best, since = 0, np.inf, 0
    kept = max(limits.BEAM_WIDTH, limits.CONTENDERS)
    most = min(len(terms), most_terms)
    always = np.zeros(0, dtype=np.int64) if always is None else always
    for size in range(most + 1):
        seen += math.comb(len(terms), size)
        if seen <= limits.MAX_EXHAUSTIVE:
            supports = np.array(list(itertools.combinations(terms, size)), dtype=np.int64)
            supports = supports.reshape(math.comb(len(terms), size), size)
            supports = _joined(supports, always)
        else:
            seeds = _paths(moments, terms, equation, most, always) if seeds is None else seeds
            supports = _grown(
                parts, score, found[-1].supports[: limits.BEAM_WIDTH], terms, equation
            )
            own = {tuple(seed.tolist()) for seed in seeds if len(seed) == size + len(always)}
            both = own | {tuple(support) for support in supports.tolist()}
            supports = np.array(sorted(both), dtype=np.int64)
        inner, outer = parts.errors(supports, equation)
        value = score(outer)
        order = np.argsort(value, kind="stable")[:kept]
        found.append(Candidates(supports[order], inner[order], outer[order]))
        since = 0 if value[order[0]] < best else since + 1
        best = min(best, value[order[0]])
        if seen > limits.MAX_EXHAUSTIVE and since >= limits.BEAM_PATIENCE:
            break
    return found


def shortlist(
    moments: Moments, terms: Int[np.ndarray, " k"], equation: int
) -> Int[np.ndarray, " s"]:
    """The first 64 terms that forward growth takes up; all where they are no more.

    By a Cholesky factor that grows with them, so that it costs 64 products of the Gram matrix's
    rows and looks at no pairs.
    """
    if len(terms) <= limits.SHORTLIST_TERMS:
        return terms
    slope, left = moments.a[terms, equation], moments.total.diagonal()[terms] / moments.count
    smallest = 1e-12 * left
    rows = np.zeros((limits.SHORTLIST_TERMS, len(terms)))
    chosen: list[int] = []
    for step, row in enumerate(rows):
        gain = np.where(left > smallest, slope**2 / np.maximum(left, 1e-300), 0.0)
        gain[chosen] = 0.0
        k = int(np.argmax(gain))
        if gain[k] <= 0:
            break
        products = moments.total[terms[k], terms] / moments.count
        row[:] = (products - rows[:step, k] @ rows[:step]) / np.sqrt(left[k])
        slope = slope - row * (slope[k] / row[k])
        left = left - row * row
        chosen.append(k)
    return np.sort(terms[chosen])


def _joined(
    supports: Int[np.ndarray, "M k"], always: Int[np.ndarray, " q"]
) -> Int[np.ndarray, "M kq"]:
    """The supports with these terms in each."""
    if not len(always):
        return supports
    return np.sort(np.hstack([supports, np.tile(always, (len(supports), 1))]), axis=1)


def contenders(found: list[Candidates]) -> list[Int[np.ndarray, " k"]]:
    """The best few supports of each size."""
    return [support for one in found for support in one.supports[: limits.CONTENDERS]]


def _grown(
    parts: Splits,
    score: Callable[[np.ndarray], np.ndarray],
    supports: Int[np.ndarray, "M k"],
    terms: Int[np.ndarray, " t"],
    equation: int,
) -> Int[np.ndarray, "_ k1"]:
    """The best of all supports that have one term more than one of these."""
    values: dict[tuple[int, ...], float] = {}
    for support in supports:
        rest = np.setdiff1d(terms, support)
        scores = score(parts.grown_errors(support, rest, equation))
        for place in np.argsort(scores, kind="stable")[: limits.MAX_GROWN_SUPPORTS]:
            larger = tuple(sorted((*support.tolist(), int(rest[place]))))
            values[larger] = float(scores[place])
    best = sorted(values, key=values.__getitem__)[: limits.MAX_GROWN_SUPPORTS]
    return np.array(best, dtype=np.int64).reshape(len(best), supports.shape[1] + 1)


def _paths(
    moments: Moments,
    terms: Int[np.ndarray, " k"],
    equation: int,
    most: int,
    always: Int[np.ndarray, " q"],
) -> list[np.ndarray]:
    """Supports along the Lasso path, forward growth and backward elimination, on all rows, of what
    the terms `always` leave."""
    if len(always):
        moments = moments.without(always)
    terms = terms[independent_terms(moments.A[np.ix_(terms, terms)])[0]]
    A, a = moments.A[np.ix_(terms, terms)], moments.a[terms, equation]
    along = []
    w = np.zeros(len(terms))
    for mu in 2 * np.abs(a).max(initial=1e-300) * np.logspace(-0.1, -5, limits.SEARCH_LASSO_STEPS):
        w = QuadraticProblem(A, a, float(mu)).solve(w)
        along.append(terms[np.flatnonzero(w)])
        if np.count_nonzero(w) > 3 * most:  # it will hardly come back to sets that are looked for
            break
    grown = growth(moments, terms, equation, most)
    found = along + grown + elimination(moments, terms, equation)
    return [np.sort(np.concatenate([one, always])) for one in found]


def elimination(
    moments: Moments, terms: Int[np.ndarray, " k"], equation: int
) -> list[Int[np.ndarray, " _"]]:
    """All terms, then one fewer each time, down to none.

    Least squares without term j has a squared error that is larger by w_j^2 / (A^-1)_jj. The
    inverse without a term is that with it less a matrix of rank one.
    """
    path = [terms]
    inverse = np.zeros((0, 0))
    while len(terms):
        if (len(path) - 1) % limits.INVERSE_REFRESH == 0:
            inverse = np.linalg.pinv(moments.A[np.ix_(terms, terms)], hermitian=True)
        w = inverse @ moments.a[terms, equation]
        out = int(np.argmin(w**2 / np.maximum(np.diag(inverse), 1e-300)))
        column = inverse[:, out] / np.sqrt(max(inverse[out, out], 1e-300))
        inverse = np.delete(np.delete(inverse - np.outer(column, column), out, 0), out, 1)
        terms = np.delete(terms, out)
        path.append(terms)
    return path


def growth(
    moments: Moments, terms: Int[np.ndarray, " k"], equation: int, most: int
) -> list[Int[np.ndarray, " _"]]:
    """No term, then one more each time, the one that lowers the squared error most."""
    chosen = np.zeros(0, dtype=np.int64)
    path: list[np.ndarray] = []
    A, a = moments.A, moments.a[:, equation]
    while len(chosen) < min(len(terms), most):
        rest = np.setdiff1d(terms, chosen)
        inner = np.linalg.pinv(A[np.ix_(chosen, chosen)], hermitian=True) @ A[np.ix_(chosen, rest)]
        slope = a[rest] - inner.T @ a[chosen]
        size = A[rest, rest] - np.einsum("kr,kr->r", A[np.ix_(chosen, rest)], inner)
        gain = np.where(size > 1e-12 * A[rest, rest], slope**2 / np.maximum(size, 1e-300), 0.0)
        chosen = np.sort(np.append(chosen, rest[np.argmax(gain)]))
        path.append(chosen)
    return path
