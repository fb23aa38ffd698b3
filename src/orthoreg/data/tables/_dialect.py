"""How a text table is written: compression, encoding, header, delimiter and decimal sign.

Columns are chosen by name. The header is therefore the first line that contains all of these names
when split by some delimiter, and the lines above it do not belong to the table.
"""

import bz2
import csv
import gzip
import io
import lzma
import re
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, final

from ..._common.errors import DataError, missing_extra, quoted
from .._schema import Note
from ._choice import Choice, Format
from ._table import as_clock, is_number

_COMPRESSIONS = {
    b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "zip",
}  # fmt: skip
_MAX_RATIO = 1000  # of unpacked to packed size. Text of numbers reaches 10, a bomb exceeds 1000
_MIN_LIMIT = 1 << 28  # unpacked bytes that are always allowed


def packing(file: Path) -> str | None:
    """Return the compression of a file by its first bytes, whatever its name says."""
    with open(file, "rb") as stream:
        opening = stream.read(6)
    return next((name for mark, name in _COMPRESSIONS.items() if opening.startswith(mark)), None)


@contextmanager
def unpacked(file: Path) -> Iterator[IO[bytes]]:
    """Open a file as a stream of unpacked bytes, which are unpacked while they are read."""
    with ExitStack() as stack:
        stream: Any = stack.enter_context(open(file, "rb"))
        kind = packing(file)
        if kind == "gzip":
            stream = gzip.GzipFile(fileobj=stream)
        elif kind == "bzip2":
            stream = bz2.BZ2File(stream)
        elif kind == "xz":
            stream = lzma.LZMAFile(stream)
        elif kind == "zstd":
            stream = stack.enter_context(_zstd(stream))
        elif kind == "zip":
            archive = stack.enter_context(zipfile.ZipFile(stream))
            stream = stack.enter_context(archive.open(_only_member(archive, file.name)))
        if kind is not None:
            stream = io.BufferedReader(_Bounded(stream, file), 1 << 16)  # type: ignore[arg-type]
        try:
            yield stream
        except (EOFError, zipfile.BadZipFile, lzma.LZMAError, gzip.BadGzipFile) as error:
            raise DataError(f"{file.name} is a damaged {kind} file ({error}).") from None


def encoding_of(opening: bytes, source: str) -> tuple[str, Note | None]:
    """Return the encoding of a text by its first bytes, and a note if it is not UTF-8."""
    first_text = opening.removeprefix(b"\xef\xbb\xbf").lstrip()[:14].lower()
    if first_text.startswith((b"<!doctype html", b"<html")):
        raise DataError(
            f"{source} is a web page, not a table; perhaps a page was saved in place of the file. "
            f"Download the table itself."
        )
    if first_text.startswith((b'{"', b"[{", b"[[", b'{ "')):
        raise DataError(
            f"{source} is JSON, not a table of lines. Save it as CSV; in Python, read it and pass "
            f"a dict of columns."
        )
    if opening.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16", Note("encoding", "The text is in UTF-16.")
    if opening.startswith(b"\xef\xbb\xbf") or b"\0" not in opening:
        return "utf-8-sig", None
    even, odd = opening[::2].count(0), opening[1::2].count(0)
    if max(even, odd) > 0.4 * len(opening) / 2 > 10 * min(even, odd):
        name = "utf-16-le" if odd > even else "utf-16-be"
        return name, Note("encoding", f"The text is in {name.upper()}.")
    raise DataError(
        f"{source} is not a text table: it contains binary data. Save it as CSV; if it "
        f"is text, pass encoding=..., such as 'utf-16'."
    )


def _only_member(archive: zipfile.ZipFile, source: str) -> zipfile.ZipInfo:
    members = [
        member for member in archive.infolist()
        if not member.is_dir() and not member.filename.startswith(("__MACOSX", "."))
    ]  # fmt: skip
    if len(members) != 1:
        raise DataError(
            f"{source} holds {len(members)} files ({quoted(one.filename for one in members)}). A "
            f"table must be one file: unpack the archive and pass one of them, or 'folder/*.csv'."
        )
    return members[0]


def _zstd(stream: IO[bytes]) -> Any:
    try:
        from pyarrow import CompressedInputStream, PythonFile
    except ImportError:
        raise missing_extra("pyarrow", "tables", "Reading zstd") from None
    return CompressedInputStream(PythonFile(stream, mode="r"), "zstd")


@final
class _Bounded(io.RawIOBase):
    """A stream that raises an error if a small file unpacks to a very large one."""

    def __init__(self, stream: Any, file: Path):
        self._stream, self._name = stream, file.name
        self._most = max(_MIN_LIMIT, _MAX_RATIO * file.stat().st_size)
        self._read = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        block = self._stream.read(len(buffer))
        self._read += len(block)
        if self._read > self._most:
            raise DataError(
                f"{self._name} unpacks to more than {_MAX_RATIO} times its size, which no table "
                f"does. Unpack it yourself if it is a table."
            )
        buffer[: len(block)] = block
        return len(block)


DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "spaces"}
COMMENTS = ("#", "%", "//", "!")
_COMMA = re.compile(r"[+-]?\d+,\d+([eE][+-]?\d+)?")
_MAYBE_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+")
_UNIT = re.compile(r"[\[(]?[^\d\s\[\]()][^\[\]()]{0,15}[\])]?|[\[(][-1]?[\])]")


@final
@dataclass(frozen=True)
class Dialect:
    """Header, delimiter and decimal sign of a table. Rows follow after `skipped` lines."""

    delimiter: str
    header: tuple[str, ...]
    skipped: int
    decimal: str = "."
    unit_row: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()


def split(lines: Iterator[str], delimiter: str) -> Iterator[list[str]]:
    """Yield the cells of each line. Spaces as delimiters may repeat."""
    if delimiter == " ":
        return csv.reader((line.strip() for line in lines), delimiter=" ", skipinitialspace=True)
    return csv.reader(lines, delimiter=delimiter)


def is_comment(cells: Sequence[str], header: Sequence[str], choice: Choice, form: Format) -> bool:
    """Return whether a line is a comment: it begins with a sign that no number begins with.

    A complete row may begin with such a sign if its first column does not contain numbers.
    """
    if form.comment is not None:
        return cells[0].lstrip().startswith(form.comment)
    if not cells[0].lstrip().startswith(COMMENTS):
        return False
    is_full = 1 < len(header) == len(cells)
    return not (is_full and not choice.is_number(header[0]))


def find_dialect(lines: Sequence[str], choice: Choice, form: Format, source: str) -> Dialect:
    """Return the dialect of a table with these first lines."""
    signs = list(DELIMITERS) if form.delimiter is None else [form.delimiter]
    dialect = _first_header(lines, signs, choice, form)
    if dialect is None and form.delimiter is not None:
        _refuse_delimiter(lines, choice, form, source)
    if dialect is None:
        dialect = _likely_header(lines, signs, choice, form, source)
    notes = []
    above = [line for line in lines[: dialect.skipped - 1] if line.strip()]
    if above:
        notes.append(
            Note("preamble", f"The header is on line {dialect.skipped}; {_lines(len(above))} above "
                 f"it {'is' if len(above) == 1 else 'are'} not part of the table.", len(above))
        )  # fmt: skip
    if form.delimiter is None and dialect.delimiter != ",":
        separator = DELIMITERS[dialect.delimiter]
        notes.append(Note("delimiter", f"Columns are separated by {separator}."))
    cell_rows = [cells for _, cells in _split_each(lines, dialect.skipped, dialect.delimiter)]
    rows = [cells for cells in cell_rows if not is_comment(cells, dialect.header, choice, form)]
    numeric = [
        index
        for name, index in choice.locate(dialect.header, source, form).items()
        if name not in (choice.group, form.variable)
    ]
    unit_row = _unit_row(rows, numeric, form)
    if unit_row:
        notes.append(Note("unit-row", "The line below the header contains units."))
    decimal = form.decimal or _decimal(rows[bool(unit_row) :], numeric, dialect.delimiter)
    if decimal == "," and form.decimal is None:
        notes.append(Note("decimal", "Decimals are written with a comma."))
    return replace(dialect, decimal=decimal, unit_row=unit_row, notes=tuple(notes))


def _first_header(
    lines: Sequence[str], delimiters: Sequence[str], choice: Choice, form: Format
) -> Dialect | None:
    """Return the first line with all names, preferably one as long as the line below it."""
    fallback = None
    for number, line in enumerate(lines, 1):
        for delimiter in delimiters:
            for text in _with_and_without_mark(line, form):
                cells = _cells(text, delimiter)
                if not choice.fits(cells, form):
                    continue
                candidate = Dialect(delimiter, tuple(cells), number)
                below = (
                    row for _, row in _split_each(lines, number, delimiter)
                    if not is_comment(row, cells, choice, form)
                )  # fmt: skip
                if len(next(below, cells)) == len(cells):
                    return candidate
                fallback = fallback or candidate
    return fallback


def _with_and_without_mark(line: str, form: Format) -> list[str]:
    """Return a line, and the line without a comment sign: '# t x v' is a header."""
    text = line.strip("\r\n")
    marks = COMMENTS if form.comment is None else (form.comment,)
    mark = next((mark for mark in marks if text.lstrip().startswith(mark)), None)
    return [text] if mark is None else [text, text.lstrip().removeprefix(mark).lstrip()]


def _likely_header(
    lines: Sequence[str], delimiters: Sequence[str], choice: Choice, form: Format, source: str
) -> Dialect:
    """Return the line with most of the wanted names, for an error message.

    If no line has one, return the first line that is not a comment.
    """
    first = None
    best, max_count = None, 0
    for number, line in enumerate(lines, 1):
        texts = _with_and_without_mark(line, form)[::-1]
        candidates = [
            Dialect(delimiter, tuple(_cells(text, delimiter)), number)
            for text in texts
            for delimiter in delimiters
        ]
        likely = max(
            candidates,
            key=lambda candidate: (
                choice.count(candidate.header, form),
                _agrees(candidate, lines),
                len(candidate.header),
            ),
        )
        if choice.count(likely.header, form) > max_count:
            best, max_count = likely, choice.count(likely.header, form)
        plain = [candidate for candidate in candidates[-len(delimiters) :] if any(candidate.header)]
        if first is None and plain and not is_comment(plain[0].header, (), choice, form):
            first = max(
                plain, key=lambda candidate: (_agrees(candidate, lines), len(candidate.header))
            )
    if best is not None:
        return best
    if first is None:
        raise DataError(f"{source} is empty; a header line and rows of numbers are needed.")
    if all(is_number(cell) for cell in first.header):
        raise DataError(
            f"{source}, line {first.skipped}: a header with the names of columns is needed; this "
            f"line has numbers. Write a line above it, such as 't,x,v'."
        )
    return first


def _agrees(header: Dialect, lines: Sequence[str]) -> bool:
    """Return whether header and following line have the same number of cells, at least two."""
    below = next(_split_each(lines, header.skipped, header.delimiter), None)
    return below is not None and 1 < len(header.header) == len(below[1])


def _refuse_delimiter(lines: Sequence[str], choice: Choice, form: Format, source: str) -> None:
    """Raise an error if another delimiter than the one requested would find the columns."""
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
    """Return the first row if it contains units: text in all columns that have numbers below."""
    if len(rows) < 2 or max(numeric) >= min(len(rows[0]), len(rows[1])):
        return ()
    first, second = ([row[index] for index in numeric] for row in rows[:2])
    is_text = all(_UNIT.fullmatch(cell) and not form.is_missing(cell) for cell in first)
    numbers = (is_number(cell.replace(",", ".")) or as_clock([cell]) is not None for cell in second)
    return tuple(rows[0]) if is_text and all(numbers) else ()


def _decimal(rows: list[list[str]], numeric: list[int], delimiter: str) -> str:
    """Return a comma if numbers have one that cannot separate thousands, and none has a point."""
    if delimiter == ",":
        return "."
    cells = [row[index] for row in rows for index in numeric if index < len(row)]
    commas = [cell for cell in cells if _COMMA.fullmatch(cell)]
    surely = any(not _MAYBE_THOUSANDS.fullmatch(cell) for cell in commas)
    points = any("." in cell and is_number(cell) for cell in cells)
    return "," if surely and not points else "."


def _lines(count: int) -> str:
    return f"{count} line{'s' * (count != 1)}"
