"""Candidate starts and input signals. Every call with the same arguments returns the same ones."""

from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float

from . import _limits as limits

KINDS = ("a multisine", "random steps", "full steps")
"""Kinds of input signals. Candidate k has the kind k modulo 3."""


@final
@dataclass(frozen=True)
class Band:
    """The limits of an input: lowest and highest value, highest frequency in cycles per time, and
    largest change per time."""

    low: float
    high: float
    bandwidth: float
    rate: float = np.inf


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

    A multisine has 1 to `TONES` frequencies and fills the range of its input, or less if the rate
    is limited. Steps hold each level for half a period of the highest frequency. If the rate is
    limited, they are ramps, and steps between both limits last until these are reached. Steps
    between both limits have the most energy.
    """
    rng = np.random.default_rng(seed)
    result = np.empty((count, len(times), len(bands)))
    t, duration = times - times[0], times[-1] - times[0]
    for k in range(count):
        for j, band in enumerate(bands):
            if k % 3:
                hold = 0.5 / band.bandwidth
                if k % 3 == 2:
                    hold = max(hold, (band.high - band.low) / band.rate)
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
    for j, band in enumerate(bands):
        if np.isfinite(band.rate):
            result[:, :, j] = _within_rate(result[:, :, j], band, np.diff(times))
    return result


def _within_rate(
    waves: Float[np.ndarray, "count T"], band: Band, steps: Float[np.ndarray, " T-1"]
) -> Float[np.ndarray, "count T"]:
    """Return signals that change by at most the rate times the step between rows. Multisines are
    scaled down, and the levels of steps are approached in ramps."""
    result, middle = waves.copy(), (band.low + band.high) / 2
    fastest = (np.abs(np.diff(waves[::3])) / steps).max(axis=1, keepdims=True)
    shrink = np.minimum(1.0, band.rate / np.maximum(fastest, 1e-300))
    result[::3] = middle + shrink * (waves[::3] - middle)
    is_step = np.arange(len(waves)) % 3 != 0
    for i, step in enumerate(steps):
        before = result[is_step, i]
        change = np.clip(waves[is_step, i + 1] - before, -band.rate * step, band.rate * step)
        result[is_step, i + 1] = before + change
    return result
