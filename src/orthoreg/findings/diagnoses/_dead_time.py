"""Detect an input that acts later than it was recorded."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from jaxtyping import Float, Int

from ...data import Delay, folds, spaced
from ...simulation import delayed_columns
from ...terms import AbstractLibrary, FeatureMap
from .. import _limits as limits
from .._findings import Advice
from .._held_out import beyond_noise, held_out_errors
from .._observations import Observations
from .._words import percent


@final
@dataclass(frozen=True)
class DeadTime:
    """A delayed input with its equation, and the share of the error beyond noise that remains."""

    variable: str
    value: float
    equation: int
    left: float
    advice: Advice


def dead_time(
    seen: Observations, library: AbstractLibrary, failing: Sequence[int]
) -> DeadTime | None:
    """Return the input whose delay most reduces the held-out error of an equation among `failing`.

    Return None if no reduction is clear. The delayed input replaces the input in the library.
    """
    motion = seen.motion
    if motion is None or motion.data.inputs is None or not failing:
        return None
    data, samples = motion.data, seen.samples
    rows = spaced(data.n_samples, limits.MAX_ROWS_OBSERVED)
    features = seen.bind(library, samples.names, samples.outputs, samples.given)
    if len(features.terms) > limits.MAX_TERMS_TRIED or len(rows) != len(samples.targets):
        return None
    already = {delay.variable for delay in data.delays}
    noise = np.sqrt(seen.noise / np.maximum(seen.size, 1e-300))
    best: DeadTime | None = None
    for name in data.schema.measured_inputs:
        grid = _grid(seen, name)
        every = None if name in already else _errors(seen, features, rows, name, grid, failing)
        if every is None:
            continue
        for i, c in enumerate(failing):
            k = int(np.argmin(every[:, i]))
            before, after = float(every[0, i]), float(every[k, i])
            start = beyond_noise(before, noise[c], limits.NOISE_MARGIN)
            if k == 0 or not start > 0:
                continue
            left = beyond_noise(after, noise[c], limits.NOISE_MARGIN) / start
            is_clear = left <= limits.MAX_REMAINING_ERROR
            is_clear &= after <= limits.MAX_REMAINING_ERROR_WITH_NOISE * before
            if is_clear and (best is None or left < best.left):
                value = _vertex(grid, every[:, i], k)
                best = DeadTime(name, value, c, left, _advice(seen, name, value, c, before, after))
    return best


def _errors(
    seen: Observations,
    features: FeatureMap,
    rows: Int[np.ndarray, " r"],
    name: str,
    grid: Float[np.ndarray, " G"],
    failing: Sequence[int],
) -> Float[np.ndarray, "G c"] | None:
    """Return the held-out errors of the equations `failing` for each delay of an input, or None if
    too few rows have a history.
    """
    assert seen.motion is not None
    data, samples = seen.motion.data, seen.samples
    runs = spaced(data.n_runs, limits.DEAD_TIME_RUNS)
    is_chosen, chosen = np.isin(data.run_of_row, runs), data[runs]
    first = data.times[data.offsets[:-1]][data.run_of_row]
    has_history = (is_chosen & (data.times >= first + float(grid[-1])))[rows]
    if has_history.sum() < limits.MIN_ROWS_PER_TERM * len(features.terms):
        return None
    subset = replace(
        samples.at(np.flatnonzero(has_history)),
        times=None if samples.times is None else samples.times[has_history],
    )
    fold, targets = folds(subset, limits.FOLDS), subset.targets[:, list(failing)]
    index = samples.names.index(name)

    def errors(value: float) -> Float[np.ndarray, " c"]:
        column = np.zeros(data.n_samples)
        column[is_chosen] = delayed_columns(chosen, [Delay(name, "tau", value)])[0][:, 0]
        delayed = subset.points.copy()
        delayed[:, index] = column[rows][has_history]
        design = features(delayed)
        if not np.isfinite(design).all():
            return np.full(targets.shape[1], np.inf)
        return held_out_errors(design, targets, fold)

    return np.array([errors(value) for value in grid])


def _grid(seen: Observations, name: str) -> Float[np.ndarray, " G"]:
    """Return delays from zero to a multiple of the time in which the input moves by its standard
    deviation.
    """
    assert seen.motion is not None
    data = seen.motion.data
    assert data.inputs is not None
    column = data.inputs[:, data.input_names.index(name)]
    inside = np.diff(data.run_of_row) == 0
    steps = np.diff(data.times)[inside]
    rate = float(np.sqrt(np.mean((np.diff(column)[inside] / steps) ** 2)))
    step = float(np.median(steps))
    last = data.times[data.offsets[1:] - 1]
    longest = float((last - data.times[data.offsets[:-1]]).max())
    radian = float(column.std()) / rate if rate > 0 else step
    reach = min(limits.DEAD_TIME_RADIANS * radian, limits.DEAD_TIME_SHARE * longest)
    return np.linspace(0.0, max(reach, 2 * step), limits.DEAD_TIMES)


def _vertex(grid: np.ndarray, errors: np.ndarray, k: int) -> float:
    """Return the minimum of the parabola through three squared errors, around index `k`."""
    if k + 1 >= len(grid):
        return float(grid[k])
    a, b, c = errors[k - 1 : k + 2] ** 2
    curvature = a - 2 * b + c
    shift = 0.5 * (a - c) / curvature if curvature > 0 else 0.0
    return float(grid[k] + np.clip(shift, -0.5, 0.5) * (grid[1] - grid[0]))


def _advice(
    seen: Observations, name: str, value: float, equation: int, before: float, after: float
) -> Advice:
    label = seen.labels[equation]
    return Advice(
        "dead-time",
        f"{name} acts later than it was recorded: a delay of about {value:.2g} reduces the "
        f"held-out error of {label}' from {percent(before)} to {percent(after)}. Add the term "
        f'{name}(t - tau) to the library, as in library="poly(1) + {name}(t - tau)", on the '
        f"command line --library; the fit estimates tau.",
    )
