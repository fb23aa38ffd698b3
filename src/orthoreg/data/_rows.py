"""`Rows`: what a problem is made of, a target for each row and the points it is about."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, final

import numpy as np
from jaxtyping import Bool, Float, Int, UInt64

from ._extent import Extent, hashed


@final
@dataclass(frozen=True, eq=False)
class Rows:
    """Targets, row by row, with the points of state space (states, then inputs) they belong to.

    Without `windows` row i is about point i. With them (N x M, sparse) it is about many: a function
    of the points counts with the sum windows[i, j] f(points[j]), as in a weak form.

    `target_mse` is the mean squared error that each target is known to have. `times` are there
    when rows come from runs in time; they follow each other within a run. `names` are those of
    the variables, `outputs` those of the targets. `given` maps the place of an output to that of
    the variable which it equals exactly: nothing is learned about it. `clock` is the place of the
    variable that is time, if one is: only equations that are known may use it.

    `all_runs` counts the runs where the last may have no row. Rows may be a chunk of more,
    `first_run` being the number of its first run among all; then
    whatever passes over all rows does so by `total` and `each`, which `ChunkedRows` has too.
    """

    points: Float[np.ndarray, "M V"]
    targets: Float[np.ndarray, "N c"]
    run_of_row: Int[np.ndarray, " N"]
    target_mse: Float[np.ndarray, " c"]
    names: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    times: Float[np.ndarray, " N"] | None = None
    windows: Any = None
    given: Mapping[int, int] = field(default_factory=dict)
    clock: int | None = None
    first_run: int = 0
    all_runs: int = 0

    def __len__(self) -> int:
        return len(self.targets)

    @property
    def n_points(self) -> int:
        return len(self.points)

    @property
    def n_runs(self) -> int:
        return self.all_runs or int(self.run_of_row.max()) + 1

    @cached_property
    def extent(self) -> Extent:
        """Where the rows lie: their points, or the centres of their windows."""
        return Extent.of(self.variables, numbers=self.numbers)

    @cached_property
    def point_extent(self) -> Extent:
        """Where the points lie."""
        return self.extent if self.windows is None else Extent.of(self.points)

    @property
    def run(self) -> Int[np.ndarray, " N"]:
        """The number of each row's run among all runs of the data."""
        return self.run_of_row + self.first_run

    @property
    def numbers(self) -> UInt64[np.ndarray, " N"]:
        """A number for each row that does not depend on how the data are cut into chunks."""
        place = place_in_run(self.run_of_row).astype(np.uint64)
        with np.errstate(over="ignore"):
            return hashed(self.run.astype(np.uint64)) + place

    def total(self, function: Callable[["Rows"], Any]) -> Any:
        """The sum of a function over the chunks that the rows come in: of all at once."""
        return function(self)

    def each(self, function: Callable[["Rows"], Any]) -> list[Any]:
        """The values of a function on the chunks that the rows come in."""
        return [function(self)]

    @cached_property
    def variables(self) -> Float[np.ndarray, "N V"]:
        """Where each row is: its point, or the centre of its window."""
        if self.windows is None:
            return self.points
        share = abs(self.windows)
        return np.asarray(share @ self.points) / np.asarray(share.sum(axis=1)).reshape(-1, 1)

    def row_of_point(self) -> Int[np.ndarray, " M"]:
        """For each point the row that it counts most in."""
        if self.windows is None:
            return np.arange(len(self))
        each = self.windows.tocoo()
        order = np.lexsort([-each.row, each.data, each.col])  # of equal ones the first row
        found = np.zeros(self.n_points, dtype=int)
        found[each.col[order]] = each.row[order]  # the last one of a point stays
        return found

    def evaluate(
        self, function: Callable[[np.ndarray], np.ndarray], rows: Int[np.ndarray, " B"] | slice
    ) -> Float[np.ndarray, "B k"]:
        """A function of points (M x V -> M x k) at these rows."""
        if self.windows is None:
            return function(self.points[rows])
        windows, used = _of_used_points(self.windows[rows])
        return np.asarray(windows @ function(self.points[used]))

    def some(self, most: int) -> "Rows":
        """At most about `most` rows, spread evenly over every run; all where they are fewer."""
        kept = thinned(self, most)
        return self if len(kept) == len(self) else self.at(kept).compact()

    def at(self, rows: Int[np.ndarray, " M"]) -> "Rows":
        """These rows, in this order, which may repeat; they no longer follow each other in time."""
        return replace(
            self,
            points=self.points[rows] if self.windows is None else self.points,
            targets=self.targets[rows],
            run_of_row=self.run_of_row[rows],
            times=None,
            windows=None if self.windows is None else self.windows[rows],
        )

    def compact(self) -> "Rows":
        """The same rows without the points that are in none of their windows."""
        if self.windows is None:
            return self
        windows, used = _of_used_points(self.windows)
        return replace(self, points=self.points[used], windows=windows)

    def holding(self, given: Mapping[int, int]) -> "Rows":
        """The rows with these outputs given, {output: variable}: their targets are the variables,
        without error."""
        if not given:
            return self
        outputs, variables = list(given), list(given.values())
        targets, target_mse = self.targets.copy(), self.target_mse.copy()
        rows = np.arange(len(self))
        targets[:, outputs] = self.evaluate(lambda points: points[:, variables], rows)
        target_mse[outputs] = 0.0
        return replace(self, targets=targets, target_mse=target_mse, given=dict(given))

    def only(self, rows: Bool[np.ndarray, " N"]) -> "Rows":
        """The rows that are marked, their runs numbered anew."""
        _, runs = np.unique(self.run_of_row[rows], return_inverse=True)
        chosen = self.at(np.flatnonzero(rows))
        times = None if self.times is None else self.times[rows]
        return replace(chosen, run_of_row=runs, times=times, all_runs=0)


def thinned(rows: "Rows", most: int, of: int | None = None) -> Int[np.ndarray, " M"]:
    """At most about `most` rows, spread evenly over every run; all of them where they are fewer.
    Where the rows are a chunk, they are its share of the `of` rows that there are in all."""
    every = -(-(len(rows) if of is None else of) // most)
    if every <= 1:
        return np.arange(len(rows))
    # runs begin at different places, so that short runs are not all seen at their first rows
    return np.flatnonzero((place_in_run(rows.run_of_row) + rows.run) % every == 0)


def _of_used_points(windows: Any) -> tuple[Any, Int[np.ndarray, " U"]]:
    """Windows (sparse, R x M) over the points that are in some of them, and which these are: in
    time that does not grow with the points before and after."""
    first = int(windows.indices.min(initial=windows.shape[1]))
    inside = windows.indices - first
    is_used = np.bincount(inside) > 0
    places = (np.cumsum(is_used) - 1).astype(windows.indices.dtype)
    used = first + np.flatnonzero(is_used)
    shape = (windows.shape[0], len(used))
    return type(windows)((windows.data, places[inside], windows.indptr), shape=shape), used


def place_in_run(run: Int[np.ndarray, " N"]) -> Int[np.ndarray, " N"]:
    """0, 1, 2, ... within each run; runs follow each other."""
    length = np.bincount(run)
    return np.arange(len(run)) - (np.cumsum(length) - length)[run]
