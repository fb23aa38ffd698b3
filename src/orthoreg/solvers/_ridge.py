"""How strong the ridge is, and whether there is a residual at all: what held-out rows decide.

Everything is computed from moments: of a fold, and of all rows without it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Bool, Float

from .._progress import track
from ..moments import Moments
from ._equation import EquationProblem, squared_error
from ._reduction import Spectrum

RIDGES = (*(10.0 ** np.arange(-12, 2)), np.inf)
"""rho to choose from; with an infinite one there is no residual."""

TIE = 0.05  # squared errors that differ by less, relatively, are as good as each other
NEGLIGIBLE = 1e-10  # of the squared size of the target: not worth a residual


@final
@dataclass(frozen=True)
class HeldOut:
    """Folds of the rows, each with the spectrum of all the others.

    `target_mse` is the mean squared error that each target is known to have.
    """

    splits: tuple[tuple[Spectrum, Moments], ...]
    target_mse: Float[np.ndarray, " c"]

    @classmethod
    def of(cls, folds: Sequence[Moments], target_mse: Float[np.ndarray, " c"]) -> "HeldOut":
        """The folds that are not empty, each held out in turn."""
        total = sum(folds[1:], start=folds[0])
        return cls(
            tuple(
                (Spectrum.of(total - fold), fold)
                for fold in track(folds, "Preparing held-out rows")
                if 0 < fold.count < total.count
            ),
            target_mse,
        )

    def ridge(
        self,
        problem: EquationProblem,
        ridges: Sequence[float] = RIDGES,
        given: Float[np.ndarray, " K"] | None = None,
    ) -> float:
        """The largest rho that does as well as any; `given` coefficients are not solved for."""
        if len(self.splits) < 2 or len(ridges) == 1:
            return float(ridges[-1])
        errors = self.errors(problem, ridges, given)
        good = self.as_good_as_best(errors, problem.equation)
        return float(ridges[np.flatnonzero(good)[-1]])

    def errors(
        self,
        problem: EquationProblem,
        ridges: Sequence[float],
        given: Float[np.ndarray, " K"] | None = None,
    ) -> Float[np.ndarray, "rho fold"]:
        """Squared errors on each fold of fits to the others."""
        errors = np.zeros((len(ridges), len(self.splits)))
        for j, (train, held_out) in enumerate(self.splits):
            start = np.zeros(len(problem.terms))
            for i, ridge in enumerate(ridges):
                if given is None:
                    fit = problem.solve(train, ridge, start)
                else:
                    fit = problem.residual(train, ridge, given)
                errors[i, j] = squared_error(held_out, problem.equation, fit.w, fit.v)
        return errors

    def as_good_as_best(
        self, errors: Float[np.ndarray, "choice fold"], equation: int
    ) -> Bool[np.ndarray, " choice"]:
        """Which rows are within 5 % of the least mean, within a standard error of the difference,
        within what the targets are known to be wrong by, or within 1e-10 of the target's square."""
        best = errors[np.argmin(errors.mean(axis=1))]
        excess = errors - best
        standard_error = excess.std(axis=1, ddof=1) / np.sqrt(len(self.splits))
        tie = max(TIE * best.mean(), self.floor(equation))
        return excess.mean(axis=1) <= np.maximum(standard_error, tie)

    def size(self, equation: int) -> float:
        """The mean square of the target."""
        return float(np.mean([held_out.yy[equation] for _, held_out in self.splits]))

    def floor(self, equation: int) -> float:
        """The squared error below which nothing is left to explain."""
        return explained_below(self.target_mse[equation], self.size(equation))


def explained_below(target_mse: float, size: float) -> float:
    """The squared error below which nothing is left to explain of a target of this mean square."""
    return max(float(target_mse), NEGLIGIBLE * size)
