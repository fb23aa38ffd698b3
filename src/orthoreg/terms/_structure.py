"""Operations on formulas: their variables, parameters and structure; derivatives; signs."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import final

from ._expression import (
    ONE,
    ZERO,
    Call,
    Expression,
    Number,
    Parameter,
    Power,
    Product,
    Sum,
    Variable,
    add,
    call,
    multiply,
    power,
    split_number,
)

_LARGEST_EXPONENT = 12


def variables_of(item: Expression) -> frozenset[int]:
    """The places of the variables that the formula uses."""
    match item:
        case Variable(index, _):
            return frozenset({index})
        case Sum(parts) | Product(parts):
            return frozenset().union(*(variables_of(part) for part in parts))
        case Power(base, exponent):
            return variables_of(base) | variables_of(exponent)
        case Call(_, argument):
            return variables_of(argument)
        case _:
            return frozenset()


def monomial(item: Expression, width: int) -> tuple[float, tuple[int, ...]] | None:
    """Factor and exponents, one for each of `width` variables; None if it is no monomial."""
    factor, exponents = 1.0, [0] * width
    for part in item.factors if isinstance(item, Product) else (item,):
        match part:
            case Number(value):
                factor *= value
            case Variable(index, _):
                exponents[index] += 1
            case Power(Variable(index, _), Number(value)) if (
                value.is_integer() and 0 < value <= _LARGEST_EXPONENT
            ):
                exponents[index] += int(value)
            case _:
                return None
    return factor, tuple(exponents)


def sine_argument(item: Expression) -> Expression | None:
    """a, where the formula is sin(a) or cos(a)."""
    match item:
        case Call("sin" | "cos", argument):
            return argument
        case _:
            return None


def sine_arguments(item: Expression) -> list[Expression]:
    """The arguments of all sines and cosines in the formula."""
    match item:
        case Call("sin" | "cos", argument):
            return [argument, *sine_arguments(argument)]
        case Call(_, argument):
            return sine_arguments(argument)
        case Sum(parts) | Product(parts):
            return [found for part in parts for found in sine_arguments(part)]
        case Power(base, exponent):
            return [*sine_arguments(base), *sine_arguments(exponent)]
        case _:
            return []


def rounded(item: Expression, digits: int) -> Expression:
    """The formula with its numbers to so many digits; a factor in front keeps all of them."""
    number, rest = split_number(item)
    return multiply(Number(number), _rounded(rest, digits))


def _rounded(item: Expression, digits: int) -> Expression:
    match item:
        case Number(value):
            return Number(float(f"{value:.{digits}g}"))
        case Sum(terms):
            return add(*(_rounded(term, digits) for term in terms))
        case Product(factors):
            return multiply(*(_rounded(factor, digits) for factor in factors))
        case Power(base, exponent):
            return power(_rounded(base, digits), _rounded(exponent, digits))
        case Call(function, argument):
            return call(function, _rounded(argument, digits))
        case _:
            return item


def parameters_of(item: Expression) -> frozenset[str]:
    """The names of the parameters in the formula."""
    match item:
        case Parameter(name):
            return frozenset({name})
        case Sum(parts) | Product(parts):
            return frozenset().union(*(parameters_of(part) for part in parts))
        case Power(base, exponent):
            return parameters_of(base) | parameters_of(exponent)
        case Call(_, argument):
            return parameters_of(argument)
        case _:
            return frozenset()


def parameters_of_factors(item: Expression) -> frozenset[str]:
    """The parameters that stand as a factor of their own, or as a power of one."""
    found = set()
    for part in item.factors if isinstance(item, Product) else (item,):
        base = part.base if isinstance(part, Power) else part
        if isinstance(base, Parameter):
            found.add(base.name)
    others = frozenset().union(
        *(
            parameters_of(part)
            for part in (item.factors if isinstance(item, Product) else ())
            if not isinstance(part.base if isinstance(part, Power) else part, Parameter)
        )
    )
    return frozenset(found) - others


def substitute(item: Expression, values: Mapping[str, Expression]) -> Expression:
    """The formula with these parameters replaced."""
    match item:
        case Parameter(name) if name in values:
            return values[name]
        case Sum(terms):
            return add(*(substitute(term, values) for term in terms))
        case Product(factors):
            return multiply(*(substitute(factor, values) for factor in factors))
        case Power(base, exponent):
            return power(substitute(base, values), substitute(exponent, values))
        case Call(function, argument):
            return call(function, substitute(argument, values))
        case _:
            return item


def complexity(item: Expression) -> int:
    """How many symbols it takes to write the formula without powers: variables and functions.
    Numbers do not count, an exponent that is no whole number counts like a function."""
    match item:
        case Variable() | Parameter():
            return 1
        case Sum(parts) | Product(parts):
            return sum(complexity(part) for part in parts)
        case Power(base, Number(value)) if value.is_integer() and 0 < value <= _LARGEST_EXPONENT:
            return complexity(base) * int(value)
        case Power(base, exponent):
            return complexity(base) + complexity(exponent) + 1
        case Call(_, argument):
            return complexity(argument) + 1
        case _:
            return 0


_TWO, _MINUS_ONE = Number(2.0), Number(-1.0)


@lru_cache(maxsize=4096)  # models of one search share most of their terms
def derivative(item: Expression, by: int | str) -> Expression:
    """The partial derivative by a variable, given by its place, or by a parameter, given by its
    name; that of a sign or a step is zero."""
    match item:
        case Variable(place, _):
            return ONE if place == by else ZERO
        case Parameter(name):
            return ONE if name == by else ZERO
        case Sum(terms):
            return add(*(derivative(term, by) for term in terms))
        case Product(factors):
            return add(
                *(
                    multiply(*factors[:i], derivative(factor, by), *factors[i + 1 :])
                    for i, factor in enumerate(factors)
                )
            )
        case Power(base, exponent):
            return _of_power(base, exponent, by)
        case Call(function, argument):
            inner = derivative(argument, by)
            return ZERO if inner == ZERO else multiply(_outer(function, argument), inner)
        case _:
            return ZERO


def _of_power(base: Expression, exponent: Expression, by: int | str) -> Expression:
    """b a**(b-1) a' + a**b log(a) b'"""
    by_base, by_exponent = derivative(base, by), derivative(exponent, by)
    parts = []
    if by_base != ZERO:
        parts.append(multiply(exponent, power(base, add(exponent, _MINUS_ONE)), by_base))
    if by_exponent != ZERO:
        parts.append(multiply(power(base, exponent), call("log", base), by_exponent))
    return add(*parts)


def _outer(function: str, a: Expression) -> Expression:
    """The derivative of a function, at its argument."""
    square = power(a, _TWO)
    match function:
        case "sin":
            return call("cos", a)
        case "cos":
            return multiply(_MINUS_ONE, call("sin", a))
        case "tan":
            return power(call("cos", a), Number(-2.0))
        case "arcsin":
            return power(add(ONE, multiply(_MINUS_ONE, square)), Number(-0.5))
        case "arccos":
            return multiply(_MINUS_ONE, power(add(ONE, multiply(_MINUS_ONE, square)), Number(-0.5)))
        case "arctan":
            return power(add(ONE, square), _MINUS_ONE)
        case "sinh":
            return call("cosh", a)
        case "cosh":
            return call("sinh", a)
        case "tanh":
            return add(ONE, multiply(_MINUS_ONE, power(call("tanh", a), _TWO)))
        case "exp":
            return call("exp", a)
        case "log":
            return power(a, _MINUS_ONE)
        case "sqrt":
            return multiply(Number(0.5), power(call("sqrt", a), _MINUS_ONE))
        case "abs":
            return call("sign", a)
        case _:
            return ZERO


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
