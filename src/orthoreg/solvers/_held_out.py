"""What held-out data decide: the weight rho, and whether the library needs a residual at all.

Everything is computed from moments: of a fold, and of all samples without it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from jaxtyping import Float, Int

from ..moments import Moments
from ._equation import Problem, squared_error
from ._reduction import Spectrum

RIDGES = (*(10.0 ** np.arange(-12, 2)), np.inf)
_TIE = 0.05  # squared errors that differ by less, relatively, are as good as each other
_NEGLIGIBLE = 1e-10  # of the squared size of the target
_WORTH = 1.25  # a residual that gains less is no sign that the library lacks something
_COMPLETE_ALONE = 1e-4  # share of the target's square that a complete library may miss
_MOST_TERMS = 150
_MOST_GROWN = 20


@final
@dataclass(frozen=True)
class HeldOut:
    """Folds of the data, each with the spectrum of all the others.

    `blur` is the mean squared error that each target is known to have.
    """

    splits: tuple[tuple[Spectrum, Moments], ...]
    blur: Float[np.ndarray, " c"]

    def choose(self, problem: Problem, ridges: Sequence[float]) -> tuple[Problem, float]:
        """The problem to solve and its rho.

        With `refit`, a library that predicts held-out data as well as terms and residual together
        is complete: its terms are then chosen by elimination and growth instead of the L1 norm.
        """
        if len(self.splits) < 2:
            return problem, ridges[-1]
        errors = self._errors_by_ridge(problem, ridges)
        if problem.refit:
            hybrid = errors[np.argmin(errors.mean(axis=1))] if len(ridges) > 1 else None
            terms = self._complete_terms(problem, hybrid)
            if terms is not None:
                problem = replace(
                    problem,
                    terms=terms,
                    independent=np.arange(len(terms)),
                    strengths=replace(problem.strengths, sparsity=0.0),
                )
                errors = self._errors_by_ridge(problem, ridges)
        good = self._as_good_as_the_best(errors, problem.equation)
        return problem, float(ridges[np.flatnonzero(good)[-1]])

    def _errors_by_ridge(
        self, problem: Problem, ridges: Sequence[float]
    ) -> Float[np.ndarray, "rho fold"]:
        """Squared errors on each fold of fits to the others."""
        errors = np.zeros((len(ridges), len(self.splits)))
        for j, (train, held_out) in enumerate(self.splits):
            start = np.zeros(len(problem.terms))
            for i, ridge in enumerate(ridges):
                fit = problem.solve(train, ridge, start)
                errors[i, j] = squared_error(held_out, problem.equation, fit.w, fit.v)
        return errors

    def _as_good_as_the_best(
        self, errors: Float[np.ndarray, "choice fold"], equation: int
    ) -> np.ndarray:
        """Which rows are within 5 % of the least mean, within a standard error of the difference,
        within what the targets are blurred by, or within 1e-10 of the target's square."""
        best = errors[np.argmin(errors.mean(axis=1))]
        excess = errors - best
        doubt = excess.std(axis=1, ddof=1) / np.sqrt(len(self.splits))
        tie = max(_TIE * best.mean(), self.blur[equation], _NEGLIGIBLE * self._size(equation))
        return excess.mean(axis=1) <= np.maximum(doubt, tie)

    def _size(self, equation: int) -> float:
        return float(np.mean([held_out.yy[equation] for _, held_out in self.splits]))

    def _complete_terms(
        self, problem: Problem, hybrid: Float[np.ndarray, " fold"] | None
    ) -> Int[np.ndarray, " k"] | None:
        """The fewest terms that do as well as any choice of them, if that needs no residual.

        `hybrid` holds the errors of terms and residual together; without a residual the library
        counts as complete when it misses less than 1e-4 of the target's square.
        """
        terms = problem.terms[problem.independent]
        if not 0 < len(terms) <= _MOST_TERMS:
            return None
        equation = problem.equation
        train, held_out = self.splits[0]
        total = train.moments + held_out
        choices = elimination(total, terms, equation) + growth(total, terms, equation)
        errors = np.stack([self._symbolic_errors(chosen, equation) for chosen in choices])
        library = errors[np.argmin(errors.mean(axis=1))]
        if hybrid is None:
            limit = max(_COMPLETE_ALONE * self._size(equation), self.blur[equation])
            complete = library.mean() <= limit
        else:
            complete = (
                library.mean() <= _WORTH * hybrid.mean()
                or self._as_good_as_the_best(np.stack([library, hybrid]), equation)[0]
            )
        if not complete:
            return None
        good = np.flatnonzero(self._as_good_as_the_best(errors, equation))
        return choices[min(good, key=lambda i: (len(choices[i]), errors[i].mean()))]

    def _symbolic_errors(
        self, terms: Int[np.ndarray, " k"], equation: int
    ) -> Float[np.ndarray, " fold"]:
        """Errors on each fold of least squares with these terms on the others."""
        errors = np.zeros(len(self.splits))
        for j, (train, held_out) in enumerate(self.splits):
            A = train.moments.A[np.ix_(terms, terms)]
            w = np.zeros(held_out.n_features)
            if len(terms):
                w[terms] = np.linalg.lstsq(A, train.moments.a[terms, equation], rcond=1e-14)[0]
            errors[j] = squared_error(held_out, equation, w, np.zeros(held_out.n_basis))
        return errors


def elimination(
    moments: Moments, terms: Int[np.ndarray, " k"], equation: int
) -> list[Int[np.ndarray, " _"]]:
    """All terms, then one fewer each time, down to none.

    Least squares without term j has a squared error that is larger by w_j^2 / (A^-1)_jj.
    """
    path = [terms]
    while len(terms):
        inverse = np.linalg.pinv(moments.A[np.ix_(terms, terms)], hermitian=True)
        w = inverse @ moments.a[terms, equation]
        terms = np.delete(terms, np.argmin(w**2 / np.maximum(np.diag(inverse), 1e-300)))
        path.append(terms)
    return path


def growth(
    moments: Moments, terms: Int[np.ndarray, " k"], equation: int
) -> list[Int[np.ndarray, " _"]]:
    """No term, then one more each time, the one that lowers the squared error most."""
    chosen = np.zeros(0, dtype=np.int64)
    path: list[np.ndarray] = []
    A, a = moments.A, moments.a[:, equation]
    while len(chosen) < min(len(terms), _MOST_GROWN):
        rest = np.setdiff1d(terms, chosen)
        inner = np.linalg.pinv(A[np.ix_(chosen, chosen)], hermitian=True) @ A[np.ix_(chosen, rest)]
        slope = a[rest] - inner.T @ a[chosen]
        size = A[rest, rest] - np.einsum("kr,kr->r", A[np.ix_(chosen, rest)], inner)
        gain = np.where(size > 1e-12 * A[rest, rest], slope**2 / np.maximum(size, 1e-300), 0.0)
        chosen = np.sort(np.append(chosen, rest[np.argmax(gain)]))
        path.append(chosen)
    return path
