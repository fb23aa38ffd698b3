"""Symmetric positive semi-definite systems of a few hundred unknowns."""

import numpy as np
from jaxtyping import Float
from scipy.linalg import lapack

_FULL_RANK = 1e-7  # least pivot of the Cholesky factor, relative to the largest entry's root
_CUTOFF = 1e-13  # singular values below this share of the largest count as zero


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
