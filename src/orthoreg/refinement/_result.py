"""What a refinement gives back."""

from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float

from .._field import HybridField


@final
@dataclass(frozen=True, eq=False)
class Refinement:
    """Constants estimated by matching trajectories, and how well they are known.

    `places` are the equation and term of each coefficient, `parameters` the names of the inner
    parameters; `values` and `covariance` follow these, coefficients first. Where the covariance
    comes from how scores vary between runs or stretches (`is_sandwich`), `degrees_of_freedom` is
    one less than their number; else how many more values there are than were estimated. `noise`
    is the standard deviation of the residuals of each state, infinite where the state was not
    measured. `error_before` and `error_after` are root mean squared errors of forecasts of
    held-out data, in standard deviations of the states. `status` says it in a sentence. A
    refinement that was not `kept` has the field as it was, and no covariance.
    """

    field: HybridField
    kept: bool
    status: str
    places: tuple[tuple[int, int], ...] = ()
    parameters: tuple[str, ...] = ()
    values: Float[np.ndarray, " k"] | None = None
    covariance: Float[np.ndarray, "k k"] | None = None
    degrees_of_freedom: float = np.inf
    is_sandwich: bool = False
    noise: Float[np.ndarray, " n"] | None = None
    error_before: float = np.nan
    error_after: float = np.nan
    segment_rows: int = 0
    rows_used: int = 0

    @property
    def standard_errors(self) -> Float[np.ndarray, " k"] | None:
        """Of each constant, in the order of `values`."""
        return None if self.covariance is None else np.sqrt(np.diag(self.covariance))

    def interval(self, level: float = 0.95) -> Float[np.ndarray, "k 2"] | None:
        """The interval of each constant, by Student's distribution."""
        if self.values is None or self.standard_errors is None:
            return None
        half = self._quantile(level) * self.standard_errors
        return np.stack([self.values - half, self.values + half], axis=1)

    def coefficient_intervals(self, level: float = 0.95) -> Float[np.ndarray, "c K 2"] | None:
        """The intervals as an array like the coefficients; one that was not estimated has none to
        either side of its value."""
        found = self.interval(level)
        if found is None:
            return None
        ends = np.repeat(np.array(self.field.coefficients)[:, :, None], 2, axis=2)
        for i, (equation, term) in enumerate(self.places):
            ends[equation, term] = found[i]
        return ends

    def _quantile(self, level: float) -> float:
        from scipy.special import ndtri, stdtrit

        if np.isfinite(self.degrees_of_freedom):
            return float(stdtrit(self.degrees_of_freedom, (1 + level) / 2))
        return float(ndtri((1 + level) / 2))

    def __repr__(self) -> str:
        return f"Refinement({self.status})"
