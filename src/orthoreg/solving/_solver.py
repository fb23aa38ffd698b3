"""What a solver receives and returns."""

import abc
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import final

import numpy as np
from jaxtyping import Bool, Float, Int

from .._common.errors import InputError
from .._common.typing import Mask
from ..data import AnyRows
from ..field import AbstractBasis
from ..losses import AbstractLoss
from ..physics import Knowledge
from ..terms import FeatureMap
from ._moments import Moments
from ._problem import Dependence, independent_terms


@final
@dataclass(frozen=True)
class Regularization:
    """mu, lam and lam2 of the objective, by their public names."""

    sparsity: int | float | np.number
    orthogonality: int | float | np.number
    magnitude: int | float | np.number

    def __post_init__(self):
        for name, limit in (
            ("sparsity", "finite and at least 0"),
            ("orthogonality", "at least 0 (math.inf for the projection)"),
            ("magnitude", "finite and at least 0"),
        ):
            value = getattr(self, name)
            valid = isinstance(value, int | float | np.number) and not isinstance(value, bool)
            if not valid or not value >= 0 or (math.isinf(value) and name != "orthogonality"):
                raise InputError(f"{name} must be a number, {limit}; got {value!r}.")

    @property
    def projects(self) -> bool:
        """Whether the residual is to be exactly orthogonal."""
        return math.isinf(self.orthogonality)


@final
@dataclass(frozen=True)
class EquationFit:
    """One equation's solution in the solver's own units.

    f_phy = theta.w and f_aug = psi.v - theta.p: p is zero unless the network was projected.
    `terms` are the features that the orthogonality penalty counted, `sparsity` the mu it was
    solved with, `active` the terms whose coefficient is held by a bound.
    """

    terms: Int[np.ndarray, " k"]
    w: Float[np.ndarray, " K"]
    v: Float[np.ndarray, " H"]
    p: Float[np.ndarray, " K"]
    sparsity: float
    ridge: float
    duality_gap: float
    dependences: tuple[Dependence, ...]
    active: tuple[int, ...] = ()


@final
@dataclass(frozen=True)
class FitResult:
    """All equations. `moments` are those that were solved with: of features divided by
    `feature_scale` and targets divided by `target_scale`. `objectives` is J of each equation, None
    where J is no function of these moments, as for a loss on states."""

    moments: Moments
    mask: Mask
    regularization: Regularization
    feature_scale: Float[np.ndarray, " K"]
    target_scale: Float[np.ndarray, " c"]
    equations: tuple[EquationFit, ...]
    objectives: tuple[float, ...] | None

    def within(self, mask: Mask) -> "FitResult":
        """The same solution, seen as a choice among these terms."""
        equations = []
        known: dict[bytes, tuple[Dependence, ...]] = {}  # most equations may use the same terms
        for fit, allowed in zip(self.equations, mask, strict=True):
            key = allowed.tobytes()
            if key not in known:
                known[key] = dependences(self.moments, np.flatnonzero(allowed))
            equations.append(replace(fit, dependences=known[key]))
        return replace(self, mask=mask, equations=tuple(equations))

    @property
    def coefficients(self) -> Float[np.ndarray, "c K"]:
        """w in the units of the data."""
        return self._in_units(np.stack([equation.w for equation in self.equations]))

    @property
    def correction(self) -> Float[np.ndarray, "c K"]:
        """p in the units of the data."""
        return self._in_units(np.stack([equation.p for equation in self.equations]))

    def _in_units(self, values: Float[np.ndarray, "c K"]) -> Float[np.ndarray, "c K"]:
        return values * self.target_scale[:, None] / self.feature_scale

    @property
    def weights(self) -> Float[np.ndarray, "H c"]:
        """v in the units of the data."""
        return np.stack([equation.v for equation in self.equations], axis=1) * self.target_scale


def dependences(moments: Moments, terms: Int[np.ndarray, " k"]) -> tuple[Dependence, ...]:
    """Those of these terms that others among them span on the data."""
    _, found = independent_terms(moments.A[np.ix_(terms, terms)])
    return tuple(dependence.of_library(terms) for dependence in found)


def scales(
    moments: Moments, normalize: bool
) -> tuple[Float[np.ndarray, " K"], Float[np.ndarray, " c"]]:
    """The root mean squares of features and targets; ones, unless they are to be normalised."""
    if not normalize:
        return np.ones(moments.n_features), np.ones(moments.n_targets)
    return _nonzero(np.sqrt(np.diag(moments.A))), _nonzero(np.sqrt(moments.yy))


def _nonzero(scale: np.ndarray) -> np.ndarray:
    return np.where(scale > 0, scale, 1.0)


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
