"""Coefficients for another system of the same make, from one pass over its data."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from .._errors import InputError
from .._field import HybridField
from ..data import Rows, folds
from ..moments import Moments, gather
from ..solvers import EquationFit, FitResult, Regularization, dependences, scales

_STRETCHES = 5
_UNEXCITED = 1e-12  # of the largest eigenvalue: rounding
_SPREADS = np.append(0.0, np.logspace(-4, 0, 161))  # tau, relative to the largest change


def adapt(field: HybridField, rows: Rows) -> FitResult:
    """The field's terms refitted to these rows, its residual as it is.

    The result describes the new coefficients on the new data, with the residual's values there as
    the only basis functions; it is the minimum of no objective.
    """
    old = np.asarray(field.coefficients)
    if not old.any():
        raise InputError(
            "adapt() refits the coefficients of a model's terms; this model has no terms. Fit it "
            "to the new data instead."
        )
    parts = _moments(field, rows)
    total = sum(parts[1:], start=parts[0])
    new = old.copy()
    for c, row in enumerate(old):
        used = np.flatnonzero(row)
        new[c, used] *= 1 + _relative_changes(*_normal_equations(parts, row, used, c), total.count)
    return _described(field, new, total)


def describe(field: HybridField, rows: Rows) -> FitResult:
    """The field as it is on these rows, with its residual's values there as the only basis
    functions; it is the minimum of no objective."""
    parts = _moments(field, rows)
    return _described(field, np.asarray(field.coefficients), sum(parts[1:], start=parts[0]))


def _moments(field: HybridField, rows: Rows) -> list[Moments]:
    count = min(_STRETCHES, len(rows))
    gathered = gather(
        field.features, field.neural, rows, folds=count, fold_of_row=folds(rows, count)
    )
    return [part for part in gathered if part.count]


def _described(
    field: HybridField, coefficients: Float[np.ndarray, "c K"], total: Moments
) -> FitResult:
    sizes = scales(total, True)
    equations = []
    for c, row in enumerate(coefficients):
        used = np.flatnonzero(row)
        equations.append(
            EquationFit(
                terms=used,
                w=row * sizes[0] / sizes[1][c],
                v=np.eye(len(coefficients))[c] / sizes[1][c],
                p=np.zeros(len(row)),
                sparsity=0.0,
                ridge=0.0,
                duality_gap=np.nan,
                dependences=dependences(total, used),
            )
        )
    return FitResult(
        total.scaled(*sizes), field.features.mask, Regularization(0.0, 0.0, 0.0), *sizes,
        tuple(equations), objectives=None,
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
