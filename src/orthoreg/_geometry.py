"""The empirical inner product of the paper's section 3, on sampled values."""

import numpy as np
from jaxtyping import Float


def overlaps(
    features: Float[np.ndarray, "N K"], residual: Float[np.ndarray, "N c"]
) -> Float[np.ndarray, "K c"]:
    """<f_aug, phi_j>_D for all j = (k, c), phi_j(x) = theta_k(x) e_c. [eq:orthoreg_penalty]"""
    return features.T @ residual / len(features)


def squared_norm(values: Float[np.ndarray, "N c"]) -> float:
    """|f|^2_D = 1/N sum_i |f(x_i)|^2."""
    return float(np.sum(values**2) / len(values))
