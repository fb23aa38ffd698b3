"""`QuadraticProblem`: the small convex problem behind solvers, selection and certificates.

Its optimum is bounded from below by weak duality. For every x and every multiplier m of the
equalities, with s = 2 (Qx - r) + E'm,

    value(v) >= -x'Qx - m'e + sum_k min { s_k v + l1 |v| : low_k <= v <= high_k }

at every v that meets the constraints. The difference from value(w) is a sum of nonnegative terms:
(w - x)'Q(w - x), and for each coefficient the decrease of s_k v + l1 |v| from w_k to the best end
of its interval. Near the minimum, x is the Newton step from w on the free coefficients.
"""

from dataclasses import dataclass, replace
from typing import final

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.linalg import lapack, solve_triangular

from .._common.errors import InputError
from ._active_set import minimise

_FULL_RANK = 1e-7  # least pivot of the Cholesky factor, relative to the largest entry's root
_CUTOFF = 1e-13  # singular values below this share of the largest count as zero

_TOLERANCE = 1e-12
_ROUNDING = 4 * np.finfo(float).eps


def solve_symmetric(
    Q: Float[np.ndarray, "K K"], r: Float[np.ndarray, " K"]
) -> Float[np.ndarray, " K"]:
    """Q^+ r: by Cholesky where Q has full rank, else the solution of least norm.

    LAPACK directly: SciPy's `cho_solve` and `lstsq` cost five times more in checks than the
    systems here cost to solve, and one fit solves thousands of them.
    """
    if not len(r):
        return np.zeros(0)
    factor, solution, failed = lapack.dposv(Q, r)  # type: ignore[attr-defined]
    if not failed and factor.diagonal().min() > _FULL_RANK * np.sqrt(Q.diagonal().max()):
        return solution
    return np.linalg.lstsq(Q, r, rcond=_CUTOFF)[0]


@final
@dataclass(frozen=True)
class Dependence:
    """On the data, term `term` equals the sum of `weights` times the terms `others`."""

    term: int
    others: tuple[int, ...]
    weights: tuple[float, ...]

    def of_library(self, terms: Int[np.ndarray, " k"]) -> "Dependence":
        """The same, with numbers among `terms` replaced by numbers among the whole library."""
        others = tuple(int(terms[k]) for k in self.others)
        return Dependence(int(terms[self.term]), others, self.weights)


def independent_terms(
    A: Float[np.ndarray, "K K"],
) -> tuple[Int[np.ndarray, " k"], list[Dependence]]:
    """Terms to keep, and the others as combinations of them.

    The convention: terms are taken in the order of the library, and one that earlier terms
    already span (to a squared relative distance of 1e-12, or what rounding hides) is left out.
    It gets the coefficient zero, and simple terms win over complicated ones.
    """
    scale = np.sqrt(np.diag(A))
    nonzero = scale > 0
    unit = np.where(nonzero, scale, 1.0)
    C = A / np.outer(unit, unit)
    kept: list[int] = []
    factor = np.zeros_like(C)  # Cholesky factor of C on the kept terms, grown row by row
    dependences = []
    for term in range(len(A)):
        size = len(kept)
        lower = factor[:size, :size]
        row = weights = np.zeros(0)
        if size:
            row = solve_triangular(lower, C[kept, term], lower=True, check_finite=False)
            weights = solve_triangular(lower.T, row, check_finite=False)
        distance = C[term, term] - row @ row
        hidden = _ROUNDING * (1 + np.abs(weights).sum()) ** 2
        if nonzero[term] and distance > max(_TOLERANCE, hidden):
            factor[size, :size] = row
            factor[size, size] = np.sqrt(distance)
            kept.append(term)
            continue
        large = np.flatnonzero(np.abs(weights) > 1e-6) if nonzero[term] else []
        dependences.append(
            Dependence(
                term,
                tuple(kept[i] for i in large),
                tuple(float(weights[i] * unit[term] / unit[kept[i]]) for i in large),
            )
        )
    return np.array(kept, dtype=np.int64), dependences


_SLOPE_ROUNDING = 1e-11  # of a slope, relative to the sizes of the parts that it is a sum of
_RANK = 1e-12  # singular values of the equalities below this share of the largest are zero


def constrained_gap(
    Q: Float[np.ndarray, "K K"],
    r: Float[np.ndarray, " K"],
    l1: float,
    E: Float[np.ndarray, "q K"],
    e: Float[np.ndarray, " q"],
    low: Float[np.ndarray, " K"],
    high: Float[np.ndarray, " K"],
    w: Float[np.ndarray, " K"],
    most: float,
) -> float:
    """value(w) minus a lower bound on the minimum; infinite where x and m yield none.

    `most` is an upper bound of l1 |v|_1 at the minimum, which bounds coefficients without bounds.
    """
    free = (w > low) & (w < high) & ((w != 0) | (l1 == 0))
    x = w + _newton(Q, r - Q @ w - l1 / 2 * np.sign(w), E, free)
    slope = 2 * (Q @ x - r)
    size = 2 * (np.abs(Q) @ np.abs(x) + np.abs(r)) + l1
    down, up = _slope_interval(w, l1, low, high)
    m = _multipliers(slope, E, down, up, free)
    slope, size = slope + m @ E, size + np.abs(m) @ np.abs(E)
    balanced = -np.clip(-slope, down, up)
    slope = np.where(np.abs(slope - balanced) <= _SLOPE_ROUNDING * size, balanced, slope)
    radius = most / l1 if l1 else np.inf
    ends = np.maximum(low, -radius), np.minimum(high, radius)
    here = slope * w + l1 * np.abs(w)
    best = np.minimum(_least(slope, l1, *ends), here)
    return float((w - x) @ Q @ (w - x) + (here - best).sum())


def _least(
    slope: Float[np.ndarray, " K"],
    l1: float,
    low: Float[np.ndarray, " K"],
    high: Float[np.ndarray, " K"],
) -> Float[np.ndarray, " K"]:
    """min { slope v + l1 |v| : low <= v <= high }, which is at an end or at zero."""
    with np.errstate(invalid="ignore"):  # zero times infinity, which counts as zero
        along = [(slope + l1 * np.sign(end)) * end for end in (low, high)]
    ends = [np.where(np.isnan(values), 0.0, values) for values in along]
    inside = (low <= 0) & (high >= 0)
    return np.where(inside, np.minimum(np.minimum(*ends), 0.0), np.minimum(*ends))


def _newton(
    Q: Float[np.ndarray, "K K"],
    slope: Float[np.ndarray, " K"],
    E: Float[np.ndarray, "q K"],
    free: Bool[np.ndarray, " K"],
) -> Float[np.ndarray, " K"]:
    """The step to the minimum over the free coefficients that keeps the equalities."""
    step = np.zeros(len(slope))
    inside, right = Q[np.ix_(free, free)], slope[free]
    if not len(E):
        step[free] = solve_symmetric(inside, right)
        return step
    _, sizes, turned = np.linalg.svd(E[:, free])
    rank = int((sizes > _RANK * max(float(sizes.max(initial=0.0)), 1e-300)).sum())
    moves = turned[rank:]
    step[free] = moves.T @ solve_symmetric(moves @ inside @ moves.T, moves @ right)
    return step


def _multipliers(
    slope: Float[np.ndarray, " K"],
    E: Float[np.ndarray, "q K"],
    down: Float[np.ndarray, " K"],
    up: Float[np.ndarray, " K"],
    free: Bool[np.ndarray, " K"],
) -> Float[np.ndarray, " q"]:
    """m with which down <= -(slope + E'm) <= up, in least squares; `down` = `up` where free."""
    if not len(E):
        return np.zeros(0)
    own, right = E[:, free].T, -(slope + up)[free]
    m, _, rank, _ = np.linalg.lstsq(own, right, rcond=_RANK)
    if rank == len(E):
        return m
    held = np.flatnonzero(~free & E.any(axis=0))
    # slack variables u for those that are held: slope + E'm + u = 0
    matrix = np.zeros((len(right) + len(held), len(E) + len(held)))
    matrix[: len(right), : len(E)] = own
    matrix[len(right) :, : len(E)] = E[:, held].T
    matrix[len(right) :, len(E) :] = np.eye(len(held))
    limits = [
        np.concatenate([np.full(len(E), end), limit[held]])
        for end, limit in ((-np.inf, down), (np.inf, up))
    ]
    from scipy.optimize import lsq_linear

    solved = lsq_linear(matrix, np.concatenate([right, -slope[held]]), limits, "bvls")
    return np.asarray(solved.x)[: len(E)]


def _slope_interval(
    w: Float[np.ndarray, " K"],
    l1: float,
    low: Float[np.ndarray, " K"],
    high: Float[np.ndarray, " K"],
) -> tuple[Float[np.ndarray, " K"], Float[np.ndarray, " K"]]:
    """The slopes of norm and bounds to the left and to the right of w."""
    down = np.where(w <= low, -np.inf, np.where(w > 0, l1, -l1))
    up = np.where(w >= high, np.inf, np.where(w < 0, -l1, l1))
    return down, up


@final
@dataclass(frozen=True, eq=False)
class Equalities:
    """E w = e."""

    matrix: Float[np.ndarray, "q K"]
    values: Float[np.ndarray, " q"]


@final
@dataclass(frozen=True, eq=False)
class Bounds:
    """low <= w <= high; infinite where there is none."""

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
    """min_w w'Qw - 2 r'w + l1 |w|_1 subject to equalities and bounds, exactly.

    Q is positive semi-definite. Equations that constraints couple are one problem: `coupled` puts
    them side by side.
    """

    Q: Float[np.ndarray, "K K"]
    r: Float[np.ndarray, " K"]
    l1: float = 0.0
    equalities: Equalities | None = None
    bounds: Bounds | None = None

    def solve(self, start: Float[np.ndarray, " K"] | None = None) -> Float[np.ndarray, " K"]:
        """The minimiser, the one of least norm where there are several and l1 is zero.

        `start`, the solution of a similar problem, saves steps and changes nothing else.
        """
        if self.l1 == 0 and self.equalities is None and self.bounds is None:
            return solve_symmetric(self.Q, self.r)
        return minimise(self.Q, self.r, self.l1, *self._equalities(), *self._limits(), start)

    def value(self, w: Float[np.ndarray, " K"]) -> float:
        """w'Qw - 2 r'w + l1 |w|_1."""
        return float(w @ (self.Q @ w - 2 * self.r) + self.l1 * np.abs(w).sum())

    def duality_gap(self, w: Float[np.ndarray, " K"], constant: float) -> float:
        """An upper bound of value(w) minus its optimum, infinite where none is at hand.

        With the quadratic part and `constant` written |z - Rw|^2, the residual scaled into
        |R'theta| <= l1/2 is a feasible dual point. At l1 = 0 the gap is the Newton decrement, and
        under constraints that of `constrained_gap`.
        """
        if self.equalities is not None or self.bounds is not None:
            most = max(constant + self.value(w), 0.0)
            return constrained_gap(
                self.Q, self.r, self.l1, *self._equalities(), *self._limits(), w, most
            )
        slope = self.r - self.Q @ w
        if self.l1 == 0:
            return float(slope @ solve_symmetric(self.Q, slope))
        fit = max(constant - 2 * self.r @ w + w @ self.Q @ w, 0.0)
        largest = float(np.abs(slope).max(initial=0.0))
        shrink = 1.0 if largest <= self.l1 / 2 else self.l1 / 2 / largest
        dual = 2 * shrink * (constant - self.r @ w) - shrink**2 * fit
        return float(max(fit + self.l1 * np.abs(w).sum() - dual, 0.0))

    def active_bounds(self, w: Float[np.ndarray, " K"]) -> Bool[np.ndarray, " K"]:
        """Which coefficients are held by one of two different bounds."""
        low, high = self._limits()
        return ((w <= low) | (w >= high)) & (low < high)

    def only(self, terms: Int[np.ndarray, " k"]) -> "QuadraticProblem":
        """The problem with all other coefficients zero."""
        equalities, bounds = self.equalities, self.bounds
        return replace(
            self,
            Q=self.Q[np.ix_(terms, terms)],
            r=self.r[terms],
            equalities=equalities and Equalities(equalities.matrix[:, terms], equalities.values),
            bounds=bounds and Bounds(bounds.low[terms], bounds.high[terms]),
        )

    def _equalities(self) -> tuple[np.ndarray, np.ndarray]:
        if self.equalities is None:
            return np.zeros((0, len(self.r))), np.zeros(0)
        return self.equalities.matrix, self.equalities.values

    def _limits(self) -> tuple[np.ndarray, np.ndarray]:
        if self.bounds is None:
            return np.full(len(self.r), -np.inf), np.full(len(self.r), np.inf)
        return self.bounds.low, self.bounds.high


def coupled(problems: list[QuadraticProblem]) -> QuadraticProblem:
    """One problem over vec(W), the equations side by side, without constraints between them yet."""
    from scipy.linalg import block_diag

    if len({problem.l1 for problem in problems}) > 1:
        raise InputError("Problems that are coupled need the same l1.")
    return QuadraticProblem(
        np.asarray(block_diag(*(problem.Q for problem in problems))),
        np.concatenate([problem.r for problem in problems]),
        problems[0].l1,
    )
