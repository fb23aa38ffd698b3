"""Parquet, Feather, Arrow and Excel files, and tables in memory.

Only the chosen columns of columnar files are read. Tables in memory (frames of pandas and polars,
Arrow tables, xarray datasets, dicts) are recognised by their attributes, without imports.
"""

import datetime
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..._common.errors import DataError, missing_extra, quoted, suggestion
from .._schema import Note
from ._choice import Choice, Columns, Format
from ._table import Table, duration_text
from ._text import Dialect, collect

COLUMNAR_SUFFIXES = {
    ".parquet": "Parquet", ".pq": "Parquet", ".feather": "Feather", ".arrow": "Arrow",
    ".ipc": "Arrow",
}  # fmt: skip

FRAME_NAME = "the table"


def read_columnar(file: Path, choice: Choice) -> Table:
    """Return the chosen columns of a Parquet, Feather or Arrow file."""
    kind = COLUMNAR_SUFFIXES[file.suffix.lower()]
    try:
        import pyarrow
        from pyarrow import feather, parquet
    except ImportError:
        raise missing_extra("pyarrow", "tables", f"Reading {kind}") from None
    try:
        if kind == "Parquet":
            with parquet.ParquetFile(file) as source:
                columns = choice.locate(source.schema_arrow.names, file.name)
                table = source.read(_names(columns, source.schema_arrow.names))
                return from_arrow(table, source.schema_arrow.names, columns, file.name)
        with pyarrow.memory_map(str(file)) as stream:
            header, is_stream = _ipc_header(pyarrow, stream)
            columns = choice.locate(header, file.name)
            names = _names(columns, header)
            stream.seek(0)
            if is_stream:
                table = pyarrow.ipc.open_stream(stream).read_all().select(names)
            else:
                table = feather.read_table(stream, columns=names)
            return from_arrow(table, header, columns, file.name)
    except pyarrow.ArrowException as error:
        raise DataError(f"{file.name} could not be read as {kind}: {error}") from None


def _names(columns: Columns, header: list[str]) -> list[str]:
    return list(dict.fromkeys(header[index] for index in columns.indices.values()))


def from_arrow(table: Any, header: list[str], columns: Columns, source: str) -> Table:
    """Return the chosen columns of an Arrow table."""
    arrays = {
        name: _as_array(table.column(header[index])) for name, index in columns.indices.items()
    }
    return Table(arrays, source, units=columns.units, others=columns.unused)


def _as_array(column: Any) -> np.ndarray:
    """Return a column as an array. Times with a zone are in UTC; decimals become floats."""
    import pyarrow

    kind = column.type
    if pyarrow.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
    elif pyarrow.types.is_decimal(kind):
        column = column.cast(pyarrow.float64())
    elif pyarrow.types.is_time(kind):
        column = (
            column.cast(pyarrow.time64("ns")).cast(pyarrow.int64()).cast(pyarrow.duration("ns"))
        )
    return np.asarray(column.to_numpy())


def _ipc_header(pyarrow: Any, stream: Any) -> tuple[list[str], bool]:
    """Return the names of the columns of an Arrow file, and whether it is in the stream format."""
    start = stream.read(4)
    stream.seek(0)
    if start == b"FEA1":
        raise pyarrow.ArrowInvalid("it is in Feather's first version; write it again")
    is_stream = start != b"ARRO"
    reader = pyarrow.ipc.open_stream(stream) if is_stream else pyarrow.ipc.open_file(stream)
    return reader.schema.names, is_stream


def is_frame(value: Any) -> bool:
    """Return whether a value is a table in memory."""
    is_structured = getattr(getattr(value, "dtype", None), "names", None) is not None
    return (
        isinstance(value, Mapping)
        or is_structured
        or hasattr(value, "columns")
        or hasattr(value, "data_vars")
    )


def read_frame(frame: Any, choice: Choice) -> Table:
    """Return the chosen columns of a table in memory."""
    if hasattr(frame, "data_vars"):  # xarray: coordinates become columns
        frame = frame.to_dataframe().reset_index()
    if hasattr(frame, "column_names") and hasattr(frame, "column"):  # Arrow
        header = list(frame.column_names)
        return from_arrow(frame, header, choice.locate(header, FRAME_NAME), FRAME_NAME)
    if isinstance(frame, np.ndarray):  # structured, as from numpy.genfromtxt(names=True)
        frame = {name: frame[name] for name in frame.dtype.names or ()}
    names = list(frame) if isinstance(frame, Mapping) else list(frame.columns)
    header = [str(name) for name in names]
    index = getattr(frame, "index", None)
    index_name = getattr(index, "name", None)
    if index_name is not None and choice.time == str(index_name) not in header:
        names, header = [*names, None], [*header, str(index_name)]
    columns = choice.locate(header, FRAME_NAME)
    arrays = {
        name: _column_of(index if names[i] is None else frame[names[i]])
        for name, i in columns.indices.items()
    }
    return Table(arrays, FRAME_NAME, units=columns.units, others=columns.unused)


def _column_of(column: Any) -> np.ndarray:
    """Return a column as an array, with dates in UTC."""
    zone = getattr(getattr(column, "dtype", None), "tz", None)
    if zone is not None and hasattr(column, "dt"):
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    elif zone is not None and hasattr(column, "tz_convert"):
        column = column.tz_convert("UTC").tz_localize(None)
    return np.asarray(column)


EXCEL_SUFFIXES = (".xlsx", ".xlsm")
_HEADER_ROWS = 200  # rows that are searched for the header


def read_excel(file: Path, choice: Choice) -> Table:
    """Return the chosen columns of a sheet, by default the first."""
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise missing_extra("openpyxl", "tables", "Reading Excel") from None
    try:
        book = load_workbook(file, read_only=True, data_only=True)
    except Exception as error:  # openpyxl raises errors of many types
        raise DataError(f"{file.name} could not be read as Excel: {error}") from None
    try:
        sheet, notes = _sheet(book, choice.form, file.name)
        header, number = _sheet_header(sheet, choice, file.name)
        if number > 1:
            notes += (Note("preamble", f"The header is on row {number}.", number - 1),)
        columns = choice.locate(header, file.name)
        dialect = Dialect(",", tuple(header), number)
        sheet_rows = _sheet_rows(sheet, number + 1, len(header))
        values, rows = collect(sheet_rows, dialect, columns.indices, choice, file.name, "row")
    finally:
        book.close()
    return Table(
        values, file.name, "row", lambda row: int(rows[row]),
        units=columns.units, notes=notes, others=columns.unused,
    )  # fmt: skip


def _sheet(book: Any, form: Format, source: str) -> tuple[Any, tuple[Note, ...]]:
    names = list(book.sheetnames)
    if form.sheet is None:
        others = f" of {len(names)}" if len(names) > 1 else ""
        note = (Note("sheet", f"The table is sheet '{names[0]}', the first{others}."),)
        return book[names[0]], note if others else ()
    if form.sheet in names:
        return book[form.sheet], ()
    raise DataError(
        f"{source} has no sheet '{form.sheet}'.{suggestion(form.sheet, names)} sheet=... must "
        f"be one of {quoted(names)}."
    )


def _sheet_header(sheet: Any, choice: Choice, source: str) -> tuple[list[str], int]:
    """Return the first row with all names, or else the first row that is not empty."""
    first = None
    for number, cells in _sheet_rows(sheet, 1, 0, _HEADER_ROWS):
        while cells and not cells[-1]:
            cells.pop()
        if choice.fits(cells):
            return cells, number
        first = first or (cells, number)
    if first is None:
        raise DataError(f"{source} is empty; a header and rows of numbers are needed.")
    return first


def _sheet_rows(sheet: Any, start: int, width: int, max_rows: int | None = None) -> Iterator[Any]:
    """Yield number and cells, as text, of each row that is not empty."""
    last = None if max_rows is None else start + max_rows - 1
    rows = sheet.iter_rows(min_row=start, max_row=last, values_only=True)
    for number, values in enumerate(rows, start):
        cells = [_cell_text(value) for value in values]
        if any(cells):
            yield number, cells[:width] + [""] * (width - len(cells)) if width else cells


def _cell_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, datetime.datetime | datetime.time):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return duration_text(value)
    return str(value).strip()
