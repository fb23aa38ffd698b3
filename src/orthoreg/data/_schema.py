"""`Schema`: the columns of runs. `Note`: a remark on reading a table. Also an HTML overview."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar, final

import numpy as np
from jaxtyping import Bool, Float

from .._common.html import html_sentences, html_table
from .._common.typed import check_type
from . import _limits as limits
from ._checks import check_names
from ._delays import Delay
from ._relation import Relation

if TYPE_CHECKING:
    from ._dataset import Dataset

T = TypeVar("T")


@final
@dataclass(frozen=True)
class Note:
    """A sentence on how a table was read.

    `code` identifies the kind of note, and `count` is the number of rows, cells or lines affected
    (0 if not applicable). `is_repair` is true if measurements were changed or left out on request.
    """

    code: str
    text: str
    count: int = 0
    is_repair: bool = False

    def __str__(self) -> str:
        return self.text


@final
@dataclass(frozen=True)
class PerRun:
    """A constant that differs between runs: a hidden state that does not change.

    The values of runs, or their logarithms if `is_log`, are normally distributed with this mean and
    standard deviation. Before a fit, the standard deviation is infinite. `relation` gives the
    constant as a function of covariates, if the fit found a relation.
    """

    name: str
    mean: float = 0.0
    std: float = math.inf
    is_log: bool = False
    relation: Relation | None = None

    @property
    def center(self) -> float:
        """The median over runs."""
        return math.exp(self.mean) if self.is_log else self.mean

    def distribution(
        self, covariates: Float[np.ndarray, "R q"] | None, names: Sequence[str], count: int
    ) -> tuple[Float[np.ndarray, " R"], Float[np.ndarray, " R"]]:
        """Return the mean and standard deviation for each of `count` runs (of the logarithm if
        `is_log`).

        Known covariates determine them by the relation. Otherwise they are those over all runs.
        """
        mean, std = np.full(count, self.mean), np.full(count, self.std)
        if self.relation is None or covariates is None:
            return mean, std
        columns = [list(names).index(name) for name in self.relation.covariates]
        value, spread = self.relation.at(covariates[:, columns])
        is_known = np.isfinite(value) & np.isfinite(spread)
        if self.is_log:
            is_known &= value > 0
            value = np.where(is_known, value, 1.0)
            value, spread = np.log(value), spread / value
        least = limits.LEAST_RELATION_STD * self.std
        spread = np.clip(spread, least, self.std)
        return np.where(is_known, value, mean), np.where(is_known, spread, std)


@final
@dataclass(frozen=True, kw_only=True)
class Schema:
    """The columns of runs, shared by datasets, chunks, models and model files.

    Parameters
    ----------
    state_names, input_names
        names of states and inputs.
    time_name, group_name
        names of the time column and of the column that identifies the run.
    units
        units by name.
    velocity_of
        for each position, the state that is exactly its derivative: {"x": "x_dot"}. In equations of
        third order, also for each velocity: {"x": "x_dot", "x_dot": "x_ddot"}.
    estimated
        states that were not measured: derivatives estimated from positions.
    hidden
        states that were not measured and are estimated by a fit. They come last.
    per_run
        the hidden states that are constant in each run, with their distribution over runs.
    time_input
        the last input, if it is time. Equations that depend on time need it.
    step
        time between rows of a map x[k+1] = f(x[k], u[k]); None for a flow dx/dt = f(x, u).
    delays
        states and inputs at earlier times. Each is an input column.
    covariate_names
        quantities that are constant within each run and occur in no term, such as a length.

    Examples
    --------
    >>> schema = Schema(state_names=("x", "x_dot"), input_names=("u",), velocity_of={"x": "x_dot"})
    >>> schema.variable_names, schema.given_rates, schema.order
    (('x', 'x_dot', 'u'), {0: 1}, 2)
    """

    state_names: tuple[str, ...]
    input_names: tuple[str, ...] = ()
    time_name: str = "t"
    group_name: str | None = None
    units: Mapping[str, str] = field(default_factory=dict)
    velocity_of: Mapping[str, str] = field(default_factory=dict)
    estimated: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    per_run: tuple[PerRun, ...] = ()
    time_input: str | None = None
    step: float | None = None
    delays: tuple[Delay, ...] = ()
    covariate_names: tuple[str, ...] = ()

    @property
    def discrete(self) -> bool:
        """Whether the equations are a map, which gives the state at the next row."""
        return self.step is not None

    @property
    def variable_names(self) -> tuple[str, ...]:
        """The variables of a library's terms: states, then inputs."""
        return self.state_names + self.input_names

    @property
    def measured_states(self) -> tuple[str, ...]:
        """The states that have columns in a table."""
        unmeasured = {*self.estimated, *self.hidden}
        return tuple(name for name in self.state_names if name not in unmeasured)

    @property
    def is_measured(self) -> Bool[np.ndarray, " n"]:
        """Mask of the measured states. The others are estimated velocities and hidden states."""
        return np.isin(self.state_names, self.measured_states)

    @property
    def per_run_names(self) -> tuple[str, ...]:
        return tuple(constant.name for constant in self.per_run)

    @property
    def hidden_columns(self) -> list[int]:
        """The indices of the hidden states."""
        return [self.state_names.index(name) for name in self.hidden]

    @property
    def positions(self) -> dict[str, str | None]:
        """The positions with their velocities, or with None for velocities that were not
        measured.
        """
        return {
            position: None if velocity in self.estimated else velocity
            for position, velocity in self.velocity_of.items()
            if position not in self.velocity_of.values()
        }

    @property
    def order(self) -> int:
        """The order of the equations of positions, or 1 if there are no positions."""
        return 1 + len(self.velocity_of) // max(len(self.positions), 1)

    @property
    def derivative_of(self) -> dict[int, tuple[int, int]]:
        """The origin of each estimated derivative.

        Maps the index of the derivative to the index of the measured state and the order of
        differentiation.
        """
        result: dict[int, tuple[int, int]] = {}
        for state, rate in self.given_rates.items():
            if self.state_names[rate] in self.estimated:
                measured, times = result.get(state, (state, 0))
                result[rate] = measured, times + 1
        return result

    @property
    def given_rates(self) -> dict[int, int]:
        """The index of the velocity by the index of its position."""
        index = self.state_names.index
        return {index(position): index(rate) for position, rate in self.velocity_of.items()}

    @property
    def max_derivative(self) -> int:
        """The order of the highest derivative of a measured state in the equations."""
        return 1 + max((times for _, times in self.derivative_of.values()), default=0)

    @property
    def measured_inputs(self) -> tuple[str, ...]:
        """The inputs that have columns in a table. Time and delayed variables are not among
        them.
        """
        derived = {self.time_input, *(delay.name for delay in self.delays)}
        return tuple(name for name in self.input_names if name not in derived)

    @property
    def time_index(self) -> int | None:
        """The index of time among the variables, or None."""
        return None if self.time_input is None else self.variable_names.index(self.time_input)

    def with_time_input(self) -> "Schema":
        """Return the schema with time as the last input, under its own name."""
        return replace(
            self, input_names=(*self.input_names, self.time_name), time_input=self.time_name
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data with the keys of model files."""
        return {
            "states": list(self.state_names),
            "inputs": list(self.input_names),
            "units": dict(self.units),
            "columns": {"time": self.time_name, "group": self.group_name},
            "velocity_of": dict(self.velocity_of),
            "estimated": list(self.estimated),
            "hidden": list(self.hidden),
            "per_run": [
                [
                    one.name,
                    one.mean,
                    None if math.isinf(one.std) else one.std,
                    one.is_log,
                    None if one.relation is None else one.relation.to_dict(),
                ]
                for one in self.per_run
            ],
            "covariates": list(self.covariate_names),
            "clock": self.time_input or "",
            "step": self.step,
            "delays": [list(astuple(delay)) for delay in self.delays],
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Schema":
        """Return the schema from the output of `to_dict`.

        Raise ValueError, TypeError or KeyError if it is invalid.

        Older files may lack 'clock', 'step' (of a map), 'delays', 'hidden' and 'covariates'.
        """
        columns, time_input = values["columns"], values.get("clock") or None
        schema = cls(
            state_names=tuple(values["states"]),
            input_names=tuple(values["inputs"]),
            time_name=columns["time"],
            group_name=columns["group"],
            units=dict(values["units"]),
            velocity_of=dict(values["velocity_of"]),
            estimated=tuple(values["estimated"]),
            hidden=tuple(values.get("hidden", ())),
            per_run=tuple(_constant(*parts) for parts in values.get("per_run", ())),
            covariate_names=tuple(values.get("covariates", ())),
            time_input=time_input,
            step=None if values.get("step") is None else float(values["step"]),
            delays=tuple(
                Delay(str(variable), str(delay), float(value), bool(is_given))
                for variable, delay, value, is_given in values.get("delays", ())
            ),
        )
        check_type(schema, cls, "schema")
        schema._check()
        return schema

    def _check(self) -> None:
        """Raise ValueError if parts of the schema contradict each other."""
        check_names(self.variable_names, "states and inputs")
        states, constants = set(self.state_names), self.per_run_names
        if not self.state_names or not 0 < (1.0 if self.step is None else self.step) < np.inf:
            raise ValueError("there must be a state, and the step of a map must be positive")
        if not states.issuperset(
            {*self.velocity_of, *self.velocity_of.values(), *self.estimated, *self.hidden}
        ):
            raise ValueError("velocities, estimated and hidden states must be states")
        if self.hidden != self.state_names[len(self.state_names) - len(self.hidden) :]:
            raise ValueError("hidden states must come last")
        if len(set(constants)) < len(constants) or not set(constants) <= set(self.hidden):
            raise ValueError("constants per run must be hidden states")
        spreads = [one.std if math.isfinite(one.mean) else -1.0 for one in self.per_run]
        if not all(spread >= 0 for spread in spreads):
            raise ValueError("constants per run must have a mean and a standard deviation")
        covariates = set(check_names(self.covariate_names, "covariates"))
        if any(one.relation and not covariates.issuperset(one.relation.covariates)
               for one in self.per_run):  # fmt: skip
            raise ValueError("relations must be in covariates")
        if not {delay.name for delay in self.delays} <= set(self.input_names):
            raise ValueError("delayed variables must be inputs")
        if not all(math.isfinite(delay.value) for delay in self.delays):
            raise ValueError("delays must be finite")
        if self.time_input is not None and self.input_names[-1:] != (self.time_input,):
            raise ValueError("the time must be the last input")
        if not (self.time_name.strip() and (self.group_name or "run").strip()):
            raise ValueError("the names of columns must not be empty")


def _constant(
    name: str, mean: Any, std: Any, is_log: Any, relation: Mapping[str, Any] | None = None
) -> PerRun:
    """Return a constant per run from its entries in a model file."""
    spread = math.inf if std is None else float(std)
    known = None if relation is None else Relation.from_dict(relation)
    return PerRun(name, float(mean), spread, bool(is_log), known)


@final
class FromSchema(Generic[T]):
    """A descriptor that reads an attribute of the `schema` of an instance."""

    def __init__(self, read: Callable[[Schema], T]):
        self._read = read

    def __get__(self, owner: Any, kind: type) -> T:
        return self if owner is None else self._read(owner.schema)  # type: ignore[return-value]


_MAX_SHOWN = 30  # variables


def html_overview(data: "Dataset") -> str:
    """Return HTML with the size of the data, a table row for each variable, and the notes."""
    runs = f"{data.n_runs:,} run{'s' * (data.n_runs != 1)}"
    low, high = int(data.run_lengths.min()), int(data.run_lengths.max())
    each = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    time = data.units.get(data.time_name, "")
    size = f"{runs} of {each} samples; {data.time_name}{f' in {time}' * bool(time)}"
    if data.covariate_names:
        size += f"; covariates {', '.join(data.covariate_names)}"
    rows, values = [], data.variables
    for k, name in enumerate(data.variable_names[:_MAX_SHOWN]):
        column = values[:, k]
        kind = "input" if k >= data.n_states else "state"
        if name in data.estimated:
            kind = "state, estimated"
        numbers = (f"{column.min():.4g}", f"{column.max():.4g}")
        if name in data.hidden:
            kind = "state, hidden"
            numbers = ("", "") if np.isnan(column).any() else numbers
        rows.append((name, kind, data.units.get(name, ""), *numbers))
    n_hidden = len(data.variable_names) - _MAX_SHOWN
    notes = [f"and {n_hidden} more"] if n_hidden > 0 else []
    table = html_table(("variable", "kind", "unit", "from", "to"), rows, words=3)
    return html_sentences([size]) + table + html_sentences([*notes, *map(str, data.notes)])
