"""Scores of predictions, supports and rollouts."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from .._geometry import squared_norm


def relative_error(predicted: Float[np.ndarray, "N c"], true: Float[np.ndarray, "N c"]) -> float:
    """|predicted - true|_D / |true|_D: the root of the paper's normalised MSE."""
    size = squared_norm(true)
    error = squared_norm(predicted - true)
    return float(np.sqrt(error / size)) if size > 0 else float(np.sqrt(error))


def support_scores(
    found: Sequence[tuple[str, str]], true: Sequence[tuple[str, str]]
) -> dict[str, Any]:
    """F1, precision and recall of (equation, term) pairs, and how many were found."""
    hits = len(set(found) & set(true))
    precision = hits / len(set(found)) if found else 0.0
    recall = hits / len(set(true)) if true else 0.0
    f1 = 2 * precision * recall / (precision + recall) if hits else 0.0
    return {"f1": f1, "precision": precision, "recall": recall, "terms": len(set(found))}
