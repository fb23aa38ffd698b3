"""Finite differences, plain and after the paper's smoothing."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from jaxtyping import Float

from .._errors import InputError
from .._registry import part
from ..data import Dataset
from ._differentiator import (
    AbstractDifferentiator,
    blocks,
    check_equal_steps,
    near_ends,
    windows,
)
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
    result = np.empty_like(values)
    with np.errstate(all="ignore"):  # windows over the border of two runs, mended below
        for first, last in blocks(data, 3):
            members = [slice(first + j, last + j) for j in range(3)]
            result[members[1]] = _parabola_slope(data.times, values, members[1], members)
    rows = near_ends(data, 3)
    start, _ = windows(data, 3, rows)
    result[rows] = _parabola_slope(data.times, values, rows, [start, start + 1, start + 2])
    return result


def _parabola_slope(
    times: Float[np.ndarray, " N"], values: Float[np.ndarray, "N n"], at: Any, members: list[Any]
) -> Float[np.ndarray, "B n"]:
    """Slopes at these rows, of which each has three members of its window."""
    t = times[at]
    total: Any = 0.0
    for j, k, m in ((0, 1, 2), (1, 0, 2), (2, 0, 1)):
        tj, tk, tm = (times[members[i]] for i in (j, k, m))
        weight = (2 * t - tk - tm) / ((tj - tk) * (tj - tm))
        total = total + weight[:, None] * values[members[j]]
    return total
