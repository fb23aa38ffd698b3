"""Second order: a state's rate is no function of the columns, but its second derivative is."""

from collections.abc import Sequence

import numpy as np

from .._neighbours import Determination
from .._summary import Advice
from .._thresholds import DETERMINED, MUCH, UNDETERMINED
from .._words import listed, rates


def second_order(
    names: tuple[str, ...],
    failing: Sequence[int],
    first: Determination | None,
    second: Determination | None,
) -> tuple[Advice | None, list[int]]:
    """Advice, and the states it is about: those among `failing` whose rate the columns do not
    determine, and whose second derivative columns and rates together do."""
    if first is None or second is None or not (first.enough and second.enough):
        return None, []
    found = [
        c
        for c in failing
        if first.share[c] > UNDETERMINED
        and second.share[c] < min(DETERMINED, MUCH * first.share[c])
    ]
    if not found:
        return None, []
    states = [names[c] for c in found]
    one = len(found) == 1
    explained = max(0.0, float(np.max(second.share[found])))
    return Advice(
        "second-order",
        f"{rates(states)} {'is' if one else 'are'} no function of the columns given, but the "
        f"second derivative of {listed(states)} is a function of columns and rates (it explains "
        f"{100 * (1 - explained):.0f} % of it): the system is of second order. Give the velocity "
        f"as a state too: add a column with the derivative of {listed(states)}.",
    ), found
