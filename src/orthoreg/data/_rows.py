"""`Rows`: the targets of a least-squares problem and the points of state space they belong to.

`Extent` describes where rows lie, by sums that add up over chunks.
"""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import Any, final

import numpy as np
from jaxtyping import Bool, Float, Int, UInt64

from ..smoothing import MIN_POLYNOMIAL_ROWS
from ._limits import (
    EXTENT_SAMPLE,
    MIN_RELATIVE_VARIANCE,
    ROUNDING,
    SUBSAMPLE_BLOCKS,
    SUBSAMPLE_ROWS,
)

_BLOCK = 65_536  # rows that are summed together


@final
@dataclass(frozen=True, eq=False)
class Extent:
    """Number, mean, second moments, range and a bounded sample of rows.

    `a + b` is the extent of both, for any division into chunks. The sample holds the rows with the
    lowest hashed numbers, a random draw that does not depend on the chunks. Quantiles are exact up
    to 131,072 rows.
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
        """Return the extent of rows with these `numbers`, or numbered from `first`."""
        if numbers is None:
            numbers = np.arange(first, first + len(variables), dtype=np.uint64)
        priority = hashed(numbers)
        rows = _sampled_rows(priority)
        blocks = [cls._sums(variables[i : i + _BLOCK]) for i in range(0, len(variables), _BLOCK)]
        whole = reduce(operator.add, blocks)
        return replace(whole, sample=variables[rows], priority=priority[rows])

    @classmethod
    def _sums(cls, variables: Float[np.ndarray, "N V"]) -> "Extent":
        """Return an extent without a sample. Sums over contiguous columns are much faster."""
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
        return (self.high - self.low > ROUNDING * size) & (np.diag(self.square) > 0)

    @property
    def std(self) -> Float[np.ndarray, " V"]:
        """Standard deviations; one for a variable that does not vary."""
        deviation = np.sqrt(np.diag(self.square) / self.count)
        return np.where(self.varies, deviation, 1.0)

    @property
    def range(self) -> Float[np.ndarray, "2 V"]:
        """The smallest and largest value of each variable."""
        return np.stack([self.low, self.high])

    def signed(self, points: Float[np.ndarray, "N V"], reach: Float[np.ndarray, " V"]) -> "Extent":
        """Return the extent with a variable treated as of one sign if only noise crosses zero.

        That is the case if these points and the rows cross zero by at most `reach`. Points that
        cross are added to the sample.
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
        """Return the points with variables of one sign clipped at zero."""
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
        is_wide = values > MIN_RELATIVE_VARIANCE * values[-1]
        rotation = vectors[:, is_wide] / np.sqrt(values[is_wide]) / scale[:, None]
        return np.sqrt((((variables[:, varying] - self.mean[varying]) @ rotation) ** 2).sum(axis=1))


def _sampled_rows(priority: UInt64[np.ndarray, " N"]) -> Any:
    """Return the rows that stay in the sample, in their order."""
    if len(priority) <= EXTENT_SAMPLE:
        return slice(None)
    return np.sort(np.argpartition(priority, EXTENT_SAMPLE)[:EXTENT_SAMPLE])


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
    """Return runs with about 131,072 rows in total, or all runs if these have fewer rows.

    They come from evenly spaced blocks. The shortest runs are included, because they limit the
    methods that can be used for all runs.
    """
    total, count = int(lengths.sum()), len(lengths)
    if total <= SUBSAMPLE_ROWS:
        return np.arange(count)
    runs_per_block = max(int(SUBSAMPLE_ROWS / total * count / SUBSAMPLE_BLOCKS), 1)
    starts = np.linspace(0, max(count - runs_per_block, 0), SUBSAMPLE_BLOCKS).astype(int)
    chosen = (starts[:, None] + np.arange(runs_per_block)).ravel()
    long_lengths = np.where(lengths >= MIN_POLYNOMIAL_ROWS, lengths, total)
    candidates = np.concatenate([chosen, [np.argmin(lengths), np.argmin(long_lengths)]])
    return np.unique(candidates[candidates < count])


@final
@dataclass(frozen=True, eq=False)
class Rows:
    """Targets of a problem and the points of state space (states, then inputs) they belong to.

    Without `windows` row i belongs to point i. With `windows` (N x M, sparse) it belongs to many
    points: the value of a function f at row i is sum_j windows[i, j] f(points[j]), as in a weak
    form.

    `target_mse` is the known mean squared error of each target. `times` are set if rows come from
    runs in time; rows of a run are consecutive. `names` are the names of the variables, `outputs`
    those of the targets. `given` maps the index of an output to the index of the variable that it
    equals exactly; such an output is not learned. `time_index` is the index of the variable that is
    time, or None; only known equations may use it.

    `all_runs` is the number of runs if the last ones may have no rows. Rows may be a chunk of more
    rows; `first_run` is then the number of its first run. Passes over all rows use `sum_chunks` and
    `map_chunks`, which `ChunkedRows` has too.
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
        """The extent of the rows: of their points, or of the centres of their windows."""
        return Extent.of(self.variables, numbers=self.numbers)

    @cached_property
    def point_extent(self) -> Extent:
        """The extent of the points."""
        return self.extent if self.windows is None else Extent.of(self.points)

    @property
    def run(self) -> Int[np.ndarray, " N"]:
        """The number of each row's run among all runs of the data."""
        return self.run_of_row + self.first_run

    @property
    def numbers(self) -> UInt64[np.ndarray, " N"]:
        """A number for each row that does not depend on the division into chunks."""
        index = index_in_run(self.run_of_row).astype(np.uint64)
        with np.errstate(over="ignore"):
            return hashed(self.run.astype(np.uint64)) + index

    def sum_chunks(self, function: Callable[["Rows"], Any]) -> Any:
        """Return the sum of a function over all chunks, here a single one."""
        return function(self)

    def map_chunks(self, function: Callable[["Rows"], Any]) -> list[Any]:
        """Return the values of a function on all chunks, here a single one."""
        return [function(self)]

    @cached_property
    def variables(self) -> Float[np.ndarray, "N V"]:
        """The point of each row, or the centre of its window."""
        if self.windows is None:
            return self.points
        share = abs(self.windows)
        return np.asarray(share @ self.points) / np.asarray(share.sum(axis=1)).reshape(-1, 1)

    def row_of_point(self) -> Int[np.ndarray, " M"]:
        """Return for each point the row in which its weight is largest."""
        if self.windows is None:
            return np.arange(len(self))
        entries = self.windows.tocoo()
        order = np.lexsort([-entries.row, entries.data, entries.col])
        result = np.zeros(self.n_points, dtype=int)
        result[entries.col[order]] = entries.row[order]  # the last assignment to a point stays
        return result

    def evaluate(
        self, function: Callable[[np.ndarray], np.ndarray], rows: Int[np.ndarray, " B"] | slice
    ) -> Float[np.ndarray, "B k"]:
        """Return the values at these rows of a function of points (M x V -> M x k)."""
        if self.windows is None:
            return function(self.points[rows])
        windows, used = _of_used_points(self.windows[rows])
        return np.asarray(windows @ function(self.points[used]))

    def subsample(self, max_rows: int) -> "Rows":
        """Return about `max_rows` rows, evenly chosen from each run; all if there are fewer."""
        rows = thinned(self, max_rows)
        return self if len(rows) == len(self) else self.at(rows).compact()

    def at(self, rows: Int[np.ndarray, " M"]) -> "Rows":
        """Return these rows, which may repeat. They are no longer consecutive in time."""
        return replace(
            self,
            points=self.points[rows] if self.windows is None else self.points,
            targets=self.targets[rows],
            run_of_row=self.run_of_row[rows],
            times=None,
            windows=None if self.windows is None else self.windows[rows],
        )

    def compact(self) -> "Rows":
        """Return the rows without points that no window uses."""
        if self.windows is None:
            return self
        windows, used = _of_used_points(self.windows)
        return replace(self, points=self.points[used], windows=windows)

    def with_given(self, given: Mapping[int, int]) -> "Rows":
        """Return the rows with the outputs {output: variable} given: equal to the variables."""
        if not given:
            return self
        outputs, variables = list(given), list(given.values())
        targets, target_mse = self.targets.copy(), self.target_mse.copy()
        rows = np.arange(len(self))
        targets[:, outputs] = self.evaluate(lambda points: points[:, variables], rows)
        target_mse[outputs] = 0.0
        return replace(self, targets=targets, target_mse=target_mse, given=dict(given))

    def only(self, rows: Bool[np.ndarray, " N"]) -> "Rows":
        """Return the selected rows, with their runs renumbered."""
        _, runs = np.unique(self.run_of_row[rows], return_inverse=True)
        chosen = self.at(np.flatnonzero(rows))
        times = None if self.times is None else self.times[rows]
        return replace(chosen, run_of_row=runs, times=times, all_runs=0)


def thinned(rows: "Rows", max_rows: int, n_total: int | None = None) -> Int[np.ndarray, " M"]:
    """Return about `max_rows` row indices, evenly chosen from each run; all if there are fewer.

    For a chunk, return its part of a subsample of `n_total` rows.
    """
    stride = -(-(len(rows) if n_total is None else n_total) // max_rows)
    if stride <= 1:
        return np.arange(len(rows))
    # runs start at different phases, so that short runs are not all sampled at their first rows
    return np.flatnonzero((index_in_run(rows.run_of_row) + rows.run) % stride == 0)


def _of_used_points(windows: Any) -> tuple[Any, Int[np.ndarray, " U"]]:
    """Return windows (sparse, R x M) restricted to the points that they use, and these points.

    The time does not grow with the number of points before and after.
    """
    first = int(windows.indices.min(initial=windows.shape[1]))
    inside = windows.indices - first
    is_used = np.bincount(inside) > 0
    indices = (np.cumsum(is_used) - 1).astype(windows.indices.dtype)
    used = first + np.flatnonzero(is_used)
    shape = (windows.shape[0], len(used))
    return type(windows)((windows.data, indices[inside], windows.indptr), shape=shape), used


def index_in_run(run: Int[np.ndarray, " N"]) -> Int[np.ndarray, " N"]:
    """Return 0, 1, 2, ... within each run, for the run of each row."""
    length = np.bincount(run)
    return np.arange(len(run)) - (np.cumsum(length) - length)[run]
