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
from jaxtyping import Float
from scipy.linalg import lapack

_FULL_RANK = 1e-7  # as in `solve_symmetric`
_MOST_ROUNDS = 25
_PATIENCE = 4  # rounds without fewer coefficients to correct
_TOLERANCE = 1e-11
_MET = 1e-9  # of the equalities' size


def pivot(
    Q: Float[np.ndarray, "K K"],
    r: Float[np.ndarray, " K"],
    l1: float,
    E: Float[np.ndarray, "q K"],
    e: Float[np.ndarray, " q"],
    low: Float[np.ndarray, " K"],
    high: Float[np.ndarray, " K"],
) -> Float[np.ndarray, " K"] | None:
    """The minimiser, or None where this way does not lead there."""
    if not len(r):
        return None
    found = _reduced(Q, r, E, e)
    if found is None:
        return None
    w, multipliers = found
    if l1 == 0 and not ((w < low) | (w > high)).any():
        return w
    held = np.zeros(len(r), dtype=bool)
    a, b = low, high
    slope = np.zeros(len(r))
    if l1:
        up = w > 0
        a, b = np.where(up, np.maximum(low, 0.0), low), np.where(up, high, np.minimum(high, 0.0))
        crossed = a > b  # the sign that the bounds exclude
        a, b = np.where(crossed, low, a), np.where(crossed, high, b)
        slope = l1 * np.where(up ^ crossed, 1.0, -1.0)
        found = _reduced(Q, r - slope / 2, E, e)
        if found is None:
            return None
        w, multipliers = found
    fewest, patience = len(r) + 1, _PATIENCE
    for _ in range(_MOST_ROUNDS):
        below, above = ~held & (w < a), ~held & (w > b)
        gradient = 2 * (Q @ w - r) + E.T @ multipliers
        size = _TOLERANCE * max(float(np.abs(r).max()), l1, 1e-300)
        right, left = _ends(w, l1, low, high)
        rising, falling = held & (-gradient > right + size), held & (-gradient < left - size)
        wrong = int((below | above | rising | falling).sum())
        if not wrong:
            return w if _is_met(E, e, w) else None
        if wrong < fewest:
            fewest, patience = wrong, _PATIENCE
        elif patience == 0:
            return None
        patience -= 1
        if l1:
            positive = (rising & (w >= 0)) | (falling & (w > 0))
            slope = np.where(rising | falling, np.where(positive, l1, -l1), slope)
            moved = rising | falling
            a = np.where(moved, np.where(positive, np.maximum(low, 0.0), low), a)
            b = np.where(moved, np.where(positive, high, np.minimum(high, 0.0)), b)
        w = np.where(below, a, np.where(above, b, w))
        held = (held | below | above) & ~(rising | falling)
        free = ~held
        at = np.where(held, w, 0.0)
        inside = np.ix_(free, free)
        found = _reduced(
            Q[inside], (r - Q @ at - slope / 2)[free], E[:, free], e - E @ at,
        )  # fmt: skip
        if found is None:
            return None
        w = at
        w[free], multipliers = found
    return None


def _ends(
    w: Float[np.ndarray, " K"],
    l1: float,
    low: Float[np.ndarray, " K"],
    high: Float[np.ndarray, " K"],
) -> tuple[Float[np.ndarray, " K"], Float[np.ndarray, " K"]]:
    """The slopes of norm and bounds to the right and to the left of held coefficients."""
    right = np.where(w >= high, np.inf, np.where(w >= 0, l1, -l1))
    left = np.where(w <= low, -np.inf, np.where(w > 0, l1, -l1))
    return right, left


def _reduced(
    Q: Float[np.ndarray, "f f"],
    h: Float[np.ndarray, " f"],
    E: Float[np.ndarray, "q f"],
    e: Float[np.ndarray, " q"],
) -> tuple[Float[np.ndarray, " f"], Float[np.ndarray, " q"]] | None:
    """The minimum under the equalities alone, and their multipliers; None without full rank."""
    if not len(h):
        return (h, np.zeros(len(e))) if not len(e) else None
    sides = np.column_stack([h, E.T]) if len(e) else h[:, None]
    factor, solved, failed = lapack.dposv(Q, sides)  # type: ignore[attr-defined]
    if failed or factor.diagonal().min() <= _FULL_RANK * np.sqrt(Q.diagonal().max()):
        return None
    if not len(e):
        return solved[:, 0], np.zeros(0)
    schur = E @ solved[:, 1:]
    missed = E @ solved[:, 0] - e
    factor, pull, failed = lapack.dposv(schur, missed)  # type: ignore[attr-defined]
    if failed or factor.diagonal().min() <= _FULL_RANK * np.sqrt(schur.diagonal().max()):
        return None
    return solved[:, 0] - solved[:, 1:] @ pull, 2 * pull


def _is_met(
    E: Float[np.ndarray, "q K"], e: Float[np.ndarray, " q"], w: Float[np.ndarray, " K"]
) -> bool:
    size = max(float(np.abs(E).max(initial=0.0) * np.abs(w).max()), float(np.abs(e).max(initial=0)))
    return bool(np.abs(E @ w - e).max(initial=0.0) <= _MET * max(size, 1e-300))
