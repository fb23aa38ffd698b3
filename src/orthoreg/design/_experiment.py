"""`Experiment`: runs to record next, their expected value, and a table of their inputs."""

import csv
import io
import os
from collections.abc import Mapping
from dataclasses import dataclass
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
    the model has no inputs. `predicted` (R, T, n) are the states that the model expects. `outside`
    (R, T) marks the rows outside its training data, where these predictions are uncertain. For the
    goal "constants", `expected_shrinkage` contains the expected width of each interval after the
    runs, as a fraction of its present width. For the goal "rivals", `separation` is the expected
    difference between the models in standard deviations. For the goal "coverage", `coverage` is the
    mean distance of a row from the nearest known state or row of an earlier run. With a gate, the
    known states are the training data, and distances are those of the gate. Without a gate, the
    middle of the training data is the known state, and the unit is half the range of each state.
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

    @property
    def text(self) -> str:
        """A description of the experiment."""
        lines = []
        for r, start in enumerate(self.starts):
            states = ", ".join(
                f"{name} = {value:.3g}" for name, value in zip(self.state_names, start, strict=True)
            )
            inputs = f", with {', '.join(self.input_names)} as in the table" * bool(
                self.input_names
            )
            share = self.outside[r].mean()
            beyond = f"; {100 * share:.0f}% of it is outside the training data" * bool(share)
            lines.append(f"Run {r + 1}: start at {states}{inputs}{beyond}.")
        if self.expected_shrinkage:
            parts = [f"{name} {100 * v:.0f}%" for name, v in self.expected_shrinkage.items()]
            lines.append(f"Expected widths of intervals, relative to now: {', '.join(parts)}.")
        if self.separation is not None:
            lines.append(
                f"The models are expected to differ by {self.separation:.1f} standard deviations."
            )
        if self.coverage is not None:
            lines.append(f"The mean distance from what is known is {self.coverage:.2f}.")
        return "\n".join(lines)

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
            "outside": self.outside.mean(axis=1).tolist(),
            "expected_shrinkage": dict(self.expected_shrinkage),
            "separation": self.separation,
            "coverage": self.coverage,
        }

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write a table with one row per time of each run. It contains the inputs to apply and, in
        columns such as theta_expected, the states that the model expects. The first row of a run
        contains its initial state."""
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        expected = [f"{name}_expected" for name in self.state_names]
        writer.writerow(["run", self.time_name, *self.input_names, *expected])
        for r in range(len(self.starts)):
            for k, time in enumerate(self.times):
                inputs = [] if self.inputs is None else self.inputs[r, k].tolist()
                row = [time, *inputs, *self.predicted[r, k].tolist()]
                writer.writerow([r + 1, *(f"{value:.10g}" for value in row)])
        with atomic_write(Path(path)) as stream:
            stream.write(buffer.getvalue().encode())
