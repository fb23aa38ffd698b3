"""Units of columns. pint (extra `units`) multiplies and compares them.

Without pint, or if a text is not a unit, the column has no known unit. The text is kept.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, final

from .._common.errors import DataError, InputError, require

if TYPE_CHECKING:
    from ._schema import Schema

Unit = Any
"""A `pint.Unit`. pint is imported only if a column has a unit."""

PURE_NUMBER = "1"
"""The unit of a pure number. It is not printed after coefficients."""
# pint reads these as u*year and as a length on a screen
_PLAIN_TEXT = frozenset({"a.u.", "arb.", "px"})
_EXPONENT = re.compile(r"(?<=[^\W\d_])(-?\d+)")  # m s-1
_SYMBOL = re.compile(r"°[CF]?|%|[^\W\d]+")
_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_TEMPERATURES = {"degree_Celsius": "degC", "degree_Fahrenheit": "degF"}
"""Units with an arbitrary zero. Their differences have the prefix delta_."""


@lru_cache(maxsize=1)
def _registry() -> Any:
    import pint

    return pint.UnitRegistry()


@lru_cache(maxsize=1024)
def parse_unit(text: str) -> Unit | None:
    """Return the unit that a text denotes, or None if it is unknown or pint is not installed.

    Terms multiply temperatures. Temperatures in °C or °F therefore have the unit of a temperature
    difference.
    """
    if not text or text in _PLAIN_TEXT or find_spec("pint") is None:
        return None
    registry = _registry()
    plain = text.replace("Ohm", "ohm")
    for written in dict.fromkeys((text, plain, _EXPONENT.sub(r"**\1", plain))):
        try:
            unit = registry.parse_units(written)
        except Exception:  # for other text, pint raises errors of several modules
            continue
        names = {f"delta_{n}" if n in _TEMPERATURES else n: p for n, p in unit._units.items()}
        unit = registry.Unit(registry.UnitsContainer(names))
        is_multiplicative = all(registry._units[n].is_multiplicative for n in _bases(unit))
        return unit if is_multiplicative else None
    return None


def _bases(unit: Unit) -> list[str]:
    """Return the names of a unit's parts without prefixes. pint keeps them in its table of
    units.
    """
    known = _registry()._units
    return [name for name in unit._units if name in known]


def known_unit(text: str) -> Unit:
    """Return the unit that a text denotes. The unit must be known."""
    unit = parse_unit(text)
    assert unit is not None
    return unit


def dimensionless() -> Unit:
    return _registry().Unit("")


def same_dimension(first: Unit, second: Unit) -> bool:
    """Return whether two units measure the same kind of quantity."""
    return first.dimensionality == second.dimensionality


def conversion(first: Unit, second: Unit) -> float:
    """Return the factor that converts numbers from the first unit to the second."""
    return float(_registry().convert(1.0, first, second))


def is_same(first: Unit, second: Unit) -> bool:
    """Return whether numbers in the two units can be compared without conversion."""
    return same_dimension(first, second) and abs(conversion(first, second) - 1) < 1e-9


def has_free_zero(unit: Unit) -> bool:
    """Return whether a column in this unit has an arbitrary zero, like temperatures in °C or °F."""
    return dict(unit._units) in [{f"delta_{name}": 1} for name in _TEMPERATURES]


def without_radians_below(unit: Unit) -> Unit:
    """Return the unit without rad in its denominator.

    A length that follows from g/L in rad/s² is in m.
    """
    below = min(unit._units.get("radian", 0), 0)
    return unit if not below else unit / known_unit("rad") ** below


@final
@dataclass(frozen=True, eq=False)
class Units:
    """The known units of the columns of a schema.

    `of` contains the unit of each column, including estimated velocities and time, or None if it is
    unknown. `symbols` are the symbols of units as the user wrote them, and `unreadable` are texts
    that are not units. `wanted` maps units to the units that are printed instead, {"rad": "deg"}.
    """

    of: Mapping[str, Unit | None]
    symbols: Mapping[str, str]
    unreadable: tuple[str, ...]
    time_name: str
    discrete: bool
    wanted: Mapping[str, str] = field(default_factory=dict)

    @property
    def any(self) -> bool:
        """Whether any unit is known."""
        return any(unit is not None for unit in self.of.values())

    def rate(self, name: str) -> Unit | None:
        """Return the unit of the left side of an equation: of a derivative or, for a map, of a next
        value.
        """
        unit, time = self.of.get(name), self.of.get(self.time_name)
        if self.discrete:
            return unit
        return None if unit is None or time is None else unit / time

    def converted(self, unit: Unit) -> Unit:
        """Return the unit in which numbers with the unit `unit` are printed."""
        for old, new in self.wanted.items():
            first, second = known_unit(old), known_unit(new)
            ((name, power),) = first._units.items()
            if exponent := unit._units.get(name, 0) / power:
                unit = unit * (second / first) ** exponent
        return unit

    def factor(self, unit: Unit | None) -> float:
        """Return the factor that converts numbers with this unit to the printed unit."""
        if unit is None or not self.wanted:
            return 1.0
        return conversion(unit, self.converted(unit))

    def text(self, unit: Unit | None) -> str:
        """Return a unit as text, such as rad/s²: '1' for a pure number, and '' if it is unknown."""
        if unit is None:
            return ""
        shown = self.converted(unit)
        symbols = {**self.symbols, **_symbols(self.wanted.values())}
        above, below = [], []
        for name, power in shown._units.items():
            side, size = (above, power) if power > 0 else (below, -power)
            is_whole = float(size).is_integer()
            raised = "" if size == 1 else f"{size:g}".translate(_SUPERSCRIPTS)
            raised = raised if is_whole else f"^{size:.4g}"
            side.append(f"{symbols.get(name) or symbol_of(name)}{raised}")
        text = "·".join(above) or PURE_NUMBER
        if below:
            text += f"/{below[0]}" if len(below) == 1 else f"/({'·'.join(below)})"
        return text


def checked_conversions(wanted: Mapping[str, str], *, of_columns: bool = False) -> dict[str, str]:
    """Return a dict from each unit to the unit that replaces it.

    Raise InputError if a unit is unknown, if two units measure different quantities, or if a unit
    has an arbitrary zero, because only columns can be converted between such units.
    """
    require("pint", "units", "The conversion of units")
    for old, new in wanted.items():
        for text in (old, new):
            if parse_unit(text) is None:
                raise InputError(f"'{old}->{new}' cannot be converted: '{text}' is not a unit.")
        first, second = known_unit(old), known_unit(new)
        if not same_dimension(first, second):
            raise InputError(
                f"'{old}->{new}' cannot be converted: these units measure different quantities."
            )
        if not of_columns and (has_free_zero(first) or has_free_zero(second)):
            raise InputError(
                f"'{old}->{new}' moves the zero of the column, and therefore changes the terms; "
                f"convert the column when it is read, as in units={{'T': '{new}'}}."
            )
        if len(first._units) != 1:
            raise InputError(f"'{old}->{new}' must begin with a single unit, such as rad or min.")
    return dict(wanted)


def symbol_of(name: str) -> str:
    """Return pint's symbol of a unit."""
    plain = name.removeprefix("delta_")
    if plain in _TEMPERATURES:
        return f"delta_{_TEMPERATURES[plain]}"
    return _registry().get_symbol(name)


@lru_cache(maxsize=64)
def _units_of(
    texts: tuple[tuple[str, str], ...],
    velocities: tuple[tuple[str, str], ...],
    delayed: tuple[tuple[str, str], ...],
    time_name: str,
    discrete: bool,
) -> Units:
    of = {name: parse_unit(text) for name, text in texts}
    for position, velocity in velocities:
        if velocity not in dict(texts):
            unit, time = of.get(position), of.get(time_name)
            of[velocity] = None if unit is None or time is None else unit / time
    of |= {name: of.get(variable) for name, variable in delayed}
    unreadable = tuple(text for name, text in texts if of[name] is None)
    return Units(of, _symbols(text for _, text in texts), unreadable, time_name, discrete)


def _symbols(texts: Iterable[str]) -> dict[str, str]:
    """Return the symbols that occur in texts, by the name of their unit."""
    symbols = {}
    for symbol in dict.fromkeys(s for text in texts for s in _SYMBOL.findall(text)):
        unit = parse_unit(symbol)
        if unit is not None and len(unit._units) == 1 and not has_free_zero(unit):
            ((name, power),) = unit._units.items()
            symbols |= {name: symbol} if power == 1 else {}
    return symbols


def units_of(schema: "Schema") -> Units | None:
    """Return the units of a schema's columns, or None if no unit is known.

    The unit of an estimated velocity is the unit of its position divided by the unit of time.
    """
    if not schema.units or find_spec("pint") is None:
        return None
    units = _units_of(
        tuple(schema.units.items()),
        tuple(schema.velocity_of.items()),
        tuple((delay.name, delay.variable) for delay in schema.delays),
        schema.time_name,
        schema.discrete,
    )
    return units if units.any else None


def unit_converter(name: str, given: str, wanted: str) -> tuple[float, float]:
    """Return the factor and the offset that convert numbers from one unit to another.

    Raise DataError if the units measure different quantities, or if one of them is unknown.
    """
    require("pint", "units", f"The conversion of '{name}' from {given} to {wanted}")
    for text in (given, wanted):
        if parse_unit(text) is None:
            raise DataError(
                f"'{name}' cannot be converted from {given} to {wanted}: '{text}' is not a known "
                f"unit."
            )
    first, second = known_unit(given), known_unit(wanted)
    if not same_dimension(first, second):
        raise DataError(
            f"'{name}' cannot be converted from {given} to {wanted}: these units measure different "
            "quantities."
        )
    quantity = _registry().Quantity
    zero, one = (quantity(x, _absolute(given)).to(_absolute(wanted)).magnitude for x in (0.0, 1.0))
    return float(one - zero), float(zero)


def _absolute(text: str) -> Unit:
    unit = known_unit(text)
    if has_free_zero(unit) and not text.startswith("delta"):
        unit = _registry().Unit(next(iter(unit._units)).removeprefix("delta_"))
    return unit


def converted_columns(
    columns: Mapping[str, Any], schema: "Schema", wanted: Mapping[str, str]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return columns in other units, given as in {"rad": "deg"}, and the units of all columns."""
    if not wanted:
        return dict(columns), dict(schema.units)
    require("pint", "units", "The conversion of units")
    units = units_of(schema)
    if units is None:
        raise InputError(
            "The columns of the model have no known units, so they cannot be converted."
        )
    units = replace(units, wanted=checked_conversions(wanted, of_columns=True))
    texts, result = dict(schema.units), dict(columns)
    for name in columns:
        unit = units.of.get(name)
        if unit is None or units.converted(unit) == unit:
            continue
        text = texts.get(name, "")
        exact = [new for old, new in wanted.items() if parse_unit(old) == unit]
        factor, offset = units.factor(unit), 0.0
        texts[name] = units.text(unit)
        if exact and has_free_zero(unit):
            factor, offset = unit_converter(name, text, exact[0])
            texts[name] = exact[0]
        result[name] = columns[name] * factor + offset
    return result, texts
