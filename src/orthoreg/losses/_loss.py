"""What a loss is: how runs become rows or segments, and how far a field is from each of them."""

import abc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from jaxtyping import Float, Int

from .._arrays import Arrays, pytree
from ..data import AnyRows, Dataset, Rows

Field = Callable[[Any], Any]
"""Variables (B x V) to derivatives (B x c)."""


@pytree()
@final
@dataclass(frozen=True, eq=False)
class Segments:
    """B pieces of runs to be fitted, each with P observed points of state space.

    `targets` belong to the points: derivatives, or for a prediction in time the states that
    follow. Then `steps` are the times until these, and `inputs_after` the inputs there.
    """

    points: Float[Arrays, "B P V"]
    targets: Float[Arrays, "B P _"]
    steps: Float[Arrays, "B _"]
    inputs_after: Float[Arrays, "B _ m"]

    def __len__(self) -> int:
        return len(self.points)


class AbstractLoss(abc.ABC):
    """A data-fit term: how runs become something to fit, and how far a field is from it."""

    @abc.abstractmethod
    def rule(self, data: Dataset) -> "AbstractLoss":
        """What is used for these data: the loss itself, unless it is one that chooses."""

    def settled(self, data: Dataset) -> "AbstractLoss":
        """The loss with all that it chooses by the data chosen on these runs, so that it can
        observe others chunk by chunk."""
        return self

    @abc.abstractmethod
    def observe(self, data: Dataset) -> Rows:
        """The rows of the runs, with a derivative at each."""

    @abc.abstractmethod
    def linear_rows(self, observed: AnyRows) -> AnyRows | None:
        """The rows of the linear least-squares problem that this loss is; None if it is none."""

    @abc.abstractmethod
    def segments(self, observed: Rows) -> Segments:
        """What a field is fitted to by gradients."""

    @abc.abstractmethod
    def segment_rows(self, observed: Rows) -> Int[np.ndarray, " M"]:
        """The rows that the points of the segments are, one after the other."""

    @abc.abstractmethod
    def errors(
        self,
        field: Field,
        values: Float[Arrays, "B P c"],
        segments: Segments,
        scale: Float[Arrays, " c"],
    ) -> Float[Arrays, " B"]:
        """The squared error of each segment. `values` are the field's at its points; the errors
        of each equation are divided by its `scale`."""

    @abc.abstractmethod
    def targets(self, observed: Rows, field: Field) -> Float[np.ndarray, "N c"]:
        """The derivative at each row that this fitted field is measured against."""

    @abc.abstractmethod
    def derivatives(self, data: Dataset, field: Field) -> Float[np.ndarray, "N c"]:
        """The derivative at each row of the data that this fitted field is measured against."""
