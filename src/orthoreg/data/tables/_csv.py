"""Text tables: read by Arrow block by block if large, else row by row; written as CSV.

What Arrow cannot read goes to the slower reader, whose errors name the line.
"""

import csv
import io
import itertools
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..._common.errors import DataError
from ..._common.files import atomic_write
from .._schema import Note
from ._choice import MARKS, Choice, Format
from ._dialect import (
    Dialect,
    encoding_of,
    find_dialect,
    is_comment,
    packing,
    split,
    unpacked,
)
from ._table import Table, exact_clock, plain_numbers

_CHUNK = 50_000  # rows held as text
_OPENING = 200  # lines used to detect the dialect
_LONGEST = 1 << 20  # characters of such a line
_EPOCH_DIGITS = 15  # digits. Longer integers are not exact as float64
_PARQUET = b"PAR1"


def read_csv(file: Path, choice: Choice, form: Format) -> Table:
    """Return the chosen columns of a text file, compressed or not."""
    with unpacked(file) as stream:
        opening = stream.read(4096)
    if opening.startswith(_PARQUET):
        raise DataError(f"{file.name} is a Parquet file; give it a name that ends in .parquet.")
    encoding, note = (form.encoding, None)
    if encoding is None:
        encoding, note = encoding_of(opening, file.name)
    notes = (note,) if note else ()
    if kind := packing(file):
        notes = (Note("packed", f"The file is compressed by {kind}."), *notes)
    try:
        return _read(file, choice, form, encoding, notes)
    except UnicodeDecodeError as error:
        if form.encoding is not None or encoding != "utf-8-sig":
            raise DataError(
                f"{file.name} is not text in {encoding} ({error.reason} at byte {error.start}). "
                f"Pass encoding='latin-1', or the actual encoding."
            ) from None
    latin = Note("encoding", "The text is not in UTF-8; it was read as Latin-1.")
    return _read(file, choice, form, "latin-1", (*notes, latin))


def _read(
    file: Path, choice: Choice, form: Format, encoding: str, notes: tuple[Note, ...]
) -> Table:
    dialect = find_dialect(_first_lines(file, encoding), choice, form, file.name)
    indices = choice.locate(dialect.header, file.name, form)
    units = choice.units(dialect.header, indices)
    units |= choice.units([f"x [{cell.strip('[]()')}]" for cell in dialect.unit_row],
                          indices if dialect.unit_row else {})  # fmt: skip
    comments: list[int] = []
    rows = _rows(file, encoding, dialect, choice, form, comments)
    is_large = file.stat().st_size > LARGE
    fast = read_fast(file, encoding, dialect, indices, choice, form) if is_large else None
    if fast is None:
        columns, lines = collect(rows, dialect, indices, choice, form, file.name)
        skipped = len(comments)

        def row_of(row: int) -> int:
            return int(lines[row])
    else:
        columns, skipped = fast

        def row_of(row: int) -> int:
            return next(
                itertools.islice(_rows(file, encoding, dialect, choice, form, []), row, None)
            )[0]

    notes += dialect.notes
    if skipped:
        subject = "line is a comment" if skipped == 1 else "lines are comments"
        notes += (Note("comments", f"{skipped} {subject}.", skipped),)
    return Table(
        columns,
        file.name,
        "line",
        row_of,
        dialect.decimal,
        units,
        notes,
        choice.others(dialect.header, indices),
    )


def collect(
    rows: Iterable[tuple[int, list[str]]],
    dialect: Dialect,
    indices: dict[str, int],
    choice: Choice,
    form: Format,
    source: str,
    row_word: str = "line",
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return the columns at these indices in compact form, and the number of each row."""
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
            is_label = name in (choice.group, form.variable)
            columns[name].append(
                np.array(cells)
                if is_label
                else _compact(cells, dialect.decimal, name == choice.time, form)
            )
    if not lines:
        raise DataError(f"{source} has no rows below its header; at least one is needed.")
    return {name: _joined(parts) for name, parts in columns.items()}, np.concatenate(lines)


def _first_lines(file: Path, encoding: str) -> list[str]:
    with unpacked(file) as stream, io.TextIOWrapper(stream, encoding, newline="") as text:
        return list(itertools.islice(iter(lambda: text.readline(_LONGEST), ""), _OPENING))


def _rows(
    file: Path,
    encoding: str,
    dialect: Dialect,
    choice: Choice,
    form: Format,
    comments: list[int],
) -> Iterator[tuple[int, list[str]]]:
    """Yield number and cells of each line below the header that is not blank or a comment."""
    with unpacked(file) as stream, io.TextIOWrapper(stream, encoding, newline="") as text:
        for _ in range(dialect.skipped):
            next(text)
        reader = split(iter(text), dialect.delimiter)
        is_first = bool(dialect.unit_row)
        try:
            for cells in reader:
                if not (len(cells) > 1 or (cells and cells[0].strip())):
                    continue
                line = dialect.skipped + reader.line_num  # type: ignore[attr-defined]
                if is_comment(cells, dialect.header, choice, form):
                    comments.append(line)
                elif is_first:
                    is_first = False
                else:
                    yield line, cells
        except csv.Error as error:
            raise DataError(
                f"{file.name} is not a text table ({error}). Save it as CSV, UTF-8."
            ) from None


def _compact(cells: list[str], decimal: str, is_time: bool, form: Format) -> np.ndarray:
    """Return cells as numbers or dates if all of them are; else as text."""
    if is_time and form.date_format is None:
        if len(cells[0]) > _EPOCH_DIGITS and all(cell.isdigit() for cell in cells):
            return np.array(cells).astype(np.int64)
    values = plain_numbers(cells, decimal)
    if values is None and is_time and form.date_format is None:
        values = exact_clock(cells)
    return np.array(cells, dtype=object) if values is None else values


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    """Join chunks of a column, as text if one of them is text."""
    kinds = {part.dtype.kind for part in parts}
    if kinds <= set("fi") or len(kinds) == 1:
        return np.concatenate(parts)
    return np.concatenate([_as_text(part) for part in parts])


def _as_text(part: np.ndarray) -> np.ndarray:
    """Return a chunk in a form in which it could have been written."""
    if part.dtype.kind == "M":
        cells = [f"{cell}Z" for cell in np.datetime_as_string(part)]
    elif part.dtype.kind == "m":
        cells = [f"PT{tick // 10**9}.{tick % 10**9:09}S" for tick in part.astype(np.int64).tolist()]
    else:
        cells = [str(cell) for cell in part.tolist()]
    return np.array(cells, dtype=object)


def write_table(path: str | os.PathLike[str], columns: Mapping[str, np.ndarray]) -> None:
    """Write columns of numbers as CSV. The file appears complete or not at all."""
    arrays = [np.asarray(column) for column in columns.values()]
    with atomic_write(path) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*(array.tolist() for array in arrays), strict=True))
        text.flush()
        text.detach()


LARGE = 2 << 20  # bytes. Smaller files are read faster without loading Arrow
_BLOCK = 4 << 20  # bytes of text in a block, a few of which are in memory
_ENCODINGS = {"utf-8-sig": "utf8", "utf-8": "utf8", "utf8": "utf8", "latin-1": "latin1"}


def read_fast(
    file: Path,
    encoding: str,
    dialect: Dialect,
    indices: dict[str, int],
    choice: Choice,
    form: Format,
) -> tuple[dict[str, np.ndarray], int] | None:
    """Return the columns at these indices and the number of comments, or None.

    None means that the file needs `collect`, which handles all formats and names faulty cells.
    """
    if dialect.delimiter == " " or encoding.lower() not in _ENCODINGS or form.date_format:
        return None
    try:
        import pyarrow
        from pyarrow import csv
    except ImportError:
        return None
    labels = [name for name in indices if name in (choice.group, form.variable)]
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
        found = is_comment([row.text], dialect.header, choice, form)
        comments += found
        return "skip" if found else "error"

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
                    null_values=_nulls(form) if form.repair else [],
                ),
            )
            blocks = _joined_blocks(reader, indices, choice, set(labels))
    except (pyarrow.ArrowException, UnicodeDecodeError, _NotPlain):
        return None
    return blocks, comments


class _NotPlain(Exception):
    """A time that is neither a plain number nor an exact date."""


def _joined_blocks(
    reader: Any, indices: dict[str, int], choice: Choice, labels: set[str]
) -> dict[str, np.ndarray]:
    """Return all blocks of the chosen columns, joined. Text is not kept."""
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

    for kind in (pyarrow.int64(), pyarrow.float64()):
        first = column[0].as_py() or ""
        if kind == pyarrow.int64() and len(first) <= 15:
            continue
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
