"""What a refinement found, as JSON and arrays."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._errors import ModelFileError
from .._field import HybridField
from ..refinement import Refinement, Uncertainty
from ._field_parts import check_array
from ._recipes import decode, encode

_PLAIN = (
    "kept", "status", "is_sandwich", "error_before", "error_after", "segment_rows", "rows_used",
)  # fmt: skip


def refinement_parts(
    found: Refinement | None,
) -> tuple[dict[str, Any] | None, dict[str, np.ndarray]]:
    """A refinement as manifest entries and arrays; its field is the model's."""
    if found is None:
        return None, {}
    entries = {name: encode(getattr(found, name)) for name in _PLAIN}
    entries["noise"] = None if found.noise is None else encode(found.noise.tolist())
    about, arrays = uncertainty_parts(found.uncertainty, "refinement")
    return entries | (about or {"places": [], "parameters": []}), arrays


def refinement_from_parts(
    entries: Mapping[str, Any] | None, arrays: Mapping[str, np.ndarray], field: HybridField
) -> Refinement | None:
    """The refinement that `refinement_parts` described, of this field."""
    if entries is None:
        return None
    plain = {name: decode(entries[name]) for name in _PLAIN}
    noise = None if entries["noise"] is None else np.array(decode(entries["noise"]), dtype=float)
    uncertainty = uncertainty_from_parts(entries, arrays, field, "refinement")
    return Refinement(field, uncertainty=uncertainty, noise=noise, **plain)


def uncertainty_parts(
    found: Uncertainty | None, prefix: str
) -> tuple[dict[str, Any] | None, dict[str, np.ndarray]]:
    """The joint covariance of estimated constants as manifest entries and arrays."""
    if found is None:
        return None, {}
    names = ("places", "parameters", "degrees_of_freedom")
    entries = {name: encode(getattr(found, name)) for name in names}
    entries["bounds"] = encode(found.bounds.tolist())  # which may be infinite
    return entries, {
        f"{prefix}.{name}": getattr(found, name) for name in ("values", "covariance", "stretch")
    }


def uncertainty_from_parts(
    entries: Mapping[str, Any] | None,
    arrays: Mapping[str, np.ndarray],
    field: HybridField,
    prefix: str,
) -> Uncertainty | None:
    """What `uncertainty_parts` described, of the constants of this field."""
    if entries is None or f"{prefix}.covariance" not in arrays:
        return None
    places = tuple((int(equation), int(term)) for equation, term in entries["places"])
    rows, columns = np.shape(field.coefficients)
    if any(not (0 <= c < rows and 0 <= k < columns) for c, k in places):
        raise ModelFileError(
            "The model file is inconsistent: an estimated coefficient is not in use."
        )
    parameters = tuple(map(str, decode(entries["parameters"])))
    size = len(places) + len(parameters)
    free, even = np.tile([-np.inf, np.inf], (size, 1)), np.ones((size, 2))  # of older files
    bounds = np.array(decode(entries.get("bounds", free.tolist())), dtype=float).reshape(size, 2)
    values, covariance = arrays[f"{prefix}.values"], arrays[f"{prefix}.covariance"]
    stretch = arrays.get(f"{prefix}.stretch", even)
    check_array(f"{prefix}.values", values, (size,))
    check_array(f"{prefix}.covariance", covariance, (size, size))
    check_array(f"{prefix}.stretch", stretch, (size, 2))
    freedom = float(decode(entries["degrees_of_freedom"]))
    return Uncertainty(places, parameters, values, covariance, freedom, bounds, stretch)
