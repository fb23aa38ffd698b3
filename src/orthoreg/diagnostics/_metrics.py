"""Metrics of predictions, of selected terms, and of the split between equations and residual."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Bool, Float

from .._common.errors import InputError
from ..simulation import Rollout, Status
from ..solving._moments import squared_norm


def normalized_mse(predicted: Float[np.ndarray, "N c"], true: Float[np.ndarray, "N c"]) -> float:
    """Return |predicted - true|^2 / |true|^2 over all samples and components. [sec:experiments]

    This is the definition in the paper's footnote. Large components have more weight than small
    ones. If the truth is zero everywhere, the mean squared error is returned.

    >>> normalized_mse(np.array([[3.0, 4.0], [1.0, 0.0]]), np.array([[3.0, 4.0], [0.0, 0.0]]))
    0.04
    """
    size = squared_norm(true)
    error = squared_norm(predicted - true)
    return error / size if size > 0 else error


def relative_error(predicted: Float[np.ndarray, "N c"], true: Float[np.ndarray, "N c"]) -> float:
    """Return |predicted - true|_D / |true|_D, the square root of the paper's normalized MSE."""
    return math.sqrt(normalized_mse(predicted, true))


@final
@dataclass(frozen=True)
class SupportScores:
    """Comparison of the terms in use with the true terms, over all equations."""

    precision: float
    recall: float
    f1: float
    n_terms: int


def support_scores(
    coefficients: Float[np.ndarray, "c K"], true_support: Bool[np.ndarray, "c K"], threshold: float
) -> SupportScores:
    """Return the scores of the terms with |coefficient| > threshold. [app:exp_design]

    Precision is the fraction of the terms in use that are true, recall is the fraction of the true
    terms that are in use, and F1 = 2 hits / (terms in use + true terms). Undefined fractions are 0.
    If there are neither true terms nor terms in use, all three scores are 1. Terms with a NaN
    coefficient are not in use.

    >>> truth = np.array([[False, True, False], [True, False, False]])
    >>> support_scores(np.array([[0.0, 0.9, 0.2], [0.0, 1e-4, 0.0]]), truth, 1e-3)
    SupportScores(precision=0.5, recall=0.5, f1=0.5, n_terms=2)
    """
    if not threshold >= 0:
        raise InputError(f"support_scores(threshold=...) must be at least 0; got {threshold}.")
    selected = np.abs(coefficients) > threshold
    hits, in_use, true = (
        int(np.sum(mask)) for mask in (selected & true_support, selected, true_support)
    )
    if in_use + true == 0:
        return SupportScores(1.0, 1.0, 1.0, 0)
    return SupportScores(
        precision=hits / in_use if in_use else 0.0,
        recall=hits / true if true else 0.0,
        f1=2 * hits / (in_use + true),
        n_terms=in_use,
    )


@final
@dataclass(frozen=True)
class RolloutScores:
    """The error of completed rollouts, and the number of completed rollouts.

    `normalized_mse` is None if no rollout completed.
    """

    normalized_mse: float | None
    n_completed: int


def rollout_scores(
    rollouts: Sequence[Rollout], true_states: Sequence[Float[np.ndarray, "_ n"]]
) -> RolloutScores:
    """Return `normalized_mse` over all rows of completed rollouts, and the number of these
    rollouts.

    Failed rollouts are counted, not averaged. Compare the errors of two models only together with
    this number: a model that diverges for difficult initial states is scored only on the easy ones.
    A rollout that starts before its truth is scored on its last rows.
    """
    if len(rollouts) != len(true_states):
        raise InputError(
            f"rollout_scores needs one array of true states for each of the {len(rollouts)} "
            f"rollouts; got {len(true_states)}."
        )
    predicted, true = [], []
    for i, (rollout, states) in enumerate(zip(rollouts, true_states, strict=True)):
        if not isinstance(rollout.status, Status):
            raise InputError(f"Rollout {i} is a batch; pass its runs().")
        if rollout.x.shape[1:] != states.shape[1:] or len(rollout.x) < len(states):
            raise InputError(
                f"Rollout {i} has the shape {rollout.x.shape}; its true states have "
                f"{states.shape}. They need the same columns, and no more rows than the rollout."
            )
        if rollout.status is Status.completed:
            predicted.append(rollout.x[len(rollout.x) - len(states) :])
            true.append(states)
    error = normalized_mse(np.concatenate(predicted), np.concatenate(true)) if true else None
    return RolloutScores(error, len(predicted))


def symbolic_share(symbolic: Float[np.ndarray, "N c"], neural: Float[np.ndarray, "N c"]) -> float:
    """Return |f_phy|^2_D / (|f_phy|^2_D + |f_aug|^2_D): 1 without a residual, NaN if both are zero.

    If the parts are orthogonal, this is the symbolic fraction of the energy |f|^2_D. If they
    cancel, it contains no information on their sum.

    >>> symbolic_share(np.array([[3.0], [0.0]]), np.array([[0.0], [1.0]]))
    0.9
    """
    size = squared_norm(symbolic)
    total = size + squared_norm(neural)
    return size / total if total > 0 else math.nan
