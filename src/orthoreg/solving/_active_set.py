"""Quadratic problems with an L1 norm or constraints: block pivoting, DAQP or proximal steps.

**Block pivoting** guesses which coefficients are held at a bound and corrects the guess all at
once. A coefficient is free within a piece on which its part of the objective is smooth, (low,
high), or (low, 0) and (0, high) with an L1 norm; otherwise it is held at an end of a piece. For a
given guess, the minimum under the equalities costs one Cholesky factor:

    w = Q_ff^-1 (h - E_f' l),   (E_f Q_ff^-1 E_f') l = E_f Q_ff^-1 h - e,

where h is the right-hand side minus the held coefficients and half the slope of the norm.
Coefficients that leave their piece are then held at its end, and coefficients that are held against
the sign of their multiplier are released. When nothing changes, all optimality conditions hold, and
the minimum is unique because Q has full rank. A few rounds usually suffice. Otherwise, or if Q does
not have full rank, the result is None.

**DAQP** is a dual active-set method. With an L1 norm, coefficients are split into positive and
negative parts, w = p - n, so that the norm is linear and every bound is one of a single variable:

    min z'Hz - 2 h'z   subject to   E z = e,  low <= z <= high,   z = w or (p, n).

Block pivoting takes a fraction of DAQP's time if it starts from the solution of a similar problem
or if there is a norm, but it needs a Q of full rank and does not always terminate. [Arnstrom,
Bemporad and Axehill 2022]
"""

import numpy as np
from jaxtyping import Bool, Float
from scipy.linalg import lapack

from .._common.errors import InputError

_FULL_RANK = 1e-6  # least pivot of the Cholesky factor, relative to the column's own size
_MOST_ROUNDS = 25
_PATIENCE = 4  # rounds without fewer coefficients to correct
_TOLERANCE = 1e-11  # of the slopes
_ROUNDING = 1e-13  # of the coefficients, in units in which all columns are alike
_MET = 1e-9  # of the equalities' size


def pivot(
    Q: Float[np.ndarray, "K K"],
    r: Float[np.ndarray, " K"],
    l1: float,
    E: Float[np.ndarray, "q K"],
    e: Float[np.ndarray, " q"],
    low: Float[np.ndarray, " K"],
    high: Float[np.ndarray, " K"],
    start: Float[np.ndarray, " K"] | None = None,
) -> Float[np.ndarray, " K"] | None:
    """The minimiser, or None where this way does not lead there. The first guess is what holds at
    `start`, the solution of a similar problem."""
    if not len(r):
        return None
    held = np.zeros(len(r), dtype=bool)
    a, b, slope = low, high, 0.0
    if start is not None and start.any():
        if l1:
            a, b, slope = _pieces(start > 0, l1, low, high)
        held = (start <= a) | (start >= b)
        found = _with_held(Q, r - slope / 2, E, e, start, held)
        if found is None and len(e):  # those that equalities name may be needed to meet them
            held &= ~E.any(axis=0)
            found = _with_held(Q, r - slope / 2, E, e, start, held)
    else:
        found = _reduced(Q, r, E, e)
        if found is not None and l1:
            a, b, slope = _pieces(found[0] > 0, l1, low, high)
            found = _reduced(Q, r - slope / 2, E, e)
    if found is None:
        return None
    w, multipliers = found
    if l1 == 0 and not held.any() and (w >= low).all() and (w <= high).all():
        return w
    size = _TOLERANCE * max(float(np.abs(r).max()), l1, 1e-300)
    root = np.sqrt(Q.diagonal())
    room = _ROUNDING * float((np.abs(w) * root).max()) / root
    fewest, patience = len(r) + 1, _PATIENCE
    for _ in range(_MOST_ROUNDS):
        stopped = ((w < a - room) | (w > b + room)) & ~held
        pull = 2 * (r - Q @ w)
        right, left = _slopes(w, l1, low, high)
        if len(e):
            pull -= multipliers @ E
            for row in E[~E[:, ~held].any(axis=1)]:
                pull -= _idle_multiplier(row, pull, right, left) * row
        rising, falling = held & (pull > right + size), held & (pull < left - size)
        released = rising | falling
        wrong = np.count_nonzero(released) + np.count_nonzero(stopped)
        if not wrong:
            if not _is_met(E, e, w, room):
                return None
            w = np.minimum(np.maximum(w, a), b)
            # one that an equality ties to a coefficient at zero is there but for rounding
            return np.where(np.abs(w) <= room, 0.0, w) if l1 or len(e) else w
        if wrong < fewest:
            fewest, patience = wrong, _PATIENCE
        elif patience == 0:
            return None
        patience -= 1
        if l1:
            positive = (rising & (w >= 0)) | (falling & (w > 0))
            slope = np.where(released, np.where(positive, l1, -l1), slope)
            a = np.where(released, np.where(positive, np.maximum(low, 0.0), low), a)
            b = np.where(released, np.where(positive, high, np.minimum(high, 0.0)), b)
        at = np.minimum(np.maximum(w, a), b)
        before, held = held & ~released, (held | stopped) & ~released
        found = _with_held(Q, r - slope / 2, E, e, at, held)
        if found is None and len(e):
            # all at once they leave too little to meet the equalities: one of those these name
            named = stopped & E.any(axis=0)
            first = int(np.argmax(np.where(named, np.abs(w - at) * root, -1.0)))
            held = before | (stopped & ~named)
            held[first] |= named[first]
            found = _with_held(Q, r - slope / 2, E, e, at, held)
        if found is None:
            return None
        w, multipliers = found
    return None


def _pieces(
    up: Bool[np.ndarray, " K"],
    l1: float,
    low: Float[np.ndarray, " K"],
    high: Float[np.ndarray, " K"],
) -> tuple[Float[np.ndarray, " K"], Float[np.ndarray, " K"], Float[np.ndarray, " K"]]:
    """Ends of the pieces above or below zero, and the norm's slope there."""
    up = (up | (low >= 0)) & (high > 0)  # bounds may exclude a sign
    a, b = np.where(up, np.maximum(low, 0.0), low), np.where(up, high, np.minimum(high, 0.0))
    return a, b, np.where(up, l1, -l1)


def _with_held(
    Q: Float[np.ndarray, "K K"],
    h: Float[np.ndarray, " K"],
    E: Float[np.ndarray, "q K"],
    e: Float[np.ndarray, " q"],
    at: Float[np.ndarray, " K"],
    held: Bool[np.ndarray, " K"],
) -> tuple[Float[np.ndarray, " K"], Float[np.ndarray, " q"]] | None:
    """The minimum with some coefficients held where they are."""
    free = np.flatnonzero(~held)
    w = np.where(held, at, 0.0)
    inside, right, own = Q.take(free, 0).take(free, 1), (h - Q @ w)[free], E.take(free, 1)
    multipliers = np.zeros(len(e))
    open_ = own.any(axis=1)  # of an equality whose coefficients are all held nothing is left
    found = _reduced(inside, right, own[open_], (e - E @ w)[open_])
    if found is None:
        return None
    w[free], multipliers[open_] = found
    return w, multipliers


def _slopes(
    w: Float[np.ndarray, " K"],
    l1: float,
    low: Float[np.ndarray, " K"],
    high: Float[np.ndarray, " K"],
) -> tuple[Float[np.ndarray, " K"], Float[np.ndarray, " K"]]:
    """The slopes of norm and bounds to the right and to the left of held coefficients."""
    right = np.where(w >= 0, l1, -l1) if l1 else np.zeros(len(w))
    left = np.where(w > 0, l1, -l1) if l1 else np.zeros(len(w))
    right[w >= high], left[w <= low] = np.inf, -np.inf
    return right, left


def _idle_multiplier(
    row: Float[np.ndarray, " K"],
    pull: Float[np.ndarray, " K"],
    right: Float[np.ndarray, " K"],
    left: Float[np.ndarray, " K"],
) -> float:
    """For an equality all of whose coefficients are held: a multiplier with which they stay so, or
    halfway between what the two would need that are held least."""
    named = row != 0
    ends = np.stack([pull - right, pull - left])[:, named] / row[named]
    least, most = ends.min(axis=0).max(), ends.max(axis=0).min()
    if np.isfinite(least) and np.isfinite(most):
        return float(least + most) / 2
    return float(least if np.isfinite(least) else most if np.isfinite(most) else 0.0)


def _reduced(
    Q: Float[np.ndarray, "f f"],
    h: Float[np.ndarray, " f"],
    E: Float[np.ndarray, "q f"],
    e: Float[np.ndarray, " q"],
) -> tuple[Float[np.ndarray, " f"], Float[np.ndarray, " q"]] | None:
    """The minimum under the equalities alone, and their multipliers; None without full rank."""
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
    factor, pull, failed = lapack.dposv(schur.T, products[:, 0] - e)  # type: ignore[attr-defined]
    # each row by its own size: equalities come in units of their own
    if failed or (factor.diagonal() <= _FULL_RANK * np.sqrt(schur.diagonal())).any():
        return None
    w = solved[:, 0] - solved[:, 1:] @ pull
    # what rounding left of the equalities, which a nearly singular Q magnifies
    more, _ = lapack.dpotrs(factor, E @ w - e)  # type: ignore[attr-defined]
    return w - solved[:, 1:] @ more, 2 * (pull + more)


def _factor(matrix: Float[np.ndarray, "f f"]) -> Float[np.ndarray, "f f"] | None:
    """The Cholesky factor; None without full rank."""
    factor, failed = lapack.dpotrf(matrix.T)  # type: ignore[attr-defined]
    small = _FULL_RANK * np.sqrt(np.maximum(matrix.diagonal(), 0.0))
    return None if failed or (factor.diagonal() <= small).any() else factor


def _is_met(
    E: Float[np.ndarray, "q K"],
    e: Float[np.ndarray, " q"],
    w: Float[np.ndarray, " K"],
    room: Float[np.ndarray, " K"],
) -> bool:
    if not len(e):
        return True
    size = _MET * max(float(np.abs(E).max() * np.abs(w).max()), float(np.abs(e).max()))
    return bool((np.abs(E @ w - e) <= size + np.abs(E) @ room).all())


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
