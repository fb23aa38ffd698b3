"""Where formulas jump: the signs in them, as variables of their own."""

from collections.abc import Sequence
from typing import final

from ._expression import (
    ONE,
    Call,
    Expression,
    Number,
    Power,
    Product,
    Sum,
    Variable,
    add,
    call,
    multiply,
    power,
)

_ODD = frozenset({"sinh", "tanh", "arctan", "arcsin"})  # have the sign of their argument
_POSITIVE = frozenset({"exp", "cosh"})


def separate_signs(
    terms: Sequence[Expression], width: int
) -> tuple[tuple[Expression, ...], tuple[Expression, ...]]:
    """The terms with each sign in them replaced by a variable, and the functions whose signs they
    are. Variable `width` + i stands for the sign of the i-th function.

    One variable stands for sign(v), sign(-2*v), sign(v**3) and heaviside(v); sign(v*x) is two. A
    sign within the argument of another stays.
    """
    found = _Signs(width)
    return tuple(found.without(term) for term in terms), tuple(found.surfaces)


@final
class _Signs:
    def __init__(self, width: int):
        self.width = width
        self.surfaces: dict[Expression, int] = {}

    def without(self, item: Expression) -> Expression:
        match item:
            case Call("sign", argument):
                return self._sign(argument)
            case Call("heaviside", argument):
                return add(Number(0.5), multiply(Number(0.5), self._sign(argument)))
            case Sum(terms):
                return add(*(self.without(term) for term in terms))
            case Product(factors):
                return multiply(*(self.without(factor) for factor in factors))
            case Power(base, exponent):
                return power(self.without(base), self.without(exponent))
            case Call(function, argument):
                return call(function, self.without(argument))
            case _:
                return item

    def _sign(self, item: Expression) -> Expression:
        match item:
            case Number(value):
                return Number(float((value > 0) - (value < 0)))
            case Product(factors):
                return multiply(*(self._sign(factor) for factor in factors))
            case Power(base, Number(exponent)) if exponent % 2 == 1:
                return self._sign(base)
            case Call(function, argument) if function in _ODD:
                return self._sign(argument)
            case Call(function, _) if function in _POSITIVE:
                return ONE
            case Sum(terms):
                weight = _weight(terms[0])
                if weight != 1:
                    rest = add(*(multiply(Number(1 / weight), term) for term in terms))
                    return multiply(Number(1.0 if weight > 0 else -1.0), self._sign(rest))
        index = self.surfaces.setdefault(item, len(self.surfaces))
        return Variable(self.width + index, f"sign {index + 1}")


def _weight(term: Expression) -> float:
    first = term.factors[0] if isinstance(term, Product) else term
    return first.value if isinstance(first, Number) and first.value != 0 else 1.0
