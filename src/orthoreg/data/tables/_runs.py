"""Convert tables of any format and layout to numbers, runs and a `Dataset`."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

import numpy as np
from jaxtyping import Bool, Float, Int

from ..._common.errors import DataError, quoted, suggestion
from ..._common.files import local
from ..._common.typed import printable
from ..._common.unpacking import packing
from ...smoothing import Times
from .._dataset import Dataset
from .._schema import Note
from .._units import parse_unit, unit_converter
from ._choice import TIME_UNITS, Choice, looks_like_unit, name_and_unit, time_unit_in
from ._formats import (
    COLUMNAR_SUFFIXES,
    EXCEL_SUFFIXES,
    is_frame,
    read_columnar,
    read_excel,
    read_frame,
)
from ._repair import Runs, bridge, cut_at_missing_rows, fill, repair_runs, warn_of_gaps
from ._table import Table, numbers_of, text_of, times_of
from ._text import read_csv

_DECIMAL = re.compile(r"(.*/)?([+-]?\d+)(?:\.(\d*))?")  # a number after an optional file name


@final
@dataclass(frozen=True, eq=False)
class Stretches:
    """Run labels of stretches of rows. All rows of a stretch have the same label."""

    labels: tuple[str, ...]
    lengths: Int[np.ndarray, " S"]


@final
@dataclass(frozen=True, eq=False)
class SourceNumbers:
    """Numbers of a source: times, the columns in `names`, and the run labels of the rows."""

    times: Float[np.ndarray, " N"]
    values: Float[np.ndarray, "N k"]
    names: tuple[str, ...]
    keys: Stretches | None
    table: Table
    units: dict[str, str]
    notes: tuple[Note, ...]
    covariates: Float[np.ndarray, "N q"]


def table_numbers(table: Table, choice: Choice) -> SourceNumbers:
    """Return the numbers of a table.

    Dates and durations become numbers in seconds or in the requested unit of time.
    """
    group = RUN if choice.patterns else choice.group
    keys = None if group is None else _keys(table, group)
    notes, units = table.notes, dict(table.units)
    if units:
        unit_list = ", ".join(f"{name} in {unit}" for name, unit in units.items())
        notes += (Note("units", f"Units in the header: {unit_list}.", len(units)),)
    time_result = None if choice.is_counted else times_of(table, choice.time, choice.form)
    if choice.is_counted:
        times = np.arange(float(len(next(iter(table.columns.values())))))
    elif time_result is None:
        times = numbers_of(table, choice.time, choice.form, group or "")
        if choice.form.time_unit is not None:
            times, converted = _converted(
                times, units.get(choice.time), choice, choice.form.time_unit
            )
            notes += converted
            units[choice.time] = choice.form.time_unit
    else:
        times, note = time_result
        units[choice.time] = choice.form.time_unit or "s"
        notes += (note,) if note else ()
    names = tuple(choice.measured)
    values = np.empty((len(times), len(names)))
    for column, name in enumerate(names):
        factor, offset, converted = _conversion(name, units.get(name), choice)
        values[:, column] = numbers_of(table, name, choice.form, group or "")
        if converted:
            values[:, column] = values[:, column] * factor + offset
            notes += converted
        table = replace(table, columns={n: c for n, c in table.columns.items() if n != name})
    if not len(times):
        raise DataError(f"{table.source} has no rows below its header; at least one is needed.")
    form = replace(choice.form, repair=True)  # a covariate may be unknown
    covariates = np.empty((len(times), len(choice.covariates)))
    for column, name in enumerate(choice.covariates):
        factor, offset, converted = _conversion(name, units.get(name), choice)
        covariates[:, column] = numbers_of(table, name, form, group or "")
        if converted:
            covariates[:, column] = covariates[:, column] * factor + offset
            notes += converted
    return SourceNumbers(np.array(times), values, names, keys, table, units, notes, covariates)


def _converted(
    times: Times, written: str | None, choice: Choice, unit: str
) -> tuple[Float[np.ndarray, " N"], tuple[Note, ...]]:
    """Return times converted from the unit in the header to `unit`, and a note."""
    known = time_unit_in(written)
    if known in (None, unit):
        return times, ()
    rates = [*choice.derivatives, *(v for v in choice.positions.values() if v)]
    if rates:
        raise DataError(
            f"time_unit must be omitted or be '{known}' as in the header: '{rates[0]}' was "
            f"measured in that unit of time."
        )
    text = (
        f"'{choice.time}' is in {TIME_UNITS[known][1]}; its times were converted to "
        f"{TIME_UNITS[unit][1]}."
    )
    return times * (TIME_UNITS[known][0] / TIME_UNITS[unit][0]), (Note("time-unit", text),)


def _conversion(
    name: str, written: str | None, choice: Choice
) -> tuple[float, float, tuple[Note, ...]]:
    """Return the factor and the offset that convert a column to the requested unit, and a note.

    The unit in the header is converted. If it is not a known unit, it is replaced without
    conversion.
    """
    wanted = choice.units.get(name)
    if wanted is None or written is None or written == wanted:
        return 1.0, 0.0, ()
    if parse_unit(written) is None and not looks_like_unit(written):
        return 1.0, 0.0, ()
    factor, offset = unit_converter(name, written, wanted)
    if (factor, offset) == (1.0, 0.0):
        return 1.0, 0.0, ()
    if choice.derivatives:
        raise DataError(
            f"'{name}' must stay in {written}, the unit in the header, because the measured "
            f"derivatives would not be converted with it; remove '{name}' from units=..."
        )
    return factor, offset, (Note("units", f"'{name}' is converted from {written} to {wanted}."),)


def _keys(table: Table, group: str) -> Stretches:
    """Return the run labels of stretches of rows. Every row must have a label."""
    cells = table.columns[group]
    if cells.dtype.kind == "O":
        cells = np.array([text_of(cell) for cell in cells.tolist()], dtype=str)
    first = np.flatnonzero(np.concatenate([[True], cells[1:] != cells[:-1]])[: len(cells)])
    labels = cells[first]
    texts = np.where(
        labels == labels, np.strings.strip(labels.astype(str)), ""
    )  # NaN is not equal to itself
    if not (texts != "").all():
        row = int(first[np.argmin(texts != "")])
        raise DataError(
            f"{table.at(row)}: column '{group}' is empty; every row must name the run it "
            f"belongs to."
        )
    return Stretches(tuple(map(printable, texts.tolist())), np.diff(first, append=len(cells)))


def dataset_of(
    parts: Sequence[SourceNumbers],
    labels: Sequence[str],
    choice: Choice,
    source: str,
    *,
    is_chunk: bool = False,
) -> Dataset:
    """Return a dataset of the runs of several sources.

    `labels` are the names of sources that are one run each. `is_chunk` is true for a part of a
    larger dataset.
    """
    is_multiple, first = len(parts) > 1, parts[0]
    grouped = is_multiple or first.keys is not None
    runs, filled, notes = _joined(parts, labels), None, merged([part.notes for part in parts])
    if choice.is_counted:
        runs = _counted(runs)
    if choice.form.repair:
        runs, filled, repairs = _repaired(runs, first.names, choice, grouped, source)
        notes += repairs
        if choice.discrete:
            runs, cuts = cut_at_missing_rows(runs)
            notes += cuts
    row_in_source = _row_locator(parts)
    covariates = np.concatenate([part.covariates for part in parts])[runs.rows]
    clean = {name: clean_pattern(name) if "*" in name else name for name in choice.numeric}

    def columns(names: Sequence[str]) -> np.ndarray | None:
        indices = [first.names.index(name) for name in names]
        return runs.values[:, indices] if names else None

    data = Dataset.checked(
        times=runs.times,
        states=columns(choice.states),
        inputs=columns(choice.inputs),
        derivatives=columns(choice.derivatives),
        filled=filled,
        lengths=runs.lengths,
        labels=short_labels(runs.labels),
        derivative_names=choice.derivatives,
        positions={clean[p]: v and clean[v] for p, v in choice.positions.items()},
        order=choice.order,
        state_names=tuple(clean[name] for name in choice.states),
        input_names=tuple(clean[name] for name in choice.inputs),
        time_name=choice.time,
        group_name=choice.group,
        units=_units_of(parts, choice),
        source=source,
        row_word=first.table.row_word,
        row_of=lambda index: row_in_source(int(runs.rows[index]))[1],
        source_of=(lambda index: row_in_source(int(runs.rows[index]))[0]) if is_multiple else None,
        grouped=grouped,
        notes=notes,
        gap=choice.form.gap,
        unused=tuple(dict.fromkeys(name for part in parts for name in part.table.others)),
        is_chunk=is_chunk,
        discrete=choice.discrete,
        hidden=choice.hidden,
        covariate_values=dict(zip(choice.covariates, covariates.T, strict=True)),
    )  # fmt: skip
    if not (choice.form.repair or is_chunk or choice.discrete):
        cut = replace(runs, lengths=data.run_lengths, labels=data.labels)
        warn_of_gaps(cut, choice.form.gap, choice.time, source)
    return data


def _units_of(parts: Sequence[SourceNumbers], choice: Choice) -> dict[str, str]:
    """Return the units in the headers of chosen columns, replaced by units that are given."""
    columns = (choice.time, *choice.states, *choice.inputs, *choice.covariates)
    units = {name: unit for part in parts for name, unit in part.units.items()}
    return {name: unit for name, unit in units.items() if name in columns} | dict(choice.units)


def _counted(runs: Runs) -> Runs:
    """Return the runs with the row number in the run as the time."""
    first = np.repeat(np.cumsum(runs.lengths) - runs.lengths, runs.lengths)
    return replace(runs, times=np.arange(len(runs.times)) - first.astype(float))


def _repaired(
    runs: Runs, names: tuple[str, ...], choice: Choice, grouped: bool, source: str
) -> tuple[Runs, Bool[np.ndarray, "N n"] | None, tuple[Note, ...]]:
    """Return the repaired runs, a mask of the states that were filled in, and notes."""
    measured, gap, notes = runs, choice.form.gap, ()
    states = [names.index(name) for name in choice.states]
    if choice.form.fill:
        runs, notes = fill(runs, names, gap)
    bridged: tuple[Note, ...] = ()
    if not choice.discrete:  # rows of a map are not on a smooth curve
        runs, bridged = bridge(runs, names, states)
    is_new = np.isfinite(runs.values) & ~np.isfinite(measured.values)
    by_table_row = np.empty_like(is_new)
    by_table_row[runs.rows] = is_new  # repairs change the order of rows
    runs, repairs = repair_runs(runs, choice.time, names, gap, grouped=grouped, source=source)
    filled = by_table_row[runs.rows][:, states]
    return runs, filled if filled.any() else None, (*notes, *bridged, *repairs)


def _joined(parts: Sequence[SourceNumbers], labels: Sequence[str]) -> Runs:
    """Return the runs of all sources. A single source is not copied."""
    if len(parts) == 1:
        return sort_into_runs(parts[0].times, parts[0].values, parts[0].keys)
    names: list[str] = []
    for part, label in zip(parts, labels, strict=True):
        names += [label] if part.keys is None else [f"{label}/{key}" for key in part.keys.labels]
    lengths = [
        np.array([len(part.times)]) if part.keys is None else part.keys.lengths for part in parts
    ]
    return sort_into_runs(
        np.concatenate([part.times for part in parts]),
        np.concatenate([part.values for part in parts]),
        Stretches(tuple(names), np.concatenate(lengths)),
    )


def sort_into_runs(times: Times, values: Float[np.ndarray, "N k"], keys: Stretches | None) -> Runs:
    """Return the rows as runs, one for each label, in the order of their first rows.

    Nothing is copied if the rows of each run are consecutive.
    """
    rows = np.arange(len(times))
    if keys is None:
        return Runs(times, values, rows, np.array([len(times)]), ("0",))
    run_index: dict[str, int] = {}
    rank = np.array(
        [run_index.setdefault(label, len(run_index)) for label in keys.labels], dtype=np.int64
    )
    labels = tuple(run_index)
    if len(labels) == len(rank):
        return Runs(times, values, rows, keys.lengths, labels)
    run = np.repeat(rank, keys.lengths)
    order = np.argsort(run, kind="stable")
    return Runs(times[order], values[order], order, np.bincount(run), labels)


def short_labels(labels: Sequence[str]) -> tuple[str, ...]:
    """Return the labels of runs from a numeric column without trailing zeros.

    The labels are unchanged if any label is not a decimal number, or if two runs would get the same
    label.

    >>> short_labels(["0.0000", "0.5000"]), short_labels(["1.1", "1.10"])
    (('0', '0.5'), ('1.1', '1.10'))
    """
    matches = [_DECIMAL.fullmatch(label) for label in labels]
    short = [
        f"{match[1] or ''}{match[2]}.{(match[3] or '').rstrip('0')}".removesuffix(".")
        for match in matches
        if match
    ]
    is_numeric = len(short) == len(set(short)) == len(labels)
    return tuple(short) if is_numeric else tuple(labels)


def merged(notes: Sequence[tuple[Note, ...]]) -> tuple[Note, ...]:
    """Return the notes on several sources without repetition.

    A note on some of the sources states how many.
    """
    counts: dict[Note, int] = {}
    for part in notes:
        for note in part:
            counts[note] = counts.get(note, 0) + 1
    return tuple(
        note if count == len(notes)
        else Note(note.code, f"{note.text} (in {count} of {len(notes)} files)", note.count,
                  note.is_repair)
        for note, count in counts.items()
    )  # fmt: skip


def _row_locator(parts: Sequence[SourceNumbers]) -> Callable[[int], tuple[str, int]]:
    """Return a function that maps a row of all sources to its source and its row number there."""
    starts: Int[np.ndarray, " parts"] = np.cumsum([0, *(len(part.times) for part in parts)])

    def row_in_source(row: int) -> tuple[str, int]:
        part = int(np.searchsorted(starts, row, side="right")) - 1
        table = parts[part].table
        return table.source, table.row_of(row - int(starts[part]))

    return row_in_source


PACKED_SUFFIXES = (".gz", ".zst", ".zip", ".bz2", ".xz")


def source_numbers(source: Any, choice: Choice) -> SourceNumbers:
    """Return the numbers of a file or frame."""
    table = _source_table(source, choice)
    if choice.form.long is not None:
        table = from_long(table, choice)
    if choice.patterns:
        table = from_side_by_side(table, choice)
    return table_numbers(table, choice)


def _source_table(source: Any, choice: Choice) -> Table:
    if is_frame(source):
        return read_frame(source, choice)
    with local(source) as file:
        return _file_table(file, choice)


def _file_table(source: Path, choice: Choice) -> Table:
    suffix = source.suffix.lower()
    if suffix in COLUMNAR_SUFFIXES:
        return read_columnar(source, choice)
    if suffix in EXCEL_SUFFIXES:
        return read_excel(source, choice)
    if suffix in (".xls", ".ods"):
        raise DataError(f"{source.name} is an unsupported spreadsheet; save it as .xlsx or CSV.")
    if choice.form.sheet is not None:
        raise DataError(f"sheet must be omitted: '{source.name}' is not an Excel workbook.")
    if packing(source) == "zip" and suffix not in PACKED_SUFFIXES:
        raise DataError(
            f"{source.name} is a zip archive or a spreadsheet; give it a name that ends in .zip or "
            f".xlsx."
        )
    return read_csv(source, choice)


RUN = "\0run"
"""Name of the group column if the layout of the table identifies the runs."""


def from_long(table: Table, choice: Choice) -> Table:
    """Return a long table, with one row per time and quantity, as a table with one row per time.

    Quantities that were not measured at a time are missing in its row.
    """
    assert choice.form.long is not None
    variable, value = choice.form.long
    quantity = np.array([text_of(cell) for cell in table.columns[variable].tolist()])
    values, times = table.columns[value], table.columns[choice.time]
    keys = [times] if choice.group is None else [table.columns[choice.group], times]
    row_key = np.zeros(len(times), dtype=np.int64)
    for key in keys:
        _, codes = np.unique(key.astype(str) if key.dtype.kind == "O" else key, return_inverse=True)
        row_key = row_key * (codes.max(initial=0) + 1) + codes
    _, first, time_index = np.unique(row_key, return_index=True, return_inverse=True)
    order = np.argsort(np.argsort(first))  # order of first appearance
    time_index, first = order[time_index], np.sort(first)
    known = list(dict.fromkeys(quantity.tolist()))
    columns = {choice.time: times[first]}
    if choice.group is not None:
        columns[choice.group] = table.columns[choice.group][first]
    for name in choice.measured:
        rows = np.flatnonzero([name in (text, name_and_unit(text)[0]) for text in quantity])
        if not rows.size:
            raise DataError(
                f"{table.source}: column '{variable}' never contains '{name}'."
                f"{suggestion(name, known)} It contains {quoted(known)}."
            )
        cells, counts = np.unique(time_index[rows], return_counts=True)
        if counts.max() > 1:
            repeated = rows[time_index[rows] == cells[np.argmax(counts)]][1]
            raise DataError(
                f"{table.at(int(repeated))}: '{name}' has a second value for the same time. Keep "
                f"one, or pass group=..., the column that identifies the run."
            )
        if len(cells) < len(first) and not choice.form.repair:
            missing = int(first[np.setdiff1d(np.arange(len(first)), cells)[0]])
            raise DataError(
                f"{table.at(missing)}: '{name}' has no value for this time, nor for "
                f"{len(first) - len(cells) - 1} others. Pass repair=True to keep only the times "
                "with all values, or fill=True to fill the gaps."
            )
        column = np.full(len(first), "", dtype=object) if values.dtype.kind in "OUT" else (
            np.full(len(first), np.nan)
        )  # fmt: skip
        column[time_index[rows]] = values[rows]
        columns[name] = column
    note = Note("long", f"The table is long: {len(times)} rows make {len(first)} times.")
    return replace(
        table,
        columns=columns,
        row_of=_selected_rows(table.row_of, first),
        notes=(*table.notes, note),
        others=tuple(name for name in known if name and name_and_unit(name)[0] not in columns),
    )


def from_side_by_side(table: Table, choice: Choice) -> Table:
    """Return runs in adjacent columns, such as theta_1 and theta_2 for `theta_*`, one after the
    other.
    """
    labels: dict[str, dict[str, str]] = {}
    for pattern in choice.patterns:
        head, _, tail = pattern.partition("*")
        for column in table.columns:
            bare = name_and_unit(column)[0]
            for text in dict.fromkeys((column, bare)):
                if text.startswith(head) and text.endswith(tail) and len(text) >= len(head + tail):
                    label = text[len(head) : len(text) - len(tail)]
                    labels.setdefault(label, {}).setdefault(pattern, column)
                    break
    for label, run_columns in labels.items():
        missing = [pattern for pattern in choice.patterns if pattern not in run_columns]
        if missing:
            raise DataError(
                f"{table.source} has no column '{missing[0].replace('*', label)}', though it has "
                f"{quoted(run_columns.values())}; every run needs a column for each of "
                f"{quoted(choice.patterns)}."
            )
    n_rows = len(next(iter(table.columns.values())))
    columns = {
        name: np.concatenate(
            [table.columns[run_columns.get(name, name)] for run_columns in labels.values()]
        )
        for name in choice.numeric
    }
    columns[RUN] = np.repeat(np.array(list(labels)), n_rows)
    note = Note("side-by-side", f"{len(labels)} runs are side by side: {quoted(labels)}.")
    return replace(
        table,
        columns=columns,
        row_of=_selected_rows(table.row_of, np.tile(np.arange(n_rows), len(labels))),
        notes=(*table.notes, note),
    )


def clean_pattern(name: str) -> str:
    """Return the name of a quantity without the pattern of runs: 'theta' for 'theta_*'."""
    return name.replace("*", "").strip(" _-.") or name


def _selected_rows(row_of: Callable[[int], int], rows: np.ndarray) -> Callable[[int], int]:
    return lambda row: row_of(int(rows[row]))
