"""Refit the coefficients of a model to a similar system, in one pass over the data."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from .._common.errors import InputError
from ..data import AnyRows, fold_rule
from ..field.hybrid import HybridField
from ..physics import Knowledge
from ..solving import (
    Bounds,
    Equalities,
    EquationFit,
    FitResult,
    Moments,
    QuadraticProblem,
    Regularization,
    coupled,
    dependences,
    gather,
    scales,
)
from . import _limits as limits


def adapt(field: HybridField, rows: AnyRows, knowledge: Knowledge | None = None) -> FitResult:
    """Return the fit with new coefficients for these rows. The residual and given values are
    fixed.

    If relations or bounds apply, the coefficients satisfy them and give the closest values on the
    rows. The only basis functions of the result are the values of the residual. The result does not
    minimize an objective.
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
    known = knowledge or Knowledge.none(old.shape)
    for c, row in enumerate(old):
        used = np.flatnonzero((row != 0) & ~known.given[c])
        if c in rows.given or not len(used):
            continue
        new[c, used] *= 1 + _relative_changes(*_normal_equations(parts, row, used, c), total.count)
    return _fit_result(field, constrained_coefficients(known, new, total), total, known)


def constrained_coefficients(
    known: Knowledge, new: Float[np.ndarray, "c K"], total: Moments
) -> Float[np.ndarray, "c K"]:
    """Return the coefficients that satisfy all constraints and whose values on the rows are closest
    to those of `new`.
    """
    new = np.where(known.given, known.low, new)
    for equations in known.coupled(known.touches(new != 0), new != 0):
        terms = [np.flatnonzero(new[c]) for c in equations]
        E, e, low, high = known.constraints(equations, terms)
        problems = [
            QuadraticProblem(A, A @ new[c, used])
            for c, used in zip(equations, terms, strict=True)
            for A in [total.A[np.ix_(used, used)] / max(float(total.yy[c]), 1e-300)]
        ]
        joint = replace(coupled(problems), equalities=Equalities(E, e), bounds=Bounds(low, high))
        solution = np.split(joint.solve(), np.cumsum([len(used) for used in terms])[:-1])
        for c, used, w in zip(equations, terms, solution, strict=True):
            new[c, used] = w
    return new


def describe(field: HybridField, rows: AnyRows, knowledge: Knowledge | None = None) -> FitResult:
    """Return the result of the unchanged field on these rows.

    Its only basis functions are the values of the residual. It does not minimize an objective.
    """
    parts = _moments(field, rows)
    coefficients = np.asarray(field.coefficients)
    known = knowledge or Knowledge.none(coefficients.shape)
    return _fit_result(field, coefficients, sum(parts[1:], start=parts[0]), known)


def _moments(field: HybridField, rows: AnyRows) -> list[Moments]:
    count = min(limits.ADAPT_STRETCHES, len(rows))
    gathered = gather(
        field.features, field.neural, rows, folds=count, fold_of_row=fold_rule(rows, count)
    )
    return [part for part in gathered if part.count]


def _fit_result(
    field: HybridField, coefficients: Float[np.ndarray, "c K"], total: Moments, known: Knowledge
) -> FitResult:
    sizes = scales(total, True)
    scaled = total.scaled(*sizes)
    equations = []
    for c, row in enumerate(coefficients):
        used = np.flatnonzero(row)
        free = used[~known.given[c, used]]  # given terms need not be independent
        equations.append(
            EquationFit(
                terms=used,
                w=row * sizes[0] / sizes[1][c],
                v=np.eye(len(coefficients))[c] / sizes[1][c],
                p=np.zeros(len(row)),
                sparsity=0.0,
                ridge=0.0,
                duality_gap=np.nan,
                dependences=dependences(scaled, free),
            )
        )
    return FitResult(
        scaled, field.features.mask, Regularization(0.0, 0.0, 0.0), *sizes,
        tuple(equations), objectives=None,
    )  # fmt: skip


def _normal_equations(
    folds: Sequence[Moments], w: Float[np.ndarray, " K"], used: np.ndarray, c: int
) -> tuple[Float[np.ndarray, "S k k"], Float[np.ndarray, "S k"]]:
    """Return X'X and X'e of each stretch, where X are the contributions w_k theta_k and e the
    errors.
    """
    scale = w[used]
    grams = np.stack([m.count * m.A[np.ix_(used, used)] for m in folds]) * np.outer(scale, scale)
    given = np.setdiff1d(np.flatnonzero(w), used)
    targets = [m.a[used, c] - m.B[used, c] - m.A[np.ix_(used, given)] @ w[given] for m in folds]
    cross = np.stack([m.count * t for m, t in zip(folds, targets, strict=True)]) * scale
    return grams, cross - grams.sum(axis=2)


def _relative_changes(
    grams: Float[np.ndarray, "S k k"], scores: Float[np.ndarray, "S k"], count: int
) -> Float[np.ndarray, " k"]:
    """Return the relative change b of each coefficient.

    With b ~ N(0, tau^2) and e = X b + noise, b = (X'X + (s^2 / tau^2) I)^-1 X'e. The noise s^2 per
    independent row is estimated from the variation of X'(e - X b) between stretches, because errors
    of neighbouring rows are not independent. tau maximizes the evidence.
    """
    values, axes = np.linalg.eigh(grams.sum(axis=0))
    excited = values > limits.MIN_EIGENVALUE * values.max(initial=0.0)
    d, axes = values[excited], axes[:, excited]
    z = axes.T @ scores.sum(axis=0)
    stretches, rank = len(scores), len(d)
    if stretches < 2 or count <= rank or not z.any():
        return np.zeros(grams.shape[1])
    residual = (scores - np.einsum("skl,l->sk", grams, axes @ (z / d))) @ axes
    noise = (residual**2 / d).sum() / rank * stretches / (stretches - 1) * count / (count - rank)
    noise = max(noise, np.finfo(float).eps ** 2 * values.sum())
    variances = (limits.CHANGE_SCALES * np.abs(z / d).max()) ** 2
    total = np.outer(variances, d) + noise
    negative_evidence = (np.log(total) + z**2 / (d * total)).sum(axis=1)
    best = variances[int(negative_evidence.argmin())]
    return axes @ (z * best / (d * best + noise))
