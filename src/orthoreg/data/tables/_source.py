"""One source of a table, whatever it is, as numbers."""

from pathlib import Path
from typing import Any

from ..._common.errors import DataError
from ..._common.places import local
from . import _columnar, _excel
from ._bytes import packing
from ._choice import Choice, Format
from ._columnar import is_frame, read_columnar, read_frame
from ._csv import read_csv
from ._excel import read_excel
from ._layout import from_long, from_side_by_side
from ._runs import Measured, measured
from ._table import Table

PACKED_SUFFIXES = (".gz", ".zst", ".zip", ".bz2", ".xz")


def measured_source(source: Any, choice: Choice, form: Format) -> Measured:
    """The numbers of a file or frame."""
    table = _table(source, choice, form)
    if form.long is not None:
        table = from_long(table, choice, form)
    if choice.patterns:
        table = from_side_by_side(table, choice)
    return measured(table, choice, form)


def _table(source: Any, choice: Choice, form: Format) -> Table:
    if is_frame(source):
        return read_frame(source, choice, form)
    with local(source) as file:
        return _file(file, choice, form)


def _file(source: Path, choice: Choice, form: Format) -> Table:
    suffix = source.suffix.lower()
    if suffix in _columnar.SUFFIXES:
        return read_columnar(source, choice, form)
    if suffix in _excel.SUFFIXES:
        return read_excel(source, choice, form)
    if suffix in (".xls", ".ods"):
        raise DataError(f"{source.name} is a spreadsheet of another kind; save it as .xlsx or CSV.")
    if form.sheet is not None:
        raise DataError(f"sheet must be left out: '{source.name}' is no Excel workbook.")
    if packing(source) == "zip" and suffix not in PACKED_SUFFIXES:
        raise DataError(
            f"{source.name} is a zip archive or a spreadsheet; give it a name that ends in .zip or "
            f".xlsx."
        )
    return read_csv(source, choice, form)
