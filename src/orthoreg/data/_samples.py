"""`Samples`: what a solver sees, points of state space with a target at each."""

from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float, Int


@final
@dataclass(frozen=True, eq=False)
class Samples:
    """Variables (states, then inputs) and targets, row by row, with the run each row is from.

    `target_error` is the mean squared error that each target is known to have.
    """

    variables: Float[np.ndarray, "N V"]
    targets: Float[np.ndarray, "N c"]
    run_of_row: Int[np.ndarray, " N"]
    target_error: Float[np.ndarray, " c"]

    def folds(self, count: int) -> Int[np.ndarray, " N"]:
        """A fold number for each row: whole runs where there are enough, else stretches of rows."""
        n_runs = int(self.run_of_row[-1]) + 1
        if n_runs >= count:
            return self.run_of_row % count
        return np.arange(len(self.targets)) * count // len(self.targets)
