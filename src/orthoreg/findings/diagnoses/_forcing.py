"""Detect a missing variable, or a forcing (an explicit dependence on time) without a column."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float

from ..._common.notation import left_side
from ...data import folds
from ...terms import FeatureMap
from .. import _limits as limits
from .._findings import Advice
from .._held_out import beyond_noise, held_out_errors, held_out_values
from .._observations import Determination, Observations
from .._words import listed, percent, rates
from ._order import undetermined_limit


def missing_variable(
    seen: Observations,
    features: FeatureMap,
    failing: Sequence[int],
    first: Determination | None,
    tried: str = "",
) -> Advice | None:
    """Return advice if no function of the columns explains the derivative of a state in
    `failing`.

    `tried` is a sentence on what does not help. If separate coefficients for each run explain the
    derivative, the advice states that runs differ.
    """
    if first is None or not first.enough:
        return None
    threshold = undetermined_limit(seen)
    undetermined = [c for c in failing if first.certain_share[c] > threshold]
    if not undetermined:
        return None
    names = seen.labels
    states = rates([names[c] for c in undetermined])
    worst = max(undetermined, key=lambda c: first.certain_share[c])
    share = percent(min(float(first.certain_share[worst]), 1.0))
    columns = listed(seen.samples.names, most=6)
    if all(_differs_by_run(seen, features, c) for c in undetermined):
        return Advice(
            "missing-variable",
            f"{states} follows different laws in different runs: a quantity that differs between "
            f"runs is missing. Add it as an input that is constant in each run.",
        )
    if seen.data is not None and seen.data.discrete:
        return Advice(
            "missing-variable",
            f"No function of {columns} explains {states}: equal values are followed by different "
            f"ones ({share} of the variance of {left_side(names[worst])} is left). An input, or a "
            f"state such as the value one row earlier, is missing from the table: add its column.",
        )
    return Advice(
        "missing-variable",
        f"No function of {columns} explains {states}: equal values have different rates "
        f"({share} of the variance of {left_side(names[worst])} is unexplained). An input, or a "
        f"state such as a velocity, is missing from the table: add its "
        f"column.{tried and f' {tried}'}",
    )


def _differs_by_run(seen: Observations, features: FeatureMap, equation: int) -> bool:
    """Return whether separate fits to each run are clearly better on held-out stretches."""
    samples = seen.samples
    run = samples.run_of_row
    length = np.bincount(run)
    if len(length) < 2:
        return False
    terms = features(samples.variables)
    index = np.arange(len(run)) - (np.cumsum(length) - length)[run]
    stretch = index * limits.STRETCHES_PER_RUN // length[run]
    target = samples.targets[:, [equation]]
    pooled = target - held_out_values(terms, target, stretch)
    of_run = np.zeros_like(target)
    long = length >= limits.MIN_ROWS_PER_TERM * terms.shape[1]
    for r in np.flatnonzero(long):
        rows = run == r
        of_run[rows] = target[rows] - held_out_values(terms[rows], target[rows], stretch[rows])
    rows = long[run]
    if rows.mean() < limits.MIN_SHARE_IN_LONG_RUNS:
        return False
    return bool(
        np.mean(of_run[rows] ** 2) < limits.MAX_REMAINING_ERROR**2 * np.mean(pooled[rows] ** 2)
    )


@final
@dataclass(frozen=True)
class TimeDependence:
    """A forcing of one equation.

    It has the held-out errors without and with the forcing, and the share of the error beyond noise
    that remains.
    """

    equation: int
    before: float
    after: float
    left: float
    advice: Advice


def time_dependence(
    seen: Observations,
    features: FeatureMap,
    failing: Sequence[int],
    first: Determination | None,
    rival: float = np.inf,
) -> TimeDependence | None:
    """Return the forcing that clearly explains an equation among `failing`, or None.

    The error with the forcing must be clearly smaller than that of any function of the columns
    (`first`) or, if `first` is unknown, almost zero in several runs. It must also be clearly
    smaller than the error of a larger library, which is the share `rival` of the present error.
    """
    if seen.samples.times is None or seen.data is None:
        return None
    best: TimeDependence | None = None
    for c in failing:
        forcing = _waves(seen, features, c) or _shared(seen, features, c)
        if forcing is None or forcing.left > min(
            limits.MAX_REMAINING_ERROR, limits.MAX_REMAINING_ERROR * rival
        ):
            continue
        if first is None or not first.enough:
            # in a single run, the motion is a function of time as well as of the states
            if (
                forcing.left > limits.FORCING_REMAINING_ERROR
                or int(seen.samples.run_of_row.max()) + 1 < limits.MIN_FORCED_RUNS
            ):
                continue
        else:
            if first.share[c] < limits.FORCING_NOISE_FACTOR * float(seen.noise_level.max()):
                continue
            unexplained = float(first.share[c]) * float(seen.samples.targets[:, c].var())
            error = beyond_noise(forcing.after, _noise(seen, c), limits.NOISE_MARGIN)
            if error**2 * float(seen.size[c]) >= limits.MAX_REMAINING_VARIANCE * unexplained:
                continue
        if best is None or forcing.left < best.left:
            best = forcing
    return best


def _waves(seen: Observations, features: FeatureMap, equation: int) -> TimeDependence | None:
    """Return the forcing by sines and cosines of time. Frequencies are added one at a time."""
    samples = seen.samples
    assert samples.times is not None
    target, times = samples.targets[:, equation], samples.times
    design = features(samples.variables)
    fold = folds(samples, limits.FOLDS)
    before = float(held_out_errors(design, target[:, None], fold)[0])
    after, frequencies = before, []
    for _ in range(limits.MAX_WAVES):
        frequency = _strongest(seen, design, target)
        # waves with adjacent frequencies only represent the envelope of decaying motion
        if frequency is None or any(
            abs(frequency - w) < 2 * _resolution(seen) for w in frequencies
        ):
            break
        larger = np.column_stack([design, *_wave(frequency, times)])
        error = float(held_out_errors(larger, target[:, None], fold)[0])
        if error > limits.MAX_WAVE_ERROR_RATIO * after:
            break
        design, after = larger, error
        frequencies.append(frequency)
        if _left(seen, equation, before, after) < limits.FORCING_REMAINING_ERROR:
            break
    remaining = _left(seen, equation, before, after)
    if not frequencies or remaining > limits.MAX_REMAINING_ERROR:
        return None
    name, time = seen.labels[equation], _time_name(seen)
    columns = listed(
        [f"{wave}({w:.4g}*{time})" for w in frequencies for wave in ("cos", "sin")],
        most=2 * limits.MAX_WAVES,
    )
    periods = listed([f"{2 * np.pi / w:.3g}" for w in frequencies])
    return TimeDependence(equation, before, after, remaining, Advice(
        "time-dependent",
        f"{left_side(name)} depends explicitly on time, with the period {periods}: a forcing is "
        f"missing. Add "
        f"the columns {columns} as inputs; they reduce the held-out error of {left_side(name)} "
        f"from "
        f"{percent(before)} to {percent(after)}.",
    ))  # fmt: skip


def _shared(seen: Observations, features: FeatureMap, equation: int) -> TimeDependence | None:
    """Return the forcing of arbitrary form that is the same at the same time in every run."""
    samples = seen.samples
    assert samples.times is not None
    run, times = samples.run_of_row, samples.times
    if int(run.max()) + 1 < limits.MIN_FORCED_RUNS:
        return None
    target = samples.targets[:, equation]
    fold = run % limits.FOLDS
    error = target - held_out_values(features(samples.variables), target[:, None], fold)[:, 0]
    bins = (
        (times - times.min()) / max(float(np.ptp(times)), 1e-300) * (limits.FORCING_BINS - 1e-9)
    ).astype(int)
    total, count = np.bincount(bins, error), np.bincount(bins)
    guess = np.zeros_like(error)
    for r in np.unique(run):
        rows = run == r
        others = count - np.bincount(bins[rows], minlength=len(count))
        sums = total - np.bincount(bins[rows], error[rows], minlength=len(count))
        guess[rows] = (sums / np.maximum(others, 1))[bins[rows]]
    size = np.sqrt(max(float(np.mean(target**2)), 1e-300))
    before = float(np.sqrt(np.mean(error**2)) / size)
    after = float(np.sqrt(np.mean((error - guess) ** 2)) / size)
    remaining = _left(seen, equation, before, after)
    if remaining > limits.MAX_REMAINING_ERROR:
        return None
    name = seen.labels[equation]
    return TimeDependence(equation, before, after, remaining, Advice(
        "time-dependent",
        f"The error of {left_side(name)} is the same at the same time in different runs: a "
        f"forcing that depends on {_time_name(seen)} is missing. Add its column as an input.",
    ))  # fmt: skip


def _strongest(
    seen: Observations, design: Float[np.ndarray, "N K"], target: Float[np.ndarray, " N"]
) -> float | None:
    """Return the frequency whose wave explains most of the target beyond the design."""
    samples = seen.samples
    assert samples.times is not None and seen.data is not None
    times, data = samples.times, seen.data
    span = float(np.ptp(times))
    step = float(np.median(data.step_of_run()))
    slowest = limits.MIN_FORCING_PERIODS * _resolution(seen)
    fastest = 2 * np.pi / (limits.FORCING_SAMPLES_PER_PERIOD * step)
    if not slowest < fastest:
        return None
    spacing = max(2 * np.pi / (4 * span), (fastest - slowest) / limits.MAX_FREQUENCIES)
    grid = np.arange(slowest, fastest, spacing)
    basis = np.linalg.qr(design)[0]
    residual = target - basis @ (basis.T @ target)
    frequency = float(grid[np.argmax(_explained(basis, residual, grid, times))])
    for _ in range(limits.FREQUENCY_REFINEMENTS):
        near = np.maximum(frequency + spacing * limits.FREQUENCY_OFFSETS, slowest / 2)
        frequency = float(near[np.argmax(_explained(basis, residual, near, times))])
        spacing /= 4
    return frequency


def _explained(
    basis: Float[np.ndarray, "N K"],
    left: Float[np.ndarray, " N"],
    frequencies: Float[np.ndarray, " F"],
    times: Float[np.ndarray, " N"],
) -> Float[np.ndarray, " F"]:
    """Return the sum of squares that waves of each frequency explain beyond an orthonormal
    basis.

    This is g' G^-1 g, where g are the moments of cosine and sine with the remainder `left`, and G
    is the Gram matrix of cosine and sine, both orthogonalized against the basis.
    """
    phase = np.outer(times, frequencies)
    cosine, sine = np.cos(phase), np.sin(phase)
    in_cosine, in_sine = basis.T @ cosine, basis.T @ sine
    cc = (cosine**2).sum(axis=0) - (in_cosine**2).sum(axis=0)
    ss = (sine**2).sum(axis=0) - (in_sine**2).sum(axis=0)
    cs = (cosine * sine).sum(axis=0) - (in_cosine * in_sine).sum(axis=0)
    a, b = left @ cosine, left @ sine
    determinant = cc * ss - cs**2
    known = determinant > limits.WAVE_COLLINEARITY * len(times) ** 2
    square = (a**2 * ss - 2 * a * b * cs + b**2 * cc) / np.where(known, determinant, 1.0)
    return np.where(known, square, 0.0)


def _resolution(seen: Observations) -> float:
    """Return the angular frequency whose period is the duration of the longest run."""
    data = seen.data
    assert data is not None
    first, last = data.offsets[:-1], data.offsets[1:] - 1
    return 2 * np.pi / float((data.times[last] - data.times[first]).max())


def _wave(frequency: float, times: Float[np.ndarray, " N"]) -> tuple[np.ndarray, np.ndarray]:
    return np.cos(frequency * times), np.sin(frequency * times)


def _noise(seen: Observations, equation: int) -> float:
    return float(np.sqrt(seen.noise[equation] / max(float(seen.size[equation]), 1e-300)))


def _left(seen: Observations, equation: int, before: float, after: float) -> float:
    """Return the share of an error beyond noise that remains."""
    noise = _noise(seen, equation)
    start = beyond_noise(before, noise, limits.NOISE_MARGIN)
    return beyond_noise(after, noise, limits.NOISE_MARGIN) / start if start > 0 else np.inf


def _time_name(seen: Observations) -> str:
    assert seen.data is not None
    return seen.data.time_name
