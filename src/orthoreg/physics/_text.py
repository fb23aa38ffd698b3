"""Read prior knowledge from text, on the command line or in a TOML file."""

import os
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .._common.errors import InputError, quoted, shortened, suggestion
from ..terms import check_length
from ._physics import Key, Physics
from ._start import finite_number, parse_start
from ._statement import parse_equation
from ._symmetry import AbstractSymmetry, Even, Odd, Periodic, Reflection

MAX_FILE = 100_000
"""Maximum size of a physics file in bytes: ten times the longest text of an equation."""

_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_SYMMETRY = re.compile(r"([A-Za-z]+)(?:\(([^()]*)\))?")
_KINDS = {"odd": Odd, "even": Even, "reflection": Reflection, "periodic": Periodic}
_Limits = tuple[float | None, float | None]


def parse_bound(text: str) -> tuple[Key, _Limits]:
    """Return the quantity and the bounds in "omega': omega <= 0", "0.1 <= L <= 2" or "x[k+1]: x <=
    0".
    """
    check_length(text, "A bound")
    equation, colon, inequality = text.rpartition(":")
    parts = [part.strip() for part in re.split("(<=|>=)", inequality)]
    low = high = None
    if len(parts) > 1 and _NUMBER.fullmatch(parts[0]):
        number, sign, *parts = parts
        low, high = (float(number), high) if sign == "<=" else (low, float(number))
    if len(parts) == 3 and _NUMBER.fullmatch(parts[2]):
        *parts, sign, number = parts
        low, high = (low, float(number)) if sign == "<=" else (float(number), high)
    key: Key = parts[0]
    if colon:
        state = equation.strip().replace("[k+1]", "'")
        key = (state[:-1].strip("`") if state.endswith("'") else "", parts[0])
    is_bounded = low is not None or high is not None
    if len(parts) != 1 or re.search("[<>=]", parts[0]) or not is_bounded or not all(key):
        raise InputError(
            f'A bound must have the form "v\': v <= 0" for a coefficient, or "0.1 <= L <= 2" for a '
            f"constant; got '{shortened(text)}'."
        )
    return key, (low, high)


def parse_symmetry(text: str) -> AbstractSymmetry:
    """Return the symmetry "odd", "even(x)", "reflection(x, v)" or "periodic(theta)"."""
    check_length(text, "A symmetry")
    match = _SYMMETRY.fullmatch(text.strip())
    names = [name.strip() for name in (match[2] or "").split(",")] if match and match[2] else []
    kind = match[1].lower() if match else ""
    is_valid = kind in _KINDS and (kind == "odd") == (not names) and all(names)
    if not is_valid or (kind == "periodic" and len(names) > 1):
        raise InputError(
            "A symmetry must have the form 'odd', 'even(x)', 'reflection(x, v)' or "
            f"'periodic(theta)'; got '{shortened(text)}'."
        )
    return _KINDS[kind](*names)


# -- TOML --------------------------------------------------------------------------------------


def read_fields(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the fields of `Physics` in a TOML file as lists and pairs.

    Equations, bounds and symmetries may be lists of texts: ["theta' = omega"], ["omega': omega <=
    0"], ["odd"].
    """
    file = Path(path)
    try:
        with file.open("rb") as stream:
            content = stream.read(MAX_FILE + 1)
    except OSError as error:
        raise InputError(f"physics='{path}' cannot be read: {error.strerror}.") from None
    if len(content) > MAX_FILE:
        raise InputError(f"physics='{path}' is larger than {MAX_FILE} bytes.")
    try:
        given = tomllib.loads(content.decode())
    except RecursionError:
        raise InputError(f"physics='{path}' is not a TOML file: it is nested too deeply.") from None
    # errors of TOML, of the encoding, or of a number with very many digits
    except ValueError as error:
        raise InputError(f"physics='{path}' is not a TOML file: {error}.") from None
    for name in given:
        if name not in _READERS:
            raise InputError(
                f"'{file.name}' has an unknown entry "
                f"'{shortened(name)}'.{suggestion(name, _READERS)} Known entries are "
                f"{quoted(_READERS)}."
            )
    return {name: _READERS[name](name, value) for name, value in given.items()}


def _wrong(name: str, expected: str, value: Any) -> InputError:
    return InputError(
        f"Physics({name}=...) must be {expected} in a file; got {shortened(repr(value))}."
    )


def _texts(name: str, value: Any) -> list[str]:
    """Return a text or a list of texts as a list."""
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise _wrong(name, f"a list of texts such as {_EXAMPLES[name]}", value)
    return texts


def _numbers(name: str, value: Any) -> list[tuple[str, Any]]:
    """Return a table of numbers, with or without units, as pairs."""
    if not isinstance(value, dict) or not all(
        isinstance(item, str) or finite_number(item) is not None for item in value.values()
    ):
        raise _wrong(name, "a table of finite numbers such as {g = 9.81}", value)
    return list(value.items())


def _units(name: str, value: Any) -> dict[str, str]:
    """Return a table of units by constant."""
    if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
        raise _wrong(name, "a table of texts such as {L = 'm'}", value)
    return dict(value)


def _terms(name: str, value: Any) -> list[tuple[str, list[str]]]:
    """Return a table of terms by equation."""
    if not isinstance(value, dict):
        raise _wrong(name, "a table such as {v = ['x', 'sin(x)']}", value)
    return [(key, _texts(name, texts)) for key, texts in value.items()]


def _terms_or_texts(name: str, value: Any) -> Any:
    return dict(_terms(name, value)) if isinstance(value, dict) else _texts(name, value)


def _equations(name: str, value: Any) -> list[tuple[str, str]]:
    if isinstance(value, dict):
        return [(key, side) for key, sides in value.items() for side in _side(name, sides)]
    return [parse_equation(text) for text in _texts(name, value)]


def _side(name: str, value: Any) -> list[str]:
    if not isinstance(value, str):
        raise _wrong(name, f"a list of texts such as {_EXAMPLES[name]}", value)
    return [value]


def _starts(name: str, value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return list(value.items())  # `Physics` checks them
    return [parse_start(text) for text in _texts(name, value)]


def _bounds(name: str, value: Any) -> list[tuple[Key, _Limits]]:
    return [parse_bound(text) for text in _texts(name, value)]


def _symmetries(name: str, value: Any) -> list[AbstractSymmetry]:
    return [parse_symmetry(text) for text in _texts(name, value)]


_EXAMPLES = {
    "equations": '["x\' = v", "v\' = -k*x + ..."]',
    "bounds": '["v\': v <= 0", "0.1 <= L <= 2"]',
    "relations": "['coef(x, x*y) = -coef(y, x*y)']",
    "conserved": "['S + I + R']",
    "required": "['x', 'sin(x)']",
    "forbidden": "['x*v', 'sin(...)']",
    "start": "['h = 0..10', 'S = N - I']",
    "per_run": "['m']",
    "symmetry": "['odd']",
}
_READERS: dict[str, Callable[[str, Any], Any]] = {
    "equations": _equations,
    "values": _numbers,
    "required": _terms,
    "forbidden": _terms,
    "bounds": _bounds,
    "relations": _texts,
    "conserved": _texts,
    "start": _starts,
    "per_run": _terms_or_texts,
    "symmetry": _symmetries,
    "units": _units,
}


def physics_of(given: Mapping[str, Any]) -> Physics:
    """Return the physics from the fields of a file and from further bounds of the same form."""
    return Physics(**{**given, "bounds": _merged(given.get("bounds", ()))})


def _merged(pairs: Sequence[tuple[Key, _Limits]]) -> list[tuple[Key, _Limits]]:
    """Return the bounds with those of equal keys merged."""
    merged: dict[Key, _Limits] = {}
    for key, (low, high) in pairs:
        known = merged.get(key, (None, None))
        merged[key] = (known[0] if low is None else low, known[1] if high is None else high)
    return list(merged.items())
