"""Parts that a model file may name register themselves here, when their modules are imported."""

from typing import Any, TypeVar

from .errors import InputError

Class = TypeVar("Class", bound=type)
_parts: dict[str, type] = {}


def part(cls: Class) -> Class:
    """Marks a recipe that is rebuilt from its fields, or a basis from its arrays, by a file that
    holds its name."""
    known = _parts.setdefault(cls.__name__, cls)
    if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
        raise InputError(f"There is a part called '{cls.__name__}' already: {known!r}.")
    _parts[cls.__name__] = cls
    return cls


def registered(name: Any) -> Any:
    """The part of this name; None if there is none."""
    return _parts.get(name) if isinstance(name, str) else None
