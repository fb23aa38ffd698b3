"""Axis letters and array aliases.

N samples, n states, m inputs, V variables (states and inputs), c outputs, K library features,
H basis functions of the augmentation, T times, R runs. Checked at run time in the tests.
"""

import numpy as np
from jaxtyping import Bool, Float, Int

Times = Float[np.ndarray, " N"]
States = Float[np.ndarray, "N n"]
Variables = Float[np.ndarray, "N V"]
Targets = Float[np.ndarray, "N c"]
Features = Float[np.ndarray, "N K"]
Coefficients = Float[np.ndarray, "c K"]
Mask = Bool[np.ndarray, "c K"]
Rows = Int[np.ndarray, " N"]

__all__ = [
    "Coefficients",
    "Features",
    "Mask",
    "Rows",
    "States",
    "Targets",
    "Times",
    "Variables",
]
