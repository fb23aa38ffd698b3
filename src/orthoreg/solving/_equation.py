"""The problem of one equation: exact elimination of the residual, and errors from moments.

After minimization over v, a K x K problem in w remains. For one equation with the moments A, B, D,
a, d and |y|^2, let D~ = (1 + lam2) D + rho I and S = B D~^-1 B':

    Q = A - S (I + lam S)^-1,    r = a - (I + lam S)^-1 B D~^-1 d,
    J(w) = constant + w'Qw - 2 r'w + mu |w|_1.

One eigendecomposition of D serves every (lam, mu, lam2, rho), and one of S every lam.
"""

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float, Int

from . import _limits as limits
from ._moments import Moments
from ._problem import QuadraticProblem, independent_terms
from ._solver import EquationFit, Regularization


@final
@dataclass(frozen=True)
class Spectrum:
    """Moments with the basis rotated to the eigenvectors of D."""

    moments: Moments
    values: Float[np.ndarray, " H"]
    vectors: Float[np.ndarray, "H H"]
    B: Float[np.ndarray, "K H"]
    d: Float[np.ndarray, "H c"]

    @classmethod
    def of(cls, moments: Moments) -> "Spectrum":
        values, vectors = np.linalg.eigh(moments.D)
        return cls(
            moments, np.maximum(values, 0.0), vectors, moments.B @ vectors, vectors.T @ moments.d
        )


@final
@dataclass(frozen=True)
class Reduction:
    """The problem of one equation for given lam2 and rho, with S diagonalized."""

    spectrum: Spectrum
    equation: int
    terms: Int[np.ndarray, " k"]
    inverse: Float[np.ndarray, " H"]
    s: Float[np.ndarray, " k"]
    axes: Float[np.ndarray, "k k"]
    g: Float[np.ndarray, " k"]

    @classmethod
    def of(
        cls,
        spectrum: Spectrum,
        equation: int,
        terms: Int[np.ndarray, " k"],
        magnitude: float,
        ridge: float,
    ) -> "Reduction":
        """Return the reduction. If rho is infinite, there is no residual."""
        weight = (1 + magnitude) * spectrum.values + ridge
        floor = limits.MIN_EIGENVALUE * max(float(weight.max(initial=0.0)), 1e-300)
        inverse = np.where(weight > floor, 1 / np.maximum(weight, floor), 0.0)
        B = spectrum.B[terms]
        S = (B * inverse) @ B.T
        s, axes = np.linalg.eigh((S + S.T) / 2) if len(terms) else (np.zeros(0), np.zeros((0, 0)))
        g = (B * inverse) @ spectrum.d[:, equation]
        return cls(spectrum, equation, terms, inverse, np.maximum(s, 0.0), axes, g)

    def _response(self, lam: float) -> np.ndarray:
        """Return lam (I + lam S)^-1, or S^+ in the limit of infinite lam."""
        if math.isinf(lam):
            large = self.s > limits.MIN_EIGENVALUE * max(float(self.s.max(initial=0.0)), 1e-300)
            diagonal = np.where(large, 1 / np.where(large, self.s, 1.0), 0.0)
        else:
            diagonal = lam / (1 + lam * self.s)
        return (self.axes * diagonal) @ self.axes.T

    def quadratic(self, lam: float) -> tuple[np.ndarray, np.ndarray, float]:
        """Return Q, r and the constant of the reduced problem."""
        moments, c = self.spectrum.moments, self.equation
        A = moments.A[np.ix_(self.terms, self.terms)]
        a = moments.a[self.terms, c]
        d = self.spectrum.d[:, c]
        constant = float(
            moments.yy[c] - d @ (self.inverse * d) + self.g @ self._response(lam) @ self.g
        )
        if math.isinf(lam):
            return A, a, constant
        damping = 1 / (1 + lam * self.s)
        Q = A - (self.axes * (self.s * damping)) @ self.axes.T
        return (Q + Q.T) / 2, a - (self.axes * damping) @ (self.axes.T @ self.g), constant

    def residual_weights(self, lam: float, w: Float[np.ndarray, " k"]) -> Float[np.ndarray, " H"]:
        """Return v = D~^-1 (d - B'w - B'nu) with nu = lam (I + lam S)^-1 (g - S w)."""
        v_0, V = self.affine_residual(lam)
        return self.spectrum.vectors @ (v_0 + V @ w)

    def affine_residual(
        self, lam: float
    ) -> tuple[Float[np.ndarray, " H"], Float[np.ndarray, "H k"]]:
        """Return v_0 and V of the best residual v = v_0 + V w, on the axes of the spectrum."""
        B = self.spectrum.B[self.terms]
        gap = np.column_stack([self.spectrum.d[:, self.equation], -B.T])
        response = self._response(lam)
        scaled = self.inverse[:, None] * gap
        v = scaled - self.inverse[:, None] * (B.T @ (response @ (B @ scaled)))
        if math.isinf(lam):  # repeated so that the overlap B v is zero up to rounding
            v = v - self.inverse[:, None] * (B.T @ (response @ (B @ v)))
        return v[:, 0], v[:, 1:]


@final
@dataclass(frozen=True)
class EquationProblem:
    """One equation: its terms, the independent ones among them, and the regularization."""

    equation: int
    terms: Int[np.ndarray, " k"]
    independent: Int[np.ndarray, " i"]
    regularization: Regularization

    @classmethod
    def of(
        cls,
        moments: Moments,
        equation: int,
        support: np.ndarray,
        regularization: Regularization,
        *,
        first: np.ndarray | None = None,
    ) -> "EquationProblem":
        """Return the problem with these terms.

        Coefficients of linearly dependent terms are zero. Terms in `first` are always kept.
        """
        terms = np.flatnonzero(support)
        if first is None:
            independent, _ = independent_terms(moments.A[np.ix_(terms, terms)])
            return cls(equation, terms, independent, regularization)
        order = np.argsort(~first[terms], kind="stable")
        ordered = terms[order]
        independent, _ = independent_terms(moments.A[np.ix_(ordered, ordered)])
        independent_or_first = np.union1d(order[independent], np.flatnonzero(first[terms]))
        return cls(equation, terms, independent_or_first.astype(np.int64), regularization)

    def solve(
        self, spectrum: Spectrum, ridge: float, start: Float[np.ndarray, " k"] | None = None
    ) -> EquationFit:
        """Return the minimizer, starting from `start`, the solution of a similar problem."""
        reduction, problem, constant = self.reduce(spectrum, ridge)
        w = np.zeros(len(self.terms))
        w[self.independent] = problem.solve(None if start is None else start[self.independent])
        if start is not None:
            start[:] = w
        lam = float(self.regularization.orthogonality)
        return self.fit(
            spectrum.moments.n_features, ridge, w, reduction.residual_weights(lam, w),
            problem.duality_gap(w[self.independent], constant),
        )  # fmt: skip

    def reduce(self, spectrum: Spectrum, ridge: float) -> tuple[Reduction, QuadraticProblem, float]:
        """Return the reduction, the problem in the independent terms, and its constant."""
        lam, mu = float(self.regularization.orthogonality), float(self.regularization.sparsity)
        reduction = self._reduction(spectrum, ridge)
        Q, r, constant = reduction.quadratic(lam)
        return reduction, QuadraticProblem(Q, r, mu).only(self.independent), constant

    def residual(self, spectrum: Spectrum, ridge: float, w: Float[np.ndarray, " K"]) -> EquationFit:
        """Return the best output layer for given coefficients."""
        lam = float(self.regularization.orthogonality)
        v = self._reduction(spectrum, ridge).residual_weights(lam, w[self.terms])
        return self.fit(spectrum.moments.n_features, ridge, w[self.terms], v, 0.0)

    def _reduction(self, spectrum: Spectrum, ridge: float) -> Reduction:
        magnitude = float(self.regularization.magnitude)
        return Reduction.of(spectrum, self.equation, self.terms, magnitude, ridge)

    def fit(
        self,
        n_features: int,
        ridge: float,
        w: Float[np.ndarray, " k"],
        v: Float[np.ndarray, " H"],
        gap: float,
        active: tuple[int, ...] = (),
    ) -> EquationFit:
        """Return the solution as an `EquationFit` with `n_features` features."""
        w_all = np.zeros(n_features)
        w_all[self.terms] = w
        return EquationFit(
            terms=self.terms,
            w=w_all,
            v=v,
            p=np.zeros_like(w_all),
            sparsity=float(self.regularization.sparsity),
            ridge=ridge,
            duality_gap=gap,
            dependences=(),
            active=active,
        )


def squared_error(
    moments: Moments, equation: int, w: Float[np.ndarray, " K"], v: Float[np.ndarray, " H"]
) -> float:
    """Return |y - Phi w - Psi v|^2_D from moments."""
    error = (
        moments.yy[equation]
        - 2 * (moments.a[:, equation] @ w + moments.d[:, equation] @ v)
        + quadratic_form(moments.A, w)
        + 2 * w @ moments.B @ v
        + v @ moments.D @ v
    )
    return max(float(error), 0.0)


def residual_overlaps(moments: Moments, fit: EquationFit) -> Float[np.ndarray, " K"]:
    """Return <f_aug, theta_k>_D for every feature, from moments."""
    used = np.flatnonzero(fit.p)
    return moments.B @ fit.v - moments.A[:, used] @ fit.p[used]


def residual_square(moments: Moments, fit: EquationFit) -> float:
    """Return |f_aug|^2_D from moments."""
    square = fit.v @ moments.D @ fit.v - 2 * fit.p @ moments.B @ fit.v
    return max(float(square + quadratic_form(moments.A, fit.p)), 0.0)


def quadratic_form(A: Float[np.ndarray, "K K"], w: Float[np.ndarray, " K"]) -> float:
    """Return w'Aw, using only the nonzero entries of w."""
    used = np.flatnonzero(w)
    return float(w[used] @ A[np.ix_(used, used)] @ w[used])


def objective(
    moments: Moments, equation: int, fit: EquationFit, regularization: Regularization
) -> float:
    """Return the objective J of one equation. The penalty of an infinite lam is zero."""
    overlap = residual_overlaps(moments, fit)[fit.terms]
    lam = 0.0 if np.isinf(regularization.orthogonality) else regularization.orthogonality
    rho = 0.0 if np.isinf(fit.ridge) else fit.ridge
    return float(
        squared_error(moments, equation, fit.w - fit.p, fit.v)
        + fit.sparsity * np.abs(fit.w).sum()
        + lam * overlap @ overlap
        + regularization.magnitude * residual_square(moments, fit)
        + rho * fit.v @ fit.v
    )
