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
    `status`, `stopped_at` (a time, None when completed), `stopped_state` and `message` are
    single values, or lists for a batch.
    """

    times: np.ndarray
    x: np.ndarray
    status: Any
    stopped_at: Any
    stopped_state: Any
    message: Any

    def runs(self) -> list["Rollout"]:
        """The rollouts of a batch, one by one."""
        times = np.broadcast_to(self.times, self.x.shape[:2])
        parts = (times, self.x, self.status, self.stopped_at, self.stopped_state, self.message)
        return [Rollout(*part) for part in zip(*parts, strict=True)]

    @property
    def completed(self) -> Any:
        """Whether each rollout reached its last time."""
        if isinstance(self.status, list):
            return np.array([status is Status.completed for status in self.status])
        return self.status is Status.completed

    def raise_unless_completed(self) -> None:
        """Raises the first failure as a `SimulationError`."""
        messages = self.message if isinstance(self.message, list) else [self.message]
        for message in messages:
            if message:
                raise SimulationError(message)
