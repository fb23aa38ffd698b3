"""What a simulation gives back."""

import enum
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from .._errors import SimulationError


@final
class Status(enum.StrEnum):
    """How a rollout ended."""

    completed = "completed"
    diverged = "diverged"
    stalled = "stalled"


@final
@dataclass(frozen=True, eq=False)
class Rollout:
    """A simulated trajectory, or a batch of them.

    `x` is (T, n), or (B, T, n) for a batch; rows after the end of a failed rollout are NaN.
    `status`, `stopped_at` (a time, None when completed), `stopped_state`, `message` and `left_at`
    are single values, or lists for a batch. `left_at` is the first of the times at which the
    state is outside the training data of a model with a gate; None if it never is. `message`
    then begins with it.
    """

    times: np.ndarray
    x: np.ndarray
    status: Any
    stopped_at: Any
    stopped_state: Any
    message: Any
    left_at: Any = None

    def runs(self) -> list["Rollout"]:
        """The rollouts of a batch, one by one."""
        times = np.broadcast_to(self.times, self.x.shape[:2])
        left_at = [None] * len(self.x) if self.left_at is None else self.left_at
        parts = (
            times, self.x, self.status, self.stopped_at, self.stopped_state, self.message, left_at,
        )  # fmt: skip
        return [Rollout(*part) for part in zip(*parts, strict=True)]

    @property
    def completed(self) -> Any:
        """Whether each rollout reached its last time."""
        if isinstance(self.status, list):
            return np.array([status is Status.completed for status in self.status])
        return self.status is Status.completed

    def raise_unless_completed(self) -> None:
        """Raises the first failure as a `SimulationError`."""
        for run in self.runs() if isinstance(self.status, list) else [self]:
            if run.status is not Status.completed:
                raise SimulationError(run.message)
