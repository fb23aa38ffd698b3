"""`Rows`: what a problem is made of, a target for each row and the points it is about; `Extent`:
where they lie, in sums that add up over chunks; and which runs are enough to decide on.
"""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import Any, final

import numpy as np
from jaxtyping import Bool, Float, Int, UInt64

from ..smoothing import MIN_POLYNOMIAL_ROWS

_BLOCK = 65_536
_SAMPLED = 2**17  # rows that are kept as a sample: all of them where they are fewer
_FLAT = 1e-8  # a direction with less of the largest variance has no extent
_ROUNDING = 1e-12  # of a variable's size

SUBSAMPLE_ROWS = 2**17
"""The rows, in whole runs, on which a choice is made that needs no more: how noisy the data are,
how to differentiate them, whether a residual forecasts."""
_BLOCKS = 16  # places that these runs come from


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
        rows = _least(priority)
        blocks = [cls._sums(variables[i : i + _BLOCK]) for i in range(0, len(variables), _BLOCK)]
        whole = reduce(operator.add, blocks)
        return replace(whole, sample=variables[rows], priority=priority[rows])

    @classmethod
    def _sums(cls, variables: Float[np.ndarray, "N V"]) -> "Extent":
        """All but the sample. A few columns are summed up far faster when each is contiguous."""
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
        rows = _least(priority)
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
        """Which variables have more than one value, rounding aside: means over windows round."""
        size = np.maximum(np.abs(self.high), np.abs(self.low))
        return (self.high - self.low > _ROUNDING * size) & (np.diag(self.square) > 0)

    @property
    def std(self) -> Float[np.ndarray, " V"]:
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
        """Points at which variables that have one sign keep it."""
        lower = np.where(self.low >= 0, 0.0, -np.inf)
        upper = np.where(self.high <= 0, 0.0, np.inf)
        return np.clip(points, lower, upper)

    def distance(self, variables: Float[np.ndarray, "N V"]) -> Float[np.ndarray, " N"]:
        """How far out each row is: the Mahalanobis distance from the mean."""
        varying = np.flatnonzero(self.varies)
        if not len(varying):
            return np.zeros(len(variables))
        scale = self.std[varying]
        covariance = self.square[np.ix_(varying, varying)] / self.count / np.outer(scale, scale)
        values, vectors = np.linalg.eigh(covariance)
        is_wide = values > _FLAT * values[-1]
        rotation = vectors[:, is_wide] / np.sqrt(values[is_wide]) / scale[:, None]
        return np.sqrt((((variables[:, varying] - self.mean[varying]) @ rotation) ** 2).sum(axis=1))


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


def subsample_runs(lengths: Int[np.ndarray, " R"]) -> Int[np.ndarray, " S"]:
    """Runs that hold about 131,072 rows, from some places spread evenly over all, and the shortest
    runs, which limit what can be done with all: all runs where these hold no more."""
    total, count = int(lengths.sum()), len(lengths)
    if total <= SUBSAMPLE_ROWS:
        return np.arange(count)
    runs_per_block = max(int(SUBSAMPLE_ROWS / total * count / _BLOCKS), 1)
    starts = np.linspace(0, max(count - runs_per_block, 0), _BLOCKS).astype(int)
    chosen = (starts[:, None] + np.arange(runs_per_block)).ravel()
    long_lengths = np.where(lengths >= MIN_POLYNOMIAL_ROWS, lengths, total)
    candidates = np.concatenate([chosen, [np.argmin(lengths), np.argmin(long_lengths)]])
    return np.unique(candidates[candidates < count])


@final
@dataclass(frozen=True, eq=False)
class Rows:
    """Targets, row by row, with the points of state space (states, then inputs) they belong to.

    Without `windows` row i is about point i. With them (N x M, sparse) it is about many: a function
    of the points counts with the sum windows[i, j] f(points[j]), as in a weak form.

    `target_mse` is the mean squared error that each target is known to have. `times` are there
    when rows come from runs in time; they follow each other within a run. `names` are those of
    the variables, `outputs` those of the targets. `given` maps the place of an output to that of
    the variable which it equals exactly: nothing is learned about it. `clock` is the place of the
    variable that is time, if one is: only equations that are known may use it.

    `all_runs` counts the runs where the last may have no row. Rows may be a chunk of more,
    `first_run` being the number of its first run among all; then
    whatever passes over all rows does so by `total` and `each`, which `ChunkedRows` has too.
    """

    points: Float[np.ndarray, "M V"]
    targets: Float[np.ndarray, "N c"]
    run_of_row: Int[np.ndarray, " N"]
    target_mse: Float[np.ndarray, " c"]
    names: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    times: Float[np.ndarray, " N"] | None = None
    windows: Any = None
    given: Mapping[int, int] = field(default_factory=dict)
    time_index: int | None = None
    first_run: int = 0
    all_runs: int = 0

    def __len__(self) -> int:
        return len(self.targets)

    @property
    def n_points(self) -> int:
        return len(self.points)

    @property
    def n_runs(self) -> int:
        return self.all_runs or int(self.run_of_row.max()) + 1

    @cached_property
    def extent(self) -> Extent:
        """Where the rows lie: their points, or the centres of their windows."""
        return Extent.of(self.variables, numbers=self.numbers)

    @cached_property
    def point_extent(self) -> Extent:
        """Where the points lie."""
        return self.extent if self.windows is None else Extent.of(self.points)

    @property
    def run(self) -> Int[np.ndarray, " N"]:
        """The number of each row's run among all runs of the data."""
        return self.run_of_row + self.first_run

    @property
    def numbers(self) -> UInt64[np.ndarray, " N"]:
        """A number for each row that does not depend on how the data are cut into chunks."""
        index = index_in_run(self.run_of_row).astype(np.uint64)
        with np.errstate(over="ignore"):
            return hashed(self.run.astype(np.uint64)) + index

    def sum_chunks(self, function: Callable[["Rows"], Any]) -> Any:
        """The sum of a function over the chunks that the rows come in: of all at once."""
        return function(self)

    def map_chunks(self, function: Callable[["Rows"], Any]) -> list[Any]:
        """The values of a function on the chunks that the rows come in."""
        return [function(self)]

    @cached_property
    def variables(self) -> Float[np.ndarray, "N V"]:
        """Where each row is: its point, or the centre of its window."""
        if self.windows is None:
            return self.points
        share = abs(self.windows)
        return np.asarray(share @ self.points) / np.asarray(share.sum(axis=1)).reshape(-1, 1)

    def row_of_point(self) -> Int[np.ndarray, " M"]:
        """For each point the row that it counts most in."""
        if self.windows is None:
            return np.arange(len(self))
        entries = self.windows.tocoo()
        order = np.lexsort([-entries.row, entries.data, entries.col])  # of equal ones the first row
        result = np.zeros(self.n_points, dtype=int)
        result[entries.col[order]] = entries.row[order]  # the last one of a point stays
        return result

    def evaluate(
        self, function: Callable[[np.ndarray], np.ndarray], rows: Int[np.ndarray, " B"] | slice
    ) -> Float[np.ndarray, "B k"]:
        """A function of points (M x V -> M x k) at these rows."""
        if self.windows is None:
            return function(self.points[rows])
        windows, used = _of_used_points(self.windows[rows])
        return np.asarray(windows @ function(self.points[used]))

    def subsample(self, max_rows: int) -> "Rows":
        """At most about `most` rows, spread evenly over every run; all where they are fewer."""
        rows = thinned(self, max_rows)
        return self if len(rows) == len(self) else self.at(rows).compact()

    def at(self, rows: Int[np.ndarray, " M"]) -> "Rows":
        """These rows, in this order, which may repeat; they no longer follow each other in time."""
        return replace(
            self,
            points=self.points[rows] if self.windows is None else self.points,
            targets=self.targets[rows],
            run_of_row=self.run_of_row[rows],
            times=None,
            windows=None if self.windows is None else self.windows[rows],
        )

    def compact(self) -> "Rows":
        """The same rows without the points that are in none of their windows."""
        if self.windows is None:
            return self
        windows, used = _of_used_points(self.windows)
        return replace(self, points=self.points[used], windows=windows)

    def with_given(self, given: Mapping[int, int]) -> "Rows":
        """The rows with these outputs given, {output: variable}: their targets are the variables,
        without error."""
        if not given:
            return self
        outputs, variables = list(given), list(given.values())
        targets, target_mse = self.targets.copy(), self.target_mse.copy()
        rows = np.arange(len(self))
        targets[:, outputs] = self.evaluate(lambda points: points[:, variables], rows)
        target_mse[outputs] = 0.0
        return replace(self, targets=targets, target_mse=target_mse, given=dict(given))

    def only(self, rows: Bool[np.ndarray, " N"]) -> "Rows":
        """The rows that are marked, their runs numbered anew."""
        _, runs = np.unique(self.run_of_row[rows], return_inverse=True)
        chosen = self.at(np.flatnonzero(rows))
        times = None if self.times is None else self.times[rows]
        return replace(chosen, run_of_row=runs, times=times, all_runs=0)


def thinned(rows: "Rows", max_rows: int, n_total: int | None = None) -> Int[np.ndarray, " M"]:
    """At most about `most` rows, spread evenly over every run; all of them where they are fewer.
    Where the rows are a chunk, they are its share of the `of` rows that there are in all."""
    stride = -(-(len(rows) if n_total is None else n_total) // max_rows)
    if stride <= 1:
        return np.arange(len(rows))
    # runs begin at different places, so that short runs are not all seen at their first rows
    return np.flatnonzero((index_in_run(rows.run_of_row) + rows.run) % stride == 0)


def _of_used_points(windows: Any) -> tuple[Any, Int[np.ndarray, " U"]]:
    """Windows (sparse, R x M) over the points that are in some of them, and which these are: in
    time that does not grow with the points before and after."""
    first = int(windows.indices.min(initial=windows.shape[1]))
    inside = windows.indices - first
    is_used = np.bincount(inside) > 0
    indices = (np.cumsum(is_used) - 1).astype(windows.indices.dtype)
    used = first + np.flatnonzero(is_used)
    shape = (windows.shape[0], len(used))
    return type(windows)((windows.data, indices[inside], windows.indptr), shape=shape), used


def index_in_run(run: Int[np.ndarray, " N"]) -> Int[np.ndarray, " N"]:
    """0, 1, 2, ... within each run; runs follow each other."""
    length = np.bincount(run)
    return np.arange(len(run)) - (np.cumsum(length) - length)[run]
