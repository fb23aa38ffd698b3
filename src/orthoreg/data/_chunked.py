"""`ChunkedDataset`: runs that do not fit into memory.

Every pass reads them again, from tables, arrays on disk, iterators or Dask collections.
"""

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, final

import numpy as np
from jaxtyping import Int

from .._common.errors import DataError
from .._common.parallel import map_in_order, map_reduce
from . import _limits as limits
from ._assembly import concatenate, from_arrays
from ._dataset import Dataset
from ._extent import subsample_runs
from ._plan import Plan
from ._schema import FromSchema, Note, Schema

Names = tuple[str, ...] | None


@final
@dataclass(frozen=True, eq=False)
class ChunkedDataset:
    """Runs of one system in chunks of whole runs. Every pass over the data reads them again.

    `read_table(..., chunks=...)` returns a `ChunkedDataset`. Passes run in this process or on a
    cluster.

    `read` returns the `Dataset` of a key; `lengths` are the numbers of rows of the runs in each
    chunk. `sample` holds whole runs with about 131,072 rows. Forecasts, figures and summaries need
    runs in memory, so they use the sample and say so.

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
        """Return the dataset of these chunks, after reading the sample."""
        if not len(keys):
            raise DataError("The data contain no runs; at least one is needed.")
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
        rows: int = limits.CHUNK,
    ) -> "ChunkedDataset":
        """Create a dataset from an array (runs, times, states) that is larger than memory.

        The array may be a memory-mapped file, an array of zarr or h5py, or a Dask array. Chunks of
        a Dask array along the runs are kept. Times have the shape (times,) or (runs, times).

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
            the dataset, which every pass reads again.

        Examples
        --------
        >>> import numpy as np, orthoreg as og
        >>> data = og.ChunkedDataset.from_arrays(np.ones((6, 50, 2)), np.arange(50.0), rows=100)
        >>> len(data.keys)
        3
        """
        shape = tuple(getattr(x, "shape", ()))
        if len(shape) != 3:
            raise DataError(
                f"x must be an array (runs, times, states); it has shape {shape}. For one "
                "long run, use read_table(..., chunks=True); for runs of different lengths, use "
                "ChunkedDataset.from_runs."
            )
        times = np.asarray(t, dtype=np.float64)
        given = (
            None if names is None else tuple(names),
            None if input_names is None else tuple(input_names),
        )
        if is_dask(x):
            return _from_dask_array(x, times, u, given)
        read = partial(_read_slice, _by_file(x), times, _by_file(u), given)
        edges = chunk_edges(np.full(shape[0], shape[1]), rows)
        pairs = list(zip(edges[:-1], edges[1:], strict=True))
        return cls.of(read, pairs, [np.full(b - a, shape[1]) for a, b in pairs])

    @classmethod
    def from_runs(
        cls, runs: Any, *, rows: int = limits.CHUNK, folder: str | None = None
    ) -> "ChunkedDataset":
        """Create a dataset from an iterable or a Dask bag of runs.

        A run is a `Dataset`, (x, t) or (x, t, u).

        Runs of an iterable are written to `folder`, because every pass needs them again. By
        default, a temporary folder is used and deleted together with the data.

        Parameters
        ----------
        runs
            an iterable or a Dask bag.
        rows
            approximate number of rows of a chunk.
        folder
            folder for the chunks.

        Returns
        -------
        data
            the dataset, which every pass reads again.

        Examples
        --------
        >>> import numpy as np, orthoreg as og
        >>> runs = ((np.full((50, 1), float(i)), np.arange(50.0)) for i in range(6))
        >>> data = og.ChunkedDataset.from_runs(runs, rows=100)
        >>> len(data.keys)
        3
        """
        if is_dask(runs):
            return of_partitions(_of_runs, list(runs.to_delayed()))
        directory = Path(tempfile.mkdtemp(prefix="orthoreg-") if folder is None else folder)
        directory.mkdir(parents=True, exist_ok=True)
        keys: list[str] = []
        lengths: list[np.ndarray] = []
        try:
            first_part: Dataset | None = None
            for number, part in enumerate(_batches(runs, rows)):
                first_part = part if first_part is None else first_part
                file = directory / f"{number:08d}.npz"
                names = ("times", "states", "offsets", "inputs", "derivatives", "filled")
                arrays: dict[str, Any] = {name: getattr(part, name) for name in names}
                np.savez(
                    file, **{name: array for name, array in arrays.items() if array is not None}
                )
                keys.append(str(file))
                lengths.append(part.run_lengths)
            if first_part is None:
                raise DataError("At least one run is needed; the iterable is empty.")
            template = replace(first_part[:0], labels=(), filled=None)
            data = cls.of(partial(_read_stored, template), keys, lengths)
        except BaseException:
            if folder is None:
                shutil.rmtree(directory, ignore_errors=True)
            raise
        if folder is None:
            weakref.finalize(data, shutil.rmtree, directory, ignore_errors=True)
        return data

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
    def schema(self) -> Schema:
        return self.sample.schema

    state_names = FromSchema(lambda schema: schema.state_names)
    input_names = FromSchema(lambda schema: schema.input_names)
    units = FromSchema(lambda schema: schema.units)

    @property
    def notes(self) -> tuple[Note, ...]:
        """The notes on reading the sample, and a note on the size of the sample."""
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
        """Noise, outliers, smoothing and windows, decided once from the sample."""
        return self.sample.plan

    def __len__(self) -> int:
        return self.n_runs

    def chunks(self) -> Iterator[Dataset]:
        """Return an iterator over the chunks."""
        return (self.read(key) for key in self.keys)

    def transformed(self, change: Callable[[Dataset], Dataset]) -> "ChunkedDataset":
        """Return the data with a function that is applied to each chunk after it is read."""
        return replace(
            self, read=partial(_read_transformed, self.read, change), sample=change(self.sample)
        )

    def sum_chunks(self, function: Callable[[Dataset, int], Any], label: str) -> Any:
        """Return the sum over all chunks of function(chunk, number of its first run)."""
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
    """Return the runs at which to cut the data into parts of at most `rows` rows.

    A longer run is a part of its own.
    """
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


# -- arrays and iterators ----------------------------------------------------------------------


def _read_slice(
    states: Any, times: np.ndarray, inputs: Any, names: tuple[Names, Names], bounds: tuple[int, int]
) -> Dataset:
    """Return the runs `bounds` of arrays that can be sliced: memory-mapped files, zarr, h5py or
    NumPy.
    """
    a, b = bounds
    u = None if inputs is None else np.asarray(_opened(inputs)[a:b])
    return _chunk(
        np.asarray(_opened(states)[a:b]), times if times.ndim < 2 else times[a:b], u, *names
    )


def _by_file(array: Any) -> Any:
    """Return a function that opens a memory-mapped file, so that its array is not copied to
    workers.

    Other arrays are returned unchanged.
    """
    if isinstance(array, np.memmap) and array.filename is not None and array.flags.contiguous:
        file, offset = str(array.filename), int(array.offset)
        order = "C" if array.flags.c_contiguous else "F"
        return partial(np.memmap, file, array.dtype.str, "r", offset, array.shape, order)
    return array


def _opened(array: Any) -> Any:
    return array() if isinstance(array, partial) else array


def _read_stored(template: Dataset, file: str) -> Dataset:
    """Return the runs in a file. All other attributes are those of the template."""
    with np.load(file, allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    labels = tuple(str(i) for i in range(len(arrays["offsets"]) - 1))
    return replace(template, **arrays, labels=labels)


def _batches(runs: Iterable[Any], rows: int) -> Iterator[Dataset]:
    batch: list[Dataset] = []
    for run in runs:
        batch.append(_as_run(run))
        if sum(run.n_samples for run in batch) >= rows:
            yield concatenate(batch)
            batch = []
    if batch:
        yield concatenate(batch)


def _as_run(run: Any) -> Dataset:
    if isinstance(run, Dataset):
        return run
    if not isinstance(run, tuple | list) or len(run) not in (2, 3):
        raise DataError(
            f"A run must be a Dataset, or its arrays (x, t) or (x, t, u); got {type(run).__name__}."
        )
    return _chunk([run[0]], run[1], *([array] for array in run[2:]))


def _chunk(
    x: Any,
    t: Any,
    u: Any = None,
    names: Sequence[str] | None = None,
    input_names: Sequence[str] | None = None,
) -> Dataset:
    """Return runs from arrays as a chunk of a larger dataset."""
    parts = from_arrays(x, t, u, names, None, input_names, None)
    return Dataset.checked(**parts, is_chunk=True)


# -- Dask --------------------------------------------------------------------------------------


def is_dask(value: Any) -> bool:
    """Return whether a value is a Dask collection."""
    return hasattr(value, "__dask_graph__") and hasattr(value, "to_delayed")


def of_partitions(
    make: Callable[[Any], Dataset | None], partitions: Sequence[Any]
) -> ChunkedDataset:
    """Return the runs that `make` creates from each partition. A first pass counts them.

    Partitions without runs are left out.
    """
    read = partial(_computed, make)
    lengths = map_in_order(partial(_run_lengths, read), partitions, "Finding the runs")
    nonempty = [i for i, run_lengths in enumerate(lengths) if len(run_lengths)]
    return ChunkedDataset.of(
        read, [partitions[i] for i in nonempty], [lengths[i] for i in nonempty]
    )


def _computed(make: Callable[[Any], Dataset | None], partition: Any) -> Any:
    """Return the runs of a partition, computed in this thread."""
    return make(partition.compute(scheduler="synchronous"))


def _run_lengths(read: Callable[[Any], Dataset | None], partition: Any) -> np.ndarray:
    runs = read(partition)
    return np.zeros(0, dtype=np.int64) if runs is None else runs.run_lengths


def _of_runs(runs: Iterable[Any]) -> Dataset | None:
    datasets = [_as_run(run) for run in runs]
    return concatenate(datasets) if datasets else None


def _from_dask_array(
    x: Any, times: np.ndarray, u: Any, names: tuple[Names, Names]
) -> ChunkedDataset:
    from dask.delayed import delayed

    one_chunk = {axis: -1 for axis in (1, 2)}
    states = x.rechunk(one_chunk).to_delayed().ravel()
    inputs = [None] * len(states)
    if u is not None:
        inputs = u.rechunk({0: x.chunks[0], **one_chunk}).to_delayed().ravel()
    edges = np.cumsum([0, *x.chunks[0]])
    parts = [
        delayed((chunk, times if times.ndim < 2 else times[a:b], chunk_inputs), pure=True)
        for chunk, chunk_inputs, a, b in zip(states, inputs, edges[:-1], edges[1:], strict=True)
    ]
    return of_partitions(partial(_of_arrays, names), parts)


def _of_arrays(names: tuple[Names, Names], parts: tuple[Any, Any, Any]) -> Dataset:
    return _chunk(*parts, *names)
