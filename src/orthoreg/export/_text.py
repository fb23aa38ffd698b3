"""Fitted fields as lines of text, and functions that all printed forms share.

`significant` writes numbers, `printed` lists the equations and terms to print, and `symbol` splits
the name of a variable into a letter or word, dots and indices. Second-order equations, theta'' =
..., are printed if theta' = theta_dot is given.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from .._common.arrays import Mask
from .._common.errors import InputError
from .._common.notation import derivative_name, left_side, next_values
from ..data import PURE_NUMBER
from ..field.hybrid import HybridField
from ..terms import (
    Expression,
    Number,
    Product,
    Sum,
    add,
    multiply,
    parameters_of,
    to_text,
)
from ._units import CoefficientUnits

_GREEK_NAMES = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau "
    "upsilon phi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega"
).split()
GREEK = dict(zip("αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΥΦΨΩ", _GREEK_NAMES, strict=True))
"""Names of Greek letters by letter."""
LETTERS = {name: letter for letter, name in GREEK.items()} | {
    "varepsilon": "ϵ", "vartheta": "ϑ", "varphi": "φ", "varrho": "ϱ", "varsigma": "ς", "ell": "ℓ",
}  # fmt: skip
"""Greek letters by name."""
_DOTS = {"dot": 1, "ddot": 2, "dddot": 3}
_NAME = re.compile(r"(?P<letters>[^\W\d_]+?)(?P<dots>d{0,2}dot)?(?P<number>\d*)")
_SYMBOL = re.compile(r"[^\W\d_]+\d*(_[^\W_]+)*")


@final
@dataclass(frozen=True)
class Symbol:
    """A letter, the name of a letter (theta), or words, with dots above and indices below."""

    base: str
    dots: int = 0
    below: tuple[str, ...] = ()


def symbol(name: str) -> Symbol:
    """Return the symbol of a variable.

    `phi1` is phi with index 1, `theta_dot` is theta with a dot, and `x_max` is x with index max.
    Other names, and names of several words (`speed_of_rotor`), are words.
    """
    name = "".join(letter if letter.isprintable() else " " for letter in name)
    name = " ".join(name.split())
    if _SYMBOL.fullmatch(name) is None:
        return Symbol(name)
    first, *others = name.split("_")
    match = _NAME.fullmatch(first)
    assert match is not None
    letters, dots, number = match["letters"], match["dots"] or "", match["number"]
    if dots and len(letters) > 1 and letters not in LETTERS:
        letters, dots = letters + dots, ""  # a word that happens to end with _dot
    above = [dots, *(part for part in others if part in _DOTS)]
    below = [number, *(part for part in others if part not in _DOTS)]
    below, n_dots = [part for part in below if part], sum(_DOTS.get(part, 0) for part in above)
    if len(letters) > 1 and letters not in LETTERS and len(below) > 1:
        words = [letters + number, *(part for part in others if part not in _DOTS)]
        return Symbol("_".join(words), n_dots)
    return Symbol(letters, n_dots, tuple(below))


# powers of ten that are printed without an exponent: 0.0001234, 123456
_MIN_POWER, _MAX_POWER = -4, 5


def implied(velocity_of: Mapping[str, str]) -> dict[str, str]:
    """Return the state, such as theta, by the name of its derivative, such as theta_dot.

    Derivatives with other names are omitted.
    """
    return {
        rate: state
        for state, rate in velocity_of.items()
        if rate.rstrip("_") == derivative_name(state).rstrip("_")
    }


def implied_derivative(name: str, velocity_of: Mapping[str, str]) -> tuple[str, int]:
    """Return the state that a name is a derivative of, and the order of the derivative.

    For theta_ddot, these are theta and 2; for theta, theta and 0.
    """
    states, order = implied(velocity_of), 0
    while name in states:
        name, order = states[name], order + 1
    return name, order


def equation_names(
    outputs: Sequence[str], velocity_of: Mapping[str, str], *, discrete: bool = False
) -> tuple[str, ...]:
    """Return the names whose derivatives are the left sides, such as theta' in theta'' = ...

    For a map (`discrete`), return the left sides themselves, such as x[k+1].
    """
    if discrete:
        return next_values(outputs)
    pairs = [implied_derivative(name, velocity_of) for name in outputs]
    return tuple(name + "'" * order for name, order in pairs)


def learned_equations(outputs: Sequence[str], velocity_of: Mapping[str, str]) -> list[int]:
    """Return the indices of equations that are not given."""
    return [c for c, name in enumerate(outputs) if name not in velocity_of]


def printed_equations(outputs: Sequence[str], velocity_of: Mapping[str, str]) -> list[int]:
    """Return the indices of the equations to print.

    Given equations theta' = theta_dot are not printed.
    """
    silent = set(implied(velocity_of).values())
    return [c for c, name in enumerate(outputs) if name not in silent]


def equations(
    field: HybridField,
    outputs: Sequence[str],
    precision: int = 4,
    velocity_of: Mapping[str, str] | None = None,
    known: Mask | None = None,
    written: Mapping[int, str] | None = None,
    *,
    discrete: bool = False,
    units: CoefficientUnits | None = None,
) -> list[str]:
    """Return one line per equation, such as "omega' = -1.042 sin(theta) + residual".

    With `units`, lines contain units: "omega' = -1.042 [rad/s²] sin(theta) + residual".

    Coefficients that are `known` are marked: "omega' = -9.81 sin(theta) (given) - 0.1042 omega".
    `written` are lines that replace equations. If theta_dot is the velocity of theta, theta'' = ...
    replaces both equations. Equations of a map (`discrete`) are x[k+1] = ...
    """
    parts, field = printed(field, outputs, precision, velocity_of, known, units=units)
    names = equation_names(outputs, velocity_of or {}, discrete=discrete)
    lines = []
    for equation in parts:
        right = ""
        if written and equation.index in written:
            lines.append(written[equation.index])
            continue
        if equation.rate is not None:
            right = equation.rate
        elif equation.is_given and not any(term.unit for term in equation.terms):
            right = f"{_exactly(field, equation.index)} (given)"
        else:
            for term in equation.terms:
                body = _term_text(field, equation.index, term)
                sign = "-" if term.is_negative else "+"
                right += f" {sign} {body}" if right else f"{sign.strip('+')}{body}"
            if equation.has_residual:
                right = f"{right} + residual" if right else "residual"
        lines.append(f"{left_side(names[equation.index])} = {right or '0'}")
    return lines


def _term_text(field: HybridField, equation: int, term: "PrintedTerm") -> str:
    name = to_text(term.term)
    if term.is_given and not term.unit:
        value = abs(float(field.coefficients[equation, term.index]))
        return f"{to_text(multiply(Number(value), term.term))} (given)"
    # brackets prevent the coefficient from applying to a part only: (x + y), (2*x), (1/x)
    grouped = f"({name})" if isinstance(term.term, Sum) or name[0] in "-0123456789" else name
    if not term.size:
        return grouped
    size = f"{term.size} [{term.unit}]" if term.unit else term.size
    text = size if term.is_number else f"{size} {grouped}"
    return f"{text} (given)" if term.is_given else text


def is_given(field: HybridField, equation: int, known: Mask | None) -> bool:
    """Return whether an equation was given completely."""
    return known is not None and bool(known[equation].all()) and not has_residual(field, equation)


def _exactly(field: HybridField, equation: int) -> str:
    """Return a right-hand side with all digits."""
    pairs = zip(field.coefficients[equation], field.features.terms, strict=True)
    return to_text(add(*(multiply(Number(float(w)), term) for w, term in pairs if w != 0)))


def has_residual(field: HybridField, equation: int) -> bool:
    """Return whether an equation has a residual."""
    return bool(np.any(field.weights[:, equation]) or np.any(field.correction[equation]))


def significant(value: float, precision: int) -> str:
    """Return a number with `precision` significant digits: 1.000, 0.0860, 1.000e-09.

    Numbers below a million have all digits before the point: 12346, not 1.235e+04.
    """
    scientific = f"{value:.{precision - 1}e}"
    power = int(scientific.partition("e")[2])  # after rounding, because 9.9999 becomes 10.00
    if not _MIN_POWER <= power <= _MAX_POWER:
        return scientific
    return f"{value:.{max(precision - 1 - power, 0)}f}"


def check_precision(precision: int) -> None:
    """Raise InputError unless the precision is an integer of at least 1."""
    if isinstance(precision, bool) or not isinstance(precision, int) or precision < 1:
        raise InputError(f"precision must be a whole number of at least 1; got {precision!r}.")


@final
@dataclass(frozen=True)
class PrintedTerm:
    """A term, its index in the library, and the absolute value of its coefficient as text,
    `size`.

    `size` is empty for a given coefficient that is exactly 1. `unit` is empty if it is unknown or
    if the coefficient is a pure number.
    """

    index: int
    is_negative: bool
    size: str
    term: Expression
    is_given: bool
    unit: str = ""

    @property
    def is_number(self) -> bool:
        """Whether the term is a number."""
        return self.term == Number(1.0)


@final
@dataclass(frozen=True)
class PrintedEquation:
    """An equation for the derivative of `name` of order `order`, or for its next value
    (`discrete`).

    `rate` is the state that the derivative equals, if given. `is_given` is true if nothing was
    learned.
    """

    index: int
    name: str
    order: int
    terms: tuple[PrintedTerm, ...]
    has_residual: bool
    is_given: bool
    rate: str | None = None
    discrete: bool = False


def printed(
    field: HybridField,
    outputs: Sequence[str],
    precision: int = 4,
    velocity_of: Mapping[str, str] | None = None,
    known: Mask | None = None,
    *,
    discrete: bool = False,
    units: CoefficientUnits | None = None,
) -> tuple[list[PrintedEquation], HybridField]:
    """Return the equations to print, and the field with the numbers to print."""
    check_precision(precision)
    given = velocity_of or {}
    parametric = [bool(parameters_of(term)) for term in field.features.terms]
    field = field.resolved(precision)
    result = []
    for c in printed_equations(outputs, given):
        output = outputs[c]
        if output in given:
            result.append(PrintedEquation(c, output, 1, (), False, False, given[output]))
            continue
        terms = []
        for k, value in enumerate(field.coefficients[c]):
            if value == 0:
                continue
            exact = known is not None and bool(known[c, k])
            size = f"{abs(value):.12g}" if exact else significant(abs(value), precision)
            term = field.features.terms[k]
            unit = "" if units is None else units.text(c, k)
            unit = "" if unit == PURE_NUMBER else unit
            if (exact or parametric[k]) and abs(value) == 1 and term != Number(1.0) and not unit:
                size = ""
            terms.append(PrintedTerm(k, bool(value < 0), size, term, exact, unit))
        name, order = implied_derivative(output, given)
        result.append(
            PrintedEquation(
                c,
                name,
                1 + order,
                tuple(terms),
                has_residual(field, c),
                is_given(field, c, known),
                discrete=discrete,
            )
        )
    return result, field


def is_negative(item: Expression) -> bool:
    """Return whether a formula begins with a minus sign."""
    match item:
        case Number(value) | Product((Number(value), *_)):
            return value < 0
    return False


def absolute(item: Expression) -> Expression:
    """Return the formula without its minus sign."""
    return multiply(Number(-1.0), item) if is_negative(item) else item
