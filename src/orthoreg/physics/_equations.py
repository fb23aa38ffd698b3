"""The equations of a `Physics`: right-hand sides of states, and systems with a mass matrix."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, final

from .._common.errors import InputError, quoted, suggestion
from ..terms import (
    Expression,
    Number,
    Variable,
    add,
    multiply,
    parameters_of,
    power,
    quote_name,
    variables_of,
)
from ._implicit import Equation, Implicit, coupled
from ._statement import Statement, read_side, statement, summands

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
                f"Physics(equations=...) names '{left}', which is no equation.{similar} "
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
                f"Physics(equations=...): {found[0]} is no derivative that the data know."
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
