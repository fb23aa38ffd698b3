"""A fitted field as lines that people read, and how their numbers are written."""

from collections.abc import Mapping, Sequence

import numpy as np

from .._errors import InputError
from .._field import HybridField
from .._typing import Mask
from ..libraries import Expression, Number, Sum, add, multiply, parameters_of, to_text
from ._orders import equation_names, printed_equations

_SMALLEST, _LARGEST = -4, 5  # powers of ten that are written out: 0.0001234, 123456


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
