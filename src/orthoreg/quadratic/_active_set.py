"""The constrained problem, by a primal active-set method.

Coefficients are split into positive and negative parts, w = p - n, so that the L1 norm is linear
and every bound is one of a single variable:

    min z'Hz - 2 h'z   subject to   E z = e,  low <= z <= high,   z = (p, n).

From a feasible point, steps go to the minimum over the free variables; a variable that meets its
bound on the way stays there, and one whose multiplier has the wrong sign is let go. By hand, since
SciPy has no quadratic programme with equalities and bounds, and interior-point packages stop at a
tolerance: a coefficient at its bound, or at zero, is exactly there.
"""

import numpy as np
from jaxtyping import Bool, Float

from .._errors import InputError

_TOLERANCE = 1e-10
_MOST_STEPS_PER_VARIABLE = 40


def minimise_constrained(
    Q: Float[np.ndarray, "K K"],
    r: Float[np.ndarray, " K"],
    l1: float,
    E: Float[np.ndarray, "q K"],
    e: Float[np.ndarray, " q"],
    low: Float[np.ndarray, " K"],
    high: Float[np.ndarray, " K"],
) -> Float[np.ndarray, " K"]:
    """The minimiser; refuses constraints that nothing meets."""
    count = len(r)
    unit = 1 / np.sqrt(np.where(np.diag(Q) > 0, np.diag(Q), 1.0))  # every column alike
    Q, r, E = Q * np.outer(unit, unit), r * unit, E * unit
    ends = (low, high)
    low, high = low / unit, high / unit
    H = np.block([[Q, -Q], [-Q, Q]])
    cost = l1 / 2 * np.tile(unit, 2)
    h = np.concatenate([r, -r]) - cost
    both = np.hstack([E, -E])
    lower = np.concatenate([np.maximum(low, 0.0), np.maximum(-high, 0.0)])
    upper = np.concatenate([np.maximum(high, 0.0), np.maximum(-low, 0.0)])
    start = _feasible(both, e, lower, upper)
    z = _minimise(H, h, both, start, lower, upper)
    return np.clip((z[:count] - z[count:]) * unit, *ends)  # scaling rounds


def _feasible(
    E: Float[np.ndarray, "q Z"],
    e: Float[np.ndarray, " q"],
    low: Float[np.ndarray, " Z"],
    high: Float[np.ndarray, " Z"],
) -> Float[np.ndarray, " Z"]:
    """A point that meets all constraints: the nearest to zero, by a linear programme."""
    nearest = np.clip(0.0, low, high)
    if not len(e) or np.allclose(E @ nearest, e, rtol=0, atol=_TOLERANCE * _size(E, e)):
        return nearest
    from scipy.optimize import linprog

    found = linprog(np.ones(len(low)), A_eq=E, b_eq=e, bounds=np.column_stack([low, high]))
    if found.x is None:
        raise InputError(
            "The equalities and bounds of the coefficients exclude each other: no coefficients "
            "meet all of them. Drop one of the relations, or widen a bound."
        )
    return np.clip(found.x, low, high)


def _minimise(
    H: Float[np.ndarray, "Z Z"],
    h: Float[np.ndarray, " Z"],
    E: Float[np.ndarray, "q Z"],
    z: Float[np.ndarray, " Z"],
    low: Float[np.ndarray, " Z"],
    high: Float[np.ndarray, " Z"],
) -> Float[np.ndarray, " Z"]:
    scale = max(float(np.abs(h).max(initial=0.0)), 1e-300)
    half = len(z) // 2
    at_low, at_high = z <= low, (z >= high) & (z > low)
    for step in range(_MOST_STEPS_PER_VARIABLE * max(len(z), 1)):
        free = ~(at_low | at_high)
        gradient = 2 * (H @ z - h)
        move, multipliers = _newton(H, E, gradient, free)
        if np.abs(move).max(initial=0.0) > _TOLERANCE * max(1.0, float(np.abs(z).max(initial=0.0))):
            share, blocking = _longest(z, move, low, high)
            z = z + share * move
            if blocking is not None:
                z[blocking] = high[blocking] if move[blocking] > 0 else low[blocking]
                (at_high if move[blocking] > 0 else at_low)[blocking] = True
            continue
        slope = gradient + E.T @ multipliers
        wrong = np.where(at_low & (high > low), -slope, np.where(at_high, slope, -np.inf))
        # both parts of a coefficient are never free at once: their sum has the slope 2 l1 >= 0
        partner = np.roll(free, half)
        wrong = np.where(partner & (low == 0) & at_low, -np.inf, wrong)
        places = np.flatnonzero(wrong > _TOLERANCE * scale)
        if not len(places):
            break
        # late on the first one, which cannot cycle
        many = step > 10 * len(z)
        released = int(places[0] if many else places[np.argmax(wrong[places])])
        at_low[released] = at_high[released] = False
    return z


def _newton(
    H: Float[np.ndarray, "Z Z"],
    E: Float[np.ndarray, "q Z"],
    gradient: Float[np.ndarray, " Z"],
    free: Bool[np.ndarray, " Z"],
) -> tuple[Float[np.ndarray, " Z"], Float[np.ndarray, " q"]]:
    """The step to the minimum over the free variables, and the equalities' multipliers."""
    move, count = np.zeros(len(gradient)), int(free.sum())
    matrix = np.zeros((count + len(E), count + len(E)))
    matrix[:count, :count] = 2 * H[np.ix_(free, free)]
    matrix[:count, count:] = E[:, free].T
    matrix[count:, :count] = E[:, free]
    right = np.concatenate([-gradient[free], np.zeros(len(E))])
    solution = np.linalg.lstsq(matrix, right, rcond=1e-14)[0] if len(right) else right
    move[free] = solution[:count]
    return move, solution[count:]


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
