"""Read text tables.

Arrow reads large files. A file that Arrow cannot read is read line by line, with errors that name
the line.
"""

import csv
import io
import itertools
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..._common.errors import DataError
from ..._common.unpacking import detect_encoding, packing, unpacked
from .._schema import Note
from ._choice import MARKS, Choice, Format
from ._dialect import FIRST_LINES, Dialect, find_dialect, is_comment, split
from ._table import Table, exact_clock, plain_numbers

_CHUNK = 50_000  # maximum number of rows held as text
# maximum number of characters of the first lines, from the third line on
_FIRST_CHARACTERS = 1 << 20
# maximum number of characters of a line: 100,000 columns. A longer line is not a row
_MAX_LINE = 1 << 20
_MAX_SKIPPED = 200_000  # maximum number of blank lines and comments between two rows
_EPOCH_DIGITS = 15  # digits; longer integers are not exact as float64
_PARQUET = b"PAR1"
_OPENING = 4096  # number of bytes used to detect the encoding
LARGE = 2 << 20  # bytes; smaller files are read faster without loading Arrow
_BLOCK = 4 << 20  # bytes of text per block; a few blocks are in memory at a time
_ENCODINGS = {"utf-8-sig": "utf8", "utf-8": "utf8", "utf8": "utf8", "latin-1": "latin1"}


def read_csv(file: Path, choice: Choice) -> Table:
    """Return the chosen columns of a text file, compressed or not."""
    with unpacked(file) as stream:
        opening = stream.read(max(LARGE + 1, _OPENING))
    if opening.startswith(_PARQUET):
        raise DataError(f"{file.name} is a Parquet file; give it a name that ends in .parquet.")
    is_large = len(opening) > LARGE
    encoding, notes = choice.form.encoding, ()
    if encoding is None:
        encoding = detect_encoding(opening[:_OPENING], file.name)
        if encoding != "utf-8-sig":
            notes = (Note("encoding", f"The text is in {encoding.upper()}."),)
    if kind := packing(file):
        notes = (Note("packed", f"The file is compressed by {kind}."), *notes)
    try:
        return _read(file, choice, encoding, notes, is_large)
    except UnicodeError as error:  # some codecs raise other errors than UnicodeDecodeError
        if choice.form.encoding is not None or encoding != "utf-8-sig":
            is_decoding = isinstance(error, UnicodeDecodeError)
            place = f"{error.reason} at byte {error.start}" if is_decoding else f"{error}"
            raise DataError(
                f"{file.name} is not text in {encoding} ({place}). Pass encoding='latin-1', or the "
                f"actual encoding."
            ) from None
    latin = Note("encoding", "The text is not in UTF-8; it was read as Latin-1.")
    return _read(file, choice, "latin-1", (*notes, latin), is_large)


def _read(
    file: Path, choice: Choice, encoding: str, notes: tuple[Note, ...], is_large: bool
) -> Table:
    comments: list[int] = []
    with _open_lines(file, encoding) as text:
        lines = _first_lines(text)
        dialect = find_dialect(lines, choice, file.name)
        columns = choice.locate(dialect.header, file.name)
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
        with _open_lines(file, encoding) as text:
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
def _open_lines(file: Path, encoding: str) -> Iterator[Iterator[str]]:
    """Open a text file as an iterator over lines of limited length."""
    with unpacked(file) as stream, io.TextIOWrapper(stream, encoding, newline="") as text:
        yield _limited(text, file.name)


def _limited(text: io.TextIOWrapper, source: str) -> Iterator[str]:
    for number, line in enumerate(iter(partial(text.readline, _MAX_LINE + 1), ""), 1):
        if len(line) > _MAX_LINE:
            raise DataError(
                f"{source}, line {number} has more than {_MAX_LINE} characters. A table must have "
                f"a line for each row."
            )
        yield line


def _first_lines(lines: Iterator[str]) -> list[str]:
    """Return the first lines, to detect the dialect: at least two, with a limited number of
    characters.
    """
    first: list[str] = []
    size = 0
    for line in itertools.islice(lines, FIRST_LINES):
        first.append(line)
        size += len(line)
        if len(first) > 1 and size > _FIRST_CHARACTERS:
            break
    return first


def _rows(
    lines: Iterable[str], dialect: Dialect, choice: Choice, comments: list[int], file: Path
) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the cells of each line below the header that is not blank or a
    comment.

    The numbers of comments are appended to `comments`.
    """
    reader = split(iter(lines), dialect.delimiter)
    is_unit_row = bool(dialect.unit_row)
    n_skipped = 0  # blank lines and comments since the last row
    try:
        for cells in reader:
            is_blank = not (len(cells) > 1 or (cells and cells[0].strip()))
            line = dialect.skipped + reader.line_num  # type: ignore[attr-defined]
            if is_blank or is_comment(cells, dialect.header, choice):
                n_skipped += 1
                if n_skipped > _MAX_SKIPPED:
                    raise DataError(
                        f"{file.name}, line {line}: there are more than {_MAX_SKIPPED} blank lines "
                        f"and comments above it without a row between them. Remove them."
                    )
                if not is_blank:
                    comments.append(line)
            elif is_unit_row:
                is_unit_row = False
            else:
                n_skipped = 0
                yield line, cells
    except csv.Error as error:
        line = dialect.skipped + reader.line_num  # type: ignore[attr-defined]
        raise DataError(
            f"{file.name}, line {line} is not a row of a text table ({error}). Correct the line, "
            f"or save the table as CSV in UTF-8."
        ) from None


def _compact(cells: list[str], decimal: str, is_time: bool, form: Format) -> np.ndarray:
    """Return the cells as numbers or dates if all of them can be converted, otherwise as text."""
    if is_time and form.date_format is None:
        if len(cells[0]) > _EPOCH_DIGITS and all(map(_is_long_integer, cells)):
            return np.array(cells).astype(np.int64)
    values = plain_numbers(cells, decimal)
    if values is None and is_time and form.date_format is None:
        values = exact_clock(cells)
    return np.array(cells, dtype=object) if values is None else values


def _is_long_integer(cell: str) -> bool:
    """Return whether a cell is an integer of at most 18 digits, which fits into 64 bits."""
    return cell.isascii() and cell.isdigit() and len(cell) < 19


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    """Join chunks of a column. If their types differ, dates and NaN become text again."""
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

    None means that the file must be read by `collect`, which handles all formats and names faulty
    cells.
    """
    is_plain = dialect.delimiter != " " and encoding.lower() in _ENCODINGS
    if not is_plain or choice.form.date_format or _hides_comments(dialect, choice):
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
        return "skip" if is_skipped and comments <= _MAX_SKIPPED else "error"

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


def _hides_comments(dialect: Dialect, choice: Choice) -> bool:
    """Return whether Arrow may read a comment with the requested prefix as a row.

    Arrow does not know comments. It reads one as a row if the first cell is not converted to a
    number, or is a number.
    """
    prefix = choice.form.comment
    if prefix is None:
        return False
    return not choice.is_number(dialect.header[0]) or prefix[0] in "0123456789+-.nNiI "


class _NotPlain(Exception):
    """Raised for a time that is neither a plain number nor an exact date."""


def _joined_blocks(
    reader: Any, indices: dict[str, int], choice: Choice, labels: set[str]
) -> dict[str, np.ndarray]:
    """Return the chosen columns, joined over blocks. The text of numbers and times is not kept."""
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
    """Return the markers of missing values in their usual spellings."""
    return [
        spelling for mark in MARKS for spelling in {mark, mark.upper(), mark.title()}
    ] + form.marks
