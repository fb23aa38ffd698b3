"""Excel workbooks: a sheet is a table of cells, read as a text table is."""

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..._common.errors import DataError, missing_extra, quoted, suggestion
from .._schema import Note
from ._choice import Choice, Format
from ._csv import collect
from ._dialect import Dialect
from ._table import Table

SUFFIXES = (".xlsx", ".xlsm")
_OPENING = 200  # rows among which the header is looked for


def read_excel(file: Path, choice: Choice, form: Format) -> Table:
    """The chosen columns of a sheet: the one that is named, or else the first."""
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise missing_extra("openpyxl", "tables", "Reading Excel") from None
    try:
        book = load_workbook(file, read_only=True, data_only=True)
    except Exception as error:  # of many kinds, for a file that is no workbook
        raise DataError(f"{file.name} could not be read as Excel: {error}") from None
    try:
        sheet, notes = _sheet(book, form, file.name)
        header, number = _header(sheet, choice, form, file.name)
        if number > 1:
            notes += (Note("preamble", f"The header is on row {number}.", number - 1),)
        places = choice.locate(header, file.name, form)
        dialect = Dialect(",", tuple(header), number)
        columns, rows = collect(
            _rows(sheet, number + 1, len(header)), dialect, places, choice, form, file.name, "row"
        )
    finally:
        book.close()
    return Table(
        columns, file.name, "row", lambda row: int(rows[row]),
        units=choice.units(header, places), notes=notes, others=choice.others(header, places),
    )  # fmt: skip


def _sheet(book: Any, form: Format, source: str) -> tuple[Any, tuple[Note, ...]]:
    names = list(book.sheetnames)
    if form.sheet is None:
        others = f" of {len(names)}" if len(names) > 1 else ""
        told = (Note("sheet", f"The table is sheet '{names[0]}', the first{others}."),)
        return book[names[0]], told if others else ()
    if form.sheet in names:
        return book[form.sheet], ()
    raise DataError(
        f"{source} has no sheet '{form.sheet}'.{suggestion(form.sheet, names)} sheet=... must "
        f"be one of {quoted(names)}."
    )


def _header(sheet: Any, choice: Choice, form: Format, source: str) -> tuple[list[str], int]:
    """The first row with all names, and its number; else the first that is not empty."""
    first = None
    for number, cells in _rows(sheet, 1, 0, _OPENING):
        while cells and not cells[-1]:
            cells.pop()
        if choice.fits(cells, form):
            return cells, number
        first = first or (cells, number)
    if first is None:
        raise DataError(f"{source} is empty; a header and rows of numbers are needed.")
    return first


def _rows(sheet: Any, start: int, width: int, most: int | None = None) -> Iterator[Any]:
    """Number and cells, as text, of every row that is not empty."""
    last = None if most is None else start + most - 1
    rows = sheet.iter_rows(min_row=start, max_row=last, values_only=True)
    for number, values in enumerate(rows, start):
        cells = [_text(value) for value in values]
        if any(cells):
            yield number, cells[:width] + [""] * (width - len(cells)) if width else cells


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, datetime.datetime | datetime.time):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return f"{'-' if value.total_seconds() < 0 else ''}PT{abs(value).total_seconds():.9f}S"
    return str(value).strip()
