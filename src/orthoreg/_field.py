"""`HybridField`: f = f_phy + f_aug as one function, in NumPy for samples and JAX for solvers."""

from dataclasses import dataclass
from functools import partial
from typing import Any, final

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .augmentations import Basis
from .libraries import FeatureMap

Arrays = np.ndarray | jax.Array


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
        """f_phy at samples."""
        return self.features(variables) @ self.coefficients.T

    def neural(self, variables: Float[np.ndarray, "N V"]) -> Float[np.ndarray, "N c"]:
        """f_aug at samples."""
        return self.basis(variables) @ self.weights

    def values(self, variables: Float[np.ndarray, "N V"]) -> Float[np.ndarray, "N c"]:
        """f at samples."""
        return self.symbolic(variables) + self.neural(variables)

    def __call__(self, t: Any, x: Any, u: Any = None) -> Any:
        """f at one state and input, traced by JAX."""
        z = x if u is None else jnp.concatenate([x, u])
        columns = self.features.columns(z, jnp)
        theta = jnp.stack([jnp.asarray(column, z.dtype) for column in columns])
        result = self.coefficients @ theta
        if self.basis.size:
            result = result + self.basis(z[None], jnp)[0] @ self.weights
        return result

    def trimmed(self) -> "HybridField":
        """The same function without terms that no equation uses and without an idle basis."""
        used = np.flatnonzero(np.any(np.asarray(self.coefficients) != 0, axis=0))
        if not used.size:
            used = np.arange(1)
        idle = not np.any(np.asarray(self.weights))
        basis = Basis(self.basis.mean, self.basis.scale, (), ()) if idle else self.basis
        return HybridField(
            features=self.features.only([int(k) for k in used]),
            coefficients=self.coefficients[:, used],
            basis=basis,
            weights=self.weights[: basis.size],
        )

    def contributions(self, z: Float[np.ndarray, " V"]) -> list[tuple[str, int, float]]:
        """(term, equation, value) of every part of f at one point; the residual is 'residual'."""
        theta = self.features(z[None])[0]
        with np.errstate(all="ignore"):
            parts = [
                (name, equation, float(self.coefficients[equation, k] * theta[k]))
                for k, name in enumerate(self.features.names)
                for equation in range(len(self.coefficients))
                if self.coefficients[equation, k] != 0
            ]
        return parts + [
            ("residual", equation, float(value))
            for equation, value in enumerate(self.neural(z[None])[0])
            if value != 0
        ]
