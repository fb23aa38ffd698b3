"""One way to split rows: folds of runs, groups of runs or stretches, and what lies further out.

Every rule is free of units and of the order of the rows: distances are counted in standard
deviations, and runs are told apart by how far out they go.
"""

from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Bool, Float, Int

from ._rows import Rows

MOST_GROUPS = 50
_MOST_AXES = 6  # half-spaces along more states than these would hold too few rows each
_FEWEST_RUNS = 8


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


def folds(rows: Rows, count: int) -> Int[np.ndarray, " N"]:
    """A fold number for each row: whole runs where there are enough, else stretches of rows."""
    if rows.n_runs >= count:
        return rows.run_of_row % count
    return np.arange(len(rows)) * count // len(rows)


def outward_folds(rows: Rows, count: int) -> Int[np.ndarray, " N"]:
    """A fold number for each row: the runs that stay nearest to the mean are in the first, and
    those that go furthest in the last. The same as `folds` where there are few runs."""
    if rows.n_runs < 2 * count:
        return folds(rows, count)
    away = (rows.variables - rows.extent.mean) / rows.extent.spread
    reach = np.zeros(rows.n_runs)
    np.maximum.at(reach, rows.run_of_row, np.square(away).sum(axis=1))
    return (_rank(reach) * count // rows.n_runs)[rows.run_of_row]


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


def thinned(rows: Rows, most: int) -> Int[np.ndarray, " M"]:
    """At most about `most` rows, spread evenly over every run; all of them where they are fewer."""
    every = -(-len(rows) // most)
    if every == 1:
        return np.arange(len(rows))
    # runs begin at different places, so that short runs are not all seen at their first rows
    return np.flatnonzero((place_in_run(rows.run_of_row) + rows.run_of_row) % every == 0)


def grouping(rows: Rows) -> Partition:
    """Groups alone."""
    nothing = np.zeros((len(rows), 0), dtype=bool)
    return Partition(groups(rows, rows.extent.distance(rows.variables)), nothing, ())


def extrapolations(rows: Rows, inner: float, reach: float) -> Partition:
    """Cuts in which the share `inner` of the rows is inner.

    A shell (the rows furthest from the mean are outer), half-spaces (the rows highest, or lowest,
    in one variable), the runs that go furthest, and the last part of every run.
    """
    variables, run, extent = rows.variables, rows.run_of_row, rows.extent
    distance = extent.distance(variables)
    outer = {"shell": distance > np.quantile(extent.distance(extent.sample), inner)}
    for axis in np.flatnonzero(extent.varies)[:_MOST_AXES]:
        low, high = np.quantile(extent.sample[:, axis], [1 - inner, inner])
        outer[f"above {rows.names[axis]}"] = variables[:, axis] > high
        outer[f"below {rows.names[axis]}"] = variables[:, axis] < low
    if rows.n_runs >= _FEWEST_RUNS:
        of_run = _mean_by_run(distance, run)
        outer["runs"] = (of_run > np.quantile(of_run, inner))[run]
    if rows.times is not None:
        outer["tail"] = place_in_run(run) >= inner * np.bincount(run)[run]
    return Partition(
        groups(rows, distance),
        np.column_stack(list(outer.values())),
        tuple(outer),
        extent.mean + reach * (variables - extent.mean),
    )


def groups(rows: Rows, distance: Float[np.ndarray, " N"]) -> Int[np.ndarray, " N"]:
    """A group for each row, at most 50: runs dealt out from the nearest to the furthest.

    Where there are few runs, stretches of them; rows without times, dealt out like runs.
    """
    run = rows.run_of_row
    if rows.n_runs >= _FEWEST_RUNS:
        return (_rank(_mean_by_run(distance, run)) % min(MOST_GROUPS, rows.n_runs))[run]
    if rows.times is None:
        return _rank(distance) % min(MOST_GROUPS, len(run))
    each = max(min(MOST_GROUPS, len(run)) // rows.n_runs, 1)
    return run * each + place_in_run(run) * each // np.bincount(run)[run]


def place_in_run(run: Int[np.ndarray, " N"]) -> Int[np.ndarray, " N"]:
    """0, 1, 2, ... within each run; runs follow each other."""
    length = np.bincount(run)
    return np.arange(len(run)) - (np.cumsum(length) - length)[run]


def _rank(values: Float[np.ndarray, " R"]) -> Int[np.ndarray, " R"]:
    return np.argsort(np.argsort(values, kind="stable"))


def _mean_by_run(
    values: Float[np.ndarray, " N"], run: Int[np.ndarray, " N"]
) -> Float[np.ndarray, " R"]:
    return np.bincount(run, values) / np.maximum(np.bincount(run), 1)
