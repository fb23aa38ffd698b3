"""What a loss is: how runs become rows or segments, and how far a field is from each of them."""

import abc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from jaxtyping import Float, Int

from .._common.arrays import Arrays, pytree
from .._common.errors import InputError
from ..data import Dataset, Rows

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

    is_linear: ClassVar[bool]
    """Whether it is a linear least-squares problem on the rows that it observes."""

    def rule(self, data: Dataset) -> "AbstractLoss":
        """What is used for these data: the loss itself, unless it is one that chooses."""
        return self

    def resolved(self, data: Dataset) -> Callable[[Dataset], Rows]:
        """`observe` with all that it chooses by the data chosen on these runs, so that others can
        be observed chunk by chunk."""
        return self.observe

    @abc.abstractmethod
    def observe(self, data: Dataset) -> Rows:
        """The rows of the runs, with a derivative at each."""

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


class AbstractRowLoss(AbstractLoss):
    """The mean of |y_i - f(x_i)|^2 over rows, which is linear in coefficients and output weights:
    a loss of this kind says what the rows are."""

    is_linear = True

    def segments(self, observed) -> Segments:
        """Every row on its own."""
        if observed.windows is not None:
            raise InputError(
                "loss=Weak() is a linear problem without single points to train on; use "
                "solver=Exact(), or a gradient solver with loss=VectorField() or MultiStep(10)."
            )
        n, empty = len(observed.targets), np.zeros((len(observed.targets), 0))
        return Segments(
            observed.variables[:, None], observed.targets[:, None], empty, empty.reshape(n, 0, 0)
        )

    def segment_rows(self, observed) -> Int[np.ndarray, " M"]:
        return np.arange(len(observed.targets))

    def errors(self, field, values, segments, scale):
        return (((segments.targets - values) / scale) ** 2).sum((1, 2))

    def targets(self, observed, field) -> Float[np.ndarray, "N c"]:
        return observed.targets


class AbstractSegmentLoss(AbstractLoss):
    """A loss that compares a field with segments of runs by its own rule, for gradient solvers."""

    is_linear = False

    def derivatives(self, data: Dataset, field) -> Float[np.ndarray, "N c"]:
        return self.targets(self.observe(data), field)
