"""The derivative of a formula, as a formula."""

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


def derivative(item: Expression, by: Variable | Parameter) -> Expression:
    """d item / d by. Steps, as of `sign`, have slope zero; that of `abs` is `sign`."""
    match item:
        case Variable(index, _):
            return ONE if isinstance(by, Variable) and by.index == index else ZERO
        case Parameter():
            return ONE if item == by else ZERO
        case Sum(terms):
            return add(*(derivative(term, by) for term in terms))
        case Product(factors):
            return add(
                *(
                    multiply(derivative(factor, by), *factors[:i], *factors[i + 1 :])
                    for i, factor in enumerate(factors)
                )
            )
        case Power(base, exponent):
            return add(
                multiply(exponent, power(base, add(exponent, Number(-1.0))), derivative(base, by)),
                _exponential(item, derivative(exponent, by)),
            )
        case Call(function, argument):
            inner = derivative(argument, by)
            return ZERO if inner == ZERO else multiply(_outer(function, argument), inner)
        case _:
            return ZERO


def _exponential(item: Power, inner: Expression) -> Expression:
    """d (a ** b) = a ** b log(a) db, where a is held."""
    return ZERO if inner == ZERO else multiply(item, call("log", item.base), inner)


def _outer(function: str, at: Expression) -> Expression:
    """The derivative of a function, at its argument."""
    square = power(at, Number(2.0))
    minus = Number(-1.0)
    match function:
        case "sin":
            return call("cos", at)
        case "cos":
            return multiply(minus, call("sin", at))
        case "tan":
            return add(ONE, power(call("tan", at), Number(2.0)))
        case "arcsin":
            return power(add(ONE, multiply(minus, square)), Number(-0.5))
        case "arccos":
            return multiply(minus, power(add(ONE, multiply(minus, square)), Number(-0.5)))
        case "arctan":
            return power(add(ONE, square), minus)
        case "sinh":
            return call("cosh", at)
        case "cosh":
            return call("sinh", at)
        case "tanh":
            return add(ONE, multiply(minus, power(call("tanh", at), Number(2.0))))
        case "exp":
            return call("exp", at)
        case "log":
            return power(at, minus)
        case "sqrt":
            return multiply(Number(0.5), power(at, Number(-0.5)))
        case "abs":
            return call("sign", at)
        case "sign" | "heaviside":
            return ZERO
    raise AssertionError(f"No derivative of {function} is known.")
