"""Detect samples that are too far apart to identify a flow, but whose rows follow a map."""

import numpy as np
from jaxtyping import Float

from ...data import EQUAL_MAP_STEPS, Dataset
from .. import _limits as limits
from .._findings import Advice
from .._observations import of_map
from .._words import listed, percent


def discrete(data: Dataset, period: Float[np.ndarray, " n"] | None) -> Advice | None:
    """Return advice to fit a map if samples are too far apart for derivatives, but each row
    determines the next.

    `period` is the number of rows of an oscillation of each state.
    """
    is_flow = not data.discrete and data.derivatives is None and not data.velocity_of
    if not is_flow or period is None or not data.has_equal_steps(EQUAL_MAP_STEPS).all():
        return None
    coarse = [
        name
        for name, rows in zip(data.state_names, period, strict=True)
        if rows < limits.MIN_SAMPLES_PER_PERIOD
    ]
    if not coarse:
        return None
    step = float(np.median(data.step_of_run()))
    next_rows = of_map(data.with_parts(step=step)).first_order()
    if next_rows is None or not next_rows.enough:
        return None
    worst = float(np.max(next_rows.share))
    if worst > limits.DETERMINED_SHARE:
        return None
    variables = listed([f"{name}[k]" for name in data.variable_names])
    many, turn = len(data.variable_names) > 1, "turn" if len(coarse) > 1 else "turns"
    return Advice(
        "discrete",
        f"Samples are too far apart to identify a flow: {listed(coarse)} {turn} every few rows. "
        f"But {variables} determine{'' if many else 's'} the next row (except up to "
        f"{percent(worst)} of its variance). Fit a map, x[k+1] = f(x[k]): --discrete on the "
        "command line, read_table(discrete=True) or Dataset.from_arrays(discrete=True) in Python.",
    )
