"""Update a fit with new data, without the old data, and detect drift.

An update does not change the terms, the residual and its gate. If the fit is from rows, it does not
change the inner parameters either.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, final

import numpy as np
from jaxtyping import Float

from .._common.errors import InputError
from ..data import AnyRows, Dataset, fold_rule
from ..field.hybrid import HybridField
from ..matching import Uncertainty, match_fixed_structure
from ..physics import Knowledge
from ..solving import FitResult, Moments, gather
from . import _limits as limits
from ._adapt import constrained_coefficients


@final
@dataclass(frozen=True, eq=False)
class RowRecord:
    """Sums of products of the terms over the old rows, which represent these rows in an update.

    gram[i, j] is the sum over rows of theta_i theta_j, for the `terms` in use. Least squares on old
    and new rows then has the solution w + (gram + new gram)^-1 s, where s = sum theta (y - f) is a
    sum over the new rows only.
    """

    terms: tuple[int, ...]
    gram: Float[np.ndarray, "k k"]
    count: float

    @classmethod
    def of(cls, result: FitResult, coefficients: Float[np.ndarray, "c K"]) -> "RowRecord":
        """Return the record of a solution."""
        used = np.flatnonzero((coefficients != 0).any(axis=0))
        moments, scale = result.moments, result.feature_scale[used]
        gram = moments.A[np.ix_(used, used)] * moments.count * np.outer(scale, scale)
        return cls(tuple(used.tolist()), gram, float(moments.count))


@final
class Change(NamedTuple):
    """A constant before an update, its value in the new data, and the difference in standard
    errors.

    `unit` is '' if it is unknown or that of a pure number.
    """

    name: str
    before: float
    after: float
    z: float
    unit: str = ""

    @property
    def text(self) -> str:
        """A description such as "k from 1 to 1.049 1/s (+5%)"."""
        unit = f" {self.unit}" * bool(self.unit)
        share = f" ({100 * (self.after / self.before - 1):+.0f}%)" if self.before else ""
        return f"{self.name} from {self.before:.4g} to {self.after:.4g}{unit}{share}"


@final
@dataclass(frozen=True)
class Drift:
    """Whether new data still follow the old constants.

    `p_value` is the probability of a difference of this size if the constants are unchanged.
    `detected` is true if it is below `level`, the significance level of this update. The j-th
    update has the fraction 6 / (pi j)^2 of `limits.DRIFT_LEVEL`, so that the probability of any
    false alarm over all updates is at most `limits.DRIFT_LEVEL`. If drift is detected, `changes`
    are the constants that differ most.
    """

    detected: bool
    p_value: float
    level: float
    rows: int
    changes: tuple[Change, ...] = ()

    @property
    def text(self) -> str:
        """A sentence that describes the result."""
        rows = f"{self.rows:,} new row{'s' * (self.rows != 1)}"
        if np.isnan(self.p_value):
            return f"Drift cannot be tested, because the noise of the {rows} is unknown."
        if not self.detected:
            return f"The {rows} follow the old constants (p = {self.p_value:.2g})."
        parts = [change.text for change in self.changes]
        names = f": {', '.join(parts)}" if parts else ""
        return f"The {rows} no longer follow the old constants (p = {self.p_value:.2g}){names}."

    @property
    def advice(self) -> str:
        """Advice on what to do about drift, or '' if there is none."""
        if not self.detected:
            return ""
        return (
            "The updated constants are averages over old and new data. If the system has changed, "
            "update with forgetting=0.99 or adapt the model to the new data. If the new runs reach "
            "other states than the old ones, the equations may lack terms: fit a new model to all "
            "data."
        )

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data."""
        return {
            "detected": self.detected,
            "p_value": self.p_value,
            "level": self.level,
            "rows": self.rows,
            "changes": [change._asdict() for change in self.changes],
            "text": self.text,
        }


@final
class Updated(NamedTuple):
    """A field with updated constants.

    It comes with the uncertainty of the constants, the estimates from the new data alone, the sums
    for the next update, and the test of drift as (p value, change, covariance of the change).
    """

    field: HybridField
    uncertainty: Uncertainty | None
    record: RowRecord | None
    p_value: float
    change: Float[np.ndarray, " k"]
    covariance: Float[np.ndarray, "k k"]


def drift_level(update: int) -> float:
    """Return the significance level of the j-th update.

    The levels of all updates add up to `DRIFT_LEVEL`.
    """
    return limits.DRIFT_LEVEL * 6 / (np.pi * update) ** 2


def updated_from_rows(
    field: HybridField,
    record: RowRecord,
    estimates: Uncertainty | None,
    rows: AnyRows,
    known: Knowledge,
    forgetting: float,
) -> Updated:
    """Return the least-squares update with new rows.

    The test of drift compares the sum s of theta (y - f) over the new rows with its standard error
    and with the error of the old constants. The standard error is estimated from stretches of rows,
    because errors of neighbouring rows are correlated.
    """
    old = np.asarray(field.coefficients, dtype=float)
    used = np.array(record.terms, dtype=int)
    parts = _stretches(field, used, rows)
    total = sum(parts[1:], start=parts[0])
    decay = forgetting**total.count
    gram = total.A * total.count
    joint = decay * record.gram + gram
    new, places, blocks, scores, chosen_terms = old.copy(), [], [], [], []
    for c, row in enumerate(old):
        chosen = np.flatnonzero((row[used] != 0) & ~known.given[c, used])
        if c in rows.given or not len(chosen):
            continue
        block = np.ix_(chosen, chosen)
        by_stretch = np.array([_score(part, row[used], chosen, c) for part in parts])
        new[c, used[chosen]] += _solved(joint[block], by_stretch.sum(axis=0))
        places += [(c, int(k)) for k in used[chosen]]
        blocks.append(np.stack([part.A[block] * part.count for part in parts]))
        scores.append(by_stretch)
        chosen_terms.append(chosen)
    moments = Moments(int(max(record.count * decay, 0)) + total.count, joint, len(used), 0)
    new = _within_constraints(known, new, used, moments)
    equations = list(dict.fromkeys(c for c, _ in places))
    errors = rows.target_mse[equations] * total.count
    before = [record.gram[np.ix_(free, free)] for free in chosen_terms]
    p_value, change, variance, noise = _drift_of_rows(
        scores, blocks, errors, estimates, places, before
    )
    uncertainty = _with_rows(estimates, places, blocks, noise, new, decay)
    count = record.count * decay + total.count
    return Updated(
        replace(field, coefficients=new), uncertainty, RowRecord(record.terms, joint, count),
        p_value, change, variance,
    )  # fmt: skip


def _stretches(field: HybridField, used: np.ndarray, rows: AnyRows) -> list[Moments]:
    """Return the moments of the terms in use, with f_aug as the only basis functions."""
    count = min(limits.UPDATE_STRETCHES, len(rows))
    features = field.features.only(used.tolist())
    gathered = gather(features, field.neural, rows, folds=count, fold_of_row=fold_rule(rows, count))
    return [part for part in gathered if part.count]


def _score(
    part: Moments, w: Float[np.ndarray, " k"], chosen: np.ndarray, c: int
) -> Float[np.ndarray, " j"]:
    """Return the sum of theta (y - f) over a stretch."""
    return part.count * (part.a[chosen, c] - part.B[chosen, c] - part.A[chosen] @ w)


def _solved(
    matrix: Float[np.ndarray, "k k"], right: Float[np.ndarray, " k"]
) -> Float[np.ndarray, " k"]:
    """Return matrix^-1 right, with zero in directions without information.

    The result does not depend on units.
    """
    scale = np.sqrt(np.where(np.diag(matrix) > 0, np.diag(matrix), 1.0))
    values, axes = np.linalg.eigh(matrix / np.outer(scale, scale))
    known = values > limits.MIN_EIGENVALUE * max(values.max(initial=0.0), 1e-300)
    inverse = np.where(known, 1 / np.where(known, values, 1.0), 0.0)
    return axes @ (inverse * (axes.T @ (right / scale))) / scale


def _within_constraints(
    known: Knowledge, new: Float[np.ndarray, "c K"], used: np.ndarray, moments: Moments
) -> Float[np.ndarray, "c K"]:
    """Return the coefficients that satisfy given values, relations and bounds.

    Among these, their values on all rows are closest to those of the new coefficients.
    """
    size = new.shape[1]
    total = np.zeros((size + len(new),) * 2)
    total[np.ix_(used, used)] = moments.total
    total[size:, size:] = np.eye(len(new)) * moments.count
    return constrained_coefficients(known, new, Moments(moments.count, total, size, 0))


def _drift_of_rows(
    scores: Sequence[np.ndarray],
    blocks: Sequence[np.ndarray],
    errors: Float[np.ndarray, " e"],
    estimates: Uncertainty | None,
    places: Sequence[tuple[int, int]],
    before: Sequence[np.ndarray],
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """Return the test of drift.

    This is the p value, the change of each constant in the new rows alone, its covariance, and the
    noise variance per independent row of each equation. `errors` are the known squared errors of
    the targets, which stretches do not reveal.
    """
    changes, variances, noise = [], [], []
    for by_stretch, grams, error, old in zip(scores, blocks, errors, before, strict=True):
        gram, total = grams.sum(axis=0), by_stretch.sum(axis=0)
        change, inverse = _solved(gram, total), _inverse(gram)
        residual = by_stretch - grams @ change
        count, k = by_stretch.shape
        free = max(count - 1, 1) * k
        level = float(np.einsum("gi,ij,gj->", residual, inverse, residual)) * count / free
        noise.append(level if count > 1 else np.nan)
        changes.append(change)
        variances.append((noise[-1] + limits.DERIVATIVE_ERROR_SHARE**2 * error) * inverse)
        if estimates is None:
            variances[-1] = variances[-1] + noise[-1] * _inverse(old)
    change = np.concatenate(changes) if changes else np.zeros(0)
    variance = _block_diagonal(variances)
    if not len(change) or not all(v > 0 for v in noise):
        return np.nan, change, variance, np.array(noise)
    if estimates is not None:
        variance = variance + _covariance_at(estimates, places)
    freedom = (min(len(part) for part in scores) - 1) * min(part.shape[1] for part in scores)
    return _p_value(change, variance, float(freedom)), change, variance, np.array(noise)


def _inverse(matrix: Float[np.ndarray, "k k"]) -> Float[np.ndarray, "k k"]:
    return np.stack([_solved(matrix, column) for column in np.eye(len(matrix))], axis=1)


def _block_diagonal(blocks: Sequence[np.ndarray]) -> np.ndarray:
    from scipy.linalg import block_diag

    return np.asarray(block_diag(*blocks)) if len(blocks) else np.zeros((0, 0))


def _covariance_at(
    estimates: Uncertainty | None, places: Sequence[tuple[int, int]]
) -> Float[np.ndarray, "k k"]:
    """Return the covariance of the old coefficients at these places, or zeros if it is unknown."""
    result = np.zeros((len(places), len(places)))
    if estimates is None:
        return result
    index = {place: i for i, place in enumerate(estimates.places)}
    pairs = [(i, index[place]) for i, place in enumerate(places) if place in index]
    for i, a in pairs:
        for j, b in pairs:
            result[i, j] = estimates.covariance[a, b]
    return result


def _p_value(
    change: Float[np.ndarray, " k"], covariance: Float[np.ndarray, "k k"], freedom: float
) -> float:
    """Return the probability of a change of this size, by the F distribution."""
    from scipy.stats import f

    statistic = float(change @ _solved(covariance, change))
    scale = np.sqrt(np.where(np.diag(covariance) > 0, np.diag(covariance), 1.0))
    values = np.linalg.eigvalsh(covariance / np.outer(scale, scale))
    rank = int((values > limits.MIN_EIGENVALUE * values.max()).sum())
    return float(f.sf(statistic / rank, rank, min(freedom, 1e9)))


def _with_rows(
    estimates: Uncertainty | None,
    places: Sequence[tuple[int, int]],
    blocks: Sequence[np.ndarray],
    noise: Float[np.ndarray, " e"],
    new: Float[np.ndarray, "c K"],
    decay: float,
) -> Uncertainty | None:
    """Return the uncertainty of the updated coefficients.

    It follows from the sum of the information in the old and the new rows.
    """
    if estimates is None or not np.isfinite(noise).all() or not (noise > 0).all():
        return None
    index = {place: i for i, place in enumerate(estimates.places)}
    if any(place not in index for place in places):
        return None
    at = [index[place] for place in places]
    gain = _block_diagonal([b.sum(axis=0) / s for b, s in zip(blocks, noise, strict=True)])
    covariance = estimates.covariance.copy()
    part = np.ix_(at, at)
    covariance[part] = _inverse(decay * _inverse(covariance[part]) + gain)
    values = estimates.values.copy()
    values[: len(estimates.places)] = [new[place] for place in estimates.places]
    return replace(
        estimates, values=values, covariance=covariance, stretch=np.ones_like(estimates.stretch)
    )


def updated_from_trajectories(
    field: HybridField,
    estimates: Uncertainty,
    data: Dataset,
    interpolation: Mapping[str, str],
    bounds: Mapping[str, tuple[float, float]],
    known: Knowledge,
    forgetting: float,
) -> Updated:
    """Return the constants that best agree with the new runs and the old estimates.

    The constants are matched to the new runs alone. Both estimates are then averaged with weights
    from their covariances: w + C (C + C_new)^-1 (w_new - w). Forgetting widens C.
    """
    alone = match_fixed_structure(field, data, interpolation, bounds, known)
    if alone is None or alone.uncertainty is None:
        raise InputError(
            "Trajectories of the model do not follow the new data, even over a few steps, so "
            "update() cannot match them. If the system has changed, use adapt() or fit a new model."
        )
    new = alone.uncertainty
    if new.places != estimates.places or new.parameters != estimates.parameters:
        raise InputError(
            "update() needs intervals of all constants of the model, but the model was changed "
            "after they were computed. Call refine() on data first."
        )
    change, C = new.values - estimates.values, estimates.covariance
    both = C + new.covariance
    freedom = min(estimates.degrees_of_freedom, new.degrees_of_freedom)
    p_value = _p_value(change, both, freedom)
    widened = C / max(forgetting**data.n_samples, 1e-12)
    gain = widened @ _inverse(widened + new.covariance)
    values = np.clip(estimates.values + gain @ change, *estimates.bounds.T)
    covariance = widened - gain @ widened
    uncertainty = replace(
        estimates, values=values, covariance=(covariance + covariance.T) / 2,
        degrees_of_freedom=estimates.degrees_of_freedom * forgetting**data.n_samples
        + new.degrees_of_freedom, stretch=np.ones_like(estimates.stretch),
    )  # fmt: skip
    return Updated(
        with_estimates(field, uncertainty, values), uncertainty, None, p_value, change, both
    )


def with_estimates(
    field: HybridField, estimates: Uncertainty, values: Float[np.ndarray, " k"]
) -> HybridField:
    """Return the field with other values of its estimated constants."""
    coefficients = np.array(field.coefficients, dtype=float)
    for place, value in zip(estimates.places, values, strict=False):
        coefficients[place] = value
    inner = dict(zip(estimates.parameters, values[len(estimates.places) :], strict=True))
    features = field.features
    parameters = [
        inner.get(name, value)
        for name, value in zip(features.parameters, features.values, strict=True)
    ]
    return replace(
        field,
        features=features.with_values(parameters),
        coefficients=coefficients,
        parameters=None if field.parameters is None else np.array(parameters),
    )
