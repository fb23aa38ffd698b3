"""The exception tree. Messages say what was expected, what was given and how to fix it."""

from collections.abc import Iterable
from difflib import get_close_matches
from importlib.util import find_spec


class OrthoregError(Exception):
    """Any error that orthoreg raises on purpose."""


class InputError(OrthoregError, ValueError):
    """An argument, option or value that the caller can correct."""


class DataError(InputError):
    """Measurements that cannot be used as they are; the message names the place."""


class FormulaError(InputError):
    """A formula that could not be read."""


class ModelFileError(InputError):
    """A model file that is damaged, changed or of an unknown version."""


class MissingExtraError(OrthoregError, ImportError):
    """An optional dependency is not installed; the message names the extra."""


class SimulationError(OrthoregError, RuntimeError):
    """A rollout failed and the caller asked for an exception."""


class TrainingError(OrthoregError, RuntimeError):
    """Gradient training could not begin; the message names the cause."""


class TrainingWarning(UserWarning):
    """Gradient training ended before its time; the best state so far was kept."""


class DataWarning(UserWarning):
    """Measurements that can be used but look wrong."""


def missing_extra(package: str, extra: str, purpose: str) -> MissingExtraError:
    """The error for an optional package that is not installed."""
    return MissingExtraError(
        f"{purpose} needs {package}, which is not installed. "
        f"Install it with: pip install 'orthoreg[{extra}]'."
    )


def require(package: str, extra: str, purpose: str) -> None:
    """Raise the error for an optional package if it is not installed; do not import it."""
    if find_spec(package) is None:
        raise missing_extra(package, extra, purpose)


def suggestion(given: str, known: Iterable[str]) -> str:
    """' Did you mean ...?' for the closest known name, or nothing."""
    names = list(known)
    matches = get_close_matches(given, names, n=1, cutoff=0.6) or [
        name for name in names if name.lower() == given.lower()
    ]
    return f" Did you mean '{matches[0]}'?" if matches else ""


def quoted(names: Iterable[str], most: int = 12) -> str:
    """Names in quotes, separated by commas, cut after `most`."""
    names = list(names)
    shown = ", ".join(f"'{name}'" for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
