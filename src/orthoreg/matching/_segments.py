"""Segments of runs, and their integration with fixed steps."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, final

import numpy as np
from jaxtyping import Bool, Float, Int

from ..data import Dataset
from ..simulation import PLACES, Inputs
from ..simulation import WEIGHTS as TSITOURAS
from . import _limits as limits

MIDDLE_NODE = 6
"""Index of the node in the middle of a step. It follows the nodes of Tsitouras' method."""
WEIGHTS = tuple(np.array(row) for row in TSITOURAS)
STAGES = len(WEIGHTS)
Slopes = Callable[[np.ndarray], np.ndarray]  # (V, B) -> (n, B)


@final
@dataclass(frozen=True, eq=False)
class RunSegments:
    """B segments of up to L steps.

    `rows` (L + 1, B) are the row indices in the data. `weight` is 0 after the end of a segment, 0.5
    for a row that two segments share, and 1 otherwise. `steps` (L, B) are the times between rows, 0
    after the end. If `discrete`, the field is a map, and its value is the state at the next row.
    """

    rows: Int[np.ndarray, "T B"]
    weight: Float[np.ndarray, "T B"]
    steps: Float[np.ndarray, "L B"]
    discrete: bool = False

    @property
    def count(self) -> int:
        return self.rows.shape[1]

    @property
    def length(self) -> int:
        return len(self.steps)

    def subset(self, chosen: Int[np.ndarray, " b"] | slice) -> "RunSegments":
        return replace(
            self,
            rows=self.rows[:, chosen],
            weight=self.weight[:, chosen],
            steps=self.steps[:, chosen],
        )


def cut(data: Dataset, length: int, max_rows: int) -> RunSegments:
    """Return segments of about `length` steps that divide every run into equal parts.

    If the segments have more than `max_rows` rows, an evenly spaced subset is returned. Runs with a
    single row are omitted.
    """
    begin_parts, end_parts = [np.zeros(0, dtype=int)], [np.zeros(0, dtype=int)]
    for begin, end in zip(data.offsets[:-1], data.offsets[1:], strict=True):
        steps = int(end - begin) - 1
        if steps > 0:
            edges = np.linspace(0, steps, -(-steps // length) + 1).round().astype(int) + begin
            begin_parts.append(edges[:-1])
            end_parts.append(edges[1:])
    begins, ends = np.concatenate(begin_parts), np.concatenate(end_parts)
    shared_begin = ~np.isin(begins, data.offsets[:-1])
    shared_end = ~np.isin(ends + 1, data.offsets[1:])
    max_segments = max(1, max_rows // (length + 1))
    if len(begins) > max_segments:
        subset = np.linspace(0, len(begins) - 1, max_segments).round().astype(int)
        # a row is shared only if both of its segments are kept
        kept = np.isin(np.arange(len(begins)), subset)
        shared_begin &= np.append(False, kept[:-1])
        shared_end &= np.append(kept[1:], False)
        begins, ends = begins[subset], ends[subset]
        shared_begin, shared_end = shared_begin[subset], shared_end[subset]
    return _segments(data, begins, ends, shared_begin, shared_end)


def from_rows(data: Dataset, begins: Int[np.ndarray, " B"], max_steps: int) -> RunSegments:
    """Return a segment of up to `max_steps` steps from each of these rows, within its run."""
    ends = np.minimum(data.offsets[data.run_of_row[begins] + 1] - 1, begins + max_steps)
    unshared = np.zeros(len(begins), dtype=bool)
    return _segments(data, begins, ends, unshared, unshared)


def _segments(
    data: Dataset,
    begins: np.ndarray,
    ends: np.ndarray,
    shared_begin: np.ndarray,
    shared_end: np.ndarray,
) -> RunSegments:
    longest = int((ends - begins).max(initial=1))
    rows = np.minimum(begins + np.arange(longest + 1)[:, None], ends)
    weight = (begins + np.arange(longest + 1)[:, None] <= ends).astype(float)
    columns = np.arange(len(begins))
    weight[0, shared_begin] = limits.SHARED_WEIGHT
    weight[(ends - begins)[shared_end], columns[shared_end]] = limits.SHARED_WEIGHT
    return RunSegments(rows, weight, np.diff(data.times[rows], axis=0), data.discrete)


def input_nodes(
    data: Dataset, inputs: Inputs | None, segments: RunSegments, substeps: int
) -> Float[np.ndarray, "L s nodes m B"] | None:
    """Return the inputs at the nodes of each substep: those of Tsitouras' method, and the
    midpoint.

    At a jump between two rows, the value before the jump is used. A map has one substep with a
    single node, at the row.
    """
    if inputs is None:
        return None
    if segments.discrete:
        assert data.inputs is not None
        return np.moveaxis(data.inputs[segments.rows[:-1]], 2, 1)[:, None, None]
    nodes = np.array([0.0, *PLACES[:5], 0.5])
    fraction = ((np.arange(substeps)[:, None] + nodes) / substeps).ravel()
    interval, inverse = np.unique(segments.rows[:-1], return_inverse=True)
    after = np.minimum(interval + 1, data.n_samples - 1)
    begin, end = data.times[interval], data.times[after]
    times = begin[:, None] + (end - begin)[:, None] * fraction
    times = np.clip(times, begin[:, None], np.nextafter(end, begin)[:, None])
    values = np.empty((len(interval), len(fraction), inputs.size))
    run_of_interval = data.run_of_row[interval]
    for run in np.unique(run_of_interval):
        in_run = run_of_interval == run
        values[in_run] = inputs.only([run]).at(times[in_run].reshape(1, -1)).reshape(
            -1, len(fraction), inputs.size
        )  # fmt: skip
    values = values.reshape(len(interval), substeps, len(nodes), -1)[
        inverse.reshape(segments.steps.shape)
    ]
    return np.moveaxis(values, 1, -1)


@final
class Trajectories(NamedTuple):
    """States (T, n, B) of segments.

    `is_valid` (B,) marks segments whose states are finite and stay in the box.
    """

    states: np.ndarray
    is_valid: np.ndarray


@final
class Box(NamedTuple):
    """Lower and upper limits of the states. A trajectory that leaves the box has diverged."""

    low: np.ndarray
    high: np.ndarray


def box_around(states: Float[np.ndarray, "N n"]) -> Box:
    """Return a box that extends ten ranges of the data beyond the data on either side."""
    low, high = states.min(axis=0), states.max(axis=0)
    width = (limits.BOX_WIDTH - 1) / 2 * np.where(high > low, high - low, 1 + np.abs(high))
    return Box((low - width)[:, None], (high + width)[:, None])


def shoot(
    slope: Slopes,
    starts: Float[np.ndarray, "n B"],
    segments: RunSegments,
    nodes: np.ndarray | None,
    substeps: int,
    box: Box,
) -> Trajectories:
    """Return the trajectories from the start of each segment.

    A flow x' = f(x, u) is integrated by Tsitouras' fifth-order method, with `substeps` equal steps
    between rows. A map is iterated.
    """
    states = np.empty((segments.length + 1, *starts.shape))
    states[0] = starts
    is_valid = np.ones(starts.shape[1], dtype=bool)
    with np.errstate(all="ignore"):
        for row in range(segments.length):
            x = states[row]
            u = None if nodes is None else nodes[row]
            if segments.discrete:
                x = map_once(slope, x, segments.steps[row], None if u is None else u[0])
            for part in range(0 if segments.discrete else substeps):
                x = step_once(
                    slope, x, segments.steps[row] / substeps, None if u is None else u[part]
                )
            states[row + 1], is_valid = _bounded(x, is_valid, box)
    return Trajectories(states, is_valid)


def map_once(
    slope: Slopes,
    x: Float[np.ndarray, "n B"],
    step: Float[np.ndarray, " B"],
    u: np.ndarray | None,
) -> Float[np.ndarray, "n B"]:
    """Return f(x, u), the next state of a map.

    After the end of a segment, where the `step` is zero, the state is unchanged.
    """
    z = x if u is None else np.concatenate([x, u[0]])
    return np.where(step > 0, slope(z), x)


def step_once(
    slope: Slopes,
    x: Float[np.ndarray, "n B"],
    step: Float[np.ndarray, " B"],
    u: np.ndarray | None,
    first: Float[np.ndarray, "n B"] | None = None,
) -> Float[np.ndarray, "n B"]:
    """Return the state after one step of Tsitouras' method. `u` are the inputs at its stages, and
    `first` is f at x, if known."""
    slopes = np.empty((STAGES, x.size))
    at = x
    for stage in range(STAGES):
        if stage:
            at = (WEIGHTS[stage - 1] @ slopes[:stage]).reshape(x.shape)
            at *= step
            at += x
        elif first is not None:
            slopes[0] = first.reshape(-1)
            continue
        z = at if u is None else np.concatenate([at, u[stage]])
        slopes[stage] = slope(z).reshape(-1)
    return x + step * (WEIGHTS[-1] @ slopes).reshape(x.shape)


def _bounded(
    x: Float[np.ndarray, "n B"], is_valid: Bool[np.ndarray, " B"], box: Box
) -> tuple[Float[np.ndarray, "n B"], Bool[np.ndarray, " B"]]:
    """Return the states with those outside the box moved to its middle, and a mask of valid
    segments.
    """
    inside = ((x >= box.low) & (x <= box.high)).all(axis=0)
    if inside.all():
        return x, is_valid
    return np.where(inside, x, (box.low + box.high) / 2), is_valid & inside
