"""`Rows`: regression targets and their points in state space. `ChunkedRows`: rows in chunks."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, final

import numpy as np
from jaxtyping import Bool, Float, Int, UInt64

from ..smoothing import Times
from . import _limits as limits
from ._chunked import ChunkedDataset
from ._dataset import Dataset
from ._extent import Extent, hashed


@final
@dataclass(frozen=True, eq=False)
class Rows:
    """Targets of a regression and their points in state space (states, then inputs).

    Without `windows`, row i belongs to point i. With `windows` (N x M, sparse), a row belongs to
    many points, as in the weak form: the value of a function f at row i is sum_j windows[i, j]
    f(points[j]).

    `target_mse` is the known mean squared error of each target. `times` are set if the rows come
    from runs in time; the rows of a run are consecutive. `names` are the names of the variables,
    `outputs` those of the targets. `given` maps the index of an output to the index of the variable
    that it equals exactly; such an output is not learned. `time_index` is the index of time among
    the variables, or None; only known equations may use time.

    `all_runs` is the number of runs, which is needed if the last runs have no rows. If these rows
    are a chunk, `first_run` is the number of its first run. Passes over all rows use `sum_chunks`
    and `map_chunks`, which `ChunkedRows` also has.
    """

    points: Float[np.ndarray, "M V"]
    targets: Float[np.ndarray, "N c"]
    run_of_row: Int[np.ndarray, " N"]
    target_mse: Float[np.ndarray, " c"]
    names: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    times: Times | None = None
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
        """The extent of the points of rows, or of the centres of their windows."""
        return Extent.of(self.variables, numbers=self.numbers)

    @cached_property
    def point_extent(self) -> Extent:
        """The extent of the points."""
        return self.extent if self.windows is None else Extent.of(self.points)

    @property
    def run(self) -> Int[np.ndarray, " N"]:
        """The number of each row's run in the whole data."""
        return self.run_of_row + self.first_run

    @property
    def numbers(self) -> UInt64[np.ndarray, " N"]:
        """A number for each row that does not depend on how the data are divided into chunks."""
        index = index_in_run(self.run_of_row).astype(np.uint64)
        with np.errstate(over="ignore"):
            return hashed(self.run.astype(np.uint64)) + index

    def sum_chunks(self, function: Callable[["Rows"], Any]) -> Any:
        """Return the sum of a function over all chunks. `Rows` is a single chunk."""
        return function(self)

    def map_chunks(self, function: Callable[["Rows"], Any]) -> list[Any]:
        """Return the values of a function on all chunks. `Rows` is a single chunk."""
        return [function(self)]

    @cached_property
    def variables(self) -> Float[np.ndarray, "N V"]:
        """The point of each row, or the centre of its window."""
        if self.windows is None:
            return self.points
        share = abs(self.windows)
        return np.asarray(share @ self.points) / np.asarray(share.sum(axis=1)).reshape(-1, 1)

    def row_of_point(self) -> Int[np.ndarray, " M"]:
        """The row in which each point has its largest weight."""
        if self.windows is None:
            return np.arange(len(self))
        entries = self.windows.tocoo()
        order = np.lexsort([-entries.row, entries.data, entries.col])
        result = np.zeros(self.n_points, dtype=int)
        # the last assignment to a point, with the largest weight, is kept
        result[entries.col[order]] = entries.row[order]
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
        """Return about `max_rows` rows, evenly spaced in each run, or all rows if there are
        fewer.
        """
        rows = thinned(self, max_rows)
        return self if len(rows) == len(self) else self.at(rows).compact()

    def at(self, rows: Int[np.ndarray, " M"]) -> "Rows":
        """Return these rows, which may repeat. The result is not consecutive in time."""
        return replace(
            self,
            points=self.points[rows] if self.windows is None else self.points,
            targets=self.targets[rows],
            run_of_row=self.run_of_row[rows],
            times=None,
            windows=None if self.windows is None else self.windows[rows],
        )

    def compact(self) -> "Rows":
        """Return the rows without unused points."""
        if self.windows is None:
            return self
        windows, used = _of_used_points(self.windows)
        return replace(self, points=self.points[used], windows=windows)

    def with_given(self, given: Mapping[int, int]) -> "Rows":
        """Return the rows with some outputs given, each equal to a variable: {output: variable}."""
        if not given:
            return self
        outputs, variables = list(given), list(given.values())
        targets, target_mse = self.targets.copy(), self.target_mse.copy()
        rows = np.arange(len(self))
        targets[:, outputs] = self.evaluate(lambda points: points[:, variables], rows)
        target_mse[outputs] = 0.0
        return replace(self, targets=targets, target_mse=target_mse, given=dict(given))

    def only(self, rows: Bool[np.ndarray, " N"]) -> "Rows":
        """Return the selected rows with their runs renumbered."""
        _, runs = np.unique(self.run_of_row[rows], return_inverse=True)
        chosen = self.at(np.flatnonzero(rows))
        times = None if self.times is None else self.times[rows]
        return replace(chosen, run_of_row=runs, times=times, all_runs=0)


def thinned(rows: "Rows", max_rows: int, n_total: int | None = None) -> Int[np.ndarray, " M"]:
    """Return about `max_rows` row indices, evenly spaced in each run, or all if there are fewer.

    For a chunk, return its part of a subsample of `n_total` rows.
    """
    stride = -(-(len(rows) if n_total is None else n_total) // max_rows)
    if stride <= 1:
        return np.arange(len(rows))
    # each run has another offset, so that not all short runs contribute their first rows
    return np.flatnonzero((index_in_run(rows.run_of_row) + rows.run) % stride == 0)


def _of_used_points(windows: Any) -> tuple[Any, Int[np.ndarray, " U"]]:
    """Return windows (sparse, R x M) restricted to the points with nonzero weight, and these
    points.

    The computing time does not depend on the number of unused points.
    """
    first = int(windows.indices.min(initial=windows.shape[1]))
    inside = windows.indices - first
    is_used = np.bincount(inside) > 0
    indices = (np.cumsum(is_used) - 1).astype(windows.indices.dtype)
    used = first + np.flatnonzero(is_used)
    shape = (windows.shape[0], len(used))
    return type(windows)((windows.data, indices[inside], windows.indptr), shape=shape), used


def index_in_run(run: Int[np.ndarray, " N"]) -> Int[np.ndarray, " N"]:
    """Return 0, 1, 2, ... within each run, given the run of each row."""
    length = np.bincount(run)
    return np.arange(len(run)) - (np.cumsum(length) - length)[run]


# -- chunks ------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, eq=False)
class RowSums:
    """Results of the first pass over rows. `a + b` is the result for the rows of both."""

    count: int
    error: Float[np.ndarray, " c"]
    extent: Extent
    point_extent: Extent | None
    samples: Mapping[int, Rows]

    @classmethod
    def of(cls, rows: Rows, expected: int | None) -> "RowSums":
        """Return the results for a chunk. `expected` is the number of rows of all chunks."""
        about_points = None if rows.windows is None else rows.point_extent
        error = len(rows) * rows.target_mse
        samples = (
            {}
            if expected is None
            else {n: _chunk_sample(rows, n, expected) for n in limits.SAMPLE_SIZES}
        )
        return cls(len(rows), error, rows.extent, about_points, samples)

    def __add__(self, other: "RowSums") -> "RowSums":
        extent, other_extent = self.point_extent, other.point_extent
        return RowSums(
            self.count + other.count,
            self.error + other.error,
            self.extent + other.extent,
            None if extent is None or other_extent is None else extent + other_extent,
            {n: stacked([sample, other.samples[n]]) for n, sample in self.samples.items()},
        )


@final
@dataclass(frozen=True, eq=False)
class ChunkedRows:
    """Rows that `observe` computes from chunked data, which every pass reads again.

    Memory does not grow with the number of rows. `first` contains the rows of the sample; its
    attributes other than values hold for all rows.
    """

    data: ChunkedDataset
    observe: Callable[[Dataset], Rows]
    sums: RowSums
    first: Rows
    _subsamples: dict[int, Rows] = field(default_factory=dict)

    @classmethod
    def of(cls, data: ChunkedDataset, observe: Callable[[Dataset], Rows]) -> "ChunkedRows":
        """Return the rows of the data after a first pass over them."""
        first = observe(data.sample)
        expected = data.n_samples if len(first) == data.sample.n_samples else None
        measure = partial(_apply_to_rows, observe, partial(RowSums.of, expected=expected))
        sums = data.sum_chunks(measure, "Measuring the data")
        samples = dict(sums.samples) if sums.count == expected else {}
        return cls(data, observe, replace(sums, samples={}), first, samples)

    def __len__(self) -> int:
        return self.sums.count

    @property
    def n_points(self) -> int:
        return self.data.n_samples

    @property
    def n_runs(self) -> int:
        return self.data.n_runs

    @property
    def names(self) -> tuple[str, ...]:
        return self.first.names

    @property
    def outputs(self) -> tuple[str, ...]:
        return self.first.outputs

    @property
    def given(self) -> Mapping[int, int]:
        return self.first.given

    @property
    def time_index(self) -> int | None:
        return self.first.time_index

    @property
    def times(self) -> Any:
        """Times of the sample, or None."""
        return self.first.times

    @property
    def windows(self) -> Any:
        """Windows of the sample, or None."""
        return self.first.windows

    @property
    def extent(self) -> Extent:
        """The extent of all rows."""
        return self.sums.extent

    @property
    def point_extent(self) -> Extent:
        """The extent of all points."""
        return self.sums.point_extent or self.sums.extent

    @property
    def target_mse(self) -> Float[np.ndarray, " c"]:
        """The mean squared error of each target."""
        return self.sums.error / self.sums.count

    def sum_chunks(self, function: Callable[[Rows], Any]) -> Any:
        """Return the sum of a function over all chunks, in one pass over the data."""
        return self.data.sum_chunks(
            partial(_apply_to_rows, self.observe, function), "Reading the data"
        )

    def map_chunks(self, function: Callable[[Rows], Any]) -> list[Any]:
        """Return the values of a function on all chunks, in one pass over the data.

        The values should be small.
        """
        return self.data.map_chunks(
            partial(_apply_to_rows, self.observe, function), "Reading the data"
        )

    def subsample(self, max_rows: int) -> Rows:
        """Return about `max_rows` rows, evenly spaced in each run, in memory."""
        if max_rows not in self._subsamples:
            count = len(self)
            self._subsamples[max_rows] = stacked(
                self.map_chunks(lambda rows: _chunk_sample(rows, max_rows, count))
            )
        return self._subsamples[max_rows]


AnyRows = Rows | ChunkedRows
"""Rows in memory, or in chunks."""


def _apply_to_rows(
    observe: Callable[[Dataset], Rows],
    function: Callable[[Rows], Any],
    data: Dataset,
    first_run: int,
) -> Any:
    return function(replace(observe(data), first_run=first_run, all_runs=data.n_runs))


def _chunk_sample(rows: Rows, max_rows: int, n_total: int) -> Rows:
    """Return the rows of a chunk that belong to a subsample of all rows."""
    subset = rows if n_total <= max_rows else rows.at(thinned(rows, max_rows, n_total)).compact()
    return replace(subset, run_of_row=subset.run, first_run=0, all_runs=0)


def stacked(parts: Sequence[Rows]) -> Rows:
    """Return the rows of several chunks as one `Rows`. Each chunk keeps its own points."""
    windows = None
    if parts[0].windows is not None:
        import scipy.sparse as sparse

        windows = sparse.block_diag([rows.windows for rows in parts], format="csr")
    times = [rows.times for rows in parts]
    counts = np.array([max(len(rows), 1) for rows in parts])
    return replace(
        parts[0],
        points=np.concatenate([rows.points for rows in parts]),
        targets=np.concatenate([rows.targets for rows in parts]),
        run_of_row=np.concatenate([rows.run_of_row for rows in parts]),
        times=None
        if any(array is None for array in times)
        else np.concatenate([np.asarray(array) for array in times]),
        windows=windows,
        target_mse=np.average([rows.target_mse for rows in parts], axis=0, weights=counts),
    )
