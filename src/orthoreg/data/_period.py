"""Periods of oscillating states, in rows."""

import numpy as np
from jaxtyping import Float

from . import _limits as limits
from ._dataset import Dataset


def rows_per_period(data: Dataset) -> Float[np.ndarray, " n"]:
    """Return the number of rows per oscillation of each state.

    It is infinite if the state crosses its mean fewer than two times.

    A crossing counts once the state is a quarter of its standard deviation beyond the mean, so that
    noise does not cause crossings.
    """
    spread = data.states.std(axis=0)
    offset = data.states - data.states.mean(axis=0)
    side = np.where(np.abs(offset) > limits.CROSSING_DISTANCE * spread, np.sign(offset), 0.0)
    periods = np.full(data.n_states, np.inf)
    for state in range(data.n_states):
        decided = np.flatnonzero(side[:, state])
        turns = side[decided[1:], state] != side[decided[:-1], state]
        same_run = data.run_of_row[decided[1:]] == data.run_of_row[decided[:-1]]
        crossings = int((turns & same_run).sum())
        if crossings >= 2:
            periods[state] = 2 * data.n_samples / crossings
    return periods
