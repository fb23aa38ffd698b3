"""Check arguments, and refuse models that an operation does not support."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from .._common.errors import InputError, quoted, suggestion
from ..data import Schema


def refuse_delays(schema: Schema, who: str) -> None:
    """Raise InputError if the equations have delayed variables."""
    if schema.delays:
        raise InputError(
            f"{who} needs equations without delays, but the model contains "
            f"{schema.delays[0].shown(4)}. Use simulate() for this model."
        )


def refuse_time(schema: Schema, who: str) -> None:
    """Raise InputError if the equations depend on time."""
    if schema.time_input:
        raise InputError(
            f"{who} needs equations that do not depend on time, but the model uses "
            f"'{schema.time_input}'. Give the signal that depends on time as an input instead."
        )


def vector(values: Any, names: Sequence[str], what: str) -> Float[np.ndarray, " k"]:
    """Return one finite number per name, given in this order or as a dict by name.

    Without names, `values` may be None.
    """
    if values is None and not names:
        return np.zeros(0)
    if isinstance(values, Mapping):
        for name in values:
            if name not in names:
                raise InputError(
                    f"{what} has a value for '{name}', which is not one of {quoted(names)}."
                    f"{suggestion(str(name), names)}"
                )
        missing = [name for name in names if name not in values]
        if missing:
            raise InputError(f"{what} needs a value for each of {quoted(missing)}.")
        values = [values[name] for name in names]
    try:
        result = np.asarray([] if values is None else values, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{what} must contain numbers; got {values!r}.") from None
    if result.ndim == 0 and len(names) == 1:
        result = result[None]
    if result.shape != (len(names),) or not np.isfinite(result).all():
        wanted = f"one finite number for each of {quoted(names)}" if names else "nothing"
        raise InputError(f"{what} must be {wanted}; got {values!r}.")
    return result
