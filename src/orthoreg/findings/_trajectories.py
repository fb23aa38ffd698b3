"""What trajectories leave of each equation: the score that the verdict is decided from."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float

from ..data import Dataset
from ..matching import Judgement, Misfit, judge
from . import _limits as limits
from ._summary import EquationScore
from ._verdict import sentence_of


def judged(
    scores: Sequence[EquationScore],
    field: Any,
    data: Dataset,
    interpolation: Mapping[str, str],
    terms_probability: Float[np.ndarray, " c"] | None = None,
) -> list[EquationScore]:
    """Return the scores with the misfit of trajectories in each measured state, and the status that
    follows. An equation whose state was not measured is judged by its position. An equation whose
    terms are more probably wrong than right, because others leave only noise as well, is limited by
    noise."""
    whole = judge(field, data, interpolation)
    if whole is None:
        return list(scores)
    alone = None
    if np.any(np.asarray(field.weights)):
        alone = judge(field.without_residual(), data, interpolation)
    misfits = whole.of_equations(data)
    alone_misfits = None if alone is None else alone.of_equations(data)
    result = []
    for c, score in enumerate(scores):
        own = misfits[c]
        if own is None or score.status == "constant":
            result.append(score)
            continue
        if terms_probability is not None:
            score = replace(score, terms_probability=float(terms_probability[c]))
        without = None if alone_misfits is None else alone_misfits[c]
        result.append(_with_misfit(score, own, without, whole, is_lost=alone is None))
    return result


def _with_misfit(
    score: EquationScore, own: Misfit, without: Misfit | None, whole: Judgement, *, is_lost: bool
) -> EquationScore:
    score = replace(
        score,
        trajectory_error=own.error,
        trajectory_noise=min(own.noise, own.error),
        trajectory_alone=None if without is None else without.error,
        trajectory_rows=whole.rows,
        exceeds_noise=own.exceeds_noise,
        errors_grow=whole.errors_grow,
    )
    if not own.exceeds_noise:
        status = "explained"
        if own.detectable > limits.MAX_DETECTABLE_MISFIT or score.is_ambiguous:
            status = "noise-limited"
        elif score.has_residual and (
            is_lost or (without is not None and without.is_explained_by(own))
        ):
            status = "needs-residual"
    else:
        is_rough = own.share_of_motion <= limits.FAIR_ERROR
        status = "roughly-explained" if is_rough else "not-explained"
    score = replace(score, status=status)
    return replace(score, sentence=sentence_of(score, ""))
