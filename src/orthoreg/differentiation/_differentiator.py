"""What a differentiator is, and what it refuses."""

import abc

import numpy as np
from jaxtyping import Float

from .._common.errors import DataError
from ..data import Dataset


class AbstractDifferentiator(abc.ABC):
    """Dataset -> the same runs with an estimate of each state's derivative."""

    @property
    @abc.abstractmethod
    def min_points(self) -> int:
        """The fewest points a run must have."""

    @abc.abstractmethod
    def slopes(self, data: Dataset) -> Float[np.ndarray, "N n"]:
        """The derivative of the states at every row."""

    def rule(self, data: Dataset) -> "AbstractDifferentiator":
        """What is used for these data: the differentiator itself, unless it is one that chooses."""
        return self

    def coarser(self) -> "AbstractDifferentiator | None":
        """A rule of the same kind with a larger systematic error, if there is one."""
        return None

    def systematic_error(
        self, data: Dataset, slopes: Float[np.ndarray, "N n"]
    ) -> Float[np.ndarray, " n"]:
        """An estimate of the mean squared error of these slopes, its own, that is not noise.

        A quarter of the squared difference to the next coarser rule; zero where there is none.
        """
        coarser = self.coarser()
        if coarser is None or data.run_lengths.min() < coarser.min_points:
            return np.zeros(data.n_states)
        some = data.sample
        away = coarser.slopes(some)
        away -= slopes if some is data else self.slopes(some)
        return np.vecdot(away.T, away.T) / (4 * some.n_samples)

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
