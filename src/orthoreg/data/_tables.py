"""Tables in and out: CSV, Parquet, and frames of pandas and polars."""

import csv
import io
import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, final

import numpy as np

from .._errors import DataError, missing_extra, quoted, suggestion
from .._files import atomic_write
from ._checks import check_names, column_numbers
from ._dataset import Dataset
from ._velocities import named_positions

_DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", " ": "space"}
_CHUNK = 50_000
_OTHER_FORMATS = {
    b"\x1f\x8b": "is compressed by gzip; unpack it first",
    b"PK\x03\x04": "is a zip archive or a spreadsheet; unpack it, or save the sheet as CSV, UTF-8",
    b"PAR1": "is a Parquet file; give it a name that ends in .parquet",
    b"\xff\xfe": "is text in UTF-16; save it as CSV, UTF-8",
    b"\xfe\xff": "is text in UTF-16; save it as CSV, UTF-8",
}
"""What files begin with that are often taken for CSV."""


def read_table(
    path: Any,
    time: str,
    states: Sequence[str] = (),
    inputs: Sequence[str] = (),
    group: str | None = None,
    *,
    positions: Sequence[str] | Mapping[str, str | None] = (),
    derivatives: Sequence[str] | None = None,
    units: Mapping[str, str] | None = None,
    delimiter: str = ",",
) -> Dataset:
    """Runs from a CSV or Parquet file, or from a pandas or polars frame.

    `group` names the column that tells runs apart; its rows need not lie together. `derivatives`
    names columns with the derivative of each state, in the order of `states`.

    `positions` names columns whose velocities are states too. With {"theta": "omega"} the velocity
    is the column omega; otherwise it was not measured, is called theta_dot and is estimated from
    the positions. The states are the positions, their velocities, then those of `states`.
    """
    choice = _Choice(time, states, inputs, group, derivatives, positions)
    if hasattr(path, "columns"):
        names = {str(name): name for name in path.columns}
        chosen = choice.check(path.columns, "the table")
        columns = {name: np.asarray(path[names[name]]) for name in chosen}
        return _from_columns(columns, choice, units, "the table", "row", lambda row: row)
    file = Path(path)
    if not file.is_file():
        raise DataError(
            f"'{path}' is a folder; name a table in it."
            if file.is_dir()
            else f"There is no file '{path}'. Check the path."
        )
    if file.suffix.lower() in (".parquet", ".pq"):
        columns = _read_parquet(file, choice)
        return _from_columns(columns, choice, units, file.name, "row", lambda row: row)
    columns, lines = _read_csv(file, choice, delimiter)
    return _from_columns(columns, choice, units, file.name, "line", lambda row: int(lines[row]))


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


@final
class _Choice:
    """Which columns play which part."""

    def __init__(self, time, states, inputs, group, derivatives, positions):
        self.time, self.group = time, group
        self.positions = named_positions(positions)
        velocities = check_names([v for v in self.positions.values() if v], "positions")
        others = check_names(states or (), "states")
        self.states = (*self.positions, *velocities, *others)
        self.inputs = check_names(inputs or (), "inputs")
        self.derivatives = check_names(derivatives or (), "derivatives")
        if not self.states:
            raise DataError(
                "states must name at least one column; name positions=... where velocities were "
                "not measured."
            )
        if self.positions and self.derivatives:
            raise DataError(
                "derivatives must be left out where positions are given: a velocity that was "
                "measured is named beside its position, as theta:omega."
            )
        for part, name in (("time", time), ("group", group)):
            if name is not None and not str(name).strip():
                raise DataError(f"{part} must name a column; got empty text.")
        if self.derivatives and len(self.derivatives) != len(self.states):
            raise DataError(
                f"derivatives must name one column for each of the {len(self.states)} states; "
                f"got {len(self.derivatives)}."
            )
        parts = [time, *self.states, *self.inputs]
        doubled = sorted({name for name in parts if parts.count(name) > 1})
        if doubled:
            raise DataError(
                f"A column can be the time, {'a position, ' if self.positions else ''}a state or "
                f"an input, not two of them; "
                f"{quoted(doubled)} was chosen twice."
            )

    @property
    def numeric(self) -> list[str]:
        return [self.time, *self.states, *self.inputs, *self.derivatives]

    def check(self, available: Any, source: str) -> list[str]:
        """The chosen column names, each known to exist."""
        known = [str(name) for name in available]
        chosen = self.numeric + ([self.group] if self.group is not None else [])
        for name in chosen:
            if name not in known:
                raise DataError(
                    f"{source} has no column '{name}'.{suggestion(name, known)} "
                    f"Its columns are {quoted(known)}."
                )
            if known.count(name) > 1:
                raise DataError(f"{source} has more than one column named '{name}'.")
        return list(dict.fromkeys(chosen))


def _from_columns(
    columns: Mapping[str, np.ndarray],
    choice: _Choice,
    units: Mapping[str, str] | None,
    source: str,
    row_word: str,
    row_of: Callable[[int], int],
) -> Dataset:
    """Sorts rows into runs and checks everything."""

    def at(row: int) -> str:
        run = "" if choice.group is None else f" (run {str(columns[choice.group][row]).strip()})"
        return f"{source}, {row_word} {row_of(row)}{run}"

    numbers = {name: column_numbers(columns[name], name, at) for name in choice.numeric}
    n_rows = len(numbers[choice.time])
    if n_rows == 0:
        raise DataError(f"{source} holds no rows below its header; at least one is needed.")
    if choice.group is None:
        order, lengths, labels = np.arange(n_rows), np.array([n_rows]), ("0",)
    else:
        keys = columns[choice.group]
        missing = np.array([key is None or key != key for key in keys.tolist()])
        if keys.dtype.kind in "OUT":
            keys = np.char.strip(keys.astype(str))
            missing |= keys == ""
        if missing.any():
            row = int(np.argmax(missing))
            raise DataError(
                f"{source}, {row_word} {row_of(row)}: column '{choice.group}' is empty; every row "
                f"must say which run it belongs to."
            )
        unique, first, rank = np.unique(keys, return_index=True, return_inverse=True)
        by_appearance = np.argsort(first)
        place = np.empty_like(by_appearance)
        place[by_appearance] = np.arange(len(unique))
        order = np.argsort(place[rank], kind="stable")
        lengths = np.bincount(place[rank])
        labels = tuple(f"{key}" for key in unique[by_appearance])

    def stacked(names: Sequence[str]) -> np.ndarray | None:
        return np.column_stack([numbers[name][order] for name in names]) if names else None

    return Dataset._checked(
        times=numbers[choice.time][order],
        states=stacked(choice.states),
        inputs=stacked(choice.inputs),
        derivatives=stacked(choice.derivatives),
        lengths=lengths,
        labels=labels,
        derivative_names=choice.derivatives,
        positions=choice.positions,
        state_names=choice.states,
        input_names=choice.inputs,
        time_name=choice.time,
        group_name=choice.group,
        units=dict(units or {}),
        source=source,
        row_word=row_word,
        row_of=lambda index: row_of(int(order[index])),
        grouped=choice.group is not None,
    )


def _read_parquet(file: Path, choice: _Choice) -> dict[str, np.ndarray]:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise missing_extra("pyarrow", "tables", "Reading Parquet") from None
    try:
        names = choice.check(parquet.read_schema(file).names, file.name)
        table = parquet.read_table(file, columns=names)
    except ArrowException as error:
        raise DataError(f"{file.name} could not be read as Parquet: {error}") from None
    return {name: table.column(name).to_numpy() for name in names}


def _read_csv(
    file: Path, choice: _Choice, delimiter: str
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """The chosen columns, and the line of the file that each row stands on."""
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise DataError(
            f"delimiter must be a single character, other than a quote or the end of a line; "
            f"got {delimiter!r}."
        )
    with open(file, "rb") as stream:
        opening = stream.read(4)
    for mark, words in _OTHER_FORMATS.items():
        if opening.startswith(mark):
            raise DataError(f"{file.name} {words}.")
    rows = _rows(file, delimiter)
    _, header = next(rows, (0, []))
    header = [cell.strip() for cell in header]
    if not header:
        raise DataError(f"{file.name} is empty; a header line and rows of numbers are needed.")
    if len(header) == 1:
        _refuse_delimiter(file, header[0], choice, delimiter)
    places = {name: header.index(name) for name in choice.check(header, file.name)}
    columns: dict[str, list[np.ndarray]] = {name: [] for name in places}
    lines: list[np.ndarray] = []
    while chunk := list(itertools.islice(rows, _CHUNK)):
        for line, cells in chunk:
            if len(cells) != len(header):
                raise DataError(
                    f"{file.name}, line {line}: {len(cells)} fields where the header has "
                    f"{len(header)}."
                )
        lines.append(np.array([line for line, _ in chunk]))
        for name, place in places.items():
            column = [cells[place] for _, cells in chunk]
            is_label = name not in choice.numeric
            columns[name].append(np.array(column) if is_label else _compact(column))
    if not lines:
        raise DataError(f"{file.name} holds no rows below its header; at least one is needed.")
    return {name: _joined(parts) for name, parts in columns.items()}, np.concatenate(lines)


def _compact(cells: list[str]) -> np.ndarray:
    """Numbers where all cells are numbers; the text where they are not."""
    try:
        return column_numbers(np.array(cells), "", str)
    except DataError:
        return np.array(cells, dtype=object)


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    """Chunks of one column; as text throughout as soon as one of them is text."""
    if any(part.dtype.kind == "O" for part in parts):
        parts = [part.astype(object) for part in parts]
    return np.concatenate(parts)


def _rows(file: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of every row that is not blank."""
    try:
        with open(file, encoding="utf-8-sig", newline="") as stream:
            reader = csv.reader(stream, delimiter=delimiter)
            for cells in reader:
                if len(cells) > 1 or (cells and cells[0].strip()):
                    yield reader.line_num, cells
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(
            f"{file.name} is not a text table in UTF-8 ({error}). Save it as CSV, UTF-8."
        ) from None


def _refuse_delimiter(file: Path, line: str, choice: _Choice, delimiter: str) -> None:
    """A one-column header that splits at another sign was written with that sign."""
    for other, word in _DELIMITERS.items():
        if other != delimiter and set(choice.numeric) & {
            part.strip() for part in line.split(other)
        }:
            raise DataError(
                f"{file.name} is not separated by '{delimiter}': its header reads as one column, "
                f"'{line}'. It looks separated by {word}s; pass delimiter={other!r}."
            )
