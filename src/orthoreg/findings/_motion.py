"""Derivatives at the rows of runs, with their noise."""

from dataclasses import dataclass, replace
from typing import final

import numpy as np
from jaxtyping import Bool, Float, Int

from ..data import Dataset, rows_per_period, spaced
from ..losses import AbstractDifferentiator
from . import _limits as limits


@final
@dataclass(frozen=True, eq=False)
class Motion:
    """Runs with the derivative of each state at each row.

    `run` is the run index of each row. `inner` marks rows away from the ends of a run, where
    derivatives are accurate. `noise` is the standard deviation of each state's noise, and
    `is_white` is false if coarse sampling may be its cause. `slope_noise` is the variance of the
    derivatives due to noise. `period` is the number of rows per oscillation of each state.
    """

    data: Dataset
    run: Int[np.ndarray, " N"]
    slopes: Float[np.ndarray, "N n"]
    inner: Bool[np.ndarray, " N"]
    noise: Float[np.ndarray, " n"]
    is_white: Bool[np.ndarray, " n"]
    slope_noise: Float[np.ndarray, " n"]
    period: Float[np.ndarray, " n"]

    @property
    def noise_level(self) -> Float[np.ndarray, " n"]:
        """The noise of each state in standard deviations of the state; zero if it is not white."""
        spread = self.data.states.std(axis=0)
        return np.where(self.is_white & (spread > 0), self.noise / np.maximum(spread, 1e-300), 0.0)


def motion_of(data: Dataset, differentiation: AbstractDifferentiator) -> Motion | None:
    """Return the derivatives of these runs, or None if every run is too short."""
    long = data.run_lengths >= max(limits.MIN_ROWS_DERIVATIVES, differentiation.min_points)
    if not long.any():
        return None
    every_run = data
    data, run = stretches(data[long], limits.MAX_ROWS_MOTION)
    data = data.with_plan_of(every_run)
    rule = differentiation.rule(data)
    if data.derivatives is None:
        noise, is_white = np.array(data.plan.noise), np.array(data.plan.is_noise)
        slopes = rule.slopes(data)
        slope_noise, *higher = _after(rule, data, noise)
        slope_noise = slope_noise + _bias(rule, data, slopes)
        variances = [slope_noise, *higher]
        for rate, (measured, times) in data.schema.derivative_of.items():
            noise[rate] = np.sqrt(variances[times - 1][measured])
            is_white[rate] = is_white[measured]
            slope_noise[rate] = max(slope_noise[rate], variances[times][measured])
    else:  # given derivatives have noise of their own, independent of the states' noise
        noise, is_white = np.zeros(data.n_states), np.zeros(data.n_states, dtype=bool)
        slopes = np.array(data.derivatives)
        given = replace(data, states=slopes, derivatives=None)
        level, is_noise = given.plan.noise, given.plan.is_noise
        level = np.where(
            is_noise & (level < limits.MAX_DERIVATIVE_NOISE * slopes.std(axis=0)), level, 0.0
        )
        slope_noise = level**2
    return Motion(
        data=data,
        run=run[data.run_of_row],
        slopes=slopes,
        inner=_inner(data, rule.min_points),
        noise=noise,
        is_white=is_white,
        slope_noise=slope_noise,
        period=rows_per_period(data),
    )


def stretches(data: Dataset, max_rows: int) -> tuple[Dataset, Int[np.ndarray, " R"]]:
    """Return at most about `max_rows` rows as whole runs or stretches, and the run index of
    each.
    """
    if data.n_samples <= max_rows:
        return data, np.arange(data.n_runs)
    mean = data.n_samples / data.n_runs
    n_runs = min(data.n_runs, max(int(max_rows / mean), limits.MIN_STRETCHES))
    chosen = spaced(data.n_runs, n_runs)
    each = -(-limits.MIN_STRETCHES // len(chosen))
    length = max(max_rows // (each * len(chosen)), limits.MIN_ROWS_DERIVATIVES)
    rows, origin = [], []
    for run in chosen:
        first, last = int(data.offsets[run]), int(data.offsets[run + 1])
        if last - first <= each * length:
            pieces = [np.arange(first, last)]
        else:
            starts = np.linspace(first, last - length, each).astype(int)
            pieces = [np.arange(start, start + length) for start in starts]
        rows += pieces
        origin += [run] * len(pieces)
    selected = np.concatenate(rows)
    offsets = np.cumsum([0, *(len(piece) for piece in rows)])
    return data.at(selected, offsets, np.array(origin)), np.unique(origin, return_inverse=True)[1]


def _after(
    rule: AbstractDifferentiator,
    data: Dataset,
    noise: Float[np.ndarray, " n"],
) -> list[Float[np.ndarray, " n"]]:
    """Return the variances of the first and higher derivatives that noise of this size in the
    states causes.
    """
    count = data.schema.max_derivative
    if not noise.any():
        return [np.zeros(data.n_states) for _ in range(count)]
    rng = np.random.default_rng(0)
    clean, noisy = (
        data,
        replace(data, states=data.states + noise * rng.standard_normal(data.states.shape)),
    )
    variances = []
    for _ in range(count):
        clean, noisy = (replace(runs, states=rule.slopes(runs)) for runs in (clean, noisy))
        variances.append(np.mean((noisy.states - clean.states) ** 2, axis=0))
    return variances


def _bias(
    rule: AbstractDifferentiator, data: Dataset, slopes: Float[np.ndarray, "N n"]
) -> Float[np.ndarray, " n"]:
    """Return the mean squared error of smoothing, estimated as a quarter of the squared change that
    a window a quarter longer causes.
    """
    coarser = rule
    for _ in range(max(rule.min_points // 8, 1)):
        following = coarser.coarser()
        if following is None or data.run_lengths.min() < following.min_points:
            break
        coarser = following
    if coarser is rule:
        return np.zeros(data.n_states)
    return np.mean((coarser.slopes(data) - slopes) ** 2, axis=0) / 4


def _inner(data: Dataset, window: int) -> Bool[np.ndarray, " N"]:
    """Return a mask of rows at least half a window from the ends of their run, or a sixth of the
    run if that is less.
    """
    run = data.run_of_row
    margin = np.minimum(window // 2 + 1, data.run_lengths // 6)[run]
    row = np.arange(data.n_samples) - data.offsets[run]
    return (row >= margin) & (row < data.run_lengths[run] - margin)
