"""`read_table` and `write_table`.

One or many files or frames become one dataset, read at once or in chunks.

For reading in chunks, a first pass builds an index of the runs. Chunks of whole runs are then read
on demand.
"""

import csv
import io
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, final

import numpy as np
from jaxtyping import Int

from ..._common.errors import DataError, missing_extra
from ..._common.files import (
    File,
    arrow_files,
    atomic_write,
    existing,
    files_of,
    folder_of,
    name_of,
    opened,
    size_of,
)
from ..._common.parallel import map_in_order
from .. import _limits as limits
from .._assembly import rate_polynomial, rates_of, with_rates
from .._checks import check_moving
from .._chunked import ChunkedDataset, chunk_edges, is_dask, of_partitions
from .._dataset import Dataset
from .._schema import Note
from ._choice import GAP, Choice, Format, time_unit_in
from ._formats import COLUMNAR_SUFFIXES, FRAME_NAME, from_arrow, is_frame
from ._runs import PACKED_SUFFIXES, SourceNumbers, dataset_of, source_numbers, table_numbers

MAX_BYTES_AT_ONCE = 2 << 30
"""Total size of files above which tables are read in chunks by default."""


def read_table(
    path: Any,
    time: str | None = None,
    states: Sequence[str] = (),
    inputs: Sequence[str] = (),
    group: str | None = None,
    *,
    positions: Sequence[str] | Mapping[str, str | None] = (),
    order: int = 2,
    hidden: Sequence[str] = (),
    derivatives: Sequence[str] | None = None,
    units: Mapping[str, str] | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    comment: str | None = None,
    missing: str | Sequence[str] = (),
    date_format: str | None = None,
    time_unit: str | None = None,
    sheet: str | None = None,
    long: Sequence[str] | None = None,
    repair: bool = False,
    fill: bool = False,
    gap: float | int = GAP,
    chunks: bool | int | None = None,
    discrete: bool = False,
    covariates: Sequence[str] = (),
) -> Any:
    """Read runs from a table.

    Parameters
    ----------
    path
        a file (CSV, optionally compressed, Excel, Parquet, Feather or Arrow), or a table in memory:
        a pandas or polars frame, an Arrow table, an xarray dataset or a dict of columns. A list, or
        a pattern such as 'runs/*.csv', gives several tables, each a run named after its file.
        Remote files are read through fsspec by their addresses, such as
        's3://bucket/runs/*.parquet'.
    time
        the column of times. Dates, clock times, durations and counts since 1970 become times since
        the first row, in seconds or `time_unit`. For a map (`discrete=True`), it may be omitted;
        row numbers then serve as times.
    states
        the columns of states. `theta_*` matches runs in adjacent columns theta_1, theta_2.
    inputs
        the columns of inputs.
    group
        the column that identifies the run. The rows of a run need not be consecutive.
    positions
        columns whose velocities are states too. With {"theta": "omega"}, the velocity is the column
        omega. Otherwise, the velocity theta_dot is estimated from the positions. The states are the
        positions, their velocities, then the columns in `states`.
    order
        order of the equations of the positions. With order 3, theta_ddot is a state too.
    hidden
        names of states without a column. A fit estimates them. They come last.
    derivatives
        columns with the derivative of each state, in the order of `states`.
    units
        units by column. Units in the header, as in `theta [rad]` or `v (m/s)`, are recognised; the
        column is then named theta. A column whose header has another unit is converted (requires
        the extra `units`).
    delimiter, decimal, encoding, comment
        format of a text file; detected if omitted.
    missing
        additional markers of missing values.
    date_format
        format of dates, as in `datetime.strptime`.
    time_unit
        unit of time for the data and therefore for all rates: 'ns', 'us', 'ms', 's', 'min', 'h' or
        'd'. Dates, durations and numbers with a unit in the header are converted. Other numbers
        must be in this unit.
    sheet
        sheet of an Excel file.
    long
        the columns of names and of values in a long table: ("sensor", "reading").
    repair
        repair rows and note all changes: leave out rows with missing values, sort times, average
        rows with equal times, and cut runs where times restart and at gaps longer than `gap` time
        steps. By default, the first invalid row raises an error.
    fill
        repair, and interpolate missing values between measured values. Useful for sensors with
        different sampling times.
    gap
        multiple of the time step above which `repair` cuts a run.
    chunks
        number of rows per chunk of whole runs, True for the default number, False to read
        everything at once. If None, tables of more than 2 GiB are read in chunks. The rows of a run
        must be consecutive in its file.
    discrete
        whether the system is a map x[k+1] = f(x[k], u[k]) from row to row. Steps must then be
        equal. With `repair`, runs are cut where rows are missing.
    covariates
        columns that are constant within each run, such as a length. Covariates do not occur in any
        term. A fit with constants per run tests whether these constants depend on covariates. Cells
        may be empty.

    Returns
    -------
    data
        a `Dataset`, or a `ChunkedDataset` if the table is read in chunks or is a Dask DataFrame.
        Its `notes` state what was detected.

    Examples
    --------
    >>> import orthoreg as og
    >>> table = {"t [s]": [0.0, 0.1, 0.2], "x [m]": [1.0, 0.9, 0.8]}
    >>> data = og.read_table(table, time="t", states=["x"])
    >>> data.n_samples, data.units["x"]
    (3, 'm')
    """
    if units is not None and time is not None and time_unit is None:
        time_unit = time_unit_in(units.get(time))
    form = Format(
        delimiter=delimiter, decimal=decimal, encoding=encoding, comment=comment, missing=missing,
        date_format=date_format, time_unit=time_unit, sheet=sheet, long=long, repair=repair or fill,
        fill=fill, gap=gap,
    )  # fmt: skip
    choice = Choice(
        time, states, inputs, group, derivatives, positions, units, form,
        order=order, discrete=discrete, hidden=hidden, covariates=covariates,
    )  # fmt: skip
    if is_dask(path) and hasattr(path, "columns"):
        _refuse_hidden(choice)
        if choice.is_counted:
            raise DataError("time must name a column: the rows of a Dask DataFrame have no order.")
        return read_dask(path, choice)
    sources = _sources(path)
    labels = _labels(sources)
    name = _shown(path, sources)
    if rows := _chunk_rows(chunks, sources):
        _refuse_hidden(choice)
        return read_chunks(sources, labels, choice, name, rows)
    parts = [source_numbers(source, choice) for source in sources]
    return dataset_of(parts, labels, choice, name)


def _refuse_hidden(choice: Choice) -> None:
    if choice.hidden or choice.covariates:
        what = "hidden states are estimated from" if choice.hidden else "covariates need"
        raise DataError(f"{what} runs in memory; pass chunks=False, or fewer files.")


def _sources(path: Any) -> list[Any]:
    """Return the files or frames as a list."""
    if is_frame(path):
        return [path]
    if files := arrow_files(path):
        return files
    if isinstance(path, list | tuple):
        if not path:
            raise DataError("At least one table is needed; the list is empty.")
        return [source if is_frame(source) else existing(source) for source in path]
    try:
        os.fspath(path)
    except TypeError:
        raise DataError(
            "path must be a file name or a table (a frame, an xarray dataset or a dict of "
            f"columns); got {type(path).__name__}."
        ) from None
    return files_of(path)


def _chunk_rows(chunks: bool | int | None, sources: Sequence[Any]) -> int | None:
    """Return the number of rows per chunk, or None to read everything at once."""
    if chunks is None:
        files = [source for source in sources if isinstance(source, Path | str)]
        return limits.CHUNK if sum(size_of(file) for file in files) > MAX_BYTES_AT_ONCE else None
    if chunks is False:
        return None
    is_valid = chunks is True or (isinstance(chunks, int) and chunks >= 100)
    if not is_valid or any(not isinstance(source, Path | str) for source in sources):
        raise DataError(
            f"chunks must be True, False, None or a number of rows of at least 100; got {chunks!r}."
            if not is_valid
            else "chunks are made of files; omit it for tables in memory."
        )
    return limits.CHUNK if chunks is True else int(chunks)


def _labels(sources: Sequence[Any]) -> list[str]:
    """Return a name for each source: the file name, with its folder if names repeat."""
    names = [
        _stem(source) if isinstance(source, Path | str) else str(i)
        for i, source in enumerate(sources)
    ]
    if len(set(names)) < len(names):
        names = [
            f"{folder_of(source)}/{name}" if isinstance(source, Path | str) else name
            for source, name in zip(sources, names, strict=True)
        ]
    if len(set(names)) < len(names):
        names = [f"{name}.{i}" for i, name in enumerate(names)]
    return names


def _stem(file: File) -> str:
    """Return a file name without the suffixes of its format and compression."""
    name = Path(name_of(file))
    return Path(name.stem).stem if name.suffix.lower() in PACKED_SUFFIXES else name.stem


def _shown(path: Any, sources: Sequence[Any]) -> str:
    if len(sources) == 1:
        source = sources[0]
        return name_of(source) if isinstance(source, Path | str) else FRAME_NAME
    is_pattern = isinstance(path, str | os.PathLike)
    return os.fspath(path) if is_pattern else f"{len(sources)} tables"


def write_table(path: str | os.PathLike[str], columns: Mapping[str, np.ndarray]) -> None:
    """Write columns of numbers as CSV, atomically."""
    arrays = [np.asarray(column) for column in columns.values()]
    with atomic_write(path) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*(array.tolist() for array in arrays), strict=True))
        text.flush()
        text.detach()


# -- chunks ------------------------------------------------------------------------------------

_BATCH = 2**16  # number of rows that are decoded together


@final
@dataclass(frozen=True)
class Piece:
    """Whole runs of a file: its rows `first` to `last`, or all rows if `last` is None."""

    file: File
    label: str
    first: int = 0
    last: int | None = None


@final
@dataclass(frozen=True, eq=False)
class TableReader:
    """Read pieces of files as datasets without estimated velocities."""

    choice: Choice
    source: str

    def __call__(self, pieces: Sequence[Piece]) -> Dataset:
        parts = [self.numbers(piece) for piece in pieces]
        labels = [piece.label for piece in pieces]
        source = name_of(pieces[0].file) if len(pieces) == 1 else self.source
        return dataset_of(parts, labels, self.choice, source, is_chunk=True)

    def numbers(self, piece: Piece) -> SourceNumbers:
        """Return the numbers of a piece."""
        try:
            if piece.last is None:
                return source_numbers(piece.file, self.choice)
            return table_numbers(self._range(piece), self.choice)
        except OSError as error:
            raise DataError(f"{piece.file} could not be read: {error}") from None

    def _range(self, piece: Piece) -> Any:
        name = name_of(piece.file)
        with _Parquet(piece.file) as file:
            columns = self.choice.locate(file.header, name)
            names = list(dict.fromkeys(file.header[index] for index in columns.indices.values()))
            rows = file.rows(names, piece.first, piece.last or 0)
        table = from_arrow(rows, file.header, columns, name)
        return replace(table, row_of=partial(_shifted, piece.first))


def read_chunks(
    files: Sequence[File], labels: Sequence[str], choice: Choice, source: str, rows: int
) -> ChunkedDataset:
    """Return the runs of files in chunks of about `rows` rows. Longer runs are cut."""
    read = TableReader(choice, source)
    index = map_in_order(
        partial(_index, read, rows), list(zip(files, labels, strict=True)), "Finding the runs"
    )
    pieces = [piece for file_pieces, _ in index for piece in file_pieces]
    sizes = [int(run_lengths.sum()) for _, run_lengths in pieces]
    keys, lengths = [], []
    edges = chunk_edges(np.array(sizes), rows)
    for a, b in zip(edges[:-1], edges[1:], strict=True):
        keys.append(tuple(piece for piece, _ in pieces[a:b]))
        lengths.append(np.concatenate([piece for _, piece in pieces[a:b]]))
    data = ChunkedDataset.of(read, keys, lengths)
    if cut := sum(count for _, count in index):
        subject = f"{cut} run{'s' * (cut > 1)} longer than {rows} rows"
        note = Note("cut-runs", f"{subject} {'were' if cut > 1 else 'was'} cut into chunks.", cut)
        data = replace(data, sample=replace(data.sample, notes=(*data.sample.notes, note)))
    return _with_velocities(data, choice, source)


def _with_velocities(data: ChunkedDataset, choice: Choice, source: str) -> ChunkedDataset:
    """Return the data with velocities estimated by a polynomial that is chosen on the sample."""
    if not choice.positions:
        return data
    sample = data.sample
    check_moving(sample.states, sample.state_names, sample.offsets, tuple(choice.positions), source)
    rates = rates_of(sample, choice.positions, choice.order)
    return data.transformed(partial(_add_rates, rates, rate_polynomial(sample, rates)))


def read_dask(frame: Any, choice: Choice) -> ChunkedDataset:
    """Return the runs of a Dask DataFrame, one chunk per partition.

    If a run extends over several partitions, Dask first collects its rows. Without a group, each
    partition is a run.
    """
    read = partial(_read_partition, choice)
    data = of_partitions(read, list(frame.to_delayed()))
    if choice.group is not None:
        per_chunk = map_in_order(partial(_labels_of, data.read), data.keys, "Finding the runs")
        labels = [label for chunk_labels in per_chunk for label in chunk_labels]
        if len(set(labels)) < len(labels):
            shuffled = frame.shuffle(on=choice.group)
            read = partial(read, is_mixed=True)
            data = of_partitions(read, list(shuffled.to_delayed()))
    elif len(data.keys) > 1:
        note = Note("cut-runs", f"One run was cut into {len(data.keys)} partitions.", 1)
        data = replace(data, sample=replace(data.sample, notes=(*data.sample.notes, note)))
    return _with_velocities(data, choice, "the Dask frame")


def _read_partition(choice: Choice, frame: Any, *, is_mixed: bool = False) -> Dataset | None:
    """Return the runs of a partition. `is_mixed` is true if Dask has changed the order of rows."""
    if not len(frame):
        return None
    if is_mixed:
        frame = frame.sort_values([choice.group, choice.time])
    part = source_numbers(frame, choice)
    return dataset_of([part], [""], choice, "the Dask frame", is_chunk=True)


def _labels_of(read: Callable[[Any], Dataset], partition: Any) -> tuple[str, ...]:
    return read(partition).labels


def _add_rates(
    rates: Mapping[str, str], polynomial: tuple[int, int] | None, data: Dataset
) -> Dataset:
    return data.with_parts(**with_rates(data, rates, polynomial))


def _index(
    read: TableReader, rows: int, item: tuple[File, str]
) -> tuple[list[tuple[Piece, Int[np.ndarray, " _"]]], int]:
    """Return the pieces of a file with the lengths of their runs, and the number of runs that were
    cut.
    """
    file, label = item
    choice = read.choice
    is_parquet = COLUMNAR_SUFFIXES.get(_suffix(file)) == "Parquet"
    if not is_parquet or choice.form.repair or choice.form.long is not None or choice.patterns:
        lengths = read((Piece(file, label),)).run_lengths
        return [(Piece(file, label), lengths)], 0
    try:
        with _Parquet(file) as table:
            starts = table.run_starts(choice, name_of(file))
            parts = np.maximum(-(-np.diff(starts) // rows), 1)  # number of parts of each run
            if (parts > 1).any():
                pairs = zip(starts[:-1], starts[1:], parts, strict=True)
                run_starts = [
                    np.linspace(a, b, n, endpoint=False, dtype=np.int64) for a, b, n in pairs
                ]
                starts = np.concatenate([*run_starts, starts[-1:]])
            edges = table.cuts(starts, rows)
    except OSError as error:
        raise DataError(f"{file} could not be read: {error}") from None
    lengths = np.diff(starts)
    return [
        (Piece(file, label, int(starts[a]), int(starts[b])), lengths[a:b])
        for a, b in zip(edges[:-1], edges[1:], strict=True)
    ], int((parts > 1).sum())


@final
class _Parquet:
    """A Parquet file that is read in ranges of rows."""

    def __init__(self, file: File):
        self._context = opened(file)
        self._name = name_of(file)

    def __enter__(self) -> "_Parquet":
        try:
            import pyarrow
            from pyarrow import parquet
        except ImportError:
            raise missing_extra("pyarrow", "tables", "Reading Parquet") from None
        stream = self._context.__enter__()
        try:
            self._file = parquet.ParquetFile(stream)
        except pyarrow.ArrowException as error:
            self._context.__exit__(None, None, None)
            raise DataError(f"{self._name} could not be read as Parquet: {error}") from None
        counts = [
            self._file.metadata.row_group(i).num_rows for i in range(self._file.num_row_groups)
        ]
        self._ends = np.cumsum([0, *counts])
        self._largest = max(counts, default=0)
        self.header: list[str] = self._file.schema_arrow.names
        return self

    def __exit__(self, *error: Any) -> None:
        self._context.__exit__(None, None, None)

    def rows(self, names: list[str], first: int, last: int) -> Any:
        """Return a range of rows of these columns."""
        import pyarrow

        groups = [
            i
            for i, (a, b) in enumerate(zip(self._ends[:-1], self._ends[1:], strict=True))
            if a < last and b > first
        ]
        row, batches = int(self._ends[groups[0]]), []
        try:
            for batch in self._file.iter_batches(
                _BATCH, row_groups=groups, columns=names, use_threads=False
            ):
                if row + len(batch) > first:
                    offset = max(first - row, 0)
                    batches.append(batch.slice(offset, min(last - row, len(batch)) - offset))
                row += len(batch)
                if row >= last:
                    break
        except (pyarrow.ArrowException, OSError) as error:
            raise DataError(f"{self._name} could not be read as Parquet: {error}") from None
        return pyarrow.Table.from_batches(batches)

    def cuts(self, starts: Int[np.ndarray, " bounds"], rows: int) -> list[int]:
        """Return the run indices at which to cut the file into pieces of about `rows` rows.

        Pieces begin at row groups, so that no row group is read twice. They have at least as many
        rows as the largest row group.
        """
        boundaries = np.unique([0, *np.searchsorted(starts, self._ends), len(starts) - 1])
        edges = chunk_edges(np.diff(starts[boundaries]), max(rows, self._largest))
        return boundaries[edges].tolist()

    def run_starts(self, choice: Choice, name: str) -> Int[np.ndarray, " bounds"]:
        """Return the first row of each run, followed by the number of rows, from the group
        column.
        """
        import pyarrow
        import pyarrow.compute

        compute: Any = pyarrow.compute
        total = int(self._ends[-1])
        if not total:
            raise DataError(f"{name} has no rows below its header; at least one is needed.")
        columns = choice.locate(self.header, name)
        if choice.group is None:
            return np.array([0, total])
        column = self.header[columns.indices[choice.group]]
        starts, labels, last_label, n_rows = [], [], None, 0
        for batch in self._file.iter_batches(columns=[column], batch_size=2**18):
            keys = batch.column(0)
            if pyarrow.types.is_dictionary(keys.type):
                keys = keys.dictionary_decode()
            if keys.null_count:
                row = n_rows + int(np.argmax(np.asarray(keys.is_null())))
                raise DataError(
                    f"{name}, row {row}: column '{choice.group}' is empty; every row must name "
                    f"its run."
                )
            changed = np.asarray(compute.not_equal(keys[1:], keys[:-1]))
            new_runs = np.flatnonzero(np.concatenate([[keys[0].as_py() != last_label], changed]))
            starts.append(new_runs + n_rows)
            labels.append(keys.take(pyarrow.array(new_runs)))
            last_label, n_rows = keys[-1].as_py(), n_rows + len(keys)
        all_labels = pyarrow.chunked_array(labels)
        if len(compute.unique(all_labels)) < len(all_labels):
            counts = all_labels.value_counts().to_pylist()
            label = next(count["values"] for count in counts if count["counts"] > 1)
            raise DataError(
                f"{name}: the rows of run {label} are not consecutive, which reading in chunks "
                f"requires. Sort the file by '{choice.group}', or read it with chunks=False."
            )
        return np.append(np.concatenate(starts), total)


def _suffix(file: File) -> str:
    name = name_of(file)
    return f".{name.rpartition('.')[2].lower()}" if "." in name else ""


def _shifted(first: int, row: int) -> int:
    return first + row
