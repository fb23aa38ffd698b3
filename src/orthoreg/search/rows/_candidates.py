"""Which terms of the default library are candidates at all, given where the data lie."""

import math
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from ...terms import evaluate, parameters_of, sine_argument
from . import _limits as limits


def short_sines(
    features: Any, range_of: Float[np.ndarray, "2 V"], share: float | None = None
) -> Bool[np.ndarray, " K"]:
    """The sines and cosines whose argument covers less than `share` of a period on the data, by
    default `MIN_PERIOD_SHARE`.

    There sin(x) is x and a little of x**3, and the data say next to nothing of an angle. The
    families' arguments are multiples of one variable, which `range_of` gives the ends of. A term
    with a parameter was written down by somebody, and stays.
    """
    share = limits.MIN_PERIOD_SHARE if share is None else share
    short = np.zeros(len(features.terms), dtype=bool)
    for k, term in enumerate(features.terms):
        argument = sine_argument(term)
        if argument is not None and not parameters_of(argument):
            with np.errstate(all="ignore"):
                ends = evaluate(argument, range_of.T, np)
            short[k] = np.ptp(ends) < share * 2 * math.pi
    return short
