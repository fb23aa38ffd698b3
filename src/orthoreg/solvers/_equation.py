"""One equation's problem: solved for one rho, its error and its objective from moments."""

from dataclasses import dataclass, replace
from typing import final

import numpy as np
from jaxtyping import Float, Int

from ..moments import Moments
from ._lasso import duality_gap, lasso
from ._reduction import Reduction, Spectrum
from ._result import EquationFit, Strengths

_DUST = 1e-9  # a term whose size relative to the target is below this is rounding


@final
@dataclass(frozen=True)
class Problem:
    """One equation: its terms, which of them are independent, and what to solve for."""

    equation: int
    terms: Int[np.ndarray, " k"]
    independent: Int[np.ndarray, " i"]
    strengths: Strengths
    refit: bool

    def solve(
        self, spectrum: Spectrum, ridge: float, start: Float[np.ndarray, " k"] | None = None
    ) -> EquationFit:
        """The minimiser; `start` holds the L1 solution of a similar problem, and is updated."""
        lam, mu = float(self.strengths.orthogonality), float(self.strengths.sparsity)
        reduction = Reduction.of(
            spectrum, self.equation, self.terms, float(self.strengths.magnitude), ridge
        )
        Q, r, constant = reduction.quadratic(lam)
        Q, r = Q[np.ix_(self.independent, self.independent)], r[self.independent]
        w = np.zeros(len(self.terms))
        w[self.independent] = lasso(Q, r, mu, None if start is None else start[self.independent])
        if start is not None:
            start[:] = w
        if self.refit:
            size = np.abs(w) * np.sqrt(spectrum.moments.A.diagonal()[self.terms])
            used = size > _DUST * np.sqrt(spectrum.moments.yy[self.equation])
            if mu > 0 or not used.all():
                return replace(
                    self,
                    terms=self.terms[used],
                    independent=np.arange(int(used.sum())),
                    strengths=replace(self.strengths, sparsity=0.0),
                ).solve(spectrum, ridge)
        everywhere = np.zeros(spectrum.moments.n_features)
        everywhere[self.terms] = w
        return EquationFit(
            terms=self.terms,
            w=everywhere,
            v=reduction.residual_weights(lam, w),
            p=np.zeros(spectrum.moments.n_features),
            sparsity=mu,
            ridge=ridge,
            duality_gap=duality_gap(Q, r, constant, mu, w[self.independent]),
            dependences=(),
        )

    def residual(self, spectrum: Spectrum, ridge: float, w: Float[np.ndarray, " K"]) -> EquationFit:
        """The best output layer for coefficients that are given."""
        reduction = Reduction.of(
            spectrum, self.equation, self.terms, float(self.strengths.magnitude), ridge
        )
        return EquationFit(
            terms=self.terms,
            w=w,
            v=reduction.residual_weights(float(self.strengths.orthogonality), w[self.terms]),
            p=np.zeros_like(w),
            sparsity=float(self.strengths.sparsity),
            ridge=ridge,
            duality_gap=0.0,
            dependences=(),
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
        + w @ moments.A @ w
        + 2 * w @ moments.B @ v
        + v @ moments.D @ v
    )
    return max(float(error), 0.0)


def residual_overlaps(moments: Moments, fit: EquationFit) -> Float[np.ndarray, " K"]:
    """<f_aug, theta_k>_D for every feature, from moments."""
    return moments.B @ fit.v - moments.A @ fit.p


def residual_square(moments: Moments, fit: EquationFit) -> float:
    """|f_aug|^2_D from moments."""
    square = fit.v @ moments.D @ fit.v - 2 * fit.p @ moments.B @ fit.v + fit.p @ moments.A @ fit.p
    return max(float(square), 0.0)


def objective(
    moments: Moments,
    equation: int,
    fit: EquationFit,
    strengths: Strengths,
) -> float:
    """J for one equation; an infinite lam counts nothing, its constraint being met."""
    overlap = residual_overlaps(moments, fit)[fit.terms]
    lam = 0.0 if np.isinf(strengths.orthogonality) else strengths.orthogonality
    rho = 0.0 if np.isinf(fit.ridge) else fit.ridge
    return float(
        squared_error(moments, equation, fit.w - fit.p, fit.v)
        + fit.sparsity * np.abs(fit.w).sum()
        + lam * overlap @ overlap
        + strengths.magnitude * residual_square(moments, fit)
        + rho * fit.v @ fit.v
    )
