"""Forecasts beside measured runs, each with a band of errors that others had."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float

from ...data import Dataset
from ...simulation import Interpolation, Rollout, input_interpolation
from ..views import (
    Curve,
    as_curves,
    choose_runs,
    curve_errors,
    envelope,
    evenly,
    largest,
    not_measured,
    share_shown,
    steps,
    variable_label,
)
from ._data import ForecastRun, Forecasts
from ._numbers import short

_MOST_RUNS = 8
_MOST_STATES = 6
_MOST_INPUTS = 3
_NUMBERS = 30_000  # in all curves together
_WIDE = 2.0  # the band, in root mean square errors
_FEWEST = 3  # other runs that make a band
_SHORT, _FINE = 60, 8  # rows of a run whose forecast is drawn at so many points a step


def forecasts_of(model: Any, data: Dataset, rollouts: Sequence[Rollout]) -> Forecasts:
    """Some runs, from the smallest forecast error to the largest, with their forecasts."""
    curves = as_curves(data, rollouts)
    run_errors, state_errors = curve_errors(data, curves)
    runs = choose_runs(run_errors, _MOST_RUNS)
    states = largest(state_errors, _MOST_STATES)
    points = int(np.clip(_NUMBERS / (6 * len(runs) * len(states)), 60, 500))
    errors = [_errors(data, run, curve) for run, curve in enumerate(curves)]
    level = np.where(data.plan.is_noise, data.plan.noise, 0.0)
    band = f"band: {_WIDE:g} × the root mean square error of the other runs' forecasts at that time"
    if data.n_runs <= _FEWEST:
        band = f"band: {_WIDE:g} × the noise of the measurements" if level.any() else ""
    kinds = input_interpolation(data.input_names, data) | model.input_interpolation_
    held = [kinds[name] == Interpolation.hold for name in data.input_names[: _inputs(data)]]
    shown = []
    for run in runs:
        curve = _finer(model, curves[run])
        if data.n_runs > _FEWEST:
            width = _width(data, run, curve, errors)
        else:
            width = np.where(level > 0, level, np.nan) * np.ones_like(curve.x)
        error = float(run_errors[run])
        shown.append(_run(data, run, curve, _WIDE * width, states, points, error, held))
    notes = [
        share_shown(len(states), data.n_states, "states", ": those with the largest error"),
        share_shown(len(runs), data.n_runs, "runs", ", from the smallest error to the largest"),
        not_measured(data),
    ]
    time = data.units.get(data.time_name)
    return Forecasts(
        tuple(shown),
        [variable_label(data, state) for state in states],
        [variable_label(data, data.n_states + k) for k in range(_inputs(data))],
        held,
        f"{data.time_name} [{time}]" if time else data.time_name,
        band,
        "; ".join(note for note in notes if note),
    )


def _finer(model: Any, curve: Curve) -> Curve:
    """A short forecast between its rows too, so that it is drawn as it runs; where inputs act on it
    or it ended early, as it is."""
    if len(curve.times) > _SHORT or curve.ended is not None or model.input_names_:
        return curve
    share = np.linspace(0, 1, _FINE, endpoint=False)
    steps = np.diff(curve.times)
    times = np.append((curve.times[:-1, None] + steps[:, None] * share).ravel(), curve.times[-1])
    rollout = model.simulate(curve.x[0], times)
    return replace(curve, times=times, x=np.asarray(rollout.x)) if rollout.completed else curve


def _inputs(data: Dataset) -> int:
    return min(len(data.input_names), _MOST_INPUTS)


def _errors(data: Dataset, run: int, curve: Curve) -> tuple[np.ndarray, np.ndarray]:
    """Times since the start, and squared errors there."""
    rows = slice(int(data.offsets[run]), int(data.offsets[run + 1]))
    times = data.times[rows]
    if len(times) == len(curve.times) and np.array_equal(times, curve.times):
        found = curve.x
    else:
        found = np.column_stack([np.interp(times, curve.times, x) for x in curve.x.T])
    with np.errstate(over="ignore", invalid="ignore"):
        return times - times[0], np.square(found - data.states[rows])


def _width(
    data: Dataset, run: int, curve: Curve, errors: list[tuple[np.ndarray, np.ndarray]]
) -> Float[np.ndarray, "T n"]:
    """The root mean square error of the other runs at the times of this one since its start."""
    since = curve.times - curve.times[0]
    total, count = np.zeros(curve.x.shape), np.zeros(curve.x.shape)
    for other, (times, squares) in enumerate(errors):
        if other == run:
            continue
        inside = since <= times[-1]
        for state, column in enumerate(squares.T):
            values = np.interp(since, times, column)
            known = inside & np.isfinite(values)
            total[known, state] += values[known]
            count[known, state] += 1
    with np.errstate(invalid="ignore"):
        return np.sqrt(np.where(count >= 2, total / np.maximum(count, 1), np.nan))


def _run(
    data: Dataset,
    run: int,
    curve: Curve,
    width: Float[np.ndarray, "T n"],
    states: list[int],
    points: int,
    error: float,
    held: Sequence[bool],
) -> ForecastRun:
    rows = slice(int(data.offsets[run]), int(data.offsets[run + 1]))
    times, values = data.times[rows], data.states[rows]
    kept = _kept(values[:, states], points)
    drawn = _kept(curve.x[:, states], points)
    line = curve.x[drawn]
    inputs = np.zeros((len(times), 0)) if data.inputs is None else data.inputs[rows]
    drawn_inputs = [
        (steps if is_held else envelope)(inputs[:, k], points) for k, is_held in enumerate(held)
    ]
    return ForecastRun(
        data.labels[run],
        error if np.isfinite(error) else None,
        curve.ended,
        curve.left,
        short(times[kept]),
        [short(values[kept, state]) for state in states],
        short(curve.times[drawn]),
        [short(line[:, state]) for state in states],
        [short((line - width[drawn])[:, state]) for state in states],
        [short((line + width[drawn])[:, state]) for state in states],
        [short(times[some]) for some in drawn_inputs],
        [short(inputs[some, k]) for k, some in enumerate(drawn_inputs)],
    )


def _kept(values: Float[np.ndarray, "N k"], points: int) -> np.ndarray:
    """About so many rows, evenly spaced, and among many those at which a column turns."""
    if len(values) <= points:
        return np.arange(len(values))
    each = max(points // (2 * values.shape[1]), 20)
    turns = [envelope(column, each) for column in values.T]
    return np.unique(np.concatenate([evenly(len(values), points // 2), *turns]))
