"""Known equations: explicit right-hand sides, and systems with a mass matrix."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from .._common.errors import InputError, quoted, suggestion
from ..terms import (
    Call,
    Expression,
    Number,
    Power,
    Product,
    Sum,
    Variable,
    add,
    call,
    derivative,
    multiply,
    parameters_of,
    power,
    quote_name,
    rounded,
    substitute,
    to_text,
    variables_of,
)
from ._statement import Part, Statement, read_side, split, statement, summands

MOST_COUPLED = 4
"""Derivatives that are solved for together."""
_ZERO, _ONE, _MINUS = Number(0.0), Number(1.0), Number(-1.0)


@final
@dataclass(frozen=True)
class Equation:
    """left = right, where the variables from the place `width` on are derivatives of states."""

    left: Expression
    right: Expression
    width: int

    @property
    def rates(self) -> frozenset[int]:
        """The states whose derivatives it holds."""
        both = variables_of(self.left) | variables_of(self.right)
        return frozenset(place - self.width for place in both if place >= self.width)

    def factor(self, rate: int) -> Expression:
        """What stands before a derivative when all is on the left."""
        return derivative(_difference(self), self.width + rate)

    @property
    def rest(self) -> Expression:
        """What holds no derivative, on the right."""
        none = {self.width + rate: _ZERO for rate in self.rates}
        return multiply(_MINUS, replaced(_difference(self), none))

    def replacing(self, rates: Mapping[int, Expression]) -> "Equation":
        """The equation with these derivatives written out."""
        places = {self.width + rate: item for rate, item in rates.items()}
        return Equation(replaced(self.left, places), replaced(self.right, places), self.width)

    def with_values(self, values: Mapping[str, Expression]) -> "Equation":
        """The equation with these constants replaced."""
        return Equation(substitute(self.left, values), substitute(self.right, values), self.width)


@final
@dataclass(frozen=True)
class Summand:
    """number * constants * term * derivative of `rate`, or without one, of one equation."""

    equation: int
    part: Part
    rate: int | None


@final
@dataclass(frozen=True)
class Implicit:
    """Equations sum_j M_ej(x) x_j' = F_e(x), as many as there are derivatives x_j' in them.

    `scale` are the constants that are set to one: multiplying an equation by a number changes
    nothing, so that the others are known in units of these.
    """

    equations: tuple[Equation, ...]
    rates: tuple[int, ...]
    scale: tuple[str, ...] = ()

    @property
    def constants(self) -> tuple[str, ...]:
        """The names of what is to be estimated."""
        used = (parameters_of(e.left) | parameters_of(e.right) for e in self.equations)
        return tuple(sorted(frozenset().union(*used)))

    def solved(self) -> dict[int, Expression]:
        """x_j' = sum_e C_ej F_e / det M, with the cofactors C of the mass matrix M."""
        mass = [[one.factor(rate) for rate in self.rates] for one in self.equations]
        sides = [one.rest for one in self.equations]
        below = power(_determinant(mass), _MINUS)
        found = {}
        for j, rate in enumerate(self.rates):
            moved = [[*row[:j], side, *row[j + 1 :]] for row, side in zip(mass, sides, strict=True)]
            found[rate] = multiply(_determinant(moved), below)
        return found

    def summands(self) -> list[Summand]:
        """What all equations, with everything on the left, are sums of."""
        found = []
        for e, one in enumerate(self.equations):
            sides: list[tuple[Expression, int | None]] = [
                (one.factor(rate), rate) for rate in self.rates
            ]
            sides.append((multiply(_MINUS, one.rest), None))
            inner = self.inner
            found += [
                Summand(e, split(item, inner), rate)
                for side, rate in sides
                for item in summands(side)
                if item != _ZERO
            ]
        return found

    @property
    def inner(self) -> frozenset[str]:
        """The constants that stand inside functions."""
        found: frozenset[str] = frozenset()
        for one in self.equations:
            for side in (*(one.factor(rate) for rate in self.rates), one.rest):
                for item in summands(side):
                    found |= parameters_of(split(item, frozenset()).term)
        return found

    def scaled(self, elsewhere: Collection[str] = ()) -> "Implicit":
        """The same with as many constants set to one as the equations leave undetermined; none of
        those that are also `elsewhere`, where they are determined.

        p_i -> s**a_i p_i multiplies every summand of an equation e alike, by s**b_e, where
        sum_i n_i a_i = b_e for the exponents n_i of each summand.
        """
        names = _in_order(self)
        summed = self.summands()
        rows = np.zeros((len(summed), len(names) + len(self.equations)))
        for row, one in zip(rows, summed, strict=True):
            for name, exponent in one.part.powers:
                row[names.index(name)] = exponent
            row[len(names) + one.equation] = -1.0
        holds = np.eye(rows.shape[1])[: len(names)]
        rows = np.concatenate([rows, holds[[name in elsewhere for name in names]]])
        fixed: list[str] = []
        for name in names:
            free = rows.shape[1] - np.linalg.matrix_rank(rows)
            held = np.concatenate([rows, holds[[names.index(name)]]])
            if free and rows.shape[1] - np.linalg.matrix_rank(held) < free:
                rows = held
                fixed.append(name)
        ones = dict.fromkeys(fixed, _ONE)
        return Implicit(
            tuple(one.with_values(ones) for one in self.equations), self.rates, tuple(fixed)
        )

    def lines(
        self, values: Mapping[str, float], names: Sequence[str], digits: int
    ) -> dict[int, str]:
        """The equations with these constants, as text, by the state whose place each takes;
        `names` are those of variables and derivatives."""
        return {
            rate: " = ".join(to_text(side, names=names) for side in sides)
            for rate, sides in self.sides(values, digits).items()
        }

    def sides(
        self, values: Mapping[str, float], digits: int
    ) -> dict[int, tuple[Expression, Expression]]:
        """Both sides of each equation with these constants, rounded, by the state whose place it
        takes."""
        known: dict[str, Expression] = {name: Number(value) for name, value in values.items()}
        found = {}
        for rate, one in zip(self.rates, self.equations, strict=True):
            one = one.with_values(known)
            left, right = (
                add(*(_shown(part, digits) for part in summands(side)))
                for side in (one.left, one.right)
            )
            found[rate] = left, right
        return found


def _shown(part: Expression, digits: int) -> Expression:
    number, rest = split(part, frozenset()).number, rounded(part, digits)
    factors = rest.factors if isinstance(rest, Product) else (rest,)
    others = [one for one in factors if not isinstance(one, Number)]
    return multiply(Number(float(f"{number:.{digits}g}")), *others)


def _in_order(implicit: Implicit) -> list[str]:
    """The constants that may be set to one: those before derivatives first."""
    parts = [one.part for one in implicit.summands() if one.rate is not None]
    parts += [one.part for one in implicit.summands() if one.rate is None]
    named = [name for part in parts for name, _ in part.powers]
    return [name for name in dict.fromkeys(named) if name not in implicit.inner]


def coupled(equations: Sequence[Equation], outputs: Sequence[str]) -> list[Implicit]:
    """The equations in systems that can be solved one by one; refuses those that cannot be."""
    groups: list[list[Equation]] = []
    for one in equations:
        mine = [group for group in groups if any(one.rates & other.rates for other in group)]
        groups = [group for group in groups if group not in mine]
        groups.append([*(other for group in mine for other in group), one])
    found = []
    for group in groups:
        rates = sorted(frozenset().union(*(one.rates for one in group)))
        shown = quoted([f"{outputs[rate]}'" for rate in rates])
        if len(rates) != len(group):
            raise InputError(
                f"Physics(equations=...) gives {len(group)} equations for the derivatives {shown}; "
                f"{len(rates)} are needed to solve for them."
            )
        if len(group) > MOST_COUPLED:
            raise InputError(
                f"Physics(equations=...) couples the derivatives {shown}; at most "
                f"{MOST_COUPLED} are solved for together."
            )
        for one in group:
            if any(p >= one.width for rate in rates for p in variables_of(one.factor(rate))):
                raise InputError(
                    f"Physics(equations=...) must be linear in the derivatives {shown}."
                )
        system = Implicit(tuple(group), tuple(rates))
        if _determinant([[one.factor(rate) for rate in rates] for one in group]) == _ZERO:
            raise InputError(f"Physics(equations=...) does not determine the derivatives {shown}.")
        found.append(system)
    return found


def _determinant(matrix: Sequence[Sequence[Expression]]) -> Expression:
    """By the first row."""
    if len(matrix) == 1:
        return matrix[0][0]
    parts = []
    for j, entry in enumerate(matrix[0]):
        if entry != _ZERO:
            minor = [[*row[:j], *row[j + 1 :]] for row in matrix[1:]]
            parts.append(multiply(Number(-1.0 if j % 2 else 1.0), entry, _determinant(minor)))
    return add(*parts)


def _difference(equation: Equation) -> Expression:
    return add(equation.left, multiply(_MINUS, equation.right))


def replaced(item: Expression, places: Mapping[int, Expression]) -> Expression:
    """The formula with these variables replaced."""
    match item:
        case Variable(index, _) if index in places:
            return places[index]
        case Sum(terms):
            return add(*(replaced(term, places) for term in terms))
        case Product(factors):
            return multiply(*(replaced(factor, places) for factor in factors))
        case Power(base, exponent):
            return power(replaced(base, places), replaced(exponent, places))
        case Call(function, argument):
            return call(function, replaced(argument, places))
        case _:
            return item


_MARKED = re.compile(r"(?:`([^`]+)`|([^\W\d]\w*))('+)")


@final
class Known(NamedTuple):
    """What is known of each equation, and the systems that some of it follows from."""

    statements: dict[int, Statement]
    systems: tuple[Implicit, ...]


@final
class Reader:
    """Reads equations for certain columns: `rates` map positions to the names of their velocities,
    `values` holds the known constants, `names` are words known to be constants."""

    def __init__(
        self,
        variables: Sequence[str],
        outputs: Sequence[str],
        rates: Mapping[str, str],
        values: Mapping[str, float],
        names: Collection[str],
    ):
        self.outputs, self.rates = tuple(outputs), dict(rates)
        self.values, self.names = values, names
        self.width = len(variables)
        self.variables = (*variables, *(f"{name}'" for name in outputs))

    def read(self, pairs: Sequence[tuple[str, str]]) -> Known:
        """The statements of all equations, each given by its left and its right side."""
        found: dict[int, Statement] = {}
        mixed: list[Equation] = []
        open_: list[str] = []
        for left, right in pairs:
            equation, is_open = self._equation(left, right)
            explicit = _solved(equation)
            if explicit is None:
                mixed.append(equation)
                open_ += [left] * is_open
                continue
            c, side = explicit
            if c in found or self.outputs[c] in self.rates:
                raise InputError(
                    f"Physics(equations=...) gives the equation of '{left}', which is given "
                    f"already."
                )
            found[c] = statement(side, is_open)
        for left in open_:
            raise InputError(
                f"An equation with several derivatives must be complete: '{left} = ...' has '...' "
                f"in it, and what is found would be no sum of terms once it is solved. Name what "
                f"is missing as a term with a constant before it."
            )
        return Known(found, self._systems(mixed, found))

    def _equation(self, left: str, right: str) -> tuple[Equation, bool]:
        if left in self.outputs and left not in self.rates:
            side: Expression = self._rate(left)
        elif left in self.outputs:
            raise InputError(
                f"Physics(equations=...) gives the equation of '{left}', which is given already."
            )
        elif left.endswith("'") and left[:-1] in self.rates:
            side = self._rate(self.rates[left[:-1]])  # theta' is the velocity of theta
        elif "'" in left:
            side, is_open = read_side(self._plain(left), self.variables, self.values, self.names)
            if is_open:
                raise InputError(f"The left side of an equation cannot hold '...'; got '{left}'.")
        else:
            similar = suggestion(left, self.outputs)
            hidden = (
                f" If '{left}' is a state that was not measured, write it as a function of columns "
                f"that were (docs/recipes/known.md)."
            )
            raise InputError(
                f"Physics(equations=...) names '{left}', which is not an equation.{similar} "
                f"The equations are {quoted(self.outputs)}.{'' if similar else hidden}"
            )
        other, is_open = read_side(self._plain(right), self.variables, self.values, self.names)
        found = Equation(side, other, self.width)
        if not found.rates:
            raise InputError(
                f"Physics(equations=...): '{left} = {right}' holds no derivative of a state."
            )
        return found, is_open

    def _rate(self, output: str) -> Variable:
        name = f"{output}'"
        return Variable(self.width + self.outputs.index(output), name)

    def _plain(self, text: str) -> str:
        """The text with each marked name, theta', in the words of the columns."""
        return _MARKED.sub(self._unmarked, text)

    def _unmarked(self, found: re.Match[str]) -> str:
        name, marks = found[1] or found[2], len(found[3])
        while marks and name in self.rates:
            name, marks = self.rates[name], marks - 1
        if marks == 1 and name in self.outputs:
            return f"`{name}'`"
        if marks or (name not in self.variables):
            raise InputError(
                f"Physics(equations=...): {found[0]} is not a derivative of a state."
                f"{suggestion(name, self.outputs)} The states are {quoted(self.outputs)}."
            )
        return quote_name(name)

    def _systems(
        self, mixed: Sequence[Equation], found: dict[int, Statement]
    ) -> tuple[Implicit, ...]:
        """The coupled equations as systems; adds what each of them says of a state."""
        written: dict[int, Expression] = {
            c: add(*one.parts) for c, one in found.items() if one.is_complete
        }
        written |= {
            self.outputs.index(position): Variable(self.variables.index(velocity), velocity)
            for position, velocity in self.rates.items()
        }
        alone = frozenset().union(*(parameters_of(side) for side in written.values()))
        together = coupled([one.replacing(written) for one in mixed], self.outputs)
        systems = tuple(one.scaled(alone) for one in together)
        for system in systems:
            for c, side in system.solved().items():
                if c in found:
                    raise InputError(
                        f"Physics(equations=...) gives the equation of '{self.outputs[c]}' twice: "
                        f"with '...', and together with others."
                    )
                found[c] = Statement((side,), True)
        return systems


def _solved(equation: Equation) -> tuple[int, Expression] | None:
    """The state and its right-hand side, where an equation holds one derivative and before it
    constants alone."""
    if len(equation.rates) != 1:
        return None
    (rate,) = equation.rates
    factor = equation.factor(rate)
    if variables_of(factor):
        return None
    if factor == Number(0.0):
        raise InputError("Physics(equations=...): a derivative in an equation cancels.")
    below = power(factor, Number(-1.0))
    return rate, add(*(multiply(part, below) for part in summands(equation.rest)))
