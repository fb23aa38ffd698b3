"""Rows of numbers sorted into runs, and a dataset of them."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from jaxtyping import Float, Int

from ..._common.errors import DataError
from .._dataset import Dataset
from .._schema import Note
from ._choice import TIME_UNITS, Choice, Format, time_unit_in
from ._clock import times_of
from ._layout import RUN, clean_pattern
from ._repair import Runs, bridge, fill, mend, warn_of_gaps
from ._table import Table, numbers_of, text_of

_DECIMAL = re.compile(r"(.*/)?([+-]?\d+)(?:\.(\d*))?")  # of a run, behind the name of its file


@final
@dataclass(frozen=True, eq=False)
class Stretches:
    """The label of each row's run, once for every stretch of rows that have the same."""

    labels: tuple[str, ...]
    lengths: Int[np.ndarray, " S"]


@final
@dataclass(frozen=True, eq=False)
class Measured:
    """Numbers of one source: times, the columns of `names`, and the labels of the rows' runs."""

    times: Float[np.ndarray, " N"]
    values: Float[np.ndarray, "N k"]
    names: tuple[str, ...]
    keys: Stretches | None
    table: Table
    units: dict[str, str]
    notes: tuple[Note, ...]


def measured(table: Table, choice: Choice, form: Format) -> Measured:
    """The numbers of a table; times in seconds where they were dates or durations, or in the unit
    that was asked for."""
    group = RUN if choice.patterns else choice.group
    keys = None if group is None else _keys(table, group)
    notes, units = table.notes, dict(table.units)
    if units:
        words = ", ".join(f"{name} in {unit}" for name, unit in units.items())
        notes += (Note("units", f"Units by the header: {words}.", len(units)),)
    clock = times_of(table, choice.time, form)
    if clock is None:
        times = numbers_of(table, choice.time, form, group or "")
        if form.time_unit is not None:
            times, converted = _converted(times, units.get(choice.time), choice, form.time_unit)
            notes += converted
            units[choice.time] = form.time_unit
    else:
        times, told = clock
        units[choice.time] = form.time_unit or "s"
        notes += (told,) if told else ()
    names = tuple(choice.numeric[1:])
    values = np.empty((len(times), len(names)))
    for place, name in enumerate(names):
        values[:, place] = numbers_of(table, name, form, group or "")
        table = replace(table, columns={n: c for n, c in table.columns.items() if n != name})
    if not len(times):
        raise DataError(f"{table.source} holds no rows below its header; at least one is needed.")
    return Measured(np.array(times), values, names, keys, table, units, notes)


def _converted(
    times: Float[np.ndarray, " N"], written: str | None, choice: Choice, unit: str
) -> tuple[Float[np.ndarray, " N"], tuple[Note, ...]]:
    """Times in this unit, of such in the unit that the header has, and a word on it."""
    known = time_unit_in(written)
    if known in (None, unit):
        return times, ()
    rates = [*choice.derivatives, *(v for v in choice.positions.values() if v)]
    if rates:
        raise DataError(
            f"time_unit must be left out, or be '{known}' as the header has it: '{rates[0]}' was "
            f"measured in that unit of time."
        )
    words = f"'{choice.time}' holds {TIME_UNITS[known][1]}; times are {TIME_UNITS[unit][1]}."
    return times * (TIME_UNITS[known][0] / TIME_UNITS[unit][0]), (Note("time-unit", words),)


def _keys(table: Table, group: str) -> Stretches:
    """The labels of runs by stretches of rows, which none may lack."""
    cells = table.columns[group]
    if cells.dtype.kind == "O":
        cells = np.array([text_of(cell) for cell in cells.tolist()], dtype=str)
    first = np.flatnonzero(np.concatenate([[True], cells[1:] != cells[:-1]])[: len(cells)])
    own = cells[first]
    texts = np.where(own == own, np.strings.strip(own.astype(str)), "")  # NaN is not itself
    if not (texts != "").all():
        row = int(first[np.argmin(texts != "")])
        raise DataError(
            f"{table.at(row)}: column '{group}' is empty; every row must say which run it "
            f"belongs to."
        )
    return Stretches(tuple(texts.tolist()), np.diff(first, append=len(cells)))


def dataset_of(
    parts: Sequence[Measured],
    labels: Sequence[str],
    choice: Choice,
    form: Format,
    units: Mapping[str, str] | None,
    source: str,
    *,
    is_chunk: bool = False,
) -> Dataset:
    """The runs of several sources; `labels` name them where each is a run of its own. A chunk is
    part of such data."""
    many, first = len(parts) > 1, parts[0]
    runs = _joined(parts, labels)
    grouped = many or first.keys is not None
    notes = merged([part.notes for part in parts])
    place_of = _places(parts)
    measured_at = runs
    if form.fill:
        runs, filled = fill(runs, first.names, form.gap)
        notes += filled
    if form.repair:
        states = [first.names.index(name) for name in choice.states]
        runs, bridged = bridge(runs, first.names, states)
        notes += bridged
    added = np.isfinite(runs.values) & ~np.isfinite(measured_at.values)
    marks = None
    if added.any():
        marks = np.empty_like(added)
        marks[runs.rows] = added  # by the rows of the table, which repairs move
    if form.repair:
        runs, repairs = mend(
            runs, choice.time, first.names, form.gap, grouped=grouped, source=source
        )
        notes += repairs
    found = {name: unit for part in parts for name, unit in part.units.items()}
    clean = {name: clean_pattern(name) if "*" in name else name for name in choice.numeric}

    def columns(names: Sequence[str]) -> np.ndarray | None:
        places = [first.names.index(name) for name in names]
        return runs.values[:, places] if names else None

    def unmeasured() -> np.ndarray | None:
        if marks is None:
            return None
        found = marks[runs.rows][:, [first.names.index(name) for name in choice.states]]
        return found if found.any() else None

    def named(names: Sequence[str]) -> tuple[str, ...]:
        return tuple(clean[name] for name in names)

    data = Dataset._checked(
        times=runs.times,
        states=columns(choice.states),
        inputs=columns(choice.inputs),
        derivatives=columns(choice.derivatives),
        filled=unmeasured(),
        lengths=runs.lengths,
        labels=short_labels(runs.labels),
        derivative_names=choice.derivatives,
        positions={clean[p]: v and clean[v] for p, v in choice.positions.items()},
        state_names=named(choice.states),
        input_names=named(choice.inputs),
        time_name=choice.time,
        group_name=choice.group,
        units={name: unit for name, unit in found.items()
               if name in (choice.time, *choice.states, *choice.inputs)} | dict(units or {}),
        source=source,
        row_word=first.table.row_word,
        row_of=lambda index: place_of(int(runs.rows[index]))[1],
        source_of=(lambda index: place_of(int(runs.rows[index]))[0]) if many else None,
        grouped=grouped,
        notes=notes,
        gap=form.gap,
        unused=tuple(dict.fromkeys(name for part in parts for name in part.table.others)),
        is_chunk=is_chunk,
    )  # fmt: skip
    if not form.repair and not is_chunk:
        cut = replace(runs, lengths=data.run_lengths, labels=data.labels)
        warn_of_gaps(cut, form.gap, choice.time, source)
    return data


def _joined(parts: Sequence[Measured], labels: Sequence[str]) -> Runs:
    """The runs of all sources; of a single one without a copy of its numbers."""
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


def sort_into_runs(
    times: Float[np.ndarray, " N"], values: Float[np.ndarray, "N k"], keys: Stretches | None
) -> Runs:
    """Rows with the same label are a run; runs come in the order of their first rows. Nothing is
    copied where the rows of each lie together."""
    rows = np.arange(len(times))
    if keys is None:
        return Runs(times, values, rows, np.array([len(times)]), ("0",))
    place: dict[str, int] = {}
    rank = np.array([place.setdefault(label, len(place)) for label in keys.labels], dtype=np.int64)
    labels = tuple(place)
    if len(labels) == len(rank):
        return Runs(times, values, rows, keys.lengths, labels)
    run = np.repeat(rank, keys.lengths)
    order = np.argsort(run, kind="stable")
    return Runs(times[order], values[order], order, np.bincount(run), labels)


def short_labels(labels: Sequence[str]) -> tuple[str, ...]:
    """Labels of a numeric column without trailing zeros; unchanged where one is not a decimal
    number, or where two runs would get the same label.

    >>> short_labels(["0.0000", "0.5000"]), short_labels(["1.1", "1.10"])
    (('0', '0.5'), ('1.1', '1.10'))
    """
    found = [_DECIMAL.fullmatch(label) for label in labels]
    short = [
        f"{one[1] or ''}{one[2]}.{(one[3] or '').rstrip('0')}".removesuffix(".")
        for one in found
        if one
    ]
    is_numeric = len(short) == len(set(short)) == len(labels)
    return tuple(short) if is_numeric else tuple(labels)


def merged(notes: Sequence[tuple[Note, ...]]) -> tuple[Note, ...]:
    """The notes on several sources, each once, with the number of sources where not on all."""
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


def _places(parts: Sequence[Measured]) -> Callable[[int], tuple[str, int]]:
    """For a row of all sources its source and the number that it has there."""
    begins: Int[np.ndarray, " parts"] = np.cumsum([0, *(len(part.times) for part in parts)])

    def place_of(row: int) -> tuple[str, int]:
        which = int(np.searchsorted(begins, row, side="right")) - 1
        table = parts[which].table
        return table.source, table.row_of(row - int(begins[which]))

    return place_of
