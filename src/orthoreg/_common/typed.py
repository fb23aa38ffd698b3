"""Check plain data from files against type annotations, and make text safe to print."""

import dataclasses
import re
import types
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that change what a terminal shows, and unpaired surrogates, which no file can contain.
Tabs and line ends are allowed."""


def is_printable(text: str) -> bool:
    """Return whether a text has no control characters."""
    return _CONTROL.search(text) is None


def printable(text: str) -> str:
    """Return a text with control characters replaced by their codes, such as \\x1b."""
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def check_type(value: Any, annotation: Any, place: str) -> None:
    """Raise TypeError if a value, or a part of it, is not of the annotated type.

    Dataclasses, tuples, mappings, unions and plain types are checked; other annotations are
    ignored. Integers are accepted as floats.
    """
    origin, arguments = get_origin(annotation), get_args(annotation)
    if dataclasses.is_dataclass(annotation):
        _require(isinstance(value, annotation), value, place)  # type: ignore[arg-type]
        for name, hint in _hints(annotation).items():
            check_type(getattr(value, name), hint, f"{place}.{name}")
    elif origin in (Union, types.UnionType):
        for option in arguments:
            try:
                return check_type(value, option, place)
            except TypeError:
                continue
        _require(False, value, place)
    elif annotation is float:
        _require(isinstance(value, float | int) and not isinstance(value, bool), value, place)
    elif annotation is int:
        _require(isinstance(value, int) and not isinstance(value, bool), value, place)
    elif annotation in (str, bool):
        _require(isinstance(value, annotation), value, place)
    elif annotation in (None, type(None)):
        _require(value is None, value, place)
    elif origin is tuple and arguments[-1] is Ellipsis:
        _require(isinstance(value, tuple | list), value, place)
        for i, item in enumerate(value):
            check_type(item, arguments[0], f"{place}[{i}]")
    elif origin is tuple:
        _require(isinstance(value, tuple | list) and len(value) == len(arguments), value, place)
        for i, (item, hint) in enumerate(zip(value, arguments, strict=True)):
            check_type(item, hint, f"{place}[{i}]")
    elif origin in (dict, Mapping):
        _require(isinstance(value, dict), value, place)
        for key, item in value.items():
            check_type(item, arguments[1], f"{place}[{key!r}]")
    elif origin in (list, Sequence):
        _require(isinstance(value, tuple | list), value, place)
        for i, item in enumerate(value):
            check_type(item, arguments[0], f"{place}[{i}]")


@cache
def _hints(cls: Any) -> dict[str, Any]:
    names = {field.name for field in dataclasses.fields(cls)}
    return {name: hint for name, hint in get_type_hints(cls).items() if name in names}


def _require(holds: bool, value: Any, place: str) -> None:
    if not holds:
        raise TypeError(f"'{place}' has an unexpected value of type {type(value).__name__}")
