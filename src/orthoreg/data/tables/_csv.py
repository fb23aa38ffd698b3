"""Text tables, read row by row with care: what cannot be read is named by its line. Columns of
numbers written as CSV.
"""

import csv
import io
import itertools
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np

from ..._common.errors import DataError
from ..._common.files import atomic_write
from .._schema import Note
from ._bytes import encoding_of, packing, unpacked
from ._choice import Choice, Format
from ._clock import exact_clock
from ._dialect import Dialect, find_dialect, is_comment, split
from ._fast import LARGE, read_fast
from ._table import Table, plain_numbers

_CHUNK = 50_000  # rows that are text in memory at a time
_OPENING = 200  # lines that tell how a table is written
_LONGEST = 1 << 20  # characters of these lines
_EPOCH_DIGITS = 15  # whole numbers with more digits are not exact as float64
_PARQUET = b"PAR1"


def read_csv(file: Path, choice: Choice, form: Format) -> Table:
    """The chosen columns of a text file, packed or not."""
    with unpacked(file) as stream:
        opening = stream.read(4096)
    if opening.startswith(_PARQUET):
        raise DataError(f"{file.name} is a Parquet file; give it a name that ends in .parquet.")
    encoding, note = (form.encoding, None)
    if encoding is None:
        encoding, note = encoding_of(opening, file.name)
    notes = (note,) if note else ()
    if kind := packing(file):
        notes = (Note("packed", f"The file is packed by {kind}."), *notes)
    try:
        return _read(file, choice, form, encoding, notes)
    except UnicodeDecodeError as error:
        if form.encoding is not None or encoding != "utf-8-sig":
            raise DataError(
                f"{file.name} is not text in {encoding} ({error.reason} at byte {error.start}). "
                f"Pass encoding='latin-1', or what it is."
            ) from None
    latin = Note("encoding", "The text is not in UTF-8; it was read as Latin-1.")
    return _read(file, choice, form, "latin-1", (*notes, latin))


def _read(
    file: Path, choice: Choice, form: Format, encoding: str, notes: tuple[Note, ...]
) -> Table:
    dialect = find_dialect(_first_lines(file, encoding), choice, form, file.name)
    places = choice.locate(dialect.header, file.name, form)
    units = choice.units(dialect.header, places)
    units |= choice.units([f"x [{cell.strip('[]()')}]" for cell in dialect.unit_row],
                          places if dialect.unit_row else {})  # fmt: skip
    comments: list[int] = []
    rows = _rows(file, encoding, dialect, choice, form, comments)
    is_large = file.stat().st_size > LARGE
    fast = read_fast(file, encoding, dialect, places, choice, form) if is_large else None
    if fast is None:
        columns, lines = collect(rows, dialect, places, choice, form, file.name)
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
        words = "line is a comment" if skipped == 1 else "lines are comments"
        notes += (Note("comments", f"{skipped} {words}.", skipped),)
    return Table(
        columns,
        file.name,
        "line",
        row_of,
        dialect.decimal,
        units,
        notes,
        choice.others(dialect.header, places),
    )


def collect(
    rows: Iterable[tuple[int, list[str]]],
    dialect: Dialect,
    places: dict[str, int],
    choice: Choice,
    form: Format,
    source: str,
    row_word: str = "line",
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """The columns at these places, as compact as they can be, and the number of each row."""
    columns: dict[str, list[np.ndarray]] = {name: [] for name in places}
    lines: list[np.ndarray] = []
    rows, width = iter(rows), len(dialect.header)
    while chunk := list(itertools.islice(rows, _CHUNK)):
        for line, cells in chunk:
            if len(cells) != width and not (len(cells) == width + 1 and not cells[-1].strip()):
                fields = f"{len(cells)} field{'s' * (len(cells) != 1)}"
                raise DataError(
                    f"{source}, {row_word} {line}: {fields} where the header has {width}. Correct "
                    f"the {row_word}, or pass comment=... if it is a remark."
                )
        lines.append(np.array([line for line, _ in chunk]))
        for name, place in places.items():
            cells = [cells[place].strip() for _, cells in chunk]
            is_label = name in (choice.group, form.variable)
            columns[name].append(
                np.array(cells)
                if is_label
                else _compact(cells, dialect.decimal, name == choice.time, form)
            )
    if not lines:
        raise DataError(f"{source} holds no rows below its header; at least one is needed.")
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
    """Number and cells of every line below the header that is neither blank nor a comment."""
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
    """Numbers where all cells are numbers, dates where all are; the text where they are not."""
    if is_time and form.date_format is None:
        if len(cells[0]) > _EPOCH_DIGITS and all(cell.isdigit() for cell in cells):
            return np.array(cells).astype(np.int64)
    found = plain_numbers(cells, decimal)
    if found is None and is_time and form.date_format is None:
        found = exact_clock(cells)
    return np.array(cells, dtype=object) if found is None else found


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    """Chunks of one column; as text throughout as soon as one of them is text."""
    kinds = {part.dtype.kind for part in parts}
    if kinds <= set("fi") or len(kinds) == 1:
        return np.concatenate(parts)
    return np.concatenate([_as_text(part) for part in parts])


def _as_text(part: np.ndarray) -> np.ndarray:
    """A chunk as it may have been written."""
    if part.dtype.kind == "M":
        cells = [f"{cell}Z" for cell in np.datetime_as_string(part)]
    elif part.dtype.kind == "m":
        cells = [f"PT{tick // 10**9}.{tick % 10**9:09}S" for tick in part.astype(np.int64).tolist()]
    else:
        cells = [str(cell) for cell in part.tolist()]
    return np.array(cells, dtype=object)


def write_table(path: str | os.PathLike[str], columns: Mapping[str, np.ndarray]) -> None:
    """Writes columns of numbers as CSV; the file appears whole or not at all."""
    arrays = [np.asarray(column) for column in columns.values()]
    with atomic_write(path) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*(array.tolist() for array in arrays), strict=True))
        text.flush()
        text.detach()
