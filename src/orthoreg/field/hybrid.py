"""`HybridField`: f = f_phy + f_aug as one function, in NumPy for samples and in JAX for solvers.

For simulations, `SwitchedField` is the same function with the signs in its terms as variables.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np
from jaxtyping import Float

from .._common.arrays import Arrays, pytree
from ..simulation import AbstractSwitchedField
from ..terms import (
    FeatureMap,
    derivative,
    parameters_of,
    rounded,
    separate_signs,
    split_number,
)
from ._residual import AbstractBasis, TanhLayers
from .gate import Region

_BLOCK = 4096


@pytree(meta=["features"])
@final
@dataclass(frozen=True, eq=False)
class HybridField:
    """The function f(z) = C theta(z) + [V' psi(z) - P theta(z)], where z are the states, then the
    inputs.

    The part in brackets is the residual f_aug. The correction P is nonzero after an exact
    projection: it removes the part of the network that is not orthogonal to the library. The
    region, if any, determines the residual outside the training data. `parameters` are the values
    of the features' parameters. They are data, so that other values do not trigger another
    compilation.
    """

    features: FeatureMap
    coefficients: Float[Arrays, "c K"]
    basis: AbstractBasis
    weights: Float[Arrays, "H c"]
    correction: Float[Arrays, "c K"]
    region: Region | None = None
    parameters: Float[Arrays, " q"] | None = None

    def symbolic(self, variables: Float[np.ndarray, "N V"]) -> Float[np.ndarray, "N c"]:
        """Return f_phy at samples. Terms that no equation uses are not evaluated."""
        features, coefficients = self._used
        return _in_blocks(lambda rows: features(rows) @ coefficients.T, variables)

    def neural(self, variables: Float[np.ndarray, "N V"]) -> Float[np.ndarray, "N c"]:
        """Return f_aug at samples."""
        if not self.has_residual:
            return np.zeros((len(variables), len(self.coefficients)))
        residual = _in_blocks(lambda rows: self.basis(rows) @ self.weights, variables)
        if np.any(self.correction):
            features, correction = self._corrected
            residual = residual - _in_blocks(lambda rows: features(rows) @ correction.T, variables)
        if self.region is None:
            return residual
        starts = range(0, max(len(variables), 1), _BLOCK)
        rows = [slice(i, i + _BLOCK) for i in starts]
        return np.concatenate([self.region.gated(variables[r], residual[r]) for r in rows])

    def values(self, variables: Float[np.ndarray, "N V"]) -> Float[np.ndarray, "N c"]:
        """Return f at samples."""
        if not self.has_residual:
            return self.symbolic(variables)
        result = self.symbolic(variables)
        result += self.neural(variables)
        return result

    def __call__(self, t: Any, x: Any, u: Any = None) -> Any:
        """Return f at one state and input, as code that JAX can trace."""
        import jax.numpy as jnp

        z = x if u is None else jnp.concatenate([x, u])
        columns = self.features.columns(z, jnp, self.parameters)
        theta = jnp.stack([jnp.asarray(column, z.dtype) for column in columns] or [z[0]])
        theta = theta[: len(columns)]
        # terms that no equation uses may be infinite; they are masked, not removed, so that one
        # compiled simulation serves all fits with a library
        symbolic = self.coefficients @ _where_used(self.coefficients, theta)
        share = 1.0 if self.region is None else self.region.share(z, jnp)
        # avoids infinite values of the residual where its weight is zero
        inside = jnp.where(share > 0, _where_used(self.correction, theta), 0.0)
        residual = -self.correction @ inside
        if self.basis.size:
            residual = residual + self.basis(z[None], jnp)[0] @ self.weights
        return symbolic + (residual if self.region is None else self.region.gated(z, residual, jnp))

    @cached_property
    def has_residual(self) -> bool:
        """Whether f_aug can be nonzero."""
        held = None if self.region is None else self.region.held
        return any(
            np.any(np.asarray(part))
            for part in (self.weights, self.correction, held)
            if part is not None
        )

    @cached_property
    def _used(self) -> tuple[FeatureMap, np.ndarray]:
        """The terms in use by any equation, and their coefficients."""
        return _nonzero_terms(self.features, np.asarray(self.coefficients))

    @cached_property
    def _corrected(self) -> tuple[FeatureMap, np.ndarray]:
        """The terms that the correction uses, and their coefficients in it."""
        return _nonzero_terms(self.features, np.asarray(self.correction))

    def without_residual(self) -> "HybridField":
        """Return the field without its residual, inside and outside the training data."""
        region = self.region
        if region is not None and region.held is not None:
            region = replace(region, held=np.zeros_like(region.held))
        return replace(
            self,
            weights=np.zeros_like(self.weights),
            correction=np.zeros_like(self.correction),
            region=region,
        )

    def without_idle_terms(self) -> "HybridField":
        """Return the same function with only those terms that an equation uses."""
        used = np.any((self.coefficients != 0) | (self.correction != 0), axis=0)
        chosen = [int(k) for k in np.flatnonzero(used)]
        return replace(
            self,
            features=self.features.only(chosen),
            coefficients=self.coefficients[:, chosen],
            correction=self.correction[:, chosen],
        )

    def resolved(self, digits: int | None = None) -> "HybridField":
        """Return the same function with the values of parameters inserted into its terms.

        With `digits`, numbers in terms are rounded and factors are moved to the coefficients.
        """
        features = self.features.resolved(digits)
        if digits is None or not self.features.parameters:
            return replace(self, features=features, parameters=None)
        parts = [
            split_number(rounded(term, digits)) if parameters_of(original) else (1.0, term)
            for original, term in zip(self.features.terms, features.terms, strict=True)
        ]
        factors = np.array([number for number, _ in parts])
        return replace(
            self,
            features=replace(features, terms=tuple(term for _, term in parts)),
            coefficients=np.asarray(self.coefficients) * factors,
            correction=np.asarray(self.correction) * factors,
            parameters=None,
        )

    def without_idle_basis(self) -> "HybridField":
        """Return the same function without a basis whose weights are all zero.

        If the residual is zero, the region is removed too.
        """
        if np.any(np.asarray(self.weights)):
            return self
        zeros = np.zeros(len(self.features.variables))
        basis = TanhLayers(zeros, zeros + 1.0, (), ())
        region = self.region if np.any(np.asarray(self.correction)) else None
        return replace(self, basis=basis, weights=self.weights[:0], region=region)

    def contributions(self, z: Float[np.ndarray, " V"]) -> list[tuple[str, int, float]]:
        """Return (term, equation, value) of each part of f at a point, with 'residual' last."""
        features, coefficients = self._used
        theta = features(z[None])[0]
        with np.errstate(all="ignore"):
            parts = [
                (name, equation, float(row[k] * theta[k]))
                for k, name in enumerate(features.names)
                for equation, row in enumerate(coefficients)
                if row[k] != 0
            ]
        return parts + [
            ("residual", equation, float(value))
            for equation, value in enumerate(self.neural(z[None])[0])
            if value != 0
        ]


def _where_used(coefficients: Any, theta: Any) -> Any:
    """Return the values of terms that an equation uses, and zero for other terms, in JAX."""
    import jax.numpy as jnp

    return jnp.where(jnp.any(coefficients != 0, axis=0), theta, 0.0)


def _nonzero_terms(
    features: FeatureMap, coefficients: Float[np.ndarray, "c K"]
) -> tuple[FeatureMap, np.ndarray]:
    used = np.flatnonzero(np.any(coefficients != 0, axis=0))
    return features.only([int(k) for k in used]), coefficients[:, used]


def _in_blocks(function: Callable[[np.ndarray], np.ndarray], variables: np.ndarray) -> np.ndarray:
    """Return function(variables), computed in blocks to limit the memory for basis functions."""
    if len(variables) <= _BLOCK:
        return function(variables)
    first = function(variables[:_BLOCK])
    result = np.empty((len(variables), first.shape[1]), first.dtype)
    result[:_BLOCK] = first
    for i in range(_BLOCK, len(variables), _BLOCK):
        result[i : i + _BLOCK] = function(variables[i : i + _BLOCK])
    return result


@pytree(meta=["functions"])
@final
@dataclass(frozen=True, eq=False)
class SwitchedField(AbstractSwitchedField):
    """A field in which signs are replaced by additional variables, after states and inputs.

    `functions` are the arguments of the signs, each followed by its derivatives.
    """

    field: HybridField
    functions: FeatureMap

    def slope(self, t: Any, x: Any, u: Any, signs: Any, xp: Any) -> Any:
        field, z = self.field, x if u is None else xp.concatenate([x, u], axis=-1)
        rows = [part[..., i] for part in (z, signs) for i in range(part.shape[-1])]
        theta = _stacked(field.features.columns(rows, xp, field.parameters), rows[0], xp)
        symbolic = _weighted(theta, field.coefficients, xp)
        if xp is np and not (field.basis.size or np.any(field.correction)):
            return symbolic
        residual = -_weighted(theta, field.correction, xp)
        if field.basis.size:
            values = field.basis(xp.atleast_2d(z), xp) @ field.weights
            residual = residual + values.reshape(residual.shape)
        return symbolic + (
            residual if field.region is None else field.region.gated(z, residual, xp)
        )

    def surfaces(self, x: Any, u: Any, xp: Any) -> tuple[Any, Any]:
        z = x if u is None else xp.concatenate([x, u], axis=-1)
        rows = [z[..., i] for i in range(z.shape[-1])]
        columns = self.functions.columns(rows, xp, self.field.parameters)
        values = _stacked(columns, rows[0], xp).reshape(*z.shape[:-1], -1, 1 + len(rows))
        return values[..., 0], values[..., 1:]


def switched(field: HybridField) -> SwitchedField | None:
    """Return the field with its signs as variables, or None if it has no signs."""
    features = field.features
    width = len(features.variables)
    terms, surfaces = separate_signs(features.terms, width)
    if not surfaces:
        return None
    signs = tuple(f"sign {i + 1}" for i in range(len(surfaces)))
    functions = [
        formula
        for surface in surfaces
        for formula in (surface, *(derivative(surface, i) for i in range(width)))
    ]
    return SwitchedField(
        replace(
            field, features=replace(features, variables=features.variables + signs, terms=terms)
        ),
        replace(features, terms=tuple(functions), allowed=()),
    )


def jumping_terms(features: FeatureMap) -> tuple[str, ...]:
    """Return the names of the terms that contain a sign."""
    width = len(features.variables)
    pairs = zip(features.names, features.terms, strict=True)
    return tuple(name for name, term in pairs if separate_signs((term,), width)[1])


def switching_terms(field: HybridField) -> tuple[str, ...]:
    """Return the names of the terms that contain a sign and that an equation uses."""
    return jumping_terms(field.without_idle_terms().features)


def _stacked(columns: list[Any], like: Any, xp: Any) -> Any:
    """Return columns as one array. Some of them may be plain numbers."""
    if xp is np:
        result = np.empty((*like.shape, len(columns)))
        for i, column in enumerate(columns):
            result[..., i] = column
        return result
    return xp.stack([xp.broadcast_to(column, like.shape) for column in columns], axis=-1)


def _weighted(theta: Any, coefficients: Any, xp: Any) -> Any:
    """Return weighted sums of terms. Terms with zero weight may be infinite."""
    return xp.where(xp.any(coefficients != 0, axis=0), theta, 0.0) @ coefficients.T
