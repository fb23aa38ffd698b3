"""Known equations: explicit right-hand sides, and systems with a mass matrix."""

import itertools
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from .._common.errors import InputError, quoted, suggestion
from ..terms import (
    Expression,
    Number,
    Variable,
    add,
    derivative,
    factors_of,
    multiply,
    parameters_of,
    power,
    quote_name,
    replace_variables,
    rounded,
    substitute,
    to_text,
    variables_of,
)
from . import _limits as limits
from ._statement import Part, Statement, read_side, split, statement, summands

_ZERO, _ONE, _MINUS = Number(0.0), Number(1.0), Number(-1.0)


@final
@dataclass(frozen=True)
class KnownEquation:
    """The equation left = right.

    Variables from index `width` on are derivatives of states.
    """

    left: Expression
    right: Expression
    width: int

    @property
    def rates(self) -> frozenset[int]:
        """The states whose derivatives occur in the equation."""
        both = variables_of(self.left) | variables_of(self.right)
        return frozenset(index - self.width for index in both if index >= self.width)

    def factor(self, rate: int) -> Expression:
        """Return the factor of a derivative when all terms are on the left."""
        return derivative(_difference(self), self.width + rate)

    @property
    def force(self) -> Expression:
        """The terms without derivatives when they are on the right."""
        none = {self.width + rate: _ZERO for rate in self.rates}
        return multiply(_MINUS, replace_variables(_difference(self), none))

    def replacing(self, rates: Mapping[int, Expression]) -> "KnownEquation":
        """Return the equation with these derivatives replaced by expressions."""
        by_index = {self.width + rate: item for rate, item in rates.items()}
        return KnownEquation(
            replace_variables(self.left, by_index),
            replace_variables(self.right, by_index),
            self.width,
        )

    def with_values(self, values: Mapping[str, Expression]) -> "KnownEquation":
        """Return the equation with these constants replaced by expressions."""
        return KnownEquation(
            substitute(self.left, values), substitute(self.right, values), self.width
        )


@final
@dataclass(frozen=True)
class Summand:
    """The summand number * constants * term * derivative of `rate` (if any) of an equation."""

    equation: int
    part: Part
    rate: int | None


@final
@dataclass(frozen=True)
class ImplicitSystem:
    """Equations sum_j M_ej(x) x_j' = F_e(x), with as many equations as derivatives x_j'.

    `scale` are the constants that are set to one. An equation may be multiplied by any number, so
    the other constants are estimated relative to these.
    """

    equations: tuple[KnownEquation, ...]
    rates: tuple[int, ...]
    scale: tuple[str, ...] = ()

    @property
    def constants(self) -> tuple[str, ...]:
        """The names of constants to estimate."""
        used = (parameters_of(e.left) | parameters_of(e.right) for e in self.equations)
        return tuple(sorted(frozenset().union(*used)))

    def solved(self) -> dict[int, Expression]:
        """Return x_j' = sum_e C_ej F_e / det M, where C are the cofactors of the mass matrix M."""
        mass = _mass_matrix(self.equations, self.rates)
        sides = [equation.force for equation in self.equations]
        inverse = power(_determinant(mass), _MINUS)
        result = {}
        for j, rate in enumerate(self.rates):
            cramer = [
                [*row[:j], side, *row[j + 1 :]] for row, side in zip(mass, sides, strict=True)
            ]
            result[rate] = multiply(_determinant(cramer), inverse)
        return result

    def summands(self) -> list[Summand]:
        """Return the summands of all equations when all terms are on the left."""
        inner, result = self.inner, []
        for e, equation in enumerate(self.equations):
            sides = [(equation.factor(rate), rate) for rate in self.rates]
            result += [
                Summand(e, split(item, inner), rate)
                for side, rate in [*sides, (multiply(_MINUS, equation.force), None)]
                for item in summands(side)
                if item != _ZERO
            ]
        return result

    @property
    def inner(self) -> frozenset[str]:
        """Return the constants inside functions."""
        sides = [
            side
            for equation in self.equations
            for side in (*(equation.factor(rate) for rate in self.rates), equation.force)
        ]
        terms = [split(item, frozenset()).term for side in sides for item in summands(side)]
        return frozenset().union(*map(parameters_of, terms))

    def scaled(self, elsewhere: Collection[str] = ()) -> "ImplicitSystem":
        """Return the system with undetermined constants set to one.

        Constants that also occur `elsewhere` are determined there. The scaling p_i -> s**a_i p_i
        multiplies all summands of an equation e by s**b_e if sum_i n_i a_i = b_e for the exponents
        n_i of each summand.
        """
        names = _in_order(self)
        parts = self.summands()
        rows = np.zeros((len(parts), len(names) + len(self.equations)))
        for row, summand in zip(rows, parts, strict=True):
            for name, exponent in summand.part.powers:
                row[names.index(name)] = exponent
            row[len(names) + summand.equation] = -1.0
        unit_rows = np.eye(rows.shape[1])[: len(names)]
        rows = np.concatenate([rows, unit_rows[[name in elsewhere for name in names]]])
        fixed: list[str] = []
        for name in names:
            free = rows.shape[1] - np.linalg.matrix_rank(rows)
            extended = np.concatenate([rows, unit_rows[[names.index(name)]]])
            if free and rows.shape[1] - np.linalg.matrix_rank(extended) < free:
                rows = extended
                fixed.append(name)
        ones = dict.fromkeys(fixed, _ONE)
        return ImplicitSystem(
            tuple(equation.with_values(ones) for equation in self.equations),
            self.rates,
            tuple(fixed),
        )

    def lines(
        self,
        values: Mapping[str, float],
        names: Sequence[str],
        digits: int,
        unit_of: Callable[[Sequence[tuple[str, float]]], str] | None = None,
    ) -> dict[int, str]:
        """Return the equations as text, by the state whose equation each of them replaces.

        `names` are the names of variables and derivatives. `unit_of` returns the unit of a product
        of constants, which is printed behind the number.
        """
        if unit_of is None:
            return {
                rate: " = ".join(to_text(side, names=names) for side in sides)
                for rate, sides in self.sides(values, digits).items()
            }
        known: dict[str, Expression] = {name: Number(values[name]) for name in self.inner}
        lines = {}
        for rate, equation in zip(self.rates, self.equations, strict=True):
            sides = []
            for side in (equation.left, equation.right):
                parts = [split(substitute(item, known), frozenset()) for item in summands(side)]
                texts = [_with_unit(part, values, names, digits, unit_of) for part in parts]
                sides.append(" + ".join(texts).replace("+ -", "- "))
            lines[rate] = " = ".join(sides)
        return lines

    def sides(
        self, values: Mapping[str, float], digits: int
    ) -> dict[int, tuple[Expression, Expression]]:
        """Return both sides of each equation with these values of constants, rounded.

        The keys are the states whose equations they replace.
        """
        known: dict[str, Expression] = {name: Number(value) for name, value in values.items()}

        def shown(side: Expression) -> Expression:
            return add(*(_shown(part, digits) for part in summands(substitute(side, known))))

        pairs = zip(self.rates, self.equations, strict=True)
        return {rate: (shown(equation.left), shown(equation.right)) for rate, equation in pairs}


def _with_unit(
    part: Part,
    values: Mapping[str, float],
    names: Sequence[str],
    digits: int,
    unit_of: Callable[[Sequence[tuple[str, float]]], str],
) -> str:
    """Return a summand as "0.15 [N s²] w'*cos(a)". The number is omitted if it is given as one."""
    number = part.number
    for name, exponent in part.powers:
        number *= values[name] ** exponent
    term = "" if part.term == _ONE else to_text(rounded(part.term, digits), names=names)
    if term and not part.powers and abs(number) == 1:
        return f"{'-' * (number < 0)}{term}"
    unit = unit_of(part.powers) if part.powers else ""
    words = [f"{number:.{digits}g}", f"[{unit}]" * bool(unit), term]
    return " ".join(word for word in words if word)


def _shown(part: Expression, digits: int) -> Expression:
    number = split(part, frozenset()).number
    others = [item for item in factors_of(rounded(part, digits)) if not isinstance(item, Number)]
    return multiply(Number(float(f"{number:.{digits}g}")), *others)


def _in_order(implicit: ImplicitSystem) -> list[str]:
    """Return the constants that may be set to one. Factors of derivatives come first."""
    parts = [summand.part for summand in implicit.summands() if summand.rate is not None]
    parts += [summand.part for summand in implicit.summands() if summand.rate is None]
    named = [name for part in parts for name, _ in part.powers]
    return [name for name in dict.fromkeys(named) if name not in implicit.inner]


def implicit_systems(
    equations: Sequence[KnownEquation], outputs: Sequence[str]
) -> list[ImplicitSystem]:
    """Group equations into systems that can be solved separately.

    Raise InputError if that is impossible.
    """
    groups: list[list[KnownEquation]] = []
    for equation in equations:
        connected = [
            group for group in groups if any(equation.rates & other.rates for other in group)
        ]
        groups = [group for group in groups if group not in connected]
        groups.append([*(other for group in connected for other in group), equation])
    systems = []
    for group in groups:
        rates = sorted(frozenset().union(*(equation.rates for equation in group)))
        shown = quoted([f"{outputs[rate]}'" for rate in rates])
        if len(rates) != len(group):
            raise InputError(
                f"Physics(equations=...) gives {len(group)} equations for the derivatives {shown}; "
                f"{len(rates)} are needed to solve for them."
            )
        if len(group) > limits.MAX_COUPLED:
            raise InputError(
                f"Physics(equations=...) couples the derivatives {shown}; at most "
                f"{limits.MAX_COUPLED} derivatives may be coupled."
            )
        width, factors = group[0].width, itertools.chain(*_mass_matrix(group, rates))
        if any(index >= width for factor in factors for index in variables_of(factor)):
            raise InputError(f"Physics(equations=...) must be linear in the derivatives {shown}.")
        system = ImplicitSystem(tuple(group), tuple(rates))
        if _determinant(_mass_matrix(group, rates)) == _ZERO:
            raise InputError(f"Physics(equations=...) does not determine the derivatives {shown}.")
        systems.append(system)
    return systems


def _determinant(matrix: Sequence[Sequence[Expression]]) -> Expression:
    """Return the determinant of a matrix, expanded along the first row."""
    if len(matrix) == 1:
        return matrix[0][0]
    parts = []
    for j, entry in enumerate(matrix[0]):
        if entry != _ZERO:
            minor = [[*row[:j], *row[j + 1 :]] for row in matrix[1:]]
            parts.append(multiply(Number(-1.0 if j % 2 else 1.0), entry, _determinant(minor)))
    return add(*parts)


def _mass_matrix(
    equations: Sequence[KnownEquation], rates: Sequence[int]
) -> list[list[Expression]]:
    return [[equation.factor(rate) for rate in rates] for equation in equations]


def _difference(equation: KnownEquation) -> Expression:
    return add(equation.left, multiply(_MINUS, equation.right))


_MARKED = re.compile(r"(?:`([^`]+)`|(?<!\w)([^\W\d]\w*))('+)")


@final
class Known(NamedTuple):
    """Statements about equations, and the systems from which some of the statements were
    derived.
    """

    statements: dict[int, Statement]
    systems: tuple[ImplicitSystem, ...]


@final
class Reader:
    """Reads equations for given columns.

    `rates` maps positions to the names of their velocities. `values` are the known constants, and
    `names` are words that denote constants.
    """

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
        """Return the statements of equations, which are pairs of their left and right sides."""
        statements: dict[int, Statement] = {}
        mixed: list[KnownEquation] = []
        incomplete: list[str] = []
        for left, right in pairs:
            equation, is_open = self.equation(left, right)
            explicit = _solved(equation)
            if explicit is None:
                mixed.append(equation)
                incomplete += [left] * is_open
                continue
            c, side = explicit
            if c in statements or self.outputs[c] in self.rates:
                raise InputError(
                    f"Physics(equations=...) gives the equation of '{left}', which is given "
                    "already."
                )
            statements[c] = statement(side, is_open)
        for left in incomplete:
            raise InputError(
                f"An equation with several derivatives must be complete: '{left} = ...' contains "
                "'...'. Its solution would not be a sum of terms. Write the missing terms, each "
                "with a constant before it."
            )
        return Known(statements, self._systems(mixed, statements))

    def equation(self, left: str, right: str) -> tuple[KnownEquation, bool]:
        """Return an equation, and whether its right-hand side ends with "..."."""
        state = denoted_state(left, self.rates)
        if state in self.rates:
            raise InputError(
                f"Physics(equations=...) gives the equation of '{left}', which is given already."
            )
        if state in self.outputs:
            side: Expression = self._rate(state)
        elif "'" in left:
            side, is_open = read_side(self._plain(left), self.variables, self.values, self.names)
            if is_open:
                raise InputError(
                    f"The left side of an equation must not contain '...'; got '{left}'."
                )
        else:
            similar = suggestion(left, self.outputs)
            hidden = f" If '{left}' is a state without a column, pass hidden=['{left}']."
            raise InputError(
                f"Physics(equations=...) names '{left}', which is not an equation.{similar} "
                f"The equations are {quoted(self.outputs)}.{'' if similar else hidden}"
            )
        other, is_open = read_side(self._plain(right), self.variables, self.values, self.names)
        equation = KnownEquation(side, other, self.width)
        if not equation.rates:
            raise InputError(
                f"Physics(equations=...): '{left} = {right}' has no derivative of a state."
            )
        return equation, is_open

    def _rate(self, output: str) -> Variable:
        name = f"{output}'"
        return Variable(self.width + self.outputs.index(output), name)

    def _plain(self, text: str) -> str:
        """Return a text with names with primes, such as theta', replaced by names of columns."""
        return _MARKED.sub(self._unmarked, text)

    def _unmarked(self, match: re.Match[str]) -> str:
        text = (match[1] or match[2]) + match[3]
        name = denoted_state(text, self.rates)
        if name.endswith("'") and name[:-1] in self.outputs:
            return f"`{name}`"
        if name not in self.variables:
            raise InputError(
                f"Physics(equations=...): {match[0]} is not a derivative of a state."
                f"{suggestion(match[1] or match[2], self.outputs)} "
                f"The states are {quoted(self.outputs)}."
            )
        return quote_name(name)

    def _systems(
        self, equations: Sequence[KnownEquation], statements: dict[int, Statement]
    ) -> tuple[ImplicitSystem, ...]:
        """Return the coupled equations as systems, and add the statements that follow from them."""
        written: dict[int, Expression] = {
            c: add(*known.parts) for c, known in statements.items() if known.is_complete
        }
        written |= {
            self.outputs.index(position): Variable(self.variables.index(velocity), velocity)
            for position, velocity in self.rates.items()
        }
        elsewhere = frozenset().union(*(parameters_of(side) for side in written.values()))
        coupled = implicit_systems([known.replacing(written) for known in equations], self.outputs)
        systems = tuple(known.scaled(elsewhere) for known in coupled)
        for system in systems:
            for c, side in system.solved().items():
                if c in statements:
                    raise InputError(
                        f"Physics(equations=...) gives two equations for '{self.outputs[c]}': one "
                        f"with '...' and one coupled to other equations."
                    )
                statements[c] = Statement((side,), True)
        return systems


def denoted_state(text: str, rates: Mapping[str, str]) -> str:
    """Return the state that a name with primes denotes, such as x_dot for x'.

    x_dot must be the derivative of x. Primes without a corresponding state are kept.
    """
    name = text.rstrip("'")
    marks = len(text) - len(name)
    while marks and name in rates:
        name, marks = rates[name], marks - 1
    return name + "'" * marks


def _solved(equation: KnownEquation) -> tuple[int, Expression] | None:
    """Return the state and the right-hand side of an equation with one derivative, or None.

    The derivative may be multiplied only by constants.
    """
    if len(equation.rates) != 1:
        return None
    (rate,) = equation.rates
    factor = equation.factor(rate)
    if variables_of(factor):
        return None
    if factor == Number(0.0):
        raise InputError("Physics(equations=...): a derivative in an equation cancels.")
    inverse = power(factor, Number(-1.0))
    return rate, add(*(multiply(part, inverse) for part in summands(equation.force)))
