"""`Extent`: where rows lie, in sums that add up over chunks: the first pass over the data."""

import operator
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, final

import numpy as np
from jaxtyping import Float, UInt64

_BLOCK = 65_536
_SAMPLED = 2**17  # rows that are kept as a sample: all of them where they are fewer
_FLAT = 1e-8  # a direction with less of the largest variance has no extent
_ROUNDING = 1e-12  # of a variable's size


@final
@dataclass(frozen=True, eq=False)
class Extent:
    """Number, mean, second moments about it, range and a bounded sample of rows.

    `a + b` is the extent of both, whatever the chunks were. The sample holds the rows whose
    numbers, hashed, are least: a fair draw that does not depend on how the rows were cut. So
    quantiles are exact up to 131,072 rows and those of that many draws beyond.
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
        """That of these rows, whose numbers in the whole data are these, or begin with `first`."""
        if numbers is None:
            numbers = np.arange(first, first + len(variables), dtype=np.uint64)
        priority = hashed(numbers)
        kept = _least(priority)
        blocks = [cls._sums(variables[i : i + _BLOCK]) for i in range(0, len(variables), _BLOCK)]
        whole = reduce(operator.add, blocks)
        return replace(whole, sample=variables[kept], priority=priority[kept])

    @classmethod
    def _sums(cls, variables: Float[np.ndarray, "N V"]) -> "Extent":
        """All but the sample. A few columns are summed up far faster when each is contiguous."""
        columns = np.ascontiguousarray(variables.T)
        mean, low, high = columns.mean(axis=1), columns.min(axis=1), columns.max(axis=1)
        away = columns - mean[:, None]
        none = np.zeros(0, dtype=np.uint64)
        return cls(len(variables), mean, away @ away.T, low, high, variables[:0], none)

    def __add__(self, other: "Extent") -> "Extent":
        count = self.count + other.count
        step = other.mean - self.mean
        sample = np.concatenate([self.sample, other.sample])
        priority = np.concatenate([self.priority, other.priority])
        kept = _least(priority)
        return Extent(
            count,
            self.mean + step * (other.count / count),
            self.square + other.square + np.outer(step, step) * (self.count * other.count / count),
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            sample[kept],
            priority[kept],
        )

    @property
    def varies(self) -> np.ndarray:
        """Which variables have more than one value, rounding aside: means over windows round."""
        size = np.maximum(np.abs(self.high), np.abs(self.low))
        return (self.high - self.low > _ROUNDING * size) & (np.diag(self.square) > 0)

    @property
    def spread(self) -> Float[np.ndarray, " V"]:
        """Standard deviations; one for a variable that does not vary."""
        deviation = np.sqrt(np.diag(self.square) / self.count)
        return np.where(self.varies, deviation, 1.0)

    @property
    def range(self) -> Float[np.ndarray, "2 V"]:
        """The least and the largest value of each variable."""
        return np.stack([self.low, self.high])

    def signed(self, points: Float[np.ndarray, "N V"], reach: Float[np.ndarray, " V"]) -> "Extent":
        """The extent with variables of one sign where these points and the rows are at most as far
        beyond zero as `reach`, which is what noise explains. Such points are in its sample."""
        low, high = (
            np.minimum(self.low, points.min(axis=0)),
            np.maximum(self.high, points.max(axis=0)),
        )
        positive = (low < 0) & (low >= -reach) & (high > reach)
        negative = (high > 0) & (high <= reach) & (low < -reach)
        beyond = ((points < 0) & positive) | ((points > 0) & negative)
        crossing = points[beyond.any(axis=1)]
        return replace(
            self,
            low=np.where(positive, np.maximum(self.low, 0.0), self.low),
            high=np.where(negative, np.minimum(self.high, 0.0), self.high),
            sample=np.concatenate([self.sample, crossing]),
            priority=np.concatenate([self.priority, np.zeros(len(crossing), np.uint64)]),
        )

    def with_signs(self, points: Float[np.ndarray, "N V"]) -> Float[np.ndarray, "N V"]:
        """Points at which variables that have one sign keep it."""
        least = np.where(self.low >= 0, 0.0, -np.inf)
        largest = np.where(self.high <= 0, 0.0, np.inf)
        return np.clip(points, least, largest)

    def distance(self, variables: Float[np.ndarray, "N V"]) -> Float[np.ndarray, " N"]:
        """How far out each row is: the Mahalanobis distance from the mean."""
        moving = np.flatnonzero(self.varies)
        if not len(moving):
            return np.zeros(len(variables))
        scale = self.spread[moving]
        covariance = self.square[np.ix_(moving, moving)] / self.count / np.outer(scale, scale)
        values, vectors = np.linalg.eigh(covariance)
        wide = values > _FLAT * values[-1]
        turn = vectors[:, wide] / np.sqrt(values[wide]) / scale[:, None]
        return np.sqrt((((variables[:, moving] - self.mean[moving]) @ turn) ** 2).sum(axis=1))


def _least(priority: UInt64[np.ndarray, " N"]) -> Any:
    """Which rows stay in the sample, in their order."""
    if len(priority) <= _SAMPLED:
        return slice(None)
    return np.sort(np.argpartition(priority, _SAMPLED)[:_SAMPLED])


def hashed(numbers: UInt64[np.ndarray, " N"]) -> UInt64[np.ndarray, " N"]:
    """Numbers spread evenly over 64 bits (the finaliser of SplitMix64)."""
    with np.errstate(over="ignore"):
        z = (numbers + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z ^= z >> np.uint64(30)
        z *= np.uint64(0xBF58476D1CE4E5B9)
        z ^= z >> np.uint64(27)
        z *= np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
        return z
