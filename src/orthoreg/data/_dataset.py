"""`Dataset`: measured runs of one system, checked once, stored flat."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
from jaxtyping import Bool, Float, Int

from .._errors import DataError, quoted
from ._checks import Place, as_numbers, check_finite, check_increasing, check_names, warn_constant


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Dataset:
    """Many runs of one system: times, states, optional inputs and derivatives.

    Runs may differ in length and in their times. They are stored one after the other: run r
    owns the rows `offsets[r]` to `offsets[r + 1]`. `data[3]` and iteration give single runs,
    `data[[0, 2]]` a choice of them; each is a `Dataset` again. Build one with `from_arrays`
    or `orthoreg.read_table`; these check everything and copy the numbers.

    `velocity_of` maps a position to the state that is its derivative, exactly: {"x": "x_dot"}.
    `estimated` names the states that nobody measured, velocities made from their positions.

    >>> import numpy as np
    >>> t = np.linspace(0, 1, 5)
    >>> data = Dataset.from_arrays(np.column_stack([np.sin(t), np.cos(t)]), t, names=["x", "v"])
    >>> data.n_runs, data.n_samples, data.state_names
    (1, 5, ('x', 'v'))
    """

    times: Float[np.ndarray, " N"]
    states: Float[np.ndarray, "N n"]
    offsets: Int[np.ndarray, " bounds"]
    labels: tuple[str, ...]
    state_names: tuple[str, ...]
    inputs: Float[np.ndarray, "N m"] | None = None
    derivatives: Float[np.ndarray, "N n"] | None = None
    input_names: tuple[str, ...] = ()
    time_name: str = "t"
    group_name: str | None = None
    units: Mapping[str, str] = field(default_factory=dict)
    source: str = "data"
    velocity_of: Mapping[str, str] = field(default_factory=dict)
    estimated: tuple[str, ...] = ()

    def __post_init__(self):
        for name in ("times", "states", "offsets", "inputs", "derivatives"):
            array = getattr(self, name)
            if array is not None:
                view = array.view()
                view.flags.writeable = False
                object.__setattr__(self, name, view)

    @classmethod
    def from_arrays(
        cls,
        x: Any,
        t: Any,
        u: Any = None,
        names: Sequence[str] | None = None,
        *,
        derivatives: Any = None,
        input_names: Sequence[str] | None = None,
        units: Mapping[str, str] | None = None,
    ) -> "Dataset":
        """Runs from arrays. One two-dimensional array (times x states) is one run, a list of
        them or a three-dimensional array many.

        `t` holds the times: one array for all runs, one per run, or a single number, the step.
        """
        runs = _split(x, "x")
        names = _column_names(x) if names is None else names
        lengths = [len(run) for run in runs]
        n_states = runs[0].shape[1]
        times = _times(t, lengths, n_states)
        state_names = check_names(
            [f"x{i}" for i in range(n_states)] if names is None else names, "names"
        )
        if len(state_names) != n_states:
            raise DataError(
                f"names must give one name for each of the {n_states} columns of x; "
                f"got {len(state_names)}: {list(state_names)}."
            )
        inputs = _matching(u, "u", lengths)
        n_inputs = 0 if inputs is None else inputs.shape[1]
        input_names = _column_names(u) if input_names is None else input_names
        given = check_names(
            [f"u{i}" for i in range(n_inputs)] if input_names is None else input_names,
            "input_names",
        )
        if len(given) != n_inputs:
            raise DataError(
                f"input_names must give one name for each of the {n_inputs} columns of u; "
                f"got {len(given)}: {list(given)}."
            )
        slopes = _matching(derivatives, "derivatives", lengths)
        if slopes is not None and slopes.shape[1] != n_states:
            raise DataError(
                f"derivatives must have one column for each of the {n_states} states; "
                f"got {slopes.shape[1]}."
            )
        return cls._checked(
            times=np.concatenate(times),
            states=np.concatenate(runs),
            lengths=np.array(lengths),
            labels=tuple(str(i) for i in range(len(runs))),
            state_names=state_names,
            inputs=inputs,
            derivatives=slopes,
            input_names=given,
            units=dict(units or {}),
            time_name=next(name for name in ("t", "time", "t_") if name not in state_names + given),
            source="x",
            row_word="row",
            grouped=True,
        )

    @classmethod
    def _checked(
        cls,
        *,
        lengths: Int[np.ndarray, " R"],
        row_word: str,
        grouped: bool,
        row_of: Callable[[int], int] | None = None,
        derivative_names: Sequence[str] = (),
        **parts: Any,
    ) -> "Dataset":
        """The dataset, after every check that needs only its numbers."""
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        data = cls(offsets=offsets, **parts)
        if data.n_samples == 0:
            raise DataError(f"{data.source} holds no rows; at least one is needed.")
        unknown = set(data.units) - {data.time_name, *data.variable_names}
        if unknown:
            raise DataError(
                f"units names {quoted(sorted(unknown))}, which are no columns of the data; its "
                f"columns are {quoted((data.time_name, *data.variable_names))}."
            )
        if set(data.state_names) & set(data.input_names):
            raise DataError(
                f"states and inputs must have different names; "
                f"{sorted(set(data.state_names) & set(data.input_names))} stand in both."
            )

        def run_of(index: int) -> str | None:
            return data.labels[data.run_of_row[index]] if grouped else None

        def first_row(index: int) -> int:
            return index - int(offsets[data.run_of_row[index]])

        place = Place(data.source, row_word, row_of or first_row, run_of)
        check_finite(data.times[:, None], [data.time_name], place)
        check_finite(data.states, data.state_names, place)
        if data.inputs is not None:
            check_finite(data.inputs, data.input_names, place)
        if data.derivatives is not None:
            names = derivative_names or [f"d{name}/dt" for name in data.state_names]
            check_finite(data.derivatives, names, place)
        check_increasing(data.times, offsets, data.time_name, place, grouped=grouped)
        warn_constant(data.states, data.state_names, data.source)
        return data

    # -- shape ---------------------------------------------------------------------------

    @property
    def n_samples(self) -> int:
        return len(self.times)

    @property
    def n_runs(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_states(self) -> int:
        return self.states.shape[1]

    @property
    def variable_names(self) -> tuple[str, ...]:
        """States, then inputs: what a library's terms may use."""
        return self.state_names + self.input_names

    @property
    def variables(self) -> Float[np.ndarray, "N V"]:
        """States and inputs side by side."""
        return self.states if self.inputs is None else np.hstack([self.states, self.inputs])

    @property
    def run_lengths(self) -> Int[np.ndarray, " R"]:
        return np.diff(self.offsets)

    @property
    def run_of_row(self) -> Int[np.ndarray, " N"]:
        """The index of the run that each row belongs to."""
        return np.repeat(np.arange(self.n_runs), self.run_lengths)

    def has_equal_steps(self, tolerance: float = 1e-3) -> Bool[np.ndarray, " R"]:
        """For each run, whether its time steps agree to the relative tolerance."""
        steps = np.append(np.diff(self.times), 0.0)
        steps[self.offsets[1:] - 1] = np.inf  # from one run to the next
        low = np.minimum.reduceat(steps, self.offsets[:-1])
        steps[self.offsets[1:] - 1] = 0.0
        high = np.maximum.reduceat(steps, self.offsets[:-1])
        return (high - low <= tolerance * high) | (self.run_lengths < 3)

    def step_of_run(self) -> Float[np.ndarray, " R"]:
        """The mean time step of each run."""
        first, last = self.offsets[:-1], self.offsets[1:] - 1
        return (self.times[last] - self.times[first]) / np.maximum(self.run_lengths - 1, 1)

    # -- choosing ------------------------------------------------------------------------

    def __len__(self) -> int:
        return self.n_runs

    def __iter__(self) -> Iterator["Dataset"]:
        return (self[i] for i in range(self.n_runs))

    def __getitem__(self, which: Any) -> "Dataset":
        """A run by its index, or several by a slice, a list or a mask."""
        chosen = np.atleast_1d(np.arange(self.n_runs)[which])
        ends = list(zip(self.offsets[chosen], self.offsets[chosen + 1], strict=True))
        none = np.zeros(0, dtype=np.int64)
        rows = np.concatenate([none, *(np.arange(int(first), int(last)) for first, last in ends)])
        return replace(
            self,
            times=self.times[rows],
            states=self.states[rows],
            inputs=None if self.inputs is None else self.inputs[rows],
            derivatives=None if self.derivatives is None else self.derivatives[rows],
            offsets=np.cumsum([0, *(int(last - first) for first, last in ends)]),
            labels=tuple(self.labels[r] for r in chosen),
        )

    def with_derivatives(self, derivatives: Float[np.ndarray, "N n"]) -> "Dataset":
        """The same runs with these derivatives of the states."""
        return replace(self, derivatives=np.array(derivatives))

    def __repr__(self) -> str:
        parts = [f"{self.n_runs} runs", f"{self.n_samples} samples", f"states={self.state_names}"]
        if self.input_names:
            parts.append(f"inputs={self.input_names}")
        return f"Dataset({', '.join(parts)})"


def concatenate(parts: Sequence[Dataset]) -> Dataset:
    """All runs of several datasets of the same system as one."""
    if not parts:
        raise DataError("At least one dataset is needed; the list is empty.")
    first = parts[0]
    for other in parts[1:]:
        if (other.state_names, other.input_names) != (first.state_names, first.input_names):
            raise DataError(
                f"Datasets can be joined only when their states and inputs agree; got "
                f"{list(first.state_names)}, {list(first.input_names)} and "
                f"{list(other.state_names)}, {list(other.input_names)}."
            )
        if (other.derivatives is None) != (first.derivatives is None):
            raise DataError("Datasets can be joined only when all or none carry derivatives.")
    if len(parts) == 1:
        return first

    def joined(name: str) -> Any:
        arrays = [getattr(part, name) for part in parts]
        return None if arrays[0] is None else np.concatenate(arrays)

    lengths = np.concatenate([part.run_lengths for part in parts])
    return replace(
        first,
        times=joined("times"),
        states=joined("states"),
        inputs=joined("inputs"),
        derivatives=joined("derivatives"),
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        labels=tuple(label for part in parts for label in part.labels),
    )


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


def _times(t: Any, lengths: list[int], n_columns: int) -> list[np.ndarray]:
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
        raise DataError(f"t holds times for {len(times)} runs, but x holds {len(lengths)} runs.")
    for i, (time, length) in enumerate(zip(times, lengths, strict=True)):
        if np.shape(time) != (length,):
            raise DataError(
                f"t and x must have the same number of rows; in run {i} t has shape "
                f"{np.shape(time)} and x has {length} rows."
                + (" Did you mean x.T?" if np.shape(time) == (n_columns,) else "")
            )
    return times


def _matching(value: Any, what: str, lengths: list[int]) -> np.ndarray | None:
    """An array that accompanies the states, joined over runs."""
    if value is None:
        return None
    runs = _split(value, what)
    if len(runs) == 1 and len(lengths) > 1 and len({*lengths, len(runs[0])}) == 1:
        runs = runs * len(lengths)
    if len(runs) != len(lengths):
        raise DataError(f"{what} holds {len(runs)} runs, but x holds {len(lengths)}.")
    for i, (run, length) in enumerate(zip(runs, lengths, strict=True)):
        if len(run) != length:
            raise DataError(
                f"{what} and x must have the same number of rows; in run {i} {what} has "
                f"{len(run)} and x has {length}."
            )
    return np.concatenate(runs)
