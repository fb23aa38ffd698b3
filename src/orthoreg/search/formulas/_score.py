"""One score for every candidate of one data set, in nats: less is better."""

from typing import Any

import numpy as np

TEMPERED = 60.0
"""Rows that count where the misfit of windows is no more than noise."""
_CLEAR = 2.0  # times the variance of the noise, above which every row counts
_LEAST = 0.4  # of that: a better fit than noise allows tells nothing


def misfit_nats(mse: Any, noise: float, count: float, reliable: float = TEMPERED) -> Any:
    """The negative log-likelihood of residuals of unknown size, N/2 log(mse), from where they are
    twice the variance of the noise. Below, where models differ by chance and by what smoothing
    left, at most as many rows count as are `reliable`."""
    nats = np.log(np.maximum(np.asarray(mse) / (_CLEAR * noise), _LEAST))
    return 0.5 * np.where(nats > 0, count, min(count, reliable)) * nats
