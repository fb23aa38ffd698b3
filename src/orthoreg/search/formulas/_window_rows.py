"""Rows of the weak form, which are windows of many points, or rows as they are."""

from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float

from ...data import Dataset, Rows, grouping, thinned
from ...losses import AbstractLoss, Automatic, Weak, moving
from ...smoothing import bump_windows
from ._measurements import MOST_ROWS, Measurements

_NARROW = (5.0, 10.0)  # samples in half a window
_TURNED = 0.01  # of a window, in which a velocity has its other sign
_UNSURE = 0.03  # of a target's size, in windows in which that happens
_KEPT = 1.2  # over the window: the share of noise that smoothing leaves, and windows average
FLOOR = 1e-4
"""Of a target's size: what integrators and files round away."""


def window_rows(
    loss: AbstractLoss,
    data: Dataset,
    most: int,
    states: Float[np.ndarray, "N n"] | None,
) -> Measurements:
    """The weak form: windows as noise asks, or narrow ones where there is none, which beat any
    derivative of the samples."""
    noisy = data.plan.is_noisy
    rule = loss.rule(data) if noisy else None
    if isinstance(rule, Weak) and isinstance(rule.widths, tuple):
        widths = rule.widths
    elif noisy:
        widths = data.plan.half_widths(Weak().order)
    else:
        step = float(np.median(data.step_of_run()))
        widths = tuple(step * samples for samples in _NARROW)
    # windows of different widths have different noise, and so are made apart
    parts = [Weak(widths=h).observe(data) for h in widths]
    if states is not None:
        points = states if data.inputs is None else np.hstack([states, data.inputs])
        parts = [replace(rows, points=points) for rows in parts]
    noise = [np.tile(np.sqrt(rows.target_mse), (len(rows), 1)) for rows in parts]
    if noisy:
        noise = [row_noise(data, h, rows) for h, rows in zip(widths, parts, strict=True)]
    turns = [_at_turns(data, rows) for rows in parts]
    noise = [
        one + _UNSURE * np.outer(turn, np.sqrt(np.mean(rows.targets**2, axis=0)))
        for one, turn, rows in zip(noise, turns, parts, strict=True)
    ]
    sides = sides_of(parts[0].points, data) if len(parts[0].points) == data.n_samples else None
    found = _joined(parts, data.n_samples, most, noise, Automatic().slopes(data), turns, sides)
    speeds = [data.state_names.index(name) for name in data.estimated]
    return replace(found, speeds=frozenset(speeds))


def sides_of(points: Float[np.ndarray, "N V"], data: Dataset) -> Float[np.ndarray, "N V"]:
    """By how much the step around each point is on its side of zero, if variables go straight from
    point to point. Velocities that were not measured are left as they are."""
    step = np.diff(points, axis=0)
    crosses = (points[:-1] * points[1:] < 0) & (np.diff(data.run_of_row) == 0)[:, None]
    crosses[:, [data.state_names.index(name) for name in data.estimated]] = False
    safe = np.where(crosses, np.abs(step), 1.0)
    sides = np.ones_like(points)
    for near, own in ((points[:-1], sides[:-1]), (points[1:], sides[1:])):
        own -= np.where(crosses, np.maximum(1 - 2 * np.abs(near) / safe, 0.0), 0.0)
    return sides


def _at_turns(data: Dataset, rows: Rows) -> Bool[np.ndarray, " R"]:
    """The windows in which a velocity that was not measured changes its sign: dry friction jumps
    there, at a time that a smooth velocity hardly knows."""
    turns = np.zeros(len(rows), dtype=bool)
    for name in data.estimated:
        forward = np.asarray(rows.windows @ (data.states[:, data.state_names.index(name)] > 0))
        turns |= (forward > _TURNED) & (forward < 1 - _TURNED)
    return turns


def row_noise(data: Dataset, width: float, rows: Rows) -> Float[np.ndarray, "R c"]:
    """The standard deviation of each window's target, from that of its samples, which may grow
    with them. To it comes what the noise left in smoothed states makes of
    the other side, about as large a share of the target as of the states."""
    windows = moving(data, bump_windows(data.times, data.offsets, width, Weak().order))
    variance = data.plan.variance
    size = np.maximum(np.mean(data.states**2, axis=0), 1e-300)
    share = float((_KEPT / data.plan.smoother.window * variance.mean(axis=0) / size).sum())
    result = np.asarray(windows.slope.multiply(windows.slope) @ variance)
    place = {name: c for c, name in enumerate(data.state_names)}
    bent = windows.curvature.multiply(windows.curvature)
    for position, velocity in data.velocity_of.items():
        if velocity in data.estimated:
            result[:, place[velocity]] = bent @ variance[:, place[position]]
    return np.sqrt(result + share * rows.targets**2)


def rows_as_measurements(
    rows: Rows, most: int = MOST_ROWS, samples: int | None = None
) -> Measurements:
    """Rows as they are, of so many samples."""
    return _joined([rows], samples or len(rows), most)


def _joined(
    parts: list[Rows],
    samples: int,
    most: int,
    noises: list[np.ndarray] | None = None,
    slopes: Float[np.ndarray, "N c"] | None = None,
    turns: list[np.ndarray] | None = None,
    sides: Float[np.ndarray, "N V"] | None = None,
) -> Measurements:
    total = sum(map(len, parts))
    marked = [_thinned(rows, max(most * len(rows) // total, 1)) for rows in parts]
    kept = [rows.only(mask) for rows, mask in zip(parts, marked, strict=True)]
    first = parts[0]
    size = np.sqrt(np.mean(first.targets**2, axis=0))
    noises = noises or [np.tile(np.sqrt(rows.target_mse), (len(rows), 1)) for rows in parts]
    known = np.concatenate([one[mask] for one, mask in zip(noises, marked, strict=True)])
    noise = np.sqrt(known**2 + (FLOOR * size) ** 2)
    windows, points = None, np.concatenate([rows.points for rows in kept])
    if first.windows is not None:
        import scipy.sparse as sparse

        stacked = sparse.vstack([rows.windows for rows in kept]).tocsr()
        used = np.unique(stacked.indices)
        windows, points = stacked[:, used], first.points[used]
        slopes = None if slopes is None else slopes[used]
        sides = None if sides is None else sides[used]
    rows_kept = sum(map(len, kept))
    return Measurements(
        points,
        windows,
        np.concatenate([rows.targets for rows in kept]),
        np.where(noise > 0, noise, 1.0),
        np.concatenate([rows.variables for rows in kept]),
        np.concatenate([grouping(rows).group for rows in kept]),
        first.names,
        first.outputs,
        tuple(c for c in range(first.targets.shape[1]) if c not in first.given),
        float(min(rows_kept, samples)),
        first.extent,
        np.concatenate([rows.targets for rows in kept]) if windows is None else slopes,
        first.time_index,
        None if turns is None
        else np.concatenate([one[mask] for one, mask in zip(turns, marked, strict=True)]),
        given=dict(first.given),
        sides=None if windows is None else sides,
    )  # fmt: skip


def _thinned(rows: Rows, most: int) -> Bool[np.ndarray, " N"]:
    marked = np.zeros(len(rows), dtype=bool)
    marked[thinned(rows, most)] = True
    return marked
