"""Arrays of one or many runs as the parts of a `Dataset`."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._common.errors import DataError, quoted, suggestion
from ._checks import as_numbers, check_names


def from_arrays(
    x: Any,
    t: Any,
    u: Any,
    names: Sequence[str] | None,
    derivatives: Any,
    input_names: Sequence[str] | None,
    units: Mapping[str, str] | None,
    what: str = "x",
) -> dict[str, Any]:
    """What `Dataset._checked` is made from; `what` is the name of the states' argument."""
    runs = _split(x, what)
    names = _column_names(x) if names is None else names
    lengths = [len(run) for run in runs]
    n_states = runs[0].shape[1]
    times = _times(t, lengths, n_states, what)
    state_names = _names(names, "names", what, n_states)
    inputs = _matching(u, "u", lengths, what)
    input_names = _column_names(u) if input_names is None else input_names
    given = _names(input_names, "input_names", "u", 0 if inputs is None else inputs.shape[1])
    slopes = _matching(derivatives, "derivatives", lengths, what)
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
        "input_names": given,
        "units": dict(units or {}),
        "time_name": next(n for n in ("t", "time", "t_") if n not in state_names + given),
        "source": what,
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
    """The same of positions, with the states that were measured beside them."""
    parts = from_arrays(_column(q), t, _column(u), names, None, input_names, units, "q")
    positions = parts["state_names"]
    if states is not None:
        lengths = parts["lengths"].tolist()
        beside = _matching(_column(states), "states", lengths, "q")
        assert beside is not None
        state_names = _column_names(states) if state_names is None else state_names
        others = _names(state_names, "state_names", "states", beside.shape[1])
        if doubled := sorted(set(positions) & set(others)):
            raise DataError(
                f"A column can be a position or another state, not both; {quoted(doubled)} "
                f"stands in names and in state_names."
            )
        parts["states"] = np.hstack([parts["states"], beside])
        parts["state_names"] = positions + others
    for position, velocity in dict(velocity_of or {}).items():
        if position not in positions or velocity not in parts["state_names"][len(positions) :]:
            known = positions if position not in positions else parts["state_names"]
            wrong = position if position not in positions else velocity
            raise DataError(
                f"velocity_of must name positions and measured states that are their "
                f"velocities, such as {{'theta': 'omega'}}; '{wrong}' is none."
                f"{suggestion(wrong, [name for name in known if name != wrong])}"
            )
    return parts | {"positions": {name: (velocity_of or {}).get(name) for name in positions}}


def _names(names: Sequence[str] | None, what: str, of: str, count: int) -> tuple[str, ...]:
    """One name for each column; those of an argument's letter where none are given."""
    letter = "x" if of == "states" else of
    found = check_names([f"{letter}{i}" for i in range(count)] if names is None else names, what)
    if len(found) != count:
        raise DataError(
            f"{what} must give one name for each of the {count} columns of {of}; "
            f"got {len(found)}: {list(found)}."
        )
    return found


def _column(value: Any) -> Any:
    """A one-dimensional array as a single column; anything else as it is."""
    flat = isinstance(value, np.ndarray) and value.ndim == 1
    if flat or type(value).__name__ == "Series":
        return np.asarray(value).reshape(-1, 1)
    return value


def _column_names(value: Any) -> list[str] | None:
    """The columns of a frame, or of the first of several."""
    first: Any = value[0] if isinstance(value, list | tuple) and len(value) else value
    return [str(name) for name in first.columns] if hasattr(first, "columns") else None


def _split(value: Any, what: str) -> list[np.ndarray]:
    """Two-dimensional arrays, one for each run."""
    if isinstance(value, list | tuple) and value and all(np.ndim(part) == 2 for part in value):
        runs = [as_numbers(part, f"{what}[{i}]") for i, part in enumerate(value)]
    else:
        array = as_numbers(value, what)
        if array.ndim == 1 or array.ndim == 0:
            raise DataError(
                f"{what} must have two dimensions (times x columns); it has shape {array.shape}. "
                f"For a single column write {what}.reshape(-1, 1)."
            )
        if array.ndim > 3:
            raise DataError(
                f"{what} must be (times x columns) or (runs x times x columns); "
                f"it has shape {array.shape}."
            )
        runs = [array] if array.ndim == 2 else list(array)
    if not runs or any(run.shape[1] == 0 for run in runs):
        raise DataError(f"{what} must have at least one run and one column; it has none.")
    widths = {run.shape[1] for run in runs}
    if len(widths) > 1:
        raise DataError(
            f"All runs of {what} need the same columns; found {sorted(widths)} of them."
        )
    empty = [i for i, run in enumerate(runs) if len(run) == 0]
    if empty:
        raise DataError(f"{what}[{empty[0]}] holds no rows; every run needs at least one.")
    return runs


def _times(t: Any, lengths: list[int], n_columns: int, what: str) -> list[np.ndarray]:
    """One array of times for each run of so many rows and columns."""
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
            f"t holds times for {len(times)} runs, but {what} holds {len(lengths)} runs."
        )
    for i, (time, length) in enumerate(zip(times, lengths, strict=True)):
        if np.shape(time) != (length,):
            raise DataError(
                f"t and {what} must have the same number of rows; in run {i} t has shape "
                f"{np.shape(time)} and {what} has {length} rows."
                + (f" Did you mean {what}.T?" if np.shape(time) == (n_columns,) else "")
            )
    return times


def _matching(value: Any, what: str, lengths: list[int], beside: str = "x") -> np.ndarray | None:
    """An array that accompanies the states, joined over runs."""
    if value is None:
        return None
    runs = _split(value, what)
    if len(runs) == 1 and len(lengths) > 1 and len({*lengths, len(runs[0])}) == 1:
        runs = runs * len(lengths)
    if len(runs) != len(lengths):
        raise DataError(f"{what} holds {len(runs)} runs, but {beside} holds {len(lengths)}.")
    for i, (run, length) in enumerate(zip(runs, lengths, strict=True)):
        if len(run) != length:
            raise DataError(
                f"{what} and {beside} must have the same number of rows; in run {i} {what} has "
                f"{len(run)} and {beside} has {length}."
            )
    return np.concatenate(runs)
