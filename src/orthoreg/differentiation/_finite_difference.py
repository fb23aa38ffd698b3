"""Finite differences, plain and after the paper's smoothing."""

from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float

from .._errors import InputError
from .._registry import part
from ..data import Dataset
from ..smoothing import equal_step_weights, parabola_slopes, weighted_sum
from ._differentiator import AbstractDifferentiator, check_equal_steps
from ._local_polynomial import LocalPolynomial, check_window


@part
@final
@dataclass(frozen=True)
class FiniteDifference(AbstractDifferentiator):
    """Second-order differences for equal and unequal steps: the slope of the parabola through
    three neighbours, one-sided at the ends of a run.

    Examples
    --------
    >>> import numpy as np, orthoreg as og
    >>> t = np.linspace(0, 6, 121)
    >>> model = og.OrthoReg("poly(1)", og.Zero(), loss=og.VectorField(og.FiniteDifference()))
    >>> model.fit(np.exp(-t)[:, None], t=t).equations(2)
    ["x0' = -1.0 x0"]
    """

    @property
    def min_points(self) -> int:
        return 3

    def slopes(self, data: Dataset) -> Float[np.ndarray, "N n"]:
        return parabola_slopes(data.times, data.states, data.offsets)

    def rule(self, data: Dataset) -> AbstractDifferentiator:
        return self

    def coarser(self) -> AbstractDifferentiator | None:
        return LocalPolynomial(5, 2)


@part
@final
@dataclass(frozen=True)
class SmoothedFiniteDifference(AbstractDifferentiator):
    """The paper's targets: Savitzky-Golay smoothing of the states, then second-order differences.

    Needs equal steps.

    Parameters
    ----------
    window
        points of the smoother, as in the paper.
    degree
        of its polynomial, PySINDy's default.

    Examples
    --------
    >>> import numpy as np, orthoreg as og
    >>> t = np.linspace(0, 6, 121)
    >>> loss = og.VectorField(og.SmoothedFiniteDifference())
    >>> model = og.OrthoReg("poly(1)", og.Zero(), loss=loss)
    >>> model.fit(np.exp(-t)[:, None], t=t).equations(2)
    ["x0' = -1.0 x0"]
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
        smooth = weighted_sum(data.states, data.offsets, weights)
        return parabola_slopes(data.times, smooth, data.offsets)

    def rule(self, data: Dataset) -> AbstractDifferentiator:
        return self

    def coarser(self) -> AbstractDifferentiator | None:
        return SmoothedFiniteDifference(self.window + 2, self.degree)
