"""Build a `Dataset` from arrays, from other datasets, or from positions with estimated
velocities.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float

from .._common.errors import DataError, DataWarning, quoted, suggestion
from .._common.notation import derivative_name, rate_unit
from ..smoothing import (
    MIN_VELOCITY_ROWS,
    best_polynomial,
    bridged,
    find_range_limits,
    velocities,
)
from . import _limits as limits
from ._checks import as_numbers, check_names, cut_at_gaps
from ._schema import Note

if TYPE_CHECKING:
    from ._dataset import Dataset


def from_arrays(
    x: Any,
    t: Any,
    u: Any,
    names: Sequence[str] | None,
    derivatives: Any,
    input_names: Sequence[str] | None,
    units: Mapping[str, str] | None,
    argument: str = "x",
) -> dict[str, Any]:
    """Return the arguments of `Dataset.checked`.

    `argument` is the name that messages use for the states.
    """
    runs = _run_arrays(x, argument)
    names = _column_names(x) if names is None else names
    lengths = [len(run) for run in runs]
    n_states = runs[0].shape[1]
    times = _times(t, lengths, n_states, argument)
    state_names = _names(names, "names", argument, n_states)
    inputs = _matching(u, "u", lengths, argument)
    input_names = _column_names(u) if input_names is None else input_names
    checked_input_names = _names(
        input_names, "input_names", "u", 0 if inputs is None else inputs.shape[1]
    )
    slopes = _matching(derivatives, "derivatives", lengths, argument)
    if slopes is not None and slopes.shape[1] != n_states:
        raise DataError(
            f"derivatives must have one column for each of the {n_states} states; "
            f"got {slopes.shape[1]}."
        )
    return {
        "times": np.concatenate(times),
        "states": np.concatenate(runs),
        "lengths": np.array(lengths),
        "labels": tuple(str(i) for i in range(len(runs))),
        "state_names": state_names,
        "inputs": inputs,
        "derivatives": slopes,
        "input_names": checked_input_names,
        "units": dict(units or {}),
        "time_name": next(
            n for n in ("t", "time", "t_") if n not in state_names + checked_input_names
        ),
        "source": argument,
        "row_word": "row",
        "grouped": True,
    }


def from_positions(
    q: Any,
    t: Any,
    u: Any,
    names: Sequence[str] | None,
    input_names: Sequence[str] | None,
    states: Any,
    state_names: Sequence[str] | None,
    velocity_of: Mapping[str, str] | None,
    units: Mapping[str, str] | None,
) -> dict[str, Any]:
    """Return the arguments of `Dataset.checked` for positions and further measured states."""
    parts = from_arrays(_column(q), t, _column(u), names, None, input_names, units, "q")
    positions = parts["state_names"]
    if states is not None:
        lengths = parts["lengths"].tolist()
        measured_states = _matching(_column(states), "states", lengths, "q")
        assert measured_states is not None
        state_names = _column_names(states) if state_names is None else state_names
        other_names = _names(state_names, "state_names", "states", measured_states.shape[1])
        if duplicates := sorted(set(positions) & set(other_names)):
            raise DataError(
                f"A column can be a position or another state, not both; {quoted(duplicates)} "
                f"is in names and in state_names."
            )
        parts["states"] = np.hstack([parts["states"], measured_states])
        parts["state_names"] = positions + other_names
    for position, velocity in dict(velocity_of or {}).items():
        if position not in positions or velocity not in parts["state_names"][len(positions) :]:
            known = positions if position not in positions else parts["state_names"]
            unknown = position if position not in positions else velocity
            raise DataError(
                f"velocity_of must name positions and measured states that are their "
                f"velocities, such as {{'theta': 'omega'}}; '{unknown}' is not one of them."
                f"{suggestion(unknown, [name for name in known if name != unknown])}"
            )
    return parts | {"positions": {name: (velocity_of or {}).get(name) for name in positions}}


def _names(
    names: Sequence[str] | None, argument: str, array_name: str, count: int
) -> tuple[str, ...]:
    """Return one name per column: the given names, or the first letter of the argument with a
    number.
    """
    letter = "x" if array_name == "states" else array_name
    result = check_names(
        [f"{letter}{i}" for i in range(count)] if names is None else names, argument
    )
    if len(result) != count:
        raise DataError(
            f"{argument} must give one name for each of the {count} columns of {array_name}; "
            f"got {len(result)}: {list(result)}."
        )
    return result


def _column(value: Any) -> Any:
    """Return a one-dimensional array as a column, and anything else unchanged."""
    flat = isinstance(value, np.ndarray) and value.ndim == 1
    if flat or type(value).__name__ == "Series":
        return np.asarray(value).reshape(-1, 1)
    return value


def _column_names(value: Any) -> list[str] | None:
    """Return the column names of a frame, or of the first frame of a list."""
    first: Any = value[0] if isinstance(value, list | tuple) and len(value) else value
    return [str(name) for name in first.columns] if hasattr(first, "columns") else None


def _run_arrays(value: Any, argument: str) -> list[np.ndarray]:
    """Return one two-dimensional array for each run."""
    if isinstance(value, list | tuple) and value and all(np.ndim(part) == 2 for part in value):
        runs = [as_numbers(part, f"{argument}[{i}]") for i, part in enumerate(value)]
    else:
        array = as_numbers(value, argument)
        if array.ndim == 1 or array.ndim == 0:
            raise DataError(
                f"{argument} must have two dimensions (times x columns); "
                f"it has shape {array.shape}. "
                f"For a single column write {argument}.reshape(-1, 1)."
            )
        if array.ndim > 3:
            raise DataError(
                f"{argument} must be (times x columns) or (runs x times x columns); "
                f"it has shape {array.shape}."
            )
        runs = [array] if array.ndim == 2 else list(array)
    if not runs or any(run.shape[1] == 0 for run in runs):
        raise DataError(f"{argument} must have at least one run and one column; it has none.")
    widths = {run.shape[1] for run in runs}
    if len(widths) > 1:
        raise DataError(f"All runs of {argument} must have the same columns; got {sorted(widths)}.")
    empty = [i for i, run in enumerate(runs) if len(run) == 0]
    if empty:
        raise DataError(f"{argument}[{empty[0]}] has no rows; every run needs at least one.")
    return runs


def _times(t: Any, lengths: list[int], n_columns: int, argument: str) -> list[np.ndarray]:
    """Return an array of times for each run."""
    if not isinstance(t, list | tuple) and np.ndim(t) == 0:
        step = float(as_numbers(t, "t"))
        if not step > 0:
            raise DataError(f"t, as a time step, must be positive; got {step:g}.")
        return [step * np.arange(length) for length in lengths]
    per_run = isinstance(t, list | tuple) and all(np.ndim(part) == 1 for part in t)
    if per_run:
        times = [as_numbers(part, f"t[{i}]") for i, part in enumerate(t)]
    else:
        array = as_numbers(t, "t")
        if array.ndim == 2 and array.shape[1] == 1 and len(array) in lengths:
            raise DataError(
                f"t must have one dimension; it has shape {array.shape}. Write t.ravel()."
            )
        times = [array] * len(lengths) if array.ndim == 1 else list(array)
    if len(times) != len(lengths):
        raise DataError(
            f"t contains times for {len(times)} runs, but {argument} contains {len(lengths)} runs."
        )
    for i, (time, length) in enumerate(zip(times, lengths, strict=True)):
        if np.shape(time) != (length,):
            raise DataError(
                f"t and {argument} must have the same number of rows; in run {i}, t has shape "
                f"{np.shape(time)} and {argument} has {length} rows."
                + (f" Did you mean {argument}.T?" if np.shape(time) == (n_columns,) else "")
            )
    return times


def _matching(
    value: Any, argument: str, lengths: list[int], states_argument: str = "x"
) -> np.ndarray | None:
    """Return the inputs or derivatives that accompany the states, joined over runs."""
    if value is None:
        return None
    runs = _run_arrays(value, argument)
    if len(runs) == 1 and len(lengths) > 1 and len({*lengths, len(runs[0])}) == 1:
        runs = runs * len(lengths)
    if len(runs) != len(lengths):
        raise DataError(
            f"{argument} contains {len(runs)} runs, but {states_argument} contains {len(lengths)}."
        )
    for i, (run, length) in enumerate(zip(runs, lengths, strict=True)):
        if len(run) != length:
            raise DataError(
                f"{argument} and {states_argument} must have the same number of rows; "
                f"in run {i} {argument} has {len(run)} and {states_argument} has {length}."
            )
    return np.concatenate(runs)


def concatenate(parts: "Sequence[Dataset]") -> "Dataset":
    """Return one dataset with the runs of several datasets of the same system."""
    if not parts:
        raise DataError("At least one dataset is needed; the list is empty.")
    first = parts[0]
    for other in parts[1:]:
        if (other.state_names, other.input_names) != (first.state_names, first.input_names):
            raise DataError(
                f"Datasets can be joined only if their states and inputs agree; got "
                f"{list(first.state_names)}, {list(first.input_names)} and "
                f"{list(other.state_names)}, {list(other.input_names)}."
            )
        if dict(other.velocity_of) != dict(first.velocity_of):
            raise DataError(
                f"Datasets can be joined only if the same states are velocities; got "
                f"{dict(first.velocity_of)} and {dict(other.velocity_of)}."
            )
        if (other.derivatives is None) != (first.derivatives is None):
            raise DataError("Datasets can be joined only if all or none have derivatives.")
        if other.covariate_names != first.covariate_names:
            raise DataError(
                f"Datasets can be joined only if their covariates agree; got "
                f"{list(first.covariate_names)} and {list(other.covariate_names)}."
            )
        if not _have_same_step(first.schema.step, other.schema.step):
            raise DataError(
                f"Datasets can be joined only if all are flows, or maps with the same time step; "
                f"got {_step_words(first.schema.step)} and {_step_words(other.schema.step)}."
            )
    if len(parts) == 1:
        return first

    def joined(name: str) -> Any:
        arrays = [getattr(part, name) for part in parts]
        return None if arrays[0] is None else np.concatenate(arrays)

    lengths = np.concatenate([part.run_lengths for part in parts])
    estimated = dict.fromkeys(name for part in parts for name in part.estimated)
    return replace(
        first,
        times=joined("times"),
        states=joined("states"),
        inputs=joined("inputs"),
        derivatives=joined("derivatives"),
        covariates=joined("covariates"),
        filled=_joined_marks(parts),
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        labels=tuple(label for part in parts for label in part.labels),
        notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
        schema=replace(first.schema, estimated=tuple(estimated)),
    )


def _have_same_step(first: float | None, other: float | None) -> bool:
    if first is None or other is None:
        return first is other
    return abs(first - other) <= limits.EQUAL_MAP_STEPS * first


def _step_words(step: float | None) -> str:
    return "a flow" if step is None else f"a map with the step {step:.6g}"


def _joined_marks(parts: "Sequence[Dataset]") -> Bool[np.ndarray, "N n"] | None:
    """Return a mask of the values that were filled in."""
    if all(part.filled is None for part in parts):
        return None
    return np.concatenate(
        [np.zeros(part.states.shape, dtype=bool) if part.filled is None else part.filled
         for part in parts]
    )  # fmt: skip


def split_at_gaps(data: "Dataset", gap: float | int) -> "Dataset":
    """Return the data with runs cut at gaps, and warn about the gaps.

    Data with derivatives are returned unchanged.
    """
    if data.derivatives is not None:
        return data
    offsets, counts = cut_at_gaps(data.times, data.offsets, gap)
    if offsets is data.offsets:
        return data
    labels = [
        label if count == 1 else f"{label}.{number}"
        for label, count in zip(data.labels, counts, strict=True)
        for number in range(1, count + 1)
    ]
    n_gaps = sum(counts) - len(counts)
    first = next(int(end) for end in offsets[1:] if end not in data.offsets)
    text = (
        f"After {data.time_name} = {data.times[first - 1]:.6g} the next row is at "
        f"{data.times[first]:.6g}, more than {gap:g} time steps later"
        f"{f', the first of {n_gaps} gaps' if n_gaps > 1 else ''}: the rows before and after are "
        f"separate runs."
    )
    warnings.warn(f"{data.source}: {text}", DataWarning, stacklevel=4)
    return replace(
        data, offsets=offsets, labels=tuple(labels), notes=(*data.notes, Note("gaps", text, n_gaps))
    )


def with_covariates(data: "Dataset", values: Mapping[str, Any]) -> "Dataset":
    """Return the data with covariates, given as one value per run or per row.

    A value that is missing in some rows of a run is taken from the run's other rows.
    """
    names = check_names(list(values), "covariates")
    taken = [name for name in names if name in (data.time_name, *data.variable_names)]
    if taken:
        raise DataError(
            f"A column can be a covariate, or a time, state or input, not both; {quoted(taken)} "
            f"was chosen twice."
        )
    columns = []
    for name, given in zip(names, values.values(), strict=True):
        numbers = np.asarray(as_numbers(given, f"covariates['{name}']"), dtype=float).reshape(-1)
        if len(numbers) == data.n_runs:
            numbers = np.repeat(numbers, data.run_lengths)
        if len(numbers) != data.n_samples:
            raise DataError(
                f"covariates must have one value for each of the {data.n_runs} runs; '{name}' has "
                f"{len(numbers)}."
            )
        column = np.full(data.n_samples, np.nan)
        for run, (first, last) in enumerate(zip(data.offsets[:-1], data.offsets[1:], strict=True)):
            known = np.unique(numbers[first:last][np.isfinite(numbers[first:last])])
            if len(known) > 1:
                raise DataError(
                    f"A covariate must be constant within each run; '{name}' has the values "
                    f"{known[0]:g} and {known[1]:g} in run {data.labels[run]}. Read a quantity "
                    f"that changes as an input."
                )
            column[first:last] = known[0] if len(known) else np.nan
        columns.append(column)
    return data.with_parts(covariates=np.column_stack(columns), covariate_names=names)


def named_positions(positions: Any) -> dict[str, str | None]:
    """Return the velocity column of each position, or None for a velocity that was not measured."""
    if isinstance(positions, Mapping):
        check_names(list(positions), "positions")
        return {str(name): None if v is None else str(v) for name, v in positions.items()}
    return dict.fromkeys(check_names(positions or (), "positions"))


def check_order(order: Any, positions: Any, is_map: bool = False) -> int:
    """Return the order of the equations of positions. Raise DataError if it is not supported."""
    orders = range(2, limits.MAX_ORDER + 1)
    if isinstance(order, bool) or not isinstance(order, int) or order not in orders:
        raise DataError(f"order must be a whole number from 2 to {orders[-1]}; got {order!r}.")
    if order > 2 and not positions and not is_map:
        raise DataError(
            f"order={order} is the order of the equations of positions; name them with "
            f"positions=..., instead of states=...."
        )
    return order


def rates_of(
    data: "Dataset", positions: Mapping[str, str | None], order: int = 2
) -> dict[str, str]:
    """Return the name of the derivative of each position.

    For equations of a higher order, also return the names of the further derivatives, except the
    last.
    """
    taken = {data.time_name, data.group_name, *data.variable_names}
    rates: dict[str, str] = {}
    states = list(positions)
    for _ in range(order - 1):
        for state in states:
            rates[state] = positions.get(state) or _free_name(derivative_name(state), taken)
            taken.add(rates[state])
        states = [rates[state] for state in states]
    return rates


def rate_polynomial(data: "Dataset", rates: Mapping[str, str]) -> tuple[int, int] | None:
    """Return the polynomial (window, degree) that estimates the derivatives in `rates`, or None if
    all were measured.
    """
    sample = data.sample
    columns = [
        data.state_names.index(state)
        for state, rate in rates.items()
        if state in data.state_names and rate not in data.state_names
    ]
    if not columns:
        return None
    return best_polynomial(sample.times, _unlimited(sample, columns), sample.offsets)


def with_rates(
    data: "Dataset", rates: Mapping[str, str], polynomial: tuple[int, int] | None
) -> dict[str, Any]:
    """Return the parts of a `Dataset` that change if `rates` become derivatives of its states.

    Positions come first, then their derivatives by order, then all other states. `polynomial`
    estimates derivatives without a column.
    """
    names = data.state_names
    columns = {name: data.states[:, [names.index(name)]] for name in names}
    missing = {state: rate for state, rate in rates.items() if rate not in names}
    if missing:
        _check_lengths(data)
    for state, rate in missing.items():
        x = _unlimited(data, [names.index(state)]) if state in names else columns[state]
        columns[rate] = velocities(data.times, x, data.offsets, polynomial)
    order = list(dict.fromkeys([*rates, *rates.values(), *names]))
    return {
        "states": np.hstack([columns[name] for name in order]),
        "state_names": tuple(order),
        "units": _units(data, rates),
        "velocity_of": dict(rates),
        "estimated": tuple(missing.values()),
        "filled": _filled(data, order),
    }


def _filled(data: "Dataset", order: Sequence[str]) -> np.ndarray | None:
    """Return the mask of filled-in values, with the states in this order."""
    if data.filled is None:
        return None
    result = np.zeros((len(data.filled), len(order)), dtype=bool)
    for column, name in enumerate(order):
        if name in data.state_names:
            result[:, column] = data.filled[:, data.state_names.index(name)]
    return result


def _check_lengths(data: "Dataset") -> None:
    """Raise an error if a run is too short for an estimate of a derivative."""
    short = np.flatnonzero(data.run_lengths < MIN_VELOCITY_ROWS)
    if short.size:
        run = int(short[0])
        count = int(data.run_lengths[run])
        raise DataError(
            f"{data.source}: run {data.labels[run]} has {count} row{'s' * (count != 1)}; a "
            f"velocity needs at least {MIN_VELOCITY_ROWS} in each run. Remove the short runs "
            f"({short.size} of {data.n_runs})."
        )


def _unlimited(data: "Dataset", columns: list[int]) -> Float[np.ndarray, "N k"]:
    """Return these columns with values at the limits of sensors replaced by smooth curves."""
    x = data.states[:, columns]
    low, high = find_range_limits(data.times, x, data.offsets)
    clipped = (x >= high).astype(np.int8) - (x <= low)
    return bridged(data.times, x, data.offsets, clipped, limits.BRIDGE_ROWS)


def _free_name(name: str, taken: set[str | None]) -> str:
    while name in taken:
        name += "_"
    return name


def _units(data: "Dataset", rates: Mapping[str, str]) -> dict[str, str]:
    """Return all units.

    The units of derivatives follow from those of positions and time if these are known.
    """
    units, time = dict(data.units), data.units.get(data.time_name)
    for state, rate in rates.items():
        if time and state in units:
            units.setdefault(rate, rate_unit(units[state], time))
    return units
