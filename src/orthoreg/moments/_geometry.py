"""The empirical inner product of the paper's section 3, on sampled values."""

import numpy as np
from jaxtyping import Float

from .._common.arrays import Arrays


def overlaps(
    features: Float[Arrays, "N K"], residual: Float[Arrays, "N c"]
) -> Float[Arrays, "K c"]:
    """<f_aug, phi_j>_D for all j = (k, c), phi_j(x) = theta_k(x) e_c. [eq:orthoreg_penalty]"""
    return features.T @ residual / len(features)


def squared_norm(values: Float[np.ndarray, "N c"]) -> float:
    """|f|^2_D = 1/N sum_i |f(x_i)|^2."""
    return float(np.sum(values**2) / len(values))
