"""How a text table is written: where its header is, its delimiter and its decimal sign.

Columns are chosen by name, so that the header is the first line that has all of these names, split
by some sign: nothing else needs to be guessed, and lines above it are no part of the table.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import final

from ..._common.errors import DataError
from .._schema import Note
from ._choice import Choice, Format
from ._clock import as_clock
from ._table import is_number

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "spaces"}
COMMENTS = ("#", "%", "//", "!")
_COMMA = re.compile(r"[+-]?\d+,\d+([eE][+-]?\d+)?")
_MAYBE_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+")
_UNIT = re.compile(r"[\[(]?[^\d\s\[\]()][^\[\]()]{0,15}[\])]?|[\[(][-1]?[\])]")


@final
@dataclass(frozen=True)
class Dialect:
    """The header and how cells are separated. Rows follow after `skipped` lines."""

    delimiter: str
    header: tuple[str, ...]
    skipped: int
    decimal: str = "."
    unit_row: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()


def split(lines: Iterator[str], delimiter: str) -> Iterator[list[str]]:
    """The cells of lines; spaces may repeat where they separate."""
    if delimiter == " ":
        return csv.reader((line.strip() for line in lines), delimiter=" ", skipinitialspace=True)
    return csv.reader(lines, delimiter=delimiter)


def is_comment(cells: Sequence[str], header: Sequence[str], choice: Choice, form: Format) -> bool:
    """Whether a line is a remark: it begins with a sign that no number begins with. A full row may
    begin so where its first column is none of numbers."""
    if form.comment is not None:
        return cells[0].lstrip().startswith(form.comment)
    if not cells[0].lstrip().startswith(COMMENTS):
        return False
    is_full = 1 < len(header) == len(cells)
    return not (is_full and not choice.is_number(header[0]))


def find_dialect(lines: Sequence[str], choice: Choice, form: Format, source: str) -> Dialect:
    """How the table is written of which these are the first lines."""
    signs = list(DELIMITERS) if form.delimiter is None else [form.delimiter]
    found = _first_header(lines, signs, choice, form)
    if found is None and form.delimiter is not None:
        _refuse_delimiter(lines, choice, form, source)
    if found is None:
        found = _likely_header(lines, signs, choice, form, source)
    notes = []
    above = [line for line in lines[: found.skipped - 1] if line.strip()]
    if above:
        notes.append(
            Note("preamble", f"The header is on line {found.skipped}; {_lines(len(above))} above "
                 f"it {'is' if len(above) == 1 else 'are'} no part of the table.", len(above))
        )  # fmt: skip
    if form.delimiter is None and found.delimiter != ",":
        words = DELIMITERS[found.delimiter]
        notes.append(Note("delimiter", f"Columns are separated by {words}."))
    rest = [cells for _, cells in _split_each(lines, found.skipped, found.delimiter)]
    rows = [cells for cells in rest if not is_comment(cells, found.header, choice, form)]
    numeric = [
        place
        for name, place in choice.locate(found.header, source, form).items()
        if name not in (choice.group, form.variable)
    ]
    unit_row = _unit_row(rows, numeric, form)
    if unit_row:
        notes.append(Note("unit-row", "The line below the header holds units."))
    decimal = form.decimal or _decimal(rows[bool(unit_row) :], numeric, found.delimiter)
    if decimal == "," and form.decimal is None:
        notes.append(Note("decimal", "Decimals are written with a comma."))
    return replace(found, decimal=decimal, unit_row=unit_row, notes=tuple(notes))


def _first_header(
    lines: Sequence[str], signs: Sequence[str], choice: Choice, form: Format
) -> Dialect | None:
    """The first line with all names whose next line has as many cells, or else the first."""
    fallback = None
    for number, line in enumerate(lines, 1):
        for sign in signs:
            for text in _with_and_without_mark(line, form):
                cells = _cells(text, sign)
                if not choice.fits(cells, form):
                    continue
                found = Dialect(sign, tuple(cells), number)
                below = (
                    row for _, row in _split_each(lines, number, sign)
                    if not is_comment(row, cells, choice, form)
                )  # fmt: skip
                if len(next(below, cells)) == len(cells):
                    return found
                fallback = fallback or found
    return fallback


def _with_and_without_mark(line: str, form: Format) -> list[str]:
    """A line, and what follows the sign of a comment at its start: '# t x v' is a header."""
    text = line.strip("\r\n")
    marks = COMMENTS if form.comment is None else (form.comment,)
    mark = next((mark for mark in marks if text.lstrip().startswith(mark)), None)
    return [text] if mark is None else [text, text.lstrip().removeprefix(mark).lstrip()]


def _likely_header(
    lines: Sequence[str], signs: Sequence[str], choice: Choice, form: Format, source: str
) -> Dialect:
    """The line, and the sign between its cells, with most of the names that were asked for, to tell
    what is there instead of the others; without any, the first line that is no comment."""
    first = None
    best, most = None, 0
    for number, line in enumerate(lines, 1):
        texts = _with_and_without_mark(line, form)[::-1]
        found = [
            Dialect(sign, tuple(_cells(text, sign)), number) for text in texts for sign in signs
        ]
        likely = max(found, key=lambda one: (choice.count(one.header, form), _agrees(one, lines),
                                             len(one.header)))  # fmt: skip
        if choice.count(likely.header, form) > most:
            best, most = likely, choice.count(likely.header, form)
        plain = [one for one in found[-len(signs) :] if any(one.header)]
        if first is None and plain and not is_comment(plain[0].header, (), choice, form):
            first = max(plain, key=lambda one: (_agrees(one, lines), len(one.header)))
    if best is not None:
        return best
    if first is None:
        raise DataError(f"{source} is empty; a header line and rows of numbers are needed.")
    if all(is_number(cell) for cell in first.header):
        raise DataError(
            f"{source}, line {first.skipped}: a header with the names of columns is needed; this "
            f"line holds numbers. Write a line above it, such as 't,x,v'."
        )
    return first


def _agrees(header: Dialect, lines: Sequence[str]) -> bool:
    """Whether the line below a header has as many cells, of which there are several."""
    below = next(_split_each(lines, header.skipped, header.delimiter), None)
    return below is not None and 1 < len(header.header) == len(below[1])


def _refuse_delimiter(lines: Sequence[str], choice: Choice, form: Format, source: str) -> None:
    """Another sign than the one asked for would have found the columns."""
    other = _first_header(lines, list(DELIMITERS), choice, form)
    if other is not None:
        raise DataError(
            f"{source} is not separated by {form.delimiter!r}: its header reads as one column, "
            f"'{lines[other.skipped - 1].strip()}'. It looks separated by "
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
    """The first row where it names units: text in all columns that hold numbers below it."""
    if len(rows) < 2 or max(numeric) >= min(len(rows[0]), len(rows[1])):
        return ()
    first, second = ([row[place] for place in numeric] for row in rows[:2])
    is_text = all(_UNIT.fullmatch(cell) and not form.is_missing(cell) for cell in first)
    numbers = (is_number(cell.replace(",", ".")) or as_clock([cell]) is not None for cell in second)
    return tuple(rows[0]) if is_text and all(numbers) else ()


def _decimal(rows: list[list[str]], numeric: list[int], delimiter: str) -> str:
    """A comma where numbers have one that cannot separate thousands, and none has a point."""
    if delimiter == ",":
        return "."
    cells = [row[place] for row in rows for place in numeric if place < len(row)]
    commas = [cell for cell in cells if _COMMA.fullmatch(cell)]
    surely = any(not _MAYBE_THOUSANDS.fullmatch(cell) for cell in commas)
    points = any("." in cell and is_number(cell) for cell in cells)
    return "," if surely and not points else "."


def _lines(count: int) -> str:
    return f"{count} line{'s' * (count != 1)}"
