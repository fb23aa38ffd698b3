"""Tables in and out: CSV, Parquet, and frames of pandas and polars."""

import csv
import itertools
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, final

import numpy as np

from .._errors import DataError, missing_extra, quoted, suggestion
from ._checks import check_names
from ._dataset import Dataset

_OTHER_DELIMITERS = {";": "semicolon", "\t": "tab", "|": "bar", " ": "space"}


def read_table(
    path: Any,
    time: str,
    states: Sequence[str],
    inputs: Sequence[str] = (),
    group: str | None = None,
    *,
    derivatives: Sequence[str] | None = None,
    units: Mapping[str, str] | None = None,
    delimiter: str = ",",
) -> Dataset:
    """Runs from a CSV or Parquet file, or from a pandas or polars frame.

    `group` names the column that tells runs apart; its rows need not lie together. `derivatives`
    names columns with the derivative of each state, in the order of `states`.
    """
    choice = _Choice(time, states, inputs, group, derivatives)
    if hasattr(path, "columns"):
        return _from_columns(
            {name: np.asarray(path[name]) for name in choice.check(path.columns, "the table")},
            choice, units, "the table", "row", lambda index: index,
        )  # fmt: skip
    file = Path(path)
    if not file.is_file():
        raise DataError(f"There is no file '{path}'. Check the path.")
    if file.suffix.lower() in (".parquet", ".pq"):
        columns = _read_parquet(file, choice)
        return _from_columns(columns, choice, units, file.name, "row", lambda index: index)
    columns = _read_csv(file, choice, delimiter)
    return _from_columns(columns, choice, units, file.name, "line", _line_finder(file))


def write_table(path: str | os.PathLike[str], columns: Mapping[str, np.ndarray]) -> None:
    """Writes columns of numbers as CSV; the file appears whole or not at all."""
    target = Path(path)
    arrays = [np.asarray(column) for column in columns.values()]
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(zip(*(array.tolist() for array in arrays), strict=True))
        os.chmod(temporary, 0o644)
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


@final
class _Choice:
    """Which columns play which part."""

    def __init__(self, time, states, inputs, group, derivatives):
        self.time, self.group = time, group
        self.states = check_names(states, "states")
        self.inputs = check_names(inputs or (), "inputs")
        self.derivatives = check_names(derivatives or (), "derivatives")
        if not self.states:
            raise DataError("states must name at least one column.")
        if self.derivatives and len(self.derivatives) != len(self.states):
            raise DataError(
                f"derivatives must name one column for each of the {len(self.states)} states; "
                f"got {len(self.derivatives)}."
            )
        parts = [time, *self.states, *self.inputs]
        doubled = sorted({name for name in parts if parts.count(name) > 1})
        if doubled:
            raise DataError(
                f"A column can be the time, a state or an input, not two of them; "
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
    numbers = {}
    for name in choice.numeric:
        column = columns[name]
        if column.dtype.kind not in "fiub":
            column = _numbers_or_place(column, name, source, row_word, row_of)
        numbers[name] = np.asarray(column, dtype=np.float64)
    n_rows = len(numbers[choice.time])
    if n_rows == 0:
        raise DataError(f"{source} holds no rows below its header; at least one is needed.")
    if choice.group is None:
        order, lengths, labels = np.arange(n_rows), np.array([n_rows]), ("0",)
    else:
        keys = np.asarray(columns[choice.group])
        if keys.dtype.kind == "O":
            keys = keys.astype(str)
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


def _numbers_or_place(
    column: np.ndarray, name: str, source: str, row_word: str, row_of: Callable[[int], int]
) -> np.ndarray:
    """A text or object column as numbers, or an error that names the first cell that is none."""
    try:
        return column.astype(np.float64)
    except (TypeError, ValueError):
        pass
    for index, cell in enumerate(column.tolist()):
        if cell is None:
            raise DataError(f"{source}, {row_word} {row_of(index)}: column '{name}' is empty.")
        try:
            float(cell)
        except (TypeError, ValueError):
            raise DataError(
                f"{source}, {row_word} {row_of(index)}: column '{name}' holds '{cell}', "
                f"which is not a number."
            ) from None
    raise DataError(f"{source}: column '{name}' does not hold numbers (dtype {column.dtype}).")


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


def _read_csv(file: Path, choice: _Choice, delimiter: str) -> dict[str, np.ndarray]:
    """The chosen columns; the fast reader first, a cell-by-cell search for the fault after."""
    if len(delimiter) != 1:
        raise DataError(f"delimiter must be a single character; got '{delimiter}'.")
    rows = _rows(file, delimiter)
    header = [cell.strip() for cell in next((row for row in rows if any(row)), [])]
    if not header:
        raise DataError(f"{file.name} is empty; a header line and rows of numbers are needed.")
    doubled = sorted({name for name in header if header.count(name) > 1} & set(choice.numeric))
    if doubled:
        raise DataError(f"{file.name} has more than one column named {quoted(doubled)}.")
    if len(header) == 1:
        _refuse_delimiter(file, header[0], choice, delimiter)
    names = choice.check(header, file.name)
    if next((row for row in rows if any(row)), None) is None:
        raise DataError(f"{file.name} holds no rows below its header; at least one is needed.")
    numeric = [name for name in names if name in choice.numeric]
    try:
        table = _load(file, delimiter, [header.index(name) for name in numeric], np.float64)
        columns = dict(zip(numeric, table.T, strict=True))
        if choice.group is not None and choice.group not in columns:
            text = _load(file, delimiter, [header.index(choice.group)], np.str_)
            columns[choice.group] = np.char.strip(text[:, 0])
    except ValueError:
        raise _first_fault(file, header, choice, delimiter) from None
    return columns


def _load(file: Path, delimiter: str, columns: list[int], dtype: Any) -> np.ndarray:
    return np.loadtxt(
        file, dtype=dtype, delimiter=delimiter, skiprows=_header_line(file), usecols=columns,
        ndmin=2, comments=None, quotechar='"', encoding="utf-8-sig",
    )  # fmt: skip


def _rows(file: Path, delimiter: str) -> Iterator[list[str]]:
    """Rows of text, one by one."""
    try:
        with open(file, encoding="utf-8-sig", newline="") as stream:
            yield from csv.reader(stream, delimiter=delimiter)
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(
            f"{file.name} is not a text table in UTF-8 ({error}). Save it as CSV, UTF-8."
        ) from None


def _header_line(file: Path) -> int:
    """How many lines to pass over before the first row of numbers."""
    with open(file, encoding="utf-8-sig") as stream:
        return next((i + 1 for i, line in enumerate(stream) if line.strip()), 0)


def _line_finder(file: Path) -> Callable[[int], int]:
    """Index of a data row -> its line number, read from the file only when it is asked for."""

    def find(index: int) -> int:
        with open(file, encoding="utf-8-sig") as stream:
            filled = (i + 1 for i, line in enumerate(stream) if line.strip())
            return next(itertools.islice(filled, index + 1, None))

    return find


def _refuse_delimiter(file: Path, line: str, choice: _Choice, delimiter: str) -> None:
    """A one-column header that splits at another sign was written with that sign."""
    for other, word in _OTHER_DELIMITERS.items():
        if other != delimiter and set(choice.numeric) & {
            part.strip() for part in line.split(other)
        }:
            raise DataError(
                f"{file.name} is not separated by '{delimiter}': its header reads as one column, "
                f"'{line}'. It looks separated by {word}s; pass delimiter={other!r}."
            )


def _first_fault(file: Path, header: list[str], choice: _Choice, delimiter: str) -> DataError:
    """The first cell that is not a number, named by line, column and run."""
    run = None
    for number, row in enumerate(_rows(file, delimiter), start=1):
        if not any(row) or [cell.strip() for cell in row] == header:
            continue
        if len(row) < len(header):
            return DataError(
                f"{file.name}, line {number}: {len(row)} fields where the header has {len(header)}."
            )
        if choice.group is not None:
            run = row[header.index(choice.group)].strip()
        where = f"{file.name}, line {number}" + (f" (run {run})" if run is not None else "")
        for name in choice.numeric:
            cell = row[header.index(name)].strip()
            try:
                float(cell)
            except ValueError:
                if not cell:
                    return DataError(
                        f"{where}: column '{name}' is empty. Fill the gap or remove the row."
                    )
                return DataError(f"{where}: column '{name}' holds '{cell}', which is not a number.")
    return DataError(f"{file.name} could not be read as a table separated by '{delimiter}'.")
