"""`ChunkedRows`: rows that are too many to be held at once, made anew in every pass over them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, final

import numpy as np
from jaxtyping import Float

from ._chunked import ChunkedDataset
from ._dataset import Dataset
from ._rows import Extent, Rows, thinned

_USUAL = (5_000, 20_000, 2**15)
"""Sizes of samples that fits ask for, which the first pass takes along; others cost a pass each."""


@final
@dataclass(frozen=True, eq=False)
class RowSums:
    """What the first pass over rows finds: `a + b` is that of both."""

    count: int
    error: Float[np.ndarray, " c"]
    extent: Extent
    point_extent: Extent | None
    samples: Mapping[int, Rows]

    @classmethod
    def of(cls, rows: Rows, expected: int | None) -> "RowSums":
        """Those of a chunk; its share of usual samples where it is known how many rows there
        will be in all."""
        about_points = None if rows.windows is None else rows.point_extent
        error = len(rows) * rows.target_mse
        samples = {} if expected is None else {n: _share(rows, n, expected) for n in _USUAL}
        return cls(len(rows), error, rows.extent, about_points, samples)

    def __add__(self, other: "RowSums") -> "RowSums":
        mine, its = self.point_extent, other.point_extent
        return RowSums(
            self.count + other.count,
            self.error + other.error,
            self.extent + other.extent,
            None if mine is None or its is None else mine + its,
            {n: stacked([one, other.samples[n]]) for n, one in self.samples.items()},
        )


@final
@dataclass(frozen=True, eq=False)
class ChunkedRows:
    """The rows that `observe` makes of the runs of chunked data: what all rows together are, and
    passes over their chunks. Nothing here grows with the number of rows.

    `first` are the rows of the sample of runs, which say what kind of rows they are.
    """

    data: ChunkedDataset
    observe: Callable[[Dataset], Rows]
    sums: RowSums
    first: Rows
    _some: dict[int, Rows] = field(default_factory=dict)

    @classmethod
    def of(cls, data: ChunkedDataset, observe: Callable[[Dataset], Rows]) -> "ChunkedRows":
        """The rows, after a first pass over them."""
        first = observe(data.sample)
        expected = data.n_samples if len(first) == data.sample.n_samples else None
        measure = partial(_on_rows, observe, partial(RowSums.of, expected=expected))
        sums = data.total(measure, "Measuring the data")
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
    def clock(self) -> int | None:
        return self.first.clock

    @property
    def times(self) -> Any:
        """Those of the sample: there are some, or none."""
        return self.first.times

    @property
    def windows(self) -> Any:
        """Those of the sample: there are some, or none."""
        return self.first.windows

    @property
    def extent(self) -> Extent:
        """Where all rows lie."""
        return self.sums.extent

    @property
    def point_extent(self) -> Extent:
        """Where all points lie."""
        return self.sums.point_extent or self.sums.extent

    @property
    def target_mse(self) -> Float[np.ndarray, " c"]:
        """The mean squared error that each target is known to have."""
        return self.sums.error / self.sums.count

    def total(self, function: Callable[[Rows], Any]) -> Any:
        """The sum of a function over all chunks: one pass over the data."""
        return self.data.total(partial(_on_rows, self.observe, function), "Reading the data")

    def each(self, function: Callable[[Rows], Any]) -> list[Any]:
        """The values of a function, which must be small, on all chunks: one pass over the data."""
        return self.data.each(partial(_on_rows, self.observe, function), "Reading the data")

    def some(self, most: int) -> Rows:
        """At most about `most` rows, spread evenly over every run, held in memory."""
        if most not in self._some:
            count = len(self)
            self._some[most] = stacked(self.each(lambda rows: _share(rows, most, count)))
        return self._some[most]


AnyRows = Rows | ChunkedRows
"""Rows in memory, or in chunks."""


def _on_rows(
    observe: Callable[[Dataset], Rows],
    function: Callable[[Rows], Any],
    data: Dataset,
    first_run: int,
) -> Any:
    return function(replace(observe(data), first_run=first_run, all_runs=data.n_runs))


def _share(rows: Rows, most: int, of: int) -> Rows:
    """The rows of a chunk that are among `most` of all, under the numbers of their runs."""
    part = rows if of <= most else rows.at(thinned(rows, most, of)).compact()
    return replace(part, run_of_row=part.run, first_run=0, all_runs=0)


def stacked(parts: Sequence[Rows]) -> Rows:
    """Rows of several chunks, one after the other, each with points of its own."""
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
        if any(one is None for one in times)
        else np.concatenate([np.asarray(one) for one in times]),
        windows=windows,
        target_mse=np.average([rows.target_mse for rows in parts], axis=0, weights=counts),
    )
