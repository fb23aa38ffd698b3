"""Names and numbers beside pictures: short, with their units."""

import math
from collections.abc import Mapping
from typing import Any

from ...data import Dataset
from ...export import equation_names

_LONGEST_NAME = 26
_TAIL = 9  # characters kept at the end of a name that is cut


def shortened(name: str, longest: int = _LONGEST_NAME) -> str:
    """A name on one line, cut in its middle where it is long: ends such as '_dot' matter.

    >>> shortened("temperature of the upper bearing_dot")
    'temperature of th…ring_dot'
    """
    name = " ".join(name.split())
    if len(name) <= longest:
        return name
    tail = min(_TAIL, longest // 3)
    return f"{name[: longest - tail - 1]}…{name[-tail:]}"


def labelled(
    name: str, units: Mapping[str, str], longest: int = _LONGEST_NAME, shown: str | None = None
) -> str:
    """'theta [rad]', of about `longest` characters at most; `shown` stands in the name's place.

    >>> labelled("theta", {"theta": "rad"}), labelled("n", {}), labelled("x_dot", {}, shown="x'")
    ('theta [rad]', 'n', "x'")
    """
    unit = f" [{shortened(units[name], 12)}]" if units.get(name) else ""
    return f"{shortened(shown or name, max(longest - len(unit), 8))}{unit}"


def variable_label(data: Dataset, place: int, longest: int = _LONGEST_NAME) -> str:
    """The label of a variable: theta' where it is the velocity theta_dot of theta."""
    shown = equation_names(data.variable_names, data.velocity_of)[place]
    return labelled(data.variable_names[place], data.units, longest, shown)


def number(value: float) -> str:
    """Two significant digits, for people.

    >>> number(0.2512), number(0.0000312), number(1.0), number(0.0), number(float("nan"))
    ('0.25', '3.1e-5', '1.0', '0', 'not known')
    """
    if math.isnan(value):
        return "not known"
    return f"{value:#.2g}".rstrip(".").replace("e-0", "e-") if value else "0"


def tick(value: float, _: Any = None) -> str:
    """A short number on an axis.

    >>> tick(0.25), tick(0.0004), tick(1.5e-7), tick(0.0)
    ('0.25', '4e-4', '1.5e-7', '0')
    """
    text = f"{value:.2g}" if value == 0 or abs(value) >= 1e-3 else f"{value:.1e}"
    return text.replace(".0e", "e").replace("e-0", "e-").replace("e+0", "e")
