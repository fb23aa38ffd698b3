"""`Schema` and `Note`: what the columns of a table of runs are, and what was noted while it was
read.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
from jaxtyping import Bool


@final
@dataclass(frozen=True)
class Note:
    """One sentence about how a table was read. `code` names its kind; `count` is how many rows,
    cells or lines it is about (0 where that means nothing); `is_repair` says whether measurements
    were changed or left out, which happens only on request."""

    code: str
    text: str
    count: int = 0
    is_repair: bool = False

    def __str__(self) -> str:
        return self.text


@final
@dataclass(frozen=True, kw_only=True)
class Schema:
    """The columns of some runs, which the runs, their chunks, a model and its file share.

    Parameters
    ----------
    state_names, input_names
        of states and inputs.
    time_name, group_name
        of the columns with the times and with what tells runs apart.
    units
        by name.
    velocity_of
        for each position the state that is its derivative, exactly: {"x": "x_dot"}.
    estimated
        states that were not measured: velocities made from their positions.
    clock
        the last input, if that is the time itself, for equations that time enters.

    Examples
    --------
    >>> schema = Schema(state_names=("x", "x_dot"), input_names=("u",), velocity_of={"x": "x_dot"})
    >>> schema.variable_names, schema.given_rates
    (('x', 'x_dot', 'u'), {0: 1})
    """

    state_names: tuple[str, ...]
    input_names: tuple[str, ...] = ()
    time_name: str = "t"
    group_name: str | None = None
    units: Mapping[str, str] = field(default_factory=dict)
    velocity_of: Mapping[str, str] = field(default_factory=dict)
    estimated: tuple[str, ...] = ()
    time_input: str | None = None

    @property
    def variable_names(self) -> tuple[str, ...]:
        """States, then inputs: what a library's terms may use."""
        return self.state_names + self.input_names

    @property
    def measured_states(self) -> tuple[str, ...]:
        """The states that a table has columns for."""
        return tuple(name for name in self.state_names if name not in self.estimated)

    @property
    def is_measured(self) -> Bool[np.ndarray, " n"]:
        """Which states were measured; the others are velocities made from their positions."""
        return np.array([name not in self.estimated for name in self.state_names], dtype=bool)

    @property
    def positions(self) -> dict[str, str | None]:
        """The positions with their velocities, None for those that were not measured."""
        return {
            position: None if velocity in self.estimated else velocity
            for position, velocity in self.velocity_of.items()
        }

    @property
    def given_rates(self) -> dict[int, int]:
        """For the place of each position, the place of the state that is its derivative."""
        index = self.state_names.index
        return {index(position): index(rate) for position, rate in self.velocity_of.items()}

    @property
    def time_index(self) -> int | None:
        """The place among the variables of the one that is time, if one is."""
        return None if self.time_input is None else self.variable_names.index(self.time_input)

    def with_time_input(self) -> "Schema":
        """With time as the last input, under its own name."""
        return replace(
            self, input_names=(*self.input_names, self.time_name), time_input=self.time_name
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain data, under the keys of model files."""
        return {
            "states": list(self.state_names),
            "inputs": list(self.input_names),
            "units": dict(self.units),
            "columns": {"time": self.time_name, "group": self.group_name},
            "velocity_of": dict(self.velocity_of),
            "estimated": list(self.estimated),
            "clock": self.time_input or "",
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Schema":
        """The schema that `to_dict` described. Files from before time could be an input have no
        'clock'. Raises ValueError, TypeError or KeyError for anything else."""
        columns, time_input = values["columns"], values.get("clock") or None
        schema = cls(
            state_names=tuple(values["states"]),
            input_names=tuple(values["inputs"]),
            time_name=columns["time"],
            group_name=columns["group"],
            units=dict(values["units"]),
            velocity_of=dict(values["velocity_of"]),
            estimated=tuple(values["estimated"]),
            time_input=time_input,
        )
        pairs = (*schema.units.items(), *schema.velocity_of.items())
        names = (*schema.variable_names, *schema.estimated, schema.time_name, *sum(pairs, ()))
        names += tuple(name for name in (schema.group_name, time_input) if name is not None)
        if not all(isinstance(name, str) for name in names):
            raise ValueError("the names of columns must be text")
        if time_input is not None and schema.input_names[-1:] != (time_input,):
            raise ValueError("the time must be the last input")
        return schema
