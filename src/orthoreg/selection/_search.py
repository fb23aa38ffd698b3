"""Candidate supports: all of them where they are few, a beam and three paths where they are not."""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float, Int

from ..moments import Moments
from ..solvers import elimination, growth, lasso

_MOST_EXHAUSTIVE = 3000
_BEAM = 10
_CONTENDERS = 6
_PATIENCE = 3  # sizes without a better score before the beam stops
_LASSO_STEPS = 40

Score = Callable[[Int[np.ndarray, "M k"]], tuple[np.ndarray, np.ndarray]]
"""Supports of one size to their inner and outer errors, (M x S) each."""


@final
@dataclass(frozen=True, eq=False)
class Found:
    """The best few supports of one size, best first, and their errors split by split."""

    supports: Int[np.ndarray, "M k"]
    inner: Float[np.ndarray, "M S"]
    outer: Float[np.ndarray, "M S"]
    score: Float[np.ndarray, " M"]


def search(
    score: Score,
    summary: Callable[[np.ndarray], np.ndarray],
    moments: Moments,
    terms: Int[np.ndarray, " k"],
    equation: int,
    most_terms: int,
) -> list[Found]:
    """For each number of terms, from none on, the best supports by `summary` of their outer errors.

    Sizes are searched exhaustively while there are at most 3000 supports in all. From there on
    the best of one size grow by every other term; the Lasso path, forward growth and backward
    elimination on all rows add theirs.
    """
    found: list[Found] = []
    seeds: list[np.ndarray] | None = None
    seen, best, since = 0, np.inf, 0
    for size in range(min(len(terms), most_terms) + 1):
        seen += math.comb(len(terms), size)
        if seen <= _MOST_EXHAUSTIVE:
            supports = np.array(list(itertools.combinations(terms, size)), dtype=np.int64)
            supports = supports.reshape(math.comb(len(terms), size), size)
        else:
            seeds = _paths(moments, terms, equation) if seeds is None else seeds
            supports = _grown(found[-1].supports[:_BEAM], terms, seeds)
        inner, outer = score(supports)
        value = summary(outer)
        order = np.argsort(value, kind="stable")[: max(_BEAM, _CONTENDERS)]
        found.append(Found(supports[order], inner[order], outer[order], value[order]))
        since = 0 if value[order[0]] < best else since + 1
        best = min(best, value[order[0]])
        if seen > _MOST_EXHAUSTIVE and since >= _PATIENCE:
            break
    return found


def contenders(found: list[Found]) -> list[Int[np.ndarray, " k"]]:
    """The best few supports of each size."""
    return [support for one in found for support in one.supports[:_CONTENDERS]]


def _grown(
    supports: Int[np.ndarray, "M k"], terms: Int[np.ndarray, " t"], seeds: list[np.ndarray]
) -> Int[np.ndarray, "_ k1"]:
    """Each support with one more term, and the seeds of that size."""
    size = supports.shape[1] + 1
    larger = {
        tuple(sorted((*support, term)))
        for support in supports.tolist()
        for term in terms.tolist()
        if term not in support
    }
    larger |= {tuple(seed.tolist()) for seed in seeds if len(seed) == size}
    return np.array(sorted(larger), dtype=np.int64)


def _paths(moments: Moments, terms: Int[np.ndarray, " k"], equation: int) -> list[np.ndarray]:
    """Supports along the Lasso path, forward growth and backward elimination, on all rows."""
    A, a = moments.A[np.ix_(terms, terms)], moments.a[terms, equation]
    along = []
    w = np.zeros(len(terms))
    for mu in 2 * np.abs(a).max(initial=1e-300) * np.logspace(-0.1, -5, _LASSO_STEPS):
        w = lasso(A, a, float(mu), start=w)
        along.append(terms[np.flatnonzero(w)])
    return along + growth(moments, terms, equation) + elimination(moments, terms, equation)
