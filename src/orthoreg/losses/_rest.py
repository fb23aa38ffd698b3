"""Velocities at rest, where dry friction balances whatever acts, which no term can represent."""

from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Bool, Float

from ..data import Dataset
from ..smoothing import Windows, bump_windows
from . import _limits as limits


@final
@dataclass(frozen=True, eq=False)
class Rest:
    """When the velocities that were not measured rest: slower than a hundredth of their root mean
    square `size`, for five rows and three times as long as it takes to turn round, which are the
    `fewest` rows of a rest."""

    size: Float[np.ndarray, " k"]
    fewest: Float[np.ndarray, " k"]

    @classmethod
    def of(cls, data: Dataset) -> "Rest":
        """What these runs say of it."""
        place = _places(data)
        size = np.sqrt(np.mean(data.states[:, place] ** 2, axis=0))
        if not place:
            return cls(size, size)
        inside = np.diff(data.run_of_row) == 0
        steps = np.diff(data.times)[inside]
        rate = np.diff(data.states[:, place], axis=0)[inside] / steps[:, None]
        typical = np.maximum(np.sqrt(np.mean(rate**2, axis=0)), 1e-300)
        turning = 2 * limits.REST_SPEED * size / typical
        rows = limits.REST_TURNING_TIMES * turning / np.median(steps)
        return cls(size, np.maximum(limits.MIN_ROWS_AT_REST, rows))

    def rows(self, data: Dataset) -> Bool[np.ndarray, "N k"]:
        """Which rows of runs these velocities rest in."""
        slow = np.abs(data.states[:, _places(data)]) < limits.REST_SPEED * self.size
        for c, fewest in enumerate(self.fewest):
            edges = np.diff(slow[:, c].astype(int), prepend=0, append=0)
            begins, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
            for begin, end in zip(begins, ends, strict=True):
                if end - begin < fewest:
                    slow[begin:end, c] = False
        return slow

    def share(self, data: Dataset, windows: Windows) -> Float[np.ndarray, " R"]:
        """The share of each window in which one of them rests."""
        return np.asarray(windows.mean @ self.rows(data)).max(axis=1, initial=0.0)

    def most(self, data: Dataset, windows: Windows) -> float | None:
        """How much of a window may be at rest: the least that leaves enough windows; None where
        that is anything."""
        share = self.share(data, windows)
        fewest = limits.MIN_MOVING_WINDOWS * len(windows)
        enough = (most for most in limits.REST_SHARES if (share < most).sum() >= fewest)
        return next(enough, None)

    def most_of_width(self, data: Dataset, half_width: float, order: int) -> float | None:
        """The same for the windows of a width; None where nothing can rest, or no window fits."""
        if not len(self.size):
            return None
        windows = bump_windows(data.times, data.offsets, half_width, order)
        return self.most(data, windows) if len(windows) else None

    def left_out(self, data: Dataset, windows: Windows, most: float | None) -> Windows:
        """The windows that rest for less of their time than that."""
        if most is None or not len(self.size):
            return windows
        return windows.only(np.flatnonzero(self.share(data, windows) < most))


def moving(data: Dataset, windows: Windows) -> Windows:
    """The windows in which every velocity that was not measured moves all of the time.

    At rest dry friction balances whatever acts, which no term can say: sign(0) is 0. Windows with
    short rests are taken as well where too few would be left, and all of them where even these
    are few.
    """
    rest = Rest.of(data)
    return rest.left_out(data, windows, rest.most(data, windows))


def _places(data: Dataset) -> list[int]:
    return [data.state_names.index(name) for name in data.estimated]
