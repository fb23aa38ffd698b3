"""Data of phase portraits of a fitted model."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from orthoreg import Dataset
from orthoreg.model.model import AbstractModel
from orthoreg.simulation import NumpyField, integrate
from orthoreg.systems import AbstractSystem, Split, generate

_DIGITS = 5
_MARGIN = 0.15
_DRAWN = 20


def portrait_record(
    model: AbstractModel,
    system: AbstractSystem,
    *,
    name: str,
    method: str,
    splits: Sequence[Split | str] = (Split.id, Split.t2),
    runs: int = 2,
    within: float = 8.0,
    points: int = 120,
    grid: int = 33,
    basins: bool = False,
    seed: int = 0,
) -> dict[str, Any]:
    """Return rollouts beside true runs, and the sizes of the two parts of the field, for two
    states.

    `true` and `rollouts` contain the first `runs` trajectories of each split whose true states stay
    `within` this size, so that a diverging run does not determine the scale. They are thinned to at
    most `points` rows. A diverged rollout ends early and is marked in `diverged`. `symbolic` and
    `neural` are the lengths of the parts on the grid of `x` and `y`, one list for each y. `ends` is
    the sign of the first state that the true system reaches from each grid point (empty unless
    `basins`).
    """
    true, rollouts, diverged = [], [], []
    for split in splits:
        data = _contained(generate(system, split, runs=_DRAWN, seed=seed), within, runs)
        for run, found in zip(data, model.forecast(data), strict=True):
            true.append(_thinned(run.states, points))
            rollouts.append(_thinned(found.x, points))
            diverged.append(not found.completed)
    x, y = (_span(np.concatenate(true)[:, state], grid) for state in (0, 1))
    crossings = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    symbolic, neural = (
        np.linalg.norm(part, axis=1).reshape(grid, grid) for part in model.decompose(crossings)
    )
    return {
        "system": name,
        "method": method,
        "states": list(system.state_names),
        "true": [_plain(run) for run in true],
        "rollouts": [_plain(run[np.isfinite(run).all(axis=1)]) for run in rollouts],
        "diverged": diverged,
        "x": _plain(x),
        "y": _plain(y),
        "symbolic": _plain(symbolic),
        "neural": _plain(neural),
        "ends": _ends(system, crossings, grid) if basins else [],
    }


def _contained(data: Dataset, size: float, count: int) -> Dataset:
    """Return the first runs whose states never exceed this size, or the first run if all
    exceed it."""
    kept = [i for i, run in enumerate(data) if np.abs(run.states).max() <= size] or [0]
    return data[np.array(kept[:count])]


def _ends(system: AbstractSystem, starts: Float[np.ndarray, "B 2"], grid: int) -> list[list[int]]:
    times = np.tile(system.times()[[0, -1]], (len(starts), 1))
    in_numpy = NumpyField(system)
    last = integrate(system, starts, times, in_numpy=in_numpy, rtol=1e-8, atol=1e-8).x[:, -1, 0]
    return np.sign(last).astype(int).reshape(grid, grid).tolist()


def _thinned(states: np.ndarray, points: int) -> np.ndarray:
    """Return at most `points` rows, including the first and the last."""
    rows = np.unique(np.linspace(0, len(states) - 1, min(points, len(states))).astype(int))
    return states[rows]


def _span(values: np.ndarray, points: int) -> np.ndarray:
    low, high = float(values.min()), float(values.max())
    margin = _MARGIN * max(high - low, 1e-12)
    return np.linspace(low - margin, high + margin, points)


def _plain(values: np.ndarray) -> list[Any]:
    """Return nested lists of rounded numbers."""
    size = np.where(values == 0, 1.0, np.abs(values))
    scale = 10.0 ** (_DIGITS - 1 - np.floor(np.log10(size)))
    return (np.round(values * scale) / scale).tolist()
