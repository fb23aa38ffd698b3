"""How strong the ridge is, and whether there is a residual at all: what held-out rows decide.

Everything is computed from moments: of a fold, and of all rows without it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Bool, Float

from .._common.progress import track
from ._equation import squared_error
from ._moments import Moments
from ._reduction import Spectrum
from ._system import System

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

    def ridges(
        self,
        system: System,
        ridges: Sequence[float] = RIDGES,
        given: Float[np.ndarray, "g K"] | None = None,
    ) -> list[float]:
        """For each equation the largest rho that does as well as any, the same for all where
        their residuals conserve something; `given` coefficients are not solved for."""
        places = [i for i in range(len(system.problems)) if i not in system.complete]
        found = [np.inf] * len(system.problems)
        if len(self.splits) < 2 or len(ridges) == 1 or not places:
            for i in places:
                found[i] = float(ridges[-1])
            return found
        errors = self.errors(system, ridges, given)
        together = [places] if system.kept is not None else [[i] for i in places]
        for group in together:
            floor = sum(self.floor(system.equations[i]) for i in group)
            good = self._good(errors[group].sum(axis=0), floor)
            for i in group:
                found[i] = float(ridges[np.flatnonzero(good)[-1]])
        return found

    def errors(
        self,
        system: System,
        ridges: Sequence[float],
        given: Float[np.ndarray, "g K"] | None = None,
    ) -> Float[np.ndarray, "g rho fold"]:
        """Squared errors of each equation on each fold, of fits to the others."""
        count = len(system.problems)
        errors = np.zeros((count, len(ridges), len(self.splits)))
        for j, (train, held_out) in enumerate(self.splits):
            starts = [np.zeros(len(problem.terms)) for problem in system.problems]
            for i, ridge in enumerate(ridges):
                each = [np.inf if c in system.complete else ridge for c in range(count)]
                if given is None:
                    fits = system.solve(train, each, starts)
                else:
                    fits = system.residual(train, each, given)
                for c, fit in zip(system.equations, fits, strict=True):
                    place = system.equations.index(c)
                    errors[place, i, j] = squared_error(held_out, c, fit.w, fit.v)
        return errors

    def as_good_as_best(
        self, errors: Float[np.ndarray, "choice fold"], equation: int
    ) -> Bool[np.ndarray, " choice"]:
        """Which rows are within 5% of the least mean, within a standard error of the difference,
        within what the targets are known to be wrong by, or within 1e-10 of the target's square."""
        return self._good(errors, self.floor(equation))

    def _good(
        self, errors: Float[np.ndarray, "choice fold"], floor: float
    ) -> Bool[np.ndarray, " choice"]:
        best = errors[np.argmin(errors.mean(axis=1))]
        excess = errors - best
        standard_error = excess.std(axis=1, ddof=1) / np.sqrt(len(self.splits))
        tie = max(TIE * best.mean(), floor)
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
