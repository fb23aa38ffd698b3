"""What users give as inputs of a simulation, checked; and how they run between their samples."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._common.errors import InputError, quoted, suggestion
from ..data import Dataset, as_numbers
from ._inputs import (
    Inputs,
    Interpolation,
    SampledInput,
    from_function,
    sampled,
    visible_interpolation,
)


def simulation_inputs(
    u: Any, times: np.ndarray, count: int, kinds: Mapping[str, str], *, clock: bool = False
) -> Inputs | None:
    """What was given as inputs of a simulation, for each of `count` starts; `kinds` says for each
    input how it runs between the times at which it is known. With a `clock` the last input is time
    itself, which is not given."""
    if clock:
        u = _with_time(u, times, tuple(kinds)[:-1])
    m = len(kinds)
    if (u is None) != (m == 0):
        raise InputError(
            f"The model has {m} inputs; give their values at t as u, shape ({len(times)}, {m}), "
            f"a function of time, or a pandas frame indexed by time."
            if u is None
            else "The model was fitted without inputs; leave u out."
        )
    if u is None:
        return None
    if callable(u):
        return from_function(u, times, m, count)
    own = u if isinstance(u, SampledInput) else _indexed_by_time(u, tuple(kinds))
    shared = np.zeros(count, dtype=np.int64)
    if own is not None:
        return sampled([_covering(own, times)], list(kinds.values()), shared)
    inputs = as_numbers(u, "u")
    if inputs.shape not in ((len(times), m), (count, len(times), m)):
        raise InputError(
            f"u must have shape ({len(times)}, {m}) or ({count}, {len(times)}, {m}); "
            f"it has shape {inputs.shape}."
        )
    if not np.isfinite(inputs).all():
        raise InputError("u must hold finite numbers only; it has NaN or infinity.")
    if inputs.ndim == 2:
        return sampled([SampledInput(times, inputs)], list(kinds.values()), shared)
    signals = [SampledInput(times, one) for one in inputs]
    return sampled(signals, list(kinds.values()), np.arange(count))


def _with_time(u: Any, times: np.ndarray, names: tuple[str, ...]) -> Any:
    """The inputs with time as the last of them; refuses others than those of these names."""
    m = len(names)
    if u is None and m == 0:
        return times[:, None]
    if u is None or m == 0:
        return u if u is None else simulation_inputs(u, times, 1, {})  # which refuses it
    if callable(u):
        return lambda t: np.append(np.atleast_1d(np.asarray(u(t), dtype=float)), t)
    own = u if isinstance(u, SampledInput) else _indexed_by_time(u, names)
    if own is not None:
        values = np.asarray(own.values).reshape(len(own.times), -1)
        return SampledInput(own.times, np.column_stack([values, own.times]))
    inputs = as_numbers(u, "u")
    if inputs.shape[-2:] != (len(times), m):
        raise InputError(
            f"u must have shape ({len(times)}, {m}), without the time; it has shape {inputs.shape}."
        )
    own_times = np.broadcast_to(times[:, None], (*inputs.shape[:-1], 1))
    return np.concatenate([inputs, own_times], axis=-1)


def run_inputs(data: Dataset, kinds: Mapping[str, str]) -> Inputs | None:
    """The inputs of the runs of a dataset, each with its own times."""
    if data.inputs is None:
        return None
    ends = zip(data.offsets[:-1], data.offsets[1:], strict=True)
    signals = [SampledInput(data.times[i:k], data.inputs[i:k]) for i, k in ends]
    return sampled(signals, list(kinds.values()), np.arange(data.n_runs))


def _indexed_by_time(u: Any, names: tuple[str, ...]) -> SampledInput | None:
    """A pandas Series, or a frame with the inputs' columns, as values at the times of its index."""
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
            f"The model has {len(names)} inputs ({quoted(names)}); a Series is one. Give a frame."
        )
    values = as_numbers(u, "u").reshape(len(u), -1)
    known = as_numbers(u.index, "the index of u")
    if not (np.isfinite(values).all() and np.isfinite(known).all()):
        raise InputError("u and its index must hold finite numbers only; there is NaN or infinity.")
    _check_increasing(known, "the index of u, its times,")
    return SampledInput(known, values)


def _covering(own: SampledInput, times: np.ndarray) -> SampledInput:
    """The samples, whose times span those of the simulation up to rounding, made to span them."""
    rounding = 1e-9 * (times[-1] - times[0])
    first, last = (own.times[0], own.times[-1]) if len(own.times) else (np.nan, np.nan)
    if not (first <= times[0] + rounding and last >= times[-1] - rounding):
        raise InputError(
            f"u must cover the times {times[0]:g} to {times[-1]:g} of the simulation; it covers "
            f"{first:g} to {last:g}."
        )
    known = own.times.copy()
    known[0], known[-1] = min(known[0], times[0]), max(known[-1], times[-1])
    return SampledInput(known, own.values)


def _check_increasing(times: np.ndarray, what: str) -> None:
    if (np.diff(times) <= 0).any():
        k = int(np.argmax(np.diff(times) <= 0))
        raise InputError(f"{what} must increase; it has {times[k]:g} then {times[k + 1]:g}.")


_WORDS = {
    Interpolation.cubic: "on a smooth curve (cubic)",
    Interpolation.linear: "on straight lines (linear)",
    Interpolation.hold: "in steps (hold)",
}


def interpolation_words(kinds: Mapping[str, str]) -> str:
    """'Inputs between rows: u in steps (hold)', in the order of the inputs; empty without any."""
    parts = [f"{name} {_WORDS[Interpolation(kind)]}" for name, kind in kinds.items()]
    return f"Inputs between rows: {', '.join(parts)}" if parts else ""


def input_interpolation(names: Sequence[str], data: Dataset | None = None) -> dict[str, str]:
    """For each input how it runs between its rows, as far as the rows of a dataset show."""
    if data is None or data.inputs is None:
        return {name: str(Interpolation.cubic) for name in names}
    same_run = np.diff(data.run_of_row) == 0
    return {
        name: str(visible_interpolation(column, same_run))
        for name, column in zip(names, data.inputs.T, strict=True)
    }


def chosen_interpolation(learned: Mapping[str, str], given: Any) -> dict[str, str]:
    """How each input runs between its samples: as learned, unless another way is given for all or
    for some."""
    asked = dict(given) if isinstance(given, Mapping) else dict.fromkeys(learned, given)
    for name, kind in asked.items():
        if name not in learned:
            raise InputError(
                f"interpolation names '{name}', which is no input of the model."
                f"{suggestion(name, learned)} Its inputs are {quoted(learned) or 'none'}."
            )
        if kind is not None and kind not in list(Interpolation):
            raise InputError(
                f"interpolation must be one of {quoted(Interpolation)}, for all inputs or in a "
                f"dict by name; got {kind!r}."
            )
    return {name: str(asked.get(name) or kind) for name, kind in learned.items()}
