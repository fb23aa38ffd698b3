"""One equation's problem: solved for one rho, its error and its objective from moments."""

from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float, Int

from ._linear import independent_terms
from ._moments import Moments
from ._problem import QuadraticProblem
from ._reduction import Reduction, Spectrum
from ._result import EquationFit, Regularization


@final
@dataclass(frozen=True)
class EquationProblem:
    """One equation: its terms, which of them are independent, and what to solve for."""

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
        """The problem with these terms; those that others span on the data stay zero, but not
        those that come `first`."""
        terms = np.flatnonzero(support)
        if first is None:
            independent, _ = independent_terms(moments.A[np.ix_(terms, terms)])
            return cls(equation, terms, independent, regularization)
        order = np.argsort(~first[terms], kind="stable")
        ordered = terms[order]
        independent, _ = independent_terms(moments.A[np.ix_(ordered, ordered)])
        kept = np.union1d(order[independent], np.flatnonzero(first[terms]))
        return cls(equation, terms, kept.astype(np.int64), regularization)

    def solve(
        self, spectrum: Spectrum, ridge: float, start: Float[np.ndarray, " k"] | None = None
    ) -> EquationFit:
        """The minimiser; `start` holds the L1 solution of a similar problem, and is updated."""
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
        """The residual minimised out: the problem in the independent terms, and its constant."""
        lam, mu = float(self.regularization.orthogonality), float(self.regularization.sparsity)
        reduction = self._reduction(spectrum, ridge)
        Q, r, constant = reduction.quadratic(lam)
        return reduction, QuadraticProblem(Q, r, mu).only(self.independent), constant

    def residual(self, spectrum: Spectrum, ridge: float, w: Float[np.ndarray, " K"]) -> EquationFit:
        """The best output layer for coefficients that are given."""
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
        """The solution among so many features."""
        everywhere = np.zeros(n_features)
        everywhere[self.terms] = w
        return EquationFit(
            terms=self.terms,
            w=everywhere,
            v=v,
            p=np.zeros_like(everywhere),
            sparsity=float(self.regularization.sparsity),
            ridge=ridge,
            duality_gap=gap,
            dependences=(),
            active=active,
        )


def squared_error(
    moments: Moments,
    equation: int,
    w: Float[np.ndarray, " K"],
    v: Float[np.ndarray, " H"],
) -> float:
    """|y - Phi w - Psi v|^2_D from moments."""
    error = (
        moments.yy[equation]
        - 2 * (moments.a[:, equation] @ w + moments.d[:, equation] @ v)
        + quadratic_form(moments.A, w)
        + 2 * w @ moments.B @ v
        + v @ moments.D @ v
    )
    return max(float(error), 0.0)


def residual_overlaps(moments: Moments, fit: EquationFit) -> Float[np.ndarray, " K"]:
    """<f_aug, theta_k>_D for every feature, from moments."""
    used = np.flatnonzero(fit.p)
    return moments.B @ fit.v - moments.A[:, used] @ fit.p[used]


def residual_square(moments: Moments, fit: EquationFit) -> float:
    """|f_aug|^2_D from moments."""
    square = fit.v @ moments.D @ fit.v - 2 * fit.p @ moments.B @ fit.v
    return max(float(square + quadratic_form(moments.A, fit.p)), 0.0)


def quadratic_form(A: Float[np.ndarray, "K K"], w: Float[np.ndarray, " K"]) -> float:
    """w'Aw, of the few terms that w has."""
    used = np.flatnonzero(w)
    return float(w[used] @ A[np.ix_(used, used)] @ w[used])


def objective(
    moments: Moments,
    equation: int,
    fit: EquationFit,
    regularization: Regularization,
) -> float:
    """J for one equation; an infinite lam counts nothing, its constraint being met."""
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
