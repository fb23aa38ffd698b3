"""`ParametricTerm`: a formula with inner parameters, its starting values and its symmetries."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import final

import numpy as np
from jaxtyping import Bool, Float

from ...physics import Symmetries
from ...terms import (
    Call,
    Expression,
    Number,
    Parameter,
    Power,
    Product,
    Program,
    Sum,
    Variable,
    compiled,
    derivative,
    run,
    substitute,
    variables_of,
)
from . import _limits as limits


@final
@dataclass(frozen=True, eq=False)
class ParametricTerm:
    """One formula of the variables.

    `grid` holds a row for each start of its `parameters`, `low` and `high` their bounds. `family`
    is the kind of function; terms of the library are `known`, `written_as` the library has them,
    and `is_expected`, hence cheap, where a user chose that library; so is a shape that another
    equation has, which `is_shared`, if with the roles of variables exchanged a `copy_of` its
    formula there. A shape with a `numerator` is
    that over a denominator, which terms of one equation share, parameters included. A formula
    that jumps at a parameter has no derivative by it: where `widths` is not zero, differences over
    so much to either side take its place, as a jump moves through the rows that are near.
    """

    expression: Expression
    family: str
    parameters: tuple[str, ...] = ()
    grid: Float[np.ndarray, "g q"] = field(default_factory=lambda: np.zeros((1, 0)))
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    known: bool = False
    is_expected: bool = False
    is_shared: bool = False
    written_as: str = ""
    numerator: Expression | None = None
    copy_of: Expression | None = None
    widths: tuple[float, ...] = ()

    @cached_property
    def program(self) -> Program:
        return compiled([self.expression])

    @cached_property
    def program_with_slopes(self) -> Program:
        """The formula, then its derivatives by the parameters."""
        slopes = (derivative(self.expression, name) for name in self.parameters)
        return compiled([self.expression, *slopes])

    def columns(
        self, points: Float[np.ndarray, "M V"], grid: Float[np.ndarray, "g q"]
    ) -> Float[np.ndarray, "M g"]:
        """The values at points, for each row of parameters; not finite beyond the domain."""
        named = {name: grid[:, i] for i, name in enumerate(self.parameters)}
        variables = [column[:, None] for column in points.T]
        with np.errstate(all="ignore"):
            values = run(self.program, variables, np, named)[0]
        return np.array(np.broadcast_to(np.asarray(values, dtype=float), (len(points), len(grid))))

    def linearised(
        self, points: Float[np.ndarray, "M V"], values: Sequence[float]
    ) -> Float[np.ndarray, "M k"]:
        """The values at points, then the derivatives by the parameters."""
        named = dict(zip(self.parameters, values, strict=True))
        with np.errstate(all="ignore"):
            parts = run(self.program_with_slopes, list(points.T), np, named)
        for i, width in enumerate(self.widths, start=1):
            if width:
                ends = np.array([values, values], dtype=float)
                ends[:, i - 1] += (-width, width)
                parts[i] = np.diff(self.columns(points, ends), axis=1)[:, 0] / (2 * width)
        return np.column_stack([np.broadcast_to(part, len(points)) for part in parts])

    def at(self, values: Sequence[float]) -> Expression:
        """The formula with these numbers in the place of its parameters."""
        numbers = {
            name: Number(float(value)) for name, value in zip(self.parameters, values, strict=True)
        }
        return substitute(self.expression, numbers) if numbers else self.expression


def symbols(item: Expression) -> int:
    """How many variables, numbers and functions (which count twice) the formula is written with;
    signs and the number one are free. A power counts as the product that it is."""
    match item:
        case Number(value):
            return int(abs(value) != 1)
        case Variable() | Parameter():
            return 1
        case Sum(parts) | Product(parts):
            return sum(symbols(part) for part in parts)
        case Power(base, exponent):
            return symbols(base) + _of_exponent(exponent)
        case Call(_, argument):
            return 2 + symbols(argument)


def _of_exponent(item: Expression) -> int:
    """x**3 is x*x*x, and a minus is a sign more; numbers that are not whole count like three."""
    if not isinstance(item, Number):
        return symbols(item)
    size = abs(item.value)
    steps = min(size - 1, limits.MAX_POWER_SYMBOLS) if size.is_integer() else 2
    return int(max(steps, 0)) + int(item.value < 0)


def symmetric(
    shapes: Sequence[ParametricTerm], symmetries: Symmetries | None, output: int
) -> list[ParametricTerm]:
    """The shapes that have the symmetries; where only certain values of the parameters have them,
    as whole frequencies have a period, these are held."""
    found: list[ParametricTerm] = []
    for one in shapes:
        sound = symmetric_values(one, symmetries, output)
        found += [one] if sound.all() else [held(one, row) for row in one.grid[sound].tolist()]
    return found


def symmetric_values(
    one: ParametricTerm, symmetries: Symmetries | None, output: int
) -> Bool[np.ndarray, " g"]:
    """With which rows of its grid a shape has the symmetries: all or none where these are mirrors
    alone, which no number inside a formula makes."""
    if symmetries is None or not symmetries.any:
        return np.ones(len(one.grid), dtype=bool)
    sound = _has(one, symmetries, output)
    return sound if sound.all() or symmetries.periods.any() else np.zeros_like(sound)


def held(one: ParametricTerm, values: Sequence[float]) -> ParametricTerm:
    """The shape with these numbers in the place of its parameters."""
    none = np.zeros((1, 0))
    return replace(
        one, expression=one.at(values), parameters=(), grid=none, low=(), high=(), widths=()
    )


def _has(one: ParametricTerm, symmetries: Symmetries, output: int) -> Bool[np.ndarray, " g"]:
    """Whether the shape has all symmetries, for each row of its grid, tried at random points."""
    rng = np.random.default_rng(0)
    width = max(len(symmetries.periods), 1 + max(variables_of(one.expression), default=0))
    points = rng.uniform(0.2, 1.8, (limits.SYMMETRY_POINTS, width))
    further = np.ones(width - len(symmetries.periods))  # time, which no symmetry moves
    here = one.columns(points, one.grid)
    sound = np.ones(here.shape[1], dtype=bool)
    moved = [
        (points * np.append(mirror, further), float(sign[output]))
        for mirror, sign in zip(symmetries.mirrors, symmetries.parity, strict=True)
    ]
    moved += [
        (points + symmetries.periods[v] * np.eye(width)[v], 1.0)
        for v in np.flatnonzero(symmetries.periods)
    ]
    for place, sign in moved:
        there = one.columns(place, one.grid)
        apart = np.abs(there - sign * here).max(axis=0)
        sound &= apart <= limits.SYMMETRY_TOLERANCE * np.maximum(np.abs(here).max(axis=0), 1e-300)
    return sound
