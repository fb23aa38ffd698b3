"""`QuadraticProblem`: the one small convex problem behind solver, selection and certificate."""

from dataclasses import dataclass, replace
from typing import final

import numpy as np
from jaxtyping import Bool, Float, Int

from .._common.errors import InputError
from ._active_set import minimise
from ._gap import constrained_gap
from ._linear import solve_symmetric


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
