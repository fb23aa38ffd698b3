"""Quantities that depend on the estimated constants of a field, with their intervals."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from ..field.hybrid import HybridField
from ..fitting import with_estimates
from ..matching import Uncertainty


def intervals_of(
    field: HybridField,
    estimates: Uncertainty | None,
    quantity: Callable[[HybridField], Float[np.ndarray, " q"]],
) -> Float[np.ndarray, "q 2"] | None:
    """Return the 95% interval of each element of a quantity of the field.

    Return None if the field has no estimated constants.

    An element that the data do not determine has an infinite interval.
    """
    if estimates is None:
        return None
    memory: dict[bytes, np.ndarray] = {}

    def at(values: np.ndarray) -> np.ndarray:
        key = values.tobytes()
        if key not in memory:
            memory[key] = quantity(with_estimates(field, estimates, values))
        return memory[key]

    result = np.zeros((len(at(estimates.values)), 2))
    for i in range(len(result)):

        def element(values: np.ndarray, i: int = i) -> float:
            return float(at(values)[i])

        result[i] = estimates.interval_of(element)
        if np.any(estimates.relative_changes(element)):
            result[i] = [-np.inf, np.inf]
    return result
