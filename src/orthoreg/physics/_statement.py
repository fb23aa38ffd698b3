"""A known right-hand side, taken apart: numbers, constants before terms, terms."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float

from .._common.errors import InputError
from ..terms import (
    Expression,
    Number,
    Parameter,
    Power,
    Product,
    Sum,
    multiply,
    parameters_of,
    parse,
    substitute,
    to_text,
)

_OPEN = re.compile(r"(.*?)\+?\s*\.\.\.", re.DOTALL)
_EQUATION = re.compile(r"\s*(?:`([^`]+)`|((?!-)[^\s'=`*/+^()]+))(')?'\s*=(.*)", re.DOTALL)
_ONE = Number(1.0)
Powers = tuple[tuple[str, float], ...]


@final
@dataclass(frozen=True)
class Statement:
    """What is known of one equation: its parts, and whether more may be added to them."""

    parts: tuple[Expression, ...]
    is_complete: bool


@final
@dataclass(frozen=True)
class Part:
    """number * prod name**exponent * term."""

    number: float
    powers: Powers
    term: Expression


def parse_equation(text: str) -> tuple[str, str]:
    """State and right-hand side of "omega' = -g/L*sin(theta) + ...". A second mark stands for
    the velocity of a position: "theta'' = ..." is the equation of "theta'". Both sides of one that
    has more on its left, "(m + M)*x'' + m*L*cos(a)*a'' = ..."."""
    found = _EQUATION.fullmatch(text)
    if found is not None and found[4].strip() and "=" not in found[4]:
        return (found[1] or found[2]) + (found[3] or ""), found[4].strip()
    left, sign, right = (part.strip() for part in text.partition("="))
    if not sign or "'" not in left or not right or "=" in right:
        raise InputError(
            f'A known equation must be such as "x\' = v", "v\' = -k*x + ..." or '
            f"\"m*x'' + c*y'' = -k*x\"; got '{text}'."
        )
    return left, right


def read_side(
    text: str, variables: Sequence[str], values: Mapping[str, float], names: Collection[str]
) -> tuple[Expression, bool]:
    """The formula of a right-hand side, and whether it is open: ends with "..."; `names` are words
    known to be constants, those in `values` become numbers."""
    found = _OPEN.fullmatch(text.strip())
    body = text if found is None else found[1]
    if not body.strip():
        return Number(0.0), True
    known = {name: Number(value) for name, value in values.items()}
    formula = parse(body, variables, {*known, *names}, free=True)
    return substitute(formula, known), found is not None


def statement(formula: Expression, is_open: bool) -> Statement:
    """What a right-hand side says."""
    parts = [part for part in summands(formula) if part != Number(0.0)]
    return Statement(tuple(parts), not is_open)


def summands(item: Expression) -> list[Expression]:
    """The terms of a sum; a product with a sum that holds constants is multiplied out."""
    if isinstance(item, Sum):
        return [part for term in item.terms for part in summands(term)]
    if isinstance(item, Product):
        for i, factor in enumerate(item.factors):
            if isinstance(factor, Sum) and parameters_of(factor):
                others = item.factors[:i] + item.factors[i + 1 :]
                return [part for term in factor.terms for part in summands(multiply(term, *others))]
    return [item]


def split(item: Expression, inner: Collection[str]) -> Part:
    """A summand as number, constants before the term, and the term; the constants `inner` stay
    with the term."""
    number, powers, rest = 1.0, {}, []
    for factor in item.factors if isinstance(item, Product) else (item,):
        match factor:
            case Number(value):
                number *= value
            case Parameter(name) if name not in inner:
                powers[name] = powers.get(name, 0.0) + 1.0
            case Power(Parameter(name), Number(value)) if name not in inner:
                powers[name] = powers.get(name, 0.0) + value
            case _:
                rest.append(factor)
    return Part(number, tuple(sorted(powers.items())), multiply(_ONE, *rest))


def inner_names(
    statements: Sequence[Statement], bounds: Mapping[str, tuple[float, float]]
) -> frozenset[str]:
    """The constants that stand inside terms; those whose products before terms depend on each
    other, so that coefficients that are free could not be met by any values of them; and those with
    bounds that are no bounds of a single coefficient."""
    items = [part for statement in statements for part in statement.parts]
    inner: frozenset[str] = frozenset()
    while True:
        parts = [split(item, inner) for item in items]
        found = inner.union(*(parameters_of(part.term) for part in parts))
        products = sorted({part.powers for part in parts if part.powers})
        if found == inner and products:
            names = sorted({name for powers in products for name, _ in powers})
            matrix = np.array([[dict(one).get(name, 0.0) for name in names] for one in products])
            if np.linalg.matrix_rank(matrix) < len(products):
                found = inner.union(names)
            else:
                found = inner.union(_bounded_together(products, names, matrix, bounds))
        if found == inner:
            return inner
        inner = found


def _bounded_together(
    products: Sequence[Powers],
    names: Sequence[str],
    matrix: Float[np.ndarray, "p n"],
    bounds: Mapping[str, tuple[float, float]],
) -> list[str]:
    """The constants that the products determine and whose bounds are not those of one of them."""
    share = np.linalg.pinv(matrix) @ matrix
    return [
        name
        for i, name in enumerate(names)
        if name in bounds
        and np.isclose(share[i, i], 1.0)
        and not any(
            dict(one).keys() == {name} and is_monotonic(*bounds[name], one[0][1])
            for one in products
        )
    ]


def is_monotonic(low: float, high: float, exponent: float) -> bool:
    """Whether p**exponent lies between its values at two bounds of p exactly where p does."""
    return exponent == 1 or low >= 0 or (high <= 0 and exponent == -1)


def check_single(equation: str, parts: Sequence[Part]) -> None:
    """Refuses a term that stands in an equation twice, once with a constant before it."""
    seen: set[Expression] = set()
    for part in parts:
        if part.term in seen:
            raise InputError(
                f"The known equation of '{equation}' has the term '{to_text(part.term)}' twice, "
                f"with different constants before it. Give them one name together."
            )
        seen.add(part.term)
