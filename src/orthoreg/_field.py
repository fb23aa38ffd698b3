"""`HybridField`: f = f_phy + f_aug as one function, in NumPy for samples and JAX for solvers."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, final

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .augmentations import Basis
from .libraries import FeatureMap

Arrays = np.ndarray | jax.Array
_BLOCK = 4096


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["coefficients", "basis", "weights"],
    meta_fields=["features"],
)
@final
@dataclass(frozen=True, eq=False)
class HybridField:
    """f(z) = C theta(z) + V' psi(z) with z the states, then the inputs."""

    features: FeatureMap
    coefficients: Float[Arrays, "c K"]
    basis: Basis
    weights: Float[Arrays, "H c"]

    def symbolic(self, variables: Float[np.ndarray, "N V"]) -> Float[np.ndarray, "N c"]:
        """f_phy at samples. Terms that no equation uses are not evaluated."""
        features, coefficients = self._used
        return _in_blocks(lambda rows: features(rows) @ coefficients.T, variables)

    def neural(self, variables: Float[np.ndarray, "N V"]) -> Float[np.ndarray, "N c"]:
        """f_aug at samples."""
        return _in_blocks(lambda rows: self.basis(rows) @ self.weights, variables)

    def values(self, variables: Float[np.ndarray, "N V"]) -> Float[np.ndarray, "N c"]:
        """f at samples."""
        return self.symbolic(variables) + self.neural(variables)

    def __call__(self, t: Any, x: Any, u: Any = None) -> Any:
        """f at one state and input, traced by JAX."""
        z = x if u is None else jnp.concatenate([x, u])
        columns = self.features.columns(z, jnp)
        theta = jnp.stack([jnp.asarray(column, z.dtype) for column in columns])
        # a term that no equation uses may well be infinite here; which ones those are is not
        # known to the compiler, so that one compiled simulation serves every fit of a library
        used = jnp.any(self.coefficients != 0, axis=0)
        result = self.coefficients @ jnp.where(used, theta, 0.0)
        if self.basis.size:
            result = result + self.basis(z[None], jnp)[0] @ self.weights
        return result

    @cached_property
    def _used(self) -> tuple[FeatureMap, np.ndarray]:
        """The terms that some equation uses, and their coefficients."""
        coefficients = np.asarray(self.coefficients)
        used = np.flatnonzero(np.any(coefficients != 0, axis=0))
        return self.features.only([int(k) for k in used]), coefficients[:, used]

    def without_idle_terms(self) -> "HybridField":
        """The same function with only the terms that some equation uses."""
        features, coefficients = self._used
        return HybridField(features, coefficients, self.basis, self.weights)

    def without_idle_basis(self) -> "HybridField":
        """The same function; a basis whose weights are all zero is dropped."""
        if np.any(np.asarray(self.weights)):
            return self
        basis = Basis(self.basis.mean, self.basis.scale, (), ())
        return HybridField(self.features, self.coefficients, basis, self.weights[:0])

    def contributions(self, z: Float[np.ndarray, " V"]) -> list[tuple[str, int, float]]:
        """(term, equation, value) of every part of f at one point; the residual is 'residual'."""
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


def _in_blocks(function: Callable[[np.ndarray], np.ndarray], variables: np.ndarray) -> np.ndarray:
    """function(variables) with memory that does not grow with the number of basis functions."""
    if len(variables) <= _BLOCK:
        return function(variables)
    starts = range(0, len(variables), _BLOCK)
    return np.concatenate([function(variables[i : i + _BLOCK]) for i in starts])
