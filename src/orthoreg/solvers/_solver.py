"""What a solver is given and what it gives back."""

import abc
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float

from .._typing import Mask
from ..augmentations import Basis
from ..data import Samples
from ..libraries import FeatureMap
from ..losses import AbstractLoss
from ._result import FitResult, Strengths


@final
@dataclass(frozen=True, eq=False)
class Task:
    """A model to be fitted: its terms, its network as drawn, the objective and the samples.

    `allowed` are the terms that each equation may use and that its residual is kept orthogonal
    to. `is_chosen` says that these are the terms of the model, and none of them is to be left
    out. `fixed` holds coefficients that are given and not to be learned.
    """

    features: FeatureMap
    basis: Basis
    learns_hidden: bool
    ridge: float | None
    strengths: Strengths
    loss: AbstractLoss
    samples: Samples
    seed: int
    allowed: Mask
    fixed: Float[np.ndarray, "c K"] | None = None
    is_chosen: bool = False


@final
@dataclass(frozen=True, eq=False)
class Training:
    """How a gradient solver went: the parts of J in each epoch, with their weights.

    `best_epoch` is the one whose state was kept; `message` says why training ended early.
    """

    parts: tuple[str, ...]
    history: Float[np.ndarray, "E parts"]
    validation: Float[np.ndarray, " E"] | None
    best_epoch: int
    message: str

    @property
    def epochs(self) -> int:
        """Epochs that were trained; the history also has the state before the first."""
        return len(self.history) - 1


@final
@dataclass(frozen=True, eq=False)
class Solution:
    """The fit, and the network's hidden layers as they were left."""

    result: FitResult
    basis: Basis
    training: Training | None = None


class AbstractSolver(abc.ABC):
    """`normalize` measures features and targets in units of their own root mean square."""

    normalize: bool

    @abc.abstractmethod
    def fit_all(self, tasks: Sequence[Task]) -> list[Solution]:
        """A solution for each task; tasks on the same samples may be solved together."""
