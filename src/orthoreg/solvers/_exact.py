"""`Exact`: the global minimiser of the objective, from moments alone."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from jaxtyping import Float, Int

from .._progress import track
from .._typing import Mask
from ..moments import Moments
from ._lasso import duality_gap, lasso
from ._rank import independent_terms
from ._reduction import Reduction, Spectrum
from ._result import EquationFit, FitResult, Strengths

_RIDGES = (*(10.0 ** np.arange(-12, 2)), np.inf)
_TIE = 0.05  # squared errors that differ by less, relatively, are as good as each other
_NEGLIGIBLE = 1e-10  # of the squared size of the target
_DUST = 1e-9  # a term whose size relative to the target is below this is rounding


@final
@dataclass(frozen=True)
class Exact:
    """Solves the objective exactly; the residual must be linear in what is learned.

    J = |y - Phi w - Psi v|^2_D + mu |w|_1 + lam |Phi'Psi v / N|^2 + lam2 |Psi v|^2_D + rho |v|^2,
    equation by equation. With the defaults that is J as it stands, in the units of the data.

    `normalize` measures every feature and target in units of its own root mean square, so that
    mu, lam and lam2 mean the same for data in millimetres and in kilometres. `refit` solves a
    second time with only the terms that the first solution used and without L1: coefficients
    then carry no shrinkage, and the residual is kept orthogonal to the terms that are left.
    """

    normalize: bool = False
    refit: bool = False

    def solve(
        self,
        folds: Sequence[Moments],
        mask: Mask,
        strengths: Strengths,
        ridge: float | None,
        target_error: Float[np.ndarray, " c"] | None = None,
    ) -> FitResult:
        """The minimiser for all samples in `folds`; folds serve to choose rho if it is None.

        A smaller rho is chosen only where it gains more than the squared error of the targets.
        """
        total = sum(folds[1:], start=folds[0])
        feature_scale = np.ones(total.n_features)
        target_scale = np.ones(total.n_targets)
        if self.normalize:
            feature_scale = _nonzero(np.sqrt(np.diag(total.A)))
            target_scale = _nonzero(np.sqrt(total.yy))
        total = total.scaled(feature_scale, target_scale)
        folds = [fold.scaled(feature_scale, target_scale) for fold in folds]
        spectrum = Spectrum.of(total)
        needs_ridge = ridge is None and total.n_basis > 0
        splits = (
            [
                (Spectrum.of(total - fold), fold)
                for fold in track(folds, "Preparing held-out data")
                if 0 < fold.count < total.count
            ]
            if needs_ridge
            else []
        )
        equations = []
        for c, allowed in enumerate(mask):
            terms = np.flatnonzero(allowed)
            independent, dependences = independent_terms(total.A[np.ix_(terms, terms)])
            problem = _Problem(c, terms, independent, strengths, self.refit)
            chosen = float(ridge or 0.0)
            if needs_ridge:
                blur = 0.0 if target_error is None else target_error[c] / target_scale[c] ** 2
                chosen = _choose_ridge(problem, splits, float(blur))
            fit = problem.solve(spectrum, chosen)
            equations.append(
                replace(
                    fit,
                    dependences=tuple(
                        replace(
                            found,
                            term=int(terms[found.term]),
                            others=tuple(int(terms[k]) for k in found.others),
                        )
                        for found in dependences
                    ),
                )
            )
        return FitResult(total, strengths, feature_scale, target_scale, tuple(equations))


@final
@dataclass(frozen=True)
class _Problem:
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


def _choose_ridge(problem: _Problem, splits: list[tuple[Spectrum, Moments]], blur: float) -> float:
    """The largest rho whose squared error on held-out data is as good as the least: within 5 %,
    within a standard error of their difference, within what the targets are blurred by, or within
    1e-10 of the target's square.

    rho = inf is among the candidates: where the residual does not help, there is none.
    """
    if len(splits) < 2:
        return np.inf
    errors = np.zeros((len(_RIDGES), len(splits)))
    for j, (train, held_out) in enumerate(splits):
        start = np.zeros(len(problem.terms))
        for i, ridge in enumerate(_RIDGES):
            fit = problem.solve(train, ridge, start)
            errors[i, j] = squared_error(held_out, problem.equation, fit.w, fit.v)
    best = errors[np.argmin(errors.mean(axis=1))]
    excess = errors - best
    doubt = excess.std(axis=1, ddof=1) / np.sqrt(len(splits))
    size = np.mean([held_out.yy[problem.equation] for _, held_out in splits])
    tie = max(_TIE * best.mean(), blur, _NEGLIGIBLE * size)
    good = excess.mean(axis=1) <= np.maximum(doubt, tie)
    return float(_RIDGES[np.flatnonzero(good)[-1]])


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


def exact_path(
    moments: Moments,
    mask: Mask,
    orthogonalities: Sequence[float],
    sparsities: Sequence[float],
    *,
    magnitude: float = 0.0,
    ridge: float = 0.0,
) -> Float[np.ndarray, "L M c K"]:
    """w for every pair of lam and mu, from one factorisation, in the units of `moments`.

    Along mu each solution starts the search for the next.
    """
    spectrum = Spectrum.of(moments)
    result = np.zeros((len(orthogonalities), len(sparsities), *mask.shape))
    order = np.argsort(sparsities)[::-1]
    for c, allowed in enumerate(mask):
        terms = np.flatnonzero(allowed)
        independent, _ = independent_terms(moments.A[np.ix_(terms, terms)])
        reduction = Reduction.of(spectrum, c, terms, magnitude, ridge)
        for i, lam in enumerate(orthogonalities):
            Q, r, _ = reduction.quadratic(lam)
            Q, r = Q[np.ix_(independent, independent)], r[independent]
            w = None
            for j in order:
                w = lasso(Q, r, float(sparsities[j]), start=w)
                result[i, j, c, terms[independent]] = w
    return result


def _nonzero(scale: np.ndarray) -> np.ndarray:
    return np.where(scale > 0, scale, 1.0)
