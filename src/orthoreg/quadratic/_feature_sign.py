"""min_w w'Qw - 2 r'w + mu |w|_1 for a small positive semi-definite Q, exactly.

A feature-sign search: on a set of non-zero coefficients with known signs the problem is a
linear system; the search changes the set until the sub-gradient conditions hold. Every step
lowers the objective, so it ends. By hand, since scikit-learn's Lasso on a Gram matrix stops at a
tolerance (1e-4 by default, slow below 1e-8 for collinear terms), while a duality gap at rounding
is what certificates here are about.
"""

import numpy as np
from jaxtyping import Float

from ._linear import solve_symmetric

_TOLERANCE = 1e-12
_MOST_STEPS_PER_TERM = 50


def minimise_l1(
    Q: Float[np.ndarray, "K K"],
    r: Float[np.ndarray, " K"],
    mu: float,
    start: Float[np.ndarray, " K"] | None = None,
) -> Float[np.ndarray, " K"]:
    """The minimiser for mu > 0; from `start`, when a solution of a similar problem is known."""
    w = np.zeros(len(r)) if start is None else start.copy()
    scale = max(float(np.abs(r).max(initial=0.0)), mu)
    for _ in range(_MOST_STEPS_PER_TERM * max(len(r), 1)):
        w = _settle_signs(Q, r, mu, w)
        slope = 2 * (r - Q @ w)
        violation = np.where(w == 0, np.abs(slope) - mu, -np.inf)
        worst = int(np.argmax(violation)) if len(r) else 0
        if not len(r) or violation[worst] <= _TOLERANCE * scale:
            break
        w = _step(Q, r, mu, w, entering=worst, sign=np.sign(slope[worst]))
    return w


def _settle_signs(Q: np.ndarray, r: np.ndarray, mu: float, w: np.ndarray) -> np.ndarray:
    """Optimum on the current non-zeros: steps until none of them changes its sign."""
    for _ in range(_MOST_STEPS_PER_TERM):
        active = np.flatnonzero(w)
        if not len(active):
            return w
        signs = np.sign(w[active])
        target = solve_symmetric(Q[np.ix_(active, active)], r[active] - mu / 2 * signs)
        if (np.sign(target) == signs).all():
            settled = np.zeros_like(w)
            settled[active] = target
            return settled
        w = _line_search(Q, r, mu, w, active, target)
    return w


def _step(
    Q: np.ndarray, r: np.ndarray, mu: float, w: np.ndarray, *, entering: int, sign: float
) -> np.ndarray:
    """One step that lets a zero coefficient in with the given sign."""
    active = np.flatnonzero(w)
    active = np.sort(np.append(active, entering))
    signs = np.where(active == entering, sign, np.sign(w[active]))
    target = solve_symmetric(Q[np.ix_(active, active)], r[active] - mu / 2 * signs)
    return _line_search(Q, r, mu, w, active, target)


def _line_search(
    Q: np.ndarray,
    r: np.ndarray,
    mu: float,
    w: np.ndarray,
    active: np.ndarray,
    target: np.ndarray,
) -> np.ndarray:
    """The best of the target and the points on the way where a coefficient becomes zero."""
    here = w[active]
    move = target - here
    with np.errstate(divide="ignore", invalid="ignore"):
        crossings = -here / move
    stops = np.append(np.sort(crossings[(crossings > 0) & (crossings < 1)]), 1.0)
    best, best_value = w, _value(Q, r, mu, w)
    for stop in stops:
        point = np.zeros_like(w)
        values = here + stop * move
        values[crossings == stop] = 0.0
        point[active] = values
        value = _value(Q, r, mu, point)
        if value < best_value:
            best, best_value = point, value
    return best


def _value(Q: np.ndarray, r: np.ndarray, mu: float, w: np.ndarray) -> float:
    return float(w @ (Q @ w - 2 * r) + mu * np.abs(w).sum())
