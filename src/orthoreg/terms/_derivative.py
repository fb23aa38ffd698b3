"""Derivatives of formulas."""

from functools import lru_cache

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
)

_TWO, _MINUS = Number(2.0), Number(-1.0)


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
        parts.append(multiply(exponent, power(base, add(exponent, _MINUS)), by_base))
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
            return multiply(_MINUS, call("sin", a))
        case "tan":
            return power(call("cos", a), Number(-2.0))
        case "arcsin":
            return power(add(ONE, multiply(_MINUS, square)), Number(-0.5))
        case "arccos":
            return multiply(_MINUS, power(add(ONE, multiply(_MINUS, square)), Number(-0.5)))
        case "arctan":
            return power(add(ONE, square), _MINUS)
        case "sinh":
            return call("cosh", a)
        case "cosh":
            return call("sinh", a)
        case "tanh":
            return add(ONE, multiply(_MINUS, power(call("tanh", a), _TWO)))
        case "exp":
            return call("exp", a)
        case "log":
            return power(a, _MINUS)
        case "sqrt":
            return multiply(Number(0.5), power(call("sqrt", a), _MINUS))
        case "abs":
            return call("sign", a)
        case _:
            return ZERO
