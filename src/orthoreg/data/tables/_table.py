"""`Table`: raw columns of a source, with the places and notes that belong to them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from .._notes import Note


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
