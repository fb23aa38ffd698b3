"""Repair runs on request, and note the number of changes.

The steps are, in this order: leave out rows with missing values; cut runs where times restart, or
else sort them; average rows with equal times; cut runs at gaps. `fill` also interpolates missing
values, for sensors with different sampling times, which otherwise share few rows.
"""

import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import final

import numpy as np
from jaxtyping import Float, Int

from ..._common.errors import DataError, DataWarning
from ...smoothing import MIN_VELOCITY_ROWS
from .. import _limits as limits
from .._checks import is_gap, restarts
from .._schema import Note


@final
@dataclass(frozen=True, eq=False)
class Runs:
    """Rows of all runs, one run after the other. `rows` are their row numbers in the table."""

    times: Float[np.ndarray, " N"]
    values: Float[np.ndarray, "N k"]
    rows: Int[np.ndarray, " N"]
    lengths: Int[np.ndarray, " R"]
    labels: tuple[str, ...]

    def stretches(self) -> Iterator[tuple[str, "slice[int, int, None]"]]:
        """Yield the label and the slice of rows of each run."""
        stops = np.cumsum(self.lengths)
        for label, length, stop in zip(self.labels, self.lengths, stops, strict=True):
            yield label, slice(int(stop - length), int(stop))


def repair_runs(
    runs: Runs,
    time_name: str,
    names: Sequence[str],
    gap: float | int,
    *,
    grouped: bool,
    source: str,
) -> tuple[Runs, tuple[Note, ...]]:
    """Return the runs after all repairs, and notes on the repairs."""
    runs, notes = _complete_rows(runs, time_name, names, source)
    pieces: list[tuple[str, np.ndarray]] = []
    counts: Counter[str] = Counter()
    for label, rows in runs.stretches():
        times = runs.times[rows]
        order, cuts, n_moved = ordered(times)
        if not grouped and len(cuts) == 0:
            _check_one_run(times[order], time_name, source)
        stretches = [stretch for stretch in np.split(order, cuts) if len(stretch)]
        parts = [part for stretch in stretches for part in _split_at_gaps(times, stretch, gap)]
        long = [part for part in parts if len(parts) == 1 or len(part) >= MIN_VELOCITY_ROWS]
        counts["sorted"] += n_moved
        counts["restarts"] += len(cuts)
        counts["gaps"] += len(parts) - len(stretches)
        counts["short"] += len(parts) - len(long)
        counts["short_rows"] += sum(map(len, parts)) - sum(map(len, long))
        pieces += [
            (f"{label}.{number}" if len(long) > 1 else label, rows.start + part)
            for number, part in enumerate(long, 1)
        ]
    if not pieces:
        raise DataError(
            f"{source}: after cuts where '{time_name}' starts again or has a gap, every piece has "
            f"fewer than {MIN_VELOCITY_ROWS} rows. Check the times, or pass a larger gap=..."
        )
    repaired, counts["doubled"] = _averaged(runs, pieces)
    return repaired, notes + _repair_notes(counts, gap)


def _split_at_gaps(
    times: Float[np.ndarray, " T"], rows: Int[np.ndarray, " r"], gap: float | int
) -> list[Int[np.ndarray, " _"]]:
    """Return `rows`, which are ordered by time, split at gaps."""
    distinct = np.unique(times[rows])
    gap_times = distinct[np.flatnonzero(is_gap(distinct, gap))]
    return np.split(rows, np.searchsorted(times[rows], gap_times, side="right"))


def cut_at_missing_rows(runs: Runs) -> tuple[Runs, tuple[Note, ...]]:
    """Return the runs of a map, cut where steps are two or more rows long, and a note."""
    stretches = list(runs.stretches())
    steps = np.concatenate([np.diff(runs.times[rows]) for _, rows in stretches])
    if not len(steps):
        return runs, ()
    typical = float(np.median(steps))
    labels: list[str] = []
    lengths: list[int] = []
    for label, rows in stretches:
        multiple = np.diff(runs.times[rows]) / typical
        whole = np.rint(multiple)
        is_gap = (whole >= 2) & (np.abs(multiple - whole) <= limits.EQUAL_MAP_STEPS * whole)
        edges = [0, *(np.flatnonzero(is_gap) + 1).tolist(), rows.stop - rows.start]
        lengths += np.diff(edges).tolist()
        n_parts = len(edges) - 1
        labels += [f"{label}.{i + 1}" if n_parts > 1 else label for i in range(n_parts)]
    count = len(lengths) - len(runs.lengths)
    if not count:
        return runs, ()
    text = f"Runs cut at {_count(count, 'place')} where rows are missing."
    cut = replace(runs, lengths=np.array(lengths), labels=tuple(labels))
    return cut, (Note("missing-rows", text, count, True),)


def warn_of_gaps(runs: Runs, multiple: float | int, time_name: str, source: str) -> None:
    """Warn about gaps in time. They remain in the data."""
    count, first_time = 0, 0.0
    for _, part in runs.stretches():
        gap_rows = np.flatnonzero(is_gap(runs.times[part], multiple))
        if gap_rows.size and not count:
            first_time = float(runs.times[part][gap_rows[0]])
        count += len(gap_rows)
    if count:
        suffix = f", the first of {count}" if count > 1 else ""
        warnings.warn(
            f"{source}: after {time_name} = {first_time:.6g} the next row comes more than "
            f"{multiple:g} time steps later{suffix}. Pass repair=True to cut runs at such gaps.",
            DataWarning,
            stacklevel=4,
        )


def _complete_rows(
    runs: Runs, time_name: str, names: Sequence[str], source: str
) -> tuple[Runs, tuple[Note, ...]]:
    """Return the runs without rows in which a value is missing or not finite, and notes."""
    is_missing = ~np.isfinite(np.column_stack([runs.times, runs.values]))
    is_complete = np.logical_not(is_missing.any(axis=1))
    if is_complete.all():
        return runs, ()
    if not is_complete.any():
        column = (time_name, *names)[int(np.argmax(is_missing.sum(axis=0)))]
        raise DataError(
            f"{source}: no row has values in all columns; '{column}' lacks most values. Omit it, "
            "or pass fill=True."
        )
    counts_text = _counts_by_column(is_missing.sum(axis=0).tolist(), (time_name, *names))
    n_removed = int((~is_complete).sum())
    run = np.repeat(np.arange(len(runs.lengths)), runs.lengths)[is_complete]
    lengths = np.bincount(run, minlength=len(runs.lengths))
    subject = f"{_count(n_removed, 'row')} of {len(is_complete)}"
    text = f"{subject} left out because values are missing: {counts_text}."
    note = Note("missing", text, n_removed, True)
    return Runs(
        runs.times[is_complete],
        runs.values[is_complete],
        runs.rows[is_complete],
        lengths[lengths > 0],
        tuple(label for label, length in zip(runs.labels, lengths, strict=True) if length),
    ), (note,)


def ordered(
    times: Float[np.ndarray, " T"],
) -> tuple[Int[np.ndarray, " T"], Int[np.ndarray, " cuts"], int]:
    """Return the order of rows in time, the cuts where times restart, and the number of moved
    rows.
    """
    order = np.arange(len(times))
    back = 1 + np.flatnonzero(np.diff(times) < 0)
    if not back.size or restarts(times, back).all():
        return order, back, 0
    order = np.argsort(times, kind="stable")
    return order, back[:0], int((order != np.arange(len(times))).sum())


def _check_one_run(times: Float[np.ndarray, " T"], time_name: str, source: str) -> None:
    """Raise an error if most times occur repeatedly, as in a table of several runs."""
    _, counts = np.unique(times, return_counts=True)
    if len(counts) > 1 and np.mean(counts > 1) > 0.5:
        raise DataError(
            f"{source}: most values of '{time_name}' occur more than once, as in a table of "
            "several runs, which must not be averaged: pass group=..., the column that identifies "
            "the run."
        )


def _averaged(runs: Runs, pieces: list[tuple[str, np.ndarray]]) -> tuple[Runs, int]:
    """Return the pieces as runs in which rows with equal times are averaged, and the number of
    averaged rows.
    """
    rows = np.concatenate([piece for _, piece in pieces])
    lengths = np.array([len(piece) for _, piece in pieces])
    run = np.repeat(np.arange(len(pieces)), lengths)
    times, values = runs.times[rows], runs.values[rows]
    is_new = (np.diff(times, prepend=-np.inf) != 0) | (np.diff(run, prepend=-1) != 0)
    index = np.cumsum(is_new) - 1
    count = np.bincount(index)
    if (count > 1).any():
        values = np.add.reduceat(values, np.flatnonzero(is_new), axis=0) / count[:, None]
    repaired = Runs(
        times[is_new],
        values,
        runs.rows[rows][is_new],
        np.bincount(run[is_new], minlength=len(pieces)),
        tuple(label for label, _ in pieces),
    )
    return repaired, int((~is_new).sum())


def _repair_notes(counts: Counter[str], gap: float | int) -> tuple[Note, ...]:
    rows = {code: _count(counts[code], "row") for code in ("sorted", "doubled", "short_rows")}
    texts = {
        "restarts": f"Runs cut at {_count(counts['restarts'], 'place')} where times start again.",
        "sorted": f"{rows['sorted']} moved to sort times.",
        "doubled": f"{rows['doubled']} averaged with other rows of the same time.",
        "gaps": f"Runs cut at {_count(counts['gaps'], 'gap')} longer than {gap:g} time steps.",
        "short": f"{_count(counts['short'], 'piece')} of fewer than {MIN_VELOCITY_ROWS} rows left "
        f"out ({rows['short_rows']}).",
    }
    return tuple(
        Note(code, text, counts[code], True) for code, text in texts.items() if counts[code]
    )


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"


def fill(runs: Runs, names: Sequence[str], gap: float | int) -> tuple[Runs, tuple[Note, ...]]:
    """Return the runs with missing values interpolated between measured values, and notes.

    Gaps in a column may be at most `gap` times its median step.
    """
    text = "Values filled in along a smooth curve"
    return _with_values(runs, _interpolated(runs, gap), names, "filled", text)


def bridge(
    runs: Runs, names: Sequence[str], states: Sequence[int]
) -> tuple[Runs, tuple[Note, ...]]:
    """Return the runs with short gaps (up to three values) filled, in rows with a measured
    state.

    A column that lacks many values is left as it is, because its sensor has its own sampling times.
    """
    has_state = np.asarray(np.isfinite(runs.values[:, list(states)]).any(axis=1))
    share = np.isfinite(runs.values[has_state]).sum(axis=0) / max(int(has_state.sum()), 1)
    if (share == 1).all() or not (share >= limits.MIN_BRIDGED_SHARE).all():
        return runs, ()
    filled = _interpolated(runs, limits.BRIDGED_STEPS)
    values = np.where(has_state[:, None], filled, runs.values)
    text = "Single missing values were interpolated and do not count as measured"
    return _with_values(runs, values, names, "bridged", text)


def _with_values(
    runs: Runs, values: Float[np.ndarray, "N k"], names: Sequence[str], code: str, text: str
) -> tuple[Runs, tuple[Note, ...]]:
    """Return the runs with these values, and a note on the number of new values per column."""
    counts = np.sum(np.isfinite(values) & ~np.isfinite(runs.values), axis=0).tolist()
    if not any(counts):
        return runs, ()
    note = Note(code, f"{text}: {_counts_by_column(counts, names)}.", sum(counts), True)
    return replace(runs, values=values), (note,)


def _counts_by_column(counts: Sequence[int], names: Sequence[str]) -> str:
    pairs = zip(counts, names, strict=True)
    return ", ".join(f"{count} of '{name}'" for count, name in pairs if count)


def _interpolated(runs: Runs, gap: float | int) -> Float[np.ndarray, "N k"]:
    """Return the values with short gaps interpolated in the columns of each run."""
    values = runs.values.copy()
    for _, part in runs.stretches():
        rows = part.start + np.flatnonzero(np.isfinite(runs.times[part]))
        order, cuts, _ = ordered(runs.times[rows])
        for piece in np.split(rows[order], cuts):
            for column in values.T:
                column[piece] = _filled(runs.times[piece], column[piece], gap)
    return values


def _filled(
    times: Float[np.ndarray, " T"], values: Float[np.ndarray, " T"], gap: float | int
) -> Float[np.ndarray, " T"]:
    """Return a column of a run, ordered by time, with missing values interpolated."""
    from scipy.interpolate import CubicSpline

    known = np.isfinite(values)
    knots, first = np.unique(times[known], return_index=True)
    if known.all() or len(knots) < 2:
        return values
    steps = np.diff(knots)
    cuts = 1 + np.flatnonzero(steps > gap * np.median(steps))  # curves end at gaps
    result = values.copy()
    for indices in np.split(np.arange(len(knots)), cuts):
        x, y = knots[indices], values[known][first][indices]
        wanted = ~known & (times >= x[0]) & (times <= x[-1])
        if wanted.any():
            is_cubic = len(x) >= limits.MIN_CUBIC_VALUES
            curve = CubicSpline(x, y) if is_cubic else partial(np.interp, xp=x, fp=y)
            result[wanted] = curve(times[wanted])
    return result
