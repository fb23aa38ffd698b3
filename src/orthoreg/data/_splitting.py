"""Split rows into folds of runs, groups of runs or stretches, and parts far from the mean.

No rule depends on units or on the order of rows. Distances are in standard deviations, and runs are
ranked by their distance from the mean.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import final

import numpy as np
from jaxtyping import Bool, Float, Int

from . import _limits as limits
from ._extent import Extent
from ._rows import AnyRows, Rows, index_in_run


@final
@dataclass(frozen=True, eq=False)
class Partition:
    """The group of each row, and for each of several cuts whether the row is in its outer part.

    Groups are whole runs, or stretches of rows if there are few runs. `extrapolated` are the
    variables of the rows, moved away from their mean.
    """

    group: Int[np.ndarray, " N"]
    outer: Bool[np.ndarray, "N Q"]
    cuts: tuple[str, ...]
    extrapolated: Float[np.ndarray, "N V"] | None = None


@final
@dataclass(frozen=True, eq=False)
class FoldRule:
    """Return a fold number for each row of a chunk: that of its run, or of its stretch if runs have
    no folds.
    """

    of_run: Int[np.ndarray, " R"] | None
    count: int

    def __call__(self, chunk: Rows) -> Int[np.ndarray, " N"]:
        if self.of_run is not None:
            return self.of_run[chunk.run]
        return np.arange(len(chunk)) * self.count // len(chunk)


def folds(rows: Rows, count: int) -> Int[np.ndarray, " N"]:
    """Return a fold number for each row.

    Folds are runs if there are enough of them, or else stretches.
    """
    return fold_rule(rows, count)(rows)


def fold_rule(rows: AnyRows, count: int) -> FoldRule:
    """Return `folds` as a rule for any chunk of the rows. Stretches are formed within each
    chunk.
    """
    runs = np.arange(rows.n_runs) % count if rows.n_runs >= count else None
    return FoldRule(runs, count)


def outward_fold_rule(rows: AnyRows, count: int) -> FoldRule:
    """Return a rule for fold numbers of any chunk, with runs ordered by their largest distance from
    the mean.

    For few runs, this is the same as `fold_rule`.
    """
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
    """Return a mask of rows for validation: evenly spaced whole runs, or the end of a single
    run.

    If rows have no times, single rows are selected.
    """
    if rows.times is None or rows.n_runs > 1:
        unit = rows.run_of_row if rows.n_runs > 1 else np.arange(len(rows))
        units = int(unit[-1]) + 1
        count = min(max(1, round(share * units)), units - 1)
        chosen = ((np.arange(count) + 0.5) * units / count).astype(np.int64)
        return np.isin(unit, chosen)
    return np.arange(len(rows)) >= len(rows) - max(1, round(share * len(rows)))


def grouping(rows: Rows) -> Partition:
    """Return the groups of the rows, without cuts."""
    return grouping_rule(rows)(rows)


def grouping_rule(rows: AnyRows) -> "PartitionRule":
    """Return `grouping` as a rule for any chunk of the rows."""
    return PartitionRule(rows.extent, len(rows), rows.n_runs, _run_distances(rows))


def extrapolation_rule(rows: AnyRows, inner: float, reach: float) -> "PartitionRule":
    """Return a rule for cuts of any chunk that leave the share `inner` of all rows inside.

    The outer parts are the rows farthest from the mean (shell), the highest or lowest rows of a
    variable (half-spaces), the runs farthest from the mean, and the last part of every run.
    """
    extent = rows.extent
    axes = np.flatnonzero(extent.varies)[: limits.MAX_AXES]
    bounds = {int(axis): np.quantile(extent.sample[:, axis], [1 - inner, inner]) for axis in axes}
    return PartitionRule(
        extent, len(rows), rows.n_runs, _run_distances(rows), rows.names, inner, reach,
        float(np.quantile(extent.distance(extent.sample), inner)), bounds, cuts=True,
    )  # fmt: skip


@final
@dataclass(frozen=True, eq=False)
class PartitionRule:
    """A rule that assigns the rows of any chunk to groups, and to the inner or outer part of each
    cut.

    `of_run` are the distances of all runs from the mean, or None if there are few runs.
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
        """Return the groups and parts of these rows."""
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
        return _rank(self.of_run) % min(limits.MAX_GROUPS, self.n_runs)

    def _groups(self, chunk: Rows, distance: Float[np.ndarray, " N"]) -> Int[np.ndarray, " N"]:
        """Return a group for each row, at most 50 groups.

        Ranked runs are assigned to groups in turn.

        If there are few runs, groups are stretches of runs. Rows without times are assigned like
        runs.
        """
        if self.of_run is not None:
            return self._group_of_run[chunk.run]
        if chunk.times is None:
            return _rank(distance) % min(limits.MAX_GROUPS, len(chunk))
        run = chunk.run_of_row
        groups_per_run = max(min(limits.MAX_GROUPS, self.count) // self.n_runs, 1)
        return (
            chunk.run * groups_per_run + index_in_run(run) * groups_per_run // np.bincount(run)[run]
        )


def _run_distances(rows: AnyRows) -> Float[np.ndarray, " R"] | None:
    """Return the mean distance of each run's rows from the mean, or None if there are few runs."""
    if rows.n_runs < limits.MIN_RANKED_RUNS:
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
