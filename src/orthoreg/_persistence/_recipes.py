"""Recipes as JSON. Only registered parts are rebuilt, from their fields."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from .._common.errors import InputError, ModelFileError
from .._common.registry import registered
from ..terms import AbstractLibrary, Terms, feature_names


def encode(value: Any) -> Any:
    """Return numbers, text, lists and registered recipes as JSON data."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else {"$float": repr(float(value))}
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, list | tuple):
        return [encode(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): encode(item) for key, item in value.items()}
    if registered(type(value).__name__) is type(value):
        fields = {
            f.name: encode(getattr(value, f.name)) for f in dataclasses.fields(value) if f.init
        }
        return {"$kind": type(value).__name__, **fields}
    raise InputError(
        f"{value!r} cannot be saved in a model file, which can contain only parts of orthoreg."
    )


def decode(value: Any) -> Any:
    """Return the value from the output of `encode`."""
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "$float" in value:
        return float(value["$float"])
    if "$kind" in value:
        fields = {name: decode(item) for name, item in value.items() if name != "$kind"}
        kind = registered(value["$kind"])
        if kind is None:
            raise ModelFileError(
                f"The model file names '{value['$kind']}', which is not part of orthoreg."
            )
        pairs = fields.get("by_state")  # JSON has no tuples
        return kind(**fields if pairs is None else {**fields, "by_state": dict(pairs)})
    return {name: decode(item) for name, item in value.items()}


def encode_library(library: AbstractLibrary | None, variables: tuple[str, ...]) -> Any:
    """Return a library as JSON data. Unregistered libraries are stored as their formulas."""
    try:
        return encode(library)
    except InputError:
        assert library is not None
        return encode(Terms(feature_names(library, variables)))
