"""Exceptions and warnings. Messages state what was expected, what was given and how to fix it."""

import itertools
from collections.abc import Iterable
from difflib import get_close_matches
from importlib.util import find_spec

# maximum number of names, and of characters, that are compared for suggestions
_MAX_COMPARED, _MAX_NAME = 1000, 200


class OrthoregError(Exception):
    """Base class of the errors that orthoreg raises intentionally."""


class InputError(OrthoregError, ValueError):
    """An argument, option or value that the caller can correct."""


class DataError(InputError):
    """Measurements that cannot be used; the message names the source, row and column."""


class FormulaError(InputError):
    """A formula that cannot be parsed."""


class UnitError(FormulaError):
    """A formula that combines unlike quantities, such as a length and a speed."""


class ModelFileError(InputError):
    """A model file that is damaged, was modified or has an unknown version."""


class MissingExtraError(OrthoregError, ImportError):
    """An optional dependency is not installed; the message names the extra."""


class SimulationError(OrthoregError, RuntimeError):
    """A rollout failed and the caller requested an exception."""


class TrainingError(OrthoregError, RuntimeError):
    """Gradient training could not start; the message names the cause."""


class TrainingWarning(UserWarning):
    """Gradient training ended early; the best state is used."""


class DataWarning(UserWarning):
    """Measurements that can be used but may be wrong."""


def missing_extra(package: str, extra: str, purpose: str) -> MissingExtraError:
    """Return the error for an optional package that is not installed."""
    return MissingExtraError(
        f"{purpose} needs {package}, which is not installed. "
        f"Install it with: pip install 'orthoreg[{extra}]'."
    )


def require(package: str, extra: str, purpose: str) -> None:
    """Raise an error if an optional package is not installed, without importing it."""
    if find_spec(package) is None:
        raise missing_extra(package, extra, purpose)


def suggestion(given: str, known: Iterable[str]) -> str:
    """Return ' Did you mean ...?' with the closest known name, or ''."""
    names = list(itertools.islice(known, _MAX_COMPARED))
    if len(given) > _MAX_NAME:
        return ""
    matches = get_close_matches(given, names, n=1, cutoff=0.6) or [
        name for name in names if name.lower() == given.lower()
    ]
    return f" Did you mean '{matches[0]}'?" if matches else ""


def shortened(text: str, length: int = 80) -> str:
    """Return a text for a message. It is cut to at most `length` characters."""
    return text if len(text) <= length else f"{text[: length - 3]}..."


def quoted(names: Iterable[str], max_names: int = 12) -> str:
    """Return at most `max_names` names in quotes, separated by commas."""
    names = list(names)
    shown = ", ".join(f"'{shortened(name)}'" for name in names[:max_names])
    return shown + (f" and {len(names) - max_names} more" if len(names) > max_names else "")
