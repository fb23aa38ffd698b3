"""What is printed of a fitted field, equation by equation, before it is set in some form."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

from .._field import HybridField
from .._typing import Mask
from ..libraries import Expression, Number, Power, Product, multiply, parameters_of
from ._orders import implied, printed_equations
from ._text import check_precision, has_residual, is_given, significant


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
