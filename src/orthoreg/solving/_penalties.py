"""Orthogonality, sparsity and magnitude, and the exact projection. NumPy or JAX arrays."""

import numpy as np
from jaxtyping import Bool, Float

from .._common.arrays import Arrays, namespace
from ._moments import overlaps

Scalar = Float[Arrays, ""] | float


def orthogonality(
    features: Float[Arrays, "N K"],
    residual: Float[Arrays, "N c"],
    allowed: Bool[Arrays, "c K"],
    second: tuple[Float[Arrays, "M K"], Float[Arrays, "M c"]] | None = None,
) -> Scalar:
    """sum_j <f_aug, phi_j>_D^2 over the terms that each equation may use. [eq:orthoreg_penalty]

    On a batch the square is biased by the variance of the batch mean. With the features and
    residual of a `second`, independent batch the two estimates are multiplied instead, which has
    no bias.
    """
    one = overlaps(features, residual)
    other = one if second is None else overlaps(*second)
    xp = namespace(one, other, allowed)
    return xp.sum(xp.where(allowed.T, one * other, 0.0))


def whitening(
    A: Float[np.ndarray, "K K"], allowed: Bool[np.ndarray, "c K"], *, least: float = 1e-12
) -> Float[np.ndarray, "c K K"]:
    """For each equation R with R'AR = I on the span of its terms: theta R are orthonormal.

    `A` is Phi'Phi / N. Directions in which the features hardly vary, by less than the share
    `least` of the largest variance, are left out.
    """
    result = np.zeros((len(allowed), *A.shape))
    for c, row in enumerate(allowed):
        terms = np.flatnonzero(row)
        size = np.sqrt(np.diag(A)[terms])
        size = np.where(size > 0, size, 1.0)
        values, vectors = np.linalg.eigh(A[np.ix_(terms, terms)] / np.outer(size, size))
        large = values > least * max(float(values.max(initial=0.0)), 1e-300)
        roots = np.where(large, 1 / np.sqrt(np.where(large, values, 1.0)), 0.0)
        result[c][np.ix_(terms, terms)] = vectors * roots / size[:, None]
    return result


def projected(
    orthonormal: Float[Arrays, "c N K"], network: Float[Arrays, "N c"]
) -> tuple[Float[Arrays, "N c"], Float[Arrays, "c K"]]:
    """The network's output minus its projection on the library, and that projection's weights.

    `orthonormal` holds theta R of `whitening` at the samples, for each equation.
    """
    xp = namespace(orthonormal, network)
    weights = xp.einsum("cnk,nc->ck", orthonormal, network) / network.shape[0]
    return network - xp.einsum("cnk,ck->nc", orthonormal, weights), weights


def sparsity(coefficients: Float[Arrays, "K c"]) -> Scalar:
    """|w|_1."""
    return abs(coefficients).sum()


def magnitude(residual: Float[Arrays, "N c"]) -> Scalar:
    """|f_aug|^2_D. [eq:l2_loss]"""
    return (residual**2).sum() / residual.shape[0]
