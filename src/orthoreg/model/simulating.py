"""Simulations and forecasts of a fitted model."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from .._common.errors import InputError
from ..data import Dataset
from ..matching import starting_states
from ..simulation import (
    History,
    Inputs,
    Rollout,
    chosen_interpolation,
    run_inputs,
    simulation_inputs,
    with_delayed_inputs,
)
from . import _limits as limits
from .rollouts import delayed_rollouts, histories_of, rollouts, run_histories, with_past_inputs
from .validation import in_states_of, known_variables, simulation_arrays

if TYPE_CHECKING:
    from .model import AbstractModel


def simulated(
    model: "AbstractModel",
    x0: Any,
    t: Any,
    u: Any,
    *,
    from_data: Dataset | None,
    interpolation: Any,
    history: Any,
    rtol: float,
) -> Rollout:
    """Return the trajectory from one initial state, or from several at once."""
    kinds = chosen_interpolation(model.input_interpolation_, interpolation)
    if from_data is not None:
        x0 = _state_from_data(model, from_data, x0, t, kinds)
        is_delayed = any(d.variable in model.state_names_ for d in model.schema_.delays)
        history = from_data if history is None and is_delayed else history
        u = with_past_inputs(u, t, from_data, model.schema_)
    elif x0 is None or t is None:
        raise InputError(
            "simulate needs the times t, and x0, the state at the first time, or from_data, a "
            "run of past samples."
        )
    starts, times, single = simulation_arrays(x0, t, len(model.state_names_))
    inputs = _inputs(model, u, times, len(starts), kinds)
    histories = histories_of(history, starts, times, model.schema_)
    every = np.tile(times, (len(starts), 1))
    rollout = _rollouts(model, starts, every, inputs, rtol, histories)
    return rollout.runs()[0] if single else replace(rollout, times=times)


def forecasts_of(
    model: "AbstractModel", data: Dataset, interpolation: Any, rtol: float | None
) -> list[Rollout]:
    """Simulate each run from its first row, at its times and with its inputs."""
    data = in_states_of(model, data)
    known_variables(model, data, None)
    kinds = chosen_interpolation(model.input_interpolation_, interpolation)
    last = np.maximum.reduceat(np.arange(data.n_samples), data.offsets[:-1])
    columns = np.arange(data.run_lengths.max())
    rows = np.minimum(data.offsets[:-1, None] + columns, last[:, None])
    starts = data.states[data.offsets[:-1]]
    noisy = data.plan.is_noisy or bool(data.hidden)
    rtol = rtol or (limits.FORECAST_TOLERANCE if noisy else 1e-8)
    if noisy:
        starts, _ = starting_states(model.field_, data, kinds, model.knowledge().starts)
    inputs, histories = run_inputs(data, kinds), run_histories(data)
    rollout = _rollouts(model, starts, data.times[rows], inputs, rtol, histories)
    return [
        replace(run, times=run.times[:length], x=run.x[:length])
        for run, length in zip(rollout.runs(), data.run_lengths, strict=True)
    ]


def _inputs(
    model: "AbstractModel", u: Any, times: np.ndarray, count: int, kinds: Mapping[str, str]
) -> Inputs | None:
    """Return the inputs of a simulation, including delayed inputs but not delayed states."""
    has_time, schema = bool(model.clock_), model.schema_
    given = {name: kinds[name] for name in schema.measured_inputs}
    names = tuple(given)
    if has_time:
        given[model.clock_] = kinds[model.clock_]
    delays = [delay for delay in schema.delays if delay.variable in names]
    longest = max((delay.value for delay in delays), default=0.0)
    if longest > 0 and callable(u):  # a function also gives inputs before the first time
        times = np.append(times[0] - longest, times)
    inputs = simulation_inputs(u, times, count, given, time_input=has_time)
    if inputs is None or not delays:
        return inputs
    return with_delayed_inputs(inputs, names, delays, has_time)


def _rollouts(
    model: "AbstractModel",
    starts: np.ndarray,
    times: np.ndarray,
    inputs: Inputs | None,
    rtol: float,
    histories: Sequence[History] = (),
) -> Rollout:
    """Return the rollouts of several runs. Delayed states require histories."""
    simulate = partial(
        rollouts, model.field_, model.state_range_, model.state_names_, model.equation_labels(),
        step=model.schema_.step, horizon=model.fit_.horizon,
    )  # fmt: skip
    if not histories:
        return simulate(starts, times, inputs, rtol)
    return delayed_rollouts(simulate, starts, times, inputs, rtol, histories, model.schema_)


def _state_from_data(
    model: "AbstractModel",
    data: Any,
    x0: Any,
    t: Any,
    kinds: Mapping[str, str],
) -> Float[np.ndarray, " n"]:
    """Return the state at the first of the times `t`, estimated from a run of past samples."""
    if x0 is not None:
        raise InputError("from_data estimates the state at the first time; omit x0.")
    if not isinstance(data, Dataset) or data.n_runs != 1:
        given = f"{data.n_runs} runs" if isinstance(data, Dataset) else type(data).__name__
        raise InputError(f"from_data must be a Dataset of one run; got {given}.")
    if t is None or not np.size(t):
        raise InputError("t must give the times of the simulation.")
    measured, data = data, in_states_of(model, data)
    known_variables(model, data, None)
    time, first, last = float(np.ravel(t)[0]), float(data.times[0]), float(data.times[-1])
    rounding = limits.TIME_ROUNDING * (last - first)
    may_be_later = data.inputs is None
    if time < first - rounding or (time > last + rounding and not may_be_later):
        allowed = f"at or after {first:g}" if may_be_later else f"within {first:g} to {last:g}"
        raise InputError(
            f"The first time of the simulation must be {allowed}, the times of from_data; got "
            f"{time:g}."
        )
    row = max(int(np.searchsorted(data.times, time + rounding, side="right")) - 1, 0)
    if data.plan.is_noisy or data.hidden:
        rules = model.knowledge().starts
        states, rows = starting_states(model.field_, data, kinds, rules, row)
        start, begin = states[0], int(rows[0])
    else:
        start, begin = data.states[row], row
    times = data.times[begin : row + 1]
    if time > times[-1] + rounding:
        times = np.append(times, time)
    if len(times) == 1:
        return start
    is_delayed = any(delay.variable in data.state_names for delay in data.delays)
    past = histories_of(measured if is_delayed else None, start[None], times, model.schema_)
    tolerance = limits.FORECAST_TOLERANCE
    rollout = _rollouts(model, start[None], times[None], run_inputs(data, kinds), tolerance, past)
    state = rollout.x[0, -1]
    if not np.isfinite(state).all():
        raise InputError(
            f"The trajectory that fits from_data does not reach t = {time:g}. {rollout.message[0]}"
        )
    return state
