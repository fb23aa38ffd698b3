"""`read_table`: files and frames of many kinds, one or many, as one dataset."""

import glob
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..._errors import DataError
from .._dataset import Dataset
from . import _columnar, _excel
from ._bytes import packing
from ._choice import Choice
from ._columnar import read_columnar
from ._csv import read_csv
from ._excel import read_excel
from ._format import GAP, Format
from ._frames import is_frame, read_frame
from ._layout import from_long, from_side_by_side
from ._runs import Measured, dataset_of, measured
from ._table import Table

_PACKED_SUFFIXES = (".gz", ".zst", ".zip", ".bz2", ".xz")


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
    sheet: str | None = None,
    long: Sequence[str] | None = None,
    repair: bool = False,
    fill: bool = False,
    gap: float | int = GAP,
) -> Dataset:
    """Runs from a table: CSV (packed or not), Excel, Parquet, Feather or Arrow, or in memory a
    frame of pandas or polars, an Arrow table, an xarray dataset or a dict of columns. A pattern
    such as 'runs/*.csv', or a list, is many tables: each is a run named by its file.

    `group` names the column that tells runs apart; its rows need not lie together. `derivatives`
    names columns with the derivative of each state, in the order of `states`.

    `positions` names columns whose velocities are states too. With {"theta": "omega"} the velocity
    is the column omega; otherwise it was not measured, is called theta_dot and is estimated from
    the positions. The states are the positions, their velocities, then those of `states`.

    A unit in the header, `theta [rad]` or `v (m/s)`, goes to `units`; the column is called theta.
    Runs side by side in columns theta_1, theta_2 are `theta_*`. In a `long` table one column names
    the quantities and another holds their values: ("sensor", "reading").

    Times that are dates, clock times, durations or counts since 1970 become seconds since the
    first. How a text is written (`delimiter`, `decimal`, `encoding`, `comment`) is found out where
    it is not said; `missing` are marks of missing values beside the usual ones, `date_format` is
    one of `datetime.strptime`. What was found out stands in `notes` of the dataset.

    With `repair` faults of the rows are mended and noted: rows with missing values are left out,
    times sorted, rows of one time averaged, and runs cut where times begin again and at gaps longer
    than `gap` time steps. Without it, the first fault is an error. `fill` repairs too, and fills
    values that are missing between measured ones in along a smooth curve, as is needed for sensors
    that write at times of their own.
    """
    choice = Choice(time, states, inputs, group, derivatives, positions)
    form = Format(
        delimiter=delimiter, decimal=decimal, encoding=encoding, comment=comment, missing=missing,
        date_format=date_format, sheet=sheet, long=long, repair=repair or fill, fill=fill, gap=gap,
    )  # fmt: skip
    choice.check_layout(form)
    sources = _sources(path)
    parts = [_measured(source, choice, form) for source in sources]
    labels = _labels(sources)
    name = parts[0].table.source if len(sources) == 1 else _shown(path, len(sources))
    return dataset_of(parts, labels, choice, form, units, name)


def _sources(path: Any) -> list[Any]:
    """Files or frames, one by one."""
    if is_frame(path):
        return [path]
    if isinstance(path, list | tuple):
        if not path:
            raise DataError("At least one table is needed; the list is empty.")
        return [one if is_frame(one) else _existing(one) for one in path]
    try:
        text = os.fspath(path)
    except TypeError:
        raise DataError(
            f"path must be that of a file, or a table: a frame, an xarray dataset or a dict of "
            f"columns; got {type(path).__name__}."
        ) from None
    if glob.has_magic(text) and not Path(text).exists():
        found = sorted(name for name in glob.glob(text, recursive=True) if Path(name).is_file())
        if not found:
            raise DataError(f"No file is called as '{text}' says. Check the path.")
        return [Path(name) for name in found]
    return [_existing(path)]


def _existing(path: Any) -> Path:
    file = Path(path)
    if not file.is_file():
        raise DataError(
            f"'{path}' is a folder; name a table in it, or all as '{file / '*.csv'}'."
            if file.is_dir()
            else f"There is no file '{path}'. Check the path."
        )
    return file


def _measured(source: Any, choice: Choice, form: Format) -> Measured:
    table = _table(source, choice, form)
    if form.long is not None:
        table = from_long(table, choice, form)
    if choice.patterns:
        table = from_side_by_side(table, choice)
    return measured(table, choice, form)


def _table(source: Any, choice: Choice, form: Format) -> Table:
    if is_frame(source):
        return read_frame(source, choice, form)
    suffix = source.suffix.lower()
    if suffix in _columnar.SUFFIXES:
        return read_columnar(source, choice, form)
    if suffix in _excel.SUFFIXES:
        return read_excel(source, choice, form)
    if suffix in (".xls", ".ods"):
        raise DataError(f"{source.name} is a spreadsheet of another kind; save it as .xlsx or CSV.")
    if form.sheet is not None:
        raise DataError(f"sheet must be left out: '{source.name}' is no Excel workbook.")
    if packing(source) == "zip" and suffix not in _PACKED_SUFFIXES:
        raise DataError(
            f"{source.name} is a zip archive or a spreadsheet; give it a name that ends in .zip or "
            f".xlsx."
        )
    return read_csv(source, choice, form)


def _labels(sources: Sequence[Any]) -> list[str]:
    """A name for each source: that of its file, with its folder where names repeat."""
    names = [
        _stem(source) if isinstance(source, Path) else str(i) for i, source in enumerate(sources)
    ]
    if len(set(names)) < len(names):
        names = [
            f"{source.parent.name}/{name}" if isinstance(source, Path) else name
            for source, name in zip(sources, names, strict=True)
        ]
    if len(set(names)) < len(names):
        names = [f"{name}.{i}" for i, name in enumerate(names)]
    return names


def _stem(file: Path) -> str:
    inner = Path(file.stem) if file.suffix.lower() in _PACKED_SUFFIXES else file
    return inner.stem


def _shown(path: Any, count: int) -> str:
    return f"{count} tables" if isinstance(path, list | tuple) else str(path)
