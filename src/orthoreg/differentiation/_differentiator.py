"""What a differentiator is, and the windows of neighbours that most of them work on."""

import abc
from collections.abc import Iterator

import numpy as np
from jaxtyping import Float, Int

from .._errors import DataError
from ..data import Dataset

_BLOCK = 8192  # rows


class AbstractDifferentiator(abc.ABC):
    """Dataset -> the same runs with an estimate of each state's derivative."""

    @property
    @abc.abstractmethod
    def min_points(self) -> int:
        """The fewest points a run must have."""

    @abc.abstractmethod
    def slopes(self, data: Dataset) -> Float[np.ndarray, "N n"]:
        """The derivative of the states at every row."""

    @abc.abstractmethod
    def rule(self, data: Dataset) -> "AbstractDifferentiator":
        """What is used for these data: the differentiator itself, unless it is one that chooses."""

    @abc.abstractmethod
    def coarser(self) -> "AbstractDifferentiator | None":
        """A rule of the same kind with a larger systematic error, if there is one."""

    def systematic_error(
        self, data: Dataset, slopes: Float[np.ndarray, "N n"]
    ) -> Float[np.ndarray, " n"]:
        """An estimate of the mean squared error of these slopes, its own, that is not noise.

        A quarter of the squared difference to the next coarser rule; zero where there is none.
        """
        coarser = self.coarser()
        if coarser is None or data.run_lengths.min() < coarser.min_points:
            return np.zeros(data.n_states)
        away = coarser.slopes(data)
        away -= slopes
        return np.vecdot(away.T, away.T) / (4 * data.n_samples)

    def __call__(self, data: Dataset) -> Dataset:
        """The dataset with its derivatives filled in."""
        check_lengths(data, self.min_points, self)
        return data.with_derivatives(self.slopes(data))


def check_lengths(data: Dataset, least: int, who: object) -> None:
    """Refuses runs that are too short, naming the first."""
    short = np.flatnonzero(data.run_lengths < least)
    if short.size:
        run = int(short[0])
        length = int(data.run_lengths[run])
        raise DataError(
            f"{data.source}: run {data.labels[run]} has {length} point{'s' * (length != 1)}; "
            f"{who!r} needs at least {least} in each run. Remove the short runs ({short.size} of "
            f"{data.n_runs}){' or choose a smaller window' if hasattr(who, 'window') else ''}."
        )


def check_equal_steps(data: Dataset, who: object) -> None:
    """Refuses runs whose steps differ, and says what to use instead."""
    unequal = np.flatnonzero(~data.has_equal_steps())
    if unequal.size:
        run = int(unequal[0])
        steps = np.diff(data.times[data.offsets[run] : data.offsets[run + 1]])
        raise DataError(
            f"{who!r} needs equal time steps; those of run {data.labels[run]} go from "
            f"{steps.min():g} to {steps.max():g}. For unequal steps use FiniteDifference(), "
            f"LocalPolynomial(window, degree), SmoothingSpline() or Automatic()."
        )


def windows(
    data: Dataset, width: int, rows: Int[np.ndarray, " B"] | None = None
) -> tuple[Int[np.ndarray, " B"], Int[np.ndarray, " B"]]:
    """For each of these rows, the first row of its window and its own place in that window.

    By default for all rows. A window is centred on its row, and shifted inwards near the ends of
    a run.
    """
    rows = np.arange(data.n_samples) if rows is None else rows
    run = np.searchsorted(data.offsets, rows, side="right") - 1
    start = np.clip(rows - width // 2, data.offsets[run], data.offsets[run + 1] - width)
    return start, rows - start


def near_ends(data: Dataset, width: int) -> Int[np.ndarray, " B"]:
    """The rows whose windows are shifted inwards. All others are in the middle of theirs, so that
    one pass of slices over the rows, whatever their runs, serves them."""
    first = data.offsets[:-1, None] + np.arange(width // 2)
    last = data.offsets[1:, None] - np.arange(1, width - width // 2)
    return np.concatenate([first.ravel(), last.ravel()])


def blocks(data: Dataset, width: int) -> Iterator[tuple[int, int]]:
    """First and last of rows that a window can start at, few enough to stay in the cache."""
    count = data.n_samples - width + 1
    for first in range(0, count, _BLOCK):
        yield first, min(first + _BLOCK, count)
