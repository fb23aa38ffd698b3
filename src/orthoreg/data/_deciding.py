"""The runs on which choices are made that need no more than some of the data."""

import numpy as np
from jaxtyping import Int

from ..smoothing import FEWEST_POINTS

DECIDING = 2**17
"""The rows, in whole runs, on which a choice is made that needs no more: how noisy the data are,
how to differentiate them, whether a residual forecasts."""
_BLOCKS = 16  # places that these runs come from


def deciding_runs(lengths: Int[np.ndarray, " R"]) -> Int[np.ndarray, " S"]:
    """Runs that hold about 131,072 rows, from some places spread evenly over all, and the shortest
    runs, which limit what can be done with all: all runs where these hold no more."""
    total, count = int(lengths.sum()), len(lengths)
    if total <= DECIDING:
        return np.arange(count)
    each = max(int(DECIDING / total * count / _BLOCKS), 1)
    begins = np.linspace(0, max(count - each, 0), _BLOCKS).astype(int)
    chosen = (begins[:, None] + np.arange(each)).ravel()
    long = np.where(lengths >= FEWEST_POINTS, lengths, total)
    both = np.concatenate([chosen, [np.argmin(lengths), np.argmin(long)]])
    return np.unique(both[both < count])
