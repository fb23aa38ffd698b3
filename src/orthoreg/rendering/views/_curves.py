"""Forecasts as curves, whatever they came as, and how far they are from what was measured."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from jaxtyping import Float

from ..._common.errors import InputError
from ...data import Dataset
from ...simulation import Rollout
from ._choice import evenly

_LARGEST = 1e100  # error that is told apart from larger ones, so that squares stay finite


@final
@dataclass(frozen=True, eq=False)
class Curve:
    """One forecast: `ended` is the time at which it stopped, `left` when it left the data."""

    times: Float[np.ndarray, " T"]
    x: Float[np.ndarray, "T n"]
    ended: float | None
    left: float | None


def as_curves(data: Dataset, forecasts: Any) -> list[Curve]:
    """One forecast for each run, whatever they came as; refuses what does not fit the data."""
    if isinstance(forecasts, Rollout):
        forecasts = forecasts.runs() if np.ndim(forecasts.x) == 3 else [forecasts]
    forecasts = list[Any](forecasts)
    if len(forecasts) != data.n_runs:
        raise InputError(
            f"plot_forecast needs one forecast for each of the {data.n_runs} runs of the data; got "
            f"{len(forecasts)}. Choose the runs that were forecast with data[[...]]."
        )
    curves = []
    for run, one in enumerate(forecasts):
        measured = data.times[data.offsets[run] : data.offsets[run + 1]]
        is_rollout = isinstance(one, Rollout)
        times = np.asarray(one.times, dtype=np.float64) if is_rollout else measured
        x = np.asarray(one.x if is_rollout else one, dtype=np.float64)
        if x.shape != (len(times), data.n_states):
            raise InputError(
                f"plot_forecast: the forecast of run '{data.labels[run]}' must have shape "
                f"({len(times)}, {data.n_states}), its times x states; it has {x.shape}."
            )
        good = np.flatnonzero(np.isfinite(x).all(axis=1))
        ended = None
        if not good.size or good[-1] < len(x) - 1:
            last = float(times[good[-1] if good.size else 0])
            stopped = one.stopped_at if is_rollout else None
            ended = last if stopped is None else float(stopped)
        curves.append(Curve(times, x, ended, one.left_at if is_rollout else None))
    return curves


def curve_errors(
    data: Dataset, curves: list[Curve]
) -> tuple[Float[np.ndarray, " R"], Float[np.ndarray, " n"]]:
    """Of each run the root mean square error, infinite where it stopped, over how far the states
    that were measured vary; of each state the same over its standard deviation."""
    parts = []
    for run, curve in enumerate(curves):
        times = data.times[data.offsets[run] : data.offsets[run + 1]]
        if len(times) == len(curve.times) and np.array_equal(times, curve.times):
            parts.append(curve.x)
        else:
            known = (curve.times, np.nan, np.nan)
            parts.append(np.column_stack([np.interp(times, known[0], x, *known[1:])
                                          for x in curve.x.T]))  # fmt: skip
    with np.errstate(over="ignore", invalid="ignore"):
        errors = np.concatenate(parts) - data.states
        is_known = np.isfinite(errors)
        squares = np.square(np.where(is_known, np.clip(errors, -_LARGEST, _LARGEST), 0.0))
        first = data.offsets[:-1]
        measured = data.is_measured
        error = np.add.reduceat(squares[:, measured].sum(axis=1), first)
        known = np.add.reduceat(is_known.all(axis=1).astype(float), first)
        spread = data.states.std(axis=0)
        size = np.square(spread[measured]).sum() or np.square(data.states[:, measured]).mean() or 1
        by_run = np.sqrt(error / (np.maximum(known, 1.0) * size))
        by_state = np.sqrt(squares.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    stopped = np.array([curve.ended is not None for curve in curves])
    return np.where(stopped, np.inf, by_run), by_state


def choose_runs(errors: Float[np.ndarray, " R"], most: int) -> list[int]:
    """All runs, or those evenly spaced in the order of their errors."""
    if isinstance(most, bool) or not isinstance(most, int | np.integer) or most < 1:
        raise InputError(f"plot_forecast(most_runs=...) must be at least 1; got {most!r}.")
    if len(errors) <= most:
        return list(range(len(errors)))
    order = np.argsort(errors, kind="stable")
    picks = evenly(len(errors), most) if most > 1 else np.array([len(errors) // 2])
    return [int(order[i]) for i in picks]
