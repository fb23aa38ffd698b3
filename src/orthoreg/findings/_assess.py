"""The errors of each equation: of the model on the data, and of its parts on held-out rows."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float

from ..data import folds
from . import _limits as limits
from ._held_out import held_out_ridge, held_out_values
from ._observations import Observations
from ._summary import EquationScore
from ._verdict import sentence_of, status_of


def assess(
    field: Any, certificate: Any, names: Sequence[str], seen: Observations | None
) -> list[EquationScore]:
    """One score for each equation, which `names` name; without observations it is that of the fit
    alone."""
    if seen is None or len(seen.samples.targets) < limits.MIN_ROWS:
        return [_worded(_of_fit(one, name), where="on the rows of the fit")
                for name, one in zip(names, certificate.equations, strict=True)]  # fmt: skip
    found = _measured(field, certificate, names, seen)
    return [
        _worded(one, still=_is_still(seen, c), where="on held-out rows")
        for c, one in enumerate(found)
    ]


def _of_fit(certificate: Any, name: str) -> EquationScore:
    """The errors of the fit; terms alone leave the residual as well, which is orthogonal."""
    fit_error, residual = float(certificate.fit_error), float(certificate.residual_share)
    alone = math.hypot(fit_error, residual)
    return EquationScore(name, "", "", residual > 0, fit_error, equation_error=alone)


def _measured(
    field: Any, certificate: Any, names: Sequence[str], seen: Observations
) -> list[EquationScore]:
    samples = seen.samples
    fold = folds(samples, limits.FOLDS)
    predicted = field.values(samples.variables)
    terms = field.features(samples.variables)
    coefficients = np.asarray(field.coefficients)
    residual = np.any(np.asarray(field.weights), axis=0)
    basis = field.basis(samples.variables) if residual.any() else np.zeros((len(fold), 0))
    size = np.sqrt(np.maximum(seen.size, 1e-300))
    found = []
    for c, name in enumerate(names):
        target = samples.targets[:, c]
        own = terms[:, coefficients[c] != 0]
        alone = _error(held_out_values(own, target[:, None], fold)[:, 0], target, size[c])
        together = None
        if residual[c]:
            ridge = float(
                np.clip(certificate.equations[c].ridge, limits.MIN_RIDGE, limits.MAX_RIDGE)
            )
            design = np.hstack([own, basis])
            weights = np.concatenate([np.zeros(own.shape[1]), np.full(basis.shape[1], ridge)])
            together = _error(held_out_ridge(design, target, fold, weights), target, size[c])
        found.append(EquationScore(
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
    return found


def _worded(score: EquationScore, *, where: str, still: bool = False) -> EquationScore:
    """The score with its status and sentence."""
    score = replace(score, status="constant" if still else status_of(score))
    return replace(score, sentence=sentence_of(score, where))


def _error(values: Float[np.ndarray, " N"], target: Float[np.ndarray, " N"], size: float) -> float:
    """The root mean square error over that of the target."""
    return float(np.sqrt(np.mean((target - values) ** 2)) / size)


def _is_still(seen: Observations, equation: int) -> bool:
    """Whether a state's rate is nothing but rounding of its size over the time it is seen."""
    if seen.motion is None:
        return False
    data = seen.motion.data
    state = data.states[:, equation]
    span = float(np.ptp(data.times))
    size = max(float(np.abs(state).max()), 1e-300)
    return float(np.sqrt(seen.size[equation])) * span <= limits.CONSTANT_RATE * size
