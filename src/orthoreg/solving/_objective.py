"""The objective of a gradient solver, and its penalties as functions of NumPy or JAX arrays.

The objective is J = L_fit + mu |w|_1 + lam sum_j <f_aug, phi_j>_D^2 + lam2 |f_aug|^2_D + rho |v|^2,
summed over equations. [eq:orthoreg_objective]
"""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from jaxtyping import Bool, Float

from .._common.arrays import Arrays, namespace, pytree
from ..field import AbstractBasis
from ..losses import AbstractLoss, Segments
from ..terms import FeatureMap
from . import _limits as limits
from ._moments import overlaps

Scalar = Float[Arrays, ""] | float


def orthogonality(
    features: Float[Arrays, "N K"],
    residual: Float[Arrays, "N c"],
    allowed: Bool[Arrays, "c K"],
    second: tuple[Float[Arrays, "M K"], Float[Arrays, "M c"]] | None = None,
) -> Scalar:
    """Return sum_j <f_aug, phi_j>_D^2 over the allowed terms of each equation.
    [eq:orthoreg_penalty]

    On a batch, the square is biased by the variance of the batch mean. The product of the estimates
    from two independent batches is unbiased; `second` is the other batch.
    """
    overlap = overlaps(features, residual)
    second_overlap = overlap if second is None else overlaps(*second)
    xp = namespace(overlap, second_overlap, allowed)
    return xp.sum(xp.where(allowed.T, overlap * second_overlap, 0.0))


def whitening(
    A: Float[np.ndarray, "K K"],
    allowed: Bool[np.ndarray, "c K"],
    *,
    min_share: float = limits.MIN_EIGENVALUE,
) -> Float[np.ndarray, "c K K"]:
    """Return R with R'AR = I on the terms of each equation, so that theta R is orthonormal.

    `A` is Phi'Phi / N. Directions with less than the fraction `min_share` of the largest variance
    are omitted.
    """
    result = np.zeros((len(allowed), *A.shape))
    for c, row in enumerate(allowed):
        terms = np.flatnonzero(row)
        size = np.sqrt(np.diag(A)[terms])
        size = np.where(size > 0, size, 1.0)
        values, vectors = np.linalg.eigh(A[np.ix_(terms, terms)] / np.outer(size, size))
        large = values > min_share * max(float(values.max(initial=0.0)), 1e-300)
        roots = np.where(large, 1 / np.sqrt(np.where(large, values, 1.0)), 0.0)
        result[c][np.ix_(terms, terms)] = vectors * roots / size[:, None]
    return result


def projected(
    orthonormal: Float[Arrays, "c N K"], network: Float[Arrays, "N c"]
) -> tuple[Float[Arrays, "N c"], Float[Arrays, "c K"]]:
    """Return the network's output without its projection on the library, and the weights of this
    projection.

    `orthonormal` is theta R of `whitening` at the samples, for each equation.
    """
    xp = namespace(orthonormal, network)
    weights = xp.einsum("cnk,nc->ck", orthonormal, network) / network.shape[0]
    return network - xp.einsum("cnk,ck->nc", orthonormal, weights), weights


def sparsity(coefficients: Float[Arrays, "K c"]) -> Scalar:
    """Return |w|_1."""
    return abs(coefficients).sum()


def magnitude(residual: Float[Arrays, "N c"]) -> Scalar:
    """Return |f_aug|^2_D. [eq:l2_loss]"""
    return (residual**2).sum() / residual.shape[0]


PARTS = ("fit", "sparsity", "orthogonality", "magnitude", "ridge")


@pytree()
@final
@dataclass(frozen=True, eq=False)
class Parameters:
    """The learned parameters, in units of the solver: w, hidden layers and output layer."""

    coefficients: Float[Arrays, "K c"]
    basis: AbstractBasis
    weights: Float[Arrays, "H c"]


@pytree()
@final
@dataclass(frozen=True, eq=False)
class Weights:
    """The weights of the parts of J. lam is zero for the exact projection."""

    mu: Any
    lam: Any
    lam2: Any
    rho: Any

    def of_parts(self) -> Any:
        import jax.numpy as jnp

        return jnp.stack([jnp.ones_like(self.mu), self.mu, self.lam, self.lam2, self.rho])


@pytree()
@final
@dataclass(frozen=True, eq=False)
class Held:
    """Constraints on the parameters.

    `given` coefficients have the values in `values`. Other coefficients lie between `low` and
    `high` and satisfy `matrix` vec(w) = `right`, from which given coefficients were eliminated;
    `pinv` is the pseudo-inverse of the matrix. `mixing` maps output layers to those that satisfy
    the conservation laws and have no residual in complete equations. `functions` marks the basis
    functions that each residual may use.
    """

    given: Bool[Arrays, "K c"]
    values: Float[Arrays, "K c"]
    low: Float[Arrays, "K c"]
    high: Float[Arrays, "K c"]
    matrix: Float[Arrays, "q Kc"]
    right: Float[Arrays, " q"]
    pinv: Float[Arrays, "Kc q"]
    mixing: Float[Arrays, "c c"]
    functions: Bool[Arrays, "H c"]

    def coefficients(self, w: Float[Arrays, "K c"], xp: Any) -> Float[Arrays, "K c"]:
        """Return coefficients that satisfy the equalities.

        The objective is a function of these coefficients. Adam scales each coordinate of the
        gradient differently, so a gradient outside the subspace of the equalities would lead past
        the constrained minimum.
        """
        if self.matrix.shape[0]:
            change = self.pinv @ (self.matrix @ w.reshape(-1) - self.right)
            w = w - change.reshape(w.shape)
        return xp.where(self.given, self.values, w)

    def weights(self, v: Float[Arrays, "H c"], xp: Any) -> Float[Arrays, "H c"]:
        return xp.where(self.functions, v, 0.0) @ self.mixing.T

    def nearest(self, w: Float[Arrays, "K c"], xp: Any) -> Float[Arrays, "K c"]:
        """Return coefficients within the bounds that nearly satisfy the equalities.

        They are projected on the equalities and on the bounds in turn.
        """
        for _ in range(3 if self.matrix.shape[0] else 0):
            w = xp.clip(self.coefficients(w, xp), self.low, self.high)
        return xp.clip(w, self.low, self.high)


@pytree(meta=["features", "loss", "counted"])
@final
@dataclass(frozen=True, eq=False)
class Objective:
    """The objective as a function of data and parameters.

    Features are divided by `feature_scale`, errors by `error_scale`, and the field is multiplied by
    `target_scale`; all scales are one unless the problem is normalized. With `whitening`, the
    projection of the network on the library is subtracted. Parts that are not `counted` are not
    computed. `held` coefficients are not learned.
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
    held: Held | None = None

    def library(self, variables: Float[Arrays, "N V"]) -> Float[Arrays, "N K"]:
        """Return the scaled features, as code that JAX can trace."""
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
        """Return the weights of the projection on these segments, or None if there is no
        projection.
        """
        import jax.numpy as jnp

        if self.whitening is None:
            return None
        points = segments.points.reshape(theta.shape[0], -1)
        values: Any = parameters.basis(points, jnp) if psi is None else psi
        return self._projected(theta, values @ self._weights(parameters.weights))[1]

    def _weights(self, v: Any) -> Any:
        import jax.numpy as jnp

        return v if self.held is None else self.held.weights(v, jnp)

    def _projected(
        self, theta: Float[Arrays, "N K"], network: Float[Arrays, "N c"]
    ) -> tuple[Float[Arrays, "N c"], Float[Arrays, "K c"]]:
        """Return the network without its projection, and the weights of the projection."""
        import jax.numpy as jnp

        orthonormal = jnp.einsum("nk,ckl->cnl", theta, self.whitening)
        residual, weights = projected(orthonormal, network)
        return residual, jnp.einsum("ckl,cl->kc", self.whitening, weights)

    def parts(
        self,
        parameters: Parameters,
        segments: Segments,
        theta: Float[Arrays, "N K"],
        second: tuple[Float[Arrays, "M V"], Float[Arrays, "M K"]] | None = None,
        psi: Float[Arrays, "N H"] | None = None,
        correction: Float[Arrays, "K c"] | None = None,
    ) -> Float[Arrays, " 5"]:
        """Return the parts of J without their weights, in the order of `PARTS`.

        `theta` are the scaled features at the points of the segments. `psi` are the basis functions
        at these points, if they do not change. `second` is an independent batch of points and
        features for the unbiased penalty. `correction` is the projection of other segments, which
        then replaces the projection on these segments.
        """
        import jax.numpy as jnp

        B, P, _ = segments.points.shape
        points = segments.points.reshape(B * P, -1)
        w = free = jnp.where(self.allowed.T, parameters.coefficients, 0.0)
        if self.held is not None:
            w, free = self.held.coefficients(free, jnp), jnp.where(self.held.given, 0.0, free)
        v, basis = self._weights(parameters.weights), parameters.basis
        symbolic = theta @ w

        residual = (basis(points, jnp) if psi is None else psi) @ v
        if correction is not None:
            residual = residual - theta @ correction
        elif self.whitening is not None:
            residual, correction = self._projected(theta, residual)
        values = (symbolic + residual) * self.target_scale

        def field(z: Any) -> Any:
            corrected = w if correction is None else w - correction
            return (self.library(z) @ corrected + basis(z, jnp) @ v) * self.target_scale

        def overlap() -> Any:
            pair = None if second is None else (second[1], basis(second[0], jnp) @ v)
            return orthogonality(theta, residual, self.allowed, pair)

        errors = self.loss.errors(field, values.reshape(B, P, -1), segments, self.error_scale)
        compute = (
            lambda: jnp.mean(errors),
            lambda: sparsity(free),
            overlap,
            lambda: magnitude(residual),
            lambda: jnp.sum(v**2),
        )
        return jnp.stack(
            [
                part() if on else jnp.zeros(())
                for part, on in zip(compute, self.counted, strict=True)
            ]
        )
