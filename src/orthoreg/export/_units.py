"""Units of the coefficients and constants of a field, as printed, and conversion to other units."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import final

import numpy as np
from jaxtyping import Float

from .._common.errors import InputError, UnitError
from ..data import Unit, Units, conversion, has_free_zero, known_unit, parse_unit, same_dimension
from ..field.hybrid import HybridField
from ..terms import (
    Expression,
    FeatureMap,
    Number,
    UnitAlgebra,
    like_terms,
    unit_with_numbers,
)

PURE_NUMBER = "1"
"""The unit of a pure number. It is not printed behind coefficients."""


@final
@dataclass(frozen=True, eq=False)
class CoefficientUnits:
    """Units of the coefficients of terms, and of the constants inside terms and known equations.

    The unit of a coefficient is that of the left side of its equation divided by that of its term.
    `wanted` are units to be printed in place of others, {"rad": "deg"}.
    """

    features: FeatureMap
    outputs: tuple[str, ...]
    algebra: UnitAlgebra
    wanted: Mapping[str, str] = field(default_factory=dict)
    _terms: dict[int, Unit | None] = field(default_factory=dict, repr=False)

    @property
    def units(self) -> Units:
        return self.algebra.units

    def text(self, equation: int, term: int) -> str:
        """Return the printed unit of a coefficient, '' if it is unknown."""
        unit = self._unit(equation, term)
        return "" if unit is None else self._shown(self._converted(unit)[0])

    def factor(self, equation: int, term: int) -> float:
        """Return the factor by which a coefficient is printed in another unit than it has."""
        unit = self._unit(equation, term)
        return 1.0 if unit is None else self._converted(unit)[1]

    def of_constant(self, name: str) -> str:
        """Return the printed unit of a named constant, '' if it is unknown."""
        unit = self.algebra.constants.get(name)
        return "" if unit is None else self._shown(self._converted(unit)[0])

    def factor_of_constant(self, name: str) -> float:
        unit = self.algebra.constants.get(name)
        return 1.0 if unit is None else self._converted(unit)[1]

    def rate(self, output: str) -> str:
        """Return the printed unit of the left side of an equation."""
        unit = self.units.rate(output)
        return "" if unit is None else self._shown(self._converted(unit)[0])

    def shown(self, shown_field: HybridField) -> HybridField:
        """Return the field with coefficients and constants in the printed units."""
        if not self.wanted:
            return shown_field
        values = [
            value * self.factor_of_constant(name)
            for name, value in zip(self.features.parameters, self.features.values, strict=True)
        ]
        coefficients = np.asarray(shown_field.coefficients) * self.factors(
            np.asarray(shown_field.coefficients) != 0
        )
        features = replace(shown_field.features, values=tuple(values))
        return replace(
            shown_field, coefficients=coefficients, features=features, parameters=np.array(values)
        )

    def factors(self, support: np.ndarray) -> Float[np.ndarray, "c K"]:
        """Return the factors of the coefficients in use, one for the others."""
        factors = np.ones(support.shape)
        for c, k in np.argwhere(support) if self.wanted else ():
            factors[c, k] = self.factor(int(c), int(k))
        return factors

    def unlike_terms(self) -> tuple[str, ...]:
        """Return the terms that are no candidates, because they combine unlike quantities."""
        is_like = like_terms(self.features.terms, self.algebra)
        return tuple(
            name
            for k, name in enumerate(self.features.names)
            if not is_like[k] and not any(row[k] for row in self.features.allowed)
        )

    def _unit(self, equation: int, term: int) -> Unit | None:
        if term not in self._terms:
            self._terms[term] = self._of_term(self.features.terms[term])
        rate, unit = self.units.rate(self.outputs[equation]), self._terms[term]
        return None if rate is None or unit is None else rate / unit

    def _of_term(self, term: Expression) -> Unit | None:
        try:
            unit = self.algebra.of(term)
        except UnitError:
            unit = None
        if unit is not None:
            return unit
        values = zip(self.features.parameters, self.features.values, strict=False)
        return unit_with_numbers(term, self.units, {name: Number(value) for name, value in values})

    def _converted(self, unit: Unit) -> tuple[Unit, float]:
        """Return the unit to print, and the factor of numbers in it."""
        result = unit
        for old, new in self.wanted.items():
            first, second = known_unit(old), known_unit(new)
            ((name, power),) = first._units.items()
            exponent = unit._units.get(name, 0) / power
            if exponent:
                result = result * (second / first) ** exponent
        return result, 1.0 if result is unit else conversion(unit, result)

    def _shown(self, unit: Unit) -> str:
        symbols = {n: s for text in self.wanted.values() for n, s in self._symbol(text)}
        return replace(self.units, symbols={**self.units.symbols, **symbols}).text(unit)

    def _symbol(self, text: str) -> list[tuple[str, str]]:
        unit = known_unit(text)
        return [(name, text) for name, power in unit._units.items() if len(unit._units) == power]


def checked_conversions(wanted: Mapping[str, str]) -> dict[str, str]:
    """Return units by the unit that they replace, or raise InputError for unlike units."""
    for old, new in wanted.items():
        for text in (old, new):
            if parse_unit(text) is None:
                raise InputError(f"'{old}->{new}' cannot be converted: '{text}' is not a unit.")
        first, second = known_unit(old), known_unit(new)
        if not same_dimension(first, second):
            raise InputError(
                f"'{old}->{new}' cannot be converted: these are units of unlike quantities."
            )
        if has_free_zero(first) or has_free_zero(second):
            raise InputError(
                f"'{old}->{new}' moves the zero of the column, and therefore changes the terms; "
                f"convert the column when it is read, as in units={{'T': '{new}'}}."
            )
        if len(first._units) != 1:
            raise InputError(f"'{old}->{new}' must begin with a single unit, such as rad or min.")
    return dict(wanted)


def units_of_field(
    shown: HybridField, outputs: Sequence[str], algebra: UnitAlgebra, wanted: Mapping[str, str]
) -> CoefficientUnits:
    """Return the units of a field. Constants inside its terms get units too."""
    algebra = UnitAlgebra(algebra.units, algebra.constants)
    result = CoefficientUnits(shown.features, tuple(outputs), algebra, wanted)
    used = np.flatnonzero((np.asarray(shown.coefficients) != 0).any(axis=0))
    for k in used.tolist():
        result._of_term(shown.features.terms[k])
    return result
