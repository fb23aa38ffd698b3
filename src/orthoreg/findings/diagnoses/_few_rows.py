"""Too few rows: for the number of candidate terms, for a period, or in each run."""

import numpy as np
from jaxtyping import Float

from ...data import Dataset
from .. import _limits as limits
from .._summary import Advice
from .._words import counted, listed


def few_rows(
    data: Dataset, n_terms: int, period: Float[np.ndarray, " n"] | None = None
) -> Advice | None:
    """Advice where rows are fewer than five for each of `n_terms` candidate terms, than eight a
    `period` (in rows, of each state), or than six in most runs."""
    reasons = []
    are = "is" if data.n_samples == 1 else "are"
    if data.n_samples < limits.MIN_ROWS_PER_TERM * n_terms:
        reasons.append(
            f"{counted(data.n_samples, 'row')} {are} few for {counted(n_terms, 'candidate term')}: "
            f"measure at least {limits.MIN_ROWS_PER_TERM * n_terms}, or choose a smaller library"
        )
    coarse = [] if period is None else [
        f"{name} (about {rows:.0f})"
        for name, rows in zip(data.state_names, period, strict=True)
        if rows < limits.MIN_SAMPLES_PER_PERIOD and name not in data.estimated
    ]  # fmt: skip
    if coarse:
        reasons.append(
            f"rows per period are few for derivatives to be seen: {listed(coarse)}; sample at "
            f"least {limits.MIN_SAMPLES_PER_PERIOD} times a period, better 20 times"
        )
    if np.median(data.run_lengths) < limits.MIN_ROWS_PER_RUN:
        reasons.append(
            f"runs of {int(np.median(data.run_lengths))} rows show little of how the states "
            f"change: longer runs, or measured derivatives, would"
        )
    if not reasons:
        return None
    text = "; ".join(reasons)
    return Advice("few-rows", f"{text[0].upper()}{text[1:]}.")
