"""Inputs of a simulation: interpolated samples (cubic, linear, hold), or functions of time."""

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from jaxtyping import Bool, Float, Int

from .._common.errors import InputError, quoted, suggestion
from ..data import Dataset, as_numbers, split_delayed
from . import _limits as limits
from ._tsit5 import Cells


@final
class Interpolation(enum.StrEnum):
    """Interpolation of an input between its samples."""

    cubic = "cubic"  # a not-a-knot cubic spline
    linear = "linear"
    hold = "hold"  # the last value until the next sample


@final
@dataclass(frozen=True, eq=False)
class SampledInput:
    """Values (K, m) of inputs at their sampling times (K,).

    `lines` are straight lines that replace held values between rows (see `Dataset.input_lines`).
    """

    times: Float[np.ndarray, " K"]
    values: Float[np.ndarray, "K m"]
    lines: Float[np.ndarray, "K m 2"] | None = None


@final
@dataclass(frozen=True, eq=False)
class Inputs:
    """The inputs of many rollouts as piecewise polynomials (see `Cells`).

    `jumps` is true if any input is discontinuous at a knot.
    """

    cells: Cells
    jumps: bool

    @property
    def size(self) -> int:
        return self.cells.coefficients.shape[3]

    def only(self, rows: Any) -> "Inputs":
        """Return the inputs of the selected rollouts."""
        return replace(self, cells=self.cells._replace(signal=self.cells.signal[rows]))

    def columns(self, chosen: Sequence[int]) -> "Inputs":
        """Return the selected inputs of all rollouts."""
        coefficients = self.cells.coefficients[..., list(chosen)]
        return replace(self, cells=self.cells._replace(coefficients=coefficients))

    def cell_at(self, times: Float[np.ndarray, " B"]) -> Int[np.ndarray, " B"]:
        """Return the index of each rollout's cell at its time. A knot belongs to the cell after
        it.
        """
        cells = np.empty(len(times), dtype=np.int64)
        for signal in np.unique(self.cells.signal).tolist():
            rows = self.cells.signal == signal
            cells[rows] = self._cells_of(int(signal), times[rows])
        return cells

    def _cells_of(self, signal: int, times: Float[np.ndarray, "..."]) -> Int[np.ndarray, "..."]:
        cells = np.searchsorted(self.cells.knots[signal, :-1], times, side="right") - 1
        return np.maximum(cells, 0)

    def at(self, times: Float[np.ndarray, "B T"]) -> Float[np.ndarray, "B T m"]:
        """Return the values of the inputs. At a jump, return the values after the jump."""
        values = np.empty((*times.shape, self.size))
        for signal in np.unique(self.cells.signal).tolist():
            rows = np.flatnonzero(self.cells.signal == signal)
            is_shared = (times[rows] == times[rows[0]]).all()
            values[rows] = self._values_of(int(signal), times[rows[:1] if is_shared else rows])
        return values

    def _values_of(
        self, signal: int, times: Float[np.ndarray, "r T"]
    ) -> Float[np.ndarray, "r T m"]:
        cell, knots = self._cells_of(signal, times), self.cells.knots[signal]
        start, stop = knots[cell], knots[cell + 1]
        position = ((times - start) / np.where(stop > start, stop - start, 1.0))[..., None]
        pieces = self.cells.coefficients[signal, cell]
        values = pieces[..., 0, :]
        for power in range(1, pieces.shape[2]):
            values = values * position + pieces[..., power, :]
        return values


def sampled(
    signals: Sequence[SampledInput], kinds: Sequence[str], signal: Int[np.ndarray, " B"]
) -> Inputs:
    """Return inputs from samples. Each column has its own kind of interpolation.

    Knots are the times of the samples, except those between equal constants.
    """
    by_times: dict[bytes, list[int]] = {}
    for i, sampled_input in enumerate(signals):
        by_times.setdefault(sampled_input.times.tobytes(), []).append(i)
    parts: list[Any] = [None] * len(signals)
    for members in by_times.values():  # one spline for all signals with the same times
        times = signals[members[0]].times
        values = np.stack([signals[i].values for i in members], axis=1)
        pieces = _pieces(times, values, kinds)
        for k, i in enumerate(members):
            _insert_lines(pieces[:, :, k], signals[i].lines, kinds)
            parts[i] = _without_idle_knots(times, pieces[:, :, k], signals[i].values[-1])
    return joined_signals(parts, signal)


def _pieces(
    times: Float[np.ndarray, " K"], values: Float[np.ndarray, "K G m"], kinds: Sequence[str]
) -> Float[np.ndarray, "C 4 G m"]:
    """Return polynomial coefficients in the fraction of each interval, highest power first."""
    pieces = np.zeros((len(times) - 1, 4, *values.shape[1:]))
    if len(times) == 1:
        return pieces
    for column, kind in enumerate(kinds):
        known = values[..., column]
        if kind == Interpolation.cubic:
            from scipy.interpolate import CubicSpline

            width = np.diff(times)[:, None, None] ** np.arange(3, -1, -1)[:, None]
            pieces[..., column] = np.moveaxis(CubicSpline(times, known).c, 0, 1) * width
            continue
        pieces[:, 3, :, column] = known[:-1]
        if kind == Interpolation.linear:
            pieces[:, 2, :, column] = np.diff(known, axis=0)
    return pieces


def _insert_lines(
    pieces: Float[np.ndarray, "C 4 m"],
    lines: Float[np.ndarray, "K m 2"] | None,
    kinds: Sequence[str],
) -> None:
    """Replace held values by straight lines, in place, where lines are known."""
    if lines is None:
        return
    for column, kind in enumerate(kinds):
        if kind == Interpolation.hold and np.isfinite(lines[:, column]).all():
            pieces[:, 3, column] = lines[:-1, column, 0]
            pieces[:, 2, column] = lines[:-1, column, 1]


def _without_idle_knots(
    times: Float[np.ndarray, " K"], pieces: Float[np.ndarray, "C p m"], last: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return knots and pieces without knots between equal constants, and with a last piece of zero
    width.
    """
    constant = (pieces[:, :-1] == 0).all(axis=(1, 2))
    is_unchanged = (pieces[1:, -1] == pieces[:-1, -1]).all(axis=1)
    is_knot = np.append(True, ~(constant[1:] & constant[:-1] & is_unchanged))[: len(pieces)]
    end_piece = np.zeros((1, *pieces.shape[1:]))
    end_piece[0, -1] = last
    knots = np.concatenate([times[:-1][is_knot], times[-1:], times[-1:]])
    return knots, np.concatenate([pieces[is_knot], end_piece])


def joined_signals(parts: Sequence[tuple[np.ndarray, np.ndarray]], signal: np.ndarray) -> Inputs:
    """Return the inputs of signals of different lengths.

    Shorter signals are padded with their last cell.
    """
    max_pieces = max(len(pieces) for _, pieces in parts)
    knots = np.stack([np.pad(k, (0, max_pieces + 1 - len(k)), mode="edge") for k, _ in parts])
    pieces = np.stack(
        [np.pad(p, ((0, max_pieces - len(p)), (0, 0), (0, 0)), mode="edge") for _, p in parts]
    )
    end_values, start_values = pieces.sum(axis=2)[:, :-1], pieces[:, 1:, -1]
    size = np.abs(pieces[..., -1, :]).max(axis=1, keepdims=True)
    jumps = bool((np.abs(start_values - end_values) > 1e-9 * size).any())
    return Inputs(Cells(knots, pieces, np.asarray(signal)), jumps)


# -- functions of time ---------------------------------------------------------------------


def from_function(
    function: Callable[[float], Any], times: Float[np.ndarray, " T"], m: int, count: int
) -> Inputs:
    """Return the inputs given by a function of time, for `count` rollouts over these times.

    The function is approximated by polynomials of degree 7 on the intervals of `times`. Intervals
    are halved until the error is below 1e-10 of the function's range. Jumps are located by halving
    too. Features narrower than a tenth of an interval of `times` can be missed.
    """
    last = _sample(function, times[-1:], m)[0]
    if len(times) == 1:
        return joined_signals([(np.repeat(times, 2), _constant(last))], np.zeros(count, dtype=int))
    starts, stops = times[:-1], times[1:]
    nodes = (1 - np.cos(np.pi * np.arange(limits.FUNCTION_DEGREE + 1) / limits.FUNCTION_DEGREE)) / 2
    probes = (nodes[:-1] + nodes[1:]) / 2
    powers = np.arange(limits.FUNCTION_DEGREE, -1, -1)
    inverse = np.linalg.inv(nodes[:, None] ** powers)
    done: list[tuple[np.ndarray, np.ndarray]] = []
    low, high = np.full(m, np.inf), np.full(m, -np.inf)
    n_cells = 0
    while len(starts):
        n_cells += len(starts)
        if n_cells > limits.MAX_CELLS + 10 * len(times):
            raise InputError(
                "u, as a function of time, changes too fast to be resolved between times t. Pass "
                "its values at t as an array, or a function without noise."
            )
        width = (stops - starts)[:, None]
        known = _sample(function, starts[:, None] + width * nodes, m)
        low, high = np.minimum(low, known.min((0, 1))), np.maximum(high, known.max((0, 1)))
        pieces = np.einsum("pk,ckm->cpm", inverse, known - known[:, :1])
        pieces[:, -1] += known[:, 0]
        expected = _sample(function, starts[:, None] + width * probes, m)
        error = np.abs(np.einsum("kp,cpm->ckm", probes[:, None] ** powers, pieces) - expected)
        rounding = 1e-14 * np.maximum(np.abs(low), np.abs(high))
        is_accurate = (error <= limits.FUNCTION_TOLERANCE * (high - low) + rounding).all((1, 2))
        is_accurate |= width[:, 0] <= limits.MIN_CELL * (times[-1] - times[0])
        done.append((starts[is_accurate], pieces[is_accurate]))
        middle = (starts + stops)[~is_accurate] / 2
        starts, stops = (
            np.stack([starts[~is_accurate], middle], 1).ravel(),
            np.stack([middle, stops[~is_accurate]], 1).ravel(),
        )  # fmt: skip
    starts, pieces = (np.concatenate(part) for part in zip(*done, strict=True))
    order = np.argsort(starts)
    knots = np.append(starts[order], [times[-1], times[-1]])
    all_pieces = np.concatenate([pieces[order], _constant(last)])
    return joined_signals([(knots, all_pieces)], np.zeros(count, dtype=int))


def _constant(value: np.ndarray) -> Float[np.ndarray, "1 p m"]:
    pieces = np.zeros((1, limits.FUNCTION_DEGREE + 1, len(value)))
    pieces[0, -1] = value
    return pieces


def _sample(function: Callable[[float], Any], times: np.ndarray, m: int) -> np.ndarray:
    """Return the m values of a function at each time. Raise an error if they are invalid."""
    values = []
    for time in times.ravel().tolist():
        try:
            values.append(np.asarray(function(time), dtype=np.float64).reshape(m))
        except (TypeError, ValueError) as error:
            raise InputError(
                f"u, as a function of time, must take one time and return {m} "
                f"number{'s' if m > 1 else ''}; at t = {time:g} it did not: {error}"
            ) from None
    result = np.array(values)
    if not np.isfinite(result).all():
        row = int(np.argmin(np.isfinite(result).all(axis=1)))
        raise InputError(
            f"u, as a function of time, must return finite numbers; at t = {times.ravel()[row]:g} "
            f"it returned {values[row].tolist()}."
        )
    return result.reshape(*times.shape, m)


# -- interpolation detected from data ------------------------------------------------------


def visible_interpolation(
    column: Float[np.ndarray, " N"], same_run: Bool[np.ndarray, " steps"]
) -> Interpolation:
    """Return `hold` if a measured input has visible steps, or else `cubic`.

    Steps are visible if there are only two values. They are also visible if at least half of the
    values are repeated, nearly all changes are between repeated values, and the median change is at
    least 5% of the range. `same_run` marks the pairs of consecutive rows that belong to the same
    run.
    """
    change = np.diff(column)
    is_change = (change != 0) & same_run
    if not is_change.any():
        return Interpolation.cubic
    if len(column) > limits.MIN_ROWS and len(np.unique(column)) == 2:
        return Interpolation.hold
    is_repeat = (change == 0) & same_run
    is_calm = is_repeat | ~same_run
    is_isolated = np.append(True, is_calm[:-1]) & np.append(is_calm[1:], True)
    is_stepped = (
        is_repeat.sum() >= is_change.sum()
        and is_isolated[is_change].mean() >= limits.MIN_ISOLATED
        and np.median(np.abs(change[is_change])) >= limits.MIN_JUMP * np.ptp(column)
    )
    return Interpolation.hold if is_stepped else Interpolation.cubic


def simulation_inputs(
    u: Any, times: np.ndarray, count: int, kinds: Mapping[str, str], *, time_input: bool = False
) -> Inputs | None:
    """Return the inputs of a simulation for each of `count` starts.

    `kinds` is the interpolation of each input between its samples. With `time_input`, the last
    input is time, which users do not pass.
    """
    if time_input:
        u = _with_time(u, times, tuple(kinds)[:-1])
    m = len(kinds)
    if (u is None) != (m == 0):
        raise InputError(
            f"The model has {m} inputs; pass their values at t as u, shape ({len(times)}, {m}), "
            f"a function of time, or a pandas frame indexed by time."
            if u is None
            else "The model was fitted without inputs; omit u."
        )
    if u is None:
        return None
    if callable(u):
        return from_function(u, times, m, count)
    samples = u if isinstance(u, SampledInput) else _indexed_by_time(u, tuple(kinds))
    shared = np.zeros(count, dtype=np.int64)
    if samples is not None:
        return sampled([_covering(samples, times)], list(kinds.values()), shared)
    inputs = as_numbers(u, "u")
    if inputs.shape not in ((len(times), m), (count, len(times), m)):
        raise InputError(
            f"u must have shape ({len(times)}, {m}) or ({count}, {len(times)}, {m}); "
            f"it has shape {inputs.shape}."
        )
    if not np.isfinite(inputs).all():
        raise InputError("u must contain finite numbers only; it has NaN or infinity.")
    if inputs.ndim == 2:
        return sampled([SampledInput(times, inputs)], list(kinds.values()), shared)
    signals = [SampledInput(times, values) for values in inputs]
    return sampled(signals, list(kinds.values()), np.arange(count))


def _with_time(u: Any, times: np.ndarray, names: tuple[str, ...]) -> Any:
    """Return the inputs with time as the last input. The other inputs must have these names."""
    m = len(names)
    if u is None and m == 0:
        return times[:, None]
    if u is None or m == 0:
        return u if u is None else simulation_inputs(u, times, 1, {})  # raises an error
    if callable(u):
        return lambda t: np.append(np.atleast_1d(np.asarray(u(t), dtype=float)), t)
    samples = u if isinstance(u, SampledInput) else _indexed_by_time(u, names)
    if samples is not None:
        values = np.asarray(samples.values).reshape(len(samples.times), -1)
        return SampledInput(samples.times, np.column_stack([values, samples.times]))
    inputs = as_numbers(u, "u")
    if inputs.shape[-2:] != (len(times), m):
        raise InputError(
            f"u must have shape ({len(times)}, {m}), without the time; it has shape {inputs.shape}."
        )
    time_column = np.broadcast_to(times[:, None], (*inputs.shape[:-1], 1))
    return np.concatenate([inputs, time_column], axis=-1)


def run_inputs(data: Dataset, kinds: Mapping[str, str]) -> Inputs | None:
    """Return the inputs of the runs of a dataset, each with its own times."""
    if data.inputs is None:
        return None
    bounds = zip(data.offsets[:-1], data.offsets[1:], strict=True)
    lines = data.input_lines
    signals = [
        SampledInput(
            data.times[first:last],
            data.inputs[first:last],
            None if lines is None else lines[first:last],
        )
        for first, last in bounds
    ]
    return sampled(signals, list(kinds.values()), np.arange(data.n_runs))


def _indexed_by_time(u: Any, names: tuple[str, ...]) -> SampledInput | None:
    """Return a pandas Series or frame as samples at the times of its index.

    Return None for other objects.
    """
    if not (hasattr(u, "index") and hasattr(u, "to_numpy")):
        return None
    if hasattr(u, "columns"):
        columns = [str(name) for name in u.columns]
        missing = [name for name in names if name not in columns]
        if missing:
            raise InputError(
                f"u must have the columns {quoted(names)}; {quoted(missing)} are not among "
                f"{quoted(columns)}."
            )
        u = u.iloc[:, [columns.index(name) for name in names]]
    elif len(names) > 1:
        raise InputError(
            f"The model has {len(names)} inputs ({quoted(names)}); a Series has one. Pass a frame."
        )
    values = as_numbers(u, "u").reshape(len(u), -1)
    known = as_numbers(u.index, "the index of u")
    if not (np.isfinite(values).all() and np.isfinite(known).all()):
        raise InputError("u and its index must contain finite numbers only; got NaN or infinity.")
    _check_increasing(known, "the index of u, its times,")
    return SampledInput(known, values)


def _covering(samples: SampledInput, times: np.ndarray) -> SampledInput:
    """Return samples that cover the times of the simulation.

    A rounding error at an end is corrected.
    """
    rounding = 1e-9 * (times[-1] - times[0])
    first, last = (samples.times[0], samples.times[-1]) if len(samples.times) else (np.nan, np.nan)
    if not (first <= times[0] + rounding and last >= times[-1] - rounding):
        raise InputError(
            f"u must cover the times {times[0]:g} to {times[-1]:g} of the simulation; it covers "
            f"{first:g} to {last:g}."
        )
    known = samples.times.copy()
    known[0], known[-1] = min(known[0], times[0]), max(known[-1], times[-1])
    return SampledInput(known, samples.values)


def _check_increasing(times: np.ndarray, name: str) -> None:
    if (np.diff(times) <= 0).any():
        k = int(np.argmax(np.diff(times) <= 0))
        raise InputError(f"{name} must increase; it has {times[k]:g} then {times[k + 1]:g}.")


_INTERPOLATION_NAMES = {
    Interpolation.cubic: "smooth (cubic)",
    Interpolation.linear: "linear",
    Interpolation.hold: "in steps (hold)",
}


def interpolation_words(kinds: Mapping[str, str]) -> str:
    """Return a sentence such as 'Inputs between rows: u in steps (hold)', or '' without inputs."""
    parts = [
        f"{name} {_INTERPOLATION_NAMES[Interpolation(kind)]}"
        for name, kind in kinds.items()
        if split_delayed(name) is None
    ]
    return f"Inputs between rows: {', '.join(parts)}" if parts else ""


def input_interpolation(names: Sequence[str], data: Dataset | None = None) -> dict[str, str]:
    """Return the interpolation of each input, detected from the data if they are given."""
    if data is None or data.inputs is None:
        return {name: str(Interpolation.cubic) for name in names}
    if data.discrete:  # a map reads its inputs only at rows
        return {name: str(Interpolation.hold) for name in names}
    same_run = np.diff(data.run_of_row) == 0
    kinds = {
        name: str(visible_interpolation(column, same_run))
        for name, column in zip(names, data.inputs.T, strict=True)
    }
    undelayed = {delay.name: delay.variable for delay in data.delays}
    return {
        name: kinds.get(undelayed[name], str(Interpolation.cubic)) if name in undelayed else kind
        for name, kind in kinds.items()
    }


def chosen_interpolation(learned: Mapping[str, str], given: Any) -> dict[str, str]:
    """Return the interpolation of each input: as `given` for all or for some inputs, or else as
    learned.

    A delayed input is interpolated like the input itself.
    """
    requested = dict(given) if isinstance(given, Mapping) else dict.fromkeys(learned, given)
    for name, kind in requested.items():
        if name not in learned:
            raise InputError(
                f"interpolation names '{name}', which is not an input of the model."
                f"{suggestion(name, learned)} Its inputs are {quoted(learned) or 'none'}."
            )
        if kind is not None and kind not in list(Interpolation):
            raise InputError(
                f"interpolation must be one of {quoted(Interpolation)}, for all inputs or in a "
                f"dict by name; got {kind!r}."
            )
    chosen = {name: str(requested.get(name) or kind) for name, kind in learned.items()}
    for name in chosen:
        delayed = split_delayed(name)
        if delayed is not None and given is not None:
            chosen[name] = chosen.get(delayed[0], str(Interpolation.cubic))
    return chosen
