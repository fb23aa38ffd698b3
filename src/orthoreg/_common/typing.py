"""Axis letters, and aliases for shapes that several layers share.

N samples, n states, m inputs, V variables (states and inputs), c outputs, K library features,
H basis functions of the augmentation, T times, R runs, B rows of a block or starts of a batch.
Checked at run time in the tests.
"""

import numpy as np
from jaxtyping import Bool

Mask = Bool[np.ndarray, "c K"]
"""Which equation may use which library term."""

__all__ = ["Mask"]
