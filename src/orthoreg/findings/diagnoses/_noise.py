"""Noise that is large for what differentiation can take, and values without a derivative."""

import numpy as np
from jaxtyping import Float

from .. import _limits as limits
from .._summary import Advice
from .._words import listed, percent


def noise(
    names: tuple[str, ...],
    level: Float[np.ndarray, " n"],
    slope_noise: Float[np.ndarray, " n"],
    rates: tuple[str, ...] | None = None,
) -> Advice | None:
    """Advice where some state's noise is large, or large in its derivative.

    `level` is the noise of each state over its standard deviation, `slope_noise` what it leaves in
    the estimated derivative over that derivative's size; `rates` name what it is the derivative
    of, where that is not the state. A state with more noise than motion in its differences is not
    called noisy: its consecutive values are unrelated at this step, as in a discrete map.
    """
    unrelated = np.flatnonzero(level > limits.UNRELATED_NOISE)
    if unrelated.size:
        states = listed([names[i] for i in unrelated])
        return Advice(
            "few-rows",
            f"Consecutive values of {states} are hardly related: the samples are too far apart for "
            f"a differential equation, or {'they come' if unrelated.size > 1 else 'it comes'} from "
            f"a discrete map. Sample more often.",
        )
    loud = np.flatnonzero(
        (level > limits.LARGE_NOISE)
        | ((slope_noise > limits.LARGE_SLOPE_NOISE) & (level > limits.MIN_NOISE))
    )
    if not loud.size:
        return None
    loud = loud[np.argsort(-level[loud], kind="stable")]
    states = listed([f"{names[i]} ({percent(float(level[i]))})" for i in loud])
    worst = int(max(loud, key=lambda i: slope_noise[i]))
    return Advice(
        "noise",
        f"The noise in {states}, relative to the standard deviation, leaves an uncertainty of "
        f"{percent(float(slope_noise[worst]))} in the estimated {(rates or names)[worst]}'. "
        f"Measure more runs, or repeat runs and average them.",
    )
