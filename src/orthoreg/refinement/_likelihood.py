"""What is kept of a field that was matched to trajectories, and how likely its misfit is."""

from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np
from jaxtyping import Float

from .._field import HybridField
from ._limits import EXCESS

_TEMPERED = 60  # values that count where the misfit is more than twice the noise


@final
class Noise(NamedTuple):
    """The variance of each state's noise, and the rows that tell as much as one."""

    variance: np.ndarray
    time: np.ndarray


@final
@dataclass(frozen=True, eq=False)
class Match:
    """A field whose constants follow the trajectories, its score (lower is better), the states
    of all rows as it has them on segments of `length` steps, and its largest misfit in variances
    of a state's noise.

    `coloured` is the noise of each state where it is correlated from row to row, and was judged by
    trajectories. `inclusion` is the probability of each term of each equation.
    """

    field: HybridField
    score: float
    states: Float[np.ndarray, "N n"]
    misfit: float
    length: int = 4
    coloured: Noise | None = None
    inclusion: Float[np.ndarray, "c K"] | None = None

    @property
    def leaves_noise(self) -> bool:
        """Whether the misfit is that of the noise, white or correlated."""
        return self.misfit < EXCESS

    @property
    def leaves_white_noise(self) -> bool:
        return self.leaves_noise and self.coloured is None


def misfit(ratio: float, rows: float) -> float:
    """The negative log likelihood of residuals whose variance is `ratio` times the noise's, but
    for a constant. Beyond twice the noise something is missing, and neighbouring residuals are
    alike: only so many count there."""
    ratio = max(ratio, 1e-12)
    within = rows / 2 * np.log(min(ratio, 2.0))
    return float(within + min(rows, _TEMPERED) / 2 * np.log(max(ratio / 2, 1.0)))
