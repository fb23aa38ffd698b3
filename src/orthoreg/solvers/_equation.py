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
            sparsity=mu,
            ridge=ridge,
            duality_gap=duality_gap(Q, r, constant, mu, w[self.independent]),
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


def objective(
    moments: Moments,
    equation: int,
    fit: EquationFit,
    strengths: Strengths,
) -> float:
    """J for one equation; an infinite lam counts nothing, its constraint being met."""
    overlap = moments.B[fit.terms] @ fit.v
    lam = 0.0 if np.isinf(strengths.orthogonality) else strengths.orthogonality
    rho = 0.0 if np.isinf(fit.ridge) else fit.ridge
    return float(
        squared_error(moments, equation, fit.w, fit.v)
        + fit.sparsity * np.abs(fit.w).sum()
        + lam * overlap @ overlap
        + strengths.magnitude * fit.v @ moments.D @ fit.v
        + rho * fit.v @ fit.v
    )
