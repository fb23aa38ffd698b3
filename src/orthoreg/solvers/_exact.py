"""`Exact`: the global minimiser of the objective, from moments alone."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from jaxtyping import Float

from .._errors import InputError
from .._progress import track
from .._typing import Mask
from ..moments import Moments, gather
from ._equation import Problem, squared_error
from ._held_out import RIDGES, HeldOut
from ._lasso import lasso
from ._rank import independent_terms
from ._reduction import Reduction, Spectrum
from ._result import FitResult, Strengths
from ._solver import AbstractSolver, Solution, Task

_FOLDS = 5


@final
@dataclass(frozen=True)
class Exact(AbstractSolver):
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

    def fit_all(self, tasks: Sequence[Task]) -> list[Solution]:
        """The minimiser for each task, from one pass over its samples."""
        return [self._fit(task) for task in tasks]

    def check(self, task: Task) -> None:
        """Refuses what is not quadratic in what is learned."""
        if not task.loss.is_quadratic:
            raise InputError(
                f"Exact() minimises the error of derivatives and cannot minimise "
                f"loss={task.loss!r}. Use loss=VectorField() or solver=Adam()."
            )
        if task.basis.composed:
            raise InputError(
                "Exact() needs a residual that is added to the equations; a Composed network "
                "needs solver=Adam()."
            )

    def _fit(self, task: Task) -> Solution:
        self.check(task)
        samples = task.samples
        count = min(_FOLDS, len(samples.targets))
        rule = samples.outward_folds if task.is_chosen else samples.folds
        folds = gather(task.features, task.basis, samples, folds=count, fold_of_row=rule(count))
        if task.fixed is not None:
            return Solution(self._solve_residual(folds, task), task.basis)
        solver = replace(self, refit=False) if task.is_chosen else self
        result = solver.solve(folds, task.allowed, task.strengths, task.ridge, samples.target_error)
        return Solution(result, task.basis)

    def _solve_residual(self, folds: Sequence[Moments], task: Task) -> FitResult:
        """The best output layer for coefficients that are given."""
        total = sum(folds[1:], start=folds[0])
        feature_scale, target_scale = scales(total, self.normalize)
        total = total.scaled(feature_scale, target_scale)
        assert task.fixed is not None
        given = task.fixed * feature_scale / target_scale[:, None]
        spectrum = Spectrum.of(total)
        splits = _splits(folds, total, feature_scale, target_scale) if task.ridge is None else ()
        equations = []
        for c, (w, allowed) in enumerate(zip(given, task.allowed, strict=True)):
            terms = np.flatnonzero(allowed)
            problem = Problem(c, terms, np.arange(len(terms)), task.strengths, False)
            ridge = task.ridge
            if ridge is None:
                errors = [
                    sum(
                        squared_error(fold, c, w, problem.residual(train, rho, w).v)
                        for train, fold in splits
                    )
                    for rho in RIDGES
                ]
                ridge = float(RIDGES[int(np.argmin(errors))])
            _, dependences = independent_terms(total.A[np.ix_(terms, terms)])
            found = tuple(dependence.of_library(terms) for dependence in dependences)
            equations.append(replace(problem.residual(spectrum, ridge, w), dependences=found))
        return FitResult(
            total, task.features.mask, task.strengths, feature_scale, target_scale, tuple(equations)
        )

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
        feature_scale, target_scale = scales(total, self.normalize)
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
    moments: Moments | Spectrum,
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
    spectrum = moments if isinstance(moments, Spectrum) else Spectrum.of(moments)
    moments = spectrum.moments
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


def scales(
    moments: Moments, normalize: bool
) -> tuple[Float[np.ndarray, " K"], Float[np.ndarray, " c"]]:
    """The root mean squares of features and targets; ones, unless they are to be normalised."""
    if not normalize:
        return np.ones(moments.n_features), np.ones(moments.n_targets)
    return _nonzero(np.sqrt(np.diag(moments.A))), _nonzero(np.sqrt(moments.yy))


def _nonzero(scale: np.ndarray) -> np.ndarray:
    return np.where(scale > 0, scale, 1.0)
