"""`ParametricTerm`: a formula with inner parameters, their starting values, and its symmetries."""

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
    """A formula of the variables with inner parameters.

    `grid` has one row of starting values for its `parameters`; `low` and `high` are their bounds.
    `family` is the kind of function. Library terms are `known` and `written_as` in the library.
    They are cheap if `is_expected`, which means that the user chose the library. A term of another
    equation `is_shared`. A term whose variables have exchanged roles is a `copy_of` the original
    formula. A term with a `numerator` is this numerator divided by a denominator, which several
    terms of an equation share, with its parameters. A formula that jumps at a parameter has no
    derivative. If `widths` is not zero, a central difference with this half-width replaces it.
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
        """The formula, followed by its derivatives with respect to the parameters."""
        slopes = (derivative(self.expression, name) for name in self.parameters)
        return compiled([self.expression, *slopes])

    def columns(
        self, points: Float[np.ndarray, "M V"], grid: Float[np.ndarray, "g q"]
    ) -> Float[np.ndarray, "M g"]:
        """Return the values at points for each row of parameters.

        They are not finite outside the domain.
        """
        named = {name: grid[:, i] for i, name in enumerate(self.parameters)}
        variables = [column[:, None] for column in points.T]
        with np.errstate(all="ignore"):
            values = run(self.program, variables, np, named)[0]
        return np.array(np.broadcast_to(np.asarray(values, dtype=float), (len(points), len(grid))))

    def linearised(
        self, points: Float[np.ndarray, "M V"], values: Sequence[float]
    ) -> Float[np.ndarray, "M k"]:
        """Return the values at points, followed by the derivatives with respect to the
        parameters.
        """
        named = dict(zip(self.parameters, values, strict=True))
        with np.errstate(all="ignore"):
            parts = run(self.program_with_slopes, list(points.T), np, named)
        for i, width in enumerate(self.widths, start=1):
            if width:
                shifted = np.array([values, values], dtype=float)
                shifted[:, i - 1] += (-width, width)
                parts[i] = np.diff(self.columns(points, shifted), axis=1)[:, 0] / (2 * width)
        return np.column_stack([np.broadcast_to(part, len(points)) for part in parts])

    def at(self, values: Sequence[float]) -> Expression:
        """Return the formula with these numbers instead of its parameters."""
        numbers = {
            name: Number(float(value)) for name, value in zip(self.parameters, values, strict=True)
        }
        return substitute(self.expression, numbers) if numbers else self.expression


def symbols(item: Expression) -> int:
    """Return the number of variables, numbers and functions in a formula.

    Functions count twice. Signs and the number one do not count. A power counts as the product that
    it abbreviates.
    """
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
    """Return the number of symbols of an exponent.

    x**3 counts as x*x*x, a minus sign adds one symbol, and a non-integer counts like three.
    """
    if not isinstance(item, Number):
        return symbols(item)
    size = abs(item.value)
    factors = min(size - 1, limits.MAX_POWER_SYMBOLS) if size.is_integer() else 2
    return int(max(factors, 0)) + int(item.value < 0)


def symmetric(
    terms: Sequence[ParametricTerm], symmetries: Symmetries | None, output: int
) -> list[ParametricTerm]:
    """Return the terms that satisfy the symmetries.

    If only some parameter values satisfy them, such as integer frequencies for a period, these
    values are fixed.
    """
    result: list[ParametricTerm] = []
    for term in terms:
        is_symmetric = symmetric_values(term, symmetries, output)
        result += (
            [term]
            if is_symmetric.all()
            else [held(term, row) for row in term.grid[is_symmetric].tolist()]
        )
    return result


def symmetric_values(
    term: ParametricTerm, symmetries: Symmetries | None, output: int
) -> Bool[np.ndarray, " g"]:
    """Return a mask of the rows of a term's grid for which the term satisfies the symmetries.

    For mirror symmetries alone, either all or no rows satisfy them, because numbers inside a
    formula do not matter.
    """
    if symmetries is None or not symmetries.any:
        return np.ones(len(term.grid), dtype=bool)
    is_symmetric = _has(term, symmetries, output)
    return (
        is_symmetric
        if is_symmetric.all() or symmetries.periods.any()
        else np.zeros_like(is_symmetric)
    )


def held(term: ParametricTerm, values: Sequence[float]) -> ParametricTerm:
    """Return the term with these numbers instead of its parameters."""
    no_values = np.zeros((1, 0))
    return replace(
        term, expression=term.at(values), parameters=(), grid=no_values, low=(), high=(), widths=()
    )


def _has(term: ParametricTerm, symmetries: Symmetries, output: int) -> Bool[np.ndarray, " g"]:
    """Return, for each row of a term's grid, whether all symmetries hold at random points."""
    rng = np.random.default_rng(0)
    width = max(len(symmetries.periods), 1 + max(variables_of(term.expression), default=0))
    points = rng.uniform(0.2, 1.8, (limits.SYMMETRY_POINTS, width))
    time = np.ones(width - len(symmetries.periods))  # time, which symmetries leave unchanged
    values = term.columns(points, term.grid)
    is_symmetric = np.ones(values.shape[1], dtype=bool)
    transformed = [
        (points * np.append(mirror, time), float(sign[output]))
        for mirror, sign in zip(symmetries.mirrors, symmetries.parity, strict=True)
    ]
    transformed += [
        (points + symmetries.periods[v] * np.eye(width)[v], 1.0)
        for v in np.flatnonzero(symmetries.periods)
    ]
    for image, sign in transformed:
        image_values = term.columns(image, term.grid)
        difference = np.abs(image_values - sign * values).max(axis=0)
        is_symmetric &= difference <= limits.SYMMETRY_TOLERANCE * np.maximum(
            np.abs(values).max(axis=0), 1e-300
        )
    return is_symmetric
