"""From runs to the rows that a search fits."""

import numpy as np
from jaxtyping import Float

from ...data import Dataset
from ...losses import AbstractLoss
from ._integral_rows import Samples, integral_rows
from ._measurements import MOST_ROWS, Measurements
from ._window_rows import rows_as_measurements, window_rows

_MOST_SAMPLES = 40_000
_SHORT = 25  # samples of a run, too few for windows
_FOLLOWED = 1.5  # times the variance of the noise, in every state


def measurements(
    loss: AbstractLoss,
    data: Dataset,
    states: Float[np.ndarray, "N n"] | None = None,
) -> Measurements:
    """The weak form of these runs without outliers; short ones, and derivatives that were measured,
    go by the rule of the loss. `states` are those of all rows as a model has them, if one is known:
    they have less noise than what smoothing leaves. Where they are what was measured but for noise,
    the integral form, which tells more."""
    whole, data = data, data.subsample(_MOST_SAMPLES, 2)
    if whole.n_samples > data.n_samples:
        states = None
    if data.derivatives is not None or int(np.median(data.run_lengths)) < _SHORT:
        return rows_as_measurements(loss.observe(data), MOST_ROWS, data.n_samples)
    data = data.plan.clean
    smoothed = data.plan.smoothed
    smoothed = smoothed if data.inputs is None else np.hstack([smoothed, data.inputs])
    noise = np.sqrt(data.plan.variance.mean(axis=0))
    if states is not None and not data.estimated:
        samples = Samples.of(data)
        if (samples.misfit(states) < _FOLLOWED).all():
            return integral_rows(data, samples, states, MOST_ROWS).signed(smoothed, noise)
    return window_rows(loss, data, MOST_ROWS, states).signed(smoothed, noise)
