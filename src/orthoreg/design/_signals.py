"""Candidate initial states and input signals. The same arguments always give the same result."""

from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float, Int

from . import _limits as limits

KINDS = ("a multisine", "random steps", "full steps", "steps and sines")
"""Kinds of input signals. Signal k is of the kind k modulo 3. Only variants are of the last
kind."""


@final
@dataclass(frozen=True)
class Band:
    """The limits of an input.

    These are the lowest and highest value, the highest frequency in cycles per time, and the
    largest change per time.
    """

    low: float
    high: float
    bandwidth: float
    rate: float = np.inf


@final
@dataclass(frozen=True, eq=False)
class PlannedRuns:
    """Starts and input signals of runs, and the kind of these signals."""

    starts: Float[np.ndarray, "R n"]
    inputs: Float[np.ndarray, "R T m"] | None
    kinds: Int[np.ndarray, " R"]


@final
@dataclass(frozen=True, eq=False)
class RunLimits:
    """Limits of planned runs: their times, the ranges of their starts, and the limits of their
    inputs.
    """

    times: Float[np.ndarray, " T"]
    low: Float[np.ndarray, " n"]
    high: Float[np.ndarray, " n"]
    bands: list[Band]

    def spread_runs(self, seed: int, count: int = limits.CANDIDATES) -> PlannedRuns:
        """Return runs that are spread over everything within the limits."""
        starts = spread_points(self.low, self.high, count)
        inputs = signals(self.bands, self.times, count, seed) if self.bands else None
        return PlannedRuns(starts, inputs, np.arange(count) % 3)

    def with_variants(self, runs: PlannedRuns, seed: tuple[int, int]) -> PlannedRuns:
        """Return these runs and `VARIANTS` runs that resemble each of them.

        `seed` contains the seed and the number of the round. The moves of starts become smaller in
        each round. In a random interval, inputs are replaced by a part of a new signal; the
        interval consists of half periods of the highest frequency. If there are inputs, half of the
        variants keep their start.
        """
        rng = np.random.default_rng(seed)
        parents = np.repeat(np.arange(len(runs.starts)), limits.VARIANTS)
        size = limits.MAX_MOVE * 0.5 ** (4 * seed[1] / limits.ROUNDS) * (self.high - self.low)
        moves = size * rng.standard_normal((len(parents), len(self.low)))
        inputs, kinds = runs.inputs, runs.kinds[parents]
        if inputs is not None:
            moves[rng.uniform(size=len(parents)) < 0.5] = 0.0
            changed = inputs[parents].copy()
            parts = signals(self.bands, self.times, len(parents), int(rng.integers(2**31)))
            for j, band in enumerate(self.bands):
                changed[:, :, j] = _spliced(changed[:, :, j], parts[:, :, j], band, self.times, rng)
            inputs, kinds = np.concatenate([inputs, changed]), _mixed(kinds)
        starts = np.clip(runs.starts[parents] + moves, self.low, self.high)
        return PlannedRuns(
            np.concatenate([runs.starts, starts]), inputs, np.concatenate([runs.kinds, kinds])
        )


def spread_points(
    low: Float[np.ndarray, " n"], high: Float[np.ndarray, " n"], count: int
) -> Float[np.ndarray, "count n"]:
    """Return points of a Halton sequence in a box.

    Every second point is moved outwards to the boundary of the box, where large motions start.
    """
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
    limited, ramps connect the levels, and steps between both limits last long enough to reach them.
    Steps between both limits have the most energy.
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
    """Return signals that change by at most the rate times the step between rows.

    Multisines are scaled down, and ramps connect the levels of steps.
    """
    result, middle = waves.copy(), (band.low + band.high) / 2
    fastest = (np.abs(np.diff(waves[::3])) / steps).max(axis=1, keepdims=True)
    shrink = np.minimum(1.0, band.rate / np.maximum(fastest, 1e-300))
    result[::3] = middle + shrink * (waves[::3] - middle)
    is_step = np.arange(len(waves)) % 3 != 0
    result[is_step] = _with_ramps(result[is_step], band, steps)
    return result


def _with_ramps(
    waves: Float[np.ndarray, "count T"], band: Band, steps: Float[np.ndarray, " T-1"]
) -> Float[np.ndarray, "count T"]:
    """Return signals that follow the given ones, but change at most at the highest rate."""
    result = waves.copy()
    for i, step in enumerate(steps):
        change = np.clip(waves[:, i + 1] - result[:, i], -band.rate * step, band.rate * step)
        result[:, i + 1] = result[:, i] + change
    return result


def _spliced(
    waves: Float[np.ndarray, "count T"],
    parts: Float[np.ndarray, "count T"],
    band: Band,
    times: Float[np.ndarray, " T"],
    rng: np.random.Generator,
) -> Float[np.ndarray, "count T"]:
    """Return the signals with `parts` inserted in a random interval of at most half of the run."""
    half_periods = (2 * band.bandwidth * (times - times[0]) + 1e-9).astype(int)
    count = half_periods[-1] + 1
    first = rng.integers(count, size=(len(waves), 1))
    length = rng.integers(1, max(count // 2, 1) + 1, size=(len(waves), 1))
    result = np.where((half_periods >= first) & (half_periods < first + length), parts, waves)
    return _with_ramps(result, band, np.diff(times)) if np.isfinite(band.rate) else result


def _mixed(kinds: Int[np.ndarray, " V"]) -> Int[np.ndarray, " V"]:
    """Return the kinds of variants: signal k is of kind kinds[k], with a part of signal k of
    `signals`.
    """
    parts = np.arange(len(kinds)) % 3
    both_steps = (kinds > 0) & (kinds < 3) & (parts > 0)
    return np.where(kinds == parts, kinds, np.where(both_steps, 1, 3))
