"""A forgotten input, state or parameter: the columns do not determine a rate."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _limits as limits
from .._held_out import held_out_values
from .._neighbours import Determination
from .._observations import Observations
from .._summary import Advice
from .._words import listed, percent, rates


def missing_variable(
    seen: Observations, features: Any, failing: Sequence[int], first: Determination | None
) -> Advice | None:
    """Advice where no function of the columns explains the rate of a state among `failing`.

    Where coefficients of their own for each run explain it, it says that runs differ.
    """
    if first is None or not first.enough:
        return None
    level = 0.0 if seen.motion is None else float(seen.motion.noise_level.max(initial=0.0))
    least = max(limits.UNDETERMINED_SHARE, limits.MISSING_VARIABLE_NOISE_FACTOR * level)
    found = [c for c in failing if first.share[c] > least]
    if not found:
        return None
    names = seen.labels
    worst = max(found, key=lambda c: first.share[c])
    share = percent(min(float(first.share[worst]), 1.0))
    columns = listed(seen.samples.names, most=6)
    if all(_differs_by_run(seen, features, c) for c in found):
        return Advice(
            "missing-variable",
            f"{rates([names[c] for c in found])} follows different laws in different runs: a "
            f"quantity that differs between runs is missing. Give it as an input, a column that "
            f"is constant in each run.",
        )
    return Advice(
        "missing-variable",
        f"No function of {columns} explains {rates([names[c] for c in found])}: equal values go "
        f"with different rates ({share} of the variance of {names[worst]}' is left). An input, "
        f"or a state such as a velocity, is missing from the table: add its column.",
    )


def _differs_by_run(seen: Observations, features: Any, equation: int) -> bool:
    """Whether the library fitted to each run alone does clearly better on held-out stretches."""
    samples = seen.samples
    run = samples.run_of_row
    length = np.bincount(run)
    if len(length) < 2:
        return False
    terms = features(samples.variables)
    place = np.arange(len(run)) - (np.cumsum(length) - length)[run]
    stretch = place * limits.STRETCHES_PER_RUN // length[run]
    target = samples.targets[:, [equation]]
    pooled = target - held_out_values(terms, target, stretch)
    own = np.zeros_like(target)
    long = length >= limits.MIN_ROWS_PER_TERM * terms.shape[1]
    for r in np.flatnonzero(long):
        rows = run == r
        own[rows] = target[rows] - held_out_values(terms[rows], target[rows], stretch[rows])
    rows = long[run]
    if rows.mean() < limits.MIN_SHARE_IN_LONG_RUNS:
        return False
    return bool(
        np.mean(own[rows] ** 2) < limits.MAX_REMAINING_ERROR**2 * np.mean(pooled[rows] ** 2)
    )
