"""Coefficients for another system of the same make, from one pass over its data."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from ._errors import InputError
from ._field import HybridField
from .data import Samples
from .moments import Moments, gather
from .solvers import EquationFit, FitResult, Strengths, independent_terms, scales

_STRETCHES = 5
_UNEXCITED = 1e-12  # of the largest eigenvalue: rounding
_SPREADS = np.append(0.0, np.logspace(-4, 0, 161))  # tau, relative to the largest change


def adapted(field: HybridField, samples: Samples) -> FitResult:
    """The field's terms refitted to these samples, its residual as it is.

    The result describes the new coefficients on the new data, with the residual's values there as
    the only basis functions; it is the minimum of no objective.
    """
    old = np.asarray(field.coefficients)
    if not old.any():
        raise InputError(
            "adapt() refits the coefficients of a model's terms; this model has no terms. Fit it "
            "to the new data instead."
        )
    folds = gather(field.features, field.neural, samples, folds=_STRETCHES)
    folds = [fold for fold in folds if fold.count]
    total = sum(folds[1:], start=folds[0])
    sizes = scales(total, True)
    equations = []
    for c, row in enumerate(old):
        used = np.flatnonzero(row)
        new = row.copy()
        new[used] *= 1 + _relative_changes(*_normal_equations(folds, row, used, c), total.count)
        _, found = independent_terms(total.A[np.ix_(used, used)])
        equations.append(
            EquationFit(
                terms=used,
                w=new * sizes[0] / sizes[1][c],
                v=np.eye(len(old))[c] / sizes[1][c],
                p=np.zeros(len(row)),
                sparsity=0.0,
                ridge=0.0,
                duality_gap=np.nan,
                dependences=tuple(dependence.of_library(used) for dependence in found),
            )
        )
    return FitResult(
        total.scaled(*sizes), field.features.mask, Strengths(0.0, 0.0, 0.0), *sizes,
        tuple(equations), literal=False,
    )  # fmt: skip


def _normal_equations(
    folds: Sequence[Moments], w: Float[np.ndarray, " K"], used: np.ndarray, c: int
) -> tuple[Float[np.ndarray, "S k k"], Float[np.ndarray, "S k"]]:
    """X'X and X'e of each stretch, with X the contributions w_k theta_k and e what f misses."""
    scale = w[used]
    grams = np.stack([m.count * m.A[np.ix_(used, used)] for m in folds]) * np.outer(scale, scale)
    cross = np.stack([m.count * (m.a[used, c] - m.B[used, c]) for m in folds]) * scale
    return grams, cross - grams.sum(axis=2)


def _relative_changes(
    grams: Float[np.ndarray, "S k k"], scores: Float[np.ndarray, "S k"], count: int
) -> Float[np.ndarray, " k"]:
    """b, by which each coefficient changes relative to its old value.

    b ~ N(0, tau^2) and e = X b + noise, so that b = (X'X + (s^2 / tau^2) I)^-1 X'e. The noise s^2
    per independent row comes from how X'(e - X b) varies over stretches: errors of neighbouring
    rows are not independent. tau makes the data most probable.
    """
    values, axes = np.linalg.eigh(grams.sum(axis=0))
    excited = values > _UNEXCITED * values.max(initial=0.0)
    d, axes = values[excited], axes[:, excited]
    z = axes.T @ scores.sum(axis=0)
    stretches, rank = len(scores), len(d)
    if stretches < 2 or count <= rank or not z.any():
        return np.zeros(grams.shape[1])
    leftover = (scores - np.einsum("skl,l->sk", grams, axes @ (z / d))) @ axes
    noise = (leftover**2 / d).sum() / rank * stretches / (stretches - 1) * count / (count - rank)
    noise = max(noise, np.finfo(float).eps ** 2 * values.sum())
    variances = (_SPREADS * np.abs(z / d).max()) ** 2
    spread = np.outer(variances, d) + noise
    surprise = (np.log(spread) + z**2 / (d * spread)).sum(axis=1)
    best = variances[int(surprise.argmin())]
    return axes @ (z * best / (d * best + noise))
