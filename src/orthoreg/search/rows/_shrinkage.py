"""`Shrinkage` and `Thresholding` select terms whose coefficients remain large under a penalty."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from jaxtyping import Float, Int

from ..._common.errors import InputError
from ..._common.registry import part
from ...solving import (
    RIDGES,
    EquationProblem,
    HeldOut,
    Moments,
    QuadraticProblem,
    Spectrum,
    Task,
    fold_moments,
    gather,
    no_basis,
    scales,
    squared_error,
)
from . import _limits as limits
from ._search import elimination, growth
from ._selection import AbstractSelection, SelectionResult, check_whole


@part
@final
@dataclass(frozen=True)
class Shrinkage(AbstractSelection):
    """Select terms by an L1 norm of the coefficients in the presence of a residual.

    Terms and residual are estimated jointly, in units of root mean squares, with the rho that best
    predicts held-out rows. A library is complete if it predicts held-out rows as well as terms and
    residual together. Its terms are then selected by elimination and growth, because L1 is
    unreliable for correlated terms. The selected terms are estimated again without L1, so
    coefficients are not shrunk.
    """

    def select(self, task: Task) -> SelectionResult:
        rows = task.linear_rows("sparsity=...")
        folds = fold_moments(task, rows)
        total = sum(folds[1:], start=folds[0])
        sizes = scales(total, True)
        total = total.scaled(*sizes)
        held_out = HeldOut.of(
            [fold.scaled(*sizes) for fold in folds], rows.target_mse / sizes[1] ** 2
        )
        spectrum = Spectrum.of(total)
        needs_ridge = task.ridge is None and task.basis.size > 0
        ridges = RIDGES if needs_ridge else (float(task.ridge or 0.0),)
        support = np.zeros_like(task.support)
        for c, allowed in enumerate(task.support):
            problem = EquationProblem.of(total, c, allowed, task.regularization)
            support[c, _terms(problem, held_out, spectrum, ridges)] = True
        return SelectionResult(support, library=None, folds=folds)


def _terms(
    problem: EquationProblem, held_out: HeldOut, spectrum: Spectrum, ridges: Sequence[float]
) -> Int[np.ndarray, " k"]:
    """Return the terms of one equation: those of a complete library, or else those that L1
    selects.
    """
    errors = np.stack(
        [[_held_out_error(problem, held_out, j, rho) for j in range(len(held_out.splits))]
         for rho in ridges]
    )  # fmt: skip
    if len(held_out.splits) < 2:
        return _terms_of_l1(problem, spectrum, ridges[-1])
    hybrid = errors[np.argmin(errors.mean(axis=1))] if len(ridges) > 1 else None
    complete = _complete_terms(problem, held_out, hybrid)
    if complete is not None:
        return complete
    good = held_out.as_good_as_best(errors, problem.equation)
    return _terms_of_l1(problem, spectrum, ridges[np.flatnonzero(good)[-1]])


def _terms_of_l1(
    problem: EquationProblem, spectrum: Spectrum, ridge: float
) -> Int[np.ndarray, " k"]:
    """Return the terms that are nonzero in the L1 solution."""
    moments = spectrum.moments
    w = problem.solve(spectrum, ridge).w[problem.terms]
    size = np.abs(w) * np.sqrt(moments.A.diagonal()[problem.terms])
    return problem.terms[size > limits.NEGLIGIBLE_TERM * np.sqrt(moments.yy[problem.equation])]


def _held_out_error(problem: EquationProblem, held_out: HeldOut, fold: int, ridge: float) -> float:
    """Return the squared error on a fold of the terms that L1 selects on the other folds.

    Their coefficients are estimated again without L1.
    """
    train, test = held_out.splits[fold]
    terms = _terms_of_l1(problem, train, ridge)
    refit = replace(
        problem,
        terms=terms,
        independent=np.arange(len(terms)),
        regularization=replace(problem.regularization, sparsity=0.0),
    ).solve(train, ridge)
    return squared_error(test, problem.equation, refit.w, refit.v)


def _complete_terms(
    problem: EquationProblem, held_out: HeldOut, hybrid: Float[np.ndarray, " fold"] | None
) -> Int[np.ndarray, " k"] | None:
    """Return the smallest set of terms that predicts as well as any other set.

    Return None if the library needs a residual.

    `hybrid` are the errors of terms and residual together. Without a residual, the library is
    complete if it misses less than `COMPLETE_LIBRARY_ERROR` of the squared target.
    """
    terms, equation = problem.terms[problem.independent], problem.equation
    if not 0 < len(terms) <= limits.MAX_TERMS_COMPLETE:
        return None
    train, test = held_out.splits[0]
    total = train.moments + test
    choices = elimination(total, terms, equation)
    choices += growth(total, terms, equation, limits.MAX_TERMS_GROWN)
    errors = np.stack([_symbolic_errors(held_out, chosen, equation) for chosen in choices])
    library = errors[np.argmin(errors.mean(axis=1))]
    if hybrid is None:
        limit = max(
            limits.COMPLETE_LIBRARY_ERROR * held_out.size(equation), held_out.target_mse[equation]
        )
        is_complete = library.mean() <= limit
    else:
        is_complete = (
            library.mean() <= limits.RESIDUAL_GAIN * hybrid.mean()
            or held_out.as_good_as_best(np.stack([library, hybrid]), equation)[0]
        )
    if not is_complete:
        return None
    good = np.flatnonzero(held_out.as_good_as_best(errors, equation))
    return choices[min(good, key=lambda i: (len(choices[i]), errors[i].mean()))]


def _symbolic_errors(
    held_out: HeldOut, terms: Int[np.ndarray, " k"], equation: int
) -> Float[np.ndarray, " fold"]:
    """Return the errors on each fold of least squares with these terms on the other folds."""
    errors = np.zeros(len(held_out.splits))
    for j, (train, test) in enumerate(held_out.splits):
        moments = train.moments
        w = np.zeros(test.n_features)
        A = moments.A[np.ix_(terms, terms)]
        w[terms] = QuadraticProblem(A, moments.a[terms, equation]).solve()
        errors[j] = squared_error(test, equation, w, np.zeros(test.n_basis))
    return errors


@part
@final
@dataclass(frozen=True)
class Thresholding(AbstractSelection):
    """Sequentially thresholded least squares (STLSQ) on the Gram matrix.

    Terms with coefficients smaller than `threshold` are removed repeatedly from a ridge regression
    with weight `alpha` on the sum of squares. `normalize` scales terms and targets by their root
    mean square, so that the threshold is dimensionless.
    """

    threshold: float = 0.045
    alpha: float = 0.05
    rounds: int = 20
    normalize: bool = False

    def __post_init__(self):
        for name in ("threshold", "alpha"):
            value = getattr(self, name)
            if not isinstance(value, int | float | np.number) or not 0 <= value < np.inf:
                raise InputError(f"{name} must be finite and at least 0; got {value!r}.")
        check_whole("rounds", self.rounds, 1)

    def select(self, task: Task) -> SelectionResult:
        rows = task.linear_rows("Thresholding()")
        (library,) = gather(task.features, no_basis, rows)
        scaled = library.scaled(*scales(library, self.normalize))
        chosen = [self._terms(scaled, c, row) for c, row in enumerate(task.support)]
        support = np.zeros_like(task.support)
        for row, terms in zip(support, chosen, strict=True):
            row[terms] = True
        return SelectionResult(support, library=library)

    def _terms(self, moments: Moments, equation: int, allowed: np.ndarray) -> np.ndarray:
        terms = np.flatnonzero(allowed)
        for _ in range(self.rounds):
            is_large = np.abs(self._ridge(moments, equation, terms)) >= self.threshold
            terms = terms[is_large]
            if is_large.all():
                break
        return terms

    def _ridge(self, moments: Moments, equation: int, terms: np.ndarray) -> Float[np.ndarray, " k"]:
        A = moments.A[np.ix_(terms, terms)] + self.alpha / moments.count * np.eye(len(terms))
        return QuadraticProblem(A, moments.a[terms, equation]).solve()
