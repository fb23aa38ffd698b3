"""Fitted fields as lines of text, and what all printed forms share.

`significant` writes numbers, `printed` lists the equations and terms to print, and `symbol` splits
the name of a variable into a letter or word, dots and indices. Equations of second order,
theta'' = ..., are printed where theta' = theta_dot is given.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from .._common.errors import InputError
from .._common.typing import Mask
from ..field.hybrid import HybridField
from ..terms import (
    Expression,
    Number,
    Power,
    Product,
    Sum,
    add,
    multiply,
    parameters_of,
    to_text,
)

_GREEK_NAMES = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau "
    "upsilon phi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega"
).split()
GREEK = dict(zip("αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΥΦΨΩ", _GREEK_NAMES, strict=True))
"""The names of Greek letters, by letter."""
LETTERS = {name: letter for letter, name in GREEK.items()} | {
    "varepsilon": "ϵ", "vartheta": "ϑ", "varphi": "φ", "varrho": "ϱ", "varsigma": "ς", "ell": "ℓ",
}  # fmt: skip
"""The letters that have names, by name."""
_DOTS = {"dot": 1, "ddot": 2, "dddot": 3}
_NAME = re.compile(r"(?P<letters>[^\W\d_]+?)(?P<dots>d{0,2}dot)?(?P<number>\d*)")
_SYMBOL = re.compile(r"[^\W\d_]+\d*(_[^\W_]+)*")


@final
@dataclass(frozen=True)
class Symbol:
    """A letter, the name of one (theta) or words, with dots above and indices below."""

    base: str
    dots: int = 0
    below: tuple[str, ...] = ()


def symbol(name: str) -> Symbol:
    """`phi1` is phi with index 1, `theta_dot` theta with a dot, `x_max` x with index max; a name
    that is no such symbol is words, and so is one of several (`speed_of_rotor`)."""
    name = "".join(letter if letter.isprintable() else " " for letter in name)
    name = " ".join(name.split())
    if _SYMBOL.fullmatch(name) is None:
        return Symbol(name)
    first, *rest = name.split("_")
    found = _NAME.fullmatch(first)
    assert found is not None
    letters, dots, number = found["letters"], found["dots"] or "", found["number"]
    if dots and len(letters) > 1 and letters not in LETTERS:
        letters, dots = letters + dots, ""  # a word that happens to end so
    above = [dots, *(part for part in rest if part in _DOTS)]
    below = [number, *(part for part in rest if part not in _DOTS)]
    below, n_dots = [part for part in below if part], sum(_DOTS.get(part, 0) for part in above)
    if len(letters) > 1 and letters not in LETTERS and len(below) > 1:
        words = [letters + number, *(part for part in rest if part not in _DOTS)]
        return Symbol("_".join(words), n_dots)
    return Symbol(letters, n_dots, tuple(below))


_SMALLEST, _LARGEST = -4, 5  # powers of ten that are written out: 0.0001234, 123456


def implied(velocity_of: Mapping[str, str]) -> dict[str, str]:
    """For each velocity that is named after its position, theta_dot, that position."""
    return {
        velocity: position
        for position, velocity in velocity_of.items()
        if velocity.rstrip("_") == f"{position}_dot".rstrip("_")
    }


def equation_names(outputs: Sequence[str], velocity_of: Mapping[str, str]) -> tuple[str, ...]:
    """Of what each equation is the derivative: theta' for theta_dot, of which it is theta''."""
    positions = implied(velocity_of)
    return tuple(f"{positions[name]}'" if name in positions else name for name in outputs)


def learned_equations(outputs: Sequence[str], velocity_of: Mapping[str, str]) -> list[int]:
    """The places of the equations that are not given."""
    return [c for c, name in enumerate(outputs) if name not in velocity_of]


def printed_equations(outputs: Sequence[str], velocity_of: Mapping[str, str]) -> list[int]:
    """The places of the equations that say something: theta' = theta_dot does not."""
    silent = set(implied(velocity_of).values())
    return [c for c, name in enumerate(outputs) if name not in silent]


def equations(
    field: HybridField,
    outputs: Sequence[str],
    precision: int = 4,
    velocity_of: Mapping[str, str] | None = None,
    known: Mask | None = None,
    written: Mapping[int, str] | None = None,
) -> list[str]:
    """One line per equation, "omega' = -1.042 sin(theta) + residual". The coefficients that are
    `known` were given: "omega' = -9.81 sin(theta) (given) - 0.1042 omega". Where an equation
    follows from others, those stand in its place as they are `written`.

    Where theta_dot is the velocity of theta, theta'' = ... stands in the place of both equations.
    """
    check_precision(precision)
    parametric = [bool(parameters_of(term)) for term in field.features.terms]
    field = field.resolved(precision)
    given = velocity_of or {}
    names = equation_names(outputs, given)
    lines = []
    for c in printed_equations(outputs, given):
        if written and c in written:
            lines.append(written[c])
            continue
        if outputs[c] in given:
            lines.append(f"{names[c]}' = {given[outputs[c]]}")
            continue
        if is_given(field, c, known):
            lines.append(f"{names[c]}' = {_exactly(field, c)} (given)")
            continue
        text = ""
        for k, value in enumerate(field.coefficients[c]):
            if value == 0:
                continue
            term = field.features.terms[k]
            size, name = significant(abs(value), precision), to_text(term)
            if known is not None and known[c, k]:
                body = f"{to_text(multiply(Number(abs(float(value))), term))} (given)"
            elif parametric[k] and abs(value) == 1:  # which was given
                body = _grouped(term, name)
            else:
                body = size if name == "1" else f"{size} {_grouped(term, name)}"
            if text:
                text += f" - {body}" if value < 0 else f" + {body}"
            else:
                text = f"-{body}" if value < 0 else body
        if has_residual(field, c):
            text = f"{text} + residual" if text else "residual"
        lines.append(f"{names[c]}' = {text or '0'}")
    return lines


def is_given(field: HybridField, equation: int, known: Mask | None) -> bool:
    """Whether nothing of an equation was learned."""
    return known is not None and bool(known[equation].all()) and not has_residual(field, equation)


def _exactly(field: HybridField, equation: int) -> str:
    """A right-hand side with all its digits."""
    pairs = zip(field.coefficients[equation], field.features.terms, strict=True)
    return to_text(add(*(multiply(Number(float(w)), term) for w, term in pairs if w != 0)))


def has_residual(field: HybridField, equation: int) -> bool:
    """Whether the network adds something to this equation."""
    return bool(np.any(field.weights[:, equation]) or np.any(field.correction[equation]))


def significant(value: float, precision: int) -> str:
    """The number with so many significant digits, trailing zeros kept: 1.000, 0.0860, 1.000e-09.

    Digits before the point are all written up to a million: 12346, not 1.235e+04.
    """
    scientific = f"{value:.{precision - 1}e}"
    power = int(scientific.partition("e")[2])  # after rounding: 9.9999 is 10.00
    if not _SMALLEST <= power <= _LARGEST:
        return scientific
    return f"{value:.{max(precision - 1 - power, 0)}f}"


def check_precision(precision: int) -> None:
    """Refuses a number of digits that is not a whole number of at least 1."""
    if isinstance(precision, bool) or not isinstance(precision, int) or precision < 1:
        raise InputError(f"precision must be a whole number of at least 1; got {precision!r}.")


def _grouped(term: Expression, name: str) -> str:
    """Brackets where the coefficient would seem to belong to a part: (x + y), (2*x), (1/x)."""
    return f"({name})" if isinstance(term, Sum) or name[0] in "-0123456789" else name


@final
@dataclass(frozen=True)
class PrintedTerm:
    """One term: `place` is that in the library, `size` its coefficient without sign, empty where
    it is exactly one and given."""

    place: int
    is_negative: bool
    size: str
    term: Expression
    is_given: bool

    @property
    def is_number(self) -> bool:
        """Whether there is nothing but the number."""
        return self.term == Number(1.0)


@final
@dataclass(frozen=True)
class PrintedEquation:
    """An equation for the derivative of `name` of that `order`; `rate` is the state that it equals
    exactly, where that is given. `is_given` says that nothing of it was learned."""

    place: int
    name: str
    order: int
    terms: tuple[PrintedTerm, ...]
    has_residual: bool
    is_given: bool
    rate: str | None = None


def printed(
    field: HybridField,
    outputs: Sequence[str],
    precision: int = 4,
    velocity_of: Mapping[str, str] | None = None,
    known: Mask | None = None,
) -> tuple[list[PrintedEquation], HybridField]:
    """The equations that say something, and the field with the numbers that are printed."""
    check_precision(precision)
    given = velocity_of or {}
    positions = implied(given)
    parametric = [bool(parameters_of(term)) for term in field.features.terms]
    field = field.resolved(precision)
    found = []
    for c in printed_equations(outputs, given):
        output = outputs[c]
        if output in given:
            found.append(PrintedEquation(c, output, 1, (), False, False, given[output]))
            continue
        terms = []
        for k, value in enumerate(field.coefficients[c]):
            if value == 0:
                continue
            exact = known is not None and bool(known[c, k])
            size = f"{abs(value):.12g}" if exact else significant(abs(value), precision)
            term = field.features.terms[k]
            if (exact or parametric[k]) and abs(value) == 1 and term != Number(1.0):
                size = ""
            terms.append(PrintedTerm(k, bool(value < 0), size, term, exact))
        found.append(
            PrintedEquation(
                c,
                positions.get(output, output),
                1 + (output in positions),
                tuple(terms),
                has_residual(field, c),
                is_given(field, c, known),
            )
        )
    return found, field


# -- formulas ------------------------------------------------------------------------------


def is_negative(item: Expression) -> bool:
    """Whether a formula begins with a minus."""
    match item:
        case Number(value) | Product((Number(value), *_)):
            return value < 0
    return False


def absolute(item: Expression) -> Expression:
    """The formula without its minus."""
    return multiply(Number(-1.0), item) if is_negative(item) else item


def is_inverse(item: Expression) -> bool:
    """Whether it belongs below a fraction's line."""
    return isinstance(item, Power) and isinstance(item.exponent, Number) and item.exponent.value < 0
