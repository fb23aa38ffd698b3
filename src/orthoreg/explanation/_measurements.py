"""What the search fits: rows of each equation, each in units of its own noise."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from jaxtyping import Bool, Float, Int

from ..data import Dataset, Extent, Rows, grouping, thinned
from ..losses import AbstractLoss, Weak, best_widths, is_noisy, moving
from ..smoothing import bump_windows, smooth

MOST_ROWS = 1200
_MOST_SAMPLES = 40_000
_SHORT = 25  # samples of a run, too few for windows
_NARROW = (5.0, 10.0)  # samples in half a window
_TURNED = 0.01  # of a window, in which a velocity has its other sign
_UNSURE = 0.03  # of a target's size, in windows in which that happens
_KEPT = 1.2  # over the window: the share of noise that smoothing leaves, and windows average
_FLOOR = 1e-4  # of a target's size: what integrators and files round away


@final
@dataclass(frozen=True, eq=False)
class Measurements:
    """Targets of some equations at rows, which are points or windows of many of them.

    `noise` (R x c) is the standard deviation that each target has at least. `count` is how many
    rows count as independent of each other; `group` are runs or stretches of these.
    """

    points: Float[np.ndarray, "M V"]
    windows: Any
    targets: Float[np.ndarray, "R c"]
    noise: Float[np.ndarray, "R c"]
    centres: Float[np.ndarray, "R V"]
    group: Int[np.ndarray, " R"]
    names: tuple[str, ...]
    outputs: tuple[str, ...]
    learned: tuple[int, ...]
    count: float
    extent: Extent

    def at_rows(self, values: Float[np.ndarray, "M k"]) -> Float[np.ndarray, "R k"]:
        """Functions at points as they count in the rows."""
        return values if self.windows is None else np.asarray(self.windows @ values)


def measurements(loss: AbstractLoss, data: Dataset, most: int = MOST_ROWS) -> Measurements:
    """The weak form of these runs: windows as noise asks, or narrow ones where there is none,
    which beat any derivative of the samples. Short runs, and derivatives that were measured, go
    by the rule of the loss."""
    data = _some(data)
    if data.derivatives is not None or int(np.median(data.run_lengths)) < _SHORT:
        return _joined([loss.observe(data)], data.n_samples, most)
    rule = loss.rule(data) if is_noisy(data) else None
    if isinstance(rule, Weak) and isinstance(rule.widths, tuple):
        widths = rule.widths
    elif is_noisy(data):
        widths = best_widths(data, Weak())
    else:
        step = float(np.median(data.step_of_run()))
        widths = tuple(step * samples for samples in _NARROW)
    # windows of different widths have different noise, and so are made apart
    parts = [Weak(widths=h).observe(data) for h in widths]
    noise = [np.tile(np.sqrt(rows.target_mse), (len(rows), 1)) for rows in parts]
    if is_noisy(data):
        noise = [row_noise(data, h, rows) for h, rows in zip(widths, parts, strict=True)]
    noise = [one + _at_turns(data, rows) for one, rows in zip(noise, parts, strict=True)]
    return _joined(parts, data.n_samples, most, noise)


def _at_turns(data: Dataset, rows: Rows) -> Float[np.ndarray, "R c"]:
    """What is unknown of targets in windows in which a velocity that was not measured changes its
    sign: dry friction jumps there, at a time that a smooth velocity hardly knows."""
    turns = np.zeros(len(rows), dtype=bool)
    for name in data.estimated:
        forward = np.asarray(rows.windows @ (data.states[:, data.state_names.index(name)] > 0))
        turns |= (forward > _TURNED) & (forward < 1 - _TURNED)
    size = np.sqrt(np.mean(rows.targets**2, axis=0))
    return _UNSURE * np.outer(turns, size)


def row_noise(data: Dataset, width: float, rows: Rows) -> Float[np.ndarray, "R c"]:
    """The standard deviation of each window's target, from that of its samples, which may grow
    with them: sigma^2 = a^2 + b^2 x^2. To it comes what the noise left in smoothed states makes of
    the other side, about as large a share of the target as of the states."""
    windows = moving(data, bump_windows(data.times, data.offsets, width, Weak().order))
    measured = [c for c, name in enumerate(data.state_names) if name not in data.estimated]
    found = smooth(data.times, data.states[:, measured], data.offsets)
    left = (data.states[:, measured] - found.values) ** 2
    variance, share = np.zeros_like(data.states), 0.0
    for i, c in enumerate(measured):
        variance[:, c] = _variances(found.values[:, i], left[:, i], float(found.noise[i]))
        kept = _KEPT / max(float(found.window[i]), 1.0)
        size = max(float(np.mean(data.states[:, c] ** 2)), 1e-300)
        share += kept * float(np.mean(variance[:, c])) / size
    result = np.asarray(windows.slope.multiply(windows.slope) @ variance)
    place = {name: c for c, name in enumerate(data.state_names)}
    bent = windows.curvature.multiply(windows.curvature)
    for position, velocity in data.velocity_of.items():
        if velocity in data.estimated:
            result[:, place[velocity]] = bent @ variance[:, place[position]]
    return np.sqrt(result + share * rows.targets**2)


def _variances(
    x: Float[np.ndarray, " N"], left: Float[np.ndarray, " N"], noise: float
) -> Float[np.ndarray, " N"]:
    """a^2 + b^2 x^2 that fits squared residuals best, both no less than zero, with the mean that
    the noise has."""
    square = x**2
    away = square - square.mean()
    slope = max(float(away @ left) / max(float(away @ away), 1e-300), 0.0)
    slope = min(slope, left.mean() / max(float(square.mean()), 1e-300))
    shape = np.maximum(left.mean() - slope * square.mean(), 0.0) + slope * square
    mean = float(shape.mean())
    return shape * (noise**2 / mean) if mean > 0 else np.full_like(x, noise**2)


def _some(data: Dataset) -> Dataset:
    """Whole runs, evenly chosen, of about so many samples as are needed."""
    if data.n_samples <= _MOST_SAMPLES or data.n_runs == 1:
        return data
    count = max(int(_MOST_SAMPLES / data.n_samples * data.n_runs), 2)
    return data[np.unique(np.linspace(0, data.n_runs - 1, count).astype(int))]


def rows_as_measurements(rows: Rows, most: int = MOST_ROWS) -> Measurements:
    """Rows as they are."""
    return _joined([rows], len(rows), most)


def _joined(
    parts: list[Rows], samples: int, most: int, noises: list[np.ndarray] | None = None
) -> Measurements:
    total = sum(map(len, parts))
    marked = [_thinned(rows, max(most * len(rows) // total, 1)) for rows in parts]
    kept = [rows.only(mask) for rows, mask in zip(parts, marked, strict=True)]
    first = parts[0]
    size = np.sqrt(np.mean(first.targets**2, axis=0))
    noises = noises or [np.tile(np.sqrt(rows.target_mse), (len(rows), 1)) for rows in parts]
    known = np.concatenate([one[mask] for one, mask in zip(noises, marked, strict=True)])
    noise = np.sqrt(known**2 + (_FLOOR * size) ** 2)
    windows, points = None, np.concatenate([rows.points for rows in kept])
    if first.windows is not None:
        import scipy.sparse as sparse

        stacked = sparse.vstack([rows.windows for rows in kept]).tocsr()
        used = np.unique(stacked.indices)
        windows, points = stacked[:, used], first.points[used]
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
    )


def _thinned(rows: Rows, most: int) -> Bool[np.ndarray, " N"]:
    marked = np.zeros(len(rows), dtype=bool)
    marked[thinned(rows, most)] = True
    return marked
