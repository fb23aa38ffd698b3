"""`read_table`: one or many files or frames as one dataset."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..._common.errors import DataError
from ..._common.files import arrow_files, existing, files_of, folder_of, name_of, size_of
from .._chunked import CHUNK
from .._sources import is_dask
from ._choice import GAP, Choice, Format
from ._chunks import read_chunks, read_dask
from ._formats import FRAME_NAME, is_frame
from ._runs import PACKED_SUFFIXES, dataset_of, source_numbers

LARGEST = 2 << 30
"""Bytes of files. Larger tables are read in chunks by default."""


def read_table(
    path: Any,
    time: str,
    states: Sequence[str] = (),
    inputs: Sequence[str] = (),
    group: str | None = None,
    *,
    positions: Sequence[str] | Mapping[str, str | None] = (),
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
) -> Any:
    """Read runs from a table.

    Parameters
    ----------
    path
        a file (CSV, compressed or not, Excel, Parquet, Feather or Arrow), or in memory a frame of
        pandas or polars, an Arrow table, an xarray dataset or a dict of columns. A list, or a
        pattern such as 'runs/*.csv', is many tables, each a run named by its file. Remote files
        are read through fsspec by their addresses, such as 's3://bucket/runs/*.parquet'.
    time
        the column of times. Dates, clock times, durations and counts since 1970 become seconds
        since the first time, or `time_unit`.
    states
        the columns of states. `theta_*` stands for runs side by side in theta_1, theta_2.
    inputs
        the columns of inputs.
    group
        the column that identifies the run; rows of a run need not be consecutive.
    positions
        columns whose velocities are states too. With {"theta": "omega"} the velocity is the column
        omega. Otherwise it is named theta_dot and estimated from the positions. The states are
        the positions, their velocities, then those of `states`.
    derivatives
        columns with the derivative of each state, in the order of `states`.
    units
        units by column. Units in the header, `theta [rad]` or `v (m/s)`, are read; the column is
        then named theta.
    delimiter, decimal, encoding, comment
        how a text is written. Detected if omitted.
    missing
        marks of missing values in addition to the usual ones.
    date_format
        format of the times, as in `datetime.strptime`.
    time_unit
        unit of time in the data, and so of all rates: 'ns', 'us', 'ms', 's', 'min', 'h' or 'd'.
        Dates, durations and numbers with a unit in the header are converted. Other numbers must
        be in this unit.
    sheet
        sheet of an Excel file.
    long
        the columns with names and values of quantities: ("sensor", "reading").
    repair
        repair rows and note what was changed: leave out rows with missing values, sort times,
        average rows of the same time, and cut runs where times restart and at gaps longer than
        `gap` time steps. By default the first fault is an error.
    fill
        repair, and interpolate values that are missing between measured ones, for sensors that
        write at different times.
    gap
        see `repair`.
    chunks
        number of rows of a chunk of whole runs, True for a default, False to read all at once.
        None reads more than 2 GiB in chunks. Rows of a run must be consecutive in its file.

    Returns
    -------
    data
        a `Dataset`, or a `ChunkedDataset` if it is read in chunks or is a Dask DataFrame. Its
        `notes` state what was detected.

    Examples
    --------
    >>> import orthoreg as og
    >>> table = {"t [s]": [0.0, 0.1, 0.2], "x [m]": [1.0, 0.9, 0.8]}
    >>> data = og.read_table(table, time="t", states=["x"])
    >>> data.n_samples, data.units["x"]
    (3, 'm')
    """
    choice = Choice(time, states, inputs, group, derivatives, positions)
    form = Format(
        delimiter=delimiter, decimal=decimal, encoding=encoding, comment=comment, missing=missing,
        date_format=date_format, time_unit=time_unit, sheet=sheet, long=long, repair=repair or fill,
        fill=fill, gap=gap,
    )  # fmt: skip
    choice.check_layout(form)
    if is_dask(path) and hasattr(path, "columns"):
        return read_dask(path, choice, form, units)
    sources = _sources(path)
    labels = _labels(sources)
    name = _shown(path, sources)
    if rows := _chunk_rows(chunks, sources):
        return read_chunks(sources, labels, choice, form, units, name, rows)
    parts = [source_numbers(source, choice, form) for source in sources]
    return dataset_of(parts, labels, choice, form, units, name)


def _sources(path: Any) -> list[Any]:
    """Return files or frames as a list."""
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
            f"path must be that of a file, or a table: a frame, an xarray dataset or a dict of "
            f"columns; got {type(path).__name__}."
        ) from None
    return files_of(path)


def _chunk_rows(chunks: bool | int | None, sources: Sequence[Any]) -> int | None:
    """Return the number of rows of a chunk, or None to read all at once."""
    if chunks is None:
        files = [source for source in sources if isinstance(source, Path | str)]
        return CHUNK if sum(size_of(file) for file in files) > LARGEST else None
    if chunks is False:
        return None
    whole = chunks is True or (isinstance(chunks, int) and chunks >= 100)
    if not whole or any(not isinstance(source, Path | str) for source in sources):
        raise DataError(
            f"chunks must be True, False, None or a number of rows of at least 100; got {chunks!r}."
            if not whole
            else "chunks are made of files; omit it for tables in memory."
        )
    return CHUNK if chunks is True else int(chunks)


def _labels(sources: Sequence[Any]) -> list[str]:
    """Return a name for each source: that of its file, with its folder if names repeat."""
    names = [
        _stem(name_of(source)) if isinstance(source, Path | str) else str(i)
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


def _stem(name: str) -> str:
    file = Path(name)
    inner = Path(file.stem) if file.suffix.lower() in PACKED_SUFFIXES else file
    return inner.stem


def _shown(path: Any, sources: Sequence[Any]) -> str:
    if len(sources) == 1:
        source = sources[0]
        return name_of(source) if isinstance(source, Path | str) else FRAME_NAME
    is_pattern = isinstance(path, str | os.PathLike)
    return os.fspath(path) if is_pattern else f"{len(sources)} tables"
