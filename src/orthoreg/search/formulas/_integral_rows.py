"""Rows of the integral form x(t) = x(t_0) + int f: all that noisy samples tell."""

from typing import Any, NamedTuple, final

import numpy as np
from jaxtyping import Float, Int

from ...data import Dataset, Extent
from ...losses import Automatic
from .._proposals import antiderivative, stretch_of_row
from ._measurements import Measurements
from ._window_rows import FLOOR, sides_of


@final
class Samples(NamedTuple):
    """What was measured, and the variance of its noise, which may grow with the state."""

    values: Float[np.ndarray, "N n"]
    variance: Float[np.ndarray, "N n"]

    @classmethod
    def of(cls, data: Dataset) -> "Samples":
        return cls(data.states, data.plan.variance + (FLOOR * data.states.std(axis=0)) ** 2)

    def misfit(self, states: Float[np.ndarray, "N n"]) -> Float[np.ndarray, " n"]:
        """How far states are from what was measured, in variances of the noise."""
        return np.mean((self.values - states) ** 2 / self.variance, axis=0)


def integral_rows(
    data: Dataset, samples: Samples, states: Float[np.ndarray, "N n"], most: int
) -> Measurements:
    """Every sample, or means of a few, as a row: what was measured against the integral of a
    function of these states since the begin of its stretch, whose start is free.

    Unlike in windows, noise is not correlated from row to row, and small errors of a right-hand
    side add up to what can be seen. So do errors of the states, which therefore must not be those
    that smoothing leaves.
    """
    import scipy.sparse as sparse

    stretch = stretch_of_row(data)
    bounds = np.flatnonzero(np.diff(stretch, prepend=-1, append=stretch[-1] + 1))
    blocks = [
        antiderivative(data.times[i:j], np.eye(j - i))
        for i, j in zip(bounds[:-1], bounds[1:], strict=True)
    ]
    mean = _means(stretch, max(-(-data.n_samples // most), 1))
    variance = samples.variance * samples.misfit(states)  # what the model leaves is noise
    points = states if data.inputs is None else np.hstack([states, data.inputs])
    own = stretch[np.asarray(mean.argmax(axis=1)).ravel()]
    return Measurements(
        points,
        mean @ sparse.block_diag(blocks, format="csr"),
        np.asarray(mean @ samples.values),
        np.sqrt(np.asarray(mean.multiply(mean) @ variance)),
        np.asarray(mean @ points),
        own,
        data.variable_names,
        data.state_names,
        tuple(c for c in range(data.n_states) if c not in data.given_rates),
        float(len(own)),
        Extent.of(points),
        Automatic().slopes(data),
        data.schema.time_index,
        given=dict(data.given_rates),
        sides=sides_of(points, data),
        stretch=own,
        reliable=float(len(own)),
    )


def _means(stretch: Int[np.ndarray, " N"], each: int) -> Any:
    """The matrix that takes the mean of every few samples, within their stretch."""
    import scipy.sparse as sparse

    begin = np.flatnonzero(np.diff(stretch, prepend=-1))
    place = np.arange(len(stretch)) - np.repeat(begin, np.diff(begin, append=len(stretch)))
    row = np.cumsum(place % each == 0) - 1
    count = np.bincount(row)
    return sparse.csr_array((1 / count[row], (row, np.arange(len(row)))), (len(count), len(row)))
