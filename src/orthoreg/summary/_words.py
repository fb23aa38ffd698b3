"""Numbers and lists of names in sentences and tables."""

import math
from collections.abc import Sequence

_LEAST_PERCENT = 0.01
NOT_A_PROBABILITY = (
    "In brackets: how often resamples choose the term. It is not a probability, because the "
    "terms of the equation leave more than noise."
)


def percent(share: float) -> str:
    """'12 %', '0.3 %'; two digits at most, as no more is meant.

    >>> percent(0.123), percent(-2.3), percent(-1e-9), percent(float("nan"))
    ('12 %', '-230 %', 'less than 0.01 %', 'not known')
    """
    value = 100 * share
    if math.isnan(value):
        return "not known"
    if math.isinf(value):
        return "infinitely much"
    if value <= -_LEAST_PERCENT:
        return f"-{percent(-share)}"
    if value < _LEAST_PERCENT:
        return f"less than {_LEAST_PERCENT} %"
    if value >= 1000:
        return f"{value:.1e} %"
    return f"{value:.0f} %" if value >= 9.95 else f"{value:.2g} %"


def whole_percent(share: float) -> str:
    """A share without decimals, as tables show it.

    >>> whole_percent(0.514), whole_percent(-0.001), whole_percent(float("nan"))
    ('51 %', '0 %', '-')
    """
    return f"{round(100 * share):d} %" if math.isfinite(share) else "-"


def rates(names: Sequence[str], most: int = 4) -> str:
    """ "theta' and omega'": the derivatives of these states."""
    return listed([f"{name}'" for name in names], most)


def listed(names: Sequence[str], most: int = 4) -> str:
    """'a', 'a and b', 'a, b and c', 'a, b, c and 7 more'."""
    shown = list(names[:most])
    if len(names) > most:
        shown[-1:] = [f"{len(names) - most + 1} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def counted(count: int, noun: str) -> str:
    """'1 run', '2 runs'."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def number(value: float | None) -> str:
    """Two significant digits; '-' for none."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if math.isinf(value):
        return "inf"
    if value == 0:
        return "0"
    return f"{value:.2g}" if 1e-3 <= abs(value) < 1e4 else f"{value:.1e}"
