"""`Plan`: noise, outliers, smoothing and windows of measured runs, each decided once."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar, final

import numpy as np
from jaxtyping import Bool, Float, Int

from ..smoothing import (
    MIN_POLYNOMIAL_ROWS,
    MIN_VELOCITY_ROWS,
    MapNoise,
    Outliers,
    Smoother,
    Windows,
    best_polynomial,
    best_smoother,
    bridged,
    bump_windows,
    estimate_map_noise,
    estimate_noise,
    estimate_noise_growth,
    find_outliers,
    find_range_limits,
    relative_variance,
)
from . import _limits as limits
from ._dataset import Dataset

T = TypeVar("T")
Array = TypeVar("Array", bound=np.ndarray)


def weak_targets(
    data: Dataset, variance: Float[np.ndarray, " n"], windows: Windows
) -> tuple[Float[np.ndarray, "R n"], Float[np.ndarray, " n"]]:
    """Return the integrals of phi x' in each window, and the noise variance of these integrals."""
    slope, *higher = windows.rates
    sizes = [np.mean(np.asarray(rate.multiply(rate).sum(axis=1))) for rate in windows.rates]
    targets, noise = np.asarray(slope @ data.states), variance * sizes[0]
    for v, (q, times) in data.schema.derivative_of.items():
        targets[:, v] = higher[times - 1] @ data.states[:, q]
        noise[v] = variance[q] * sizes[times]
    return targets, noise


def windows_of(data: Dataset, half_width: float, order: int) -> Windows:
    """Return windows with as many derivatives of test functions as the equations require."""
    n_rates = data.schema.max_derivative
    return bump_windows(data.times, data.offsets, half_width, order, n_rates)


def best_half_widths(
    data: Dataset, variance: Float[np.ndarray, " n"], order: int
) -> tuple[float, ...]:
    """Return the most informative half-width of windows, and about a third of it.

    The information of a half-width is the number of windows, times the product over states of the
    ratio of motion to noise. `variance` is the noise variance of the states, `order` the order of
    the bumps.
    """
    step = float(np.median(np.diff(data.times)[np.diff(data.run_of_row) == 0]))
    span = float(np.median(data.step_of_run() * (data.run_lengths - 1)))
    position_columns = set(data.given_rates)
    best, max_information = limits.NARROWEST * step, -np.inf
    half_width = best
    while half_width <= max(limits.WIDEST * span, best):
        windows = windows_of(data, half_width, order)
        if not len(windows):
            break
        targets, noise = weak_targets(data, variance, windows)
        columns = [c for c in range(data.n_states) if c not in position_columns and noise[c] > 0]
        signal = np.maximum(np.mean(targets**2, axis=0) - noise, 1e-3 * noise)
        information = np.log(signal[columns] / noise[columns] / half_width).sum()
        if information > max_information:
            best, max_information = half_width, information
        if (noise[columns] < limits.WINDOW_NOISE * signal[columns]).all():
            best = half_width
            break
        half_width *= limits.WIDTH_RATIO
    widths = {max(limits.FAST_SHARE * best, limits.NARROWEST * step), best}
    return tuple(sorted(widths))


def _decision(decide: Callable[["Plan"], T]) -> "cached_property[T]":
    """Return a property that is computed by the root plan and shared by all plans derived from
    it.
    """

    def read(plan: "Plan") -> T:
        return decide(plan) if plan.parent is None else getattr(plan.parent, decide.__name__)

    read.__doc__ = decide.__doc__
    return cached_property(read)


@final
@dataclass(frozen=True, eq=False)
class Plan:
    """Noise of some runs, and the decisions based on it. Available as `data.plan` of a
    `Dataset`.

    Attributes are computed on first use. A plan may have a `parent`, the plan of other runs of the
    same system. It then uses the decisions of the parent: size and growth of noise, columns with
    outliers, polynomials and windows. Only outliers and smoothed values are computed from the
    plan's own runs. The runs of a large table are therefore treated like its sample, and a subset
    of runs like all runs. If the plan's runs are the rows `rows` of the parent, smoothed values are
    also those of the parent.
    """

    data: Dataset
    parent: "Plan | None" = None
    rows: Bool[np.ndarray, " M"] | Int[np.ndarray, " N"] | None = None
    _half_widths: dict[int, tuple[float, ...]] = field(default_factory=dict, init=False)
    _decisions: dict[Callable[[Dataset], Any], Any] = field(default_factory=dict, init=False)

    def decided(self, decide: Callable[[Dataset], T]) -> T:
        """Return `decide(data)` for the runs of the root plan. It is computed once.

        Later steps, which know more, store their decisions with this method. These decisions then
        hold for all subsets and chunks.
        """
        if self.parent is not None:
            return self.parent.decided(decide)
        if decide not in self._decisions:
            self._decisions[decide] = decide(self.data)
        return self._decisions[decide]

    # -- noise ---------------------------------------------------------------------------

    @_decision
    def _level(self) -> tuple[Float[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
        data = self.data
        if data.discrete:
            level = self.map_noise.state
            return level, level > 0
        data = self._unclipped(data)
        level, is_noise = estimate_noise(data.times, data.states, data.offsets)
        return _read_only(level), _read_only(is_noise)

    @_decision
    def map_noise(self) -> MapNoise:
        """The noise of the states of a map, and of predictions of the next state."""
        subset = self.data.subsample_rows(limits.MAP_NOISE_ROWS)
        noise = estimate_map_noise(subset.variables, subset.n_states, subset.offsets)
        return MapNoise(*map(_read_only, noise))

    @property
    def noise(self) -> Float[np.ndarray, " n"]:
        """Standard deviation of each state's noise. It is an upper bound if `is_noise` is false."""
        return self._level[0]

    @property
    def is_noise(self) -> Bool[np.ndarray, " n"]:
        """Whether the variation of each state between samples is noise, not motion."""
        return self._level[1]

    @_decision
    def is_noisy(self) -> bool:
        """Whether noise makes estimated derivatives inaccurate."""
        data = self.data
        if data.derivatives is not None:
            return False
        size = data.states.std(axis=0)
        is_relevant = data.is_measured & self.is_noise & (size > 0)
        if (self.noise > limits.CLEAN * size)[is_relevant].any():
            return True
        return bool(self._rate_noise() > limits.CLEAR)

    def _rate_noise(self) -> float:
        """Return the largest relative noise of derivatives that are estimated by plain
        differences.

        The noise is relative to the standard deviation of the derivative on the left side of an
        equation, such as an acceleration. States with measured derivatives do not count.
        """
        data, largest = self.data, 0.0
        inside = np.diff(data.run_of_row) == 0
        steps = np.diff(data.times)[inside]
        for rate, (measured, times) in data.schema.derivative_of.items():
            if rate not in data.given_rates and self.is_noise[measured]:
                size = float((np.diff(data.states[:, rate])[inside] / steps).std())
                # the squared weights of differences of order m sum to the central binomial
                # coefficient of 2m
                amplification = np.sqrt(math.comb(2 * times + 2, times + 1))
                noise = amplification * float(self.noise[measured])
                noise /= float(np.median(steps)) ** (times + 1)
                largest = max(largest, noise / max(size, 1e-300))
        return largest

    @_decision
    def _growth(self) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        if self.data.discrete:  # trajectories show the growth, neighbouring rows do not
            return np.zeros(self.data.n_states), np.mean(self.data.states**2, axis=0)
        subset = self.data.subsample(limits.PLAN_ROWS)
        smoothed, kept = subset.plan.smoothed, ~subset.plan.is_lost
        growth = estimate_noise_growth(subset.states[kept], smoothed[kept])
        return _read_only(growth), np.mean(smoothed**2, axis=0)

    @property
    def growth(self) -> Float[np.ndarray, " n"]:
        """The share of each state's noise variance that is proportional to its square."""
        return self._growth[0]

    @cached_property
    def relative_variance(self) -> Float[np.ndarray, "N n"]:
        """Noise variance of each value, relative to the mean over its state."""
        return _read_only(relative_variance(self.smoothed, *self._growth))

    @property
    def variance(self) -> Float[np.ndarray, "N n"]:
        """Noise variance of each value, zero for states that were not measured."""
        return self.smoother.noise**2 * self.relative_variance

    # -- limits of sensors ---------------------------------------------------------------

    @_decision
    def range_limits(self) -> Float[np.ndarray, "2 n"]:
        """The lower and upper limit of each sensor's range, infinite if no value is at the
        limit.
        """
        data, columns = self.data, self.data.is_measured
        result = np.empty((2, data.n_states))
        result[0], result[1] = -np.inf, np.inf
        # neighbouring rows of a map are unrelated
        if not data.discrete and data.derivatives is None:
            result[:, columns] = find_range_limits(
                data.times, data.states[:, columns], data.offsets
            )
        return _read_only(result)

    @cached_property
    def clipped(self) -> Int[np.ndarray, "N n"]:
        """1 for values at the upper limit of their sensor, -1 for values at the lower limit, 0 for
        others.
        """
        return _read_only(clipped_values(self.data, self.range_limits))

    @cached_property
    def is_lost(self) -> Bool[np.ndarray, " N"]:
        """Whether a row has a value at the limit of its sensor."""
        return _read_only(np.asarray(self.clipped.any(axis=1)))

    def _unclipped(self, data: Dataset) -> Dataset:
        """Return the stretches of these runs without values at limits of sensors."""
        if not self.is_lost.any():
            return data
        pieces = data.only(~self.is_lost)
        is_long = pieces.run_lengths >= MIN_VELOCITY_ROWS
        return pieces[is_long] if is_long.any() else data

    # -- outliers ------------------------------------------------------------------------

    @cached_property
    def outliers(self) -> Outliers:
        """Outliers of measured states."""
        if self.parent is not None and self.rows is not None and self.rows.dtype != bool:
            found = self.parent.outliers  # the same rows, possibly in another order
            return Outliers(found.is_outlier[self.rows], found.repaired[self.rows], found.columns)
        columns = None if self.parent is None else self.parent.outliers.columns
        if self.data.discrete:  # neighbouring rows of a map are unrelated
            columns = np.zeros(self.data.n_states, dtype=bool)
        return find_data_outliers(self.data, columns)

    @cached_property
    def clean(self) -> Dataset:
        """The runs with outliers replaced by polynomials through their neighbours."""
        if self.parent is not None and self.parent.clean is self.data:
            return self.data
        return replace_outliers(self.data, self.outliers).with_plan_of(self.data)

    @cached_property
    def continued(self) -> Dataset:
        """The clean runs with values at the limits of sensors replaced by smooth curves.

        These values are marked as filled in.
        """
        is_clipped = self.clipped != 0
        if not is_clipped.any():
            return self.clean
        filled = is_clipped if self.data.filled is None else is_clipped | self.data.filled
        states = np.where(is_clipped, self.smoothed, self.clean.states)
        return replace(self.clean, states=states, filled=filled).with_plan_of(self.data)

    # -- smoothing -----------------------------------------------------------------------

    @_decision
    def smoother(self) -> Smoother:
        """The polynomials that smooth measured states. Estimated velocities are smooth already."""
        clean = self._unclipped(self.clean)
        if clean.discrete:  # neighbouring rows of a map are unrelated
            return Smoother(self.noise, *np.ones((2, clean.n_states), dtype=np.int64))
        return best_smoother(clean.times, clean.states, clean.offsets, clean.is_measured)

    @cached_property
    def smoothed(self) -> Float[np.ndarray, "N n"]:
        """The states with outliers replaced and most of the noise removed."""
        if self.parent is not None and self.rows is not None:
            return _read_only(self.parent.smoothed[self.rows])
        clean = self.clean
        return _read_only(smoothed_states(clean, self.clipped, self.smoother))

    @_decision
    def oversampling(self) -> float:
        """Number of rows in which the fastest state moves by its standard deviation, over
        `RADIAN_ROWS`.

        The result is at least 1. A sine moves by its standard deviation in about a radian.
        """
        if self.data.discrete:
            return 1.0
        subset = self.data.subsample(limits.PLAN_ROWS)
        smoothed = subset.plan.smoothed
        changes = np.diff(smoothed, axis=0)[np.diff(subset.run_of_row) == 0]
        if not len(changes):
            return 1.0
        rms_change, size = np.sqrt(np.mean(changes**2, axis=0)), smoothed.std(axis=0)
        is_moving = self.data.is_measured & (rms_change > 0) & (size > 0)
        if not is_moving.any():
            return 1.0
        rows = float(np.min(size[is_moving] / rms_change[is_moving]))
        return max(1.0, rows / limits.RADIAN_ROWS)

    # -- derivatives and windows -----------------------------------------------------------

    @cached_property
    def polynomial(self) -> tuple[int, int] | None:
        """Window and degree of the sliding polynomial that estimates derivatives, or None."""
        data = self.data
        if self.parent is not None:
            polynomial = self.parent.polynomial
            lengths = data.run_lengths[data.run_lengths >= MIN_POLYNOMIAL_ROWS]
            if polynomial is None or polynomial[0] <= lengths.min(initial=np.iinfo(np.int64).max):
                return polynomial
        data = self._unclipped(data)
        return best_polynomial(data.times, data.states[:, data.is_measured], data.offsets)

    def half_widths(self, order: int) -> tuple[float, ...]:
        """Return the half-widths of the windows of the weak form, for bumps of this order."""
        if self.parent is not None:
            return self.parent.half_widths(order)
        if order not in self._half_widths:
            subset = self._unclipped(self.clean).subsample(limits.PLAN_ROWS)
            self._half_widths[order] = best_half_widths(subset, self.smoother.noise**2, order)
        return self._half_widths[order]


def _read_only(array: Array) -> Array:
    array.flags.writeable = False
    return array


def clipped_values(data: Dataset, range_limits: Float[np.ndarray, "2 n"]) -> Int[np.ndarray, "N n"]:
    """Return 1 for values at the upper limit of their sensor, -1 at the lower limit, and 0
    otherwise.
    """
    low, high = range_limits
    result = np.zeros(data.states.shape, dtype=np.int8)
    if np.isfinite(range_limits).any():
        result += data.states >= high
        result -= data.states <= low
        if data.filled is not None:
            result[data.filled] = 0
    return result


def smoothed_states(
    data: Dataset, clipped: Int[np.ndarray, "N n"], smoother: Smoother
) -> Float[np.ndarray, "N n"]:
    """Return smoothed states.

    Values at the limits of sensors are replaced by curves that continue the motion before and after
    them.
    """
    is_lost = np.asarray(clipped.any(axis=1))
    if not is_lost.any():
        return smoother(data.times, data.states, data.offsets)
    result, pieces = np.array(data.states), data.only(~is_lost)
    result[~is_lost] = smoother(pieces.times, pieces.states, pieces.offsets)
    return bridged(data.times, result, data.offsets, clipped, limits.BRIDGE_ROWS)


def find_data_outliers(data: Dataset, columns: Bool[np.ndarray, " m"] | None = None) -> Outliers:
    """Return the outliers of the measured states, or of those with the indices `columns`."""
    measured = data.states[:, data.is_measured]
    return find_outliers(data.times, measured, data.offsets, columns, data.inputs)


def replace_outliers(data: Dataset, outliers: Outliers) -> Dataset:
    """Return the runs with outliers replaced by polynomials through their neighbours."""
    if not outliers.is_outlier.any():
        return data
    states = np.array(data.states)
    states[:, data.is_measured] = outliers.repaired
    return replace(data, states=states)
