"""Formulas as data: NumPy, JAX, SymPy, text and files all use the same immutable tree.

Build trees with `add`, `multiply`, `power` and `call`. These return a canonical form, so equal
formulas (`x*x*y`, `y*x**2`) are equal objects.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, final

from .._common.errors import FormulaError
from ..data import split_delayed
from ._limits import MAX_FACTORS

FUNCTIONS: Mapping[str, Callable[[float], float]] = {
    "sin": math.sin, "cos": math.cos, "tan": math.tan, "arcsin": math.asin, "arccos": math.acos,
    "arctan": math.atan, "sinh": math.sinh, "cosh": math.cosh, "tanh": math.tanh, "exp": math.exp,
    "log": math.log, "sqrt": math.sqrt, "abs": abs,
    "sign": lambda value: float((value > 0) - (value < 0)),
    "heaviside": lambda value: 0.5 + 0.5 * ((value > 0) - (value < 0)),
}  # fmt: skip
"""Functions allowed in formulas, by their NumPy and JAX names, as functions of plain numbers."""

SYMPY_NAMES = {
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "abs": "Abs",
    "heaviside": "Heaviside",
}


@final
@dataclass(frozen=True, slots=True)
class Number:
    value: float


@final
@dataclass(frozen=True, slots=True)
class Variable:
    """A state or input, given by its index among the variables and by its name."""

    index: int
    name: str


@final
@dataclass(frozen=True, slots=True)
class Parameter:
    """A named constant that is estimated from data. Formulas do not contain its value."""

    name: str


@final
@dataclass(frozen=True, slots=True)
class Sum:
    terms: tuple["Expression", ...]


@final
@dataclass(frozen=True, slots=True)
class Product:
    factors: tuple["Expression", ...]


@final
@dataclass(frozen=True, slots=True)
class Power:
    base: "Expression"
    exponent: "Expression"


@final
@dataclass(frozen=True, slots=True)
class Call:
    function: str
    argument: "Expression"


Expression = Number | Variable | Parameter | Sum | Product | Power | Call
ONE = Number(1.0)
ZERO = Number(0.0)


# -- traversal -----------------------------------------------------------------------------


def subexpressions(item: Expression) -> tuple[Expression, ...]:
    """Return the direct subexpressions of a formula."""
    match item:
        case Sum(parts) | Product(parts):
            return parts
        case Power(base, exponent):
            return (base, exponent)
        case Call(_, argument):
            return (argument,)
        case _:
            return ()


def rebuild(item: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """Return the formula with `change` applied to each of its direct subexpressions."""
    match item:
        case Sum(terms):
            return add(*map(change, terms))
        case Product(factors):
            return multiply(*map(change, factors))
        case Power(base, exponent):
            return power(change(base), change(exponent))
        case Call(function, argument):
            return call(function, change(argument))
        case _:
            return item


def factors_of(item: Expression) -> tuple[Expression, ...]:
    """Return the factors of a product. Another formula is its only factor."""
    return item.factors if isinstance(item, Product) else (item,)


# -- canonical construction ----------------------------------------------------------------


def add(*terms: Expression) -> Expression:
    """Return the sum, with like terms collected."""
    weights: dict[Expression, float] = {}
    for term in terms:
        for part in term.terms if isinstance(term, Sum) else (term,):
            weight, unit = split_number(part)
            weights[unit] = weights.get(unit, 0.0) + weight
    parts = [
        multiply(Number(weight), unit)
        for unit, weight in sorted(weights.items(), key=lambda item: _order(item[0]))
        if weight != 0
    ]
    if len(parts) > 1 and any(isinstance(part, Sum) for part in parts):
        return add(*parts)  # a sum with coefficient one is flattened
    return ZERO if not parts else parts[0] if len(parts) == 1 else Sum(tuple(parts))


def multiply(*factors: Expression) -> Expression:
    """Return the product, with equal bases collected into powers."""
    number = 1.0
    collected: dict[Expression, list[Expression]] = {}
    for factor in factors:
        for part in factors_of(factor):
            if isinstance(part, Number):
                number *= part.value
                continue
            base, exponent = (part.base, part.exponent) if isinstance(part, Power) else (part, ONE)
            collected.setdefault(base, []).append(exponent)
    exponents = {
        base: items[0] if len(items) == 1 else add(*items) for base, items in collected.items()
    }
    if not math.isfinite(number):
        raise FormulaError("A number in the formula overflows.")
    if number == 0:
        return ZERO
    parts = [
        power(base, exponent)
        for base, exponent in sorted(exponents.items(), key=lambda item: _order(item[0]))
        if exponent != ZERO
    ]
    if number != 1 and len(parts) == 1 and isinstance(parts[0], Sum):
        return add(*(multiply(Number(number), term) for term in parts[0].terms))
    if number != 1 or not parts:
        parts.insert(0, Number(number))
    if len(parts) > 1 and any(
        isinstance(part, Product | Number)
        or (isinstance(part, Power) and part.base in exponents)
        and exponents[part.base] != part.exponent
        for part in parts[int(number != 1) :]
    ):
        return multiply(*parts)  # collect the factors of expanded powers again
    if len(parts) > MAX_FACTORS:
        raise FormulaError(f"A product may have at most {MAX_FACTORS} factors; got {len(parts)}.")
    return parts[0] if len(parts) == 1 else Product(tuple(parts))


def power(base: Expression, exponent: Expression) -> Expression:
    """Return base ** exponent. Integer powers of products and powers are expanded."""
    if exponent == ONE or base == ONE:
        return base
    if exponent == ZERO:
        return ONE
    if isinstance(base, Number) and isinstance(exponent, Number):
        return _folded(lambda: base.value**exponent.value)
    if isinstance(exponent, Number) and exponent.value.is_integer():
        if isinstance(base, Product):
            return multiply(*(power(factor, exponent) for factor in base.factors))
        if isinstance(base, Power):
            return power(base.base, multiply(base.exponent, exponent))
    return Power(base, exponent)


def call(function: str, argument: Expression) -> Expression:
    """Return function(argument), as a number if the argument is a number."""
    if isinstance(argument, Number):
        return _folded(lambda: FUNCTIONS[function](argument.value))
    return Call(function, argument)


def _folded(compute: Callable[[], Any]) -> Number:
    try:
        value = compute()
    except (OverflowError, ValueError, ZeroDivisionError):
        value = math.nan
    if isinstance(value, complex) or not math.isfinite(value):
        raise FormulaError("A constant part of the formula has no finite real value.")
    return Number(float(value))


def split_number(term: Expression) -> tuple[float, Expression]:
    """Return the numeric factor and the remainder: 3*x*y -> (3, x*y)."""
    if isinstance(term, Number):
        return term.value, ONE
    if isinstance(term, Product) and isinstance(term.factors[0], Number):
        others = term.factors[1:]
        return term.factors[0].value, others[0] if len(others) == 1 else Product(others)
    return 1.0, term


@lru_cache(maxsize=4096)
def _order(item: Expression) -> tuple:
    """Return a sort key: numbers, then variables in the user's order, then their powers, then the
    rest.
    """
    match item:
        case Number(value):
            return (0, value, 0.0, "")
        case Variable(index, _):
            return (1, index, 1.0, "")
        case Power(Variable(index, _), Number(exponent)):
            return (1, index, exponent, "")
        case Parameter(name):
            return (2, 0, 0.0, name)
        case Product(factors):
            return (2, len(factors), 0.0, to_text(item))
        case _:
            return (3, 0, 0.0, to_text(item))


# -- reading -------------------------------------------------------------------------------


def evaluate(
    item: Expression, variables: Any, xp: Any, parameters: Mapping[str, Any] | None = None
) -> Any:
    """Return the value of a formula, computed by `xp`: `numpy`, `jax.numpy` or `sympy`."""
    return run(compiled([item]), variables, xp, parameters)[0]


@final
@dataclass(frozen=True)
class Program:
    """Formulas as a list of steps. Shared subexpressions are computed once.

    A step is (operation, operands). Operands are indices of earlier steps. Exceptions are the value
    of a "number", the index of a "variable", and the name of a "call" or a "parameter".
    """

    steps: tuple[tuple[str, tuple[Any, ...]], ...]
    results: tuple[int, ...]


def compiled(items: Sequence[Expression]) -> Program:
    """Return the program that evaluates these formulas."""
    return _compiled(tuple(items))


@lru_cache(maxsize=4096)  # models in a search share most of their terms
def _compiled(items: tuple[Expression, ...]) -> Program:
    indices: dict[Expression, int] = {}
    steps: list[tuple[str, tuple[Any, ...]]] = []

    def index_of(item: Expression) -> int:
        if item in indices:
            return indices[item]
        match item:
            case Number(value):
                step = ("number", (value,))
            case Variable(index, _):
                step = ("variable", (index,))
            case Parameter(name):
                step = ("parameter", (name,))
            case Sum(terms):
                step = ("add", tuple(index_of(term) for term in terms))
            case Product(factors):
                step = ("multiply", tuple(index_of(factor) for factor in factors))
            case Power(base, Number(exponent)) if exponent.is_integer() and 2 <= exponent <= 8:
                # compute x**n as x**(n-1) * x: monomials share factors, and NumPy's general power
                # is slow
                lower = base if exponent == 2 else Power(base, Number(exponent - 1))
                step = ("multiply", (index_of(lower), index_of(base)))
            case Power(base, exponent):
                step = ("power", (index_of(base), index_of(exponent)))
            case Call(function, argument):
                step = ("call", (function, index_of(argument)))
        steps.append(step)
        indices[item] = len(steps) - 1
        return indices[item]

    results = tuple(index_of(item) for item in items)
    return Program(tuple(steps), results)


def run(
    program: Program, variables: Any, xp: Any, parameters: Mapping[str, Any] | None = None
) -> list[Any]:
    """Return one value per formula, computed by `xp`.

    `variables` contains one value per variable, and `parameters` the values of parameters by name.
    """
    is_sympy = xp.__name__ == "sympy"
    values: list[Any] = []
    for operation, operands in program.steps:
        if operation == "variable":
            value = variables[operands[0]]
        elif operation == "multiply":
            value = values[operands[0]]
            for index in operands[1:]:
                value = value * values[index]
        elif operation == "call":
            name, index = operands
            function = getattr(xp, SYMPY_NAMES.get(name, str(name)) if is_sympy else name)
            # heaviside(0) is one half, as in SymPy
            half = (0.5,) if name == "heaviside" and not is_sympy else ()
            value = function(values[index], *half)
        elif operation == "add":
            value = values[operands[0]]
            for index in operands[1:]:
                value = value + values[index]
        elif operation == "parameter":
            value = (parameters or {})[operands[0]]
        elif operation == "power":
            value = values[operands[0]] ** values[operands[1]]
        else:
            value = operands[0]
            if is_sympy and value.is_integer():
                value = xp.Integer(int(value))
        values.append(value)
    return [values[index] for index in program.results]


def rename(item: Expression, names: Sequence[str]) -> Expression:
    """Return the formula with variables renamed. A variable gets the name at its index."""
    return replace_variables(item, [Variable(index, name) for index, name in enumerate(names)])


def replace_variables(
    item: Expression, variables: Sequence[Expression] | Mapping[int, Expression]
) -> Expression:
    """Return the formula with variables replaced by index.

    Variables that are not in a mapping remain.
    """
    by_index = variables if isinstance(variables, Mapping) else dict(enumerate(variables))

    def replaced(part: Expression) -> Expression:
        if isinstance(part, Variable):
            return by_index.get(part.index, part)
        return rebuild(part, replaced)

    return replaced(item)


def to_text(item: Expression, *, functions: str = "", names: Sequence[str] | None = None) -> str:
    """Return the formula in Python notation, which `parse` can read.

    `functions` is a prefix of function names ('np.'). `names` replaces the names of variables.
    """

    def write(item: Expression, binding: int) -> str:
        match item:
            case Number(value):
                text = f"{int(value)}" if value.is_integer() and abs(value) < 1e15 else repr(value)
                level = 4 if value >= 0 else 1
            case Variable(index, name):
                text, level = quote_name(name) if names is None else names[index], 5
            case Parameter(name):
                text, level = name, 5
            case Sum(terms):
                text, level = write(terms[0], 1), 1
                for term in terms[1:]:
                    weight, unit = split_number(term)
                    if weight < 0:
                        text += " - " + write(multiply(Number(-weight), unit), 2)
                    else:
                        text += " + " + write(term, 2)
            case Product(factors):
                above, below = split_fraction(factors)
                level, number = 2, 1.0
                if above and isinstance(above[0], Number):
                    number, above = above[0].value, above[1:]
                text = "*".join(write(part, 2) for part in above)
                if number not in (1.0, -1.0) or not text:
                    text = "*".join(filter(None, [write(Number(abs(number)), 2), text]))
                if number < 0:
                    text, level = f"-{text}", 1
                text += "".join(f"/{write(part, 3)}" for part in below)
            case Power(base, exponent) if not is_inverse(item):
                text, level = f"{write(base, 4)}**{write(exponent, 4)}", 3
            case Power(_, _):
                text, level = f"1/{write(power(item, Number(-1.0)), 3)}", 2
            case Call(function, argument):
                half = ", 0.5" if function == "heaviside" and functions == "np." else ""
                text, level = f"{functions}{function}({write(argument, 0)}{half})", 5
        return f"({text})" if level < binding else text

    return write(item, 0)


def quote_name(name: str) -> str:
    """Return a variable's name as it is written in formulas.

    It is in backticks unless it is an identifier or a delayed variable such as u(t - tau).
    """
    is_plain = re.fullmatch(r"[^\W\d]\w*", name) or split_delayed(name)
    return name if is_plain else f"`{name}`"


def split_fraction(factors: Sequence[Expression]) -> tuple[list[Expression], list[Expression]]:
    """Return the factors of the numerator, and those of the denominator."""
    above = [factor for factor in factors if not is_inverse(factor)]
    return above, [power(factor, Number(-1.0)) for factor in factors if is_inverse(factor)]


def is_inverse(item: Expression) -> bool:
    """Return whether a formula belongs in the denominator of a fraction."""
    return isinstance(item, Power) and isinstance(item.exponent, Number) and item.exponent.value < 0
