"""`Extent`: mean, range and a bounded sample of rows. Also selects subsamples of runs."""

import operator
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from typing import Any, final

import numpy as np
from jaxtyping import Float, Int, UInt64

from ..smoothing import MIN_POLYNOMIAL_ROWS
from . import _limits as limits

_BLOCK = 65_536  # rows that are summed in one block


@final
@dataclass(frozen=True, eq=False)
class Extent:
    """Number, mean, second moments, range and a bounded sample of rows.

    `a + b` is the extent of all rows, however they are divided into chunks. The sample holds the
    rows with the lowest hashed numbers, a random sample that does not depend on the chunks.
    Quantiles are exact for up to 131,072 rows.
    """

    count: int
    mean: Float[np.ndarray, " V"]
    square: Float[np.ndarray, "V V"]
    low: Float[np.ndarray, " V"]
    high: Float[np.ndarray, " V"]
    sample: Float[np.ndarray, "S V"]
    priority: UInt64[np.ndarray, " S"]

    @classmethod
    def of(
        cls,
        variables: Float[np.ndarray, "N V"],
        first: int = 0,
        *,
        numbers: UInt64[np.ndarray, " N"] | None = None,
    ) -> "Extent":
        """Return the extent of rows with these `numbers`, or numbered consecutively from
        `first`.
        """
        if numbers is None:
            numbers = np.arange(first, first + len(variables), dtype=np.uint64)
        priority = hashed(numbers)
        rows = _sampled_rows(priority)
        blocks = [cls._sums(variables[i : i + _BLOCK]) for i in range(0, len(variables), _BLOCK)]
        total = reduce(operator.add, blocks)
        return replace(total, sample=variables[rows], priority=priority[rows])

    @classmethod
    def _sums(cls, variables: Float[np.ndarray, "N V"]) -> "Extent":
        """Return an extent without a sample. Contiguous columns make sums much faster."""
        columns = np.ascontiguousarray(variables.T)
        mean, low, high = columns.mean(axis=1), columns.min(axis=1), columns.max(axis=1)
        deviation = columns - mean[:, None]
        empty = np.zeros(0, dtype=np.uint64)
        return cls(len(variables), mean, deviation @ deviation.T, low, high, variables[:0], empty)

    def __add__(self, other: "Extent") -> "Extent":
        count = self.count + other.count
        shift = other.mean - self.mean
        sample = np.concatenate([self.sample, other.sample])
        priority = np.concatenate([self.priority, other.priority])
        rows = _sampled_rows(priority)
        return Extent(
            count,
            self.mean + shift * (other.count / count),
            self.square
            + other.square
            + np.outer(shift, shift) * (self.count * other.count / count),
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            sample[rows],
            priority[rows],
        )

    @property
    def varies(self) -> np.ndarray:
        """Whether each variable varies by more than rounding."""
        size = np.maximum(np.abs(self.high), np.abs(self.low))
        return (self.high - self.low > limits.ROUNDING * size) & (np.diag(self.square) > 0)

    @property
    def std(self) -> Float[np.ndarray, " V"]:
        """The standard deviations, or 1 for a variable that does not vary."""
        deviation = np.sqrt(np.diag(self.square) / self.count)
        return np.where(self.varies, deviation, 1.0)

    @property
    def range(self) -> Float[np.ndarray, "2 V"]:
        """The minimum and maximum of each variable."""
        return np.stack([self.low, self.high])

    def signed(self, points: Float[np.ndarray, "N V"], reach: Float[np.ndarray, " V"]) -> "Extent":
        """Return the extent with variables marked as having one sign if only noise makes them cross
        zero.

        A variable is marked if these points and the rows cross zero by at most `reach`. The points
        that cross are added to the sample.
        """
        low, high = (
            np.minimum(self.low, points.min(axis=0)),
            np.maximum(self.high, points.max(axis=0)),
        )
        positive = (low < 0) & (low >= -reach) & (high > reach)
        negative = (high > 0) & (high <= reach) & (low < -reach)
        is_beyond = ((points < 0) & positive) | ((points > 0) & negative)
        crossing = points[is_beyond.any(axis=1)]
        return replace(
            self,
            low=np.where(positive, np.maximum(self.low, 0.0), self.low),
            high=np.where(negative, np.minimum(self.high, 0.0), self.high),
            sample=np.concatenate([self.sample, crossing]),
            priority=np.concatenate([self.priority, np.zeros(len(crossing), np.uint64)]),
        )

    def with_signs(self, points: Float[np.ndarray, "N V"]) -> Float[np.ndarray, "N V"]:
        """Return the points with variables that have one sign clipped at zero."""
        lower = np.where(self.low >= 0, 0.0, -np.inf)
        upper = np.where(self.high <= 0, 0.0, np.inf)
        return np.clip(points, lower, upper)

    def distance(self, variables: Float[np.ndarray, "N V"]) -> Float[np.ndarray, " N"]:
        """Return the Mahalanobis distance of each row from the mean."""
        varying = np.flatnonzero(self.varies)
        if not len(varying):
            return np.zeros(len(variables))
        scale = self.std[varying]
        covariance = self.square[np.ix_(varying, varying)] / self.count / np.outer(scale, scale)
        values, vectors = np.linalg.eigh(covariance)
        is_wide = values > limits.MIN_RELATIVE_VARIANCE * values[-1]
        rotation = vectors[:, is_wide] / np.sqrt(values[is_wide]) / scale[:, None]
        return np.sqrt((((variables[:, varying] - self.mean[varying]) @ rotation) ** 2).sum(axis=1))


def _sampled_rows(priority: UInt64[np.ndarray, " N"]) -> Any:
    """Return the indices of the rows that remain in the sample, in their original order."""
    if len(priority) <= limits.EXTENT_SAMPLE:
        return slice(None)
    return np.sort(np.argpartition(priority, limits.EXTENT_SAMPLE)[: limits.EXTENT_SAMPLE])


def hashed(numbers: UInt64[np.ndarray, " N"]) -> UInt64[np.ndarray, " N"]:
    """Return numbers hashed to 64 bits (the finaliser of SplitMix64)."""
    with np.errstate(over="ignore"):
        z = (numbers + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z ^= z >> np.uint64(30)
        z *= np.uint64(0xBF58476D1CE4E5B9)
        z ^= z >> np.uint64(27)
        z *= np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
        return z


def subsample_runs(lengths: Int[np.ndarray, " R"]) -> Int[np.ndarray, " S"]:
    """Return the indices of runs with about 131,072 rows in total, or of all runs if there are
    fewer.

    The runs come from evenly spaced blocks. The shortest runs are included, because they limit the
    methods that apply to all runs.
    """
    total, count = int(lengths.sum()), len(lengths)
    if total <= limits.SUBSAMPLE_ROWS:
        return np.arange(count)
    runs_per_block = max(int(limits.SUBSAMPLE_ROWS / total * count / limits.SUBSAMPLE_BLOCKS), 1)
    starts = np.linspace(0, max(count - runs_per_block, 0), limits.SUBSAMPLE_BLOCKS).astype(int)
    chosen = (starts[:, None] + np.arange(runs_per_block)).ravel()
    long_lengths = np.where(lengths >= MIN_POLYNOMIAL_ROWS, lengths, total)
    candidates = np.concatenate([chosen, [np.argmin(lengths), np.argmin(long_lengths)]])
    return np.unique(candidates[candidates < count])


def spaced(count: int, max_count: int) -> Int[np.ndarray, " _"]:
    """Return at most `max_count` of the integers below `count`, the middles of parts of equal size.

    The first and the last integer are not preferred: among sorted runs, they are the run nearest to
    the mean and the farthest one, which are not typical.
    """
    parts = min(count, max_count)
    return ((np.arange(parts) + 0.5) / max(parts, 1) * count).astype(int)


def content_order(
    values: Float[np.ndarray, "N C"], offsets: Int[np.ndarray, " R_plus_1"]
) -> Int[np.ndarray, " R"]:
    """Return the order of runs by the distance of their first and last rows from the mean.

    The result does not depend on the given order of runs. It does not depend on the units and the
    order of columns either, because these change distances only by rounding errors. Runs at the
    same distance are ordered by their values.
    """
    first, last = offsets[:-1], offsets[1:] - 1
    ends = np.hstack([values[first], values[last]])
    ordered = np.sort(ends, axis=0)  # sums in the given order of runs would round differently
    center, spread = ordered.mean(axis=0), ordered.std(axis=0)
    varies = ordered[0] < ordered[-1]
    distance = np.square((ends - center)[:, varies] / spread[varies]).sum(axis=1)
    keys = [
        (float(f"{square:.{limits.ORDER_DIGITS}g}"), length, row)
        for square, length, row in zip(
            distance.tolist(), (last - first).tolist(), ends.tolist(), strict=True
        )
    ]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    if any(keys[i] == keys[j] for i, j in pairwise(order)):
        whole = [values[i : j + 1].ravel().tolist() for i, j in zip(first, last, strict=True)]
        order.sort(key=lambda r: (keys[r], whole[r]))
    return np.array(order)
