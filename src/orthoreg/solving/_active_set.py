"""The problem with a norm or constraints: by block pivoting, else by DAQP's dual active-set method.

Coefficients that are given, low = high, move to the right-hand side. For DAQP, with an L1 norm, the
others are split into positive and negative parts, w = p - n, so that the norm is linear and every
bound is one of a single variable:

    min z'Hz - 2 h'z   subject to   E z = e,  low <= z <= high,   z = w or (p, n).

Block pivoting takes a fraction of DAQP's time where it is given the solution of a similar problem
or has a norm, but it needs a Q of full rank and does not always end. [Arnstrom, Bemporad and
Axehill 2022]
"""

import numpy as np
from jaxtyping import Float

from .._common.errors import InputError
from ._pivoting import pivot

_PRIMAL_TOLERANCE = 1e-7  # of the constraints, in units in which all columns of Q are alike
_MAX_ITERATIONS = 10_000
_LEAST_CURVATURE = 1e-8  # of Q in units in which all columns are alike, which P makes larger
_RANK = 1e-12  # singular values of the equalities below this share of the largest are zero
_FEASIBLE = 1e-9  # of the equalities' size
_PROXIMITY = 1e-7  # of each term's own square: far above rounding, far below what data determine
_MAX_PROXIMAL_STEPS = 30
_PROXIMAL_TOLERANCE = 1e-14  # of the slopes
_INFEASIBLE = -1  # status of DAQP
_EQUALITY = 5  # kind of constraint in DAQP


def minimise(
    Q: Float[np.ndarray, "K K"],
    r: Float[np.ndarray, " K"],
    l1: float,
    E: Float[np.ndarray, "q K"],
    e: Float[np.ndarray, " q"],
    low: Float[np.ndarray, " K"],
    high: Float[np.ndarray, " K"],
    start: Float[np.ndarray, " K"] | None = None,
) -> Float[np.ndarray, " K"]:
    """The minimiser; refuses constraints that nothing meets."""
    fixed = low == high
    if fixed.any():
        w = np.where(fixed, low, 0.0)
        rest = ~fixed
        w[rest] = minimise(
            Q[np.ix_(rest, rest)], r[rest] - Q[np.ix_(rest, fixed)] @ low[fixed], l1,
            E[:, rest], e - E[:, fixed] @ low[fixed], low[rest], high[rest],
            None if start is None else start[rest],
        )  # fmt: skip
        return w
    found = pivot(Q, r, l1, E, e, low, high, start)
    return found if found is not None else _proximal(Q, r, l1, E, e, low, high)


def _proximal(
    Q: Float[np.ndarray, "K K"],
    r: Float[np.ndarray, " K"],
    l1: float,
    E: Float[np.ndarray, "q K"],
    e: Float[np.ndarray, " q"],
    low: Float[np.ndarray, " K"],
    high: Float[np.ndarray, " K"],
) -> Float[np.ndarray, " K"]:
    """The minimiser by proximal-point iterations, for a Q of any rank.

    w_next minimises the objective + |w - w_last|_P^2, P = _PROXIMITY diag(Q), a problem of full
    rank. It leaves a slope of 2 P (w_last - w_next), so that two or three iterations reach
    rounding.
    """
    size = np.diag(Q)
    P = _PROXIMITY * np.where(size > 0, size, size.max(initial=0.0) or 1.0)
    w = np.zeros(len(r))
    rounding = _PROXIMAL_TOLERANCE * max(float(np.abs(r).max(initial=0.0)), l1)
    for k in range(_MAX_PROXIMAL_STEPS):
        problem = (Q + np.diag(P), r + P * w, l1, E, e, low, high)
        closer = pivot(*problem, start=w if k else None)
        if closer is None:
            closer = by_daqp(*problem)
        slope, w = 2 * P * np.abs(closer - w), closer
        if (slope <= rounding).all():
            break
    return w


def by_daqp(
    Q: Float[np.ndarray, "K K"],
    r: Float[np.ndarray, " K"],
    l1: float,
    E: Float[np.ndarray, "q K"],
    e: Float[np.ndarray, " q"],
    low: Float[np.ndarray, " K"],
    high: Float[np.ndarray, " K"],
) -> Float[np.ndarray, " K"]:
    """The minimiser for a Q of full rank. Coefficients at a bound, or at zero with an L1 norm, are
    exactly there."""
    import daqp

    size = len(r)
    unit = 1 / np.sqrt(np.where(np.diag(Q) > 0, np.diag(Q), 1.0))
    Q, r, E, lower, upper = Q * np.outer(unit, unit), r * unit, E * unit, low / unit, high / unit
    E, e = _independent(E, e)
    values, axes = np.linalg.eigh(Q)
    if values.min(initial=np.inf) < _LEAST_CURVATURE:  # rounding
        Q = (axes * np.maximum(values, _LEAST_CURVATURE)) @ axes.T
    H, h = 2 * Q, -2 * r
    if l1:
        H, h, E = (
            np.block([[H, -H], [-H, H]]),
            np.append(h + l1 * unit, l1 * unit - h),
            np.hstack([E, -E]),
        )
        lower, upper = (
            np.append(np.maximum(lower, 0.0), np.maximum(-upper, 0.0)),
            np.append(np.maximum(upper, 0.0), np.maximum(-lower, 0.0)),
        )
    kind = np.repeat(np.array([0, _EQUALITY], dtype=np.int32), [len(h), len(e)])
    z, _, status, info = daqp.solve(
        H, h, np.ascontiguousarray(E), np.append(upper, e), np.append(lower, e), kind,
        primal_tol=_PRIMAL_TOLERANCE, iter_limit=_MAX_ITERATIONS,
    )  # fmt: skip
    if status == _INFEASIBLE:
        raise _excluded()
    pull = info["lam"][: len(h)]  # positive at an upper bound, negative at a lower one
    z = np.where((pull > 0) & np.isfinite(upper), upper, z)
    z = np.clip(np.where((pull < 0) & np.isfinite(lower), lower, z), lower, upper)
    if l1:
        z, lower, upper = z[:size] - z[size:], low / unit, high / unit
    found = np.clip(z * unit, low, high)  # scaling rounds
    return np.where(z <= lower, low, np.where(z >= upper, high, found))


def _independent(
    E: Float[np.ndarray, "q K"], e: Float[np.ndarray, " q"]
) -> tuple[Float[np.ndarray, "p K"], Float[np.ndarray, " p"]]:
    """The same equalities with orthonormal rows."""
    size = np.sqrt((E**2).sum(axis=1))
    unit = np.where(size > 0, size, 1.0)
    left, values, right = np.linalg.svd(E / unit[:, None], full_matrices=False)
    along = left.T @ (e / unit)
    kept = values > _RANK * values.max(initial=0.0)
    missed = e / unit - left[:, kept] @ along[kept]
    if (np.abs(missed) > _FEASIBLE * np.abs(e / unit).max(initial=1.0)).any():
        raise _excluded()
    return right[kept], along[kept] / values[kept]


def _excluded() -> InputError:
    return InputError(
        "The equalities and bounds of the coefficients exclude each other: no coefficients "
        "meet all of them. Drop one of the relations, or widen a bound."
    )
