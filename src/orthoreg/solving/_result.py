"""What a solver is asked for and what it gives back."""

import math
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from jaxtyping import Float, Int

from .._common.arrays import Mask
from .._common.errors import InputError
from ._linear import Dependence, independent_terms
from ._moments import Moments


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
