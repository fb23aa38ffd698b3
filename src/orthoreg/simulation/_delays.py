"""Delayed variables in runs and in simulations, and the method of steps."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from jaxtyping import Bool, Float

from .._common.errors import InputError
from ..data import Dataset, Delay
from . import _limits as limits
from ._inputs import (
    Inputs,
    Interpolation,
    SampledInput,
    input_interpolation,
    joined_signals,
    sampled,
)
from ._integrate import Rollout, Status


def with_delays(data: Dataset, delays: Sequence[Delay], max_delay: float = 0.0) -> Dataset:
    """Return the runs with these delayed columns, after the inputs and before time.

    A row needs a history as long as the longest delay, or as `max_delay` if that is longer. Rows
    too close to the start of their run are left out. Delayed states are read from the smoothed
    measurements.
    """
    if not delays or data.delays == tuple(delays):
        return data
    skipped = max([max_delay, *(delay.value for delay in delays)])
    rows = rows_with_history(data, skipped)
    columns, lines = delayed_columns(data, delays)
    subset = data.only(rows)
    n_time = int(data.time_input is not None)
    names = data.input_names
    cut = len(names) - n_time
    given = np.zeros((data.n_samples, 0)) if data.inputs is None else data.inputs
    inputs = np.hstack([given[:, :cut], columns, given[:, cut:]])[rows]
    nothing = np.full((data.n_samples, len(names), 2), np.nan)
    lines = np.concatenate([nothing[:, :cut], lines, nothing[:, cut:]], axis=1)[rows]
    schema = replace(
        data.schema,
        input_names=(*names[:cut], *(delay.name for delay in delays), *names[cut:]),
        delays=tuple(delays),
    )
    has_lines = np.isfinite(lines).any()
    result = replace(subset, inputs=inputs, schema=schema, input_lines=lines if has_lines else None)
    return result.with_plan_of(data, rows)


def rows_with_history(data: Dataset, delay: float) -> Bool[np.ndarray, " N"]:
    """Return the rows with a history of this length, in runs that have enough such rows."""
    first = data.times[data.offsets[:-1]][data.run_of_row]
    step = np.median(np.diff(data.times)) if data.n_samples > 1 else 1.0
    rows = data.times >= first + delay - limits.TIME_ROUNDING * abs(step)
    count = np.bincount(data.run_of_row[rows], minlength=data.n_runs)
    rows &= (count >= limits.MIN_ROWS_AFTER_DELAY)[data.run_of_row]
    if not rows.any():
        last = data.times[data.offsets[1:] - 1]
        longest = float((last - data.times[data.offsets[:-1]]).max())
        raise InputError(
            f"A delay must be shorter than the longest run, which lasts {longest:.4g} "
            f"{data.time_name}; got {delay:.4g}. Earlier rows have no history. Give a shorter "
            "delay, or longer runs."
        )
    return rows


def delayed_columns(
    data: Dataset, delays: Sequence[Delay]
) -> tuple[Float[np.ndarray, "N d"], Float[np.ndarray, "N d 2"]]:
    """Return the values of delayed variables at each row, and their lines.

    A line is the straight line of a delayed input between rows (see `Dataset.input_lines`), for
    inputs that are held between rows. It is NaN for states.

    Before the start of a run, a variable has its first value.
    """
    kinds = input_interpolation(data.input_names, data)
    columns = np.empty((data.n_samples, len(delays)))
    lines = np.full((data.n_samples, len(delays), 2), np.nan)
    for first, last in zip(data.offsets[:-1], data.offsets[1:], strict=True):
        times = data.times[first:last]
        for i, delay in enumerate(delays):
            values = _history(data, delay.variable)[first:last]
            kind = kinds.get(delay.variable, str(Interpolation.cubic))
            earlier = np.maximum(times - delay.value, times[0])
            if delay.variable in kinds:
                lines[first:last, i] = _lines_of_steps(times, values, delay.value)
            if kind == Interpolation.hold:
                index = np.searchsorted(times, earlier + _rounding(times), side="right") - 1
                columns[first:last, i] = values[index]
            else:
                signal = sampled([SampledInput(times, values[:, None])], [kind], np.zeros(1, int))
                columns[first:last, i] = signal.at(earlier[None])[0, :, 0]
    return columns, lines


def _rounding(times: np.ndarray) -> float:
    return limits.TIME_ROUNDING * float(np.ptp(times)) / max(len(times), 1)


def _history(data: Dataset, variable: str) -> Float[np.ndarray, " N"]:
    """Return the values of a variable from which delayed values are read.

    These are the values of an input, or of a state, smoothed if the runs are noisy.
    """
    if variable in data.input_names:
        assert data.inputs is not None
        return data.inputs[:, data.input_names.index(variable)]
    states = data.plan.smoothed if data.plan.is_noisy else data.states
    return states[:, data.state_names.index(variable)]


def _lines_of_steps(
    times: Float[np.ndarray, " n"], values: Float[np.ndarray, " n"], delay: float
) -> Float[np.ndarray, "n 2"]:
    """Return a straight line (initial value, change) for each step between rows.

    The line has the mean and the first moment of the held values after the delay. The impulse and
    the time of a jump within a step are then exact.
    """
    t = times - times[0]
    widths = np.diff(t)
    once = np.concatenate([[0.0], np.cumsum(values[:-1] * widths)])
    twice = np.concatenate([[0.0], np.cumsum(once[:-1] * widths + values[:-1] * widths**2 / 2)])

    def integrals(at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        index = np.maximum(np.searchsorted(t, at, side="right") - 1, 0)
        rest = at - t[index]  # negative before the first row; the first value is held backwards
        return (
            once[index] + values[index] * rest,
            twice[index] + once[index] * rest + values[index] * rest**2 / 2,
        )

    begin = t - delay
    width = np.append(widths, widths[-1] if len(widths) else 1.0)
    once_begin, twice_begin = integrals(begin)
    once_end, twice_end = integrals(begin + width)
    mean = (once_end - once_begin) / width
    moment = (width * once_end - (twice_end - twice_begin)) / width**2
    change = 12 * (moment - mean / 2)
    size = np.abs(values).max(initial=0.0)
    change[np.abs(change) <= 1e-9 * size] = 0.0  # rounding; the input is constant in this step
    return np.column_stack([mean - change / 2, change])


# -- simulations ---------------------------------------------------------------------------


def with_delayed_inputs(
    inputs: Inputs, names: Sequence[str], delays: Sequence[Delay], has_time: bool
) -> Inputs:
    """Return the inputs of a simulation with exact delayed copies.

    Before its first time, an input has its first value. Time, if it is the last input, remains
    last.
    """
    cut = inputs.size - int(has_time)
    parts, pieces = [], []
    for signal in range(len(inputs.cells.knots)):
        knots = np.unique(inputs.cells.knots[signal])
        shifted = np.concatenate([knots + delay.value for delay in delays])
        every = _merged_knots(knots[0], knots[-1], knots, shifted)
        now = _pieces_between(inputs, signal, every, 0.0)
        earlier = [
            _pieces_between(inputs, signal, every, delay.value)[..., [names.index(delay.variable)]]
            for delay in delays
        ]
        parts.append(every)
        pieces.append(np.concatenate([now[..., :cut], *earlier, now[..., cut:]], axis=2))
    return joined_signals(list(zip(parts, pieces, strict=True)), inputs.cells.signal)


def _merged_knots(
    first: float, last: float, *parts: Float[np.ndarray, " _"]
) -> Float[np.ndarray, " C"]:
    """Return all knots within a range, and the ends of the range, the last of them twice."""
    inside = np.concatenate([part[(part > first) & (part < last)] for part in parts])
    knots = np.unique(np.concatenate([[first, last], inside]))
    is_new = np.append(True, np.diff(knots) > limits.MIN_CELL * (last - first))
    is_new[-1] = True
    return np.append(knots[is_new], last)


def _pieces_between(
    inputs: Inputs, signal: int, knots: Float[np.ndarray, " C"], delay: float
) -> Float[np.ndarray, "cells p m"]:
    """Return the polynomials of a delayed signal between other knots."""
    old, coefficients = inputs.cells.knots[signal], inputs.cells.coefficients[signal]
    begin, end = knots[:-1] - delay, knots[1:] - delay
    middle = (begin + end) / 2
    middle[-1] = end[-1]
    cell = np.maximum(np.searchsorted(old[:-1], middle, side="right") - 1, 0)
    width = old[cell + 1] - old[cell]
    width = np.where(width > 0, width, 1.0)
    offset = ((begin - old[cell]) / width)[:, None, None]
    scale = ((end - begin) / width)[:, None, None]
    pieces = coefficients[cell]
    result = np.zeros_like(pieces)
    for power in range(pieces.shape[1]):  # Horner's rule for a polynomial in offset + scale * s
        raised = np.zeros_like(result)
        raised[:, :-1] = scale * result[:, 1:]
        result = raised + offset * result
        result[:, -1] += pieces[:, power]
    is_before = middle < old[0]
    result[is_before, :-1] = 0.0
    result[is_before, -1] = coefficients[0, -1]
    return result


# -- the method of steps -------------------------------------------------------------------


@final
@dataclass(frozen=True, eq=False)
class History:
    """States before the start of a simulation, at increasing times.

    Before the first of these times, the states equal the first ones.
    """

    times: Float[np.ndarray, " H"]
    states: Float[np.ndarray, "H n"]


@final
class Past:
    """The history of a simulation and its simulated part, as splines between `ends`."""

    def __init__(self, history: History, start: float, state: Float[np.ndarray, " n"]):
        kept = history.times < start - limits.TIME_ROUNDING * (start - history.times[0])
        times = np.append(history.times[kept], start)
        states = np.concatenate([history.states[kept], state[None]])
        self.first, self.first_state = times[0], states[0]
        self.ends: list[float] = []
        self.splines: list[Callable[[np.ndarray], np.ndarray]] = []
        if len(times) > 1:
            self.add(times, states)

    def add(self, times: Float[np.ndarray, " T"], states: Float[np.ndarray, "T n"]) -> None:
        from scipy.interpolate import CubicSpline

        self.ends.append(float(times[-1]))
        self.splines.append(CubicSpline(times, states))

    def at(self, times: Float[np.ndarray, " T"]) -> Float[np.ndarray, "T n"]:
        values = np.tile(self.first_state, (len(times), 1))
        if self.ends:
            piece = np.minimum(np.searchsorted(self.ends, times, side="left"), len(self.ends) - 1)
            for index in np.unique(piece):
                rows = (piece == index) & (times >= self.first)
                values[rows] = self.splines[index](times[rows])
        return values


def simulate_by_steps(
    simulate: Callable[[np.ndarray, np.ndarray, Inputs], Rollout],
    start: Float[np.ndarray, " n"],
    times: Float[np.ndarray, " T"],
    inputs: Inputs | None,
    history: History,
    names: Sequence[str],
    state_names: Sequence[str],
    delays: Sequence[Delay],
) -> Rollout:
    """Return a rollout of a field with delayed states, integrated in stretches of the shortest
    delay.

    `simulate(start, times, inputs)` integrates a stretch, during which delayed states are known
    inputs. `inputs` are the other inputs, in the order of `names`.
    """
    shortest = min(delay.value for delay in delays)
    span = float(times[-1] - times[0])
    if not shortest > 0 or span / shortest > limits.MAX_DELAY_STEPS:
        raise InputError(
            f"A simulation over {span:.4g} with a delay of {shortest:.3g} takes more than "
            f"{limits.MAX_DELAY_STEPS:,} steps of one delay. Choose a shorter horizon, or a term "
            "without delay."
        )
    past = Past(history, float(times[0]), start)
    columns = {delay.name: delay for delay in delays}
    others = [name for name in names if name not in columns]
    order = [*others, *columns]
    place = [order.index(name) for name in names]
    x = np.full((len(times), len(start)), np.nan)
    x[0] = start
    rollout, left_at, note = None, None, ""
    begin, state = float(times[0]), start
    count = max(int(np.ceil(span / shortest * (1 - 1e-12))), 1)
    for k in range(count):
        end = float(times[-1]) if k == count - 1 else float(times[0]) + (k + 1) * shortest
        grid = np.linspace(begin, end, limits.STEPS_PER_DELAY + 1)
        asked = (times > begin) & (times <= end)
        every = np.unique(np.concatenate([grid, times[asked]]))
        values = np.column_stack([
            past.at(grid - delay.value)[:, state_names.index(delay.variable)]
            for delay in delays
        ])  # fmt: skip
        known = _with_columns(inputs, grid, values, place)
        rollout = simulate(state, every, known)
        x[asked] = rollout.x[np.searchsorted(every, times[asked])]
        if left_at is None and rollout.left_at is not None:
            left_at, note = rollout.left_at, rollout.message
        if rollout.status is not Status.completed:
            break
        past.add(every, rollout.x)
        begin, state = end, rollout.x[-1]
    assert rollout is not None
    message = rollout.message if rollout.status is not Status.completed else note
    return replace(rollout, times=times, x=x, left_at=left_at, message=message)


def _with_columns(
    inputs: Inputs | None,
    grid: Float[np.ndarray, " G"],
    values: Float[np.ndarray, "G d"],
    place: Sequence[int],
) -> Inputs:
    """Return the inputs of one rollout with further columns, in the order `place`.

    The columns are splines through these values at the times of a grid.
    """
    shared = np.zeros(1, dtype=np.int64)
    kinds = [str(Interpolation.cubic)] * values.shape[1]
    added = sampled([SampledInput(grid, values)], kinds, shared)
    given = [] if inputs is None else [inputs.cells.knots[inputs.cells.signal[0]]]
    knots = _merged_knots(grid[0], grid[-1], grid, *given)
    parts = [_pieces_between(added, 0, knots, 0.0)]
    if inputs is not None:
        parts.insert(0, _pieces_between(inputs, int(inputs.cells.signal[0]), knots, 0.0))
    degree = max(part.shape[1] for part in parts)
    parts = [np.pad(part, ((0, 0), (degree - part.shape[1], 0), (0, 0))) for part in parts]
    pieces = np.concatenate(parts, axis=2)[..., place]
    return joined_signals([(knots, pieces)], shared)
