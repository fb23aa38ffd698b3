"""Large text tables by Arrow, block by block: only the chosen numbers stay in memory.

What Arrow cannot read as it stands is left to the careful reader, which knows how to say why.
"""

from pathlib import Path
from typing import Any

import numpy as np

from ._bytes import unpacked
from ._choice import MARKS, Choice, Format
from ._clock import exact_clock
from ._dialect import Dialect, is_comment

LARGE = 2 << 20  # bytes from which loading Arrow is worth its time
_BLOCK = 4 << 20  # bytes of text in memory at a time, for each of a few blocks
_ENCODINGS = {"utf-8-sig": "utf8", "utf-8": "utf8", "utf8": "utf8", "latin-1": "latin1"}


def read_fast(
    file: Path,
    encoding: str,
    dialect: Dialect,
    places: dict[str, int],
    choice: Choice,
    form: Format,
) -> tuple[dict[str, np.ndarray], int] | None:
    """The columns at these places, and the number of comments; None where the careful reader must
    be asked."""
    if dialect.delimiter == " " or encoding.lower() not in _ENCODINGS or form.date_format:
        return None
    try:
        import pyarrow
        from pyarrow import csv
    except ImportError:
        return None
    labels = [name for name in places if name in (choice.group, form.variable)]
    kinds = {
        f"c{place}": pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
        if name in labels
        else pyarrow.string()
        if name == choice.time
        else pyarrow.float64()
        for name, place in places.items()
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
            blocks = _blocks(reader, places, choice, set(labels))
    except (pyarrow.ArrowException, UnicodeDecodeError, _NotPlain):
        return None
    return blocks, comments


class _NotPlain(Exception):
    """A time that is neither a plain number nor an exact date."""


def _blocks(
    reader: Any, places: dict[str, int], choice: Choice, labels: set[str]
) -> dict[str, np.ndarray]:
    """All blocks of the chosen columns, joined; text of the times is gone block by block."""
    found: dict[str, list[np.ndarray]] = {name: [] for name in places}
    for batch in reader:
        for name, place in places.items():
            column = batch.column(f"c{place}")
            if name in labels:
                column = column.dictionary_decode()
                found[name].append(np.strings.strip(column.to_numpy(False).astype(str)))
            elif name == choice.time:
                found[name].append(_times(column))
            else:
                found[name].append(np.array(column.to_numpy(zero_copy_only=False)))
    joined = {}
    for name in list(found):
        parts = found.pop(name)
        if len({part.dtype.kind for part in parts}) > 1:
            raise _NotPlain
        joined[name] = np.concatenate(parts) if parts else np.zeros(0)
    return joined


def _times(column: Any) -> np.ndarray:
    """A block of times as whole numbers where they are long ones, as numbers, or as dates."""
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
    """The marks of missing values in the ways in which they are usually written."""
    return [way for mark in MARKS for way in {mark, mark.upper(), mark.title()}] + form.marks
