"""Chunks of whole runs from arrays on disk, from iterators and from Dask collections."""

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

import numpy as np

from .._common.errors import DataError
from .._common.parallel import map_in_order
from ._assembly import concatenate
from ._assembly import from_arrays as dataset_parts
from ._chunked import CHUNK, ChunkedDataset, chunk_edges
from ._dataset import Dataset


@final
@dataclass(frozen=True, eq=False)
class ArrayReader:
    """Reads runs from sliceable arrays: memory-mapped files, zarr, h5py or NumPy.

    A memory-mapped file is opened again in the process that reads it.
    """

    states: Any
    times: np.ndarray
    inputs: Any
    names: tuple[str, ...] | None
    input_names: tuple[str, ...] | None

    def __call__(self, bounds: tuple[int, int]) -> Dataset:
        a, b = bounds
        times = self.times if self.times.ndim < 2 else self.times[a:b]
        inputs = None if self.inputs is None else np.asarray(_opened(self.inputs)[a:b])
        states = np.asarray(_opened(self.states)[a:b])
        return _chunk(states, times, inputs, self.names, self.input_names)


@final
@dataclass(frozen=True)
class _Mapped:
    """A memory-mapped array by its file, so that its numbers are not sent to workers."""

    file: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    order: str


def from_arrays(
    x: Any,
    t: Any,
    u: Any = None,
    names: Sequence[str] | None = None,
    *,
    input_names: Sequence[str] | None = None,
    rows: int = CHUNK,
) -> ChunkedDataset:
    """Return chunks of runs of equal length from arrays (runs x times x states)."""
    shape = tuple(getattr(x, "shape", ()))
    if len(shape) != 3:
        raise DataError(
            f"x must be an array (runs, times, states); it has shape {shape}. One long run is read "
            f"in chunks from a table, and runs of different lengths by ChunkedDataset.from_runs."
        )
    if is_dask(x):
        return _from_dask_array(x, t, u, names, input_names)
    names = None if names is None else tuple(names)
    given = None if input_names is None else tuple(input_names)
    read = ArrayReader(_by_file(x), np.asarray(t, dtype=np.float64), _by_file(u), names, given)
    edges = chunk_edges(np.full(shape[0], shape[1]), rows)
    pairs = list(zip(edges[:-1], edges[1:], strict=True))
    return ChunkedDataset.of(read, pairs, [np.full(b - a, shape[1]) for a, b in pairs])


def from_runs(runs: Any, *, rows: int = CHUNK, folder: str | None = None) -> ChunkedDataset:
    """Return chunks of runs, each a `Dataset` or arrays (x, t) or (x, t, u).

    Runs of an iterable are written to a folder, because every pass needs them again. A temporary
    folder is deleted with the data. Runs of a Dask bag stay where they are.
    """
    if is_dask(runs):
        return _from_bag(runs)
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
            np.savez(file, **{name: array for name, array in arrays.items() if array is not None})
            keys.append(str(file))
            lengths.append(part.run_lengths)
        if first_part is None:
            raise DataError("At least one run is needed; the iterable is empty.")
        template = first_part[:0]
        data = ChunkedDataset.of(_Spool(replace(template, labels=(), filled=None)), keys, lengths)
    except BaseException:
        if folder is None:
            shutil.rmtree(directory, ignore_errors=True)
        raise
    if folder is None:
        weakref.finalize(data, shutil.rmtree, directory, ignore_errors=True)
    return data


@final
@dataclass(frozen=True, eq=False)
class _Spool:
    """Reads runs that were written to a folder; `like` has everything but the arrays."""

    like: Dataset

    def __call__(self, file: str) -> Dataset:
        with np.load(file, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        labels = tuple(str(i) for i in range(len(arrays["offsets"]) - 1))
        return replace(self.like, **arrays, labels=labels)


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


# -- Dask --------------------------------------------------------------------------------------


def is_dask(value: Any) -> bool:
    return hasattr(value, "__dask_graph__") and hasattr(value, "to_delayed")


@final
@dataclass(frozen=True, eq=False)
class DaskReader:
    """Computes partitions of a Dask collection when they are needed, in one thread."""

    make: Callable[[Any], Dataset | None]

    def __call__(self, partition: Any) -> Any:
        return self.make(partition.compute(scheduler="synchronous"))


@final
@dataclass(frozen=True, eq=False)
class _Lengths:
    read: DaskReader

    def __call__(self, partition: Any) -> np.ndarray:
        runs = self.read(partition)
        return np.zeros(0, dtype=np.int64) if runs is None else runs.run_lengths


def of_partitions(
    make: Callable[[Any], Dataset | None], partitions: Sequence[Any]
) -> ChunkedDataset:
    """Return the runs that `make` finds in each partition, after a pass that counts them.

    Partitions without runs are left out.
    """
    read = DaskReader(make)
    lengths = map_in_order(_Lengths(read), partitions, "Finding the runs")
    nonempty = [
        (key, run_lengths)
        for key, run_lengths in zip(partitions, lengths, strict=True)
        if len(run_lengths)
    ]
    return ChunkedDataset.of(
        read, [key for key, _ in nonempty], [run_lengths for _, run_lengths in nonempty]
    )


def _from_bag(bag: Any) -> ChunkedDataset:
    return of_partitions(_of_runs, list(bag.to_delayed()))


def _of_runs(runs: Iterable[Any]) -> Dataset | None:
    datasets = [_as_run(run) for run in runs]
    return concatenate(datasets) if datasets else None


def _from_dask_array(
    x: Any, t: Any, u: Any, names: Sequence[str] | None, input_names: Sequence[str] | None
) -> ChunkedDataset:
    from dask.delayed import delayed

    whole = {axis: -1 for axis in (1, 2)}
    states = x.rechunk(whole).to_delayed().ravel()
    shared = [None] * len(states)
    if u is not None:
        shared = u.rechunk({0: x.chunks[0], **whole}).to_delayed().ravel()
    times = np.asarray(t, dtype=np.float64)
    first = np.cumsum([0, *x.chunks[0]])
    make = _ArrayMaker(None if names is None else tuple(names),
                       None if input_names is None else tuple(input_names))  # fmt: skip
    parts = [
        delayed((chunk, times if times.ndim < 2 else times[a:b], inputs), pure=True)
        for chunk, inputs, a, b in zip(states, shared, first[:-1], first[1:], strict=True)
    ]
    return of_partitions(make, parts)


@final
@dataclass(frozen=True)
class _ArrayMaker:
    names: tuple[str, ...] | None
    input_names: tuple[str, ...] | None

    def __call__(self, parts: Any) -> Dataset:
        x, t, u = parts
        return _chunk(x, t, u, self.names, self.input_names)


def _chunk(
    x: Any,
    t: Any,
    u: Any = None,
    names: Sequence[str] | None = None,
    input_names: Sequence[str] | None = None,
) -> Dataset:
    """Return runs of arrays as a chunk of more data."""
    parts = dataset_parts(x, t, u, names, None, input_names, None)
    return Dataset.checked(**parts, is_chunk=True)


def _by_file(array: Any) -> Any:
    if isinstance(array, np.memmap) and array.filename is not None and array.flags.contiguous:
        order = "C" if array.flags.c_contiguous else "F"
        offset = int(array.offset)
        return _Mapped(str(array.filename), array.dtype.str, array.shape, offset, order)
    return array


def _opened(array: Any) -> Any:
    if isinstance(array, _Mapped):
        return np.memmap(
            array.file, array.dtype, "r", array.offset, array.shape,
            "C" if array.order == "C" else "F",
        )  # fmt: skip
    return array
