"""`Format`: what a user says about how a table is written; None is found out."""

import codecs
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from ..._errors import DataError, quoted
from .._limits import GAP

MARKS = (
    "", "-", "--", "na", "n/a", "#n/a", "nan", "null", "none", "nil", "err", "error", "#error",
    "#value!", "#div/0!", "missing", "?", "*", ".",
)  # fmt: skip
"""Cells that stand for a value that is missing, in any case of letters."""


TIME_UNITS = {
    "ns": (1e-9, "nanoseconds", ("nanosecond", "nanoseconds")),
    "us": (1e-6, "microseconds", ("µs", "μs", "microsecond", "microseconds")),
    "ms": (1e-3, "milliseconds", ("msec", "millisecond", "milliseconds")),
    "s": (1.0, "seconds", ("sec", "secs", "second", "seconds")),
    "min": (60.0, "minutes", ("mins", "minute", "minutes")),
    "h": (3600.0, "hours", ("hr", "hrs", "hour", "hours")),
    "d": (86400.0, "days", ("day", "days")),
}
"""Units of time: their seconds, their name, and how else they are written."""


def time_unit_in(text: str | None) -> str | None:
    """The unit of time that a text stands for; None where it stands for none."""
    word = (text or "").strip()
    word = word if word in TIME_UNITS else word.lower()
    return next(
        (unit for unit, (_, _, others) in TIME_UNITS.items() if word in (unit, *others)), None
    )


@final
@dataclass(frozen=True, kw_only=True)
class Format:
    """How a table is written, and whether it may be repaired."""

    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    comment: str | None = None
    missing: str | Sequence[str] = ()
    date_format: str | None = None
    sheet: str | None = None
    long: Sequence[str] | None = None
    repair: bool = False
    fill: bool = False
    gap: float | int = GAP
    time_unit: str | None = None

    def __post_init__(self) -> None:
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\r\n'):
            raise DataError(
                f"delimiter must be a single character, other than a quote or the end of a line; "
                f"got {self.delimiter!r}."
            )
        if self.decimal not in (None, ".", ","):
            raise DataError(f"decimal must be '.' or ','; got {self.decimal!r}.")
        if self.decimal == "," and self.delimiter == ",":
            raise DataError(
                "decimal must differ from the sign between columns; got ',' as delimiter=','."
            )
        if self.encoding is not None:
            try:
                codecs.lookup(self.encoding)
            except LookupError:
                raise DataError(
                    f"encoding must be one that Python knows, such as 'utf-8', 'utf-16' or "
                    f"'latin-1'; got '{self.encoding}'."
                ) from None
        if self.comment == "":
            raise DataError("comment must be the sign that comments begin with; got empty text.")
        if self.long is not None and (len(self.long) != 2 or isinstance(self.long, str)):
            raise DataError(
                f"long must be a pair of columns, that with the names of quantities and that with "
                f"their values; got {self.long!r}."
            )
        if self.time_unit is not None:
            unit = time_unit_in(self.time_unit)
            if unit is None:
                raise DataError(
                    f"time_unit must be one of {quoted(TIME_UNITS)}; got '{self.time_unit}'."
                )
            object.__setattr__(self, "time_unit", unit)
        if not self.gap > 1:
            raise DataError(f"gap must be a multiple of the time step above 1; got {self.gap:g}.")

    @property
    def variable(self) -> str | None:
        """The column of a long table that names quantities."""
        return None if self.long is None else self.long[0]

    @property
    def marks(self) -> list[str]:
        """What stands for a missing value beside the usual marks."""
        return [self.missing] if isinstance(self.missing, str) else list(self.missing)

    def is_missing(self, text: str) -> bool:
        """Whether a cell stands for a value that is not there."""
        return text.lower() in MARKS or text in self.marks
