"""Names of derivatives, and left sides of equations: theta' for a flow and x[k+1] for a map."""

import re
from collections.abc import Iterable, Sequence

_NEXT = "[k+1]"
_POWERS = ("", "²", "³", "⁴")
_DERIVATIVE = re.compile(r"(.+_d*)(dot)_*")


def derivative_name(name: str) -> str:
    """Return the name of the derivative of a state.

    >>> derivative_name("theta"), derivative_name("theta_dot"), derivative_name("x_ddot")
    ('theta_dot', 'theta_ddot', 'x_dddot')
    """
    match = _DERIVATIVE.fullmatch(name)
    return f"{name}_dot" if match is None else f"{match[1]}d{match[2]}"


def rate_unit(unit: str, time: str) -> str:
    """Return the unit of a derivative.

    >>> rate_unit("m", "s"), rate_unit("m/s", "s"), rate_unit("m/s²", "s")
    ('m/s', 'm/s²', 'm/s³')
    """
    base, per, power = unit.rpartition(f"/{time}")
    if not per or power not in _POWERS[:-1]:
        return f"{unit}/{time}"
    return f"{base}{per}{_POWERS[_POWERS.index(power) + 1]}"


def next_values(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the equations of a map, which are their left sides.

    >>> next_values(["x", "y"])
    ('x[k+1]', 'y[k+1]')
    """
    return tuple(f"{name}{_NEXT}" for name in names)


def left_side(equation: str) -> str:
    """Return the left side of the equation with this name.

    >>> left_side("x"), left_side("theta'"), left_side("x[k+1]")
    ("x'", "theta''", 'x[k+1]')
    """
    return equation if equation.endswith(_NEXT) else f"{equation}'"


def is_next(equation: str) -> bool:
    """Return whether this is the name of an equation of a map."""
    return equation.endswith(_NEXT)


def target_word(equations: Iterable[str]) -> str:
    """Return what equations with these names give: 'derivative' or 'next value'.

    >>> target_word(["x"]), target_word(["x[k+1]"])
    ('derivative', 'next value')
    """
    return "next value" if any(map(is_next, equations)) else "derivative"


def variable_of(equation: str) -> str:
    """Return the variable whose derivative or next value this equation gives.

    >>> variable_of("x"), variable_of("theta'"), variable_of("x[k+1]")
    ('x', 'theta', 'x')
    """
    return equation.removesuffix(_NEXT).rstrip("'")
