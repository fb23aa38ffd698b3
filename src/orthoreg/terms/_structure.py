"""What kind of function a formula is: its variables and parameters, its exponents, its period."""

from collections.abc import Mapping

from ._expression import (
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
