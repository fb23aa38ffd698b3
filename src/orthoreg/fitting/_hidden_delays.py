"""Delays of inputs in equations with hidden states or constants per run."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float

from .._common.errors import InputError
from .._common.progress import step
from ..data import Dataset, Delay
from ..search import delays_with
from ..simulation import rows_with_history, with_delays
from . import _limits as limits
from ._delays import delay_ranges
from ._fit import Recipe
from ._hidden import HiddenStates, rough_estimate


def first_hidden_delays(recipe: Recipe, data: Dataset, delays: Sequence[Delay]) -> Dataset:
    """Return the runs with delayed columns, with an initial value for each unknown delay.

    These are the delays with which the known equations, with their hidden states and constants per
    run, best follow the runs.
    """
    for delay in delays:
        if delay.variable in data.state_names:
            raise InputError(
                f"'{delay.name}' is a delayed state, which cannot be combined with hidden states "
                f"or constants per run; delayed inputs can. Omit the delay, or measure all states "
                f"and omit per_run."
            )
    if not any(math.isnan(delay.value) for delay in delays):
        return with_delays(data, delays)
    with step("Estimating delays"):
        names, bounds = delay_ranges(recipe, data, delays)
        values = _best_values(recipe, data, delays, names, bounds)
    return with_delays(data, delays_with(delays, dict(zip(names, values.tolist(), strict=True))))


def _best_values(
    recipe: Recipe,
    data: Dataset,
    delays: Sequence[Delay],
    names: Sequence[str],
    bounds: Float[np.ndarray, "d 2"],
) -> Float[np.ndarray, " d"]:
    """Return the delays with the smallest misfit, found on a grid for each delay in turn."""
    sample = data.subsample(limits.DELAY_ROWS, limits.SHARED_RUNS)
    longest = float(bounds[:, 1].max())

    def estimate(values: np.ndarray, near: HiddenStates | None) -> HiddenStates | None:
        named = dict(zip(names, values.tolist(), strict=True))
        runs = with_delays(sample, delays_with(delays, named), longest)
        try:
            return rough_estimate(recipe, runs, near)
        except InputError:  # no trajectory follows the data with these delays
            return None

    values, spacing = bounds.mean(axis=1), _spacing(data)
    for _ in range(1 if len(names) == 1 else limits.DELAY_GRID_SWEEPS):
        for i, (low, high) in enumerate(bounds):
            count = int(np.clip((high - low) / spacing, *limits.DELAY_GRID)) + 1

            def at(
                value: float, near: HiddenStates | None, i: int = i, values: np.ndarray = values
            ) -> HiddenStates | None:
                return estimate(np.where(np.arange(len(names)) == i, value, values), near)

            best = _minimum(at, np.linspace(low, high, count))
            values = np.where(np.arange(len(names)) == i, best, values)
    return values


def _spacing(data: Dataset) -> float:
    """Return half the time in which the fastest measured state moves by its standard deviation, or
    one step if that is longer.

    Smaller errors of a delay change the misfit gradually.
    """
    inside = np.diff(data.run_of_row) == 0
    smoothed, steps = data.plan.smoothed, np.diff(data.times)[inside]
    times = [float(np.median(steps))]
    for c in np.flatnonzero(data.is_measured):
        rate = float(np.sqrt(np.mean((np.diff(smoothed[:, c])[inside] / steps) ** 2)))
        if rate > 0:
            times.append(limits.MIN_STATE_DELAY * float(smoothed[:, c].std()) / rate)
    return max(times[0], min(times[1:], default=0.0))


def _minimum(
    estimate: Callable[[float, HiddenStates | None], HiddenStates | None],
    grid: Float[np.ndarray, " g"],
) -> float:
    """Return the delay with the smallest misfit.

    The best delay on a grid is found first, where each delay has its own random starting points.
    The search then continues near it, from the estimate there.
    """
    from scipy.optimize import minimize_scalar

    results: dict[float, HiddenStates] = {}

    def misfit(value: float, near: HiddenStates | None = None) -> float:
        result = estimate(value, near)
        if result is None:
            return math.inf
        results[value] = result
        return result.misfit

    for value in grid.tolist():
        misfit(value)
    if not results:
        return float(grid[0])
    best = min(results, key=lambda value: results[value].misfit)
    gap = float(grid[1] - grid[0]) if len(grid) > 1 else 0.0
    low, high = max(best - gap, float(grid[0])), min(best + gap, float(grid[-1]))
    if low < high:
        near = results[best]
        minimize_scalar(
            lambda value: misfit(float(value), near), bounds=(low, high), method="bounded",
            options={"xatol": limits.HIDDEN_DELAY_TOLERANCE * gap},
        )  # fmt: skip
    return min(results, key=lambda value: results[value].misfit)


def with_estimated_states(data: Dataset, estimated: Dataset) -> Dataset:
    """Return the runs without delayed columns, but with the hidden states and constants per run of
    `estimated`.

    `estimated` are the same runs with delayed columns. Rows without history have the values of the
    next row with history.
    """
    longest = max(delay.value for delay in estimated.delays)
    rows = np.flatnonzero(rows_with_history(data, longest))
    runs = data.with_hidden([], estimated.schema.per_run)
    next_row = np.minimum(np.searchsorted(rows, np.arange(data.n_samples)), len(rows) - 1)
    columns = list(estimated.schema.hidden_columns)
    states = np.array(runs.states)
    states[:, columns] = estimated.states[next_row][:, columns]
    return runs.with_parts(states=states)
