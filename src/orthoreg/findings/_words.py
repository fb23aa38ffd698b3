"""Format numbers and lists of names for sentences and tables."""

import math
from collections.abc import Sequence

from .._common.notation import left_side

_LEAST_PERCENT = 0.01
_FEWEST_DIGITS, _MOST_DIGITS = 4, 7  # digits of the ends of an interval
_SMALL = 1e-3  # absolute value below which numbers are written with an exponent
NOT_A_PROBABILITY = (
    "In brackets: the weight of the sets of terms that contain the term, among all that were "
    "compared. It is not a probability, because the misfit of the equation exceeds the noise."
)


def percent(share: float) -> str:
    """Return a share as '12%' or '0.3%', with at most two digits.

    >>> percent(0.123), percent(-2.3), percent(-1e-9), percent(float("nan"))
    ('12%', '-230%', 'less than 0.01%', 'not known')
    """
    value = 100 * share
    if math.isnan(value):
        return "not known"
    if math.isinf(value):
        return "infinitely much"
    if value <= -_LEAST_PERCENT:
        return f"-{percent(-share)}"
    if value < _LEAST_PERCENT:
        return f"less than {_LEAST_PERCENT}%"
    if value >= 1000:
        return f"{value:.1e}%"
    return f"{value:.0f}%" if value >= 9.95 else f"{value:.2g}%"


def whole_percent(share: float) -> str:
    """Return a share as a percentage without decimals, for tables.

    >>> whole_percent(0.514), whole_percent(-0.001), whole_percent(float("nan"))
    ('51%', '0%', '-')
    """
    return f"{round(100 * share):d}%" if math.isfinite(share) else "-"


def interval(low: float, high: float) -> str:
    """Return the ends of an interval with enough digits to distinguish them.

    A narrow interval is written as its centre and half-width.

    >>> interval(-1.2, 3.5), interval(0.99987, 1.00003), interval(1 - 2e-9, 1 + 2e-9)
    ('-1.200 to 3.500', '0.99987 to 1.00003', '1.000 ± 2e-09')
    """
    if math.isinf(low) and math.isinf(high):
        return "not determined"
    width, size = high - low, max(abs(low), abs(high))
    if not 0 < width < math.inf or size == 0:
        return f"{low:#.4g} to {high:#.4g}"
    decimals = 1 - math.floor(math.log10(width))  # two digits of the interval's width
    digits = decimals + 1 + math.floor(math.log10(size))
    if digits > _MOST_DIGITS:
        return f"{(low + high) / 2:#.{_FEWEST_DIGITS}g} ± {width / 2:.1g}"
    if digits > _FEWEST_DIGITS and decimals > 0 and size > _SMALL:
        return f"{low:.{decimals}f} to {high:.{decimals}f}"
    digits = max(digits, _FEWEST_DIGITS)
    return f"{low:#.{digits}g} to {high:#.{digits}g}"


def rates(names: Sequence[str]) -> str:
    """Return the derivatives of states as text, such as "theta' and omega'"."""
    return listed([left_side(name) for name in names])


def listed(names: Sequence[str], most: int = 4) -> str:
    """Return 'a', 'a and b', 'a, b and c' or 'a, b, c and 7 more'."""
    shown = list(names[:most])
    if len(names) > most:
        shown[-1:] = [f"{len(names) - most + 1} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def counted(count: int, noun: str) -> str:
    """Return '1 run' or '2 runs'."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def number(value: float | None) -> str:
    """Return a number with two significant digits, or '-' if it is unknown."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if math.isinf(value):
        return "inf"
    if value == 0:
        return "0"
    return f"{value:.2g}" if 1e-3 <= abs(value) < 1e4 else f"{value:.1e}"
