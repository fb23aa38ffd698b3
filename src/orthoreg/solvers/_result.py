"""What a solver is asked for and what it gives back."""

import math
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from jaxtyping import Float, Int

from .._errors import InputError
from .._typing import Mask
from ..moments import Moments
from ._rank import Dependence, independent_terms


@final
@dataclass(frozen=True)
class Strengths:
    """mu, lam and lam2 of the objective, by their public names."""

    sparsity: int | float | np.number
    orthogonality: int | float | np.number
    magnitude: int | float | np.number

    def __post_init__(self):
        for name, may_be_infinite in (
            ("sparsity", False), ("orthogonality", True), ("magnitude", False),
        ):  # fmt: skip
            value = getattr(self, name)
            valid = isinstance(value, int | float | np.number) and not isinstance(value, bool)
            if not valid or not value >= 0 or (math.isinf(value) and not may_be_infinite):
                limit = (
                    "at least 0 (math.inf for the projection)"
                    if may_be_infinite
                    else ("finite and at least 0")
                )
                raise InputError(f"{name} must be a number, {limit}; got {value!r}.")


@final
@dataclass(frozen=True)
class EquationFit:
    """One equation's solution in the solver's own units.

    f_phy = theta.w and f_aug = psi.v - theta.p: p is zero unless the network was projected.
    `terms` are the features that the orthogonality penalty counted. `sparsity` is the mu it was
    solved with: zero after a refit.
    """

    terms: Int[np.ndarray, " k"]
    w: Float[np.ndarray, " K"]
    v: Float[np.ndarray, " H"]
    p: Float[np.ndarray, " K"]
    sparsity: float
    ridge: float
    duality_gap: float
    dependences: tuple[Dependence, ...]


@final
@dataclass(frozen=True)
class FitResult:
    """All equations. `moments` are those that were solved with: of features divided by
    `feature_scale` and targets divided by `target_scale`. `literal` says that the objective which
    they give is the one that was minimised, as it is for a quadratic loss."""

    moments: Moments
    mask: Mask
    strengths: Strengths
    feature_scale: Float[np.ndarray, " K"]
    target_scale: Float[np.ndarray, " c"]
    equations: tuple[EquationFit, ...]
    literal: bool = True

    def within(self, mask: Mask) -> "FitResult":
        """The same solution, seen as a choice among these terms."""
        equations = []
        for fit, allowed in zip(self.equations, mask, strict=True):
            terms = np.flatnonzero(allowed)
            _, found = independent_terms(self.moments.A[np.ix_(terms, terms)])
            found = tuple(dependence.of_library(terms) for dependence in found)
            equations.append(replace(fit, dependences=found))
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
