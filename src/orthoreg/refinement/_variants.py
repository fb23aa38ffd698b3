"""Forecasts of many sets of coefficients at once."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float, Int

from ..data import Dataset
from ..libraries import FeatureMap
from ..simulation import run_inputs
from ._segments import from_rows, input_nodes
from ._shooting import box_around, shoot

_MOST_SUBSTEPS = 32
_ACCURACY = 0.002  # standard deviations of a state, that halved steps may change it


def forecast_variants(
    features: FeatureMap,
    coefficients: Float[np.ndarray, "M n K"],
    data: Dataset,
    runs: Int[np.ndarray, " R"],
    starts: Float[np.ndarray, "R n"],
    interpolation: Mapping[str, str],
    *,
    most_steps: int = 300,
) -> Float[np.ndarray, "M R T n"]:
    """The states of these runs from their starts by each set of coefficients, without a residual;
    NaN from where one runs away, and behind the end of a run.

    Steps are fixed, and so small that the first set is followed well; a run of more than
    `most_steps` rows is followed over so many.
    """
    parts = (data, runs, starts, interpolation, most_steps)
    substeps, coarse = 1, _followed(features, coefficients[:1], *parts, 1)[0]
    spread = np.maximum(data.states.std(axis=0), 1e-300)
    while True:
        substeps *= 2
        every = _followed(features, coefficients, *parts, substeps)  # hardly slower than the first
        fine = every[0]
        with np.errstate(invalid="ignore"):
            apart = np.abs(fine - coarse) / spread
        alike = np.array_equal(np.isnan(fine), np.isnan(coarse)) and np.nanmax(apart) < _ACCURACY
        if alike or substeps >= _MOST_SUBSTEPS:
            return every
        coarse = fine


def _followed(
    features: FeatureMap,
    coefficients: Float[np.ndarray, "M n K"],
    data: Dataset,
    runs: Int[np.ndarray, " R"],
    starts: Float[np.ndarray, "R n"],
    interpolation: Mapping[str, str],
    most_steps: int,
    substeps: int,
) -> Float[np.ndarray, "M R T n"]:
    count = len(coefficients)
    segments = from_rows(data, np.tile(data.offsets[runs], count), most_steps)
    nodes = input_nodes(data, run_inputs(data, interpolation), segments, substeps)
    used = np.flatnonzero((coefficients != 0).any(axis=(0, 1)))
    terms = features.only([int(k) for k in used])
    weights = np.repeat(np.moveaxis(coefficients[:, :, used], 0, 2), len(runs), axis=2)  # n K B

    def slope(z: Float[np.ndarray, "V B"]) -> Float[np.ndarray, "n B"]:
        theta = np.empty((len(terms.terms), z.shape[1]))
        for row, column in zip(theta, terms.columns(z, np), strict=True):
            row[:] = column
        theta[~np.isfinite(theta)] = 1e300  # what an equation does not use may be infinite
        return np.einsum("nkb,kb->nb", weights, theta)

    begin = np.tile(starts, (count, 1)).T
    box = box_around(data.states)
    states = shoot(slope, begin, segments, nodes, substeps, box).states
    # a trajectory that left the box begins anew in its middle: nothing from there on
    middle = ((box.low + box.high) / 2)[None]
    ran_away = np.cumsum((states == middle).all(axis=1), axis=0) > 0
    gone = ran_away | (segments.weight == 0) | ~np.isfinite(states).all(axis=1)
    states = np.where(gone[:, None], np.nan, states)
    return np.moveaxis(states, (0, 1, 2), (1, 2, 0)).reshape(count, len(runs), *states.shape[:2])
