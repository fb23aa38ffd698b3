"""What is kept of a field that was matched to trajectories, and how likely its misfit is."""

from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np
from jaxtyping import Float

from ..field.hybrid import HybridField
from ._limits import EXCESS_LEVEL, NOISE_ACCURACY, TEMPERED, TRIFLE


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
    trajectories. `inclusion` is the probability of each term of each equation. `excess` is what
    the misfit of a true model hardly exceeds.
    """

    field: HybridField
    score: float
    states: Float[np.ndarray, "N n"]
    misfit: float
    length: int = 4
    coloured: Noise | None = None
    inclusion: Float[np.ndarray, "c K"] | None = None
    excess: float = NOISE_ACCURACY

    @property
    def leaves_noise(self) -> bool:
        """Whether the misfit is that of the noise, white or correlated."""
        return self.misfit <= self.excess

    @property
    def leaves_white_noise(self) -> bool:
        return self.leaves_noise and self.coloured is None


def least_misfit(states: Float[np.ndarray, "N n"]) -> Float[np.ndarray, " n"]:
    """The mean squared misfit of each state below which none is counted."""
    return np.maximum((TRIFLE * states.std(axis=0)) ** 2, 1e-300)


def excess(rows: float) -> float:
    """The mean square of the noise in so many independent values, in variances of the noise as it
    was estimated, that is exceeded with a probability of one minus `EXCESS_LEVEL`."""
    from scipy.special import chdtri

    if not np.isfinite(rows):
        return NOISE_ACCURACY
    rows = max(rows, 1.0)
    return NOISE_ACCURACY * float(chdtri(rows, 1 - EXCESS_LEVEL)) / rows


def trajectory_score(ratio: Float[np.ndarray, " n"], rows: Float[np.ndarray, " n"]) -> float:
    """The negative log likelihood of trajectories in nats, but for a constant: lower is better.

    `ratio` is the mean squared misfit of each state in variances of its noise, `rows` the number
    of its values, or of independent ones. Beyond twice the noise something is missing, and
    neighbouring residuals are alike: only so many values count there.
    """
    ratio = np.maximum(ratio, 1e-12)
    within = rows / 2 * np.log(np.minimum(ratio, 2.0))
    beyond = np.minimum(rows, TEMPERED) / 2 * np.log(np.maximum(ratio / 2, 1.0))
    return float((within + beyond).sum())
