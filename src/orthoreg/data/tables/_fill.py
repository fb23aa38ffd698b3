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
