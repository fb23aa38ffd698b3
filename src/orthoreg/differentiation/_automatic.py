"""The default: the sliding polynomial that the data itself prefers."""

from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float

from .._registry import part
from ..data import Dataset
from ._differentiator import AbstractDifferentiator
from ._finite_difference import FiniteDifference
from ._local_polynomial import LocalPolynomial, SavitzkyGolay, local_weights

_CANDIDATES = (
    (5, 3), (7, 3), (9, 3), (13, 3), (19, 3), (27, 3), (41, 3), (61, 3),
    (7, 5), (9, 5), (13, 5), (19, 5), (27, 5), (41, 5), (61, 5),
)  # fmt: skip
_MOST_ROWS = 2000
_ALONE = 1 - 1e-6  # own weight of a row that the rest of its window says nothing about


@part
@final
@dataclass(frozen=True)
class Automatic(AbstractDifferentiator):
    """The sliding polynomial (window and degree) that best predicts points left out.

    Clean data gets a short window of high order, noisy data a long one; unequal steps are
    fitted on their true times. Runs of three or four points, and samples in such bursts that
    no polynomial can be fitted, get `FiniteDifference`; they do not bind the others.
    """

    @property
    def min_points(self) -> int:
        return 3

    def slopes(self, data: Dataset) -> Float[np.ndarray, "N n"]:
        return self.rule(data).slopes(data)

    def coarser(self) -> AbstractDifferentiator | None:
        return None

    def rule(self, data: Dataset) -> AbstractDifferentiator:
        short = data.run_lengths < _CANDIDATES[0][0]
        if short.all():
            return FiniteDifference()
        if short.any():
            return LongAndShort(self.rule(data[~short]), FiniteDifference())
        shortest = int(data.run_lengths.min())
        fitting = [(window, degree) for window, degree in _CANDIDATES if window <= shortest]
        varies = np.ptp(data.states, axis=0) > 0
        spread = np.where(varies, data.states.std(axis=0), np.inf)
        errors = [left_out_error(data, window, degree, spread) for window, degree in fitting]
        if not np.isfinite(errors).any():
            return FiniteDifference()
        window, degree = fitting[int(np.argmin(errors))]
        exact = data.has_equal_steps(tolerance=1e-9).all()
        return (SavitzkyGolay if exact else LocalPolynomial)(window, degree)


@final
@dataclass(frozen=True)
class LongAndShort(AbstractDifferentiator):
    """One rule for runs that are long enough for it, another for the others."""

    long: AbstractDifferentiator
    short: AbstractDifferentiator

    @property
    def min_points(self) -> int:
        return self.short.min_points

    def slopes(self, data: Dataset) -> Float[np.ndarray, "N n"]:
        result = np.empty_like(data.states)
        is_long = data.run_lengths >= self.long.min_points
        for rule, runs in ((self.long, is_long), (self.short, ~is_long)):
            if runs.any():
                result[runs[data.run_of_row]] = rule.slopes(data[runs])
        return result

    def rule(self, data: Dataset) -> AbstractDifferentiator:
        return self

    def coarser(self) -> AbstractDifferentiator | None:
        coarser = self.long.coarser()
        return None if coarser is None else LongAndShort(coarser, self.short)


def left_out_error(
    data: Dataset, window: int, degree: int, spread: Float[np.ndarray, " n"]
) -> float:
    """Mean squared error of predicting a row from the others of its window, relative to `spread`.

    For a linear fit with own weight h the left-out error is (y - fit) / (1 - h).
    """
    rows = np.unique(np.linspace(0, data.n_samples - 1, _MOST_ROWS).astype(int))
    weights, members = local_weights(data, rows, window, degree, derivative=0)
    fitted = np.einsum("bw,bwn->bn", weights, data.states[members])
    own = weights[np.arange(len(rows)), rows - members[:, 0]]
    if (own > _ALONE).any():
        return np.inf
    errors = (data.states[rows] - fitted) / (1 - own)[:, None]
    return float(np.mean((errors / spread) ** 2))
