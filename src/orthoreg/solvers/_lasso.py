"""min_w w'Qw - 2 r'w + mu |w|_1 for a small positive semi-definite Q, exactly.

A feature-sign search: on a set of non-zero coefficients with known signs the problem is a
linear system; the search changes the set until the sub-gradient conditions hold. Every step
lowers the objective, so it ends.
"""

import numpy as np
from jaxtyping import Float
from scipy.linalg import lapack

_TOLERANCE = 1e-12
_MOST_STEPS_PER_TERM = 50


def lasso(
    Q: Float[np.ndarray, "K K"],
    r: Float[np.ndarray, " K"],
    mu: float,
    start: Float[np.ndarray, " K"] | None = None,
) -> Float[np.ndarray, " K"]:
    """The minimiser; from `start`, when a solution of a similar problem is known."""
    w = np.zeros(len(r)) if start is None else start.copy()
    if mu == 0:
        return _solve(Q, r)
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


def duality_gap(
    Q: Float[np.ndarray, "K K"],
    r: Float[np.ndarray, " K"],
    constant: float,
    mu: float,
    w: Float[np.ndarray, " K"],
) -> float:
    """J(w) minus a lower bound on the optimum of constant + w'Qw - 2 r'w + mu |w|_1.

    With the quadratic part written |z - Rw|^2, the residual scaled into |R'theta| <= mu/2 is a
    feasible dual point. At mu = 0 the gap is the Newton decrement.
    """
    slope = r - Q @ w
    if mu == 0:
        return float(slope @ _solve(Q, slope))
    fit = max(constant - 2 * r @ w + w @ Q @ w, 0.0)
    largest = float(np.abs(slope).max(initial=0.0))
    shrink = 1.0 if largest <= mu / 2 else mu / 2 / largest
    dual = 2 * shrink * (constant - r @ w) - shrink**2 * fit
    return float(max(fit + mu * np.abs(w).sum() - dual, 0.0))


def _solve(Q: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Q^+ r; by Cholesky where Q has full rank."""
    if not len(r):
        return np.zeros(0)
    factor, solution, failed = lapack.dposv(Q, r)  # type: ignore[attr-defined]
    if not failed and factor.diagonal().min() > 1e-7 * np.sqrt(Q.diagonal().max()):
        return solution
    return np.linalg.lstsq(Q, r, rcond=1e-13)[0]


def _settle_signs(Q: np.ndarray, r: np.ndarray, mu: float, w: np.ndarray) -> np.ndarray:
    """Optimum on the current non-zeros: steps until none of them changes its sign."""
    for _ in range(_MOST_STEPS_PER_TERM):
        active = np.flatnonzero(w)
        if not len(active):
            return w
        signs = np.sign(w[active])
        target = _solve(Q[np.ix_(active, active)], r[active] - mu / 2 * signs)
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
    target = _solve(Q[np.ix_(active, active)], r[active] - mu / 2 * signs)
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
