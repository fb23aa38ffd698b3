"""`Samples`: what a solver sees, points of state space with a target at each."""

from dataclasses import dataclass, replace
from typing import final

import numpy as np
from jaxtyping import Bool, Float, Int


@final
@dataclass(frozen=True, eq=False)
class Samples:
    """Variables (states, then inputs) and targets, row by row, with the run each row is from.

    `target_error` is the mean squared error that each target is known to have. `times` are there
    when the rows come from runs in time; they follow each other within a run. `names` are those
    of the variables, `outputs` those of the targets.
    """

    variables: Float[np.ndarray, "N V"]
    targets: Float[np.ndarray, "N c"]
    run_of_row: Int[np.ndarray, " N"]
    target_error: Float[np.ndarray, " c"]
    names: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    times: Float[np.ndarray, " N"] | None = None

    def folds(self, count: int) -> Int[np.ndarray, " N"]:
        """A fold number for each row: whole runs where there are enough, else stretches of rows."""
        n_runs = int(self.run_of_row[-1]) + 1
        if n_runs >= count:
            return self.run_of_row % count
        return np.arange(len(self.targets)) * count // len(self.targets)

    def outward_folds(self, count: int) -> Int[np.ndarray, " N"]:
        """A fold number for each row: the runs that stay nearest to the mean are in the first, and
        those that go furthest in the last. The same as `folds` where there are few runs."""
        n_runs = int(self.run_of_row[-1]) + 1
        if n_runs < 2 * count:
            return self.folds(count)
        spread = self.variables.std(axis=0)
        away = (self.variables - self.variables.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        reach = np.zeros(n_runs)
        np.maximum.at(reach, self.run_of_row, np.square(away).sum(axis=1))
        rank = np.argsort(np.argsort(reach, kind="stable"))
        return (rank * count // n_runs)[self.run_of_row]

    def at(self, rows: Int[np.ndarray, " M"]) -> "Samples":
        """These rows, in this order, which may repeat; they no longer follow each other in time."""
        return replace(
            self,
            variables=self.variables[rows],
            targets=self.targets[rows],
            run_of_row=self.run_of_row[rows],
            times=None,
        )

    def only(self, rows: Bool[np.ndarray, " N"]) -> "Samples":
        """The rows that are marked, their runs numbered anew."""
        _, runs = np.unique(self.run_of_row[rows], return_inverse=True)
        return replace(
            self,
            variables=self.variables[rows],
            targets=self.targets[rows],
            run_of_row=runs,
            times=None if self.times is None else self.times[rows],
        )
