"""Operations on formulas: their variables, parameters, structure, derivatives and signs."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import final

from . import _limits as limits
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
    factors_of,
    multiply,
    power,
    rebuild,
    split_number,
    subexpressions,
)

_TWO, _MINUS_ONE = Number(2.0), Number(-1.0)
_ODD = frozenset({"sinh", "tanh", "arctan", "arcsin"})  # functions with the sign of their argument
_POSITIVE = frozenset({"exp", "cosh"})


def variables_of(item: Expression) -> frozenset[int]:
    """Return the indices of the variables in a formula."""
    if isinstance(item, Variable):
        return frozenset({item.index})
    return frozenset().union(*map(variables_of, subexpressions(item)))


def parameters_of(item: Expression) -> frozenset[str]:
    """Return the names of the parameters in a formula."""
    if isinstance(item, Parameter):
        return frozenset({item.name})
    return frozenset().union(*map(parameters_of, subexpressions(item)))


def parameters_of_factors(item: Expression) -> frozenset[str]:
    """Return the parameters that occur only in factors of the formula or in powers of factors."""
    multiplying, inside = set(), frozenset()
    for factor in factors_of(item):
        base = factor.base if isinstance(factor, Power) else factor
        if isinstance(base, Parameter):
            multiplying.add(base.name)
        else:
            inside |= parameters_of(factor)
    return frozenset(multiplying) - inside


def monomial(item: Expression, width: int) -> tuple[float, tuple[int, ...]] | None:
    """Return the factor and the exponents of `width` variables, or None if the formula is not a
    monomial.
    """
    coefficient, exponents = 1.0, [0] * width
    for factor in factors_of(item):
        match factor:
            case Number(value):
                coefficient *= value
            case Variable(index, _):
                exponents[index] += 1
            case Power(Variable(index, _), Number(value)) if _is_small_exponent(value):
                exponents[index] += int(value)
            case _:
                return None
    return coefficient, tuple(exponents)


def _is_small_exponent(value: float) -> bool:
    return value.is_integer() and 0 < value <= limits.MAX_EXPONENT


def sine_argument(item: Expression) -> Expression | None:
    """Return the argument a of sin(a) or cos(a), or None for other formulas."""
    match item:
        case Call("sin" | "cos", argument):
            return argument
        case _:
            return None


def sine_arguments(item: Expression) -> list[Expression]:
    """Return the arguments of all sines and cosines in a formula."""
    argument = sine_argument(item)
    nested = [
        argument_of_part
        for part in subexpressions(item)
        for argument_of_part in sine_arguments(part)
    ]
    return nested if argument is None else [argument, *nested]


def complexity(item: Expression) -> int:
    """Return the number of variables, parameters and functions in a formula written without
    powers.

    x**3 counts as x*x*x, and a power with another exponent counts as a function. Numbers do not
    count.
    """
    match item:
        case Variable() | Parameter():
            return 1
        case Power(base, Number(value)) if _is_small_exponent(value):
            return complexity(base) * int(value)
        case _:
            return sum(map(complexity, subexpressions(item))) + isinstance(item, Power | Call)


SHOWN_DIGITS = 4
"""Number of significant digits of numbers in printed formulas."""


def rounded(item: Expression, digits: int = SHOWN_DIGITS) -> Expression:
    """Return the formula with numbers rounded to `digits` digits. A leading factor is not
    rounded.
    """
    number, remainder = split_number(item)
    return multiply(Number(number), _rounded(remainder, digits))


def _rounded(item: Expression, digits: int) -> Expression:
    if isinstance(item, Number):
        return Number(float(f"{item.value:.{digits}g}"))
    return rebuild(item, lambda part: _rounded(part, digits))


def substitute(item: Expression, values: Mapping[str, Expression]) -> Expression:
    """Return the formula with these parameters replaced by expressions."""
    if isinstance(item, Parameter):
        return values.get(item.name, item)
    return rebuild(item, lambda part: substitute(part, values))


# -- derivatives ---------------------------------------------------------------------------


@lru_cache(maxsize=4096)  # models in a search share most of their terms
def derivative(item: Expression, by: int | str) -> Expression:
    """Return the partial derivative with respect to a variable (its index) or a parameter (its
    name).

    The derivative of sign and heaviside is taken as zero.
    """
    match item:
        case Variable(index, _):
            return ONE if index == by else ZERO
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
            return _derivative_of_power(base, exponent, by)
        case Call(function, argument):
            inner = derivative(argument, by)
            return ZERO if inner == ZERO else multiply(_outer_derivative(function, argument), inner)
        case _:
            return ZERO


def _derivative_of_power(base: Expression, exponent: Expression, by: int | str) -> Expression:
    """Return b a**(b-1) a' + a**b log(a) b'."""
    by_base, by_exponent = derivative(base, by), derivative(exponent, by)
    parts = []
    if by_base != ZERO:
        parts.append(multiply(exponent, power(base, add(exponent, _MINUS_ONE)), by_base))
    if by_exponent != ZERO:
        parts.append(multiply(power(base, exponent), call("log", base), by_exponent))
    return add(*parts)


def _outer_derivative(function: str, a: Expression) -> Expression:
    """Return the derivative of a function at the argument a."""
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


# -- signs ---------------------------------------------------------------------------------


def separate_signs(
    terms: Sequence[Expression], width: int
) -> tuple[tuple[Expression, ...], tuple[Expression, ...]]:
    """Return the terms with each sign replaced by a variable, and the arguments of these signs.

    Variable `width` + i represents the sign of the i-th argument. The same variable represents
    sign(v), sign(-2*v), sign(v**3) and heaviside(v); sign(v*x) becomes a product of two variables.
    A sign within the argument of another sign remains.
    """
    signs = _Signs(width)
    return tuple(signs.without(term) for term in terms), tuple(signs.surfaces)


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
            case _:
                return rebuild(item, self.without)

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
                weight = split_number(terms[0])[0] or 1.0
                if weight != 1:
                    scaled = add(*(multiply(Number(1 / weight), term) for term in terms))
                    return multiply(Number(1.0 if weight > 0 else -1.0), self._sign(scaled))
        index = self.surfaces.setdefault(item, len(self.surfaces))
        return Variable(self.width + index, f"sign {index + 1}")


_KINKS = frozenset({"abs", "sign", "heaviside"})


def kink_arguments(item: Expression) -> frozenset[Expression]:
    """Return the arguments of abs, sign and heaviside.

    Where they are zero, a formula is not smooth.
    """
    inner = frozenset().union(*map(kink_arguments, subexpressions(item)))
    return inner | {item.argument} if isinstance(item, Call) and item.function in _KINKS else inner


def without_kinks(item: Expression, widths: Mapping[Expression, float]) -> Expression:
    """Return the formula with kinks smoothed over `widths` of their arguments.

    abs(z) becomes sqrt(z^2 + w^2), and sign(z) becomes the derivative of this.
    """
    inner = rebuild(item, lambda part: without_kinks(part, widths))
    if not (isinstance(item, Call) and item.function in _KINKS and widths.get(item.argument)):
        return inner
    assert isinstance(inner, Call)
    z = inner.argument
    square = add(power(z, _TWO), Number(widths[item.argument] ** 2))
    if item.function == "abs":
        return call("sqrt", square)
    side = multiply(z, power(square, Number(-0.5)))
    if item.function == "sign":
        return side
    return multiply(Number(0.5), add(ONE, side))
