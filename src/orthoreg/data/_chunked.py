"""`ChunkedDataset`: runs that are too many to be held at once, read anew in every pass."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, final

import numpy as np
from jaxtyping import Int

from .._common.errors import DataError
from .._common.parallel import map_in_order, map_reduce
from ._dataset import Dataset, concatenate
from ._plan import Plan
from ._rows import deciding_runs
from ._schema import Note

CHUNK = 2**18
"""The rows of a chunk, unless another number is asked for."""


@final
@dataclass(frozen=True, eq=False)
class ChunkedDataset:
    """Runs of one system in chunks of whole runs that are read when they are needed, in every
    pass over the data, here or on a cluster. What `read_table(..., chunks=...)` returns.

    `read` makes a `Dataset` of each of the `keys`; `lengths` are the rows of the runs in each
    chunk. `sample` holds some whole runs, 131,072 rows or little more: what needs runs at hand,
    such as forecasts, pictures and a summary, works on these and says so.

    Parameters
    ----------
    read, keys
        what reads a chunk, and what it is given for each.
    lengths
        rows of the runs in each chunk.
    sample
        some whole runs.

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
        """The runs of these chunks, with the sample read."""
        if not len(keys):
            raise DataError("The data hold no runs; at least one is needed.")
        chosen = deciding_runs(np.concatenate(lengths))
        first = np.cumsum([0, *(len(one) for one in lengths)])
        wanted = [
            (key, chosen[(chosen >= a) & (chosen < b)] - a)
            for key, a, b in zip(keys, first[:-1], first[1:], strict=True)
        ]
        wanted = [(key, runs) for key, runs in wanted if len(runs)]
        parts = map_in_order(partial(_some_runs, read), wanted, "Reading a sample")
        return cls(read, tuple(keys), tuple(lengths), concatenate(parts))

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
        """Runs of equal length in an array (runs, times, states) that need not fit into memory: a
        memory-mapped file, an array of zarr or h5py, or one of Dask, whose chunks along the runs
        are taken. `t` holds the times, of all runs (times,) or of each (runs, times); `u` the
        inputs, as `x` does the states.

        Parameters
        ----------
        x, t, u
            states, times and inputs.
        names, input_names
            of states and inputs; x0, x1, ... and u0, u1, ... if None.
        rows
            of a chunk, about.

        Returns
        -------
        data
            read when it is needed.

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
        """Runs that come one by one: each a `Dataset`, or arrays (x, t) or (x, t, u), from any
        iterable or a Dask bag. Those of an iterable are written to `folder`, since every pass
        needs them again: a temporary one, which goes with the data, unless one is named.

        Parameters
        ----------
        runs
            an iterable or a Dask bag.
        rows
            of a chunk, about.
        folder
            for the chunks.

        Returns
        -------
        data
            read when it is needed.

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
        return int(sum(one.sum() for one in self.lengths))

    @property
    def n_runs(self) -> int:
        return sum(len(one) for one in self.lengths)

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
        """What was found out where the sample was read, and that there is one."""
        if self.sample.n_samples >= self.n_samples:
            return self.sample.notes
        return (
            *self.sample.notes,
            Note(
                "chunked",
                f"Coefficients come from all {self.n_samples} rows, in {self.n_chunks} chunks; "
                f"rules, forecasts, pictures and scores from a sample of {self.sample.n_samples} "
                f"rows in {self.sample.n_runs} whole runs.",
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

    def changed(self, change: Callable[[Dataset], Dataset]) -> "ChunkedDataset":
        """The data with a change made to every chunk when it is read."""
        return replace(self, read=partial(_changed, self.read, change), sample=change(self.sample))

    def total(self, function: Callable[[Dataset, int], Any], words: str) -> Any:
        """function(chunk, number of its first run), added up over all chunks."""
        return map_reduce(partial(_on_chunk, self.read, function), self._items(), words,
                          sizes=self._sizes())  # fmt: skip

    def each(self, function: Callable[[Dataset, int], Any], words: str) -> list[Any]:
        """function(chunk, number of its first run) for all chunks."""
        return map_in_order(partial(_on_chunk, self.read, function), self._items(), words,
                            sizes=self._sizes())  # fmt: skip

    def _items(self) -> list[tuple[Any, int]]:
        first = np.cumsum([0, *(len(one) for one in self.lengths)])
        return [(key, int(run)) for key, run in zip(self.keys, first[:-1], strict=True)]

    def _sizes(self) -> list[int]:
        return [int(one.sum()) for one in self.lengths]

    def __repr__(self) -> str:
        parts = [f"{self.n_runs} runs", f"{self.n_samples} samples", f"{self.n_chunks} chunks"]
        parts.append(f"states={self.state_names}")
        if self.input_names:
            parts.append(f"inputs={self.input_names}")
        return f"ChunkedDataset({', '.join(parts)})"


def chunked(data: Dataset, rows: int) -> ChunkedDataset:
    """Runs in memory, in chunks of about so many rows."""
    edges = chunk_edges(data.run_lengths, rows)
    pairs = list(zip(edges[:-1], edges[1:], strict=True))
    return ChunkedDataset.of(
        partial(_slice, data), pairs, [data.run_lengths[a:b] for a, b in pairs]
    )


def chunk_edges(lengths: Int[np.ndarray, " R"], rows: int) -> list[int]:
    """Where to cut a row of runs, so that each part has at most so many rows, or is one run."""
    edges, held = [0], 0
    for run, length in enumerate(lengths.tolist()):
        if held and held + length > rows:
            edges.append(run)
            held = 0
        held += length
    return [*edges, len(lengths)]


def _slice(data: Dataset, ends: tuple[int, int]) -> Dataset:
    return data[slice(*ends)]


def _some_runs(read: Callable[[Any], Dataset], wanted: tuple[Any, np.ndarray]) -> Dataset:
    key, runs = wanted
    return read(key)[runs]


def _changed(read: Callable[[Any], Dataset], change: Callable[[Dataset], Dataset], key: Any) -> Any:
    return change(read(key))


def _on_chunk(
    read: Callable[[Any], Dataset], function: Callable[[Dataset, int], Any], item: tuple[Any, int]
) -> Any:
    key, first_run = item
    return function(read(key), first_run)
