"""Text tables: detection of the dialect, and reading.

Columns are selected by name. The header is therefore the first line that contains all of these
names when split by one of the delimiters, and the lines above the header are not part of the table.
Large files are read by Arrow. If Arrow cannot read a file, it is read line by line, with errors
that name the line.
"""

import csv
import io
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, final

import numpy as np

from ..._common.errors import DataError
from ..._common.files import detect_encoding, packing, unpacked
from .._schema import Note
from ._choice import MARKS, Choice, Format
from ._table import Table, as_clock, exact_clock, is_number, plain_numbers

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "spaces"}
COMMENTS = ("#", "%", "//", "!")
_COMMA = re.compile(r"[+-]?\d+,\d+([eE][+-]?\d+)?")
_MAYBE_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+")
_UNIT = re.compile(r"[\[(]?[^\d\s\[\]()][^\[\]()]{0,15}[\])]?|[\[(][-1]?[\])]")
_CHUNK = 50_000  # rows held as text
_FIRST_LINES = 200  # lines used to detect the dialect
_MAX_LINE = 1 << 20  # characters of a line used to detect the dialect
_EPOCH_DIGITS = 15  # digits. Longer integers are not exact as float64
_PARQUET = b"PAR1"
LARGE = 2 << 20  # bytes. Smaller files are read faster without loading Arrow
_BLOCK = 4 << 20  # bytes of text in a block, a few of which are in memory
_ENCODINGS = {"utf-8-sig": "utf8", "utf-8": "utf8", "utf8": "utf8", "latin-1": "latin1"}


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


def is_comment(cells: Sequence[str], header: Sequence[str], choice: Choice) -> bool:
    """Return whether a line is a comment, which begins with a sign that cannot begin a number.

    A complete row may begin with such a sign if its first column does not contain numbers.
    """
    if choice.form.comment is not None:
        return cells[0].lstrip().startswith(choice.form.comment)
    if not cells[0].lstrip().startswith(COMMENTS):
        return False
    is_full = 1 < len(header) == len(cells)
    return not (is_full and not choice.is_number(header[0]))


def find_dialect(lines: Sequence[str], choice: Choice, source: str) -> Dialect:
    """Return the dialect of a table with these first lines."""
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
    """Return a line, and the line without a comment sign: '# t x v' is a header."""
    text = line.strip("\r\n")
    marks = COMMENTS if form.comment is None else (form.comment,)
    mark = next((mark for mark in marks if text.lstrip().startswith(mark)), None)
    return [text] if mark is None else [text, text.lstrip().removeprefix(mark).lstrip()]


def _likely_header(
    lines: Sequence[str], delimiters: Sequence[str], choice: Choice, source: str
) -> Dialect:
    """Return the line with most of the wanted names, for an error message.

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


def _refuse_delimiter(lines: Sequence[str], choice: Choice, source: str) -> None:
    """Raise an error if another delimiter than the one requested would find the columns."""
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
    """Return the first row if it contains units: text in all columns that have numbers below."""
    if len(rows) < 2 or max(numeric) >= min(len(rows[0]), len(rows[1])):
        return ()
    first, second = ([row[index] for index in numeric] for row in rows[:2])
    is_text = all(_UNIT.fullmatch(cell) and not form.is_missing(cell) for cell in first)
    numbers = (is_number(cell.replace(",", ".")) or as_clock([cell]) is not None for cell in second)
    return tuple(rows[0]) if is_text and all(numbers) else ()


def _decimal(rows: list[list[str]], numeric: list[int], delimiter: str) -> str:
    """Return a comma if some number has a comma that cannot separate thousands and no number has a
    point."""
    if delimiter == ",":
        return "."
    cells = [row[index] for row in rows for index in numeric if index < len(row)]
    commas = [cell for cell in cells if _COMMA.fullmatch(cell)]
    has_decimal_comma = any(not _MAYBE_THOUSANDS.fullmatch(cell) for cell in commas)
    has_point = any("." in cell and is_number(cell) for cell in cells)
    return "," if has_decimal_comma and not has_point else "."


def read_csv(file: Path, choice: Choice) -> Table:
    """Return the chosen columns of a text file, compressed or not."""
    with unpacked(file) as stream:
        opening = stream.read(4096)
    if opening.startswith(_PARQUET):
        raise DataError(f"{file.name} is a Parquet file; give it a name that ends in .parquet.")
    encoding, notes = choice.form.encoding, ()
    if encoding is None:
        encoding = detect_encoding(opening, file.name)
        if encoding != "utf-8-sig":
            notes = (Note("encoding", f"The text is in {encoding.upper()}."),)
    if kind := packing(file):
        notes = (Note("packed", f"The file is compressed by {kind}."), *notes)
    try:
        return _read(file, choice, encoding, notes)
    except UnicodeDecodeError as error:
        if choice.form.encoding is not None or encoding != "utf-8-sig":
            raise DataError(
                f"{file.name} is not text in {encoding} ({error.reason} at byte {error.start}). "
                f"Pass encoding='latin-1', or the actual encoding."
            ) from None
    latin = Note("encoding", "The text is not in UTF-8; it was read as Latin-1.")
    return _read(file, choice, "latin-1", (*notes, latin))


def _read(file: Path, choice: Choice, encoding: str, notes: tuple[Note, ...]) -> Table:
    comments: list[int] = []
    with _open_text(file, encoding) as text:
        lines = list(itertools.islice(iter(lambda: text.readline(_MAX_LINE), ""), _FIRST_LINES))
        dialect = find_dialect(lines, choice, file.name)
        columns = choice.locate(dialect.header, file.name)
        is_large = file.stat().st_size > LARGE
        fast = read_fast(file, encoding, dialect, columns.indices, choice) if is_large else None
        if fast is None:
            rows = _rows(
                itertools.chain(lines[dialect.skipped :], text), dialect, choice, comments, file
            )
            values, line_numbers = collect(rows, dialect, columns.indices, choice, file.name)
            n_comments = len(comments)
        else:
            (values, n_comments), line_numbers = fast, None

    def row_of(row: int) -> int:
        if line_numbers is not None:
            return int(line_numbers[row])
        with _open_text(file, encoding) as text:
            below = itertools.islice(text, dialect.skipped, None)
            rows = _rows(below, dialect, choice, comments, file)
            return next(itertools.islice(rows, row, None))[0]

    notes += dialect.notes
    if n_comments:
        subject = "line is a comment" if n_comments == 1 else "lines are comments"
        notes += (Note("comments", f"{n_comments} {subject}.", n_comments),)
    units = dict(columns.units)
    if dialect.unit_row:
        header = [f"x [{cell.strip('[]()')}]" for cell in dialect.unit_row]
        units |= choice.header_units(header, columns.indices)
    return Table(values, file.name, "line", row_of, dialect.decimal, units, notes, columns.unused)


def collect(
    rows: Iterable[tuple[int, list[str]]],
    dialect: Dialect,
    indices: dict[str, int],
    choice: Choice,
    source: str,
    row_word: str = "line",
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return the columns at these indices as compact arrays, and the number of each row."""
    columns: dict[str, list[np.ndarray]] = {name: [] for name in indices}
    lines: list[np.ndarray] = []
    rows, width = iter(rows), len(dialect.header)
    while chunk := list(itertools.islice(rows, _CHUNK)):
        for line, cells in chunk:
            if len(cells) != width and not (len(cells) == width + 1 and not cells[-1].strip()):
                fields = f"{len(cells)} field{'s' * (len(cells) != 1)}"
                raise DataError(
                    f"{source}, {row_word} {line}: {fields} where the header has {width}. Correct "
                    f"the {row_word}, or pass comment=... if it is a comment."
                )
        lines.append(np.array([line for line, _ in chunk]))
        for name, index in indices.items():
            cells = [cells[index].strip() for _, cells in chunk]
            if name in choice.labels:
                columns[name].append(np.array(cells))
            else:
                is_time = name == choice.time
                columns[name].append(_compact(cells, dialect.decimal, is_time, choice.form))
    if not lines:
        raise DataError(f"{source} has no rows below its header; at least one is needed.")
    return {name: _joined(parts) for name, parts in columns.items()}, np.concatenate(lines)


@contextmanager
def _open_text(file: Path, encoding: str) -> Iterator[IO[str]]:
    with unpacked(file) as stream, io.TextIOWrapper(stream, encoding, newline="") as text:
        yield text


def _rows(
    lines: Iterable[str], dialect: Dialect, choice: Choice, comments: list[int], file: Path
) -> Iterator[tuple[int, list[str]]]:
    """Yield number and cells of each line that is not blank or a comment, below the header.

    The numbers of comments are appended to `comments`.
    """
    reader = split(iter(lines), dialect.delimiter)
    is_unit_row = bool(dialect.unit_row)
    try:
        for cells in reader:
            if not (len(cells) > 1 or (cells and cells[0].strip())):
                continue
            line = dialect.skipped + reader.line_num  # type: ignore[attr-defined]
            if is_comment(cells, dialect.header, choice):
                comments.append(line)
            elif is_unit_row:
                is_unit_row = False
            else:
                yield line, cells
    except csv.Error as error:
        raise DataError(
            f"{file.name} is not a text table ({error}). Save it as CSV, UTF-8."
        ) from None


def _compact(cells: list[str], decimal: str, is_time: bool, form: Format) -> np.ndarray:
    """Return cells as numbers or dates if all can be converted, otherwise as text."""
    if is_time and form.date_format is None:
        if len(cells[0]) > _EPOCH_DIGITS and all(cell.isdigit() for cell in cells):
            return np.array(cells).astype(np.int64)
    values = plain_numbers(cells, decimal)
    if values is None and is_time and form.date_format is None:
        values = exact_clock(cells)
    return np.array(cells, dtype=object) if values is None else values


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    """Join chunks of a column. If they have different types, dates and NaN become text again."""
    kinds = {part.dtype.kind for part in parts}
    if kinds <= set("fi") or len(kinds) == 1:
        return np.concatenate(parts)
    return np.concatenate([_as_cells(part) for part in parts])


def _as_cells(part: np.ndarray) -> np.ndarray:
    if part.dtype.kind == "M":
        cells = [f"{cell}Z" for cell in np.datetime_as_string(part)]
    elif part.dtype.kind == "m":
        cells = [f"PT{tick // 10**9}.{tick % 10**9:09}S" for tick in part.astype(np.int64).tolist()]
    else:
        cells = [cell if cell == cell else "nan" for cell in part.tolist()]
    return np.array(cells, dtype=object)


def read_fast(
    file: Path, encoding: str, dialect: Dialect, indices: dict[str, int], choice: Choice
) -> tuple[dict[str, np.ndarray], int] | None:
    """Return the columns at these indices and the number of comments, or None.

    None means that the file needs `collect`, which handles all formats and names faulty cells.
    """
    is_plain = dialect.delimiter != " " and encoding.lower() in _ENCODINGS
    if not is_plain or choice.form.date_format:
        return None
    try:
        import pyarrow
        from pyarrow import csv
    except ImportError:
        return None
    labels = [name for name in indices if name in choice.labels]
    kinds = {
        f"c{index}": pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
        if name in labels
        else pyarrow.string()
        if name == choice.time
        else pyarrow.float64()
        for name, index in indices.items()
    }
    comments = 0

    def handle(row: Any) -> str:
        nonlocal comments
        is_skipped = is_comment([row.text], dialect.header, choice)
        comments += is_skipped
        return "skip" if is_skipped else "error"

    try:
        with unpacked(file) as stream:
            reader = csv.open_csv(
                stream,
                read_options=csv.ReadOptions(
                    block_size=_BLOCK,
                    column_names=[f"c{i}" for i in range(len(dialect.header))],
                    skip_rows=dialect.skipped + bool(dialect.unit_row),
                    encoding=_ENCODINGS[encoding.lower()],
                ),
                parse_options=csv.ParseOptions(
                    delimiter=dialect.delimiter, invalid_row_handler=handle
                ),
                convert_options=csv.ConvertOptions(
                    column_types=kinds,
                    include_columns=list(kinds),
                    decimal_point=dialect.decimal,
                    null_values=_nulls(choice.form) if choice.form.repair else [],
                ),
            )
            blocks = _joined_blocks(reader, indices, choice, set(labels))
    except (pyarrow.ArrowException, UnicodeDecodeError, _NotPlain):
        return None
    return blocks, comments


class _NotPlain(Exception):
    """Raised for a time that is neither a plain number nor an exact date."""


def _joined_blocks(
    reader: Any, indices: dict[str, int], choice: Choice, labels: set[str]
) -> dict[str, np.ndarray]:
    """Return the chosen columns, joined over blocks, without the text of numbers and times."""
    blocks: dict[str, list[np.ndarray]] = {name: [] for name in indices}
    for batch in reader:
        for name, index in indices.items():
            column = batch.column(f"c{index}")
            if name in labels:
                column = column.dictionary_decode()
                blocks[name].append(np.strings.strip(column.to_numpy(False).astype(str)))
            elif name == choice.time:
                blocks[name].append(_time_block(column))
            else:
                blocks[name].append(np.array(column.to_numpy(zero_copy_only=False)))
    joined = {}
    for name in list(blocks):
        parts = blocks.pop(name)
        if len({part.dtype.kind for part in parts}) > 1:
            raise _NotPlain
        joined[name] = np.concatenate(parts) if parts else np.zeros(0)
    return joined


def _time_block(column: Any) -> np.ndarray:
    """Return a block of times as long integers, as numbers, or as dates."""
    import pyarrow

    is_long = len(column[0].as_py() or "") > _EPOCH_DIGITS
    for kind in (pyarrow.int64(), pyarrow.float64()) if is_long else (pyarrow.float64(),):
        try:
            return np.array(column.cast(kind).to_numpy(zero_copy_only=False))
        except pyarrow.ArrowInvalid:
            continue
    dates = exact_clock([cell or "" for cell in column.to_pylist()])
    if dates is None:
        raise _NotPlain
    return dates


def _nulls(form: Format) -> list[str]:
    """Return the marks of missing values in their usual spellings."""
    return [
        spelling for mark in MARKS for spelling in {mark, mark.upper(), mark.title()}
    ] + form.marks
