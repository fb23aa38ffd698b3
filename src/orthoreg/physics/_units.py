"""Units in known equations. Unlike quantities are refused, and units of constants are inferred."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import final

from .._common.errors import InputError, UnitError
from ..data import Schema, Unit, conversion, is_same, parse_unit, same_dimension, units_of
from ..terms import (
    AbstractLibrary,
    Expression,
    Number,
    Sum,
    Terms,
    UnitAlgebra,
    all_parts,
    parse,
    rename,
    split_number,
)
from . import _limits as limits
from ._bind import coefficients_in
from ._equations import Reader
from ._physics import Physics


def unit_algebra(
    physics: Physics | None,
    library: AbstractLibrary | None,
    schema: Schema,
    outputs: Sequence[str] | None = None,
) -> UnitAlgebra | None:
    """Return the units of columns and constants, or None if no unit is known.

    Raise InputError if the physics or a formula of the library combines unlike quantities. Only
    quantities with known units are compared.
    """
    units = units_of(schema)
    if units is None:
        return None
    outputs = schema.state_names if outputs is None else tuple(outputs)
    rates = {f"{name}'": units.rate(name) for name in outputs}
    units = replace(units, of={**units.of, **rates})
    delays = {delay.delay: units.of.get(schema.time_name) for delay in schema.delays}
    given = {name: unit for name, unit in delays.items() if unit is not None}
    algebra = UnitAlgebra(units, given | _given(() if physics is None else physics.units))
    _check_velocities(algebra, schema)
    checks = _Checks(physics, schema, outputs, algebra)
    for _ in range(limits.UNIT_PASSES if physics is not None else 1):
        before = len(algebra.constants)
        if library is not None:
            checks.library(library)
        checks.physics_fields()
        if len(algebra.constants) == before:
            break
    per_run = {name: algebra.constants.get(name) for name in schema.per_run_names}
    return UnitAlgebra(replace(units, of={**units.of, **per_run}), algebra.constants)


def _given(units: Iterable[tuple[str, str]]) -> dict[str, Unit]:
    """Return the units of constants that the user gave."""
    given = {}
    for name, text in units:
        if parse_unit(text) is None:
            raise InputError(
                f"Physics(units=...) of '{name}' must be a unit such as 'm/s^2'; got '{text}'."
            )
        given[name] = parse_unit(text)
    return given


def _check_velocities(algebra: UnitAlgebra, schema: Schema) -> None:
    """Raise InputError if the unit of a measured velocity is not that of its position per time."""
    units = algebra.units
    for position, velocity in schema.velocity_of.items():
        rate, unit = units.rate(position), units.of.get(velocity)
        if rate is None or unit is None or is_same(rate, unit):
            continue
        shown = f"'{velocity}' is in {units.text(unit)}, but the derivative of '{position}' is in"
        if same_dimension(rate, unit):
            wanted = units.text(rate)
            raise InputError(
                f"{shown} {wanted}, whose numbers are {conversion(unit, rate):.6g} times as large: "
                f"read the velocity in that unit, as in units={{'{velocity}': '{wanted}'}}."
            )
        raise InputError(
            f"{shown} {units.text(rate)}, a different quantity: pass another column as velocity."
        )


@final
class _Checks:
    """Checks of the formulas in physics and library."""

    def __init__(
        self,
        physics: Physics | None,
        schema: Schema,
        outputs: Sequence[str],
        algebra: UnitAlgebra,
    ):
        self._physics, self._schema, self._outputs = physics, schema, outputs
        self._algebra = algebra
        # units of constants per run are inferred, like those of other constants
        constants = schema.per_run_names
        self._variables = tuple(n for n in schema.variable_names if n not in constants)

    def library(self, library: AbstractLibrary) -> None:
        """Check the formulas that the user wrote in the library."""
        for part in all_parts(library):
            for term in part.terms(self._variables) if isinstance(part, Terms) else ():
                self._checked(term, "library")

    def physics_fields(self) -> None:
        """Check equations, relations, conserved quantities and first values."""
        physics = self._physics
        if physics is None:
            return
        for left, right in physics.equations:
            self._equation(left, right)
        for text in physics.conserved:
            formula = parse(text, self._variables, free=True)
            self._like([formula], f"Physics(conserved=...), '{text}'")
        for text in physics.relations:
            self._relation(text)
        for name, start in physics.start:
            unit = self._algebra.units.of.get(name)
            if isinstance(start, str):
                formula = parse(start, self._variables, free=True)
                owner = f"{name} [{self._algebra.units.text(unit)}]"
                self._like([formula], f"Physics(start=...) of '{name}'", unit, owner)

    def _equation(self, left: str, right: str) -> None:
        physics, schema = self._physics, self._schema
        assert physics is not None
        names = {name for name, _ in (*physics.values, *physics.units)} | set(physics.per_run)
        names |= {key for key, _ in physics.bounds if isinstance(key, str)}
        names -= set(self._variables)
        reader = Reader(self._variables, self._outputs, dict(schema.velocity_of), {}, names)
        equation, _ = reader.equation(left, right)
        where = f"Physics(equations=...) of '{left}'"
        self._like([equation.left, equation.right], where)

    def _relation(self, text: str) -> None:
        """Check that the coefficients in a relation have the same unit."""
        algebra = self._algebra

        def unit_of(equation: str, term: str) -> Unit | None:
            formula = parse(term, self._variables, free=True)
            unit, rate = algebra.of(formula), algebra.units.rate(equation.rstrip("'"))
            return None if unit is None or rate is None else rate / unit

        sides, coefficients = coefficients_in(text)
        names = [f"coef({equation}, {term})" for equation, term in coefficients]
        found = [unit_of(*coefficient) for coefficient in coefficients]
        units = replace(algebra.units, of=dict(zip(names, found, strict=True)))
        numbered = [f"coef{i}" for i in range(len(names))]
        formulas = [rename(parse(side, numbered), names) for side in sides]
        inner = _Checks(self._physics, self._schema, self._outputs, UnitAlgebra(units))
        inner._like(formulas, f"Physics(relations=...), '{text}'")

    def _like(
        self, sides: Sequence[Expression], where: str, unit: Unit | None = None, owner: str = ""
    ) -> None:
        """Check that all summands have the same unit, or the unit `unit` of `owner`.

        A number before a summand may have any unit, like a coefficient.
        """
        summands = [
            (term, weight in (1.0, -1.0) and term != Number(1.0))
            for side in sides
            for weight, term in map(split_number, side.terms if isinstance(side, Sum) else (side,))
            if weight != 0
        ]
        for term, is_plain in summands:
            known = self._checked(term, where)
            if unit is None and is_plain and known is not None:
                unit, owner = known, self._algebra.shown(term, known)
        for term, is_plain in summands if unit is not None else ():
            if is_plain:
                self._checked(term, where, unit, owner)

    def _checked(
        self, term: Expression, where: str, unit: Unit | None = None, other: str = ""
    ) -> Unit | None:
        try:
            if unit is not None:
                self._algebra.expect(term, unit, other)
            return self._algebra.of(term)
        except UnitError as error:
            raise UnitError(f"{where}: {error}") from None
