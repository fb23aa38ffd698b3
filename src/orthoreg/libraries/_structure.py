"""What kind of function a formula is: its variables, its exponents, its period."""

from ._expression import Call, Expression, Number, Power, Product, Sum, Variable

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
