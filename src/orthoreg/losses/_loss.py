"""What a loss is: how runs become examples, and how far a field is from each of them."""

import abc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from jaxtyping import Float, Int

from .._arrays import Arrays, pytree
from ..data import Dataset, Samples

Field = Callable[[Any], Any]
"""Variables (B x V) to derivatives (B x c)."""


@pytree()
@final
@dataclass(frozen=True, eq=False)
class Examples:
    """B things to be fitted, each with P observed points of state space.

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
    """A data-fit term. `is_quadratic` says that it is |y - f|^2 at samples, which `Exact` needs."""

    is_quadratic: bool

    @abc.abstractmethod
    def samples(self, data: Dataset) -> Samples:
        """The rows of the runs, with a derivative at each."""

    @abc.abstractmethod
    def examples(self, samples: Samples) -> Examples:
        """What a field is fitted to."""

    @abc.abstractmethod
    def rows(self, samples: Samples) -> Int[np.ndarray, " M"]:
        """The rows that the points of the examples are, one after the other."""

    @abc.abstractmethod
    def errors(
        self,
        field: Field,
        values: Float[Arrays, "B P c"],
        examples: Examples,
        scale: Float[Arrays, " c"],
    ) -> Float[Arrays, " B"]:
        """The squared error of each example. `values` are the field's at its points; the errors
        of each equation are divided by its `scale`."""

    @abc.abstractmethod
    def targets(self, samples: Samples, field: Field) -> Float[np.ndarray, "N c"]:
        """The derivative at each row that this fitted field is measured against."""
