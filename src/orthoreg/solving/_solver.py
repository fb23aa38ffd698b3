"""Input and output of solvers."""

import abc
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import final

import numpy as np
from jaxtyping import Bool, Float, Int

from .._common.arrays import Mask
from .._common.errors import InputError
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
    """The weights mu, lam and lam2 of the objective."""

    sparsity: int | float | np.number
    orthogonality: int | float | np.number
    magnitude: int | float | np.number

    def __post_init__(self):
        for name, requirement in (
            ("sparsity", "finite and at least 0"),
            ("orthogonality", "at least 0 (math.inf for the projection)"),
            ("magnitude", "finite and at least 0"),
        ):
            value = getattr(self, name)
            is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
            if not is_number or not value >= 0 or (math.isinf(value) and name != "orthogonality"):
                raise InputError(f"{name} must be a number, {requirement}; got {value!r}.")

    @property
    def projects(self) -> bool:
        """Whether the residual is exactly orthogonal to the terms."""
        return math.isinf(self.orthogonality)


@final
@dataclass(frozen=True)
class EquationFit:
    """The solution of one equation, in the units of the solver.

    f_phy = theta.w and f_aug = psi.v - theta.p, where p is nonzero only if the network was
    projected. `terms` are the features in the orthogonality penalty, `sparsity` is mu, and `active`
    lists the terms whose coefficient is at a bound.
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
    """The solutions of all equations.

    `moments` are those used, for features divided by `feature_scale` and targets divided by
    `target_scale`. `objectives` contains J of each equation, or None if J is not a function of
    moments, as for a loss on states.
    """

    moments: Moments
    mask: Mask
    regularization: Regularization
    feature_scale: Float[np.ndarray, " K"]
    target_scale: Float[np.ndarray, " c"]
    equations: tuple[EquationFit, ...]
    objectives: tuple[float, ...] | None

    def within(self, mask: Mask) -> "FitResult":
        """Return the same solution with `mask` as the candidate terms."""
        equations = []
        known: dict[bytes, tuple[Dependence, ...]] = {}  # many equations may use the same terms
        for fit, allowed in zip(self.equations, mask, strict=True):
            key = allowed.tobytes()
            if key not in known:
                known[key] = dependences(self.moments, np.flatnonzero(allowed))
            equations.append(replace(fit, dependences=known[key]))
        return replace(self, mask=mask, equations=tuple(equations))

    @property
    def coefficients(self) -> Float[np.ndarray, "c K"]:
        """The coefficients w in the units of the data."""
        return self._in_units(np.stack([equation.w for equation in self.equations]))

    @property
    def correction(self) -> Float[np.ndarray, "c K"]:
        """The correction p in the units of the data."""
        return self._in_units(np.stack([equation.p for equation in self.equations]))

    def _in_units(self, values: Float[np.ndarray, "c K"]) -> Float[np.ndarray, "c K"]:
        return values * self.target_scale[:, None] / self.feature_scale

    @property
    def weights(self) -> Float[np.ndarray, "H c"]:
        """The output weights v in the units of the data."""
        return np.stack([equation.v for equation in self.equations], axis=1) * self.target_scale


def dependences(moments: Moments, terms: Int[np.ndarray, " k"]) -> tuple[Dependence, ...]:
    """Return the terms that are linear combinations of other terms on the data."""
    _, result = independent_terms(moments.A[np.ix_(terms, terms)])
    return tuple(dependence.of_library(terms) for dependence in result)


def scales(
    moments: Moments, normalize: bool
) -> tuple[Float[np.ndarray, " K"], Float[np.ndarray, " c"]]:
    """Return the root mean squares of features and targets, or ones without normalization."""
    if not normalize:
        return np.ones(moments.n_features), np.ones(moments.n_targets)
    return _nonzero(np.sqrt(np.diag(moments.A))), _nonzero(np.sqrt(moments.yy))


def _nonzero(scale: np.ndarray) -> np.ndarray:
    return np.where(scale > 0, scale, 1.0)


@final
@dataclass(frozen=True, eq=False)
class Task:
    """The input of a solver: terms, initial network, objective and data.

    If the loss is a linear problem, `linear` are its rows, otherwise None. `support` are the terms
    of each equation; its residual is orthogonal to them. `fixed` are given coefficients. `library`
    contains the moments of all terms on the linear rows, and `folds` the moments of terms and
    network by outward fold, if the selection of terms gathered them. `knowledge` constrains the
    coefficients. `given` maps an equation to the term that it equals, with coefficient one and
    without a residual. `basis_of` marks the basis functions that each residual may use; None means
    all.
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
        """The knowledge on coefficients, possibly empty."""
        shape = (len(self.features.allowed), len(self.features.terms))
        return self.knowledge or Knowledge.none(shape)

    def linear_rows(self, caller: str) -> AnyRows:
        """Return the rows of the linear problem. An error message names the `caller`."""
        if self.linear is None:
            raise InputError(
                f"{caller} needs a loss that is linear in the learned parameters, unlike "
                f"loss={self.loss!r}. Use loss=VectorField(), or solver=Adam() without a "
                f"selection."
            )
        return self.linear


@final
@dataclass(frozen=True, eq=False)
class Training:
    """The history of a gradient solver: the weighted parts of J in each epoch.

    `best_epoch` is the epoch whose state was returned. `message` states why training ended early.
    """

    parts: tuple[str, ...]
    history: Float[np.ndarray, "E parts"]
    validation: Float[np.ndarray, " E"] | None
    best_epoch: int
    message: str

    @property
    def epochs(self) -> int:
        """Number of trained epochs. The history also contains the initial state."""
        return len(self.history) - 1


@final
@dataclass(frozen=True, eq=False)
class Solution:
    """The output of a solver, f_phy = theta.w and f_aug = psi.v - theta.p in units of the data.

    `basis` contains the hidden layers after training.
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
        """Return the solution whose network is that of the moments of `result`."""
        return cls(result.coefficients, result.correction, result.weights, basis, result, training)


class AbstractSolver(abc.ABC):
    """Interface of solvers. `normalize` divides features and targets by their root mean squares."""

    normalize: bool

    @property
    def needs_rows(self) -> bool:
        """Whether the solver needs individual rows, not only sums over rows."""
        return True

    @abc.abstractmethod
    def solve_all(self, tasks: Sequence[Task]) -> list[Solution]:
        """Return a solution for each task. Tasks on the same rows may be solved together."""
