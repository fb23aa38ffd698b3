"""Tables in memory: frames of pandas and polars, Arrow tables, xarray datasets, dicts of columns.

They are known by what they have, so that none of these packages needs to be imported.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ._choice import Choice
from ._columnar import from_arrow
from ._format import Format
from ._table import Table

SOURCE = "the table"


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
        name: _as_array(index if names[place] is None else frame[names[place]])
        for name, place in places.items()
    }
    return Table(
        columns,
        SOURCE,
        units=choice.units(header, places),
        others=choice.others(header, places),
    )


def _as_array(column: Any) -> np.ndarray:
    """A column for NumPy; dates of a zone in UTC."""
    zone = getattr(getattr(column, "dtype", None), "tz", None)
    if zone is not None and hasattr(column, "dt"):
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    elif zone is not None and hasattr(column, "tz_convert"):
        column = column.tz_convert("UTC").tz_localize(None)
    return np.asarray(column)
