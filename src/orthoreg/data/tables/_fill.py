"""Values that are missing between measured ones, filled in along a smooth curve on request.

For sensors that write at times of their own: without it, only rows in which all of them wrote stay.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from jaxtyping import Float

from .._notes import Note
from ._repair import Runs, ordered

_CUBIC = 4  # values from which a cubic spline is drawn
_MOSTLY = 0.8  # of the rows of a column whose single missing values are bridged
_NEAR = 3.5  # steps of a column, over which single missing values are bridged


def fill(runs: Runs, names: Sequence[str], gap: float | int) -> tuple[Runs, tuple[Note, ...]]:
    """The runs with values in the place of those that are missing between two measured ones that
    are no further apart than `gap` times the median step of their column."""
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
    words = ", ".join(
        f"{count} of '{name}'" for name, count in zip(names, counts, strict=True) if count
    )
    told = Note("filled", f"Values filled in along a smooth curve: {words}.", sum(counts), True)
    return replace(runs, values=values), (told,)


def bridge(
    runs: Runs, names: Sequence[str], states: Sequence[int]
) -> tuple[Runs, tuple[Note, ...]]:
    """The runs with values in the place of those that are missing in rows where some state was
    measured, between measured ones close by: up to three in a row. Others stay missing, and all
    where a column lacks many: its sensor writes at times of its own."""
    some = np.asarray(np.isfinite(runs.values[:, list(states)]).any(axis=1))
    share = np.isfinite(runs.values[some]).sum(axis=0) / max(int(some.sum()), 1)
    if (share == 1).all() or not (share >= _MOSTLY).all():
        return runs, ()
    found, told = fill(runs, names, _NEAR)
    values = np.where(some[:, None], found.values, runs.values)
    counts = np.sum(np.isfinite(values) & ~np.isfinite(runs.values), axis=0).tolist()
    if not told or not any(counts):
        return runs, ()
    words = ", ".join(
        f"{count} of '{name}'" for name, count in zip(names, counts, strict=True) if count
    )
    note = Note(
        "bridged",
        f"Single values that are missing were bridged and do not count as measured: {words}.",
        sum(counts),
        True,
    )
    return replace(runs, values=values), (note,)


def _filled(
    times: Float[np.ndarray, " T"], values: Float[np.ndarray, " T"], gap: float | int
) -> Float[np.ndarray, " T"]:
    """One column of one run, in order of time."""
    from scipy.interpolate import CubicSpline

    known = np.isfinite(values)
    knots, first = np.unique(times[known], return_index=True)
    if known.all() or len(knots) < 2:
        return values
    steps = np.diff(knots)
    cuts = 1 + np.flatnonzero(steps > gap * np.median(steps))  # a curve ends where a gap begins
    result = values.copy()
    for places in np.split(np.arange(len(knots)), cuts):
        x, y = knots[places], values[known][first][places]
        wanted = ~known & (times >= x[0]) & (times <= x[-1])
        if wanted.any():
            curve = CubicSpline(x, y) if len(x) >= _CUBIC else partial(np.interp, xp=x, fp=y)
            result[wanted] = curve(times[wanted])
    return result
