"""`Uncertainty`: the joint covariance of all constants that were estimated, and their intervals."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np
from jaxtyping import Float

from ._limits import AT_A_BOUND, CORRELATED, TIED

LEVEL = 0.95
"""Of the intervals that are shown."""


@final
class Correlation(NamedTuple):
    """Two constants, by their names, whose estimates depend on each other."""

    first: str
    second: str
    value: float


@final
@dataclass(frozen=True, eq=False)
class Uncertainty:
    """Estimates of coefficients and inner parameters with their joint covariance.

    `places` are the equation and term of each coefficient, `parameters` the names of the inner
    parameters; all arrays follow these, coefficients first. Intervals are Student's with
    `degrees_of_freedom`. `stretch` is by how much the profile of the likelihood reaches further
    down and up than its quadratic approximation; `bounds` are the least and the largest value
    that each constant may have, which intervals never leave.
    """

    places: tuple[tuple[int, int], ...]
    parameters: tuple[str, ...]
    values: Float[np.ndarray, " k"]
    covariance: Float[np.ndarray, "k k"]
    degrees_of_freedom: float
    bounds: Float[np.ndarray, "k 2"]
    stretch: Float[np.ndarray, "k 2"]

    @property
    def standard_errors(self) -> Float[np.ndarray, " k"]:
        with np.errstate(invalid="ignore"):  # rounding may leave a variance below zero: not known
            return np.sqrt(np.diag(self.covariance))

    def interval(self, level: float = LEVEL) -> Float[np.ndarray, "k 2"]:
        """The interval of each constant."""
        reach = (self.quantile(level) * self.standard_errors)[:, None] * self.stretch
        ends = self.values[:, None] + reach * [-1.0, 1.0]
        return np.clip(ends, self.bounds[:, :1], self.bounds[:, 1:])

    def coefficient_intervals(
        self, coefficients: Float[np.ndarray, "c K"], level: float = LEVEL
    ) -> Float[np.ndarray, "c K 2"]:
        """The intervals as an array like the coefficients. A coefficient that was not estimated
        has an interval of length zero."""
        ends = np.repeat(np.array(coefficients)[:, :, None], 2, axis=2)
        for place, pair in zip(self.places, self.interval(level), strict=False):
            ends[place] = pair
        return ends

    def parameter_intervals(self) -> dict[str, tuple[float, float]]:
        """The intervals of the inner parameters."""
        ends = self.interval()[len(self.places) :].tolist()
        return {name: (low, high) for name, (low, high) in zip(self.parameters, ends, strict=True)}

    def interval_of(self, function: Callable[[np.ndarray], float]) -> tuple[float, float]:
        """The interval of a monotonic function of the constants: its values at the two points of
        the confidence ellipsoid that the gradient leads to. Not a number where the function is
        not defined at such a point."""
        gradient = self.gradient(function)
        used = np.flatnonzero(gradient)
        if len(used) == 1:  # its interval, profile and bounds included
            points = [self._moved(used, end) for end in self.interval()[used[0]]]
        else:
            toward = self.covariance @ gradient
            size = np.sqrt(max(float(gradient @ toward), 0.0))
            step = self.quantile() * toward / (size if size > 0 else 1.0)
            points = [np.clip(self.values + way * step, *self.bounds.T) for way in (-1.0, 1.0)]
        low, high = sorted(function(point) for point in points)
        return low, high

    def gradient(self, function: Callable[[np.ndarray], float]) -> Float[np.ndarray, " k"]:
        """Of a function of the constants, by differences of a small part of a standard error."""
        found = np.zeros(len(self.values))
        steps = 1e-3 * np.minimum(self.standard_errors, np.abs(self.values))
        for i, step in enumerate(np.maximum(steps, 1e-9 * np.abs(self.values))):
            if step > 0:
                ahead, behind = (self._moved(i, self.values[i] + way * step) for way in (1, -1))
                found[i] = (function(ahead) - function(behind)) / (2 * step)
        return found

    def _moved(self, place: int | np.ndarray, value: float) -> Float[np.ndarray, " k"]:
        moved = self.values.copy()
        moved[place] = value
        return moved

    def correlations(
        self, named: Sequence[tuple[str, Float[np.ndarray, " k"]]]
    ) -> tuple[Correlation, ...]:
        """Pairs of quantities, given by name and gradient, whose estimates are correlated by more
        than `CORRELATED`, strongest first."""
        if not named:
            return ()
        G = np.stack([gradient for _, gradient in named])
        covariance = G @ self.covariance @ G.T
        size = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        rho = covariance / np.maximum(np.outer(size, size), 1e-300)
        found = [
            Correlation(named[i][0], named[j][0], float(np.clip(rho[i, j], -1, 1)))
            for i in range(len(named))
            for j in range(i + 1, len(named))
            if CORRELATED < abs(rho[i, j]) < 1 - TIED
        ]
        return tuple(sorted(found, key=lambda pair: -abs(pair.value)))

    def at_bound(self) -> list[int]:
        """The places of the constants that a bound holds."""
        near = AT_A_BOUND * np.maximum(self.standard_errors, 1e-9 * np.abs(self.values))
        distance = np.abs(self.values[:, None] - self.bounds).min(axis=1)
        return np.flatnonzero(distance <= near).tolist()

    def quantile(self, level: float = LEVEL) -> float:
        """Of Student's distribution, for a two-sided interval."""
        from scipy.special import ndtri, stdtrit

        if np.isfinite(self.degrees_of_freedom):
            return float(stdtrit(self.degrees_of_freedom, (1 + level) / 2))
        return float(ndtri((1 + level) / 2))
