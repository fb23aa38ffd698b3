"""Registry of the classes that model files may refer to."""

from typing import Any, TypeVar

from .errors import InputError

Class = TypeVar("Class", bound=type)
_parts: dict[str, type] = {}


def part(cls: Class) -> Class:
    """Register a class by its name, so that model files can contain its instances."""
    known = _parts.setdefault(cls.__name__, cls)
    if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
        raise InputError(f"A part named '{cls.__name__}' already exists: {known!r}.")
    _parts[cls.__name__] = cls
    return cls


def registered(name: Any) -> Any:
    """Return the class registered under this name, or None."""
    return _parts.get(name) if isinstance(name, str) else None
