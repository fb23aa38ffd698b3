"""What a refinement gives back."""

from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float

from ..field.hybrid import HybridField
from ._uncertainty import Uncertainty


@final
@dataclass(frozen=True, eq=False)
class Refinement:
    """Constants estimated by matching trajectories, and how well they are known.

    `uncertainty` has the estimates with their joint covariance. Where this comes from how scores
    vary between runs or stretches (`is_sandwich`), its degrees of freedom are one less than their
    number; else how many more values there are than were estimated. `noise` is the standard
    deviation of the residuals of each state, infinite where the state was not measured.
    `error_before` and `error_after` are root mean squared errors of forecasts of held-out data, in
    standard deviations of the states. `status` says it in a sentence. A refinement that was not
    `kept` has the field as it was, and no uncertainty.
    """

    field: HybridField
    kept: bool
    status: str
    uncertainty: Uncertainty | None = None
    is_sandwich: bool = False
    noise: Float[np.ndarray, " n"] | None = None
    error_before: float = np.nan
    error_after: float = np.nan
    segment_rows: int = 0
    rows_used: int = 0

    @property
    def places(self) -> tuple[tuple[int, int], ...]:
        """The equation and term of each coefficient that was estimated."""
        return () if self.uncertainty is None else self.uncertainty.places

    @property
    def parameters(self) -> tuple[str, ...]:
        """The inner parameters that were estimated; they follow the coefficients."""
        return () if self.uncertainty is None else self.uncertainty.parameters

    @property
    def values(self) -> Float[np.ndarray, " k"] | None:
        return None if self.uncertainty is None else self.uncertainty.values

    @property
    def covariance(self) -> Float[np.ndarray, "k k"] | None:
        return None if self.uncertainty is None else self.uncertainty.covariance

    @property
    def degrees_of_freedom(self) -> float:
        return np.inf if self.uncertainty is None else self.uncertainty.degrees_of_freedom

    @property
    def standard_errors(self) -> Float[np.ndarray, " k"] | None:
        """Of each constant, in the order of `values`."""
        return None if self.uncertainty is None else self.uncertainty.standard_errors

    def interval(self, level: float = 0.95) -> Float[np.ndarray, "k 2"] | None:
        """The interval of each constant, within its bounds."""
        return None if self.uncertainty is None else self.uncertainty.interval(level)

    def coefficient_intervals(self, level: float = 0.95) -> Float[np.ndarray, "c K 2"] | None:
        """The intervals as an array like the coefficients; a coefficient that was not estimated
        has an interval of length zero."""
        if self.uncertainty is None:
            return None
        return self.uncertainty.coefficient_intervals(np.asarray(self.field.coefficients), level)

    def __repr__(self) -> str:
        return f"Refinement({self.status})"
