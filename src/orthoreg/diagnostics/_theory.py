"""The paper's statements as functions: closed forms of its toy problems, and its bounds.

The toy: phi_1, phi_2 orthonormal under <.,.>_D, f = phi_1 + phi_2, both coefficients alike.
"""

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float

from .._errors import InputError
from .._geometry import squared_norm


@final
@dataclass(frozen=True)
class ToySolution:
    """The common coefficient w of phi_1 and phi_2 and the residual's overlap <g, phi_j>_D."""

    w: float
    overlap: float


def l2_hybrid(mu: float, lam2: float) -> ToySolution:
    """Minimiser of |f - w.phi - g|^2 + lam2 |g|^2 + mu |w|_1. [ex:intro_sparsity_overlap]

    w = 1 - mu (1 + lam2) / (2 lam2) and g = mu / (2 lam2) (phi_1 + phi_2): the residual overlaps
    although the library contains f. Holds for 0 < mu < 2 lam2 / (1 + lam2). [thm:l2_failure]
    """
    limit = 2 * lam2 / (1 + lam2)
    if not 0 < mu < limit:
        raise InputError(f"mu must lie between 0 and 2 lam2 / (1 + lam2) = {limit:g}; got {mu:g}.")
    return ToySolution(1 - mu * (1 + lam2) / (2 * lam2), mu / (2 * lam2))


def two_stage(mu: float, lam: float = 0.0) -> ToySolution:
    """Lasso first, then a residual fitted to what it leaves.

    w = 1 - mu/2; the residual's overlap is mu/2 when it is fitted freely
    [prop:seq_two_stage_failure] and (mu/2) / (1 + lam) when its overlap is penalised with lam.
    """
    if not 0 < mu < 2:
        raise InputError(f"mu must lie between 0 and 2; got {mu:g}.")
    return ToySolution(1 - mu / 2, mu / 2 / (1 + lam))


def effective_threshold(mu: float, lam: float) -> float:
    """The size below which a unit-norm coefficient vanishes when the network can say everything.

    The reduced problem has Q = lam / (1 + lam), r = Q w_0, so that w = 0 if |w_0| is at most
    mu (1 + lam) / (2 lam): mu / (2 lam) for small lam, mu / 2 in the projection limit.
    """
    return mu / 2 if math.isinf(lam) else mu * (1 + lam) / (2 * lam)


def orthogonality_gap_bound(largest: float, samples: int, confidence: float) -> float:
    """R sqrt(2 log(2/delta) / N): how far an empirical inner product is from its expectation.

    For fixed functions with |f'g| <= R = `largest` and N independent samples, with probability
    at least `confidence` = 1 - delta. [thm:finite_sample] With B samples drawn with replacement
    it bounds the deviation of a minibatch from the whole. [lem:minibatch_deviation] It does not
    apply to a residual that was learned from the same samples.
    """
    if not (largest >= 0 and samples >= 1 and 0 < confidence < 1):
        raise InputError(
            f"largest >= 0, samples >= 1 and a confidence between 0 and 1 are needed; "
            f"got {largest!r}, {samples!r}, {confidence!r}."
        )
    return largest * math.sqrt(2 * math.log(2 / (1 - confidence)) / samples)


def minibatch_tail(largest: float, batch: int, deviation: float) -> float:
    """2 exp(-B eps^2 / (2 R^2)): the chance of a larger deviation. [lem:minibatch_deviation]"""
    return min(1.0, 2 * math.exp(-batch * deviation**2 / (2 * largest**2)))


def minibatch_bias(products: Float[np.ndarray, " N"], batch: int) -> float:
    """E[<f, phi>_B^2] - <f, phi>_D^2 for a batch drawn with replacement: Var / B.

    `products` are f(x_i)'phi(x_i). Multiplying two independent batches instead has no bias.
    """
    return float(np.var(products) / batch)


def residual_cosine(symbolic: Float[np.ndarray, "N c"], neural: Float[np.ndarray, "N c"]) -> float:
    """|<f_aug, f_phy>_D| / (|f_aug|_D |f_phy|_D), between 0 and 1; NaN when a part vanishes.

    A diagnostic within one method. It is not the penalty, and it is unstable when either part is
    small, so it does not rank methods.
    """
    size = math.sqrt(squared_norm(symbolic) * squared_norm(neural))
    if size == 0:
        return math.nan
    return abs(float(np.sum(symbolic * neural))) / len(symbolic) / size
