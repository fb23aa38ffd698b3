"""`Table`: raw columns of a source, with the places and notes that belong to them. Columns of text
as numbers: cells that stand for no value become NaN and are remembered.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from jaxtyping import Float

from ..._common.errors import DataError
from .._schema import Note
from ._choice import Format

_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d{1,2}:\d{2}")
_COMMA = re.compile(r"[+-]?\d+,\d+")
_WITH_UNIT = re.compile(r"[+-]?\d+(?:[.,]\d+)?(?:[eE][+-]?\d+)? ?(?=[^\W\d]|[%°])\D.{0,9}")
_TOTAL = re.compile(
    r"(grand )?(total|sum|mean|average|avg|min|max|std|count|summe|mittelwert)\b.*", re.IGNORECASE
)
_THOUSANDS = re.compile(r"[+-]?\d{1,3}([.,' ]\d{3})+([.,]\d+)?")


def text_of(cell: Any) -> str:
    """A cell as text, empty where there is none: None, NaN, NaT and pandas' NA."""
    if isinstance(cell, str):
        return cell.strip()
    if cell is None or type(cell).__name__ in ("NAType", "NaTType") or cell != cell:
        return ""
    return str(cell).strip()


@final
@dataclass(frozen=True, eq=False)
class Table:
    """Chosen columns by the names that they were chosen by, as numbers, dates or text.

    `row_of` gives the number that a user finds a row by: `row_word` 'line' of a file, or 'row'.
    `decimal` is the sign that text writes decimals with. `units` are those of the header,
    `others` its columns that were not chosen.
    """

    columns: dict[str, np.ndarray]
    source: str
    row_word: str = "row"
    row_of: Callable[[int], int] = int
    decimal: str = "."
    units: dict[str, str] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    others: tuple[str, ...] = ()

    def at(self, row: int) -> str:
        """'runs.csv, line 18'."""
        return f"{self.source}, {self.row_word} {self.row_of(row)}"


def is_number(text: str) -> bool:
    """Whether Python reads it as a number, not counting 1_000."""
    try:
        float(text.replace("_", "?"))
    except ValueError:
        return False
    return True


def plain_numbers(cells: Any, decimal: str) -> Float[np.ndarray, " N"] | None:
    """Cells that are all numbers as float64; None where one is not."""
    text = np.asarray(cells, dtype=str)
    try:
        if decimal == ",":
            if (np.char.find(text, ".") >= 0).any():
                return None
            text = np.char.replace(text, ",", ".")
        if (np.char.find(text, "_") >= 0).any():  # Python reads 1_000 as a number
            return None
        return text.astype(np.float64)
    except ValueError:
        return None


def numbers_of(table: Table, name: str, form: Format, group: str = "") -> Float[np.ndarray, " N"]:
    """A column as float64, NaN where a value is missing and repair was asked for; else an error
    that names the first cell that is no number and the option that would help."""
    column = table.columns[name]
    if column.dtype.kind in "fiub":
        return _without_marks(column.astype(np.float64, copy=False), table, name, form, group)
    if column.dtype.kind in "mM":
        raise DataError(
            f"{table.at(0)}: column '{name}' holds dates or durations, which only time=... may."
        )
    cells = [text_of(cell).replace("\u2212", "-") for cell in column.tolist()]  # a typeset minus
    found = plain_numbers(cells, table.decimal) if cells else np.zeros(0)
    if found is not None:
        return _without_marks(found, table, name, form, group)
    values = np.full(len(cells), np.nan)
    for row, cell in enumerate(cells):
        has_point = table.decimal == "," and "." in cell
        text = cell.replace(",", ".") if table.decimal == "," else cell
        if is_number(text) and not has_point:
            values[row] = float(text)
        elif not form.is_missing(cell):
            raise DataError(
                f"{table.at(row)}{_run(table, group, row)}: column '{name}' holds '{cell}', which "
                f"is not a number.{_advice(cell, name, table.decimal)}"
            )
        elif not form.repair:
            raise DataError(_missing(table, name, cells, row, _run(table, group, row)))
    return _without_marks(values, table, name, form, group)


def _without_marks(
    values: Float[np.ndarray, " N"], table: Table, name: str, form: Format, group: str
) -> Float[np.ndarray, " N"]:
    """NaN in the place of numbers, such as -999, that were said to stand for missing values."""
    marks = [float(mark) for mark in form.marks if is_number(mark)]
    if not marks:
        return values
    found = np.isin(values, marks)
    if not found.any():
        return values
    if not form.repair:
        row = int(np.argmax(found))
        cells = [""] * row + [f"{values[row]:g}"]
        raise DataError(_missing(table, name, cells, row, _run(table, group, row)))
    return np.where(found, np.nan, values)


def _run(table: Table, group: str, row: int) -> str:
    return f" (run {str(table.columns[group][row]).strip()})" if group else ""


def _missing(table: Table, name: str, cells: list[str], row: int, run: str) -> str:
    where, rest = f"{table.at(row)}{run}: column '{name}'", cells[row:]
    if cells[row]:
        return (
            f"{where} holds '{cells[row]}', which is no value. Correct it; pass repair=True to "
            f"leave out such rows, or fill=True to fill them in."
        )
    if len(rest) > 1 and not any(rest):
        return (
            f"{where} ends here, {len(rest)} rows before the others. Give its values to the end, "
            f"or remove these rows; pass repair=True to leave them out."
        )
    return (
        f"{where} is empty. Correct it; pass repair=True to leave out such rows, or fill=True to "
        f"fill them in."
    )


def _advice(text: str, name: str, decimal: str) -> str:
    if text == name:
        return " The header stands there again; remove the line."
    if _DATE.match(text) and not _COMMA.fullmatch(text):
        return " Only time=... may hold dates."
    if decimal == "," and "." in text and is_number(text):
        return " Decimals were taken to be written with a comma; pass decimal='.' if they are not."
    if _COMMA.fullmatch(text):
        return " Write decimals with a point, or pass decimal=',' if this is one."
    if _THOUSANDS.fullmatch(text):
        return " Write numbers without a sign between thousands."
    if re.fullmatch(r".*\d[dD][+-]?\d+", text) and is_number(re.sub("[dD]", "e", text)):
        return " Write exponents with E, as in 1.5E-3."
    if _WITH_UNIT.fullmatch(text):
        return f" Write numbers alone into the cells, and a unit into the header: '{name} [unit]'."
    if _TOTAL.fullmatch(text):
        return (
            f" Remove the line if it is no measurement, or pass missing='{text}' and repair=True "
            f"to leave it out."
        )
    short = f" If it stands for a missing value, pass missing='{text}'." if len(text) < 20 else ""
    return short
