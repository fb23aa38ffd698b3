"""Chunks of whole runs from arrays on disk, from iterators and from Dask collections."""

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, final

import numpy as np

from .._common.errors import DataError
from .._common.parallel import map_in_order
from ._assembly import concatenate
from ._assembly import from_arrays as dataset_parts
from ._chunked import CHUNK, ChunkedDataset, chunk_edges
from ._dataset import Dataset

Names = tuple[str, ...] | None


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
    return ChunkedDataset.of(read, pairs, [np.full(b - a, shape[1]) for a, b in pairs])


def _read_slice(
    states: Any, times: np.ndarray, inputs: Any, names: tuple[Names, Names], bounds: tuple[int, int]
) -> Dataset:
    """Return runs of sliceable arrays: memory-mapped files, zarr, h5py or NumPy."""
    a, b = bounds
    u = None if inputs is None else np.asarray(_opened(inputs)[a:b])
    return _chunk(
        np.asarray(_opened(states)[a:b]), times if times.ndim < 2 else times[a:b], u, *names
    )


def from_runs(runs: Any, *, rows: int = CHUNK, folder: str | None = None) -> ChunkedDataset:
    """Return chunks of runs, each a `Dataset` or arrays (x, t) or (x, t, u).

    Runs of an iterable are written to a folder, because every pass needs them again. A temporary
    folder is deleted with the data. Runs of a Dask bag stay where they are.
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
            np.savez(file, **{name: array for name, array in arrays.items() if array is not None})
            keys.append(str(file))
            lengths.append(part.run_lengths)
        if first_part is None:
            raise DataError("At least one run is needed; the iterable is empty.")
        template = replace(first_part[:0], labels=(), filled=None)
        data = ChunkedDataset.of(partial(_read_stored, template), keys, lengths)
    except BaseException:
        if folder is None:
            shutil.rmtree(directory, ignore_errors=True)
        raise
    if folder is None:
        weakref.finalize(data, shutil.rmtree, directory, ignore_errors=True)
    return data


def _read_stored(template: Dataset, file: str) -> Dataset:
    """Return the runs in a file, with all attributes but the arrays from a template."""
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


# -- Dask --------------------------------------------------------------------------------------


def is_dask(value: Any) -> bool:
    return hasattr(value, "__dask_graph__") and hasattr(value, "to_delayed")


def of_partitions(
    make: Callable[[Any], Dataset | None], partitions: Sequence[Any]
) -> ChunkedDataset:
    """Return the runs that `make` finds in each partition, after a pass that counts them.

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
