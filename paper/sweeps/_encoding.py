"""Lossless conversion of specs and records to JSON and back."""

import dataclasses
import json
import math
from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np

from orthoreg import InputError

Record: TypeAlias = dict[str, str | int | float | bool | None]
"""One row of results, by column."""

_KIND, _FLOAT = "$kind", "$float"


def canonical(value: Any) -> bytes:
    """Return the canonical JSON text of a value: sorted keys, no spaces, ASCII."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.encode("ascii")


def encode(value: Any, name: str = "spec") -> Any:
    """Return a value of a spec, or a whole spec, as JSON. Error messages refer to it as `name`.

    An integer and an equal float are encoded differently. Members of string and integer
    enumerations and NumPy scalars are converted to plain values.
    """
    if isinstance(value, tuple):
        return [encode(item, f"{name}[{i}]") for i, item in enumerate(value)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        check_frozen(type(value), name)
        fields = [field.name for field in dataclasses.fields(value) if field.init]
        parts = {field: encode(getattr(value, field), f"{name}.{field}") for field in fields}
        return {_KIND: type(value).__name__, **parts}
    if isinstance(value, list | dict | set):
        raise InputError(
            f"{name} is a {type(value).__name__}, which is mutable. Use a tuple, or a frozen "
            f"dataclass for named values."
        )
    return encode_plain(value, name)


def encode_plain(value: Any, name: str) -> Any:
    """Return text, a number, a Boolean or None as JSON."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {_FLOAT: repr(float(value))}
    raise InputError(
        f"{name} must be text, a number, True, False or None; got {type(value).__name__}."
    )


def decode(value: Any, kinds: Iterable[type] = ()) -> Any:
    """Return the value passed to `encode`. Specs are rebuilt only from the classes in `kinds`."""
    kinds = tuple(kinds)
    if isinstance(value, list):
        return tuple(decode(item, kinds) for item in value)
    if not isinstance(value, dict):
        return value
    if set(value) == {_FLOAT}:
        return float(value[_FLOAT])
    known = {kind.__name__: kind for kind in kinds}
    named = value.get(_KIND)
    if named not in known:
        raise InputError(
            f"The spec has the class '{named}'; decode(kinds=...) has "
            f"{', '.join(map(repr, known)) or 'none'}. Add the class with this name."
        )
    fields = {field: decode(item, kinds) for field, item in value.items() if field != _KIND}
    return known[named](**fields)


def check_frozen(kind: type, name: str) -> None:
    """Raise an error unless the class is a frozen dataclass with keyword-only fields."""
    parameters = getattr(kind, "__dataclass_params__", None)
    frozen = parameters is not None and parameters.frozen
    if not frozen or not all(field.kw_only for field in dataclasses.fields(kind) if field.init):
        raise InputError(
            f"{name} must be a dataclass that is frozen and keyword-only; got "
            f"{kind.__name__}. Write @dataclass(frozen=True, kw_only=True) above it."
        )
