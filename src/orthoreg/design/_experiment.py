"""`Experiment`: runs to record next, their expected value, and a table of their inputs."""

import csv
import io
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

import numpy as np
from jaxtyping import Bool, Float

from .._common.files import atomic_write


@final
@dataclass(frozen=True, eq=False)
class Experiment:
    """Runs to record next.

    `starts` (R, n) are initial states. `inputs` (R, T, m) are input signals at `times`, or None if
    the model has no inputs. `signals` are the kinds of these signals, such as "random steps".
    `predicted` (R, T, n) are the states that the model predicts. `outside` (R, T) marks rows
    outside the training data, where predictions are uncertain. For the goal "constants",
    `expected_shrinkage` contains the expected width of each interval after the runs, as a fraction
    of its present width. For the goal "rivals", `separation` is the expected difference between the
    models in standard deviations, and `rivals` describes those that the fit left open. For the goal
    "coverage", `coverage` is the mean distance of a row
    to the nearest known state or row of an earlier run. With a gate, the known states are the
    training data, and distances are those of the gate. Without a gate, the known state is the
    middle of the training data, and distances are in half ranges of each state.
    """

    goal: str
    times: Float[np.ndarray, " T"]
    starts: Float[np.ndarray, "R n"]
    inputs: Float[np.ndarray, "R T m"] | None
    predicted: Float[np.ndarray, "R T n"]
    outside: Bool[np.ndarray, "R T"]
    state_names: tuple[str, ...]
    input_names: tuple[str, ...]
    expected_shrinkage: Mapping[str, float]
    separation: float | None = None
    coverage: float | None = None
    time_name: str = "t"
    rivals: tuple[str, ...] = ()
    signals: tuple[str, ...] = ()
    units: Mapping[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """A description of the experiment."""
        lines = [f"Run {r + 1}: {self.run_text(r)}" for r in range(len(self.starts))]
        if self.expected_shrinkage:
            parts = [f"{name} {100 * v:.0f}%" for name, v in self.expected_shrinkage.items()]
            text = f"Expected widths of intervals, relative to now: {', '.join(parts)}"
            also = ", if the equations also hold outside the training data"
            lines.append(f"{text}{also * bool(self.outside.any())}.")
        if self.separation is not None:
            what = "the models"
            if self.rivals:
                what = f"the model and its nearest rival ({'; '.join(self.rivals)})"
            lines.append(
                f"Expected difference between {what}: {self.separation:.3g} standard deviations."
            )
        if self.coverage is not None:
            lines.append(f"The mean distance to known states is {self.coverage:.2f}.")
        return "\n".join(lines)

    def run_text(self, r: int) -> str:
        """Return a sentence on one run: start, input signals, and rows outside the training
        data."""
        states = ", ".join(
            f"{name} = {value:.3g}{self._unit(name)}"
            for name, value in zip(self.state_names, self.starts[r], strict=True)
        )
        parts = [f"start at {states}"]
        for j, name in enumerate(self.input_names):
            assert self.inputs is not None
            low, high = self.inputs[r, :, j].min(), self.inputs[r, :, j].max()
            unit = self._unit(name)
            if low == high:
                parts.append(f"hold {name} = {low:.3g}{unit}")
            else:
                parts.append(
                    f"apply {self.signals[r]} of {name} from {low:.3g} to {high:.3g}{unit}"
                )
        count, rows = int(self.outside[r].sum()), len(self.times)
        which = "All" if count == rows else f"{count} of its {rows}"
        beyond = f" {which} rows are outside the training data."
        return f"{' and '.join(parts)}.{beyond * bool(count)}"

    def _unit(self, name: str) -> str:
        return f" {self.units[name]}" if self.units.get(name) else ""

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """Return the experiment as plain data."""
        return {
            "goal": self.goal,
            "times": self.times.tolist(),
            "starts": [
                dict(zip(self.state_names, row.tolist(), strict=True)) for row in self.starts
            ],
            "inputs": None if self.inputs is None else self.inputs.tolist(),
            "input_names": list(self.input_names),
            "signals": list(self.signals),
            "outside": self.outside.mean(axis=1).tolist(),
            "expected_shrinkage": dict(self.expected_shrinkage),
            "separation": self.separation,
            "rivals": list(self.rivals),
            "coverage": self.coverage,
        }

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write a table with one row per time of each run.

        It contains the inputs to apply and, in columns such as theta_expected, the predicted
        states. The first row of a run contains its initial state. The column outside_data is 1
        where the predicted states are outside the training data, otherwise 0.
        """
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        names = [(name, name) for name in (self.time_name, *self.input_names)]
        names += [(f"{name}_expected", name) for name in self.state_names]
        columns = [
            f"{column} [{self.units[name]}]" if self.units.get(name) else column
            for column, name in names
        ]
        writer.writerow(["run", *columns, "outside_data"])
        for r in range(len(self.starts)):
            for k, time in enumerate(self.times):
                inputs = [] if self.inputs is None else self.inputs[r, k].tolist()
                row = [time, *inputs, *self.predicted[r, k].tolist()]
                numbers = [f"{value:.10g}" for value in row]
                writer.writerow([r + 1, *numbers, int(self.outside[r, k])])
        with atomic_write(Path(path)) as stream:
            stream.write(buffer.getvalue().encode())
