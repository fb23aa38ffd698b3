"""Charts of forecasts and measured runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from jaxtyping import Float

from ..._common.errors import InputError
from ...data import Dataset
from ...simulation import Interpolation, Rollout
from ._choice import (
    PICTURE,
    AbstractFittedModel,
    Label,
    chosen_names,
    envelope,
    evenly,
    interpolation_of,
    joined,
    largest,
    not_measured,
    share_shown,
    time_label,
    value_changes,
    variable_labels,
)

_MAX_STATES = 6
_MAX_INPUTS = 3
_PAGE_NUMBERS = 30_000  # numbers in all curves of a page together
_BAND_WIDTH = 2.0  # half-width of a band in root mean square errors
_MIN_BAND_RUNS = 3  # other runs
_SHORT_RUN, _FINE_POINTS = 60, 8  # rows up to which forecasts get further points, points per step
_MAX_ERROR = 1e100  # maximum error, so that squares are finite

Curves = tuple[Float[np.ndarray, " _"], ...]
Rollouts = Rollout | Sequence[Rollout] | Sequence[np.ndarray]


@final
@dataclass(frozen=True, eq=False)
class Forecast:
    """A simulated run.

    `ended` is the time at which it stopped early, and `left` the time at which it left the training
    data. After the time `lost`, a chaotic system cannot be predicted.
    """

    times: Float[np.ndarray, " T"]
    x: Float[np.ndarray, "T n"]
    ended: float | None
    left: float | None
    lost: float | None = None


@final
@dataclass(frozen=True, eq=False)
class ForecastRun:
    """A measured run and its forecast, with one curve for each shown state.

    `error` is infinite if the forecast stopped early. `low` and `high` are the limits of a band
    around the forecast.
    """

    label: str
    error: float
    ended: float | None
    left: float | None
    times: Float[np.ndarray, " T"]
    measured: Curves
    forecast_times: Float[np.ndarray, " F"]
    forecast: Curves
    input_times: Curves
    inputs: Curves
    low: Curves = ()
    high: Curves = ()
    lost: float | None = None


@final
@dataclass(frozen=True, eq=False)
class Forecasts:
    """Forecasts of some of `n_runs` measured runs.

    `band` describes the band in words, and `held` marks the inputs that are held between rows.
    """

    runs: tuple[ForecastRun, ...]
    n_runs: int
    states: tuple[Label, ...]
    inputs: tuple[Label, ...]
    held: tuple[bool, ...]
    time: Label
    band: str
    note: str


def forecast_chart(
    data: Dataset,
    rollouts: Rollouts,
    *,
    interpolation: Mapping[str, str],
    states: Sequence[str] | None = None,
    max_runs: int = PICTURE.runs,
    points: int | None = PICTURE.points,
    model: AbstractFittedModel | None = None,
) -> Forecasts:
    """Return measured runs with forecasts, by increasing error, for `states` or those with the
    largest errors.

    With a model, forecasts of short runs have points between rows, and each forecast has a band.
    """
    forecasts = as_forecasts(data, rollouts)
    run_errors, state_errors = forecast_errors(data, forecasts)
    runs = choose_runs(run_errors, max_runs)
    shown = chosen_names(states, data.state_names, "plot_forecast", "states")
    reason = ", as requested"
    if shown is None:
        shown = largest(state_errors, _MAX_STATES)
        reason = ": those with the largest forecast error" if state_errors.any() else ""
    if points is None:
        points = int(np.clip(_PAGE_NUMBERS / (6 * len(runs) * len(shown)), 60, 500))
    kinds = interpolation_of(data, interpolation)
    held = tuple(kinds[name] == Interpolation.hold for name in data.input_names[:_MAX_INPUTS])
    squares = [_squared_errors(data, run, one) for run, one in enumerate(forecasts)]
    curves = []
    for run in runs:
        forecast, width = forecasts[run], None
        if model is not None:
            forecast = _finer(model, forecast)
            width = _with_hidden(data, run, forecast, _band(data, run, forecast, squares))
        curves.append(_run(data, run, forecast, float(run_errors[run]), shown, held, points, width))
    labels = variable_labels(data)
    notes = [
        share_shown(len(shown), data.n_states, "states", reason),
        share_shown(
            len(runs), data.n_runs, "runs", ", from the smallest forecast error to the largest"
        ),
        share_shown(len(held), len(data.input_names), "inputs", ": the first"),
        not_measured(data),
    ]
    return Forecasts(
        tuple(curves),
        data.n_runs,
        tuple(labels[state] for state in shown),
        labels[data.n_states : data.n_states + len(held)],
        held,
        time_label(data),
        "" if model is None else _band_words(data),
        joined(notes),
    )


def as_forecasts(data: Dataset, rollouts: Rollouts) -> list[Forecast]:
    """Return one forecast for each run, from rollouts or arrays. Raise an error if shapes
    differ.
    """
    if isinstance(rollouts, Rollout):
        rollouts = rollouts.runs() if np.ndim(rollouts.x) == 3 else [rollouts]
    given = list(rollouts)
    if len(given) != data.n_runs:
        raise InputError(
            f"plot_forecast needs one forecast for each of the {data.n_runs} runs of the data; got "
            f"{len(given)}. Choose the runs that were forecast with data[[...]]."
        )
    forecasts = []
    for run, rollout in enumerate(given):
        measured = data.times[_rows(data, run)]
        is_rollout = isinstance(rollout, Rollout)
        times = np.asarray(rollout.times, dtype=np.float64) if is_rollout else measured
        x = np.asarray(rollout.x if is_rollout else rollout, dtype=np.float64)
        if x.shape != (len(times), data.n_states):
            raise InputError(
                f"plot_forecast: the forecast of run '{data.labels[run]}' must have shape "
                f"({len(times)}, {data.n_states}), its times x states; it has {x.shape}."
            )
        finite = np.flatnonzero(np.isfinite(x).all(axis=1))
        ended = None
        if not finite.size or finite[-1] < len(x) - 1:
            last = float(times[finite[-1] if finite.size else 0])
            stopped = rollout.stopped_at if is_rollout else None
            ended = last if stopped is None else float(stopped)
        left, lost = (rollout.left_at, rollout.reliable_until) if is_rollout else (None, None)
        forecasts.append(Forecast(times, x, ended, left, lost))
    return forecasts


def forecast_errors(
    data: Dataset, forecasts: list[Forecast]
) -> tuple[Float[np.ndarray, " R"], Float[np.ndarray, " n"]]:
    """Return the root mean square error of each run and of each state.

    Errors of runs are relative to the variation of the measured states, and infinite if the
    forecast stopped early. Errors of states are in standard deviations of the state.
    """
    parts = [_at_rows(data, run, forecast, np.nan) for run, forecast in enumerate(forecasts)]
    with np.errstate(over="ignore", invalid="ignore"):
        errors = np.concatenate(parts) - data.states
        # a forecast beyond the limit of a sensor is correct
        errors[data.plan.clipped * errors > 0] = 0.0
        is_known = np.isfinite(errors)
        squares = np.square(np.where(is_known, np.clip(errors, -_MAX_ERROR, _MAX_ERROR), 0.0))
        first = data.offsets[:-1]
        measured = data.is_measured
        error = np.add.reduceat(squares[:, measured].sum(axis=1), first)
        known = np.add.reduceat(is_known.all(axis=1).astype(float), first)
        std = data.states.std(axis=0)
        size = np.square(std[measured]).sum() or np.square(data.states[:, measured]).mean() or 1
        by_run = np.sqrt(error / (np.maximum(known, 1.0) * size))
        by_state = np.sqrt(squares.mean(axis=0)) / np.where(std > 0, std, 1.0)
    stopped = np.array([forecast.ended is not None for forecast in forecasts])
    return np.where(stopped, np.inf, by_run), by_state


def choose_runs(errors: Float[np.ndarray, " R"], max_runs: int) -> list[int]:
    """Return the indices of all runs, or of at most `max_runs` evenly spaced in the order of
    errors.
    """
    if isinstance(max_runs, bool) or not isinstance(max_runs, int | np.integer) or max_runs < 1:
        raise InputError(f"plot_forecast(most_runs=...) must be at least 1; got {max_runs!r}.")
    if len(errors) <= max_runs:
        return list(range(len(errors)))
    order = np.argsort(errors, kind="stable")
    picks = evenly(len(errors), max_runs) if max_runs > 1 else np.array([len(errors) // 2])
    return [int(order[i]) for i in picks]


def _rows(data: Dataset, run: int) -> slice:
    return slice(int(data.offsets[run]), int(data.offsets[run + 1]))


def _at_rows(
    data: Dataset, run: int, forecast: Forecast, outside: float | None = None
) -> Float[np.ndarray, "T n"]:
    """Return the forecast at the times of the run's rows.

    At other times than its own, the forecast has the value `outside`, or its first or last value if
    `outside` is None.
    """
    times = data.times[_rows(data, run)]
    if len(times) == len(forecast.times) and np.array_equal(times, forecast.times):
        return forecast.x
    return np.column_stack(
        [np.interp(times, forecast.times, x, outside, outside) for x in forecast.x.T]
    )


def _run(
    data: Dataset,
    run: int,
    forecast: Forecast,
    error: float,
    states: list[int],
    held: Sequence[bool],
    points: int,
    width: Float[np.ndarray, "T n"] | None,
) -> ForecastRun:
    rows = _rows(data, run)
    times, values, hidden = data.times[rows], data.states[rows], data.schema.hidden_columns
    measured = _thinned(values[:, states], points)
    drawn = _thinned(forecast.x[:, states], points)
    inputs = np.zeros((len(times), 0)) if data.inputs is None else data.inputs[rows]
    drawn_inputs = [
        (value_changes if is_held else envelope)(inputs[:, k], points)
        for k, is_held in enumerate(held)
    ]
    line = forecast.x[drawn]
    band: dict[str, Curves] = {}
    if width is not None:
        band["low"] = tuple((line - width[drawn])[:, state] for state in states)
        band["high"] = tuple((line + width[drawn])[:, state] for state in states)
    return ForecastRun(
        label=data.labels[run],
        error=error,
        ended=forecast.ended,
        left=forecast.left,
        lost=forecast.lost,
        times=times[measured],
        measured=tuple(
            np.full(len(measured), np.nan) if state in hidden else values[measured, state]
            for state in states
        ),
        forecast_times=forecast.times[drawn],
        forecast=tuple(line[:, state] for state in states),
        input_times=tuple(times[some] for some in drawn_inputs),
        inputs=tuple(inputs[some, k] for k, some in enumerate(drawn_inputs)),
        **band,
    )


def _thinned(values: Float[np.ndarray, "N k"], points: int) -> np.ndarray:
    """Return the indices of about `points` rows: evenly spaced rows and the extremes of each
    column.
    """
    if len(values) <= points:
        return np.arange(len(values))
    each = max(points // (2 * values.shape[1]), 20)
    turns = [envelope(column, each) for column in values.T]
    return np.unique(np.concatenate([evenly(len(values), points // 2), *turns]))


def _band(
    data: Dataset,
    run: int,
    forecast: Forecast,
    squares: list[tuple[np.ndarray, np.ndarray]],
) -> Float[np.ndarray, "T n"]:
    """Return the half-width of the band: errors of the other runs, or the noise if there are few
    runs.
    """
    if data.n_runs > _MIN_BAND_RUNS:
        return _BAND_WIDTH * _error_of_others(run, forecast, squares)
    noise = _noise(data)
    return _BAND_WIDTH * np.where(noise > 0, noise, np.nan) * np.ones_like(forecast.x)


def _with_hidden(
    data: Dataset, run: int, forecast: Forecast, width: Float[np.ndarray, "T n"]
) -> Float[np.ndarray, "T n"]:
    """Return the half-width of the band, with the standard error of the estimate for hidden
    states.
    """
    hidden, std = data.schema.hidden_columns, data.state_std
    if not hidden:
        return width
    width = np.array(width)
    width[:, hidden] = np.nan
    if std is not None:
        rows = _rows(data, run)
        for j in hidden:
            width[:, j] = _BAND_WIDTH * np.interp(forecast.times, data.times[rows], std[rows, j])
    return width


def _noise(data: Dataset) -> Float[np.ndarray, " n"]:
    return np.where(data.plan.is_noise, data.plan.noise, 0.0)


def _band_words(data: Dataset) -> str:
    if data.state_std is not None:
        noise = (
            "the noise of the measurements, for hidden states the standard error of the estimate"
        )
        return f"band: {_BAND_WIDTH:g} × {noise}"
    if data.n_runs > _MIN_BAND_RUNS:
        return (
            f"band: {_BAND_WIDTH:g} × the root mean square error of the other runs' forecasts at "
            f"that time"
        )
    return f"band: {_BAND_WIDTH:g} × the noise of the measurements" if _noise(data).any() else ""


def _finer(model: AbstractFittedModel, forecast: Forecast) -> Forecast:
    """Return a short forecast with points between its rows.

    A forecast with inputs, or one that ended early, is returned unchanged.
    """
    times = forecast.times
    if len(times) > _SHORT_RUN or forecast.ended is not None or model.input_names_:
        return forecast
    share = np.linspace(0, 1, _FINE_POINTS, endpoint=False)
    fine = np.append((times[:-1, None] + np.diff(times)[:, None] * share).ravel(), times[-1])
    rollout = model.simulate(forecast.x[0], fine)
    return replace(forecast, times=fine, x=np.asarray(rollout.x)) if rollout.completed else forecast


def _squared_errors(data: Dataset, run: int, forecast: Forecast) -> tuple[np.ndarray, np.ndarray]:
    """Return the times since the start, and the squared errors at these times."""
    rows = _rows(data, run)
    times = data.times[rows]
    with np.errstate(over="ignore", invalid="ignore"):
        return times - times[0], np.square(_at_rows(data, run, forecast) - data.states[rows])


def _error_of_others(
    run: int, forecast: Forecast, errors: list[tuple[np.ndarray, np.ndarray]]
) -> Float[np.ndarray, "T n"]:
    """Return the root mean square error of the other runs at this run's times since the start."""
    since = forecast.times - forecast.times[0]
    total, count = np.zeros(forecast.x.shape), np.zeros(forecast.x.shape)
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
