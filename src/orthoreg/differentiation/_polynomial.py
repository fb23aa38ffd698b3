"""Slopes of sliding polynomials: through three points, Savitzky-Golay on equal steps, on any steps,
and the one that the data prefer."""

from dataclasses import dataclass
from numbers import Integral
from typing import final

import numpy as np
from jaxtyping import Float

from .._common.errors import InputError
from .._common.registry import part
from ..data import Dataset
from ..smoothing import (
    FEWEST_POINTS,
    equal_step_weights,
    parabola_slopes,
    sliding_fit,
    weighted_sum,
)
from ._differentiator import AbstractDifferentiator, check_equal_steps


@dataclass(frozen=True)
class AbstractSlidingPolynomial(AbstractDifferentiator):
    """The slope of a polynomial of this degree fitted to a window of so many points."""

    window: int
    degree: int

    def __post_init__(self):
        check_window(self.window, self.degree, type(self).__name__)

    @property
    def min_points(self) -> int:
        return self.window

    def coarser(self) -> AbstractDifferentiator | None:
        return type(self)(self.window + 2, self.degree)


@part
@final
@dataclass(frozen=True)
class SavitzkyGolay(AbstractSlidingPolynomial):
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

    def slopes(self, data: Dataset) -> Float[np.ndarray, "N n"]:
        check_equal_steps(data, self)
        return sliding_fit(
            data.times, data.states, data.offsets, self.window, self.degree, derivative=1,
            tolerance=1.0,
        )  # fmt: skip


@part
@final
@dataclass(frozen=True)
class LocalPolynomial(AbstractSlidingPolynomial):
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

    def slopes(self, data: Dataset) -> Float[np.ndarray, "N n"]:
        return sliding_fit(
            data.times, data.states, data.offsets, self.window, self.degree, derivative=1
        )


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

    def coarser(self) -> AbstractDifferentiator | None:
        return SmoothedFiniteDifference(self.window + 2, self.degree)


@part
@final
@dataclass(frozen=True)
class Automatic(AbstractDifferentiator):
    """The sliding polynomial (window and degree) that best predicts points left out.

    Clean data gets a short window of high order, noisy data a long one; unequal steps are
    fitted on their true times. Runs of three or four points, and samples in such bursts that
    no polynomial can be fitted, get `FiniteDifference`; they do not bind the others. States that
    were estimated from others, as velocities are, do not take part in the choice.

    Examples
    --------
    >>> import numpy as np, orthoreg as og
    >>> t = np.linspace(0, 6, 121)
    >>> model = og.OrthoReg("poly(1)", og.Zero(), loss=og.VectorField(og.Automatic()))
    >>> model.fit(np.exp(-t)[:, None], t=t).equations(2)
    ["x0' = -1.0 x0"]
    """

    @property
    def min_points(self) -> int:
        return 3

    def slopes(self, data: Dataset) -> Float[np.ndarray, "N n"]:
        return self.rule(data).slopes(data)

    def rule(self, data: Dataset) -> AbstractDifferentiator:
        choice = data.plan.polynomial
        if choice is None:
            return FiniteDifference()
        rule, short = LocalPolynomial(*choice), data.run_lengths < FEWEST_POINTS
        return LongAndShort(rule, FiniteDifference()) if short.any() else rule


@final
@dataclass(frozen=True, eq=False)
class Settled(AbstractDifferentiator):
    """A rule that was chosen on some of the runs, for all of them, with the systematic error that
    it has there."""

    chosen: AbstractDifferentiator
    error: Float[np.ndarray, " n"]

    @classmethod
    def on(cls, rule: AbstractDifferentiator, data: Dataset) -> "Settled":
        """What a rule becomes on these runs."""
        chosen = rule.rule(data)
        return cls(chosen, chosen.systematic_error(data, chosen.slopes(data)))

    @property
    def min_points(self) -> int:
        return self.chosen.min_points

    def slopes(self, data: Dataset) -> Float[np.ndarray, "N n"]:
        return self.chosen.slopes(data)

    def coarser(self) -> AbstractDifferentiator | None:
        return self.chosen.coarser()

    def systematic_error(self, data, slopes) -> Float[np.ndarray, " n"]:
        return self.error


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

    def coarser(self) -> AbstractDifferentiator | None:
        coarser = self.long.coarser()
        return None if coarser is None else LongAndShort(coarser, self.short)


def check_window(window: int, degree: int, who: str) -> None:
    """Refuses windows that cannot hold the polynomial."""
    whole = isinstance(window, Integral) and isinstance(degree, Integral)
    if not whole or not 1 <= degree < window:
        raise InputError(
            f"{who} needs whole numbers with 1 <= degree < window; "
            f"got window={window!r}, degree={degree!r}."
        )
