"""A known right-hand side as a sum of products (number, constants, term)."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float

from .._common.errors import InputError, shortened
from ..terms import (
    MAX_TERMS,
    Expression,
    Number,
    Parameter,
    Power,
    Sum,
    check_length,
    factors_of,
    multiply,
    parameters_of,
    parse,
    substitute,
    to_text,
)
from ._constants import Powers

_OPEN = "..."
_NEXT = re.compile(r"^(\s*(?:`[^`]*`|\w+)\s*)\[k\+1\]")  # the left side of a map
_EQUATION = re.compile(r"\s*(?:`([^`]+)`|((?!-)[^\s'=`*/+^()]+))('*)'\s*=(.*)", re.DOTALL)
_ONE = Number(1.0)


@final
@dataclass(frozen=True)
class Statement:
    """Knowledge about one equation: its summands, and whether it is complete."""

    parts: tuple[Expression, ...]
    is_complete: bool


@final
@dataclass(frozen=True)
class Part:
    """The product number * prod name**exponent * term."""

    number: float
    powers: Powers
    term: Expression


def parse_equation(text: str) -> tuple[str, str]:
    """Return both sides of an equation such as "omega' = -g/L*sin(theta) + ...".

    The left side of an explicit equation is returned as the name of the state, also for a map,
    "x[k+1] = ...". Further primes denote equations of derivatives: "theta'' = ..." is the equation
    of "theta'". Other left sides are returned unchanged: "(m + M)*x'' + m*L*cos(a)*a'' = ...".
    """
    check_length(text, "An equation")
    match = _EQUATION.fullmatch(_NEXT.sub(r"\1'", text))
    if match is not None and match[4].strip() and "=" not in match[4]:
        return (match[1] or match[2]) + match[3], match[4].strip()
    left, sign, right = (part.strip() for part in text.partition("="))
    if not sign or "'" not in left or not right or "=" in right:
        raise InputError(
            f'A known equation must have a form such as "x\' = v", "v\' = -k*x + ..." or '
            f"\"m*x'' + c*y'' = -k*x\"; got '{shortened(text)}'."
        )
    return left, right


def read_side(
    text: str, variables: Sequence[str], values: Mapping[str, float], names: Collection[str]
) -> tuple[Expression, bool]:
    """Return the formula of a right-hand side, and whether the text ends with "...".

    `names` are words that denote constants. Constants in `values` are replaced by numbers.
    """
    check_length(text, "A right-hand side")
    body = text.strip()
    is_open = body.endswith(_OPEN)
    if is_open:
        body = body.removesuffix(_OPEN).rstrip().removesuffix("+")
    if not body.strip():
        return Number(0.0), True
    known = {name: Number(value) for name, value in values.items()}
    formula = parse(body, variables, {*known, *names}, free=True)
    return substitute(formula, known), is_open


def statement(formula: Expression, is_open: bool) -> Statement:
    """Return the statement of a right-hand side. It is complete unless `is_open`."""
    parts = [part for part in summands(formula) if part != Number(0.0)]
    return Statement(tuple(parts), not is_open)


def summands(item: Expression, expand_all: bool = False) -> list[Expression]:
    """Return the terms of a sum.

    Products of sums are expanded if a sum contains constants, or if `expand_all`.
    """
    count = _count_summands(item, expand_all)
    if count > MAX_TERMS:
        raise InputError(
            f"'{shortened(to_text(item))}' has {count} terms when it is expanded; at most "
            f"{MAX_TERMS} are allowed. Write fewer products of sums, or give values of constants."
        )
    return list(_summands(item, expand_all))


def _count_summands(item: Expression, expand_all: bool) -> int:
    """Return an upper bound on the number of terms after expansion, without expanding."""
    if isinstance(item, Sum):
        return sum(_count_summands(term, expand_all) for term in item.terms)
    count = 1
    for factor in factors_of(item):
        if isinstance(factor, Sum) and (expand_all or parameters_of(factor)):
            count *= _count_summands(factor, expand_all)
    return count


def _summands(item: Expression, expand_all: bool) -> Iterator[Expression]:
    if isinstance(item, Sum):
        for term in item.terms:
            yield from _summands(term, expand_all)
        return
    for i, factor in enumerate(factors_of(item)):
        if isinstance(factor, Sum) and (expand_all or parameters_of(factor)):
            others = [*factors_of(item)[:i], *factors_of(item)[i + 1 :]]
            for term in factor.terms:
                yield from _summands(multiply(term, *others), expand_all)
            return
    yield item


def split(item: Expression, inner: Collection[str]) -> Part:
    """Return a summand as number, constants before the term, and term.

    The constants in `inner` remain in the term.
    """
    number, powers, others = 1.0, {}, []
    for factor in factors_of(item):
        match factor:
            case Number(value):
                number *= value
            case Parameter(name) if name not in inner:
                powers[name] = powers.get(name, 0.0) + 1.0
            case Power(Parameter(name), Number(value)) if name not in inner:
                powers[name] = powers.get(name, 0.0) + value
            case _:
                others.append(factor)
    return Part(number, tuple(sorted(powers.items())), multiply(_ONE, *others))


def inner_names(
    statements: Sequence[Statement], bounds: Mapping[str, tuple[float, float]]
) -> frozenset[str]:
    """Return the constants inside terms.

    These include constants of dependent products before terms, which cannot represent free
    coefficients. They also include constants whose bounds do not bound a single coefficient.
    """
    inner: frozenset[str] = frozenset()
    while True:
        sides = [[split(item, inner) for item in statement.parts] for statement in statements]
        parts = [part for side in sides for part in side]
        extended = inner.union(*(parameters_of(part.term) for part in parts))
        products = sorted({part.powers for part in parts if part.powers})
        if extended == inner and products:
            names = sorted({name for powers in products for name, _ in powers})
            matrix = np.array(
                [[dict(product).get(name, 0.0) for name in names] for product in products]
            )
            if np.linalg.matrix_rank(matrix) < len(products):
                extended = inner.union(names)
            else:
                alone = [part.powers for side in sides for part in _single_summands(side)]
                extended = inner.union(_bounded_together(products, alone, names, matrix, bounds))
        if extended == inner:
            return inner
        inner = extended


def _single_summands(parts: Sequence[Part]) -> list[Part]:
    """Return the summands of an equation whose term occurs in no other summand."""
    counts = Counter(part.term for part in parts)
    return [part for part in parts if counts[part.term] == 1]


def _bounded_together(
    products: Sequence[Powers],
    alone: Sequence[Powers],
    names: Sequence[str],
    matrix: Float[np.ndarray, "p n"],
    bounds: Mapping[str, tuple[float, float]],
) -> list[str]:
    """Return the constants that the products determine, but whose bounds bound no coefficient.

    `alone` are the products that are the only summand of a coefficient.
    """
    share = np.linalg.pinv(matrix) @ matrix
    return [
        name
        for i, name in enumerate(names)
        if name in bounds
        and np.isclose(share[i, i], 1.0)
        and not any(
            dict(product).keys() == {name} and is_monotonic(*bounds[name], product[0][1])
            for product in alone
        )
    ]


def is_monotonic(low: float, high: float, exponent: float) -> bool:
    """Return whether bounds on p are equivalent to bounds on p**exponent."""
    return exponent == 1 or low >= 0 or (high <= 0 and exponent == -1)
