"""What a refinement found, as JSON and arrays."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._errors import ModelFileError
from .._field import HybridField
from ..refinement import Refinement
from ._field_parts import check_array
from ._recipes import decode, encode

_PLAIN = (
    "kept", "status", "parameters", "degrees_of_freedom", "is_sandwich", "error_before",
    "error_after", "segment_rows", "rows_used",
)  # fmt: skip


def refinement_parts(
    found: Refinement | None,
) -> tuple[dict[str, Any] | None, dict[str, np.ndarray]]:
    """A refinement as manifest entries and arrays; its field is the model's."""
    if found is None:
        return None, {}
    entries = {name: encode(getattr(found, name)) for name in _PLAIN}
    entries["places"] = encode(found.places)
    entries["noise"] = None if found.noise is None else encode(found.noise.tolist())
    if found.values is None or found.covariance is None:
        return entries, {}
    return entries, {"refinement.values": found.values, "refinement.covariance": found.covariance}


def refinement_from_parts(
    entries: Mapping[str, Any] | None, arrays: Mapping[str, np.ndarray], field: HybridField
) -> Refinement | None:
    """The refinement that `refinement_parts` described, of this field."""
    if entries is None:
        return None
    values, covariance = (arrays.get(f"refinement.{name}") for name in ("values", "covariance"))
    plain = {name: decode(entries[name]) for name in _PLAIN}
    plain["parameters"] = tuple(plain["parameters"])
    places = tuple((int(equation), int(term)) for equation, term in entries["places"])
    if values is not None and covariance is not None:
        size = len(places) + len(plain["parameters"])
        check_array("refinement.values", values, (size,))
        check_array("refinement.covariance", covariance, (size, size))
    rows, columns = np.shape(field.coefficients)
    if any(not (0 <= c < rows and 0 <= k < columns) for c, k in places):
        raise ModelFileError("The model file is inconsistent: a refined coefficient is none.")
    noise = None if entries["noise"] is None else np.array(decode(entries["noise"]), dtype=float)
    return Refinement(
        field, places=places, values=values, covariance=covariance, noise=noise, **plain
    )
