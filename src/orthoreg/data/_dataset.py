"""`Dataset`: measured runs of one system, checked once and stored as flat arrays."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, final

import numpy as np
from jaxtyping import Bool, Float, Int

from .._common.errors import DataError, quoted
from ..smoothing import Offsets, have_equal_steps, mean_steps
from ._assembly import (
    check_order,
    from_arrays,
    from_positions,
    rate_polynomial,
    rates_of,
    split_at_gaps,
    with_covariates,
    with_rates,
)
from ._checks import (
    Locator,
    check_finite,
    check_increasing,
    check_map,
    check_moving,
    check_names,
    check_not_tiny,
    warn_constant,
)
from ._extent import content_order, spaced, subsample_runs
from ._limits import EQUAL_MAP_STEPS, GAP
from ._schema import FromSchema, Note, PerRun, Schema, html_overview

if TYPE_CHECKING:
    from ._plan import Plan

T = TypeVar("T")
_COLUMNS = {entry.name for entry in fields(Schema)}
_BY_ROW = (
    "times", "states", "inputs", "derivatives", "filled", "state_std", "input_lines",
    "covariates",
)  # fmt: skip


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Dataset:
    """Many runs of one system: times, states, optional inputs and derivatives.

    Runs may differ in length and in their times. They are stored one after the other: run r has the
    rows `offsets[r]` to `offsets[r + 1]`. `data[3]` and iteration return single runs, `data[[0,
    2]]` returns several runs, each as a `Dataset`. Create a dataset with `from_arrays` or
    `orthoreg.read_table`, which check and copy the numbers.

    `schema` describes the columns. Its fields are also attributes of the dataset, such as
    `data.state_names`. `notes` state what was detected or repaired when a table was read. `filled`
    marks values that were filled in. `unused` lists the columns of the table that were not
    selected.

    Parameters
    ----------
    times, states, inputs, derivatives
        values of all runs, one run after the other.
    offsets, labels
        index of the first row of each run, and name of each run.
    schema, notes, filled, unused
        see above.
    source
        name of the table.
    input_lines
        a straight line for each input and row, for inputs that jump between rows, such as delayed
        steps: its value after the row and its change until the next row. The line has the mean and
        the first moment of the input. NaN for other inputs.
    state_std
        standard deviations of estimated hidden states.
    covariates
        quantities that are constant within each run, for each row; NaN if unknown.

    Examples
    --------
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
    schema: Schema
    inputs: Float[np.ndarray, "N m"] | None = None
    derivatives: Float[np.ndarray, "N n"] | None = None
    source: str = "data"
    notes: tuple[Note, ...] = ()
    filled: Bool[np.ndarray, "N n"] | None = None
    unused: tuple[str, ...] = ()
    input_lines: Float[np.ndarray, "N m 2"] | None = None
    state_std: Float[np.ndarray, "N n"] | None = None
    covariates: Float[np.ndarray, "N q"] | None = None
    _results: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

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
        t: Any = None,
        u: Any = None,
        names: Sequence[str] | None = None,
        *,
        derivatives: Any = None,
        input_names: Sequence[str] | None = None,
        units: Mapping[str, str] | None = None,
        discrete: bool = False,
        hidden: Sequence[str] = (),
        covariates: Mapping[str, Any] | None = None,
    ) -> "Dataset":
        """Create a dataset from arrays.

        Parameters
        ----------
        x
            states: a two-dimensional array (times x states) for one run, or a list of such arrays
            or a three-dimensional array for several runs.
        t
            times: one array for all runs, one array per run, or the time step. For a map
            (`discrete=True`), t may be omitted; row numbers then serve as times.
        u
            inputs at the same times, (times x inputs), or a list of such arrays.
        names, input_names
            names of states and inputs; x0, x1, ... and u0, u1, ... if None.
        derivatives
            known derivatives of the states, in arrays of the same shape as `x`.
        units
            units of columns by name. They label results, and terms of unlike units are not
            considered.
        discrete
            whether the system is a map x[k+1] = f(x[k], u[k]) from row to row, such as a yearly
            census or a sampled controller. All steps must then be equal.
        hidden
            names of further states that were not measured. A fit estimates them.
        covariates
            quantities that are constant within each run, such as a length: one value for each run,
            by name; NaN if unknown. Covariates do not occur in any term. A fit with constants per
            run tests whether these constants follow from covariates.

        Returns
        -------
        data
            the dataset with a checked copy of the numbers.

        Examples
        --------
        >>> import numpy as np, orthoreg as og
        >>> t = np.linspace(0, 6, 121)
        >>> short, long = np.exp(-t[:50])[:, None], np.exp(-t)[:, None]
        >>> og.Dataset.from_arrays([short, long], [t[:50], t], names=["x"]).n_samples
        171
        """
        if t is None and not discrete:
            raise DataError(
                "t must give the times of the rows or the time step. Only a map, with "
                "discrete=True, may omit it."
            )
        t = 1.0 if t is None else t
        parts = from_arrays(x, t, u, names, derivatives, input_names, units)
        return cls.checked(
            **parts, discrete=discrete, hidden=hidden, covariate_values=covariates or {}
        )

    @classmethod
    def from_positions(
        cls,
        q: Any,
        t: Any,
        u: Any = None,
        names: Sequence[str] | None = None,
        input_names: Sequence[str] | None = None,
        *,
        states: Any = None,
        state_names: Sequence[str] | None = None,
        velocity_of: Mapping[str, str] | None = None,
        order: int = 2,
        units: Mapping[str, str] | None = None,
        hidden: Sequence[str] = (),
    ) -> "Dataset":
        """Create a dataset of a second-order system from measured positions without velocities.

        The states are the positions, followed by their estimated velocities `<name>_dot`. The
        equation q' = q_dot of each position is exact and not learned. With equations of higher
        order, further derivatives follow: q' = q_dot, q_dot' = q_ddot.

        Parameters
        ----------
        q
            positions, in arrays as in `from_arrays`. A one-dimensional array is a single position
            in a single run.
        t, u, input_names, units, hidden
            see `from_arrays`.
        names
            names of the positions.
        states, state_names
            further measured states. They follow the positions and velocities.
        velocity_of
            velocities among `states`: {"theta": "omega"}.
        order
            order of the equations of the positions.

        Returns
        -------
        data
            the dataset, with states in the order above.

        Examples
        --------
        >>> import numpy as np
        >>> t = np.linspace(0, 1, 50)
        >>> data = Dataset.from_positions(np.sin(t), t, names=["theta"])
        >>> data.state_names, data.velocity_of, data.estimated
        (('theta', 'theta_dot'), {'theta': 'theta_dot'}, ('theta_dot',))
        """
        parts = from_positions(q, t, u, names, input_names, states, state_names, velocity_of, units)
        return cls.checked(**parts, order=order, hidden=hidden)

    @classmethod
    def checked(
        cls,
        *,
        lengths: Int[np.ndarray, " R"],
        row_word: str,
        grouped: bool,
        row_of: Callable[[int], int] | None = None,
        source_of: Callable[[int], str] | None = None,
        derivative_names: Sequence[str] = (),
        positions: Mapping[str, str | None] | None = None,
        order: int = 2,
        gap: float | int = GAP,
        is_chunk: bool = False,
        discrete: bool = False,
        hidden: Sequence[str] = (),
        covariate_values: Mapping[str, Any] | None = None,
        **parts: Any,
    ) -> "Dataset":
        """Return the dataset after all checks.

        A chunk of a larger dataset is checked on its own and gets no velocities. `positions` maps
        positions to their velocities, or to None for a velocity to be estimated; `order` is the
        order of their equations. Runs are cut at steps longer than `gap` times each of their
        neighbours. A map (`discrete`) must have equal steps, and neither positions nor derivatives.
        `hidden` states are added. `covariate_values` have one value for each run or row.
        """
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        columns = {name: parts.pop(name) for name in _COLUMNS & parts.keys()}
        data = cls(offsets=offsets, schema=Schema(**columns), **parts)
        if data.n_samples == 0:
            raise DataError(f"{data.source} has no rows; at least one is needed.")
        if set(data.state_names) & set(data.input_names):
            raise DataError(
                f"states and inputs must have different names; "
                f"{sorted(set(data.state_names) & set(data.input_names))} are in both."
            )

        def run_of(index: int) -> str | None:
            return data.labels[data.run_of_row[index]] if grouped else None

        def first_row(index: int) -> int:
            return index - int(offsets[data.run_of_row[index]])

        can_repair = row_of is not None
        if covariate_values:
            data = with_covariates(data, covariate_values)
        locator = Locator(
            data.source, row_word, row_of or first_row, run_of, source_of, can_repair=can_repair
        )
        _check_finite_values(data, derivative_names, locator)
        check_increasing(data.times, offsets, data.time_name, locator, grouped=grouped)
        if discrete:
            has_rates = bool(positions) or data.derivatives is not None
            check_map(data.times, offsets, data.time_name, locator, has_rates=has_rates)
            data = data.with_parts(step=step_of_runs(data))
        if is_chunk:
            return data
        check_not_tiny(data.states, data.state_names, data.source)
        if data.inputs is not None:
            check_not_tiny(data.inputs, data.input_names, data.source)
        data = data if discrete else split_at_gaps(data, gap)
        if positions:
            check_moving(data.states, data.state_names, offsets, tuple(positions), data.source)
        warn_constant(data.states, data.state_names, data.source)
        if positions:
            data = data.with_velocities(positions, order)
        _check_units(data, hidden)
        return data.with_hidden(hidden)

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
    def variables(self) -> Float[np.ndarray, "N V"]:
        """States and inputs as columns of one array."""
        return self.states if self.inputs is None else np.hstack([self.states, self.inputs])

    @property
    def run_lengths(self) -> Int[np.ndarray, " R"]:
        return np.diff(self.offsets)

    @property
    def run_of_row(self) -> Int[np.ndarray, " N"]:
        """The run index of each row."""
        return np.repeat(np.arange(self.n_runs), self.run_lengths)

    def has_equal_steps(self, tolerance: float = 1e-3) -> Bool[np.ndarray, " R"]:
        """Return for each run whether its time steps agree to the relative tolerance."""
        return have_equal_steps(self.times, self.offsets, tolerance)

    def rows_with_next(self) -> Int[np.ndarray, " M"]:
        """Return the rows with measured (not filled-in) values, whose next row is measured too."""
        has_next = np.ones(self.n_samples, dtype=bool)
        has_next[self.offsets[1:] - 1] = False
        if self.filled is not None:
            is_measured = np.asarray(~self.filled.any(axis=1))
            has_next &= is_measured & np.append(is_measured[1:], False)
        return np.flatnonzero(has_next)

    def step_of_run(self) -> Float[np.ndarray, " R"]:
        """Return the mean time step of each run."""
        return mean_steps(self.times, self.offsets)

    # -- columns -------------------------------------------------------------------------

    state_names = FromSchema(lambda schema: schema.state_names)
    input_names = FromSchema(lambda schema: schema.input_names)
    variable_names = FromSchema(lambda schema: schema.variable_names)
    time_name = FromSchema(lambda schema: schema.time_name)
    group_name = FromSchema(lambda schema: schema.group_name)
    units = FromSchema(lambda schema: schema.units)
    covariate_names = FromSchema(lambda schema: schema.covariate_names)
    velocity_of = FromSchema(lambda schema: schema.velocity_of)
    estimated = FromSchema(lambda schema: schema.estimated)
    hidden = FromSchema(lambda schema: schema.hidden)
    time_input = FromSchema(lambda schema: schema.time_input)
    discrete = FromSchema(lambda schema: schema.discrete)
    delays = FromSchema(lambda schema: schema.delays)
    is_measured = FromSchema(lambda schema: schema.is_measured)
    given_rates = FromSchema(lambda schema: schema.given_rates)

    def with_parts(self, **parts: Any) -> "Dataset":
        """Return the same runs with changed attributes of the dataset or of its schema."""
        columns = {name: parts.pop(name) for name in _COLUMNS & parts.keys()}
        return replace(self, schema=replace(self.schema, **columns), **parts)

    # -- decisions -----------------------------------------------------------------------

    @cached_property
    def sample(self) -> "Dataset":
        """Runs with about 131,072 rows in total, for decisions that do not need all the data."""
        return self[subsample_runs(self.run_lengths)]

    @cached_property
    def sorted_runs(self) -> "Dataset":
        """The runs in an order that depends only on their content.

        Splits, samples and sums use it, so that results do not depend on the order of runs. Runs of
        large tables, which can be read in chunks, keep their order.
        """
        return self if self.sample is not self else self[self._content_order]

    @cached_property
    def _content_order(self) -> Int[np.ndarray, " R"]:
        if self.n_runs < 2:
            return np.arange(self.n_runs)
        columns = self.states[:, self.is_measured]
        if self.inputs is not None:
            columns = np.hstack([columns, self.inputs])
        return content_order(columns, self.offsets)

    @cached_property
    def plan(self) -> "Plan":
        """Noise, outliers, smoothing and windows, decided once from the sample."""
        from ._plan import Plan

        if self.sample is not self:
            return Plan(self, self.sample.plan)
        ordered = self.sorted_runs
        if ordered is self:
            return Plan(self)
        rank = np.argsort(self._content_order)
        rows = ordered.offsets[rank][self.run_of_row] + np.arange(self.n_samples)
        return Plan(self, ordered.plan, rows - self.offsets[self.run_of_row])

    def once(self, key: Any, compute: "Callable[[Dataset], T]") -> T:
        """Return `compute(self)`. It is computed once for each `key`."""
        if key not in self._results:
            self._results[key] = compute(self)
        return self._results[key]

    def with_plan_of(
        self, data: "Dataset", rows: Bool[np.ndarray, " M"] | None = None
    ) -> "Dataset":
        """Return these runs, a subset of `data`, with the decisions of its plan.

        `rows` is a mask that selects their rows in `data`, if known.
        """
        from ._plan import Plan

        if self is data:
            return self
        part = replace(self)
        object.__setattr__(part, "plan", Plan(part, data.plan, rows))
        return part

    def __getstate__(self) -> dict[str, Any]:
        return {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.init}

    # -- selection -----------------------------------------------------------------------

    def __len__(self) -> int:
        return self.n_runs

    def __iter__(self) -> Iterator["Dataset"]:
        return (self[i] for i in range(self.n_runs))

    def __getitem__(self, runs: Any) -> "Dataset":
        """Return one run by its index, or several runs by a slice, a list or a mask."""
        chosen = np.atleast_1d(np.arange(self.n_runs)[runs])
        if np.array_equal(chosen, np.arange(self.n_runs)):
            return self
        bounds = list(zip(self.offsets[chosen], self.offsets[chosen + 1], strict=True))
        empty = np.zeros(0, dtype=np.int64)
        rows = np.concatenate(
            [empty, *(np.arange(int(first), int(last)) for first, last in bounds)]
        )
        offsets = np.cumsum([0, *(int(last - first) for first, last in bounds)])
        return self.at(rows, offsets, chosen)

    def subsample(self, max_rows: int, min_runs: int = 1) -> "Dataset":
        """Return evenly spaced whole runs with about `max_rows` rows, with the plan of all runs.

        The result has at least `min_runs` runs. All runs are returned if there are no more than
        that, or no more than `max_rows` rows.
        """
        if self.n_samples <= max_rows or self.n_runs <= min_runs:
            return self
        count = max(int(max_rows / self.n_samples * self.n_runs), min_runs)
        return self[spaced(self.n_runs, count)].with_plan_of(self)

    def subsample_rows(self, max_rows: int) -> "Dataset":
        """Return evenly spaced runs with at most `max_rows` rows. The last run may be cut."""
        subset = self.subsample(max_rows)
        if subset.n_samples <= max_rows:
            return subset
        return subset.only(np.arange(subset.n_samples) < max_rows).with_plan_of(self)

    def only(self, is_kept: Bool[np.ndarray, " N"]) -> "Dataset":
        """Return the rows where `is_kept`. Consecutive rows of a run form a run."""
        if np.all(is_kept):
            return self
        rows = np.flatnonzero(is_kept)
        run = self.run_of_row[rows]
        starts = np.flatnonzero((np.diff(rows, prepend=-2) > 1) | (np.diff(run, prepend=-1) > 0))
        return self.at(rows, np.append(starts, len(rows)), run[starts])

    def at(
        self, rows: Int[np.ndarray, " M"], offsets: Offsets, runs: Int[np.ndarray, " R"]
    ) -> "Dataset":
        """Return these rows as runs that begin at `offsets`, with the labels of `runs`."""
        values = {name: getattr(self, name) for name in _BY_ROW}
        return replace(
            self,
            **{name: None if array is None else array[rows] for name, array in values.items()},
            offsets=offsets,
            labels=tuple(self.labels[run] for run in runs),
        )

    def with_derivatives(self, derivatives: Float[np.ndarray, "N n"]) -> "Dataset":
        """Return the same runs with these derivatives of the states."""
        return replace(self, derivatives=np.array(derivatives))

    def with_velocities(self, positions: Mapping[str, str | None], order: int = 2) -> "Dataset":
        """Return the same runs with some states declared as positions.

        `positions` maps them to their velocities.

        A velocity that is None is estimated, as are further derivatives below the `order` of the
        equations. Positions come first, then velocities.
        """
        measured = self.without_estimates()
        return measured.with_rates(rates_of(measured, positions, check_order(order, positions)))

    def with_rates(self, rates: Mapping[str, str]) -> "Dataset":
        """Return the same runs with `rates` as derivatives of states, such as {"x": "v", "v":
        "v_dot"}.

        Derivatives without a column are estimated.
        """
        parts = with_rates(self, rates, rate_polynomial(self, rates))
        return self.with_parts(derivatives=None, **parts)

    def without_estimates(self) -> "Dataset":
        """Return the same runs with measured states only."""
        is_measured = self.is_measured
        if is_measured.all():
            return self
        filled = self.filled
        names = self.schema.measured_states
        return self.with_parts(
            states=self.states[:, is_measured],
            filled=None if filled is None else filled[:, is_measured],
            state_std=None,
            state_names=names,
            velocity_of={a: b for a, b in self.velocity_of.items() if {a, b} <= set(names)},
            estimated=(),
            hidden=(),
            per_run=(),
        )

    def with_hidden(self, names: Sequence[str], per_run: "Sequence[PerRun]" = ()) -> "Dataset":
        """Return the same runs with added hidden states.

        Their values are NaN until a fit estimates them. `per_run` are hidden states that are
        constant in each run.
        """
        constants = tuple(constant.name for constant in per_run)
        hidden = check_names((*names, *constants), "hidden")
        columns = (self.time_name, self.group_name, *self.variable_names, *self.unused)
        for name in hidden:
            if name in columns:
                raise DataError(
                    f"hidden names '{name}', which is a column of {self.source}. A hidden state is "
                    f"one without a column: choose another name, or read the column as a state."
                )
        if not hidden:
            return self
        if self.derivatives is not None:
            raise DataError("hidden states need runs in time; omit derivatives.")
        shape = (self.n_samples, len(hidden))
        filled = self.filled
        if filled is not None:
            filled = np.hstack([filled, np.zeros(shape, dtype=bool)])
        return self.with_parts(
            states=np.hstack([self.states, np.full(shape, np.nan)]),
            filled=filled,
            state_names=(*self.state_names, *hidden),
            hidden=(*self.hidden, *hidden),
            per_run=(*self.schema.per_run, *per_run),
        )

    @property
    def has_unknown_states(self) -> bool:
        """Whether there are hidden states that were not estimated yet."""
        return bool(np.isnan(self.states[:, self.schema.hidden_columns]).any())

    def with_time_input(self) -> "Dataset":
        """Return the same runs with time as the last input, under its own name."""
        if self.time_input is not None:
            return self
        times, lines = self.times[:, None], self.input_lines
        if lines is not None:
            lines = np.concatenate([lines, np.full((len(lines), 1, 2), np.nan)], axis=1)
        return replace(
            self,
            inputs=times if self.inputs is None else np.hstack([self.inputs, times]),
            schema=self.schema.with_time_input(),
            input_lines=lines,
        )

    # -- former names --------------------------------------------------------------------

    def some_runs(self, most_rows: int, fewest: int = 1) -> "Dataset":
        """Deprecated alias of `subsample`."""
        _warn_renamed("some_runs()", "subsample()")
        return self.subsample(most_rows, fewest)

    def with_clock(self) -> "Dataset":
        """Deprecated alias of `with_time_input`."""
        _warn_renamed("with_clock()", "with_time_input()")
        return self.with_time_input()

    @property
    def clock(self) -> str | None:
        """Deprecated alias of `time_input`."""
        _warn_renamed("clock", "time_input")
        return self.time_input

    def __repr__(self) -> str:
        parts = [f"{self.n_runs} runs", f"{self.n_samples} samples", f"states={self.state_names}"]
        if self.input_names:
            parts.append(f"inputs={self.input_names}")
        if self.velocity_of:
            parts.append(f"velocity_of={dict(self.velocity_of)}")
        if self.notes:
            parts.append(f"notes={[note.code for note in self.notes]}")
        return f"Dataset({', '.join(parts)})"

    def _repr_html_(self) -> str:
        """Return a table of variables with units and ranges, for notebooks."""
        return html_overview(self)


def step_of_runs(data: Dataset) -> float:
    """Return the median time step of a map.

    Raise an error if all runs have a single row, or if steps are unequal.
    """
    steps = np.diff(data.times)[np.diff(data.run_of_row) == 0]
    step = float(np.median(steps)) if len(steps) else np.nan
    if not len(steps) or (np.abs(steps - step) > EQUAL_MAP_STEPS * step).any():
        raise DataError(
            f"{data.source}: a map needs runs of at least 2 rows with equal time steps. Split the "
            f"runs where rows are missing."
        )
    return step


def _warn_renamed(former: str, name: str) -> None:
    text = f"Dataset.{former} is deprecated: use {name}."
    warnings.warn(text, DeprecationWarning, stacklevel=3)


def _check_finite_values(data: Dataset, derivative_names: Sequence[str], locator: Locator) -> None:
    """Raise an error for values that are not finite or too large."""
    check_finite(data.times[:, None], [data.time_name], locator)
    check_finite(data.states, data.state_names, locator)
    if data.inputs is not None:
        check_finite(data.inputs, data.input_names, locator)
    if data.derivatives is not None:
        names = derivative_names or [f"d{name}/dt" for name in data.state_names]
        check_finite(data.derivatives, names, locator)


def _check_units(data: Dataset, hidden: Sequence[str]) -> None:
    """Raise an error for units of columns that do not exist."""
    named = {data.time_name, *data.variable_names, *data.covariate_names, *hidden}
    unknown = set(data.units) - named
    if unknown:
        raise DataError(
            f"units names {quoted(sorted(unknown))}, which are not columns of the data; the "
            f"columns are {quoted((data.time_name, *data.variable_names))}."
        )
