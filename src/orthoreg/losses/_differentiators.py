"""Estimate derivatives of measured states by finite differences, sliding polynomials or smoothing
splines.
"""

import abc
from dataclasses import dataclass
from numbers import Integral
from typing import final

import numpy as np
from jaxtyping import Float

from .._common.errors import DataError, InputError
from .._common.registry import part
from ..data import Dataset
from ..smoothing import (
    MIN_POLYNOMIAL_ROWS,
    equal_step_weights,
    parabola_slopes,
    sliding_fit,
    weighted_sum,
)
from . import _limits as limits


class AbstractDifferentiator(abc.ABC):
    """Estimates the derivative of each state of a dataset."""

    @property
    @abc.abstractmethod
    def min_points(self) -> int:
        """The minimum number of points of a run."""

    @abc.abstractmethod
    def slopes(self, data: Dataset) -> Float[np.ndarray, "N n"]:
        """Return the derivative of the states at each row."""

    def rule(self, data: Dataset) -> "AbstractDifferentiator":
        """Return the rule used for these data. By default, this is the differentiator itself."""
        return self

    def coarser(self) -> "AbstractDifferentiator | None":
        """Return a rule of the same kind with a larger systematic error, or None."""
        return None

    def systematic_error(
        self, data: Dataset, slopes: Float[np.ndarray, "N n"]
    ) -> Float[np.ndarray, " n"]:
        """Return an estimate of the mean squared error of the slopes without the contribution of
        noise.

        The estimate is a quarter of the squared difference from the next coarser rule, or zero
        without such a rule.
        """
        coarser = self.coarser()
        if coarser is None or data.run_lengths.min() < coarser.min_points:
            return np.zeros(data.n_states)
        sample = data.sample
        difference = coarser.slopes(sample)
        difference -= slopes if sample is data else self.slopes(sample)
        return np.vecdot(difference.T, difference.T) / (4 * sample.n_samples)

    def __call__(self, data: Dataset) -> Dataset:
        """Return the dataset with estimated derivatives."""
        check_lengths(data, self.min_points, self)
        return data.with_derivatives(self.slopes(data))


def check_lengths(data: Dataset, min_points: int, differentiator: object) -> None:
    """Raise an error if a run has fewer than `min_points` points."""
    short = np.flatnonzero(data.run_lengths < min_points)
    if short.size:
        run = int(short[0])
        length = int(data.run_lengths[run])
        raise DataError(
            f"{data.source}: run {data.labels[run]} has {length} point{'s' * (length != 1)}; "
            f"{differentiator!r} needs at least {min_points} in each run. Remove the short runs "
            f"({short.size} of {data.n_runs})"
            f"{' or choose a smaller window' if hasattr(differentiator, 'window') else ''}."
        )


def check_equal_steps(data: Dataset, differentiator: object) -> None:
    """Raise an error if the time steps within a run differ."""
    unequal = np.flatnonzero(~data.has_equal_steps())
    if unequal.size:
        run = int(unequal[0])
        steps = np.diff(data.times[data.offsets[run] : data.offsets[run + 1]])
        raise DataError(
            f"{differentiator!r} needs equal time steps; those of run {data.labels[run]} range "
            f"from {steps.min():g} to {steps.max():g}. For unequal steps, use FiniteDifference(), "
            f"LocalPolynomial(window, degree), SmoothingSpline() or Automatic()."
        )


@dataclass(frozen=True)
class AbstractSlidingPolynomial(AbstractDifferentiator):
    """The slope of a polynomial fitted to a window of points."""

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

    Rows near the ends of a run use its first or last full window. Unequal steps raise an error.

    Parameters
    ----------
    window
        number of points in a window; must be odd.
    degree
        degree of the polynomial.

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
    """Slope of a polynomial fitted around each row, as in Savitzky-Golay but for arbitrary time
    steps.

    Parameters
    ----------
    window
        number of points in a window; must be odd.
    degree
        degree of the polynomial.

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
    """Second-order differences for arbitrary steps: the slope of the parabola through three points.

    At the ends of a run, differences are one-sided.

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
    """The targets of the paper: Savitzky-Golay smoothing of the states, then second-order
    differences.

    Requires equal steps.

    Parameters
    ----------
    window
        number of points in the smoothing window, as in the paper.
    degree
        degree of the smoothing polynomial; PySINDy's default.

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
    """The sliding polynomial whose window and degree best predict left-out points.

    Clean data lead to short windows and high degrees, noisy data to long windows. If steps are
    unequal, polynomials are fitted on the actual times. `FiniteDifference` is used for runs of
    three or four points, and for bursts of samples to which no polynomial can be fitted. Estimated
    states, such as velocities, do not affect the choice.

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
        rule, short = LocalPolynomial(*choice), data.run_lengths < MIN_POLYNOMIAL_ROWS
        return LongAndShort(rule, FiniteDifference()) if short.any() else rule


@final
@dataclass(frozen=True, eq=False)
class ResolvedDifferentiator(AbstractDifferentiator):
    """A rule that was chosen on a sample of the runs, with its systematic error there."""

    chosen: AbstractDifferentiator
    error: Float[np.ndarray, " n"]

    @classmethod
    def on(cls, rule: AbstractDifferentiator, data: Dataset) -> "ResolvedDifferentiator":
        """Return the rule chosen for these runs."""
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
    """One rule for runs that are long enough for it, and another rule for shorter runs."""

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


def check_window(window: int, degree: int, name: str) -> None:
    """Raise an error if a window is too small for the polynomial."""
    are_integers = isinstance(window, Integral) and isinstance(degree, Integral)
    if not are_integers or not 1 <= degree < window:
        raise InputError(
            f"{name} needs whole numbers with 1 <= degree < window; "
            f"got window={window!r}, degree={degree!r}."
        )


@part
@final
@dataclass(frozen=True)
class SmoothingSpline(AbstractDifferentiator):
    """Slope of the cubic spline s that minimizes sum (y - s)^2 + smoothing * integral s''^2.

    Steps may be unequal. Runs with the same times are fitted together.

    Parameters
    ----------
    smoothing
        strength of smoothing. If None, use for each state and time grid the strength that best
        predicts held-out points.

    Examples
    --------
    >>> import numpy as np, orthoreg as og
    >>> t = np.linspace(0, 6, 121)
    >>> model = og.OrthoReg("poly(1)", og.Zero(), loss=og.VectorField(og.SmoothingSpline()))
    >>> model.fit(np.exp(-t)[:, None], t=t).equations(2)
    ["x0' = -1.0 x0"]
    """

    smoothing: float | None = None

    def __post_init__(self):
        if self.smoothing is not None and not self.smoothing >= 0:
            raise InputError(
                f"SmoothingSpline(smoothing=...) must be None or at least 0; got {self.smoothing}."
            )

    @property
    def min_points(self) -> int:
        return limits.MIN_SPLINE_POINTS

    def slopes(self, data: Dataset) -> Float[np.ndarray, "N n"]:
        from scipy.interpolate import make_smoothing_spline

        result = np.empty_like(data.states)
        for runs in runs_by_grid(data):
            rows = data.offsets[runs][:, None] + np.arange(int(data.run_lengths[runs[0]]))
            times = data.times[rows[0]]
            for state in range(data.n_states):
                values = np.ascontiguousarray(data.states[rows, state].T)
                strength = self.smoothing
                if strength is None:
                    strength = choose_strength(times, values)
                spline = make_smoothing_spline(times, values, lam=strength)
                result[rows, state] = spline.derivative()(times).T
        return result


def choose_strength(times: Float[np.ndarray, " T"], values: Float[np.ndarray, "T R"]) -> float:
    """Return the strength with the smallest squared error at held-out inner points of all runs."""
    from scipy.interpolate import make_smoothing_spline

    unit = np.mean(np.diff(times)) ** 3
    inner = np.arange(1, len(times) - 1)
    errors = np.zeros(len(limits.SPLINE_STRENGTHS))
    for fold in range(limits.SPLINE_FOLDS):
        held_out = inner[fold :: limits.SPLINE_FOLDS]
        remainder = np.delete(np.arange(len(times)), held_out)
        for i, strength in enumerate(limits.SPLINE_STRENGTHS):
            spline = make_smoothing_spline(times[remainder], values[remainder], lam=strength * unit)
            errors[i] += np.sum((spline(times[held_out]) - values[held_out]) ** 2)
    return float(limits.SPLINE_STRENGTHS[np.argmin(errors)] * unit)


def runs_by_grid(data: Dataset) -> list[np.ndarray]:
    """Return run indices in groups with equal times."""
    groups: dict[bytes, list[int]] = {}
    for run in range(data.n_runs):
        times = data.times[data.offsets[run] : data.offsets[run + 1]]
        groups.setdefault(times.tobytes(), []).append(run)
    return [np.array(group) for group in groups.values()]
