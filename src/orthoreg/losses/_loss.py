"""Interfaces of losses: how runs become rows or segments, and the error of a field on these."""

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
"""Maps variables (B x V) to derivatives (B x c)."""


@pytree()
@final
@dataclass(frozen=True, eq=False)
class Segments:
    """B pieces of runs, each with P observed points of state space.

    `targets` belong to the points: derivatives, or the following states for a prediction in time.
    In the latter case `steps` are the times until then, and `inputs_after` the inputs there.
    """

    points: Float[Arrays, "B P V"]
    targets: Float[Arrays, "B P _"]
    steps: Float[Arrays, "B _"]
    inputs_after: Float[Arrays, "B _ m"]

    def __len__(self) -> int:
        return len(self.points)


class AbstractLoss(abc.ABC):
    """A data-fit term: what is observed of runs, and how far a field is from it."""

    is_linear: ClassVar[bool]
    """Whether it is a linear least-squares problem on its rows."""

    def rule(self, data: Dataset) -> "AbstractLoss":
        """Return the loss used for these data: the loss itself, unless it chooses another one."""
        return self

    def resolved(self, data: Dataset) -> Callable[[Dataset], Rows]:
        """Return `observe` with all choices made on these runs, for use on any chunk."""
        return self.observe

    @abc.abstractmethod
    def observe(self, data: Dataset) -> Rows:
        """Return the rows of the runs, with a derivative at each."""

    @abc.abstractmethod
    def segments(self, observed: Rows) -> Segments:
        """Return the segments to which a field is fitted by gradients."""

    @abc.abstractmethod
    def segment_rows(self, observed: Rows) -> Int[np.ndarray, " M"]:
        """Return the rows of the points of the segments, one after the other."""

    @abc.abstractmethod
    def errors(
        self,
        field: Field,
        values: Float[Arrays, "B P c"],
        segments: Segments,
        scale: Float[Arrays, " c"],
    ) -> Float[Arrays, " B"]:
        """Return the squared error of each segment.

        `values` are the field's at its points. Errors of each equation are divided by `scale`.
        """

    @abc.abstractmethod
    def targets(self, observed: Rows, field: Field) -> Float[np.ndarray, "N c"]:
        """Return the derivative at each row to which this fitted field is compared."""

    @abc.abstractmethod
    def derivatives(self, data: Dataset, field: Field) -> Float[np.ndarray, "N c"]:
        """Return the derivative at each row of the data to which this fitted field is compared."""


class AbstractRowLoss(AbstractLoss):
    """The mean of |y_i - f(x_i)|^2 over rows, which is linear in coefficients and output weights.

    Subclasses define the rows.
    """

    is_linear = True

    def segments(self, observed) -> Segments:
        """Return each row as a segment."""
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
    """A loss that compares a field with segments of runs, for gradient solvers."""

    is_linear = False

    def derivatives(self, data: Dataset, field) -> Float[np.ndarray, "N c"]:
        return self.targets(self.observe(data), field)
