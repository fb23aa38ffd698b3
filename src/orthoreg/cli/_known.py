"""What is known beside the data, as options: equations, constants, bounds, relations, a file."""

import math
from pathlib import Path
from typing import Annotated, Any

import typer

from .._common.errors import InputError

Known = Annotated[
    list[str] | None,
    typer.Option(
        help='An equation that is known, "theta\' = omega", or a part of one, '
        '"omega\' = -g/L*sin(theta) + ...". Other words are constants. Repeat for more.'
    ),
]
Value = Annotated[
    list[str] | None,
    typer.Option(help="The value of a constant, g=9.81; others are estimated. Repeat for more."),
]
BoundOption = Annotated[
    list[str] | None,
    typer.Option(
        "--bound",
        help='A bound on a coefficient, "omega\': omega <= 0", or on a constant, '
        '"0.1 <= L <= 2". Repeat for more.',
    ),
]
Relation = Annotated[
    list[str] | None,
    typer.Option(
        help='A linear relation between coefficients, "coef(x, x*y) = -coef(y, x*y)". Repeat for '
        "more."
    ),
]
PhysicsFile = Annotated[
    Path | None,
    typer.Option(
        help="All of it in a TOML file: equations, values, required, forbidden, bounds, relations, "
        "conserved, symmetry."
    ),
]


def physics_in(
    known: list[str] | None,
    values: list[str] | None,
    bounds: list[str] | None,
    relations: list[str] | None,
    file: Path | None,
) -> Any:
    """What the options say is known, and a file; None if they say nothing."""
    if not (known or values or bounds or relations or file):
        return None
    from ..physics import parse_bound, parse_equation, physics_of, read_fields

    fields: dict[str, Any] = {} if file is None else read_fields(file)
    added: dict[str, list[Any]] = {
        "equations": [parse_equation(one) for one in known or ()],
        "values": [_constant(one) for one in values or ()],
        "bounds": [parse_bound(one) for one in bounds or ()],
        "relations": list(relations or ()),
    }
    for name, more in added.items():
        before = fields.get(name, [])
        if isinstance(before, dict):
            before = list(before.items())
        fields[name] = [*([before] if isinstance(before, str) else before), *more]
    return physics_of(fields)


def _constant(text: str) -> tuple[str, float]:
    """Name and number of 'g=9.81'."""
    name, sign, number = (part.strip() for part in text.partition("="))
    try:
        found = float(number)
    except ValueError:
        found = math.nan
    if not sign or not name or not math.isfinite(found):
        raise InputError(f"--value must be such as g=9.81; got '{text}'.")
    return name, found
