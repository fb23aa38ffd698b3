"""Which terms of the default library are candidates at all, given where the data lie."""

import math
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from ..libraries import evaluate, sine_argument

_LEAST_PERIOD = 0.25  # that a column must cover for its sine and cosine to be candidates


def short_sines(features: Any, variables: Float[np.ndarray, "N V"]) -> Bool[np.ndarray, " K"]:
    """The sines and cosines whose argument covers less than a quarter of a period on the data.

    There sin(x) is x and a little of x**3, and the data say next to nothing of an angle.
    """
    short = np.zeros(len(features.terms), dtype=bool)
    for k, term in enumerate(features.terms):
        argument = sine_argument(term)
        if argument is not None:
            with np.errstate(all="ignore"):
                values = evaluate(argument, variables.T, np)
            short[k] = np.ptp(values) < _LEAST_PERIOD * 2 * math.pi
    return short
