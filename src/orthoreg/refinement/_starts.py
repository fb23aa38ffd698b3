"""Where noisy runs begin."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from ..data import Dataset
from ..field.hybrid import HybridField
from . import _limits as limits
from ._constants import Constants
from ._lifted import match_starts
from ._problem import Problem
from ._segments import from_rows


def starting_states(
    field: HybridField, data: Dataset, interpolation: Mapping[str, str]
) -> Float[np.ndarray, "R n"]:
    """For each run the initial state from which the field follows its first rows best, the states
    that were measured counting in their own noise; where none is found, the smoothed first row."""
    spread = data.states.std(axis=0)
    sizes = np.where(spread > 0, spread, 1.0)
    measured = data.is_measured
    problem = Problem(field, Constants.none(), data, dict(interpolation), sizes, measured)
    sigma = np.where(
        measured, np.maximum(data.plan.noise, limits.START_LEAST_NOISE * sizes), np.inf
    )
    begins = data.offsets[:-1]
    length = int(
        np.clip(
            limits.START_SHARE * data.run_lengths.max(),
            limits.START_LEAST_STEPS,
            limits.START_STEPS,
        )
    )
    segments = from_rows(data, begins, length)
    guess = np.moveaxis(data.plan.smoothed[segments.rows], 2, 1)
    none = np.zeros(0)
    with np.errstate(all="ignore"):
        substeps = problem.substeps(none, guess[0], guess, segments, limits.START_ACCURACY * sizes)
        return match_starts(
            problem, segments, substeps, guess, sigma, most=limits.START_EVALUATIONS
        ).T  # fmt: skip
