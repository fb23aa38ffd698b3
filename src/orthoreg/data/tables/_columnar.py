"""Typed columns: Parquet, Feather and Arrow files, of which only the chosen columns are read, and
tables in memory: frames of pandas and polars, Arrow tables, xarray datasets, dicts of columns.

Tables in memory are known by what they have, so that none of these packages needs to be imported.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..._common.errors import DataError, missing_extra
from ._choice import Choice, Format
from ._table import Table

SUFFIXES = {".parquet": "Parquet", ".pq": "Parquet", ".feather": "Feather", ".arrow": "Arrow",
            ".ipc": "Arrow"}  # fmt: skip

SOURCE = "the table"


def read_columnar(file: Path, choice: Choice, form: Format) -> Table:
    """The chosen columns of a Parquet, Feather or Arrow file."""
    kind = SUFFIXES[file.suffix.lower()]
    try:
        import pyarrow
        from pyarrow import feather, parquet
    except ImportError:
        raise missing_extra("pyarrow", "tables", f"Reading {kind}") from None
    try:
        if kind == "Parquet":
            header = parquet.read_schema(file).names
        else:
            with pyarrow.memory_map(str(file)) as stream:
                header = _ipc_schema(pyarrow, stream).names
        places = choice.locate(header, file.name, form)
        names = list(dict.fromkeys(header[place] for place in places.values()))
        if kind == "Parquet":
            table = parquet.read_table(file, columns=names)
        elif _is_stream(file):
            with pyarrow.memory_map(str(file)) as stream:
                table = pyarrow.ipc.open_stream(stream).read_all().select(names)
        else:
            table = feather.read_table(file, columns=names)
    except pyarrow.ArrowException as error:
        raise DataError(f"{file.name} could not be read as {kind}: {error}") from None
    return from_arrow(table, header, places, choice, file.name)


def from_arrow(
    table: Any, header: list[str], places: dict[str, int], choice: Choice, source: str
) -> Table:
    """The columns at these places of an Arrow table."""
    columns = {name: _as_array(table.column(header[place])) for name, place in places.items()}
    return Table(
        columns,
        source,
        units=choice.units(header, places),
        others=choice.others(header, places),
    )


def _as_array(column: Any) -> np.ndarray:
    """A column for NumPy; times of a zone are in UTC already, decimals become floats."""
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


def _is_stream(file: Path) -> bool:
    with open(file, "rb") as stream:
        return stream.read(4) not in (b"ARRO", b"FEA1")


def _ipc_schema(pyarrow: Any, stream: Any) -> Any:
    start = stream.read(4)
    stream.seek(0)
    if start == b"ARRO":
        return pyarrow.ipc.open_file(stream).schema
    if start == b"FEA1":
        raise pyarrow.ArrowInvalid("it is of Feather's first version; write it anew")
    return pyarrow.ipc.open_stream(stream).schema


def is_frame(value: Any) -> bool:
    """Whether it is a table in memory."""
    is_structured = getattr(getattr(value, "dtype", None), "names", None) is not None
    return (
        isinstance(value, Mapping)
        or is_structured
        or hasattr(value, "columns")
        or hasattr(value, "data_vars")
    )


def read_frame(frame: Any, choice: Choice, form: Format) -> Table:
    """The chosen columns of a table in memory."""
    if hasattr(frame, "data_vars"):  # xarray: coordinates become columns
        frame = frame.to_dataframe().reset_index()
    if hasattr(frame, "column_names") and hasattr(frame, "column"):  # Arrow
        header = list(frame.column_names)
        return from_arrow(frame, header, choice.locate(header, SOURCE, form), choice, SOURCE)
    if isinstance(frame, np.ndarray):  # structured, as from numpy.genfromtxt(names=True)
        frame = {name: frame[name] for name in frame.dtype.names or ()}
    names = list(frame) if isinstance(frame, Mapping) else list(frame.columns)
    header = [str(name) for name in names]
    index = getattr(frame, "index", None)
    index_name = getattr(index, "name", None)
    if index_name is not None and choice.time == str(index_name) not in header:
        names, header = [*names, None], [*header, str(index_name)]
    places = choice.locate(header, SOURCE, form)
    columns = {
        name: _column_of(index if names[place] is None else frame[names[place]])
        for name, place in places.items()
    }
    return Table(
        columns,
        SOURCE,
        units=choice.units(header, places),
        others=choice.others(header, places),
    )


def _column_of(column: Any) -> np.ndarray:
    """A column for NumPy; dates of a zone in UTC."""
    zone = getattr(getattr(column, "dtype", None), "tz", None)
    if zone is not None and hasattr(column, "dt"):
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    elif zone is not None and hasattr(column, "tz_convert"):
        column = column.tz_convert("UTC").tz_localize(None)
    return np.asarray(column)
