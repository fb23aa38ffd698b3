"""Finite differences, plain and after the paper's smoothing."""

from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float

from .._errors import InputError
from .._registry import part
from ..data import Dataset
from ._differentiator import AbstractDifferentiator, check_equal_steps, windows
from ._local_polynomial import LocalPolynomial, check_window, equal_step_weights, weighted_sum


@part
@final
@dataclass(frozen=True)
class FiniteDifference(AbstractDifferentiator):
    """Second-order differences for equal and unequal steps: the slope of the parabola through
    three neighbours, one-sided at the ends of a run."""

    @property
    def min_points(self) -> int:
        return 3

    def slopes(self, data: Dataset) -> Float[np.ndarray, "N n"]:
        return parabola_slopes(data, data.states)

    def rule(self, data: Dataset) -> AbstractDifferentiator:
        return self

    def coarser(self) -> AbstractDifferentiator | None:
        return LocalPolynomial(5, 2)


@part
@final
@dataclass(frozen=True)
class SmoothedFiniteDifference(AbstractDifferentiator):
    """The paper's targets: Savitzky-Golay smoothing of the states, then second-order differences.

    Needs equal steps. With `window=5` as in the paper; `degree=3` is PySINDy's default.
    """

    window: int = 5
    degree: int = 3

    def __post_init__(self):
        check_window(self.window, self.degree, "SmoothedFiniteDifference")
        if self.window % 2 == 0:
            raise InputError(
                f"SmoothedFiniteDifference(window=...) must be odd; got {self.window}."
            )

    @property
    def min_points(self) -> int:
        return max(3, self.window)

    def slopes(self, data: Dataset) -> Float[np.ndarray, "N n"]:
        check_equal_steps(data, self)
        weights = equal_step_weights(self.window, self.degree, derivative=0)
        return parabola_slopes(data, weighted_sum(data, data.states, weights))

    def rule(self, data: Dataset) -> AbstractDifferentiator:
        return self

    def coarser(self) -> AbstractDifferentiator | None:
        return SmoothedFiniteDifference(self.window + 2, self.degree)


def parabola_slopes(data: Dataset, values: Float[np.ndarray, "N n"]) -> Float[np.ndarray, "N n"]:
    """Slope at each row of the parabola through its window of three.

    sum_j y_j l_j'(t) with l_j'(t) = (2t - t_k - t_m) / ((t_j - t_k)(t_j - t_m)).
    """
    start, _ = windows(data, 3)
    t = data.times
    result = np.zeros_like(values)
    for j, k, m in ((0, 1, 2), (1, 0, 2), (2, 0, 1)):
        tj, tk, tm = t[start + j], t[start + k], t[start + m]
        weight = (2 * t - tk - tm) / ((tj - tk) * (tj - tm))
        result += weight[:, None] * values[start + j]
    return result
