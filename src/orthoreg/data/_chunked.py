"""`ChunkedDataset` and `ChunkedRows`: runs, and rows made of them, that do not fit into memory.

They are read again in every pass.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, final

import numpy as np
from jaxtyping import Float, Int

from .._common.errors import DataError
from .._common.parallel import map_in_order, map_reduce
from ._assembly import concatenate
from ._dataset import Dataset
from ._plan import Plan
from ._rows import Extent, Rows, subsample_runs, thinned
from ._schema import Note

CHUNK = 2**18
"""Default number of rows in a chunk."""


@final
@dataclass(frozen=True, eq=False)
class ChunkedDataset:
    """Runs of one system in chunks of whole runs, which are read in each pass over the data.

    `read_table(..., chunks=...)` returns one. Passes run in this process or on a cluster.

    `read` makes a `Dataset` of each of the `keys`; `lengths` are the rows of the runs in each
    chunk. `sample` holds whole runs with about 131,072 rows. Forecasts, figures and summaries,
    which need runs in memory, use the sample and say so.

    Parameters
    ----------
    read, keys
        the function that reads a chunk, and its argument for each chunk.
    lengths
        number of rows of the runs in each chunk.
    sample
        whole runs held in memory.

    Examples
    --------
    >>> import numpy as np, orthoreg as og
    >>> t = np.linspace(0, 6, 121)
    >>> runs = np.exp(-t)[None, :, None].repeat(9, axis=0)
    >>> data = og.ChunkedDataset.from_arrays(runs, t, rows=400)
    >>> og.OrthoReg("poly(1)", og.Zero()).fit(data).equations()
    ["x0' = -1.000 x0"]
    """

    read: Callable[[Any], Dataset]
    keys: tuple[Any, ...]
    lengths: tuple[Int[np.ndarray, " _"], ...]
    sample: Dataset

    @classmethod
    def of(
        cls,
        read: Callable[[Any], Dataset],
        keys: Sequence[Any],
        lengths: Sequence[Int[np.ndarray, " _"]],
    ) -> "ChunkedDataset":
        """Return the runs of these chunks, after reading the sample."""
        if not len(keys):
            raise DataError("The data hold no runs; at least one is needed.")
        chosen = subsample_runs(np.concatenate(lengths))
        first = np.cumsum([0, *(len(chunk) for chunk in lengths)])
        requests = [
            (key, chosen[(chosen >= a) & (chosen < b)] - a)
            for key, a, b in zip(keys, first[:-1], first[1:], strict=True)
        ]
        requests = [(key, runs) for key, runs in requests if len(runs)]
        samples = map_in_order(partial(_read_runs, read), requests, "Reading a sample")
        return cls(read, tuple(keys), tuple(lengths), concatenate(samples))

    @classmethod
    def from_arrays(
        cls,
        x: Any,
        t: Any,
        u: Any = None,
        names: Sequence[str] | None = None,
        *,
        input_names: Sequence[str] | None = None,
        rows: int = CHUNK,
    ) -> "ChunkedDataset":
        """Runs of equal length from an array (runs, times, states) larger than memory.

        The array may be a memory-mapped file, an array of zarr or h5py, or a Dask array, whose
        chunks along the runs are used. Times have the shape (times,) or (runs, times).

        Parameters
        ----------
        x, t, u
            states, times and inputs.
        names, input_names
            names of states and inputs; x0, x1, ... and u0, u1, ... if None.
        rows
            approximate number of rows of a chunk.

        Returns
        -------
        data
            read in each pass.

        Examples
        --------
        >>> import numpy as np, orthoreg as og
        >>> data = og.ChunkedDataset.from_arrays(np.ones((6, 50, 2)), np.arange(50.0), rows=100)
        >>> len(data.keys)
        3
        """
        from ._sources import from_arrays

        return from_arrays(x, t, u, names, input_names=input_names, rows=rows)

    @classmethod
    def from_runs(
        cls, runs: Any, *, rows: int = CHUNK, folder: str | None = None
    ) -> "ChunkedDataset":
        """Runs from an iterable or a Dask bag, each a `Dataset` or arrays (x, t) or (x, t, u).

        Runs of an iterable are written to `folder`, because every pass needs them again. If it is
        omitted, a temporary folder is used and deleted with the data.

        Parameters
        ----------
        runs
            an iterable or a Dask bag.
        rows
            approximate number of rows of a chunk.
        folder
            where chunks are written.

        Returns
        -------
        data
            read in each pass.

        Examples
        --------
        >>> import numpy as np, orthoreg as og
        >>> runs = ((np.full((50, 1), float(i)), np.arange(50.0)) for i in range(6))
        >>> data = og.ChunkedDataset.from_runs(runs, rows=100)
        >>> len(data.keys)
        3
        """
        from ._sources import from_runs

        return from_runs(runs, rows=rows, folder=folder)

    @property
    def n_samples(self) -> int:
        return int(sum(chunk.sum() for chunk in self.lengths))

    @property
    def n_runs(self) -> int:
        return sum(len(chunk) for chunk in self.lengths)

    @property
    def n_chunks(self) -> int:
        return len(self.keys)

    @property
    def state_names(self) -> tuple[str, ...]:
        return self.sample.state_names

    @property
    def input_names(self) -> tuple[str, ...]:
        return self.sample.input_names

    @property
    def units(self) -> Mapping[str, str]:
        return self.sample.units

    @property
    def notes(self) -> tuple[Note, ...]:
        """Notes on reading the sample, and one on the sample itself."""
        if self.sample.n_samples >= self.n_samples:
            return self.sample.notes
        return (
            *self.sample.notes,
            Note(
                "chunked",
                f"Coefficients come from all {self.n_samples} rows, in {self.n_chunks} chunks; "
                f"rules, forecasts, figures and scores come from a sample of "
                f"{self.sample.n_samples} rows in {self.sample.n_runs} whole runs.",
                self.sample.n_samples,
            ),
        )

    @property
    def plan(self) -> Plan:
        """Noise, outliers, smoothing and windows, decided once on the sample."""
        return self.sample.plan

    def __len__(self) -> int:
        return self.n_runs

    def chunks(self) -> Iterator[Dataset]:
        """The runs, chunk by chunk."""
        return (self.read(key) for key in self.keys)

    def transformed(self, change: Callable[[Dataset], Dataset]) -> "ChunkedDataset":
        """Return the data with a function applied to each chunk after it is read."""
        return replace(
            self, read=partial(_read_transformed, self.read, change), sample=change(self.sample)
        )

    def sum_chunks(self, function: Callable[[Dataset, int], Any], label: str) -> Any:
        """Return the sum of function(chunk, number of its first run) over all chunks."""
        return map_reduce(partial(_apply_to_chunk, self.read, function), self._items(), label,
                          sizes=self._sizes())  # fmt: skip

    def map_chunks(self, function: Callable[[Dataset, int], Any], label: str) -> list[Any]:
        """Return function(chunk, number of its first run) for each chunk."""
        return map_in_order(partial(_apply_to_chunk, self.read, function), self._items(), label,
                            sizes=self._sizes())  # fmt: skip

    def _items(self) -> list[tuple[Any, int]]:
        first = np.cumsum([0, *(len(chunk) for chunk in self.lengths)])
        return [(key, int(run)) for key, run in zip(self.keys, first[:-1], strict=True)]

    def _sizes(self) -> list[int]:
        return [int(chunk.sum()) for chunk in self.lengths]

    def __repr__(self) -> str:
        parts = [f"{self.n_runs} runs", f"{self.n_samples} samples", f"{self.n_chunks} chunks"]
        parts.append(f"states={self.state_names}")
        if self.input_names:
            parts.append(f"inputs={self.input_names}")
        return f"ChunkedDataset({', '.join(parts)})"


def chunked(data: Dataset, rows: int) -> ChunkedDataset:
    """Return runs in memory as chunks of about `rows` rows."""
    edges = chunk_edges(data.run_lengths, rows)
    pairs = list(zip(edges[:-1], edges[1:], strict=True))
    return ChunkedDataset.of(
        partial(_slice_runs, data), pairs, [data.run_lengths[a:b] for a, b in pairs]
    )


def chunk_edges(lengths: Int[np.ndarray, " R"], rows: int) -> list[int]:
    """Return where to cut runs into parts of at most `rows` rows, or of a single run."""
    edges, n_rows = [0], 0
    for run, length in enumerate(lengths.tolist()):
        if n_rows and n_rows + length > rows:
            edges.append(run)
            n_rows = 0
        n_rows += length
    return [*edges, len(lengths)]


def _slice_runs(data: Dataset, bounds: tuple[int, int]) -> Dataset:
    return data[slice(*bounds)]


def _read_runs(read: Callable[[Any], Dataset], request: tuple[Any, np.ndarray]) -> Dataset:
    key, runs = request
    return read(key)[runs]


def _read_transformed(
    read: Callable[[Any], Dataset], change: Callable[[Dataset], Dataset], key: Any
) -> Any:
    return change(read(key))


def _apply_to_chunk(
    read: Callable[[Any], Dataset], function: Callable[[Dataset, int], Any], item: tuple[Any, int]
) -> Any:
    key, first_run = item
    return function(read(key), first_run)


_SAMPLE_SIZES = (5_000, 20_000, 2**15)
"""Sizes of subsamples that fits use. The first pass collects them; others cost a pass each."""


@final
@dataclass(frozen=True, eq=False)
class RowSums:
    """Results of the first pass over rows; `a + b` is the result for both."""

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
            {} if expected is None else {n: _chunk_sample(rows, n, expected) for n in _SAMPLE_SIZES}
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
    """Rows that `observe` makes of chunked data, which is read again in each pass.

    Memory does not grow with the number of rows. `first` are the rows of the sample of runs; their
    attributes other than values hold for all rows.
    """

    data: ChunkedDataset
    observe: Callable[[Dataset], Rows]
    sums: RowSums
    first: Rows
    _subsamples: dict[int, Rows] = field(default_factory=dict)

    @classmethod
    def of(cls, data: ChunkedDataset, observe: Callable[[Dataset], Rows]) -> "ChunkedRows":
        """Return the rows after a first pass over them."""
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
        """Return the (small) values of a function on all chunks, in one pass over the data."""
        return self.data.map_chunks(
            partial(_apply_to_rows, self.observe, function), "Reading the data"
        )

    def subsample(self, max_rows: int) -> Rows:
        """Return about `max_rows` rows, evenly chosen from each run, in memory."""
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
    """Return rows of several chunks as one, each with its own points."""
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
