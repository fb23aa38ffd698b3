"""What the search fits: rows of each equation, each in units of its own noise."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from jaxtyping import Float, Int

from ..data import Dataset, Extent, Rows, grouping, thinned
from ..losses import AbstractLoss, Weak, best_widths, is_noisy

MOST_ROWS = 1200
_MOST_SAMPLES = 40_000
_SHORT = 25  # samples of a run, too few for windows
_NARROW = (5.0, 10.0)  # samples in half a window
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
    return _joined(parts, data.n_samples, most)


def _some(data: Dataset) -> Dataset:
    """Whole runs, evenly chosen, of about so many samples as are needed."""
    if data.n_samples <= _MOST_SAMPLES or data.n_runs == 1:
        return data
    count = max(int(_MOST_SAMPLES / data.n_samples * data.n_runs), 2)
    return data[np.unique(np.linspace(0, data.n_runs - 1, count).astype(int))]


def rows_as_measurements(rows: Rows, most: int = MOST_ROWS) -> Measurements:
    """Rows as they are."""
    return _joined([rows], len(rows), most)


def _joined(parts: list[Rows], samples: int, most: int) -> Measurements:
    total = sum(map(len, parts))
    kept = [_thinned(rows, max(most * len(rows) // total, 1)) for rows in parts]
    first = parts[0]
    size = np.sqrt(np.mean(first.targets**2, axis=0))
    noise = np.concatenate([
        np.tile(np.sqrt(rows.target_mse + (_FLOOR * size) ** 2), (len(rows), 1)) for rows in kept
    ])  # fmt: skip
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


def _thinned(rows: Rows, most: int) -> Rows:
    marked = np.zeros(len(rows), dtype=bool)
    marked[thinned(rows, most)] = True
    return rows.only(marked)
