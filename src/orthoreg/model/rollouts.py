"""Simulate a fitted field. Messages state the cause of each failure."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from .._common.errors import InputError, quoted
from .._common.notation import left_side
from ..data import Dataset, Schema
from ..field.hybrid import HybridField, SwitchedField, switched
from ..simulation import (
    History,
    Inputs,
    Interpolation,
    NumpyField,
    Rollout,
    SampledInput,
    in_numpy,
    integrate,
    iterate,
    sampled,
    simulate_by_steps,
)
from . import _limits as limits

if TYPE_CHECKING:
    pass


def rollouts(
    field: HybridField,
    state_range: Float[np.ndarray, "2 n"],
    names: tuple[str, ...],
    equations: tuple[str, ...],
    starts: Float[np.ndarray, "B n"],
    times: Float[np.ndarray, "B T"],
    inputs: Inputs | None,
    rtol: float,
    step: float | None = None,
    horizon: float | None = None,
) -> Rollout:
    """Simulate a batch of rollouts.

    A state beyond `DIVERGENCE` times its size in training has diverged. `equations` are the names
    of the equations. With a `step`, the field is a map. Forecasts are reliable for the time
    `horizon`, if given.
    """
    if not (isinstance(rtol, float) and 0 < rtol < 1):
        raise InputError(f"rtol must be a number between 0 and 1; got {rtol!r}.")
    size = np.abs(state_range).max(axis=0)
    reach = np.maximum(np.where(size > 0, size, 1.0), np.abs(starts))
    used = field.without_idle_basis().without_idle_terms()
    bound = limits.DIVERGENCE * reach
    if step is not None:
        rollout = iterate(used.values, starts, times, step, inputs, bound=bound)
    else:
        jumping = switched(used)
        rollout = integrate(
            used if jumping is None else jumping,
            starts,
            times,
            inputs,
            in_numpy=_in_numpy(used, jumping, owner=field),
            bound=bound,
            rtol=rtol,
            atol=rtol * reach,
        )
    left_at = _first_outside(field, rollout, inputs)
    messages = list(rollout.message)
    for i, time in enumerate(rollout.stopped_at):
        if time is not None:
            z = _ends(rollout, inputs, [i])[0]
            messages[i] = _cause(field, messages[i], z, names, equations, np.maximum(size, 1e-300))
        if left_at[i] is not None:
            messages[i] = (
                f"The rollout left the training data at t = {left_at[i]:.6g}; from then on, it is "
                f"extrapolation. {messages[i]}"
            ).strip()
    reliable_until = _reliable_until(rollout, horizon)
    # the inputs may stabilise the system
    kind = "chaotic" if inputs is None else "chaotic or unstable"
    for i, time in enumerate(reliable_until):
        if time is not None:
            messages[i] = (
                f"The system is {kind}: after t = {time:.3g}, the forecast is one possible course "
                f"of the system, not a prediction. {messages[i]}"
            ).strip()
    return replace(rollout, message=messages, left_at=left_at, reliable_until=reliable_until)


def _reliable_until(rollout: Rollout, horizon: float | None) -> list[float | None]:
    """Return the time at which each rollout exceeds the horizon, or None if it does not."""
    if horizon is None:
        return [None] * len(rollout.x)
    ends_of_horizon = rollout.times[:, 0] + horizon
    ends = [
        time.max() if stopped is None else stopped
        for time, stopped in zip(rollout.times, rollout.stopped_at, strict=True)
    ]
    return [float(t) if t < end else None for t, end in zip(ends_of_horizon, ends, strict=True)]


def _in_numpy(field: HybridField, jumping: SwitchedField | None, owner: HybridField) -> NumpyField:
    """Return the field as a NumPy function of many rollouts, with the cost of one row."""

    def slope(t: Any, x: Any, u: Any) -> np.ndarray:
        return field.values(x if u is None else np.hstack([x, u]))

    region = 0 if field.region is None else limits.DISTANCE_COST
    cost = len(field.features.terms) + field.basis.size + region
    many = slope if jumping is None else in_numpy(jumping)
    return NumpyField(many, float(max(cost, 1)), owner)


def _ends(rollout: Rollout, inputs: Inputs | None, rows: list[int]) -> Float[np.ndarray, "r V"]:
    """Return the states and inputs at which these failed rollouts ended."""
    states = np.stack([rollout.stopped_state[i] for i in rows])
    if inputs is None:
        return states
    times = np.array([[rollout.stopped_at[i]] for i in rows])
    return np.hstack([states, inputs.only(rows).at(times)[:, 0]])


def _first_outside(
    field: HybridField, rollout: Rollout, inputs: Inputs | None
) -> list[float | None]:
    """Return the first time at which each rollout is outside the field's region. NaN is ignored."""
    if field.region is None:
        return [None] * len(rollout.x)
    count, points, n = rollout.x.shape
    z = rollout.x if inputs is None else np.dstack([rollout.x, inputs.at(rollout.times)])
    distance = field.region.distance(z.reshape(count * points, -1)).reshape(count, points)
    times = np.where(distance > 1, rollout.times, np.inf).min(axis=1)
    failed = [i for i, time in enumerate(rollout.stopped_at) if time is not None]
    if failed:
        gone = field.region.distance(_ends(rollout, inputs, failed)) > 1
        last = np.array([rollout.stopped_at[i] for i in failed])
        times[failed] = np.minimum(times[failed], np.where(gone, last, np.inf))
    return [float(time) if math.isfinite(time) else None for time in times]


def _cause(
    field: HybridField,
    message: str,
    z: Float[np.ndarray, " V"],
    names: tuple[str, ...],
    equations: tuple[str, ...],
    size: Float[np.ndarray, " n"],
) -> str:
    """Return the message with the final state and the term that is largest there.

    The size of a term is relative to the size of each state.
    """
    parts = [
        (name, equation, abs(value) / size[equation] if math.isfinite(value) else math.inf)
        for name, equation, value in field.contributions(z)
    ]
    where = ", ".join(f"{name} = {value:.3g}" for name, value in zip(names, z, strict=False))
    dominant = ""
    if parts:
        name, equation, _ = max(parts, key=lambda part: part[2])
        dominant = f"; the term {name} in {left_side(equations[equation])} dominates there"
    return (
        f"{message} ({where}){dominant}. Start closer to the training data, choose a shorter "
        f"horizon, or use fewer terms."
    )


def delayed_rollouts(
    simulate: Callable[..., Rollout],
    starts: Float[np.ndarray, "B n"],
    times: Float[np.ndarray, "B T"],
    inputs: Inputs | None,
    rtol: float,
    histories: Sequence[History],
    schema: Schema,
) -> Rollout:
    """Simulate rollouts with delayed states by the method of steps.

    Columns of delayed states in `inputs` are replaced.
    """
    delays = [delay for delay in schema.delays if delay.variable in schema.state_names]
    replaced = {delay.name for delay in delays}
    kept = [i for i, name in enumerate(schema.input_names) if name not in replaced]
    if inputs is not None and inputs.size == len(schema.input_names):
        inputs = inputs.columns(kept) if kept else None
    runs = []
    for i, (start, row, history) in enumerate(zip(starts, times, histories, strict=True)):
        own = None if inputs is None else inputs.only([i])
        last = int(np.argmax(row))  # rows of shorter runs repeat their last time

        def one(state: Any, stretch: Any, known: Inputs) -> Rollout:
            return simulate(state[None], stretch[None], known, rtol).runs()[0]

        run = simulate_by_steps(
            one, start, row[: last + 1], own, history, schema.input_names, schema.state_names,
            delays,
        )  # fmt: skip
        x = np.concatenate([run.x, np.repeat(run.x[-1:], len(row) - last - 1, axis=0)])
        runs.append(replace(run, times=row, x=x))
    return Rollout(
        times,
        np.stack([run.x for run in runs]),
        *([getattr(run, name) for run in runs] for name in (
            "status", "stopped_at", "stopped_state", "message", "left_at", "reliable_until"
        )),
    )  # fmt: skip


def histories_of(
    given: Any, starts: Float[np.ndarray, "B n"], times: Float[np.ndarray, " T"], schema: Schema
) -> list[History]:
    """Return the history of each initial state, or an empty list without delayed states."""
    longest = [delay.value for delay in schema.delays if delay.variable in schema.state_names]
    if not longest:
        if given is not None:
            raise InputError("history is for models with delayed states; omit it.")
        return []
    first, begin = float(times[0]), float(times[0]) - max(longest)
    if given is None:
        return [History(np.array([first - 1.0]), start[None]) for start in starts]
    if isinstance(given, Dataset):
        if given.n_runs != 1 or given.state_names != schema.state_names:
            raise InputError(
                f"history must be one run with the states {quoted(schema.state_names)}; got "
                f"{given.n_runs} runs of {quoted(given.state_names)}."
            )
        rounding = 1e-6 * (first - begin)
        if given.times[0] > begin + rounding or given.times[-1] < first - rounding:
            raise InputError(
                f"history must cover the times {begin:g} to {first:g}; it covers "
                f"{given.times[0]:g} to {given.times[-1]:g}."
            )
        states = given.plan.smoothed if given.plan.is_noisy else given.states
        rows = given.times <= first
        return [History(given.times[rows], states[rows])] * len(starts)
    if not callable(given):
        raise InputError(
            f"history must be a Dataset of one run, or a function of time; got "
            f"{type(given).__name__}."
        )
    grid = np.linspace(begin, first, limits.HISTORY_POINTS)
    try:
        states = np.array([np.asarray(given(t), dtype=float).reshape(-1) for t in grid.tolist()])
        states = states.reshape(len(grid), starts.shape[1])
    except (TypeError, ValueError) as error:
        raise InputError(
            f"history, as a function of time, must take one time and return {starts.shape[1]} "
            f"numbers, but failed: {error}"
        ) from None
    return [History(grid, states)] * len(starts)


def run_histories(data: Dataset) -> list[History]:
    """Return the history of each run from its delayed columns, or an empty list without delayed
    states.

    A state without a delay does not need a history.
    """
    delays = [delay for delay in data.delays if delay.variable in data.state_names]
    if not delays:
        return []
    assert data.inputs is not None
    longest = max(delay.value for delay in delays)
    histories = []
    for first, last in zip(data.offsets[:-1], data.offsets[1:], strict=True):
        times, start = data.times[first:last], data.states[first]
        grid = np.linspace(times[0] - longest, times[0], limits.HISTORY_POINTS)
        states = np.tile(start, (len(grid), 1))
        for delay in sorted(delays, key=lambda delay: delay.value):
            column = data.inputs[first:last, data.input_names.index(delay.name)]
            earlier = grid + delay.value
            inside = earlier >= times[0]
            kinds, shared = [str(Interpolation.cubic)], np.zeros(1, dtype=np.int64)
            signal = sampled([SampledInput(times, column[:, None])], kinds, shared)
            values = signal.at(np.minimum(earlier[inside], times[-1])[None])[0, :, 0]
            states[inside, data.state_names.index(delay.variable)] = values
        histories.append(History(grid[:-1], states[:-1]))
    return histories


def with_past_inputs(u: Any, t: Any, data: Dataset, schema: Schema) -> Any:
    """Return the inputs `u` at the times `t` with the earlier ones of a run, if an input is delayed
    and `u` is an array with a row for each time."""
    names, times = list(schema.measured_inputs), np.ravel(np.asarray(t, dtype=float))
    delays = [delay.value for delay in schema.delays if delay.variable in names]
    if not delays or callable(u) or isinstance(u, SampledInput) or hasattr(u, "iloc"):
        return u
    if np.shape(u) != (len(times), len(names)):
        return u
    assert data.inputs is not None
    columns = [data.input_names.index(name) for name in names]
    past = data.times < times[0] - limits.TIME_ROUNDING * max(delays)
    values = np.concatenate([data.inputs[past][:, columns], np.asarray(u, dtype=float)])
    return SampledInput(np.concatenate([data.times[past], times]), values)
