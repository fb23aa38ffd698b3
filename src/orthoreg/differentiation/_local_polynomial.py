"""Polynomials fitted to a sliding window: Savitzky-Golay on equal steps, and on any steps."""

from dataclasses import dataclass
from numbers import Integral
from typing import final

import numpy as np
from jaxtyping import Float

from .._errors import InputError
from .._registry import part
from ..data import Dataset
from ..smoothing import equal_step_slopes, local_values
from ._differentiator import AbstractDifferentiator, check_equal_steps


@part
@final
@dataclass(frozen=True)
class SavitzkyGolay(AbstractDifferentiator):
    """Slope of a polynomial fitted to each window of equally spaced points.

    Near the ends of a run the first or last full window serves. Refuses unequal steps.

    Parameters
    ----------
    window
        points of a window, an odd number.
    degree
        of the polynomial.

    Examples
    --------
    >>> import numpy as np, orthoreg as og
    >>> t = np.linspace(0, 6, 121)
    >>> model = og.OrthoReg("poly(1)", og.Zero(), loss=og.VectorField(og.SavitzkyGolay(7, 3)))
    >>> model.fit(np.exp(-t)[:, None], t=t).equations(2)
    ["x0' = -1.0 x0"]
    """

    window: int
    degree: int

    def __post_init__(self):
        check_window(self.window, self.degree, "SavitzkyGolay")

    @property
    def min_points(self) -> int:
        return self.window

    def slopes(self, data: Dataset) -> Float[np.ndarray, "N n"]:
        check_equal_steps(data, self)
        return equal_step_slopes(data.times, data.states, data.offsets, self.window, self.degree)

    def rule(self, data: Dataset) -> AbstractDifferentiator:
        return self

    def coarser(self) -> AbstractDifferentiator | None:
        return SavitzkyGolay(self.window + 2, self.degree)


@part
@final
@dataclass(frozen=True)
class LocalPolynomial(AbstractDifferentiator):
    """Savitzky-Golay for any steps: each row has its own fit, on its true times.

    Parameters
    ----------
    window
        points of a window, an odd number.
    degree
        of the polynomial.

    Examples
    --------
    >>> import numpy as np, orthoreg as og
    >>> t = np.linspace(0, 6, 121)
    >>> model = og.OrthoReg("poly(1)", og.Zero(), loss=og.VectorField(og.LocalPolynomial(7, 3)))
    >>> model.fit(np.exp(-t)[:, None], t=t).equations(2)
    ["x0' = -1.0 x0"]
    """

    window: int
    degree: int

    def __post_init__(self):
        check_window(self.window, self.degree, "LocalPolynomial")

    @property
    def min_points(self) -> int:
        return self.window

    def slopes(self, data: Dataset) -> Float[np.ndarray, "N n"]:
        return local_values(
            data.times, data.states, data.offsets, self.window, self.degree, derivative=1
        )

    def rule(self, data: Dataset) -> AbstractDifferentiator:
        return self

    def coarser(self) -> AbstractDifferentiator | None:
        return LocalPolynomial(self.window + 2, self.degree)


def check_window(window: int, degree: int, who: str) -> None:
    """Refuses windows that cannot hold the polynomial."""
    whole = isinstance(window, Integral) and isinstance(degree, Integral)
    if not whole or not 1 <= degree < window:
        raise InputError(
            f"{who} needs whole numbers with 1 <= degree < window; "
            f"got window={window!r}, degree={degree!r}."
        )
