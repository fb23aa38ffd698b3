"""Coefficients for another system of the same make, from one pass over its data."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from .._common.errors import InputError
from ..data import AnyRows, fold_rule
from ..field.hybrid import HybridField
from ..moments import Moments, gather
from ..physics import Knowledge
from ..quadratic import Bounds, Equalities, QuadraticProblem, coupled
from ..solvers import EquationFit, FitResult, Regularization, dependences, scales
from . import _limits as limits


def adapt(field: HybridField, rows: AnyRows, knowledge: Knowledge | None = None) -> FitResult:
    """The field's terms refitted to these rows, its residual as it is, as is what is given; of
    coefficients that meet all relations and bounds, those with the nearest values on the rows.

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
    known = knowledge or Knowledge.none(old.shape)
    for c, row in enumerate(old):
        used = np.flatnonzero((row != 0) & ~known.given[c])
        if c in rows.given or not len(used):
            continue
        new[c, used] *= 1 + _relative_changes(*_normal_equations(parts, row, used, c), total.count)
    return _described(field, _meeting(known, new, total), total, known)


def _meeting(
    known: Knowledge, new: Float[np.ndarray, "c K"], total: Moments
) -> Float[np.ndarray, "c K"]:
    """The coefficients that meet all constraints and whose values are nearest to these."""
    new = np.where(known.given, known.low, new)
    for equations in known.coupled(known.touches(new != 0), new != 0):
        terms = [np.flatnonzero(new[c]) for c in equations]
        E, e, low, high = known.constraints(equations, terms)
        problems = [
            QuadraticProblem(A, A @ new[c, own])
            for c, own in zip(equations, terms, strict=True)
            for A in [total.A[np.ix_(own, own)] / max(float(total.yy[c]), 1e-300)]
        ]
        joint = replace(coupled(problems), equalities=Equalities(E, e), bounds=Bounds(low, high))
        found = np.split(joint.solve(), np.cumsum([len(own) for own in terms])[:-1])
        for c, own, w in zip(equations, terms, found, strict=True):
            new[c, own] = w
    return new


def describe(field: HybridField, rows: AnyRows, knowledge: Knowledge | None = None) -> FitResult:
    """The field as it is on these rows, with its residual's values there as the only basis
    functions; it is the minimum of no objective."""
    parts = _moments(field, rows)
    coefficients = np.asarray(field.coefficients)
    known = knowledge or Knowledge.none(coefficients.shape)
    return _described(field, coefficients, sum(parts[1:], start=parts[0]), known)


def _moments(field: HybridField, rows: AnyRows) -> list[Moments]:
    count = min(limits.ADAPT_STRETCHES, len(rows))
    gathered = gather(
        field.features, field.neural, rows, folds=count, fold_of_row=fold_rule(rows, count)
    )
    return [part for part in gathered if part.count]


def _described(
    field: HybridField, coefficients: Float[np.ndarray, "c K"], total: Moments, known: Knowledge
) -> FitResult:
    sizes = scales(total, True)
    scaled = total.scaled(*sizes)
    equations = []
    for c, row in enumerate(coefficients):
        used = np.flatnonzero(row)
        free = used[~known.given[c, used]]  # only of these it matters which ones others span
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
    """X'X and X'e of each stretch, with X the contributions w_k theta_k and e what f misses."""
    scale = w[used]
    grams = np.stack([m.count * m.A[np.ix_(used, used)] for m in folds]) * np.outer(scale, scale)
    rest = np.setdiff1d(np.flatnonzero(w), used)  # what is given
    missed = [m.a[used, c] - m.B[used, c] - m.A[np.ix_(used, rest)] @ w[rest] for m in folds]
    cross = np.stack([m.count * one for m, one in zip(folds, missed, strict=True)]) * scale
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
    excited = values > limits.UNEXCITED_EIGENVALUE * values.max(initial=0.0)
    d, axes = values[excited], axes[:, excited]
    z = axes.T @ scores.sum(axis=0)
    stretches, rank = len(scores), len(d)
    if stretches < 2 or count <= rank or not z.any():
        return np.zeros(grams.shape[1])
    leftover = (scores - np.einsum("skl,l->sk", grams, axes @ (z / d))) @ axes
    noise = (leftover**2 / d).sum() / rank * stretches / (stretches - 1) * count / (count - rank)
    noise = max(noise, np.finfo(float).eps ** 2 * values.sum())
    variances = (limits.CHANGE_SCALES * np.abs(z / d).max()) ** 2
    spread = np.outer(variances, d) + noise
    surprise = (np.log(spread) + z**2 / (d * spread)).sum(axis=1)
    best = variances[int(surprise.argmin())]
    return axes @ (z * best / (d * best + noise))
