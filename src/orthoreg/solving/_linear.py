"""Symmetric positive semi-definite systems of a few hundred unknowns; libraries whose terms depend
on each other on the data, and what is done about it.
"""

from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import lapack, solve_triangular

_FULL_RANK = 1e-7  # least pivot of the Cholesky factor, relative to the largest entry's root
_CUTOFF = 1e-13  # singular values below this share of the largest count as zero

_TOLERANCE = 1e-12
_ROUNDING = 4 * np.finfo(float).eps


def solve_symmetric(
    Q: Float[np.ndarray, "K K"], r: Float[np.ndarray, " K"]
) -> Float[np.ndarray, " K"]:
    """Q^+ r: by Cholesky where Q has full rank, else the solution of least norm.

    LAPACK directly: SciPy's `cho_solve` and `lstsq` cost five times more in checks than the
    systems here cost to solve, and one fit solves thousands of them.
    """
    if not len(r):
        return np.zeros(0)
    factor, solution, failed = lapack.dposv(Q, r)  # type: ignore[attr-defined]
    if not failed and factor.diagonal().min() > _FULL_RANK * np.sqrt(Q.diagonal().max()):
        return solution
    return np.linalg.lstsq(Q, r, rcond=_CUTOFF)[0]


@final
@dataclass(frozen=True)
class Dependence:
    """On the data, term `term` equals the sum of `weights` times the terms `others`."""

    term: int
    others: tuple[int, ...]
    weights: tuple[float, ...]

    def of_library(self, terms: Int[np.ndarray, " k"]) -> "Dependence":
        """The same, with numbers among `terms` replaced by numbers among the whole library."""
        others = tuple(int(terms[k]) for k in self.others)
        return Dependence(int(terms[self.term]), others, self.weights)


def independent_terms(
    A: Float[np.ndarray, "K K"],
) -> tuple[Int[np.ndarray, " k"], list[Dependence]]:
    """Terms to keep, and the others as combinations of them.

    The convention: terms are taken in the order of the library, and one that earlier terms
    already span (to a squared relative distance of 1e-12, or what rounding hides) is left out.
    It gets the coefficient zero, and simple terms win over complicated ones.
    """
    scale = np.sqrt(np.diag(A))
    nonzero = scale > 0
    unit = np.where(nonzero, scale, 1.0)
    C = A / np.outer(unit, unit)
    kept: list[int] = []
    factor = np.zeros_like(C)  # Cholesky factor of C on the kept terms, grown row by row
    dependences = []
    for term in range(len(A)):
        size = len(kept)
        lower = factor[:size, :size]
        row = weights = np.zeros(0)
        if size:
            row = solve_triangular(lower, C[kept, term], lower=True, check_finite=False)
            weights = solve_triangular(lower.T, row, check_finite=False)
        distance = C[term, term] - row @ row
        hidden = _ROUNDING * (1 + np.abs(weights).sum()) ** 2
        if nonzero[term] and distance > max(_TOLERANCE, hidden):
            factor[size, :size] = row
            factor[size, size] = np.sqrt(distance)
            kept.append(term)
            continue
        large = np.flatnonzero(np.abs(weights) > 1e-6) if nonzero[term] else []
        dependences.append(
            Dependence(
                term,
                tuple(kept[i] for i in large),
                tuple(float(weights[i] * unit[term] / unit[kept[i]]) for i in large),
            )
        )
    return np.array(kept, dtype=np.int64), dependences
