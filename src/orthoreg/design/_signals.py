"""Candidate starts and input signals. Every call with the same arguments returns the same ones."""

from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float

from . import _limits as limits


@final
@dataclass(frozen=True)
class Band:
    """The limits of an input: amplitude, and highest frequency in cycles per time."""

    low: float
    high: float
    bandwidth: float


def spread_points(
    low: Float[np.ndarray, " n"], high: Float[np.ndarray, " n"], count: int
) -> Float[np.ndarray, "count n"]:
    """Return points of a Halton sequence in a box. Every second point is moved outwards to the
    boundary of the box, where large motions start."""
    from scipy.stats import qmc

    points = 2 * qmc.Halton(len(low), scramble=False).random(count + 1)[1:] - 1
    size = np.abs(points[1::2]).max(axis=1, keepdims=True)
    points[1::2] /= np.where(size > 0, size, 1.0)
    return low + (points + 1) / 2 * (high - low)


def signals(
    bands: list[Band], times: Float[np.ndarray, " T"], count: int, seed: int
) -> Float[np.ndarray, "count T m"]:
    """Return multisines, steps with random levels, and steps between both limits, in turn.

    A multisine has 1 to `TONES` frequencies and fills the range of its input. Steps hold each level
    for half a period of the highest frequency. Steps between both limits have the most energy.
    """
    rng = np.random.default_rng(seed)
    result = np.empty((count, len(times), len(bands)))
    t, duration = times - times[0], times[-1] - times[0]
    for k in range(count):
        for j, band in enumerate(bands):
            if k % 3:
                hold = 0.5 / band.bandwidth
                levels = rng.uniform(-1, 1, int(duration / hold) + 2)
                if k % 3 == 2:
                    levels = np.where(levels < 0, -1.0, 1.0)
                wave = levels[(t / hold + 1e-9).astype(int)]
            else:
                slowest = min(1 / duration, band.bandwidth)
                tones = int(rng.integers(1, limits.TONES + 1))
                rates = slowest * (band.bandwidth / slowest) ** rng.uniform(size=tones)
                phases = rng.uniform(0, 2 * np.pi, tones)
                wave = np.sin(2 * np.pi * rates * t[:, None] + phases).sum(axis=1)
                wave = wave / max(float(np.abs(wave).max()), 1e-300)
            result[k, :, j] = (band.low + band.high) / 2 + wave * (band.high - band.low) / 2
    return result
