"""Formulas as data: one immutable tree serves NumPy, JAX, SymPy, text and files.

Build trees with `add`, `multiply`, `power` and `call`, which bring them to a canonical form, so
that equal formulas (`x*x*y`, `y*x**2`) are equal objects.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, final

from .._common.errors import FormulaError

FUNCTIONS: Mapping[str, Callable[[float], float]] = {
    "sin": math.sin, "cos": math.cos, "tan": math.tan, "arcsin": math.asin, "arccos": math.acos,
    "arctan": math.atan, "sinh": math.sinh, "cosh": math.cosh, "tanh": math.tanh, "exp": math.exp,
    "log": math.log, "sqrt": math.sqrt, "abs": abs,
    "sign": lambda value: float((value > 0) - (value < 0)),
    "heaviside": lambda value: 0.5 + 0.5 * ((value > 0) - (value < 0)),
}  # fmt: skip
"""Functions a formula may use, by the name NumPy and JAX give them, on plain numbers."""

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
    """A state or input, by its place among the variables and by its name."""

    index: int
    name: str


@final
@dataclass(frozen=True, slots=True)
class Parameter:
    """A number that is not known yet, by its name: estimated from data, and held beside them."""

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


# -- canonical construction ----------------------------------------------------------------


def add(*terms: Expression) -> Expression:
    """The sum, with like terms collected."""
    weights: dict[Expression, float] = {}
    for term in terms:
        for part in term.terms if isinstance(term, Sum) else (term,):
            weight, rest = split_number(part)
            weights[rest] = weights.get(rest, 0.0) + weight
    parts = [
        multiply(Number(weight), rest)
        for rest, weight in sorted(weights.items(), key=lambda item: _order(item[0]))
        if weight != 0
    ]
    if len(parts) > 1 and any(isinstance(part, Sum) for part in parts):
        return add(*parts)  # a sum whose weight became one is taken apart
    return ZERO if not parts else parts[0] if len(parts) == 1 else Sum(tuple(parts))


def multiply(*factors: Expression) -> Expression:
    """The product, with equal bases collected into powers."""
    number = 1.0
    exponents: dict[Expression, Expression] = {}
    for factor in factors:
        for part in factor.factors if isinstance(factor, Product) else (factor,):
            if isinstance(part, Number):
                number *= part.value
                continue
            base, exponent = (part.base, part.exponent) if isinstance(part, Power) else (part, ONE)
            exponents[base] = add(exponents.get(base, ZERO), exponent)
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
        return multiply(*parts)  # a power that was multiplied out is collected again
    return parts[0] if len(parts) == 1 else Product(tuple(parts))


def power(base: Expression, exponent: Expression) -> Expression:
    """base ** exponent; integer powers of products and powers are multiplied out."""
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
    """function(argument)."""
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
    """3*x*y -> (3, x*y)."""
    if isinstance(term, Number):
        return term.value, ONE
    if isinstance(term, Product) and isinstance(term.factors[0], Number):
        rest = term.factors[1:]
        return term.factors[0].value, rest[0] if len(rest) == 1 else Product(rest)
    return 1.0, term


@lru_cache(maxsize=4096)
def _order(item: Expression) -> tuple:
    """A sort key: numbers, variables in the user's order, powers of them, then the rest."""
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
    """The value in the arithmetic of `xp`: `numpy`, `jax.numpy` or `sympy`."""
    return run(compiled([item]), variables, xp, parameters)[0]


@final
@dataclass(frozen=True)
class Program:
    """Formulas as a list of steps, each part that several share computed once.

    A step is (operation, operands); operands are the numbers of earlier steps, except for the
    value of a "number", the index of a "variable" and the name of a "call" or a "parameter".
    """

    steps: tuple[tuple[str, tuple[Any, ...]], ...]
    results: tuple[int, ...]


def compiled(items: Sequence[Expression]) -> Program:
    """The program that evaluates all these formulas."""
    return _compiled(tuple(items))


@lru_cache(maxsize=4096)  # models of one search share most of their terms
def _compiled(items: tuple[Expression, ...]) -> Program:
    places: dict[Expression, int] = {}
    steps: list[tuple[str, tuple[Any, ...]]] = []

    def place_of(item: Expression) -> int:
        if item in places:
            return places[item]
        match item:
            case Number(value):
                step = ("number", (value,))
            case Variable(index, _):
                step = ("variable", (index,))
            case Parameter(name):
                step = ("parameter", (name,))
            case Sum(terms):
                step = ("add", tuple(place_of(term) for term in terms))
            case Product(factors):
                step = ("multiply", tuple(place_of(factor) for factor in factors))
            case Power(base, Number(exponent)) if exponent.is_integer() and 2 <= exponent <= 8:
                # x**n as x**(n-1) * x: monomials share it, and NumPy's general power is slow
                lower = base if exponent == 2 else Power(base, Number(exponent - 1))
                step = ("multiply", (place_of(lower), place_of(base)))
            case Power(base, exponent):
                step = ("power", (place_of(base), place_of(exponent)))
            case Call(function, argument):
                step = ("call", (function, place_of(argument)))
        steps.append(step)
        places[item] = len(steps) - 1
        return places[item]

    results = tuple(place_of(item) for item in items)
    return Program(tuple(steps), results)


def run(
    program: Program, variables: Any, xp: Any, parameters: Mapping[str, Any] | None = None
) -> list[Any]:
    """One value per formula, from one value per variable and the values of the parameters by name,
    in the arithmetic of `xp`."""
    is_sympy = xp.__name__ == "sympy"
    values: list[Any] = []
    for operation, operands in program.steps:
        if operation == "variable":
            value = variables[operands[0]]
        elif operation == "multiply":
            value = values[operands[0]]
            for place in operands[1:]:
                value = value * values[place]
        elif operation == "call":
            name, place = operands
            function = getattr(xp, SYMPY_NAMES.get(name, str(name)) if is_sympy else name)
            # a step is one half where it happens, in SymPy without being told
            half = (0.5,) if name == "heaviside" and not is_sympy else ()
            value = function(values[place], *half)
        elif operation == "add":
            value = values[operands[0]]
            for place in operands[1:]:
                value = value + values[place]
        elif operation == "parameter":
            value = (parameters or {})[operands[0]]
        elif operation == "power":
            value = values[operands[0]] ** values[operands[1]]
        else:
            value = operands[0]
            if is_sympy and value.is_integer():
                value = xp.Integer(int(value))
        values.append(value)
    return [values[place] for place in program.results]


def rename(item: Expression, names: Sequence[str]) -> Expression:
    """The formula with the variables' names replaced, by their places."""
    return replace_variables(item, [Variable(place, name) for place, name in enumerate(names)])


def replace_variables(item: Expression, variables: Sequence[Expression]) -> Expression:
    """The formula with its variables replaced, by their places."""
    match item:
        case Variable(index, _):
            return variables[index]
        case Sum(terms):
            return add(*(replace_variables(term, variables) for term in terms))
        case Product(factors):
            return multiply(*(replace_variables(factor, variables) for factor in factors))
        case Power(base, exponent):
            return power(replace_variables(base, variables), replace_variables(exponent, variables))
        case Call(function, argument):
            return call(function, replace_variables(argument, variables))
        case _:
            return item


def to_text(item: Expression, *, functions: str = "", names: Sequence[str] | None = None) -> str:
    """The formula in Python's notation; `orthoreg` reads it back.

    `functions` stands before each function's name ('np.'); `names` replaces those of variables.
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
                    weight, rest = split_number(term)
                    if weight < 0:
                        text += " - " + write(multiply(Number(-weight), rest), 2)
                    else:
                        text += " + " + write(term, 2)
            case Product(factors):
                above = [part for part in factors if not _is_inverse(part)]
                below = [power(part, Number(-1.0)) for part in factors if _is_inverse(part)]
                level = 2
                number, above = _leading_number(above)
                text = "*".join(write(part, 2) for part in above)
                if number not in (1.0, -1.0) or not text:
                    text = "*".join(filter(None, [write(Number(abs(number)), 2), text]))
                if number < 0:
                    text, level = f"-{text}", 1
                text += "".join(f"/{write(part, 3)}" for part in below)
            case Power(base, exponent) if not _is_inverse(item):
                text, level = f"{write(base, 4)}**{write(exponent, 4)}", 3
            case Power(_, _):
                text, level = f"1/{write(power(item, Number(-1.0)), 3)}", 2
            case Call(function, argument):
                half = ", 0.5" if function == "heaviside" and functions == "np." else ""
                text, level = f"{functions}{function}({write(argument, 0)}{half})", 5
        return f"({text})" if level < binding else text

    return write(item, 0)


def quote_name(name: str) -> str:
    """A variable's name as it stands in a formula: in backticks unless it is a plain word."""
    return name if re.fullmatch(r"[^\W\d]\w*", name) else f"`{name}`"


def _leading_number(factors: list[Expression]) -> tuple[float, list[Expression]]:
    if factors and isinstance(factors[0], Number):
        return factors[0].value, factors[1:]
    return 1.0, factors


def _is_inverse(item: Expression) -> bool:
    return isinstance(item, Power) and isinstance(item.exponent, Number) and item.exponent.value < 0
