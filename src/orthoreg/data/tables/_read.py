"""`read_table`: files and frames of many kinds, one or many, as one dataset."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..._common.errors import DataError
from ..._common.places import arrow_files, existing, files_of, folder_of, name_of, size_of
from .._chunked import CHUNK
from .._sources import is_dask
from ._choice import GAP, Choice, Format
from ._chunks import read_chunks, read_dask
from ._formats import FRAME_NAME, is_frame
from ._runs import PACKED_SUFFIXES, dataset_of, source_numbers

LARGEST = 2 << 30
"""Bytes of files beyond which tables are read in chunks, unless that is said."""


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
    """Runs from a table.

    Parameters
    ----------
    path
        a file (CSV, packed or not, Excel, Parquet, Feather or Arrow), or in memory a frame of
        pandas or polars, an Arrow table, an xarray dataset or a dict of columns. A pattern such as
        'runs/*.csv', or a list, is many tables: each is a run named by its file. Files elsewhere
        are read by their addresses, 's3://bucket/runs/*.parquet', through fsspec.
    time
        the column of times. Dates, clock times, durations and counts since 1970 become seconds
        since the first, or what `time_unit` says.
    states
        the columns of states. Runs side by side in columns theta_1, theta_2 are `theta_*`.
    inputs
        the columns of inputs.
    group
        the column that tells runs apart; its rows need not lie together.
    positions
        columns whose velocities are states too. With {"theta": "omega"} the velocity is the column
        omega; otherwise it was not measured, is called theta_dot and is estimated from the
        positions. The states are the positions, their velocities, then those of `states`.
    derivatives
        columns with the derivative of each state, in the order of `states`.
    units
        by column. A unit in the header, `theta [rad]` or `v (m/s)`, is found by itself; the column
        is called theta.
    delimiter, decimal, encoding, comment
        how a text is written; found out where it is not said.
    missing
        marks of missing values beside the usual ones.
    date_format
        of the times, one of `datetime.strptime`.
    time_unit
        of the times in the data, and so of all rates: 'ns', 'us', 'ms', 's', 'min', 'h' or 'd'.
        Dates and durations are converted to it, and so are numbers whose unit stands in the
        header; numbers without one are taken to be in it.
    sheet
        of an Excel file.
    long
        the columns that name the quantities and hold their values: ("sensor", "reading").
    repair
        mends faults of the rows and notes them: rows with missing values are left out, times
        sorted, rows of one time averaged, and runs cut where times begin again and at gaps longer
        than `gap` time steps. Without it, the first fault is an error.
    fill
        repairs too, and fills values that are missing between measured ones in along a smooth
        curve, as is needed for sensors that write at times of their own.
    gap
        see `repair`.
    chunks
        files that are too large to be held at once come in chunks of whole runs, of so many rows,
        or True; None does so beyond 2 GiB of files, False never. Rows of a run must lie together in
        its file.

    Returns
    -------
    data
        a `Dataset`, or a `ChunkedDataset` where it comes in chunks or is a Dask DataFrame, which
        `fit` takes too. What was found out stands in its `notes`.

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
    """Files or frames, one by one."""
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
    """The rows of a chunk, where the tables are to be read in chunks."""
    if chunks is None:
        files = [source for source in sources if isinstance(source, Path | str)]
        return CHUNK if sum(size_of(file) for file in files) > LARGEST else None
    if chunks is False:
        return None
    whole = chunks is True or (isinstance(chunks, int) and chunks >= 100)
    if not whole or any(not isinstance(source, Path | str) for source in sources):
        raise DataError(
            f"chunks must be True, False, None or a number of rows of at least 100, and of files; "
            f"got {chunks!r}."
            if not whole
            else "chunks are made of files; for tables in memory leave chunks out."
        )
    return CHUNK if chunks is True else int(chunks)


def _labels(sources: Sequence[Any]) -> list[str]:
    """A name for each source: that of its file, with its folder where names repeat."""
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
