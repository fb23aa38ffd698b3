"""Repairs of runs, made only on request and noted with their counts.

Order: rows with missing values are left out; runs are cut where times restart, or else sorted; rows
with the same time are averaged; runs are cut at gaps. On a further request, missing values are
filled in along a smooth curve. This is meant for sensors that write at different times, which
otherwise share few rows.
"""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import final

import numpy as np
from jaxtyping import Float, Int

from ..._common.errors import DataError, DataWarning
from ...smoothing import MIN_VELOCITY_ROWS
from .._checks import is_gap, restarts
from .._limits import BRIDGED_STEPS, MIN_BRIDGED_SHARE, MIN_CUBIC_VALUES
from .._schema import Note


@final
@dataclass(frozen=True, eq=False)
class Runs:
    """Rows of all runs, one run after the other; `rows` are their numbers in the table."""

    times: Float[np.ndarray, " N"]
    values: Float[np.ndarray, "N k"]
    rows: Int[np.ndarray, " N"]
    lengths: Int[np.ndarray, " R"]
    labels: tuple[str, ...]

    def stretches(self) -> Iterator[tuple[str, "slice[int, int, None]"]]:
        """Yield label and rows of each run."""
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
    """Return the runs after all repairs, with notes on them."""
    runs, notes = _complete_rows(runs, time_name, names, source)
    pieces: list[tuple[str, np.ndarray]] = []
    counts: dict[str, int] = {
        "restarts": 0, "sorted": 0, "gaps": 0, "short": 0, "short_rows": 0,
    }  # fmt: skip
    for label, part in runs.stretches():
        order, cuts, n_moved = ordered(runs.times[part])
        counts["sorted"] += n_moved
        counts["restarts"] += len(cuts)
        stretches = [piece for piece in np.split(order, cuts) if len(piece)]
        if not grouped and len(cuts) == 0:
            _refuse_many_runs(runs.times[part][order], time_name, source)
        parts = []
        for piece in stretches:
            times = np.unique(runs.times[part][piece])
            gap_times = times[np.flatnonzero(is_gap(times, gap))]
            gap_parts = np.split(
                piece, np.searchsorted(runs.times[part][piece], gap_times, side="right")
            )
            counts["gaps"] += len(gap_parts) - 1
            parts += gap_parts
        kept = [piece for piece in parts if len(parts) == 1 or len(piece) >= MIN_VELOCITY_ROWS]
        counts["short"] += len(parts) - len(kept)
        counts["short_rows"] += sum(map(len, parts)) - sum(map(len, kept))
        several = len(kept) > 1
        pieces += [
            (f"{label}.{number}" if several else label, part.start + piece)
            for number, piece in enumerate(kept, 1)
        ]
    repaired, doubled = _averaged(runs, pieces)
    return repaired, notes + _repair_notes(counts, doubled, gap)


def warn_of_gaps(runs: Runs, multiple: float | int, time_name: str, source: str) -> None:
    """Warn of gaps in time, which are kept."""
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
    """Return the runs without rows in which a value is missing or not finite."""
    good = np.isfinite(np.column_stack([runs.times, runs.values]))
    keep = np.asarray(good.all(axis=1))
    if keep.all():
        return runs, ()
    if not keep.any():
        column = (time_name, *names)[int(np.argmax((~good).sum(axis=0)))]
        raise DataError(
            f"{source}: no row has a value in all columns; '{column}' lacks most. Omit it, or "
            f"pass fill=True."
        )
    counts = zip((time_name, *names), (~good).sum(axis=0).tolist(), strict=True)
    counts_text = ", ".join(f"{count} of '{name}'" for name, count in counts if count)
    lost = int((~keep).sum())
    run = np.repeat(np.arange(len(runs.lengths)), runs.lengths)[keep]
    lengths = np.bincount(run, minlength=len(runs.lengths))
    note = Note(
        "missing",
        f"{_rows(lost)} of {len(keep)} left out because values are missing: {counts_text}.",
        lost,
        True,
    )
    return Runs(
        runs.times[keep],
        runs.values[keep],
        runs.rows[keep],
        lengths[lengths > 0],
        tuple(label for label, length in zip(runs.labels, lengths, strict=True) if length),
    ), (note,)


def ordered(
    times: Float[np.ndarray, " T"],
) -> tuple[Int[np.ndarray, " T"], Int[np.ndarray, " cuts"], int]:
    """Return the order of rows in time, the cuts where times restart, and how many rows moved."""
    order = np.arange(len(times))
    back = 1 + np.flatnonzero(np.diff(times) < 0)
    if not back.size:
        return order, back, 0
    if restarts(times, back).all():
        return order, back, 0
    order = np.argsort(times, kind="stable")
    return order, back[:0], int((order != np.arange(len(times))).sum())


def _refuse_many_runs(times: Float[np.ndarray, " T"], time_name: str, source: str) -> None:
    """Raise an error if most times occur repeatedly: these are several runs, not repeats."""
    _, counts = np.unique(times, return_counts=True)
    if len(counts) > 1 and np.mean(counts > 1) > 0.5:
        raise DataError(
            f"{source}: most values of '{time_name}' occur more than once, as in a table of "
            f"several runs, which must not be averaged: pass group=..., which identifies the run."
        )


def _averaged(runs: Runs, pieces: list[tuple[str, np.ndarray]]) -> tuple[Runs, int]:
    """Return the pieces as runs, with rows of the same time averaged."""
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


def _repair_notes(counts: dict[str, int], doubled: int, gap: float | int) -> tuple[Note, ...]:
    texts = {
        "restarts": f"Runs cut at {_places(counts['restarts'])} where times start again.",
        "sorted": f"{_rows(counts['sorted'])} moved to sort times.",
        "doubled": f"{_rows(doubled)} averaged with others of the same time.",
        "gaps": f"Runs cut at {counts['gaps']} gap{'s' * (counts['gaps'] != 1)} longer than "
        f"{gap:g} time steps.",
        "short": f"{counts['short']} piece{'s' * (counts['short'] != 1)} of fewer than "
        f"{MIN_VELOCITY_ROWS} "
        f"rows left out ({_rows(counts['short_rows'])}).",
    }
    sizes = counts | {"doubled": doubled}
    return tuple(Note(code, text, sizes[code], True) for code, text in texts.items() if sizes[code])


def _rows(count: int) -> str:
    return f"{count} row{'s' * (count != 1)}"


def _places(count: int) -> str:
    return f"{count} place{'s' * (count != 1)}"


def fill(runs: Runs, names: Sequence[str], gap: float | int) -> tuple[Runs, tuple[Note, ...]]:
    """Return the runs with missing values between two measured ones filled in.

    These must be at most `gap` times the median step of their column apart.
    """
    values = runs.values.copy()
    for _, part in runs.stretches():
        rows = part.start + np.flatnonzero(np.isfinite(runs.times[part]))
        order, cuts, _ = ordered(runs.times[rows])
        for piece in np.split(rows[order], cuts):
            for column in values.T:
                column[piece] = _filled(runs.times[piece], column[piece], gap)
    counts = np.sum(np.isfinite(values) & ~np.isfinite(runs.values), axis=0).tolist()
    if not any(counts):
        return runs, ()
    counts_text = ", ".join(
        f"{count} of '{name}'" for name, count in zip(names, counts, strict=True) if count
    )
    note = Note(
        "filled", f"Values filled in along a smooth curve: {counts_text}.", sum(counts), True
    )
    return replace(runs, values=values), (note,)


def bridge(
    runs: Runs, names: Sequence[str], states: Sequence[int]
) -> tuple[Runs, tuple[Note, ...]]:
    """Return the runs with short gaps (up to three values) filled in rows with a measured state.

    If a column lacks many values, nothing is filled in: its sensor writes at its own times.
    """
    has_state = np.asarray(np.isfinite(runs.values[:, list(states)]).any(axis=1))
    share = np.isfinite(runs.values[has_state]).sum(axis=0) / max(int(has_state.sum()), 1)
    if (share == 1).all() or not (share >= MIN_BRIDGED_SHARE).all():
        return runs, ()
    filled, notes = fill(runs, names, BRIDGED_STEPS)
    values = np.where(has_state[:, None], filled.values, runs.values)
    counts = np.sum(np.isfinite(values) & ~np.isfinite(runs.values), axis=0).tolist()
    if not notes or not any(counts):
        return runs, ()
    counts_text = ", ".join(
        f"{count} of '{name}'" for name, count in zip(names, counts, strict=True) if count
    )
    note = Note(
        "bridged",
        f"Single missing values were interpolated and do not count as measured: {counts_text}.",
        sum(counts),
        True,
    )
    return replace(runs, values=values), (note,)


def _filled(
    times: Float[np.ndarray, " T"], values: Float[np.ndarray, " T"], gap: float | int
) -> Float[np.ndarray, " T"]:
    """Return a column of a run, in order of time, with missing values interpolated."""
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
            curve = (
                CubicSpline(x, y) if len(x) >= MIN_CUBIC_VALUES else partial(np.interp, xp=x, fp=y)
            )
            result[wanted] = curve(times[wanted])
    return result
