"""Read Parquet, Feather, Arrow and Excel files, and tables in memory.

From columnar files, only the chosen columns are read. Tables in memory (frames of pandas and
polars, Arrow tables, xarray datasets, dicts) are recognised by their attributes, so that none of
these packages is imported.
"""

import datetime
import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..._common.errors import DataError, missing_extra, quoted, suggestion
from ..._common.files import size_of
from ..._common.unpacking import check_archive, max_unpacked, reading, too_large
from .._schema import Note
from ._choice import Choice, Columns, Format
from ._dialect import Dialect
from ._table import Table, duration_text
from ._text import collect

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
    if kind == "Parquet":
        with reading(file.name, kind), parquet.ParquetFile(file) as source:
            header, counts = source.schema_arrow.names, source.metadata.num_rows
            columns = choice.locate(header, file.name)
            names = _names(columns, header)
            check_columns(file, counts, len(names))
            table = source.read(names)
            table.validate(full=True)
        return from_arrow(table, header, columns, file.name)
    with reading(file.name, kind), pyarrow.memory_map(str(file)) as stream:
        header, is_stream = _ipc_header(pyarrow, stream)
        columns = choice.locate(header, file.name)
        names = _names(columns, header)
        stream.seek(0)
        if is_stream:
            table = pyarrow.ipc.open_stream(stream).read_all().select(names)
        else:
            table = feather.read_table(stream, columns=names)
        table.validate(full=True)
    return from_arrow(table, header, columns, file.name)


def check_columns(file: Path, n_rows: int, n_columns: int) -> None:
    """Raise an error if the columns would take implausibly more memory than their file."""
    limit = max_unpacked(size_of(file))
    if 8 * n_rows * n_columns > limit:
        raise too_large(file.name, limit)


def _names(columns: Columns, header: list[str]) -> list[str]:
    return list(dict.fromkeys(header[index] for index in columns.indices.values()))


def from_arrow(table: Any, header: list[str], columns: Columns, source: str) -> Table:
    """Return the chosen columns of an Arrow table."""
    arrays = {
        name: _as_array(table.column(header[index])) for name, index in columns.indices.items()
    }
    return Table(arrays, source, units=columns.units, others=columns.unused)


def _as_array(column: Any) -> np.ndarray:
    """Return a column as an array. Times with a time zone are converted to UTC, decimals to
    floats.
    """
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
    """Return the column names of an Arrow file, and whether it is in the stream format."""
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
    if hasattr(frame, "data_vars"):  # xarray dataset; its coordinates become columns
        frame = frame.to_dataframe().reset_index()
    if hasattr(frame, "column_names") and hasattr(frame, "column"):  # Arrow
        header = list(frame.column_names)
        return from_arrow(frame, header, choice.locate(header, FRAME_NAME), FRAME_NAME)
    if isinstance(frame, np.ndarray):  # structured array, as from numpy.genfromtxt(names=True)
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
    """Return a column as an array, with dates converted to UTC."""
    zone = getattr(getattr(column, "dtype", None), "tz", None)
    if zone is not None and hasattr(column, "dt"):
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    elif zone is not None and hasattr(column, "tz_convert"):
        column = column.tz_convert("UTC").tz_localize(None)
    return np.asarray(column)


EXCEL_SUFFIXES = (".xlsx", ".xlsm")
_HEADER_ROWS = 200  # number of rows in which to search for the header


def read_excel(file: Path, choice: Choice) -> Table:
    """Return the chosen columns of a sheet, by default the first sheet."""
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise missing_extra("openpyxl", "tables", "Reading Excel") from None
    check_archive(file, "Excel")
    with file.open("rb") as stream:  # openpyxl leaves files open that it cannot read
        with reading(file.name, "Excel"):
            book = load_workbook(stream, read_only=True, data_only=True)
        sheet, notes = _sheet(book, choice.form, file.name)
        header, number = _sheet_header(sheet, choice, file.name)
        if number > 1:
            notes += (Note("preamble", f"The header is on row {number}.", number - 1),)
        columns = choice.locate(header, file.name)
        dialect = Dialect(",", tuple(header), number)
        sheet_rows = _sheet_rows(sheet, file.name, number + 1, len(header))
        values, rows = collect(sheet_rows, dialect, columns.indices, choice, file.name, "row")
    return Table(
        values, file.name, "row", lambda row: int(rows[row]),
        units=columns.units, notes=notes, others=columns.unused,
    )  # fmt: skip


def _sheet(book: Any, form: Format, source: str) -> tuple[Any, tuple[Note, ...]]:
    names = list(book.sheetnames)
    if not names:
        raise DataError(f"{source} has no sheets.")
    if form.sheet is None:
        others = f" of {len(names)}" if len(names) > 1 else ""
        note = (Note("sheet", f"The table is sheet '{names[0]}', the first{others}."),)
        return _opened(book, names[0], source), note if others else ()
    if form.sheet in names:
        return _opened(book, form.sheet, source), ()
    raise DataError(
        f"{source} has no sheet '{form.sheet}'.{suggestion(form.sheet, names)} sheet=... must "
        f"be one of {quoted(names)}."
    )


def _opened(book: Any, name: str, source: str) -> Any:
    sheet = book[name]
    if not hasattr(sheet, "iter_rows"):
        raise DataError(f"{source}: '{name}' is a chart. Pass sheet=... with the name of a table.")
    return sheet


def _sheet_header(sheet: Any, choice: Choice, source: str) -> tuple[list[str], int]:
    """Return the first row with all names or, if there is none, the first row that is not empty."""
    first = None
    for number, cells in _sheet_rows(sheet, source, 1, 0, _HEADER_ROWS):
        while cells and not cells[-1]:
            cells.pop()
        if choice.fits(cells):
            return cells, number
        first = first or (cells, number)
    if first is None:
        raise DataError(f"{source} is empty; a header and rows of numbers are needed.")
    return first


def _sheet_rows(
    sheet: Any, source: str, start: int, width: int, max_rows: int | None = None
) -> Iterator[Any]:
    """Yield the number and the cells, as text, of each row that is not empty."""
    last = None if max_rows is None else start + max_rows - 1
    with reading(source, "Excel"):
        rows = sheet.iter_rows(min_row=start, max_row=last, max_col=width or None, values_only=True)
    for number in itertools.count(start):
        with reading(source, "Excel"):
            values = next(rows, None)
        if values is None:
            return
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
