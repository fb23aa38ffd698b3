"""Knowledge as people write it: "theta' = omega", "omega': omega <= 0", and files of it."""

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .._common.errors import InputError, quoted, suggestion
from ._physics import Key, Physics
from ._symmetry import AbstractSymmetry, Even, Odd, Periodic, Reflection

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_BOUND = re.compile(
    rf"(?:({_NUMBER})\s*(<=|>=)\s*)?([^<>=]+?)(?:\s*(<=|>=)\s*({_NUMBER}))?", re.DOTALL
)
_SYMMETRY = re.compile(r"\s*([A-Za-z]+)\s*(?:\(([^()]*)\))?\s*")
_KINDS = {"odd": Odd, "even": Even, "reflection": Reflection, "periodic": Periodic}
_FIELDS = (
    "equations", "values", "required", "forbidden", "bounds", "relations", "conserved", "symmetry",
)  # fmt: skip


def parse_bound(text: str) -> tuple[Key, tuple[float | None, float | None]]:
    """What is bounded, and its ends, of "omega': omega <= 0" or "0.1 <= L <= 2"."""
    equation, colon, rest = text.rpartition(":")
    found = _BOUND.fullmatch(rest.strip())
    key: Key = found[3].strip() if found else ""
    if colon:
        state = equation.strip()
        key = (state[:-1].strip("`") if state.endswith("'") else "", str(key))
    if found is None or not (found[2] or found[4]) or not all(key):
        raise InputError(
            f'A bound must be such as "v\': v <= 0" for a coefficient, or "0.1 <= L <= 2" for a '
            f"constant; got '{text}'."
        )
    low = high = None
    if found[2]:
        low, high = (float(found[1]), high) if found[2] == "<=" else (low, float(found[1]))
    if found[4]:
        low, high = (low, float(found[5])) if found[4] == "<=" else (float(found[5]), high)
    return key, (low, high)


def parse_symmetry(text: str) -> AbstractSymmetry:
    """The symmetry of "odd", "even(x)", "reflection(x, v)" or "periodic(theta)"."""
    found = _SYMMETRY.fullmatch(text)
    names = [name.strip() for name in (found[2] or "").split(",")] if found and found[2] else []
    kind = found[1].lower() if found else ""
    if kind not in _KINDS or (kind == "odd") != (not names) or not all(names):
        raise InputError(
            f"A symmetry must be such as 'odd', 'even(x)', 'reflection(x, v)' or "
            f"'periodic(theta)'; got '{text}'."
        )
    return _KINDS[kind](*names)


def read_fields(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a TOML file says is known: the fields of `Physics` by name. Equations may be a list of
    texts, ["theta' = omega"], as may be bounds, ["omega': omega <= 0"], and symmetries, ["odd"].
    """
    file = Path(path)
    try:
        with file.open("rb") as stream:
            given: dict[str, Any] = tomllib.load(stream)
    except OSError as error:
        raise InputError(f"physics='{path}' cannot be read: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"physics='{path}' is no TOML file: {error}.") from None
    for name in given:
        if name not in _FIELDS:
            raise InputError(
                f"'{file.name}' has an entry '{name}', which says nothing about physics."
                f"{suggestion(name, _FIELDS)} Known are {quoted(_FIELDS)}."
            )
    return given


def physics_of(given: Mapping[str, Any]) -> Physics:
    """The physics of fields whose equations, bounds and symmetries may be texts."""
    fields = dict(given)
    bounds = fields.get("bounds", ())
    if isinstance(bounds, Mapping):
        raise InputError(
            'Physics(bounds=...) must be a list of texts such as "v\': v <= 0" in a file.'
        )
    fields["bounds"] = _merged(
        [parse_bound(one) if isinstance(one, str) else one for one in bounds]
    )
    symmetry = fields.get("symmetry", ())
    texts = [symmetry] if isinstance(symmetry, str) else symmetry
    fields["symmetry"] = [parse_symmetry(one) if isinstance(one, str) else one for one in texts]
    return Physics(**fields)


def _merged(
    pairs: Sequence[tuple[Key, tuple[float | None, float | None]]],
) -> list[tuple[Key, tuple[float | None, float | None]]]:
    """Both ends of something that was bounded twice."""
    found: dict[Key, tuple[float | None, float | None]] = {}
    for key, (low, high) in pairs:
        known = found.get(key, (None, None))
        found[key] = (known[0] if low is None else low, known[1] if high is None else high)
    return list(found.items())
