"""Compute the errors of each equation: on the data, on held-out rows and along trajectories."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from ..data import Dataset, folds
from ..diagnostics import Certificate, EquationCertificate
from ..field.hybrid import HybridField
from ..matching import Judgement, Misfit, judge
from ..physics import Starts
from . import _limits as limits
from ._findings import EquationScore
from ._held_out import held_out_ridge, held_out_values
from ._observations import Observations
from ._verdict import sentence_of, status_of


def assess(
    field: HybridField,
    certificate: Certificate,
    names: Sequence[str],
    seen: Observations | None,
) -> list[EquationScore]:
    """Return a score for each equation in `names`, from the fit if `seen` is None."""
    if seen is None or len(seen.samples.targets) < limits.MIN_ROWS:
        return [_worded(_of_fit(score, name), where="on the rows of the fit")
                for name, score in zip(names, certificate.equations, strict=True)]  # fmt: skip
    scores = _measured(field, certificate, names, seen)
    return [
        _worded(score, still=_is_still(seen, c), where="on held-out rows")
        for c, score in enumerate(scores)
    ]


def _of_fit(certificate: EquationCertificate, name: str) -> EquationScore:
    """Return the errors of the fit. The error of the terms alone includes the orthogonal
    residual.
    """
    fit_error, residual = float(certificate.fit_error), float(certificate.residual_share)
    alone = math.hypot(fit_error, residual)
    return EquationScore(name, "", "", residual > 0, fit_error, equation_error=alone)


def _measured(
    field: HybridField, certificate: Certificate, names: Sequence[str], seen: Observations
) -> list[EquationScore]:
    samples = seen.samples
    fold = folds(samples, limits.FOLDS)
    predicted = field.values(samples.variables)
    terms = field.features(samples.variables)
    coefficients = np.asarray(field.coefficients)
    residual = np.any(np.asarray(field.weights), axis=0)
    basis = field.basis(samples.variables) if residual.any() else np.zeros((len(fold), 0))
    size = np.sqrt(np.maximum(seen.size, 1e-300))
    scores = []
    for c, name in enumerate(names):
        target = samples.targets[:, c]
        used = terms[:, coefficients[c] != 0]
        alone = _error(held_out_values(used, target[:, None], fold)[:, 0], target, size[c])
        together = None
        if residual[c]:
            ridge = float(
                np.clip(certificate.equations[c].ridge, limits.MIN_RIDGE, limits.MAX_RIDGE)
            )
            design = np.hstack([used, basis])
            weights = np.concatenate([np.zeros(used.shape[1]), np.full(basis.shape[1], ridge)])
            together = _error(held_out_ridge(design, target, fold, weights), target, size[c])
        scores.append(EquationScore(
            equation=name,
            status="",
            sentence="",
            has_residual=bool(residual[c]),
            fit_error=float(certificate.equations[c].fit_error),
            derivative_error=_error(predicted[:, c], target, size[c]),
            held_out_error=alone if together is None else together,
            equation_error=alone,
            noise=float(np.sqrt(seen.noise[c]) / size[c]),
        ))  # fmt: skip
    return scores


def _worded(score: EquationScore, *, where: str, still: bool = False) -> EquationScore:
    """Return the score with its status and sentence; `where` names the rows of its error."""
    score = replace(score, status="constant" if still else status_of(score))
    return replace(score, sentence=sentence_of(score, where))


def _error(values: Float[np.ndarray, " N"], target: Float[np.ndarray, " N"], size: float) -> float:
    """Return the root mean square error of the values, divided by `size`."""
    return float(np.sqrt(np.mean((target - values) ** 2)) / size)


def _is_still(seen: Observations, equation: int) -> bool:
    """Return whether a state changes by no more than rounding errors over the time of the data."""
    if seen.motion is None:
        return False
    data = seen.motion.data
    state = data.states[:, equation]
    span = float(np.ptp(data.times))
    size = max(float(np.abs(state).max()), 1e-300)
    return float(np.sqrt(seen.size[equation])) * span <= limits.CONSTANT_RATE * size


def judged(
    scores: Sequence[EquationScore],
    field: HybridField,
    data: Dataset,
    interpolation: Mapping[str, str],
    terms_probability: Float[np.ndarray, " c"] | None = None,
    starts: Starts | None = None,
) -> list[EquationScore]:
    """Return the scores with the misfit of trajectories in each measured state, and their
    status.

    The equation of an unmeasured state is judged by a measured state. An equation is limited by
    noise if other terms explain the data as well, so that its terms are probably wrong.
    """
    judgement = judge(field, data, interpolation, starts)
    if judgement is None:
        return list(scores)
    alone = None
    if np.any(np.asarray(field.weights)):
        alone = judge(field.without_residual(), data, interpolation, starts)
    misfits, judges = judgement.of_equations(data), judgement.judged_by(data)
    alone_misfits = None if alone is None else alone.of_equations(data)
    result = []
    for c, score in enumerate(scores):
        misfit = misfits[c]
        if misfit is None or score.status == "constant":
            result.append(score)
            continue
        if terms_probability is not None:
            score = replace(score, terms_probability=float(terms_probability[c]))
        if score.equation in data.hidden:
            score = replace(score, judged_by=data.state_names[judges[c]])
        without = None if alone_misfits is None else alone_misfits[c]
        result.append(_with_misfit(score, misfit, without, judgement, is_lost=alone is None))
    return result


def _with_misfit(
    score: EquationScore,
    misfit: Misfit,
    without: Misfit | None,
    judgement: Judgement,
    *,
    is_lost: bool,
) -> EquationScore:
    score = replace(
        score,
        trajectory_error=misfit.error,
        trajectory_noise=min(misfit.noise, misfit.error),
        trajectory_alone=None if without is None else without.error,
        trajectory_rows=judgement.rows,
        exceeds_noise=misfit.exceeds_noise,
        errors_grow=judgement.errors_grow,
    )
    if not misfit.exceeds_noise:
        status = "explained"
        if misfit.detectable > limits.MAX_DETECTABLE_MISFIT or score.is_ambiguous:
            status = "noise-limited"
        elif score.has_residual and (
            is_lost or (without is not None and without.is_explained_by(misfit))
        ):
            status = "needs-residual"
    else:
        is_rough = misfit.share_of_motion <= limits.FAIR_ERROR
        status = "roughly-explained" if is_rough else "not-explained"
    score = replace(score, status=status)
    return replace(score, sentence=sentence_of(score, ""))
