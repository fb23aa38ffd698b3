"""One way to split rows: folds of runs, groups of runs or stretches, and what lies further out.

Every rule is free of units and of the order of the rows: distances are counted in standard
deviations, and runs are told apart by how far out they go.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import final

import numpy as np
from jaxtyping import Bool, Float, Int

from ._chunked import AnyRows
from ._rows import Extent, Rows, index_in_run

MAX_GROUPS = 50
_MAX_AXES = 6  # half-spaces along more states than these would hold too few rows each
_MIN_RUNS = 8


@final
@dataclass(frozen=True, eq=False)
class Partition:
    """For each row its group, and for each of several cuts whether the row is in its outer part.

    Groups are whole runs, or stretches of rows where there are few runs. `extrapolated` are the
    rows' variables moved away from their mean.
    """

    group: Int[np.ndarray, " N"]
    outer: Bool[np.ndarray, "N Q"]
    cuts: tuple[str, ...]
    extrapolated: Float[np.ndarray, "N V"] | None = None


@final
@dataclass(frozen=True, eq=False)
class FoldRule:
    """A fold number for each row of a chunk: that of its run, or stretches where None."""

    of_run: Int[np.ndarray, " R"] | None
    count: int

    def __call__(self, chunk: Rows) -> Int[np.ndarray, " N"]:
        if self.of_run is not None:
            return self.of_run[chunk.run]
        return np.arange(len(chunk)) * self.count // len(chunk)


def folds(rows: Rows, count: int) -> Int[np.ndarray, " N"]:
    """A fold number for each row: whole runs where there are enough, else stretches of rows."""
    return fold_rule(rows, count)(rows)


def fold_rule(rows: AnyRows, count: int) -> FoldRule:
    """`folds`, for any chunk of the rows. Stretches of chunks are stretches of each."""
    runs = np.arange(rows.n_runs) % count if rows.n_runs >= count else None
    return FoldRule(runs, count)


def outward_fold_rule(rows: AnyRows, count: int) -> FoldRule:
    """Fold numbers for any chunk of the rows: the runs that stay nearest to the mean are in the
    first fold, those that go furthest in the last. The same as `fold_rule` for few runs."""
    if rows.n_runs < 2 * count:
        return fold_rule(rows, count)
    mean, std = rows.extent.mean, rows.extent.std

    def reach(chunk: Rows) -> Float[np.ndarray, " R"]:
        deviation = (chunk.variables - mean) / std
        furthest = np.zeros(chunk.n_runs)
        np.maximum.at(furthest, chunk.run_of_row, np.square(deviation).sum(axis=1))
        return furthest

    ranks = _rank(np.concatenate(rows.map_chunks(reach)))
    return FoldRule(ranks * count // rows.n_runs, count)


def held_out_rows(rows: Rows, share: float) -> Bool[np.ndarray, " N"]:
    """Which rows to validate with: some whole runs, spread evenly over all; of a single run the
    end; where rows have no times, some of them."""
    if rows.times is None or rows.n_runs > 1:
        unit = rows.run_of_row if rows.n_runs > 1 else np.arange(len(rows))
        units = int(unit[-1]) + 1
        count = min(max(1, round(share * units)), units - 1)
        chosen = ((np.arange(count) + 0.5) * units / count).astype(np.int64)
        return np.isin(unit, chosen)
    return np.arange(len(rows)) >= len(rows) - max(1, round(share * len(rows)))


def grouping(rows: Rows) -> Partition:
    """Groups alone."""
    return grouping_rule(rows)(rows)


def grouping_rule(rows: AnyRows) -> "PartitionRule":
    """`grouping`, for any chunk of the rows."""
    return PartitionRule(rows.extent, len(rows), rows.n_runs, _run_distances(rows))


def extrapolation_rule(rows: AnyRows, inner: float, reach: float) -> "PartitionRule":
    """Cuts in which the share `inner` of the rows is inner, for any chunk of the rows: where to
    cut is decided on all of them.

    A shell (the rows furthest from the mean are outer), half-spaces (the rows highest, or lowest,
    in one variable), the runs that go furthest, and the last part of every run.
    """
    extent = rows.extent
    axes = np.flatnonzero(extent.varies)[:_MAX_AXES]
    bounds = {int(axis): np.quantile(extent.sample[:, axis], [1 - inner, inner]) for axis in axes}
    return PartitionRule(
        extent, len(rows), rows.n_runs, _run_distances(rows), rows.names, inner, reach,
        float(np.quantile(extent.distance(extent.sample), inner)), bounds, cuts=True,
    )  # fmt: skip


@final
@dataclass(frozen=True, eq=False)
class PartitionRule:
    """What group a row is in, and on which side of every cut: for any chunk of all rows.

    `of_run` are the mean distances of all runs, where these are enough to be told apart.
    """

    extent: Extent
    count: int
    n_runs: int
    of_run: Float[np.ndarray, " R"] | None
    names: tuple[str, ...] = ()
    inner: float = 1.0
    reach: float | None = None
    shell: float = np.inf
    ends: Mapping[int, Float[np.ndarray, " 2"]] = field(default_factory=dict)
    cuts: bool = False

    def __call__(self, chunk: Rows) -> Partition:
        """The groups and sides of these rows."""
        distance = self.extent.distance(chunk.variables)
        group = self._groups(chunk, distance)
        if not self.cuts:
            return Partition(group, np.zeros((len(chunk), 0), dtype=bool), ())
        variables, run = chunk.variables, chunk.run_of_row
        outer = {"shell": distance > self.shell}
        for axis, (low, high) in self.ends.items():
            outer[f"above {self.names[axis]}"] = variables[:, axis] > high
            outer[f"below {self.names[axis]}"] = variables[:, axis] < low
        if self.of_run is not None:
            outer["runs"] = self._is_outer_run[chunk.run]
        if chunk.times is not None:
            outer["tail"] = index_in_run(run) >= self.inner * np.bincount(run)[run]
        mean, extrapolated = self.extent.mean, None
        if self.reach is not None:
            extrapolated = mean + self.reach * (variables - mean)
        return Partition(group, np.column_stack(list(outer.values())), tuple(outer), extrapolated)

    @cached_property
    def _is_outer_run(self) -> Bool[np.ndarray, " R"]:
        assert self.of_run is not None
        return self.of_run > np.quantile(self.of_run, self.inner)

    @cached_property
    def _group_of_run(self) -> Int[np.ndarray, " R"]:
        assert self.of_run is not None
        return _rank(self.of_run) % min(MAX_GROUPS, self.n_runs)

    def _groups(self, chunk: Rows, distance: Float[np.ndarray, " N"]) -> Int[np.ndarray, " N"]:
        """A group for each row, at most 50: runs dealt out from the nearest to the furthest.

        Where there are few runs, stretches of them; rows without times, dealt out like runs.
        """
        if self.of_run is not None:
            return self._group_of_run[chunk.run]
        if chunk.times is None:
            return _rank(distance) % min(MAX_GROUPS, len(chunk))
        run = chunk.run_of_row
        groups_per_run = max(min(MAX_GROUPS, self.count) // self.n_runs, 1)
        return (
            chunk.run * groups_per_run + index_in_run(run) * groups_per_run // np.bincount(run)[run]
        )


def _run_distances(rows: AnyRows) -> Float[np.ndarray, " R"] | None:
    """How far from the mean the rows of each run are, on average; None where runs are few."""
    if rows.n_runs < _MIN_RUNS:
        return None
    extent = rows.extent
    return np.concatenate(
        rows.map_chunks(lambda chunk: _mean_by_run(extent.distance(chunk.variables), chunk))
    )


def _rank(values: Float[np.ndarray, " R"]) -> Int[np.ndarray, " R"]:
    return np.argsort(np.argsort(values, kind="stable"))


def _mean_by_run(values: Float[np.ndarray, " N"], rows: Rows) -> Float[np.ndarray, " R"]:
    run, count = rows.run_of_row, rows.n_runs
    return np.bincount(run, values, count) / np.maximum(np.bincount(run, minlength=count), 1)
