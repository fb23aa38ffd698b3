"""Detect the dialect of a text table: header, delimiter, decimal sign and row of units.

Columns are selected by name. The header is therefore the first line that contains all these names
when it is split by one of the delimiters. The lines above it are not part of the table.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import final

from ..._common.errors import DataError
from .._schema import Note
from ._choice import Choice, Format
from ._table import as_clock, is_number

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "spaces"}
COMMENTS = ("#", "%", "//", "!")
FIRST_LINES = 200
"""Number of lines used to detect the dialect."""
_COMMA = re.compile(r"[+-]?\d+,\d+([eE][+-]?\d+)?")
_MAYBE_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+")
_UNIT = re.compile(r"[\[(]?[^\d\s\[\]()][^\[\]()]{0,15}[\])]?|[\[(][-1]?[\])]")


@final
@dataclass(frozen=True)
class Dialect:
    """Header, delimiter and decimal sign of a table. The rows begin after `skipped` lines."""

    delimiter: str
    header: tuple[str, ...]
    skipped: int
    decimal: str = "."
    unit_row: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()


def split(lines: Iterator[str], delimiter: str) -> Iterator[list[str]]:
    """Yield the cells of each line. If the delimiter is a space, it may repeat."""
    if delimiter == " ":
        return csv.reader((line.strip() for line in lines), delimiter=" ", skipinitialspace=True)
    return csv.reader(lines, delimiter=delimiter)


def is_comment(cells: Sequence[str], header: Sequence[str], choice: Choice) -> bool:
    """Return whether a line is a comment, which begins with a sign that cannot begin a number.

    A complete row may begin with such a sign if its first column was not chosen as numbers.
    """
    if choice.form.comment is not None:
        return cells[0].lstrip().startswith(choice.form.comment)
    if not cells[0].lstrip().startswith(COMMENTS):
        return False
    is_full = 1 < len(header) == len(cells)
    return not (is_full and not choice.is_number(header[0]))


def find_dialect(lines: Sequence[str], choice: Choice, source: str) -> Dialect:
    """Return the dialect of a table that begins with these lines."""
    signs = list(DELIMITERS) if choice.form.delimiter is None else [choice.form.delimiter]
    dialect = _first_header(lines, signs, choice)
    if dialect is None and choice.form.delimiter is not None:
        _refuse_delimiter(lines, choice, source)
    if dialect is None:
        dialect = _likely_header(lines, signs, choice, source)
    notes = []
    above = [line for line in lines[: dialect.skipped - 1] if line.strip()]
    if above:
        notes.append(
            Note("preamble", f"The header is on line {dialect.skipped}; {len(above)} "
                 f"{'line above it is' if len(above) == 1 else 'lines above it are'} not part of "
                 f"the table.", len(above))
        )  # fmt: skip
    if choice.form.delimiter is None and dialect.delimiter != ",":
        separator = DELIMITERS[dialect.delimiter]
        notes.append(Note("delimiter", f"Columns are separated by {separator}."))
    cell_rows = [cells for _, cells in _split_each(lines, dialect.skipped, dialect.delimiter)]
    rows = [cells for cells in cell_rows if not is_comment(cells, dialect.header, choice)]
    numeric = [
        index
        for name, index in choice.locate(dialect.header, source).indices.items()
        if name not in choice.labels
    ]
    unit_row = _unit_row(rows, numeric, choice.form)
    if unit_row:
        notes.append(Note("unit-row", "The line below the header contains units."))
    decimal = choice.form.decimal or _decimal(rows[bool(unit_row) :], numeric, dialect.delimiter)
    if decimal == "," and choice.form.decimal is None:
        notes.append(Note("decimal", "Decimals are written with a comma."))
    return replace(dialect, decimal=decimal, unit_row=unit_row, notes=tuple(notes))


def _first_header(
    lines: Sequence[str], delimiters: Sequence[str], choice: Choice
) -> Dialect | None:
    """Return the first line with all names, preferably with as many cells as the next line."""
    fallback = None
    for number, line in enumerate(lines, 1):
        for delimiter in delimiters:
            for text in _with_and_without_mark(line, choice.form):
                cells = _cells(text, delimiter)
                if not choice.fits(cells):
                    continue
                candidate = Dialect(delimiter, tuple(cells), number)
                below = (
                    row for _, row in _split_each(lines, number, delimiter)
                    if not is_comment(row, cells, choice)
                )  # fmt: skip
                if len(next(below, cells)) == len(cells):
                    return candidate
                fallback = fallback or candidate
    return fallback


def _with_and_without_mark(line: str, form: Format) -> list[str]:
    """Return a line, and the same line without its comment sign: '# t x v' is a header."""
    text = line.strip("\r\n")
    marks = COMMENTS if form.comment is None else (form.comment,)
    mark = next((mark for mark in marks if text.lstrip().startswith(mark)), None)
    return [text] if mark is None else [text, text.lstrip().removeprefix(mark).lstrip()]


def _likely_header(
    lines: Sequence[str], delimiters: Sequence[str], choice: Choice, source: str
) -> Dialect:
    """Return the line with most of the wanted names, for use in an error message.

    If no line contains a wanted name, return the first line that is not a comment.
    """
    first = None
    best, max_count = None, 0
    for number, line in enumerate(lines, 1):
        texts = _with_and_without_mark(line, choice.form)[::-1]
        candidates = [
            Dialect(delimiter, tuple(_cells(text, delimiter)), number)
            for text in texts
            for delimiter in delimiters
        ]
        likely = max(
            candidates,
            key=lambda candidate: (
                choice.count(candidate.header),
                _agrees(candidate, lines),
                len(candidate.header),
            ),
        )
        if choice.count(likely.header) > max_count:
            best, max_count = likely, choice.count(likely.header)
        plain = [candidate for candidate in candidates[-len(delimiters) :] if any(candidate.header)]
        if first is None and plain and not is_comment(plain[0].header, (), choice):
            first = max(
                plain, key=lambda candidate: (_agrees(candidate, lines), len(candidate.header))
            )
    if best is not None:
        return best
    if first is None and len(lines) < FIRST_LINES:
        raise DataError(f"{source} is empty; a header line and rows of numbers are needed.")
    if first is None:
        raise DataError(
            f"{source} has no header in its first {len(lines)} lines, which are blank or comments. "
            f"Remove some of these lines."
        )
    if all(is_number(cell) for cell in first.header):
        raise DataError(
            f"{source}, line {first.skipped}: a header with the names of columns is needed; this "
            f"line has numbers. Write a line above it, such as 't,x,v'."
        )
    return first


def _agrees(header: Dialect, lines: Sequence[str]) -> bool:
    """Return whether the header and the next line have the same number of cells, at least two."""
    below = next(_split_each(lines, header.skipped, header.delimiter), None)
    return below is not None and 1 < len(header.header) == len(below[1])


def _refuse_delimiter(lines: Sequence[str], choice: Choice, source: str) -> None:
    """Raise an error if another delimiter than the requested one would find the columns."""
    other = _first_header(lines, list(DELIMITERS), choice)
    if other is not None:
        raise DataError(
            f"{source} is not separated by {choice.form.delimiter!r}: its header reads as one "
            f"column, '{lines[other.skipped - 1].strip()}'. It looks separated by "
            f"{DELIMITERS[other.delimiter]}; pass delimiter={other.delimiter!r}."
        )


def _cells(line: str, sign: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(split(iter([line]), sign), [])]
    except csv.Error:
        return []


def _split_each(lines: Sequence[str], skipped: int, sign: str) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(lines[skipped:], skipped + 1):
        cells = _cells(line.strip("\r\n"), sign)
        if len(cells) > 1 or any(cells):
            yield number, cells


def _unit_row(rows: list[list[str]], numeric: list[int], form: Format) -> tuple[str, ...]:
    """Return the first row if it contains units: text in every numeric column, with numbers
    below.
    """
    if len(rows) < 2 or max(numeric) >= min(len(rows[0]), len(rows[1])):
        return ()
    first, second = ([row[index] for index in numeric] for row in rows[:2])
    is_text = all(_UNIT.fullmatch(cell) and not form.is_missing(cell) for cell in first)
    numbers = (is_number(cell.replace(",", ".")) or as_clock([cell]) is not None for cell in second)
    return tuple(rows[0]) if is_text and all(numbers) else ()


def _decimal(rows: list[list[str]], numeric: list[int], delimiter: str) -> str:
    """Return ',' or '.' as the decimal sign.

    It is ',' if no number has a point and at least one number has a comma that cannot separate
    thousands.
    """
    if delimiter == ",":
        return "."
    cells = [row[index] for row in rows for index in numeric if index < len(row)]
    commas = [cell for cell in cells if _COMMA.fullmatch(cell)]
    has_decimal_comma = any(not _MAYBE_THOUSANDS.fullmatch(cell) for cell in commas)
    has_point = any("." in cell and is_number(cell) for cell in cells)
    return "," if has_decimal_comma and not has_point else "."
