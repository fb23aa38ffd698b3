"""The problem with a norm or constraints: by block pivoting, else by an active-set method.

Coefficients that are given, low = high, move to the right-hand side. Step by step, with an L1 norm
the others are split into positive and negative parts, w = p - n, so that the norm is linear and
every bound is one of a single variable:

    min z'Hz - 2 h'z   subject to   E z = e,  low <= z <= high,   z = w or (p, n).

Both need a Q of full rank; where it has less, proximal-point iterations give it that. Step by step,
the minimum under the equalities alone is it where it lies within the bounds. Otherwise steps go,
from a feasible point, to the minimum over the free variables; a variable that meets its bound on
the way stays there, and one whose multiplier has the wrong sign is let go. By hand, since SciPy has
no quadratic programme with equalities and bounds, and interior-point packages stop at a tolerance:
a coefficient at its bound, or at zero, is exactly there.
"""

import numpy as np
from jaxtyping import Bool, Float

from .._errors import InputError
from ._linear import solve_symmetric
from ._pivoting import pivot

_TOLERANCE = 1e-10
_ROUNDING = 1e-9
_MOST_STEPS_PER_VARIABLE = 40
_MOST_HOLDS = 20
_PROXIMITY = 1e-7  # of each term's own square: far above rounding, far below what data determine
_MOST_PROXIMAL_STEPS = 30
_PROXIMAL_TOLERANCE = 1e-14  # of the slopes


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
    for k in range(_MOST_PROXIMAL_STEPS):
        problem = (Q + np.diag(P), r + P * w, l1, E, e, low, high)
        closer = pivot(*problem, start=w if k else None)
        if closer is None:
            closer = _step_by_step(*problem)
        slope, w = 2 * P * np.abs(closer - w), closer
        if (slope <= rounding).all():
            break
    return w


def _step_by_step(
    Q: Float[np.ndarray, "K K"],
    r: Float[np.ndarray, " K"],
    l1: float,
    E: Float[np.ndarray, "q K"],
    e: Float[np.ndarray, " q"],
    low: Float[np.ndarray, " K"],
    high: Float[np.ndarray, " K"],
) -> Float[np.ndarray, " K"]:
    """The minimiser by a primal active-set method, in units in which all columns are alike."""
    unit = 1 / np.sqrt(np.where(np.diag(Q) > 0, np.diag(Q), 1.0))
    Q, r, E = Q * np.outer(unit, unit), r * unit, E * unit
    size = np.sqrt((E**2).sum(axis=1))
    if (np.abs(e[size == 0]) > _ROUNDING * np.abs(e).max(initial=1.0)).any():
        raise _excluded()
    E, e = E[size > 0] / size[size > 0, None], e[size > 0] / size[size > 0]
    ends = (low, high)
    low, high = low / unit, high / unit
    if l1 == 0:
        z = _single_steps(Q, r, E, e, low, high)
    else:
        z = _with_norm(Q, r, l1 * unit, E, e, low, high)
    found = np.clip(z * unit, *ends)  # scaling rounds
    return np.where(z <= low, ends[0], np.where(z >= high, ends[1], found))


def _with_norm(
    Q: Float[np.ndarray, "K K"],
    r: Float[np.ndarray, " K"],
    l1: Float[np.ndarray, " K"],
    E: Float[np.ndarray, "q K"],
    e: Float[np.ndarray, " q"],
    low: Float[np.ndarray, " K"],
    high: Float[np.ndarray, " K"],
) -> Float[np.ndarray, " K"]:
    """The minimiser with an L1 norm, in positive and negative parts."""
    H = np.block([[Q, -Q], [-Q, Q]])
    h = np.concatenate([r, -r]) - np.tile(l1, 2) / 2
    lower = np.concatenate([np.maximum(low, 0.0), np.maximum(-high, 0.0)])
    upper = np.concatenate([np.maximum(high, 0.0), np.maximum(-low, 0.0)])
    z = _single_steps(H, h, np.hstack([E, -E]), e, lower, upper, parts=2)
    return z[: len(r)] - z[len(r) :]


def _feasible(
    E: Float[np.ndarray, "q Z"],
    e: Float[np.ndarray, " q"],
    low: Float[np.ndarray, " Z"],
    high: Float[np.ndarray, " Z"],
) -> Float[np.ndarray, " Z"]:
    """A point that meets all constraints: the nearest to zero, or by a linear programme."""
    nearest = np.clip(0.0, low, high)
    if not len(e) or np.allclose(E @ nearest, e, rtol=0, atol=_TOLERANCE * _size(E, e)):
        return nearest
    from scipy.optimize import linprog

    found = linprog(
        np.isfinite(low).astype(float), A_eq=E, b_eq=e, bounds=np.column_stack([low, high])
    )
    if found.x is None:
        raise _excluded()
    return np.clip(found.x, low, high)


def _excluded() -> InputError:
    return InputError(
        "The equalities and bounds of the coefficients exclude each other: no coefficients "
        "meet all of them. Drop one of the relations, or widen a bound."
    )


def _single_steps(
    H: Float[np.ndarray, "Z Z"],
    h: Float[np.ndarray, " Z"],
    E: Float[np.ndarray, "q Z"],
    e: Float[np.ndarray, " q"],
    low: Float[np.ndarray, " Z"],
    high: Float[np.ndarray, " Z"],
    parts: int = 1,
) -> Float[np.ndarray, " Z"]:
    z = _held_start(H, h, E, e, low, high) if parts == 1 else None
    if z is None:
        z = _feasible(E, e, low, high)
    scale = max(float(np.abs(h).max(initial=0.0)), 1e-300)
    at_low, at_high = z <= low, (z >= high) & (z > low)
    for step in range(_MOST_STEPS_PER_VARIABLE * max(len(z), 1)):
        free = ~(at_low | at_high)
        gradient = 2 * (H @ z - h)
        move, multipliers = _newton(H, E, gradient, free, e - E @ z)
        if np.abs(move).max(initial=0.0) > _TOLERANCE * max(1.0, float(np.abs(z).max(initial=0.0))):
            share, blocking = _longest(z, move, low, high)
            z = z + share * move
            if blocking is not None:
                z[blocking] = high[blocking] if move[blocking] > 0 else low[blocking]
                (at_high if move[blocking] > 0 else at_low)[blocking] = True
            continue
        slope = gradient + E.T @ multipliers
        wrong = np.where(at_low & (high > low), -slope, np.where(at_high, slope, -np.inf))
        if parts == 2:
            # both parts of a coefficient are never free at once: their sum has the slope 2 l1
            partner = np.roll(free, len(z) // 2)
            wrong = np.where(partner & (low == 0) & at_low, -np.inf, wrong)
        places = np.flatnonzero(wrong > _TOLERANCE * scale)
        if not len(places):
            break
        # late on the first one, which cannot cycle
        many = step > 10 * len(z)
        released = int(places[0] if many else places[np.argmax(wrong[places])])
        at_low[released] = at_high[released] = False
    return z


def _held_start(
    H: Float[np.ndarray, "Z Z"],
    h: Float[np.ndarray, " Z"],
    E: Float[np.ndarray, "q Z"],
    e: Float[np.ndarray, " q"],
    low: Float[np.ndarray, " Z"],
    high: Float[np.ndarray, " Z"],
) -> Float[np.ndarray, " Z"] | None:
    """A feasible point near the minimum: that under the equalities alone, with variables beyond
    their bounds held there until none is. None if that does not end in a feasible point."""
    z = _with_equalities(H, h, E, e)
    held = np.zeros(len(z), dtype=bool)
    for _ in range(_MOST_HOLDS):
        beyond = ~held & ((z < low) | (z > high))
        if not beyond.any():
            met = np.allclose(E @ z, e, rtol=0, atol=1e-9 * _size(E, e))
            return z if met else None
        held |= beyond
        at = np.where(held, np.clip(z, low, high), 0.0)
        free = ~held
        z = at
        z[free] = _with_equalities(
            H[np.ix_(free, free)], h[free] - H[np.ix_(free, held)] @ at[held],
            E[:, free], e - E[:, held] @ at[held],
        )  # fmt: skip
    return None


def _with_equalities(
    H: Float[np.ndarray, "Z Z"],
    h: Float[np.ndarray, " Z"],
    E: Float[np.ndarray, "q Z"],
    e: Float[np.ndarray, " q"],
) -> Float[np.ndarray, " Z"]:
    """The minimum under the equalities alone, of least norm where there are several."""
    if not len(e):
        return solve_symmetric(H, h)
    start = np.linalg.lstsq(E, e, rcond=1e-12)[0]
    move, _ = _newton(H, E, 2 * (H @ start - h), np.ones(len(h), dtype=bool), e - E @ start)
    return start + move


def _newton(
    H: Float[np.ndarray, "Z Z"],
    E: Float[np.ndarray, "q Z"],
    gradient: Float[np.ndarray, " Z"],
    free: Bool[np.ndarray, " Z"],
    missed: Float[np.ndarray, " q"],
) -> tuple[Float[np.ndarray, " Z"], Float[np.ndarray, " q"]]:
    """The step to the minimum over the free variables, and the equalities' multipliers; `missed` is
    what rounding left of the equalities."""
    move, count = np.zeros(len(gradient)), int(free.sum())
    matrix = np.zeros((count + len(E), count + len(E)))
    matrix[:count, :count] = 2 * H[np.ix_(free, free)]
    matrix[:count, count:] = E[:, free].T
    matrix[count:, :count] = E[:, free]
    right = np.concatenate([-gradient[free], missed])
    solution = _solved(matrix, right)
    move[free] = solution[:count]
    return move, solution[count:]


def _solved(
    matrix: Float[np.ndarray, "s s"], right: Float[np.ndarray, " s"]
) -> Float[np.ndarray, " s"]:
    """By elimination where that is accurate, else the solution of least norm."""
    if not len(right):
        return right
    try:
        solution = np.linalg.solve(matrix, right)
    except np.linalg.LinAlgError:
        solution = np.full(len(right), np.nan)
    left = matrix @ solution - right
    size = np.abs(matrix).max() * np.abs(solution).max() + np.abs(right).max()
    large = np.abs(solution).max() > 1e8 * max(float(np.abs(right).max()), 1e-300)
    if not np.isfinite(solution).all() or large or np.abs(left).max() > 1e-13 * size:
        return np.linalg.lstsq(matrix, right, rcond=1e-14)[0]
    return solution


def _longest(
    z: Float[np.ndarray, " Z"],
    move: Float[np.ndarray, " Z"],
    low: Float[np.ndarray, " Z"],
    high: Float[np.ndarray, " Z"],
) -> tuple[float, int | None]:
    """How much of the move stays within the bounds, and the variable that stops it."""
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(move > 0, (high - z) / move, np.where(move < 0, (low - z) / move, np.inf))
    nearest = int(np.argmin(room))
    return (1.0, None) if room[nearest] >= 1 else (max(float(room[nearest]), 0.0), nearest)


def _size(E: np.ndarray, e: np.ndarray) -> float:
    return max(float(np.abs(E).max(initial=0.0)), float(np.abs(e).max(initial=0.0)), 1e-300)
