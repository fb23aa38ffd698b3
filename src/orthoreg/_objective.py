"""The objective that a gradient solver minimises: loss and penalties as named parts.

J = L_fit + mu |w|_1 + lam sum_j <f_aug, phi_j>_D^2 + lam2 |f_aug|^2_D + rho |v|^2,
summed over equations. [eq:orthoreg_objective]
"""

from dataclasses import dataclass
from typing import Any, final

from jaxtyping import Bool, Float

from . import penalties
from ._arrays import Arrays, pytree
from .augmentations import AbstractBasis
from .libraries import FeatureMap
from .losses import AbstractLoss, Segments

PARTS = ("fit", "sparsity", "orthogonality", "magnitude", "ridge")


@pytree()
@final
@dataclass(frozen=True, eq=False)
class Parameters:
    """What is learned: w, the hidden layers and the output layer, in the solver's units."""

    coefficients: Float[Arrays, "K c"]
    basis: AbstractBasis
    weights: Float[Arrays, "H c"]


@pytree()
@final
@dataclass(frozen=True, eq=False)
class Weights:
    """The weights of the parts. An infinite lam counts nothing: the projection meets it."""

    mu: Any
    lam: Any
    lam2: Any
    rho: Any

    def of_parts(self) -> Any:
        import jax.numpy as jnp

        return jnp.stack([jnp.ones_like(self.mu), self.mu, self.lam, self.lam2, self.rho])


@pytree(meta=["features", "loss", "counted", "given"])
@final
@dataclass(frozen=True, eq=False)
class Objective:
    """All that the objective needs beside data and parameters.

    Features are divided by `feature_scale`, the field is `target_scale` times what the parameters
    say, and errors are divided by `error_scale`; all are one unless the problem is normalised.
    `whitening` is there for the exact projection: the network then loses what the library can
    represent before it is used. Parts that are not `counted` are not computed. `given` are pairs
    of an equation and the term that it is: it counts, and nothing of it is learned.
    """

    features: FeatureMap
    loss: AbstractLoss
    feature_scale: Float[Arrays, " K"]
    target_scale: Float[Arrays, " c"]
    error_scale: Float[Arrays, " c"]
    allowed: Bool[Arrays, "c K"]
    whitening: Float[Arrays, "c K K"] | None
    counted: tuple[bool, ...] = (True,) * len(PARTS)
    term_parameters: Float[Arrays, " q"] | None = None
    given: tuple[tuple[int, int], ...] = ()

    def library(self, variables: Float[Arrays, "N V"]) -> Float[Arrays, "N K"]:
        """The scaled features, traced by JAX."""
        import jax.numpy as jnp

        shape = variables.shape[:1]
        columns = [
            jnp.broadcast_to(jnp.asarray(column, variables.dtype), shape)
            for column in self.features.columns(variables.T, jnp, self.term_parameters)
        ]
        if not columns:
            return jnp.zeros((*shape, 0), variables.dtype)
        return jnp.stack(columns, axis=1) / self.feature_scale

    def correction(
        self,
        parameters: Parameters,
        segments: Segments,
        theta: Float[Arrays, "N K"],
        psi: Float[Arrays, "N H"] | None = None,
    ) -> Float[Arrays, "K c"] | None:
        """What the projection takes out of the network on these segments; None without one."""
        import jax.numpy as jnp

        if self.whitening is None:
            return None
        points = segments.points.reshape(theta.shape[0], -1)
        values: Any = parameters.basis(points, jnp) if psi is None else psi
        return self._projected(theta, values @ self._free(parameters.weights))[1]

    def _free(self, values: Any) -> Any:
        """The columns of equations, with zeros for those that are given."""
        for equation, _ in self.given:
            values = values.at[:, equation].set(0.0)
        return values

    def _projected(
        self, theta: Float[Arrays, "N K"], network: Float[Arrays, "N c"]
    ) -> tuple[Float[Arrays, "N c"], Float[Arrays, "K c"]]:
        """The network without its projection on the library, and that projection's weights."""
        import jax.numpy as jnp

        orthonormal = jnp.einsum("nk,ckl->cnl", theta, self.whitening)
        rest, weights = penalties.projected(orthonormal, network)
        return rest, jnp.einsum("ckl,cl->kc", self.whitening, weights)

    def parts(
        self,
        parameters: Parameters,
        segments: Segments,
        theta: Float[Arrays, "N K"],
        second: tuple[Float[Arrays, "M V"], Float[Arrays, "M K"]] | None = None,
        psi: Float[Arrays, "N H"] | None = None,
        correction: Float[Arrays, "K c"] | None = None,
    ) -> Float[Arrays, " 5"]:
        """The parts of J, each without its weight, in the order of `PARTS`.

        `theta` holds the scaled features at the points of the segments, and `psi` the network's
        basis functions where they do not change. `second` is an independent batch of points and
        features for the penalty without bias. `correction` is that of other segments, if the
        projection is not to be made on these.
        """
        import jax.numpy as jnp

        B, P, _ = segments.points.shape
        points = segments.points.reshape(B * P, -1)
        free = self._free(jnp.where(self.allowed.T, parameters.coefficients, 0.0))
        w = free
        for c, term in self.given:
            w = w.at[term, c].set(self.feature_scale[term] / self.target_scale[c])
        v, basis = self._free(parameters.weights), parameters.basis
        symbolic = theta @ w

        residual = (basis(points, jnp) if psi is None else psi) @ v
        if correction is not None:
            residual = residual - theta @ correction
        elif self.whitening is not None:
            residual, correction = self._projected(theta, residual)
        values = (symbolic + residual) * self.target_scale

        def field(z: Any) -> Any:
            kept = w if correction is None else w - correction
            return (self.library(z) @ kept + basis(z, jnp) @ v) * self.target_scale

        def overlap() -> Any:
            pair = None if second is None else (second[1], basis(second[0], jnp) @ v)
            return penalties.orthogonality(theta, residual, self.allowed, pair)

        errors = self.loss.errors(field, values.reshape(B, P, -1), segments, self.error_scale)
        compute = (
            lambda: jnp.mean(errors),
            lambda: penalties.sparsity(free),
            overlap,
            lambda: penalties.magnitude(residual),
            lambda: jnp.sum(v**2),
        )
        return jnp.stack(
            [
                part() if on else jnp.zeros(())
                for part, on in zip(compute, self.counted, strict=True)
            ]
        )
