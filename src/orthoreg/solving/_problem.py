"""`QuadraticProblem`: the small convex problem behind solvers, selection and certificates.

Weak duality provides a lower bound on its optimum. For every x and every multiplier m of the
equalities, with s = 2 (Qx - r) + E'm,

    value(v) >= -x'Qx - m'e + sum_k min { s_k v + l1 |v| : low_k <= v <= high_k }

This holds at every v that satisfies the constraints. The difference from value(w) is a sum of
nonnegative terms: (w - x)'Q(w - x), and for each coefficient the decrease of s_k v + l1 |v| from
w_k to the best end of its interval. Near the minimum, x is the Newton step from w on the free
coefficients.
"""

from dataclasses import dataclass, replace
from typing import final

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.linalg import lapack, solve_triangular

from .._common.errors import InputError
from . import _limits as limits
from ._active_set import Constrained, minimise, slope_limits


def solve_symmetric(
    Q: Float[np.ndarray, "K K"], r: Float[np.ndarray, " K"]
) -> Float[np.ndarray, " K"]:
    """Return Q^+ r, by Cholesky if Q has full rank, or else as the minimum-norm solution.

    LAPACK is called directly. The checks of SciPy's `cho_solve` and `lstsq` take five times longer
    than solving the small systems, and one fit solves thousands of systems.
    """
    if not len(r):
        return np.zeros(0)
    factor, solution, failed = lapack.dposv(Q, r)  # type: ignore[attr-defined]
    if not failed and factor.diagonal().min() > limits.MIN_PIVOT * np.sqrt(Q.diagonal().max()):
        return solution
    return np.linalg.lstsq(Q, r, rcond=limits.SINGULAR_CUTOFF)[0]


@final
@dataclass(frozen=True)
class Dependence:
    """A linear dependence: on the data, `term` equals the sum of `weights` times `others`."""

    term: int
    others: tuple[int, ...]
    weights: tuple[float, ...]

    def of_library(self, terms: Int[np.ndarray, " k"]) -> "Dependence":
        """Return the dependence with indices into `terms` replaced by those of the library."""
        others = tuple(int(terms[k]) for k in self.others)
        return Dependence(int(terms[self.term]), others, self.weights)


def independent_terms(
    A: Float[np.ndarray, "K K"],
) -> tuple[Int[np.ndarray, " k"], list[Dependence]]:
    """Return the linearly independent terms, and the other terms as combinations of them.

    Terms are processed in the order of the library, so simple terms are preferred. A term in the
    span of earlier terms, up to a squared relative distance of 1e-12 or to rounding, is omitted:
    its coefficient is zero.
    """
    scale = np.sqrt(np.diag(A))
    nonzero = scale > 0
    unit = np.where(nonzero, scale, 1.0)
    C = A / np.outer(unit, unit)
    independent: list[int] = []
    factor = np.zeros_like(C)  # Cholesky factor of C on the kept terms, extended row by row
    dependences = []
    for term in range(len(A)):
        size = len(independent)
        lower = factor[:size, :size]
        row = weights = np.zeros(0)
        if size:
            row = solve_triangular(lower, C[independent, term], lower=True, check_finite=False)
            weights = solve_triangular(lower.T, row, check_finite=False)
        distance = C[term, term] - row @ row
        hidden = 4 * np.finfo(float).eps * (1 + np.abs(weights).sum()) ** 2
        if nonzero[term] and distance > max(limits.INDEPENDENT_SQUARE, hidden):
            factor[size, :size] = row
            factor[size, size] = np.sqrt(distance)
            independent.append(term)
            continue
        large = (
            np.flatnonzero(np.abs(weights) > limits.MIN_DEPENDENCE_WEIGHT) if nonzero[term] else []
        )
        dependences.append(
            Dependence(
                term,
                tuple(independent[i] for i in large),
                tuple(float(weights[i] * unit[term] / unit[independent[i]]) for i in large),
            )
        )
    return np.array(independent, dtype=np.int64), dependences


def constrained_gap(problem: Constrained, w: Float[np.ndarray, " K"], max_norm: float) -> float:
    """Return value(w) minus a lower bound on the minimum.

    It is infinite if there is no finite bound.

    `max_norm` is an upper bound on l1 |v|_1 at the minimum, which limits unbounded coefficients.
    """
    Q, r, l1, E, e, low, high = problem
    free = (w > low) & (w < high) & ((w != 0) | (l1 == 0))
    x = w + _newton(Q, r - Q @ w - l1 / 2 * np.sign(w), E, free)
    slope = 2 * (Q @ x - r)
    size = 2 * (np.abs(Q) @ np.abs(x) + np.abs(r)) + l1
    down, up = slope_limits(w, problem)
    m = _multipliers(slope, E, down, up, free)
    slope, size = slope + m @ E, size + np.abs(m) @ np.abs(E)
    balanced = -np.clip(-slope, down, up)
    slope = np.where(np.abs(slope - balanced) <= limits.SLOPE_ROUNDING * size, balanced, slope)
    radius = max_norm / l1 if l1 else np.inf
    ends = np.maximum(low, -radius), np.minimum(high, radius)
    value_at_w = slope * w + l1 * np.abs(w)
    best = np.minimum(_least(slope, l1, *ends), value_at_w)
    return float((w - x) @ Q @ (w - x) + (value_at_w - best).sum())


def _least(
    slope: Float[np.ndarray, " K"],
    l1: float,
    low: Float[np.ndarray, " K"],
    high: Float[np.ndarray, " K"],
) -> Float[np.ndarray, " K"]:
    """Return min { slope v + l1 |v| : low <= v <= high }. It is attained at a bound or at zero."""
    with np.errstate(invalid="ignore"):  # zero times infinity counts as zero
        along = [(slope + l1 * np.sign(end)) * end for end in (low, high)]
    values_at_ends = [np.where(np.isnan(values), 0.0, values) for values in along]
    inside = (low <= 0) & (high >= 0)
    return np.where(
        inside, np.minimum(np.minimum(*values_at_ends), 0.0), np.minimum(*values_at_ends)
    )


def _newton(
    Q: Float[np.ndarray, "K K"],
    slope: Float[np.ndarray, " K"],
    E: Float[np.ndarray, "q K"],
    free: Bool[np.ndarray, " K"],
) -> Float[np.ndarray, " K"]:
    """Return the step to the minimum over the free coefficients under the equalities."""
    step = np.zeros(len(slope))
    Q_free, r_free = Q[np.ix_(free, free)], slope[free]
    if not len(E):
        step[free] = solve_symmetric(Q_free, r_free)
        return step
    _, sizes, axes = np.linalg.svd(E[:, free])
    rank = int((sizes > limits.EQUALITY_RANK * max(float(sizes.max(initial=0.0)), 1e-300)).sum())
    null_space = axes[rank:]
    step[free] = null_space.T @ solve_symmetric(
        null_space @ Q_free @ null_space.T, null_space @ r_free
    )
    return step


def _multipliers(
    slope: Float[np.ndarray, " K"],
    E: Float[np.ndarray, "q K"],
    down: Float[np.ndarray, " K"],
    up: Float[np.ndarray, " K"],
    free: Bool[np.ndarray, " K"],
) -> Float[np.ndarray, " q"]:
    """Return m with down <= -(slope + E'm) <= up in the least-squares sense; `down` equals `up` for
    free coefficients.
    """
    if not len(E):
        return np.zeros(0)
    E_free, targets = E[:, free].T, -(slope + up)[free]
    m, _, rank, _ = np.linalg.lstsq(E_free, targets, rcond=limits.EQUALITY_RANK)
    if rank == len(E):
        return m
    held = np.flatnonzero(~free & E.any(axis=0))
    # slack variables u of held coefficients: slope + E'm + u = 0
    matrix = np.zeros((len(targets) + len(held), len(E) + len(held)))
    matrix[: len(targets), : len(E)] = E_free
    matrix[len(targets) :, : len(E)] = E[:, held].T
    matrix[len(targets) :, len(E) :] = np.eye(len(held))
    slack_bounds = [
        np.concatenate([np.full(len(E), bound), limit[held]])
        for bound, limit in ((-np.inf, down), (np.inf, up))
    ]
    from scipy.optimize import lsq_linear

    solved = lsq_linear(matrix, np.concatenate([targets, -slope[held]]), slack_bounds, "bvls")
    return np.asarray(solved.x)[: len(E)]


@final
@dataclass(frozen=True, eq=False)
class Equalities:
    """The equalities E w = e."""

    matrix: Float[np.ndarray, "q K"]
    values: Float[np.ndarray, " q"]


@final
@dataclass(frozen=True, eq=False)
class Bounds:
    """The bounds low <= w <= high, infinite where there is no bound."""

    low: Float[np.ndarray, " K"]
    high: Float[np.ndarray, " K"]

    def __post_init__(self):
        crossed = np.flatnonzero(~(self.low <= self.high))
        if crossed.size:
            k = int(crossed[0])
            raise InputError(
                f"The bounds of coefficient {k} exclude each other: "
                f"{self.low[k]:g} to {self.high[k]:g}."
            )


@final
@dataclass(frozen=True, eq=False)
class QuadraticProblem:
    """The problem min_w w'Qw - 2 r'w + l1 |w|_1 subject to equalities and bounds, solved
    exactly.

    Q is positive semi-definite. `coupled` joins the problems of equations that constraints couple.
    """

    Q: Float[np.ndarray, "K K"]
    r: Float[np.ndarray, " K"]
    l1: float = 0.0
    equalities: Equalities | None = None
    bounds: Bounds | None = None

    def solve(self, start: Float[np.ndarray, " K"] | None = None) -> Float[np.ndarray, " K"]:
        """Return the minimizer, or the minimum-norm minimizer if l1 = 0.

        `start` is the solution of a similar problem. It only saves time.
        """
        if self.l1 == 0 and self.equalities is None and self.bounds is None:
            return solve_symmetric(self.Q, self.r)
        return minimise(self.constrained(), start)

    def value(self, w: Float[np.ndarray, " K"]) -> float:
        """Return w'Qw - 2 r'w + l1 |w|_1."""
        return float(w @ (self.Q @ w - 2 * self.r) + self.l1 * np.abs(w).sum())

    def duality_gap(self, w: Float[np.ndarray, " K"], constant: float) -> float:
        """Return an upper bound on value(w) minus the minimum. It is infinite if none is
        available.

        With the quadratic part plus `constant` written as |z - Rw|^2, the residual scaled such that
        |R'theta| <= l1/2 is a feasible dual point. At l1 = 0, the gap is the Newton decrement. With
        constraints, the gap is `constrained_gap`.
        """
        if self.equalities is not None or self.bounds is not None:
            return constrained_gap(self.constrained(), w, max(constant + self.value(w), 0.0))
        slope = self.r - self.Q @ w
        if self.l1 == 0:
            return float(slope @ solve_symmetric(self.Q, slope))
        fit = max(constant - 2 * self.r @ w + w @ self.Q @ w, 0.0)
        largest = float(np.abs(slope).max(initial=0.0))
        shrink = 1.0 if largest <= self.l1 / 2 else self.l1 / 2 / largest
        dual = 2 * shrink * (constant - self.r @ w) - shrink**2 * fit
        return float(max(fit + self.l1 * np.abs(w).sum() - dual, 0.0))

    def active_bounds(self, w: Float[np.ndarray, " K"]) -> Bool[np.ndarray, " K"]:
        """Return a mask of the coefficients that are at one of two different bounds."""
        low, high = self.constrained()[-2:]
        return ((w <= low) | (w >= high)) & (low < high)

    def only(self, terms: Int[np.ndarray, " k"]) -> "QuadraticProblem":
        """Return the problem with all other coefficients set to zero."""
        equalities, bounds = self.equalities, self.bounds
        return replace(
            self,
            Q=self.Q[np.ix_(terms, terms)],
            r=self.r[terms],
            equalities=equalities and Equalities(equalities.matrix[:, terms], equalities.values),
            bounds=bounds and Bounds(bounds.low[terms], bounds.high[terms]),
        )

    def constrained(self) -> Constrained:
        """Return the problem with all constraints. Absent bounds are infinite."""
        K = len(self.r)
        equalities = self.equalities or Equalities(np.zeros((0, K)), np.zeros(0))
        bounds = self.bounds or Bounds(np.full(K, -np.inf), np.full(K, np.inf))
        return Constrained(
            self.Q, self.r, self.l1, equalities.matrix, equalities.values, bounds.low, bounds.high
        )


def coupled(problems: list[QuadraticProblem]) -> QuadraticProblem:
    """Return one problem over vec(W), equation by equation, without constraints."""
    from scipy.linalg import block_diag

    if len({problem.l1 for problem in problems}) > 1:
        raise InputError("Coupled problems need the same l1.")
    return QuadraticProblem(
        np.asarray(block_diag(*(problem.Q for problem in problems))),
        np.concatenate([problem.r for problem in problems]),
        problems[0].l1,
    )
