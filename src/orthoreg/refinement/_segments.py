"""Runs cut into segments of so many steps, with all that an integration of them needs."""

from dataclasses import dataclass, replace
from typing import final

import numpy as np
from jaxtyping import Float, Int

from ..data import Dataset
from ..simulation import PLACES, Inputs

MIDDLE_NODE = 6
"""The node in the middle of a step, behind those of Tsitouras' method."""
_SHARED = 0.5  # weight of a row that ends one segment and begins the next


@final
@dataclass(frozen=True, eq=False)
class Segments:
    """B segments of up to L steps. `rows` (L + 1, B) are their rows in the data; `weight` is 0
    where a segment has ended, one half for a row that two share, else 1. `steps` (L, B) are the
    times from row to row, 0 behind the end."""

    rows: Int[np.ndarray, "T B"]
    weight: Float[np.ndarray, "T B"]
    steps: Float[np.ndarray, "L B"]

    @property
    def count(self) -> int:
        return self.rows.shape[1]

    @property
    def length(self) -> int:
        return len(self.steps)

    def only(self, chosen: Int[np.ndarray, " b"] | slice) -> "Segments":
        return replace(
            self,
            rows=self.rows[:, chosen],
            weight=self.weight[:, chosen],
            steps=self.steps[:, chosen],
        )


def cut(data: Dataset, length: int, most_rows: int) -> Segments:
    """Segments of about `length` steps that cover every run, each run in equal parts; evenly
    chosen ones where they hold more than `most_rows` rows. Runs of one row are left out."""
    first: list[np.ndarray] = []
    last: list[np.ndarray] = []
    for begin, end in zip(data.offsets[:-1], data.offsets[1:], strict=True):
        steps = int(end - begin) - 1
        if steps > 0:
            ends = np.linspace(0, steps, -(-steps // length) + 1).round().astype(int) + begin
            first.append(ends[:-1])
            last.append(ends[1:])
    none = np.zeros(0, dtype=int)
    begins, ends = np.concatenate([none, *first]), np.concatenate([none, *last])
    shared_begin = ~np.isin(begins, data.offsets[:-1])
    shared_end = ~np.isin(ends + 1, data.offsets[1:])
    most = max(1, most_rows // (length + 1))
    if len(begins) > most:
        few = np.linspace(0, len(begins) - 1, most).round().astype(int)
        # a row is shared where both of its segments are there
        kept = np.isin(np.arange(len(begins)), few)
        shared_begin &= np.append(False, kept[:-1])
        shared_end &= np.append(kept[1:], False)
        begins, ends = begins[few], ends[few]
        shared_begin, shared_end = shared_begin[few], shared_end[few]
    return _laid_out(data, begins, ends, shared_begin, shared_end)


def from_rows(data: Dataset, begins: Int[np.ndarray, " B"], most: int) -> Segments:
    """One segment from each of these rows to the end of its run, or over `most` steps."""
    ends = np.minimum(data.offsets[data.run_of_row[begins] + 1] - 1, begins + most)
    alone = np.zeros(len(begins), dtype=bool)
    return _laid_out(data, begins, ends, alone, alone)


def _laid_out(
    data: Dataset, begins: np.ndarray, ends: np.ndarray, at_begin: np.ndarray, at_end: np.ndarray
) -> Segments:
    longest = int((ends - begins).max(initial=1))
    rows = np.minimum(begins + np.arange(longest + 1)[:, None], ends)
    weight = (begins + np.arange(longest + 1)[:, None] <= ends).astype(float)
    columns = np.arange(len(begins))
    weight[0, at_begin] = _SHARED
    weight[(ends - begins)[at_end], columns[at_end]] = _SHARED
    return Segments(rows, weight, np.diff(data.times[rows], axis=0))


def input_nodes(
    data: Dataset, inputs: Inputs | None, segments: Segments, substeps: int
) -> Float[np.ndarray, "L s 7 m B"] | None:
    """The inputs at the places where a step looks at them, and in its middle; before a jump, not
    behind it."""
    if inputs is None:
        return None
    places = np.array([0.0, *PLACES[:5], 0.5])
    share = ((np.arange(substeps)[:, None] + places) / substeps).ravel()
    interval, where = np.unique(segments.rows[:-1], return_inverse=True)
    after = np.minimum(interval + 1, data.n_samples - 1)
    begin, end = data.times[interval], data.times[after]
    times = begin[:, None] + (end - begin)[:, None] * share
    times = np.clip(times, begin[:, None], np.nextafter(end, begin)[:, None])
    values = np.empty((len(interval), len(share), inputs.size))
    run = data.run_of_row[interval]
    for one in np.unique(run):
        mine = run == one
        values[mine] = inputs.only([one]).at(times[mine].reshape(1, -1)).reshape(
            -1, len(share), inputs.size
        )  # fmt: skip
    nodes = values.reshape(len(interval), substeps, len(places), -1)[
        where.reshape(segments.steps.shape)
    ]
    return np.moveaxis(nodes, 1, -1)
