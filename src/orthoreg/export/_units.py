"""Units of the coefficients and constants of a field, and their conversion to printed units."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import final

import numpy as np
from jaxtyping import Float

from .._common.errors import UnitError
from ..data import PURE_NUMBER, Unit, Units, dimensionless, is_same, known_unit, same_dimension
from ..field.hybrid import HybridField
from ..terms import (
    Expression,
    FeatureMap,
    Number,
    UnitAlgebra,
    like_terms,
    unit_with_numbers,
)


@final
@dataclass(frozen=True, eq=False)
class CoefficientUnits:
    """Units of the coefficients of terms, and of the constants inside terms and known equations.

    The unit of a coefficient is the unit of the left side of its equation divided by that of its
    term.
    Equations in `solved` have one term, the right-hand side that follows from several equations
    with several derivatives. Its coefficient is one.
    """

    features: FeatureMap
    outputs: tuple[str, ...]
    algebra: UnitAlgebra
    solved: frozenset[int] = frozenset()
    _terms: dict[int, Unit | None] = field(default_factory=dict, repr=False)

    @property
    def units(self) -> Units:
        return self.algebra.units

    def text(self, equation: int, term: int) -> str:
        """Return the printed unit of a coefficient, or '' if it is unknown."""
        return self.units.text(self._unit(equation, term))

    def factor(self, equation: int, term: int) -> float:
        """Return the factor that converts a coefficient to its printed unit."""
        return self.units.factor(self._unit(equation, term))

    def of_constant(self, name: str) -> str:
        """Return the printed unit of a named constant, or '' if it is unknown."""
        return self.units.text(self.algebra.constants.get(name))

    def factor_of_constant(self, name: str) -> float:
        return self.units.factor(self.algebra.constants.get(name))

    def of_product(self, powers: Sequence[tuple[str, float]]) -> str:
        """Return the printed unit of a product of powers of named constants, '' if it is unknown or
        the product is a pure number."""
        unit = dimensionless()
        for name, power in powers:
            known = self.algebra.constants.get(name)
            if known is None:
                return ""
            unit = unit * known**power
        text = self.units.text(unit)
        return "" if text == PURE_NUMBER else text

    def rate(self, output: str) -> str:
        """Return the printed unit of the left side of an equation."""
        return self.units.text(self.units.rate(output))

    def shown(self, shown_field: HybridField) -> HybridField:
        """Return the field with coefficients and constants in the printed units."""
        if not self.units.wanted:
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
        """Return the conversion factors of the coefficients in use, and 1 for others."""
        factors = np.ones(support.shape)
        for c, k in np.argwhere(support) if self.units.wanted else ():
            factors[c, k] = self.factor(int(c), int(k))
        return factors

    def unlike_terms(self) -> tuple[str, ...]:
        """Return the terms that are not candidates because they combine unlike quantities."""
        is_like = like_terms(self.features.terms, self.algebra)
        return tuple(
            name
            for k, name in enumerate(self.features.names)
            if not is_like[k] and not any(row[k] for row in self.features.allowed)
        )

    def other_angles(self) -> tuple[str, ...]:
        """Return the columns with angles in units other than rad, such as degrees."""
        rad = known_unit("rad")
        units = [(name, self.units.of.get(name)) for name in self.features.variables]
        return tuple(
            name
            for name, unit in units
            if unit is not None and same_dimension(unit, rad) and not is_same(unit, rad)
        )

    def _unit(self, equation: int, term: int) -> Unit | None:
        if equation in self.solved:
            return dimensionless()
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


def units_of_field(
    shown: HybridField,
    outputs: Sequence[str],
    algebra: UnitAlgebra,
    wanted: Mapping[str, str],
    solved: Collection[int] = (),
) -> CoefficientUnits:
    """Return the units of a field's coefficients and constants.

    `wanted` maps units to printed units, {"rad": "deg"}.
    """
    algebra = UnitAlgebra(replace(algebra.units, wanted=wanted), algebra.constants)
    result = CoefficientUnits(shown.features, tuple(outputs), algebra, frozenset(solved))
    used = np.flatnonzero((np.asarray(shown.coefficients) != 0).any(axis=0))
    for k in used.tolist():
        result._of_term(shown.features.terms[k])
    return result
