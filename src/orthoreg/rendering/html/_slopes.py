"""Rows of the data with the derivatives that a model is measured against."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from jaxtyping import Float

from ..._common.errors import DataError
from ...data import Dataset
from ..views import rows_of

_ROWS = 8_000


@final
@dataclass(frozen=True, eq=False)
class Slopes:
    """Some rows and their derivatives, or the reason why these are not known."""

    rows: Dataset
    values: Float[np.ndarray, "N n"] | None
    reason: str = ""


def slopes_of(model: Any, data: Dataset) -> Slopes:
    """Derivatives at some of the rows, as the model's loss has them."""
    rows = rows_of(data, _ROWS)
    try:
        return Slopes(rows, np.asarray(model.target_derivatives(rows)))
    except DataError as problem:  # runs that are too short
        return Slopes(rows, None, str(problem))
