"""Values at the limit of a sensor. They show only that the state is at or beyond the limit.

The likelihood of such a value is Phi(a), where a is the distance of the state beyond the limit in
standard deviations of the noise [Tobin 1958]. In Gauss-Newton steps, the cost, score and curvature
of this likelihood replace the residual and the weight of a measured value.
"""

import numpy as np
from jaxtyping import Float

from . import _limits as limits


def censored(
    distance: Float[np.ndarray, "*shape"],
) -> tuple[Float[np.ndarray, "*shape"], Float[np.ndarray, "*shape"], Float[np.ndarray, "*shape"]]:
    """Return the cost -log Phi(a) of states at a `distance` a beyond the limit, its curvature h,
    and its score divided by h.

    The last is the residual whose square has the same slope. The cost is linear for states that are
    more than `HUBER` standard deviations short of the limit.
    """
    a = np.asarray(distance, dtype=float)
    near = np.clip(a, -limits.HUBER, limits.MAX_CENSORED_DISTANCE)
    log_share, ratio = _log_normal_share(near)
    short = np.maximum(-limits.HUBER - a, 0.0)
    cost = -log_share + ratio * short
    curvature = np.where(short > 0, ratio / np.maximum(-a, limits.HUBER), ratio * (ratio + near))
    residual = np.where(short > 0, np.maximum(-a, limits.HUBER), 1 / (ratio + near))
    return cost, curvature, residual


def expected_noise(
    distance: Float[np.ndarray, "*shape"],
) -> Float[np.ndarray, "*shape"]:
    """Return the expected noise of a value at the limit whose state is at a `distance` a beyond the
    limit.

    This is phi(a) / Phi(a), in standard deviations and in the direction of the limit.
    """
    a = np.asarray(distance, dtype=float)
    near = np.clip(a, -limits.MAX_CENSORED_DISTANCE, limits.MAX_CENSORED_DISTANCE)
    return _log_normal_share(near)[1]


def expected_square(
    distance: Float[np.ndarray, "*shape"],
) -> Float[np.ndarray, "*shape"]:
    """Return the expected squared noise of a value at the limit whose state is at a `distance` a
    beyond the limit.

    This is 1 - a phi(a) / Phi(a), in units of the noise variance. [EM algorithm]
    """
    return 1 - distance * expected_noise(distance)


def _log_normal_share(
    a: Float[np.ndarray, "*shape"],
) -> tuple[Float[np.ndarray, "*shape"], Float[np.ndarray, "*shape"]]:
    """Return log Phi(a) and phi(a) / Phi(a)."""
    from scipy.special import log_ndtr

    log_share = np.asarray(log_ndtr(a))
    return log_share, np.exp(-(a**2) / 2 - log_share) / np.sqrt(2 * np.pi)
