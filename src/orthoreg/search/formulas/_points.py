"""Points within and around the data, at which functions are compared."""

import numpy as np
from jaxtyping import Float

from ...data import Extent

_REACH = 1.5  # times the ranges of the data, within which candidates are compared
_POINTS = 2000


def points_around(extent: Extent) -> Float[np.ndarray, "P V"]:
    """Points drawn within one and a half times the range of the data; a variable of one sign keeps
    it."""
    middle, half = (extent.high + extent.low) / 2, (extent.high - extent.low) / 2
    low, high = middle - _REACH * half, middle + _REACH * half
    low, high = extent.with_signs(np.stack([low, high]))
    return np.random.default_rng(0).uniform(low, high, (_POINTS, len(middle)))
