"""The paper's statements as functions: closed forms of its toy problem, and its bounds.

In the toy problem, phi_1 and phi_2 are orthonormal under <.,.>_D, f = phi_1 + phi_2, and both
coefficients are equal.

Features are Phi (N x K) on samples and coefficients are c x K, so that f_phy = Phi w'. The
library's functions are phi_j(x) = theta_k(x) e_c for all pairs j = (k, c).
"""

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float

from .._common.errors import InputError
from ..solving import QuadraticProblem, independent_terms
from ..solving._moments import overlaps, squared_norm
from ._certificate import ErrorSplit, PenaltyBound


@final
@dataclass(frozen=True)
class ToySolution:
    """The common coefficient w of phi_1 and phi_2, and the residual's overlap <g, phi_j>_D."""

    w: float
    overlap: float


def l2_hybrid(mu: float, lam2: float) -> ToySolution:
    """Return the minimizer of |f - w.phi - g|^2 + lam2 |g|^2 + mu |w|_1.
    [ex:intro_sparsity_overlap]

    w = 1 - mu (1 + lam2) / (2 lam2) and g = mu / (2 lam2) (phi_1 + phi_2): the residual overlaps
    the library although the library contains f. This holds for 0 < mu < 2 lam2 / (1 + lam2).
    [thm:l2_failure] In this problem, a penalty lam2 sum_j <g, phi_j>^2 in place of lam2 |g|^2 has
    the same minimizer, because g is in the span.

    >>> l2_hybrid(mu=0.2, lam2=0.5)
    ToySolution(w=0.7, overlap=0.2)
    """
    limit = 2 * lam2 / (1 + lam2)
    if not 0 < mu < limit:
        raise InputError(f"mu must lie between 0 and 2 lam2 / (1 + lam2) = {limit:g}; got {mu:g}.")
    return ToySolution(1 - mu * (1 + lam2) / (2 * lam2), mu / (2 * lam2))


def two_stage(mu: float, lam: float = 0.0) -> ToySolution:
    """Return the result of a Lasso followed by a residual fitted to the remaining error.

    w = 1 - mu/2. The overlap of the residual is mu/2 without a penalty [prop:seq_two_stage_failure]
    and (mu/2) / (1 + lam) with weight lam on the overlap.
    """
    if not 0 < mu < 2:
        raise InputError(f"mu must lie between 0 and 2; got {mu:g}.")
    return ToySolution(1 - mu / 2, mu / 2 / (1 + lam))


def effective_threshold(mu: float, lam: float) -> float:
    """Return the size below which a unit-norm coefficient vanishes if the network can represent
    everything.

    The reduced problem has Q = lam / (1 + lam), r = Q w_0, so w = 0 if |w_0| is at most
    mu (1 + lam) / (2 lam), which is mu / (2 lam) for small lam and mu / 2 in the projection limit.
    """
    return mu / 2 if math.isinf(lam) else mu * (1 + lam) / (2 * lam)


def penalty_bound(
    features: Float[np.ndarray, "N K"],
    target: Float[np.ndarray, "N c"],
    coefficients: Float[np.ndarray, "c K"],
    neural: Float[np.ndarray, "N c"],
    *,
    mu: float,
    lam: float,
) -> PenaltyBound:
    """Return the bound sum_j <f_aug, phi_j>_D^2 <= (|y - Phi w_sym|^2_D + mu |w_sym|_1) / lam.

    w_sym is the best model without a residual. The bound holds for any model whose objective does
    not exceed the objective of w_sym; this assumption is evaluated, and no minimizer is needed.
    [thm:penalty_bound_main] An infinite lam contributes nothing to the objective, because its
    constraint is satisfied.
    """
    N = len(features)
    A, a = features.T @ features / N, features.T @ target / N
    independent, _ = independent_terms(A)
    alone = np.zeros_like(coefficients)
    for c in range(target.shape[1]):
        alone[c, independent] = QuadraticProblem(
            A[np.ix_(independent, independent)], a[independent, c], mu
        ).solve()
    observed = float(np.sum(overlaps(features, neural) ** 2))
    baseline = squared_norm(target - features @ alone.T) + mu * float(np.abs(alone).sum())
    reached = (
        squared_norm(target - features @ coefficients.T - neural)
        + mu * float(np.abs(coefficients).sum())
        + (0.0 if math.isinf(lam) else lam * observed)
    )
    return PenaltyBound(
        assumption_holds=bool(reached <= baseline + 1e-12 * squared_norm(target)),
        observed=observed,
        bound=float(baseline / lam) if lam > 0 else math.inf,
    )


def error_split(
    features: Float[np.ndarray, "N K"],
    target: Float[np.ndarray, "N c"],
    coefficients: Float[np.ndarray, "c K"],
    neural: Float[np.ndarray, "N c"],
) -> ErrorSplit:
    """Return the split |y - f|^2 = |P y - f_phy|^2 + |y - P y - f_aug|^2, in fractions of |y|^2.
    [thm:error_decomp]

    P projects on the span of `features`. If f_aug is not orthogonal to this span, the right-hand
    side lacks the term `cross` = -2 <P y - f_phy, f_aug>_D.
    """
    projection = features @ np.linalg.lstsq(features, target, rcond=1e-12)[0]
    symbolic = features @ coefficients.T
    size = max(squared_norm(target), 1e-300)
    total = squared_norm(target - symbolic - neural) / size
    inside = squared_norm(projection - symbolic) / size
    outside = squared_norm(target - projection - neural) / size
    return ErrorSplit(total, inside, outside, total - inside - outside)


def orthogonality_gap_bound(largest: float, samples: int, confidence: float) -> float:
    """Return R sqrt(2 log(2/delta) / N), a bound on the error of an empirical inner product.

    The bound holds with probability at least `confidence` = 1 - delta for fixed functions with
    |f'g| <= R = `largest` and N independent samples. [thm:finite_sample] With B samples drawn with
    replacement, it bounds the deviation of a minibatch from the full data.
    [lem:minibatch_deviation] It does not apply to a residual learned from the same samples.

    >>> round(orthogonality_gap_bound(largest=2.0, samples=1000, confidence=0.95), 4)
    0.1718
    """
    if not (largest >= 0 and samples >= 1 and 0 < confidence < 1):
        raise InputError(
            f"largest >= 0, samples >= 1 and a confidence between 0 and 1 are needed; "
            f"got {largest!r}, {samples!r}, {confidence!r}."
        )
    return largest * math.sqrt(2 * math.log(2 / (1 - confidence)) / samples)


@final
@dataclass(frozen=True)
class OverlapInterval:
    """The inner product <f, g>_D, and the ends of an interval for <f, g>_nu."""

    empirical: float
    lower: float
    upper: float


def overlap_interval(
    products: Float[np.ndarray, " N"], *, largest: float, confidence: float
) -> OverlapInterval:
    """Return <f, g>_D of f(x_i)'g(x_i) = `products`, and Hoeffding's interval for <f, g>_nu.

    f and g are fixed functions and the samples are independent. `largest` is a bound on |f'g| for
    every x, not the largest observed product. [thm:finite_sample] An interval around zero is the
    corollary on population orthogonality. The interval is not valid for a residual learned from
    these samples; use new samples.

    >>> found = overlap_interval(np.full(400, 0.2), largest=1.0, confidence=0.95)
    >>> round(found.empirical, 2), round(found.lower, 3), round(found.upper, 3)
    (0.2, 0.064, 0.336)
    """
    seen = float(np.abs(products).max(initial=0.0))
    if seen > largest:
        raise InputError(
            f"largest must bound every product f(x)'g(x); got {largest:g}, but one sample has "
            f"{seen:g}."
        )
    gap = orthogonality_gap_bound(largest, len(products), confidence)
    empirical = float(np.mean(products))
    return OverlapInterval(empirical, empirical - gap, empirical + gap)


def minibatch_tail(largest: float, batch: int, deviation: float) -> float:
    """Return 2 exp(-B eps^2 / (2 R^2)), the probability of a larger deviation of a minibatch.
    [lem:minibatch_deviation]"""
    if not (largest > 0 and batch >= 1 and deviation >= 0):
        raise InputError(
            f"largest > 0, batch >= 1 and deviation >= 0 are needed; "
            f"got {largest!r}, {batch!r}, {deviation!r}."
        )
    return min(1.0, 2 * math.exp(-batch * deviation**2 / (2 * largest**2)))


def minibatch_bias(
    products: Float[np.ndarray, " N"], batch: int, *, replacement: bool = True
) -> float:
    """Return E[<f, phi>_B^2] - <f, phi>_D^2, the variance of the batch mean: Var / B.

    `products` are f(x_i)'phi(x_i). Without replacement, the bias is smaller by the factor
    (N - B) / (N - 1), and zero for B = N. The product of two independent batches has no bias.
    """
    N = len(products)
    if not 1 <= batch <= (math.inf if replacement else N):
        raise InputError(f"batch must lie between 1 and the {N} samples; got {batch!r}.")
    factor = 1.0 if replacement or N == 1 else (N - batch) / (N - 1)
    return float(np.var(products) / batch * factor)


def residual_cosine(symbolic: Float[np.ndarray, "N c"], neural: Float[np.ndarray, "N c"]) -> float:
    """Return |<f_aug, f_phy>_D| / (|f_aug|_D |f_phy|_D), between 0 and 1; NaN if a part is zero.

    This is a diagnostic within one method. It is not the penalty, and it is unstable if either part
    is small, so it does not rank methods. `residual_cosine_range` quantifies the instability.
    """
    size = math.sqrt(squared_norm(symbolic) * squared_norm(neural))
    if size == 0:
        return math.nan
    return abs(float(np.sum(symbolic * neural))) / len(symbolic) / size


def residual_cosine_range(
    symbolic: Float[np.ndarray, "N c"], neural: Float[np.ndarray, "N c"], change: float
) -> tuple[float, float]:
    """Return the smallest and largest possible cosine if each part changes by |.|_D <= `change`.

    A part of size s rotates by at most arcsin(change / s), and by any angle if `change` is at least
    s. The cosine of a residual that is as small as its own error therefore contains no information.

    >>> x = np.array([[1.0], [1.0]])
    >>> y = np.array([[0.01], [-0.01]])
    >>> residual_cosine(x, y), residual_cosine_range(x, y, change=0.01)
    (0.0, (0.0, 1.0))
    """
    sizes = [math.sqrt(squared_norm(part)) for part in (symbolic, neural)]
    if min(sizes) <= change:
        return 0.0, 1.0
    angle = math.acos(min(1.0, residual_cosine(symbolic, neural)))
    turn = sum(math.asin(change / size) for size in sizes)
    lowest, highest = min(angle + turn, math.pi / 2), max(angle - turn, 0.0)
    return max(0.0, math.cos(lowest)), math.cos(highest)
