"""Scores of predictions."""

import numpy as np
from jaxtyping import Float

from .._geometry import squared_norm


def relative_error(predicted: Float[np.ndarray, "N c"], true: Float[np.ndarray, "N c"]) -> float:
    """|predicted - true|_D / |true|_D: the root of the paper's normalised MSE."""
    size = squared_norm(true)
    error = squared_norm(predicted - true)
    return float(np.sqrt(error / size)) if size > 0 else float(np.sqrt(error))
