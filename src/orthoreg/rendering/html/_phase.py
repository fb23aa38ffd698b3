"""The learned flow under measured runs: of the model, of its equations and of its network."""

from typing import Any

import numpy as np
from jaxtyping import Float

from ...data import Dataset
from ..views import (
    arrowheads,
    at_states,
    choose_pairs,
    envelope,
    evenly,
    not_measured,
    share_shown,
    streamlines,
    variable_label,
)
from ._data import Flow, Phase, Portrait, Rate
from ._numbers import short, with_gaps
from ._slopes import Slopes

_GRID = 32
_MOST_PAIRS = 3
_FEWEST_RUNS, _MOST_RUNS = 4, 12
_SHOWN_ROWS = 3_000
_POINTS = 300  # of a run
_MEASURED = 1_500
_DIFFERENT = 1e-9  # of the flow's size: a network part below is none


def phase_of(model: Any, data: Dataset, seen: Slopes) -> Phase:
    """Portraits of some pairs of states, or the rate of a single one."""
    held = ["other states"] if data.n_states > 2 else []
    held += [] if data.inputs is None else ["inputs"]
    note = f"flow with {' and '.join(held)} at their mean" if held else ""
    if data.n_states == 1:
        return Phase((), _rate(model, data, seen), note)
    pairs, which = choose_pairs(model, data, None)
    count = data.n_states * (data.n_states - 1) // 2
    shown = pairs[:_MOST_PAIRS]
    usual = max(int(np.median(data.run_lengths)), 1)
    runs = evenly(data.n_runs, int(np.clip(_SHOWN_ROWS // usual, _FEWEST_RUNS, _MOST_RUNS)))
    notes = [
        share_shown(len(shown), count, "pairs of states", which),
        note,
        share_shown(len(runs), data.n_runs, "runs", ""),
        not_measured(data),
    ]
    portraits = tuple(_portrait(model, data, pair, runs) for pair in shown)
    return Phase(portraits, None, "; ".join(one for one in notes if one))


def _portrait(model: Any, data: Dataset, pair: tuple[int, int], runs: np.ndarray) -> Portrait:
    low, high = span(data.states[:, list(pair)])
    first, second = (np.linspace(low[k], high[k], _GRID) for k in (0, 1))
    grid = np.stack(np.meshgrid(first, second), axis=-1).reshape(-1, 2)
    states = np.tile(data.states.mean(axis=0), (len(grid), 1))
    states[:, list(pair)] = grid
    with np.errstate(all="ignore"):
        symbolic, neural = model.decompose(at_states(data, states))
    size = np.sqrt(np.nanmean(np.square(symbolic + neural)[:, list(pair)]))

    def flow(rates: Any) -> Flow:
        scaled = np.asarray(rates)[:, list(pair)] / (high - low)
        return _flow(scaled.reshape(_GRID, _GRID, 2), low, high)

    has_network = bool(np.abs(neural[:, list(pair)]).max() > _DIFFERENT * size)
    lines = [_line(data, run, pair) for run in runs]
    starts = data.states[data.offsets[runs]][:, list(pair)]
    return Portrait(
        variable_label(data, pair[0]),
        variable_label(data, pair[1]),
        short([low[0], high[0]]),
        short([low[1], high[1]]),
        flow(symbolic + neural),
        flow(symbolic) if has_network else None,
        flow(neural) if has_network else None,
        with_gaps(lines, 0),
        with_gaps(lines, 1),
        short(starts[:, 0]),
        short(starts[:, 1]),
    )


def _flow(velocity: Float[np.ndarray, "r c 2"], low: np.ndarray, high: np.ndarray) -> Flow:
    lines = streamlines(velocity)
    heads = arrowheads(lines, 1.5)
    placed = [low + line[:: max(len(line) // 40, 1)] * (high - low) for line in lines]
    closed = [low + np.concatenate([head, head[:1]]) * (high - low) for head in heads]
    return Flow(*(with_gaps(part, k) for part in (placed, closed) for k in (0, 1)))


def _line(data: Dataset, run: int, pair: tuple[int, int]) -> Float[np.ndarray, "T 2"]:
    line = data.states[int(data.offsets[run]) : int(data.offsets[run + 1])][:, list(pair)]
    if len(line) <= 2 * _POINTS:
        return line
    kept = [envelope(column, _POINTS) for column in line.T]
    return line[np.unique(np.concatenate([*kept, evenly(len(line), _POINTS)]))]


def _rate(model: Any, data: Dataset, seen: Slopes) -> Rate:
    low, high = span(data.states)
    grid = np.linspace(low, high, 160)
    with np.errstate(all="ignore"):
        symbolic, neural = (
            np.asarray(part).reshape(-1) for part in model.decompose(at_states(data, grid))
        )
    rows = seen.rows
    slopes = np.full(rows.n_samples, np.nan) if seen.values is None else seen.values[:, 0]
    some = evenly(rows.n_samples, _MEASURED)
    label = variable_label(data, 0)
    return Rate(
        label,
        f"d/dt of {data.state_names[0]}",
        short(grid[:, 0]),
        short(symbolic + neural),
        short(symbolic),
        short(neural) if np.any(neural) else None,
        short(rows.states[some, 0]),
        short(slopes[some]),
    )


def span(values: Float[np.ndarray, "N k"], margin: float = 0.08) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper ends with a margin; a state that never varies gets one as well."""
    low, high = values.min(axis=0), values.max(axis=0)
    reach = np.maximum(np.abs(low), np.abs(high))
    constant = high - low <= 1e-9 * reach
    add = np.where(constant, np.where(reach > 0, 0.5 * reach, 0.5), margin * (high - low))
    return low - add, high + add
