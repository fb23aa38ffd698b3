"""Other layouts of a table, brought into one column for each quantity: long, and runs side by
side."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..._common.errors import DataError, quoted, suggestion
from .._schema import Note
from ._choice import Choice, Format, name_and_unit
from ._table import Table, text_of

RUN = "\0run"
"""The column that tells runs apart where the layout does."""


def from_long(table: Table, choice: Choice, form: Format) -> Table:
    """A table with one row for each time and quantity, as one row for each time.

    What was not measured at a time is missing there."""
    assert form.long is not None
    variable, value = form.long
    quantity = np.array([text_of(cell) for cell in table.columns[variable].tolist()])
    values, times = table.columns[value], table.columns[choice.time]
    keys = [times] if choice.group is None else [table.columns[choice.group], times]
    row_key = np.zeros(len(times), dtype=np.int64)
    for key in keys:
        _, codes = np.unique(key.astype(str) if key.dtype.kind == "O" else key, return_inverse=True)
        row_key = row_key * (codes.max(initial=0) + 1) + codes
    _, first, place = np.unique(row_key, return_index=True, return_inverse=True)
    order = np.argsort(np.argsort(first))  # rows in the order in which they appear
    place, first = order[place], np.sort(first)
    known = list(dict.fromkeys(quantity.tolist()))
    columns = {choice.time: times[first]}
    if choice.group is not None:
        columns[choice.group] = table.columns[choice.group][first]
    for name in choice.numeric[1:]:
        rows = np.flatnonzero([name in (one, name_and_unit(one)[0]) for one in quantity])
        if not rows.size:
            raise DataError(
                f"{table.source}: column '{variable}' never holds '{name}'."
                f"{suggestion(name, known)} It holds {quoted(known)}."
            )
        cells, counts = np.unique(place[rows], return_counts=True)
        if counts.max() > 1:
            again = rows[place[rows] == cells[np.argmax(counts)]][1]
            raise DataError(
                f"{table.at(int(again))}: '{name}' stands there a second time for the same time. "
                f"Keep one, or pass group=..., the column that tells runs apart."
            )
        if len(cells) < len(first) and not form.repair:
            lacking = int(first[np.setdiff1d(np.arange(len(first)), cells)[0]])
            raise DataError(
                f"{table.at(lacking)}: '{name}' has no value for this time, nor for "
                f"{len(first) - len(cells) - 1} others. Pass repair=True to keep the times that "
                f"have all values, or fill=True to fill them in."
            )
        column = np.full(len(first), "", dtype=object) if values.dtype.kind in "OUT" else (
            np.full(len(first), np.nan)
        )  # fmt: skip
        column[place[rows]] = values[rows]
        columns[name] = column
    told = Note("long", f"The table is long: {len(times)} rows make {len(first)} times.")
    return replace(
        table,
        columns=columns,
        row_of=_through(table.row_of, first),
        notes=(*table.notes, told),
        others=tuple(name for name in known if name and name_and_unit(name)[0] not in columns),
    )


def from_side_by_side(table: Table, choice: Choice) -> Table:
    """A table with columns such as theta_1, theta_2 for `theta_*` as runs one after the other."""
    labels: dict[str, dict[str, str]] = {}
    for pattern in choice.patterns:
        head, _, tail = pattern.partition("*")
        for column in table.columns:
            bare = name_and_unit(column)[0]
            for one in dict.fromkeys((column, bare)):
                if one.startswith(head) and one.endswith(tail) and len(one) >= len(head + tail):
                    label = one[len(head) : len(one) - len(tail)]
                    labels.setdefault(label, {}).setdefault(pattern, column)
                    break
    for label, found in labels.items():
        lacking = [pattern for pattern in choice.patterns if pattern not in found]
        if lacking:
            raise DataError(
                f"{table.source} has no column '{lacking[0].replace('*', label)}', though it has "
                f"{quoted(found.values())}; every run needs a column for each of "
                f"{quoted(choice.patterns)}."
            )
    n_rows = len(next(iter(table.columns.values())))
    columns = {
        name: np.concatenate([table.columns[found.get(name, name)] for found in labels.values()])
        for name in choice.numeric
    }
    columns[RUN] = np.repeat(np.array(list(labels)), n_rows)
    told = Note("side-by-side", f"{len(labels)} runs stand side by side: {quoted(labels)}.")
    return replace(
        table,
        columns=columns,
        row_of=_through(table.row_of, np.tile(np.arange(n_rows), len(labels))),
        notes=(*table.notes, told),
    )


def clean_pattern(name: str) -> str:
    """The name of a quantity without the place of its run: 'theta_*' is theta."""
    return name.replace("*", "").strip(" _-.") or name


def _through(row_of: Callable[[int], int], rows: np.ndarray) -> Callable[[int], int]:
    return lambda row: row_of(int(rows[row]))
