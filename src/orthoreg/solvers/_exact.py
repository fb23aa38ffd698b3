"""`Exact`: the global minimiser of the objective, from moments alone."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from jaxtyping import Float

from .._progress import track
from .._typing import Mask
from ..moments import Moments
from ._equation import Problem
from ._held_out import RIDGES, HeldOut
from ._lasso import lasso
from ._rank import independent_terms
from ._reduction import Reduction, Spectrum
from ._result import FitResult, Strengths


@final
@dataclass(frozen=True)
class Exact:
    """Solves the objective exactly; the residual must be linear in what is learned.

    J = |y - Phi w - Psi v|^2_D + mu |w|_1 + lam |Phi'Psi v / N|^2 + lam2 |Psi v|^2_D + rho |v|^2,
    equation by equation. With the defaults that is J as it stands, in the units of the data.

    `normalize` measures every feature and target in units of its own root mean square, so that
    mu, lam and lam2 mean the same for data in millimetres and in kilometres. `refit` solves a
    second time with only the terms that the first solution used and without L1: coefficients
    then carry no shrinkage, and the residual is kept orthogonal to the terms that are left. Where
    held-out data show that the library needs no residual, they choose the terms as well.
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
        """The minimiser for all samples in `folds`.

        Where there are several, they choose rho if it is None, and with `refit` whether the
        library needs a residual. `target_error` is the squared error that the targets are known
        to have: a smaller one is not worth a residual.
        """
        total = sum(folds[1:], start=folds[0])
        feature_scale = np.ones(total.n_features)
        target_scale = np.ones(total.n_targets)
        if self.normalize:
            feature_scale = _nonzero(np.sqrt(np.diag(total.A)))
            target_scale = _nonzero(np.sqrt(total.yy))
        total = total.scaled(feature_scale, target_scale)
        blur = np.zeros(total.n_targets) if target_error is None else target_error
        needs_ridge = ridge is None and total.n_basis > 0
        held_out = HeldOut(
            _splits(folds, total, feature_scale, target_scale) if needs_ridge or self.refit else (),
            blur / target_scale**2,
        )
        ridges = RIDGES if needs_ridge else (float(ridge or 0.0),)
        spectrum = Spectrum.of(total)
        equations = []
        for c, allowed in enumerate(mask):
            terms = np.flatnonzero(allowed)
            independent, dependences = independent_terms(total.A[np.ix_(terms, terms)])
            problem = Problem(c, terms, independent, strengths, self.refit)
            problem, chosen = held_out.choose(problem, ridges)
            fit = problem.solve(spectrum, chosen)
            found = tuple(dependence.of_library(terms) for dependence in dependences)
            equations.append(replace(fit, dependences=found))
        return FitResult(total, mask, strengths, feature_scale, target_scale, tuple(equations))


def _splits(
    folds: Sequence[Moments],
    total: Moments,
    feature_scale: Float[np.ndarray, " K"],
    target_scale: Float[np.ndarray, " c"],
) -> tuple[tuple[Spectrum, Moments], ...]:
    """Each fold, with the spectrum of all the others."""
    scaled = [fold.scaled(feature_scale, target_scale) for fold in folds]
    return tuple(
        (Spectrum.of(total - fold), fold)
        for fold in track(scaled, "Preparing held-out data")
        if 0 < fold.count < total.count
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
