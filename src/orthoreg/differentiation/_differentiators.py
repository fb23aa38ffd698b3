"""Derivatives of measured states: finite differences, sliding polynomials and smoothing splines."""

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


class AbstractDifferentiator(abc.ABC):
    """Dataset -> the same runs with an estimate of each state's derivative."""

    @property
    @abc.abstractmethod
    def min_points(self) -> int:
        """The fewest points a run must have."""

    @abc.abstractmethod
    def slopes(self, data: Dataset) -> Float[np.ndarray, "N n"]:
        """The derivative of the states at every row."""

    def rule(self, data: Dataset) -> "AbstractDifferentiator":
        """What is used for these data: the differentiator itself, unless it is one that chooses."""
        return self

    def coarser(self) -> "AbstractDifferentiator | None":
        """A rule of the same kind with a larger systematic error, if there is one."""
        return None

    def systematic_error(
        self, data: Dataset, slopes: Float[np.ndarray, "N n"]
    ) -> Float[np.ndarray, " n"]:
        """An estimate of the mean squared error of these slopes, its own, that is not noise.

        A quarter of the squared difference to the next coarser rule; zero where there is none.
        """
        coarser = self.coarser()
        if coarser is None or data.run_lengths.min() < coarser.min_points:
            return np.zeros(data.n_states)
        sample = data.sample
        difference = coarser.slopes(sample)
        difference -= slopes if sample is data else self.slopes(sample)
        return np.vecdot(difference.T, difference.T) / (4 * sample.n_samples)

    def __call__(self, data: Dataset) -> Dataset:
        """The dataset with its derivatives filled in."""
        check_lengths(data, self.min_points, self)
        return data.with_derivatives(self.slopes(data))


def check_lengths(data: Dataset, min_points: int, differentiator: object) -> None:
    """Refuses runs that are too short, naming the first."""
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
    """Refuses runs whose steps differ, and says what to use instead."""
    unequal = np.flatnonzero(~data.has_equal_steps())
    if unequal.size:
        run = int(unequal[0])
        steps = np.diff(data.times[data.offsets[run] : data.offsets[run + 1]])
        raise DataError(
            f"{differentiator!r} needs equal time steps; those of run {data.labels[run]} go from "
            f"{steps.min():g} to {steps.max():g}. For unequal steps use FiniteDifference(), "
            f"LocalPolynomial(window, degree), SmoothingSpline() or Automatic()."
        )


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
        rule, short = LocalPolynomial(*choice), data.run_lengths < MIN_POLYNOMIAL_ROWS
        return LongAndShort(rule, FiniteDifference()) if short.any() else rule


@final
@dataclass(frozen=True, eq=False)
class ResolvedDifferentiator(AbstractDifferentiator):
    """A rule that was chosen on some of the runs, for all of them, with the systematic error that
    it has there."""

    chosen: AbstractDifferentiator
    error: Float[np.ndarray, " n"]

    @classmethod
    def on(cls, rule: AbstractDifferentiator, data: Dataset) -> "ResolvedDifferentiator":
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


def check_window(window: int, degree: int, name: str) -> None:
    """Refuses windows that cannot hold the polynomial."""
    whole = isinstance(window, Integral) and isinstance(degree, Integral)
    if not whole or not 1 <= degree < window:
        raise InputError(
            f"{name} needs whole numbers with 1 <= degree < window; "
            f"got window={window!r}, degree={degree!r}."
        )


_SPLINE_FOLDS = 3
_MIN_SPLINE_POINTS = 8  # leaves five, SciPy's least, when every third is held out
_SPLINE_STRENGTHS = 10.0 ** np.arange(-4, 9)


@part
@final
@dataclass(frozen=True)
class SmoothingSpline(AbstractDifferentiator):
    """Slope of the cubic spline s that minimises sum (y - s)^2 + smoothing * integral s''^2.

    Works on any steps. Runs that share a grid are fitted in one call.

    Parameters
    ----------
    smoothing
        the strength; with None each state gets, on each time grid, the one that best predicts
        held-out points.

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
        return _MIN_SPLINE_POINTS

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
    """The strength with the least squared error at held-out inner points, over all runs."""
    from scipy.interpolate import make_smoothing_spline

    unit = np.mean(np.diff(times)) ** 3
    inner = np.arange(1, len(times) - 1)
    errors = np.zeros(len(_SPLINE_STRENGTHS))
    for fold in range(_SPLINE_FOLDS):
        held_out = inner[fold::_SPLINE_FOLDS]
        remainder = np.delete(np.arange(len(times)), held_out)
        for i, strength in enumerate(_SPLINE_STRENGTHS):
            spline = make_smoothing_spline(times[remainder], values[remainder], lam=strength * unit)
            errors[i] += np.sum((spline(times[held_out]) - values[held_out]) ** 2)
    return float(_SPLINE_STRENGTHS[np.argmin(errors)] * unit)


def runs_by_grid(data: Dataset) -> list[np.ndarray]:
    """Run indices, grouped by equal times."""
    groups: dict[bytes, list[int]] = {}
    for run in range(data.n_runs):
        times = data.times[data.offsets[run] : data.offsets[run + 1]]
        groups.setdefault(times.tobytes(), []).append(run)
    return [np.array(group) for group in groups.values()]
