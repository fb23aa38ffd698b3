"""What a solver is given and what it gives back."""

import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import final

import numpy as np
from jaxtyping import Bool, Float

from .._common.arrays import Mask
from .._common.errors import InputError
from ..data import AnyRows
from ..field import AbstractBasis
from ..losses import AbstractLoss
from ..physics import Knowledge
from ..terms import FeatureMap
from ._moments import Moments
from ._result import FitResult, Regularization


@final
@dataclass(frozen=True, eq=False)
class Task:
    """A model to be fitted: its terms, its network as drawn, the objective and the data.

    `linear` are the rows of the linear problem that the loss is on the observed rows, or None.
    `support` are the terms that each equation has and that its residual is kept orthogonal to.
    `fixed` holds coefficients that are given and not to be learned. `library` are the moments of
    all terms on the linear rows, and `folds` those of terms and network by outward fold, where the
    choice of terms gathered them already. `knowledge` is what is known of the coefficients;
    `given` maps an equation to the term that it is exactly: `fixed` or not, its coefficient is one
    and it has no residual. `basis_of` says which functions each equation's residual is made of;
    all if None.
    """

    features: FeatureMap
    basis: AbstractBasis
    learns_hidden: bool
    ridge: float | None
    regularization: Regularization
    loss: AbstractLoss
    observed: AnyRows
    linear: AnyRows | None
    seed: int
    support: Mask
    fixed: Float[np.ndarray, "c K"] | None = None
    library: Moments | None = None
    folds: tuple[Moments, ...] | None = None
    given: Mapping[int, int] = field(default_factory=dict)
    knowledge: Knowledge | None = None
    basis_of: Bool[np.ndarray, "c H"] | None = None

    @property
    def known(self) -> Knowledge:
        """What is known of the coefficients, if only nothing."""
        shape = (len(self.features.allowed), len(self.features.terms))
        return self.knowledge or Knowledge.none(shape)

    def linear_rows(self, who: str) -> AnyRows:
        """The rows of the linear problem, which `who` cannot do without."""
        if self.linear is None:
            raise InputError(
                f"{who} needs a loss that is linear in what is learned, which loss={self.loss!r} "
                f"is not. Use loss=VectorField(), or solver=Adam() without a selection."
            )
        return self.linear


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
    """What was learned, in the units of the data, and what can be proved of it.

    f_phy = theta.w and f_aug = psi.v - theta.p; `basis` are the hidden layers as they were left.
    """

    coefficients: Float[np.ndarray, "c K"]
    correction: Float[np.ndarray, "c K"]
    weights: Float[np.ndarray, "H c"]
    basis: AbstractBasis
    result: FitResult
    training: Training | None = None

    @classmethod
    def of(
        cls, result: FitResult, basis: AbstractBasis, training: Training | None = None
    ) -> "Solution":
        """The solution whose network is the one of the result's moments."""
        return cls(result.coefficients, result.correction, result.weights, basis, result, training)


class AbstractSolver(abc.ABC):
    """`normalize` measures features and targets in units of their own root mean square."""

    normalize: bool

    @property
    def needs_rows(self) -> bool:
        """Whether it looks at rows one by one, and not only at sums over them."""
        return True

    @abc.abstractmethod
    def solve_all(self, tasks: Sequence[Task]) -> list[Solution]:
        """A solution for each task; tasks on the same rows may be solved together."""
