"""Solve quadratic problems with an L1 norm or constraints: block pivoting, DAQP or proximal
steps.

**Block pivoting** guesses which coefficients are held at a bound and corrects the whole guess at
once. A coefficient is free within a piece on which its part of the objective is smooth: (low,
high), or (low, 0) and (0, high) with an L1 norm. Otherwise it is held at an end of a piece. For a
given guess, the minimum under the equalities costs one Cholesky factorization:

    w = Q_ff^-1 (h - E_f' l),   (E_f Q_ff^-1 E_f') l = E_f Q_ff^-1 h - e,

Here h is the right-hand side minus the contribution of held coefficients and half the slope of the
norm. Coefficients that leave their piece are then held at its end, and held coefficients whose
multiplier has the wrong sign are released. When nothing changes, all optimality conditions are
satisfied, and the minimum is unique because Q has full rank. A few rounds usually suffice. If they
do not, or if Q does not have full rank, the result is None.

**DAQP** is a dual active-set method. With an L1 norm, coefficients are split into positive and
negative parts, w = p - n, which makes the norm linear and every bound a bound of one variable:

    min z'Hz - 2 h'z   subject to   E z = e,  low <= z <= high,   z = w or (p, n).

Block pivoting takes a fraction of DAQP's time if it starts from the solution of a similar problem
or if there is an L1 norm, but it requires a Q of full rank and does not always terminate.
[Arnstrom, Bemporad and Axehill 2022]
"""

from typing import NamedTuple, final

import numpy as np
from jaxtyping import Bool, Float
from scipy.linalg import lapack

from .._common.errors import InputError
from . import _limits as limits


@final
class Constrained(NamedTuple):
    """The problem min w'Qw - 2 r'w + l1 |w|_1 subject to E w = e and low <= w <= high."""

    Q: Float[np.ndarray, "K K"]
    r: Float[np.ndarray, " K"]
    l1: float
    E: Float[np.ndarray, "q K"]
    e: Float[np.ndarray, " q"]
    low: Float[np.ndarray, " K"]
    high: Float[np.ndarray, " K"]


def pivot(
    problem: Constrained, start: Float[np.ndarray, " K"] | None = None
) -> Float[np.ndarray, " K"] | None:
    """Return the minimizer by block pivoting, or None if it does not converge.

    `start` is the solution of a similar problem. Its held coefficients are the first guess.
    """
    Q, r, l1, E, e, low, high = problem
    guess = None if not len(r) else _first_guess(problem, start)
    if guess is None:
        return None
    w, multipliers, held, (a, b, slope) = guess
    if l1 == 0 and not held.any() and (w >= low).all() and (w <= high).all():
        return w
    size = limits.SLOPE_ROUNDING * max(float(np.abs(r).max()), l1, 1e-300)
    root = np.sqrt(Q.diagonal())
    room = limits.COEFFICIENT_ROUNDING * float((np.abs(w) * root).max()) / root
    fewest, patience = len(r) + 1, limits.PIVOT_PATIENCE
    for _ in range(limits.MAX_PIVOT_ROUNDS):
        leaving = ((w < a - room) | (w > b + room)) & ~held
        descent = 2 * (r - Q @ w)
        left, right = slope_limits(w, problem)
        if len(e):
            descent -= multipliers @ E
            for row in E[~E[:, ~held].any(axis=1)]:
                descent -= _idle_multiplier(row, descent, right, left) * row
        rising, falling = held & (descent > right + size), held & (descent < left - size)
        released = rising | falling
        n_wrong = np.count_nonzero(released) + np.count_nonzero(leaving)
        if not n_wrong:
            if not _is_met(E, e, w, room):
                return None
            w = np.minimum(np.maximum(w, a), b)
            # coefficients tied to a coefficient at zero are zero up to rounding
            return np.where(np.abs(w) <= room, 0.0, w) if l1 or len(e) else w
        if n_wrong < fewest:
            fewest, patience = n_wrong, limits.PIVOT_PATIENCE
        elif patience == 0:
            return None
        patience -= 1
        if l1:
            positive = (rising & (w >= 0)) | (falling & (w > 0))
            slope = np.where(released, np.where(positive, l1, -l1), slope)
            a = np.where(released, np.where(positive, np.maximum(low, 0.0), low), a)
            b = np.where(released, np.where(positive, high, np.minimum(high, 0.0)), b)
        values = np.minimum(np.maximum(w, a), b)
        before, held = held & ~released, (held | leaving) & ~released
        solution = _with_held(Q, r - slope / 2, E, e, values, held)
        if solution is None and len(e):
            # too many coefficients are held to satisfy the equalities, so hold only one of these
            named = leaving & E.any(axis=0)
            first = int(np.argmax(np.where(named, np.abs(w - values) * root, -1.0)))
            held = before | (leaving & ~named)
            held[first] |= named[first]
            solution = _with_held(Q, r - slope / 2, E, e, values, held)
        if solution is None:
            return None
        w, multipliers = solution
    return None


def _first_guess(
    problem: Constrained, start: Float[np.ndarray, " K"] | None
) -> tuple[np.ndarray, np.ndarray, Bool[np.ndarray, " K"], tuple] | None:
    """Return a first solution with its multipliers, held coefficients and pieces (ends and slope).

    None if there is no such solution.
    """
    Q, r, l1, E, e, low, high = problem
    held = np.zeros(len(r), dtype=bool)
    a, b, slope = low, high, 0.0
    if start is not None and start.any():
        if l1:
            a, b, slope = _pieces(start > 0, problem)
        held = (start <= a) | (start >= b)
        solution = _with_held(Q, r - slope / 2, E, e, start, held)
        if solution is None and len(e):  # release coefficients that equalities may need
            held &= ~E.any(axis=0)
            solution = _with_held(Q, r - slope / 2, E, e, start, held)
    else:
        solution = _reduced(Q, r, E, e)
        if solution is not None and l1:
            a, b, slope = _pieces(solution[0] > 0, problem)
            solution = _reduced(Q, r - slope / 2, E, e)
    return None if solution is None else (*solution, held, (a, b, slope))


def _pieces(
    up: Bool[np.ndarray, " K"], problem: Constrained
) -> tuple[Float[np.ndarray, " K"], Float[np.ndarray, " K"], Float[np.ndarray, " K"]]:
    """Return the ends of the pieces above or below zero, and the slope of the norm there."""
    l1, low, high = problem.l1, problem.low, problem.high
    up = (up | (low >= 0)) & (high > 0)  # bounds may exclude a sign
    a, b = np.where(up, np.maximum(low, 0.0), low), np.where(up, high, np.minimum(high, 0.0))
    return a, b, np.where(up, l1, -l1)


def _with_held(
    Q: Float[np.ndarray, "K K"],
    h: Float[np.ndarray, " K"],
    E: Float[np.ndarray, "q K"],
    e: Float[np.ndarray, " q"],
    values: Float[np.ndarray, " K"],
    held: Bool[np.ndarray, " K"],
) -> tuple[Float[np.ndarray, " K"], Float[np.ndarray, " q"]] | None:
    """Return the minimum and the multipliers with some coefficients held."""
    free = np.flatnonzero(~held)
    w = np.where(held, values, 0.0)
    Q_free, h_free, E_free = Q.take(free, 0).take(free, 1), (h - Q @ w)[free], E.take(free, 1)
    multipliers = np.zeros(len(e))
    active = E_free.any(axis=1)  # equalities that contain a free coefficient
    solution = _reduced(Q_free, h_free, E_free[active], (e - E @ w)[active])
    if solution is None:
        return None
    w[free], multipliers[active] = solution
    return w, multipliers


def slope_limits(
    w: Float[np.ndarray, " K"], problem: Constrained
) -> tuple[Float[np.ndarray, " K"], Float[np.ndarray, " K"]]:
    """Return the slopes of norm and bounds to the left and to the right of w."""
    l1, low, high = problem.l1, problem.low, problem.high
    left = np.where(w > 0, l1, -l1) if l1 else np.zeros(len(w))
    right = np.where(w >= 0, l1, -l1) if l1 else np.zeros(len(w))
    left[w <= low], right[w >= high] = -np.inf, np.inf
    return left, right


def _idle_multiplier(
    row: Float[np.ndarray, " K"],
    descent: Float[np.ndarray, " K"],
    right: Float[np.ndarray, " K"],
    left: Float[np.ndarray, " K"],
) -> float:
    """Return a multiplier of an equality whose coefficients are all held.

    If no multiplier keeps all of them held, return the mean of the two nearest limits.
    """
    named = row != 0
    limits = np.stack([descent - right, descent - left])[:, named] / row[named]
    lower, upper = limits.min(axis=0).max(), limits.max(axis=0).min()
    if np.isfinite(lower) and np.isfinite(upper):
        return float(lower + upper) / 2
    return float(lower if np.isfinite(lower) else upper if np.isfinite(upper) else 0.0)


def _reduced(
    Q: Float[np.ndarray, "f f"],
    h: Float[np.ndarray, " f"],
    E: Float[np.ndarray, "q f"],
    e: Float[np.ndarray, " q"],
) -> tuple[Float[np.ndarray, " f"], Float[np.ndarray, " q"]] | None:
    """Return the minimum under the equalities and their multipliers, or None if Q does not have
    full rank.
    """
    if not len(h):
        return (h, np.zeros(len(e))) if not len(e) else None
    if not len(e):
        cholesky = _factor(Q)
        return None if cholesky is None else (lapack.dpotrs(cholesky, h)[0], e)  # type: ignore[attr-defined]
    sides = np.empty((1 + len(e), len(h)))
    sides[0], sides[1:] = h, E
    cholesky = _factor(Q)
    if cholesky is None:
        return None
    solved, _ = lapack.dpotrs(cholesky, sides.T)  # type: ignore[attr-defined]
    products = E @ solved
    schur = products[:, 1:]
    factor, multipliers, failed = lapack.dposv(schur.T, products[:, 0] - e)  # type: ignore[attr-defined]
    # relative to the size of each row, because equalities have different units
    if (
        failed
        or (factor.diagonal() <= limits.MIN_PIVOT_OF_COLUMN * np.sqrt(schur.diagonal())).any()
    ):
        return None
    w = solved[:, 0] - solved[:, 1:] @ multipliers
    # correct the rounding error in the equalities, which a nearly singular Q magnifies
    correction, _ = lapack.dpotrs(factor, E @ w - e)  # type: ignore[attr-defined]
    return w - solved[:, 1:] @ correction, 2 * (multipliers + correction)


def _factor(matrix: Float[np.ndarray, "f f"]) -> Float[np.ndarray, "f f"] | None:
    """Return the Cholesky factor, or None if the matrix does not have full rank."""
    factor, failed = lapack.dpotrf(matrix.T)  # type: ignore[attr-defined]
    small = limits.MIN_PIVOT_OF_COLUMN * np.sqrt(np.maximum(matrix.diagonal(), 0.0))
    return None if failed or (factor.diagonal() <= small).any() else factor


def _is_met(
    E: Float[np.ndarray, "q K"],
    e: Float[np.ndarray, " q"],
    w: Float[np.ndarray, " K"],
    room: Float[np.ndarray, " K"],
) -> bool:
    if not len(e):
        return True
    size = limits.EQUALITY_TOLERANCE * max(
        float(np.abs(E).max() * np.abs(w).max()), float(np.abs(e).max())
    )
    return bool((np.abs(E @ w - e) <= size + np.abs(E) @ room).all())


_INFEASIBLE = -1  # status of DAQP
_EQUALITY = 5  # code of an equality constraint in DAQP


def minimise(
    problem: Constrained, start: Float[np.ndarray, " K"] | None = None
) -> Float[np.ndarray, " K"]:
    """Return the minimizer, or raise InputError if the constraints contradict each other."""
    Q, r, l1, E, e, low, high = problem
    fixed = low == high
    if fixed.any():
        w, free = np.where(fixed, low, 0.0), ~fixed
        reduced = Constrained(
            Q[np.ix_(free, free)], r[free] - Q[np.ix_(free, fixed)] @ low[fixed], l1,
            E[:, free], e - E[:, fixed] @ low[fixed], low[free], high[free],
        )  # fmt: skip
        w[free] = minimise(reduced, None if start is None else start[free])
        return w
    solution = pivot(problem, start)
    return solution if solution is not None else _proximal(problem)


def _proximal(problem: Constrained) -> Float[np.ndarray, " K"]:
    """Return the minimizer by proximal-point iterations, for a Q of any rank.

    Each iteration minimizes the objective + |w - w_last|_P^2 with P = PROXIMITY diag(Q), a problem
    of full rank. The remaining slope is 2 P (w_last - w_next), so two or three iterations converge
    to rounding error.
    """
    Q, r, l1, _, _, _, _ = problem
    size = np.diag(Q)
    P = limits.PROXIMITY * np.where(size > 0, size, size.max(initial=0.0) or 1.0)
    w = np.zeros(len(r))
    rounding = limits.PROXIMAL_TOLERANCE * max(float(np.abs(r).max(initial=0.0)), l1)
    for k in range(limits.MAX_PROXIMAL_STEPS):
        proximal = problem._replace(Q=Q + np.diag(P), r=r + P * w)
        next_w = pivot(proximal, start=w if k else None)
        if next_w is None:
            next_w = by_daqp(proximal)
        slope, w = 2 * P * np.abs(next_w - w), next_w
        if (slope <= rounding).all():
            break
    return w


def by_daqp(problem: Constrained) -> Float[np.ndarray, " K"]:
    """Return the minimizer by DAQP, for a Q of full rank.

    Coefficients at a bound, or at zero with an L1 norm, are exact.
    """
    import daqp

    Q, r, l1, E, e, low, high = problem
    size = len(r)
    unit = 1 / np.sqrt(np.where(np.diag(Q) > 0, np.diag(Q), 1.0))
    Q, r, E, lower, upper = Q * np.outer(unit, unit), r * unit, E * unit, low / unit, high / unit
    E, e = _independent(E, e)
    values, axes = np.linalg.eigh(Q)
    if values.min(initial=np.inf) < limits.MIN_CURVATURE:  # rounding errors
        Q = (axes * np.maximum(values, limits.MIN_CURVATURE)) @ axes.T
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
        primal_tol=limits.DAQP_TOLERANCE, iter_limit=limits.MAX_DAQP_ITERATIONS,
    )  # fmt: skip
    if status == _INFEASIBLE:
        raise _infeasible()
    multipliers = info["lam"][: len(h)]  # positive at an upper bound, negative at a lower bound
    z = np.where((multipliers > 0) & np.isfinite(upper), upper, z)
    z = np.clip(np.where((multipliers < 0) & np.isfinite(lower), lower, z), lower, upper)
    if l1:
        z, lower, upper = z[:size] - z[size:], low / unit, high / unit
    w = np.clip(z * unit, low, high)  # remove rounding errors of the scaling
    return np.where(z <= lower, low, np.where(z >= upper, high, w))


def _independent(
    E: Float[np.ndarray, "q K"], e: Float[np.ndarray, " q"]
) -> tuple[Float[np.ndarray, "p K"], Float[np.ndarray, " p"]]:
    """Return equivalent equalities with orthonormal rows."""
    size = np.sqrt((E**2).sum(axis=1))
    unit = np.where(size > 0, size, 1.0)
    left, values, right = np.linalg.svd(E / unit[:, None], full_matrices=False)
    along = left.T @ (e / unit)
    independent = values > limits.EQUALITY_RANK * values.max(initial=0.0)
    missed = e / unit - left[:, independent] @ along[independent]
    if (np.abs(missed) > limits.EQUALITY_TOLERANCE * np.abs(e / unit).max(initial=1.0)).any():
        raise _infeasible()
    return right[independent], along[independent] / values[independent]


def _infeasible() -> InputError:
    return InputError(
        "The equalities and bounds of the coefficients contradict each other: no coefficients "
        "satisfy all of them. Drop one of the relations, or widen a bound."
    )
