"""Units of formulas and of the constants inside them."""

from collections.abc import Mapping, Sequence
from typing import final

from .._common.errors import UnitError
from ..data import (
    Unit,
    Units,
    dimensionless,
    has_free_zero,
    is_same,
    same_dimension,
    without_radians_below,
)
from ._expression import (
    Call,
    Expression,
    Number,
    Parameter,
    Power,
    Product,
    Sum,
    Variable,
    split_number,
    to_text,
)
from ._structure import substitute

_ANY_ARGUMENT = frozenset({"sign", "heaviside"})  # functions whose argument may have any unit


@final
class UnitAlgebra:
    """Units of formulas in columns with known `units`.

    `constants` are the known units of constants. The unit of any other constant is inferred from
    where it occurs: in S/(K + S), K has the unit of S, and in sin(k*x), k has the inverse unit of
    x. Numbers in sums and functions are dimensionless.
    """

    def __init__(self, units: Units, constants: Mapping[str, Unit] | None = None):
        self.units = units
        self.constants: dict[str, Unit] = dict(constants or {})
        self._one = dimensionless()

    def of(self, item: Expression) -> Unit | None:
        """Return the unit of a formula, or None if it is unknown.

        Raise UnitError if the formula combines unlike quantities.
        """
        match item:
            case Number(_):
                return self._one
            case Variable(_, name):
                return self.units.of.get(name)
            case Parameter(name):
                return self.constants.get(name)
            case Product(factors):
                return self._product([self.of(factor) for factor in factors])
            case Power(base, exponent):
                return self._of_power(base, exponent)
            case Sum(terms):
                return self._of_sum(terms)
            case Call(function, argument):
                return self._of_call(function, argument)

    def expect(self, item: Expression, unit: Unit, other: str = "") -> None:
        """Check that a formula has this `unit`, and infer the units of its constants.

        Raise UnitError if the formula has another unit. `other` is the quantity, with its unit, to
        which the formula is added. Without `other`, the formula must be a pure number.
        """
        known = self.of(item)
        if known is not None:
            if not is_same(known, unit):
                raise UnitError(self._conflict(item, known, unit, other))
            return
        match item:
            case Parameter(name):
                self.constants[name] = without_radians_below(unit)
            case Sum(terms):
                for term in terms:
                    self.expect(term, unit, other)
            case Product(factors):
                unknown = [factor for factor in factors if self.of(factor) is None]
                others = self._product([self.of(f) for f in factors if f not in unknown])
                if len(unknown) == 1:
                    self.expect(unknown[0], unit / others, other)
            case Power(base, Number(exponent)):
                self.expect(base, unit ** (1 / exponent), other)
            case Call("sqrt", argument):
                self.expect(argument, unit**2, other)
            case Call("abs", argument):
                self.expect(argument, unit, other)

    def _product(self, units: list[Unit | None]) -> Unit | None:
        product = self._one
        for unit in units:
            product = None if product is None or unit is None else product * unit
        return product

    def _of_power(self, base: Expression, exponent: Expression) -> Unit | None:
        self.expect(exponent, self._one)
        unit = self.of(base)
        if unit is None or not isinstance(exponent, Number):
            return unit if unit is not None and is_same(unit, self._one) else None
        is_whole = exponent.value.is_integer()
        if (
            isinstance(base, Variable)
            and has_free_zero(unit)
            and not (is_whole and exponent.value > 0)
        ):
            raise UnitError(
                f"{to_text(Power(base, exponent))} needs an absolute temperature, but got "
                f"{base.name} [{self.units.text(unit).removeprefix('delta_')}]: read it in "
                f"kelvin, as in units={{'{base.name}': 'K'}}."
            )
        return unit ** (int(exponent.value) if is_whole else exponent.value)

    def _of_sum(self, terms: tuple[Expression, ...]) -> Unit | None:
        units = [self.of(term) for term in terms]
        known = [(term, unit) for term, unit in zip(terms, units, strict=True) if unit is not None]
        if not known:
            return None
        first, unit = min(known, key=lambda pair: isinstance(pair[0], Number))
        for term in terms:
            self.expect(term, unit, self.shown(first, unit))
            self._check_zeros(first, term)
        return unit

    def _check_zeros(self, *terms: Expression) -> None:
        """Raise UnitError if the terms are temperatures on scales with different zero points, such
        as °C and K.
        """
        names = [part.name for _, part in map(split_number, terms) if isinstance(part, Variable)]
        units = [unit for name in names if (unit := self.units.of.get(name)) is not None]
        if len({str(unit) for unit in units}) > 1 and any(map(has_free_zero, units)):
            shown = " and ".join(
                f"{name} [{self.units.text(unit).removeprefix('delta_')}]"
                for name, unit in zip(names, units, strict=True)
            )
            raise UnitError(
                f"{shown} are temperatures on scales with different zero points: use the same unit "
                f"for both, as in units={{'{names[0]}': 'K'}}."
            )

    def _of_call(self, function: str, argument: Expression) -> Unit | None:
        if function == "sqrt":
            return self._of_power(argument, Number(0.5))
        unit = self.of(argument)
        if function == "abs":
            return unit
        if function in _ANY_ARGUMENT:
            return self._one
        if unit is None:
            self.expect(argument, self._one)
        elif not is_same(unit, self._one):
            cure = f"multiply it by a constant, as in {function}(k*{_factor(argument)})"
            if same_dimension(unit, self._one):
                cure = "read it in rad or as a pure number, as in units={...: 'rad'}"
            raise UnitError(
                f"{function}({to_text(argument)}) needs a pure number, but got "
                f"{self.shown(argument, unit)}: {cure}."
            )
        return self._one

    def shown(self, item: Expression, unit: Unit) -> str:
        """Return a formula with its unit, such as theta [rad]."""
        return f"{to_text(item).replace('`', '')} [{self.units.text(unit)}]"

    def _conflict(self, item: Expression, unit: Unit, wanted: Unit, other: str) -> str:
        given = self.shown(item, unit)
        if not other:
            return f"{given} must be a pure number: divide it by a constant with the same unit."
        if same_dimension(unit, wanted):
            return f"{other} and {given} are in different units: use the same unit for both."
        cure = "multiply one of them by a constant"
        if isinstance(item, Number):
            cure = "write a named constant instead of the number"
        return f"{other} and {given} are unlike quantities and cannot be added: {cure}."


def _factor(argument: Expression) -> str:
    text = to_text(argument)
    return f"({text})" if isinstance(argument, Sum) else text


def unit_with_numbers(
    item: Expression, units: Units, values: Mapping[str, Expression] | None = None
) -> Unit | None:
    """Return the unit of a formula whose numbers may have units, or None if it is unknown.

    `values` are the values of the formula's parameters.

    1/(0.7 + x) has the inverse unit of x, and sin(3*x) is dimensionless.
    """
    item = substitute(item, values) if values else item
    match item:
        case Variable(_, name):
            return units.of.get(name)
        case Product(factors):
            product = dimensionless()
            for factor in factors:
                unit = unit_with_numbers(factor, units)
                product = None if product is None or unit is None else product * unit
            return product
        case Power(base, Number(exponent)):
            unit = unit_with_numbers(base, units)
            return None if unit is None else unit**exponent
        case Call("sqrt", argument):
            return unit_with_numbers(Power(argument, Number(0.5)), units)
        case Sum(terms):
            parts = [term for term in terms if not isinstance(term, Number)]
            return unit_with_numbers(parts[0], units)
        case Call("abs", argument):
            return unit_with_numbers(argument, units)
        case _:
            return dimensionless()


def like_terms(terms: Sequence[Expression], algebra: UnitAlgebra) -> list[bool]:
    """Return whether each term combines only like quantities, as far as units are known."""
    trial = UnitAlgebra(algebra.units, algebra.constants)
    result = []
    for term in terms:
        try:
            trial.of(term)
        except UnitError:
            result.append(False)
        else:
            result.append(True)
    return result
