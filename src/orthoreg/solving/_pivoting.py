"""The constrained problem by block pivoting: a guess of what is held, corrected all at once.

A coefficient is free within a piece on which its part of the objective is smooth, (low, high), or
(low, 0) and (0, high) with an L1 norm; or it is held at an end of one. For a guess of these the
minimum under the equalities costs one Cholesky factor:

    w = Q_ff^-1 (h - E_f' l),   (E_f Q_ff^-1 E_f') l = E_f Q_ff^-1 h - e,

with h the right-hand side less the held coefficients and half the norm's slope. Those that leave
their piece are then held at its end, and those that are held against their multiplier are let go.
Where nothing changes, all conditions of the minimum hold, which is the only one as Q has full rank.
A few rounds usually do; where they do not, or a rank is missing, the caller goes step by step.
"""

import numpy as np
from jaxtyping import Bool, Float
from scipy.linalg import lapack

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
