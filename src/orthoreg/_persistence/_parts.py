"""Parts of a fit as JSON and arrays: field, evidence for terms, paths of a selection,
refinement.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._common.errors import InputError, ModelFileError
from .._common.registry import registered
from ..field import AbstractBasis
from ..field.gate import Gate, Region
from ..field.hybrid import HybridField
from ..matching import Refinement, Uncertainty
from ..search.rows import ConfoundedPair, EquationPath, SelectionResult, TermEvidence
from ..terms import FeatureMap, parse, rename, to_text
from ._recipes import decode, encode

_MAX_FORMULAS = 1_000_000  # maximum characters of all terms, to limit the time for parsing
_NUMBERS = ("n_terms", "inner", "outer", "standard_error")
_PLAIN = (
    "kept", "status", "is_sandwich", "error_before", "error_after", "segment_rows", "rows_used",
)  # fmt: skip


def field_parts(field: HybridField) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return a field as manifest entries and arrays."""
    names = _symbols(len(field.features.variables), field.features.parameters)
    manifest = {
        "variables": list(field.features.variables),
        "terms": [to_text(term, names=names) for term in field.features.terms],
        "allowed": [list(row) for row in field.features.allowed],
        "parameters": list(field.features.parameters),
        "basis": type(field.basis).__name__,
    }
    arrays = {
        "coefficients": field.coefficients,
        "weights": field.weights,
        "correction": field.correction,
        "parameters": np.array(field.features.values),
        **{f"basis.{name}": array for name, array in field.basis.arrays().items()},
    }
    if sum(map(len, manifest["terms"])) > _MAX_FORMULAS:
        raise InputError(f"A model file may have at most {_MAX_FORMULAS} characters of formulas.")
    if registered(manifest["basis"]) is not type(field.basis):
        raise InputError(
            f"A model file cannot store the functions of {manifest['basis']}; mark the class with "
            f"orthoreg's `part`."
        )
    if field.region is not None:
        manifest["fade"] = float(field.region.fade)
        arrays["region.rate"] = field.region.rate
        arrays["region.landmarks"] = field.region.landmarks
        if field.region.held is not None:
            arrays["region.held"] = field.region.held
        if field.region.period is not None:
            arrays["region.period"] = field.region.period
    return manifest, {name: np.asarray(array) for name, array in arrays.items()}


def field_from_parts(manifest: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> HybridField:
    """Return the field from the output of `field_parts`. Formulas are parsed, not evaluated."""
    variables = tuple(manifest["variables"])
    parameters = tuple(manifest["parameters"])
    symbols = _symbols(len(variables), parameters)
    if sum(map(len, manifest["terms"])) > _MAX_FORMULAS:
        raise ModelFileError(
            f"The model file has more than {_MAX_FORMULAS} characters of formulas."
        )
    terms = tuple(  # a stored term may be longer than the formula that the user wrote
        rename(parse(text, symbols, parameters, limit=_MAX_FORMULAS), variables)
        for text in manifest["terms"]
    )
    values = arrays["parameters"]
    check_array("parameters", values, (len(parameters),))
    features = FeatureMap(
        variables, terms, tuple(tuple(row) for row in manifest["allowed"]), parameters,
        tuple(values.tolist()),
    )  # fmt: skip
    region = None
    if "fade" in manifest:
        fade = Gate(manifest["fade"]).fade  # which checks it
        held = arrays.get("region.held")  # None if the residual vanishes far from the data
        region = Region(
            arrays["region.rate"], arrays["region.landmarks"], fade, held,
            arrays.get("region.period"),
        )  # fmt: skip
    field = HybridField(
        features, arrays["coefficients"], _basis(manifest["basis"], arrays, len(variables)),
        arrays["weights"], arrays["correction"], region, values,
    )  # fmt: skip
    _check_field(field)
    return field


def _basis(kind: str, arrays: Mapping[str, np.ndarray], n_variables: int) -> AbstractBasis:
    """Return the basis of the residual. It must accept `n_variables` variables."""
    cls: Any = registered(kind)
    if cls is None or not issubclass(cls, AbstractBasis):
        raise ModelFileError(f"The model file names '{kind}', which is not a residual basis.")
    basis_arrays = {
        name.removeprefix("basis."): array
        for name, array in arrays.items()
        if name.startswith("basis.")
    }
    for name, array in basis_arrays.items():
        check_array(name, array, array.shape)
    try:
        basis = cls.from_arrays(basis_arrays)
        basis(np.zeros((1, n_variables)))
    except (InputError, KeyError, ValueError, IndexError) as error:
        raise ModelFileError(f"The model file is inconsistent: {error}") from None
    return basis


def _symbols(count: int, parameters: Sequence[str]) -> list[str]:
    """Return names for variables in formulas: v0, v1, ..., or vv0, ... if parameters have such
    names.
    """
    prefix = "v"
    while any(f"{prefix}{i}" in parameters for i in range(count)):
        prefix += "v"
    return [f"{prefix}{i}" for i in range(count)]


def evidence_parts(
    evidence: TermEvidence | None,
) -> tuple[dict[str, Any] | None, dict[str, np.ndarray]]:
    """Return the evidence for terms as manifest entries and arrays."""
    if evidence is None:
        return None, {}
    pairs = [encode(dataclasses.asdict(pair)) for pair in evidence.pairs]
    entries = {
        "support": evidence.support.tolist(),
        "confounded": pairs,
        "from_trajectories": evidence.from_trajectories,
    }
    arrays = {
        "evidence.probability": evidence.probability,
        "evidence.interval": evidence.interval,
    }
    if evidence.equation_probability is not None:
        arrays["evidence.equation_probability"] = evidence.equation_probability
    return entries, arrays


def evidence_from_parts(
    entries: Mapping[str, Any] | None, arrays: Mapping[str, np.ndarray], shape: tuple[int, ...]
) -> TermEvidence | None:
    """Return the evidence from the output of `evidence_parts`, for coefficients of this shape."""
    if entries is None:
        return None
    probability, interval = arrays["evidence.probability"], arrays["evidence.interval"]
    check_array("evidence.probability", probability, shape)
    unknown = ~np.isfinite(interval) if interval.dtype == np.float64 else False
    check_array("evidence.interval", np.where(unknown, 0.0, interval), (*shape, 2))
    support = np.array(entries["support"], dtype=bool).reshape(shape)
    pairs = tuple(ConfoundedPair(**decode(pair)) for pair in entries["confounded"])
    for pair in pairs:
        if not (0 <= pair.equation < shape[0] and 0 <= min(pair.term, pair.other)
                and max(pair.term, pair.other) < shape[1]):  # fmt: skip
            raise ModelFileError("The model file is inconsistent: a term is unknown.")
    matched = bool(entries.get("from_trajectories", False))
    equations = arrays.get("evidence.equation_probability")
    if equations is not None:
        check_array("evidence.equation_probability", equations, shape[:1])
    return TermEvidence(support, probability, interval, pairs, matched, equations)


def _check_field(field: HybridField) -> None:
    """Raise ModelFileError if arrays are inconsistent or not finite."""
    n_variables, n_outputs = len(field.features.variables), len(field.features.allowed)
    expected: dict[str, tuple[Any, tuple[int, ...]]] = {
        "coefficients": (field.coefficients, (n_outputs, len(field.features.terms))),
        "weights": (field.weights, (field.basis.size, n_outputs)),
        "correction": (field.correction, (n_outputs, len(field.features.terms))),
    }
    if field.region is not None:
        rate, landmarks = field.region.rate, field.region.landmarks
        expected["rate"] = (rate, (n_variables,))
        expected["landmarks"] = (landmarks, (max(1, len(landmarks)), n_variables))
        if field.region.held is not None:
            expected["held"] = (field.region.held, (len(landmarks), n_outputs))
        if field.region.period is not None:
            expected["period"] = (field.region.period, (n_variables,))
    for name, (array, shape) in expected.items():
        check_array(name, array, shape)
    if field.region is not None and (np.asarray(field.region.rate) < 0).any():
        raise ModelFileError("The model file is inconsistent: 'rate' must not be negative.")


def check_array(name: str, array: Any, shape: tuple[int, ...]) -> None:
    """Raise ModelFileError unless the array is finite, of this shape and of type float64."""
    if array.shape != shape or array.dtype != np.float64 or not np.isfinite(array).all():
        raise ModelFileError(
            f"The model file is inconsistent: '{name}' must contain finite numbers of shape {shape}"
            f"; it has shape {array.shape} and type {array.dtype}."
        )


def path_parts(selected: SelectionResult | None) -> dict[str, Any] | None:
    """Return the paths of a selection as plain data, without its moments."""
    if selected is None or not selected.paths:
        return None
    paths = [
        {name: encode(getattr(path, name).tolist()) for name in _NUMBERS}
        | {
            "supports": [np.flatnonzero(row).tolist() for row in path.supports],
            "chosen": int(path.chosen),
        }
        for path in selected.paths
    ]
    return {"paths": paths, "left_out": list(selected.left_out)}


def paths_from_parts(
    entries: Mapping[str, Any] | None, shape: tuple[int, ...]
) -> SelectionResult | None:
    """Return the selection from the output of `path_parts`, for coefficients of this shape."""
    if entries is None:
        return None
    paths = [_path(path, shape[1]) for path in entries["paths"]]
    if len(paths) != shape[0]:
        raise ModelFileError("The model file is inconsistent: a path of terms is missing.")
    support = np.stack([path.support for path in paths])
    return SelectionResult(support, tuple(paths), left_out=tuple(map(str, entries["left_out"])))


def _path(entries: Mapping[str, Any], n_terms: int) -> EquationPath:
    numbers = {name: np.array(decode(entries[name]), dtype=float) for name in _NUMBERS}
    supports = _supports(entries["supports"], n_terms)
    chosen = int(entries["chosen"])
    sizes = {len(supports), *(len(values) for values in numbers.values())}
    if len(sizes) != 1 or not 0 <= chosen < len(supports):
        raise ModelFileError("The model file is inconsistent: a path of terms does not fit.")
    none = np.zeros((0, n_terms), dtype=bool)
    counts = numbers.pop("n_terms").astype(np.int64)
    return EquationPath(counts, supports, **numbers, chosen=chosen, contenders=none)


def _supports(rows: Sequence[Sequence[int]], n_terms: int) -> np.ndarray:
    result = np.zeros((len(rows), n_terms), dtype=bool)
    for index, row in enumerate(rows):
        if not all(isinstance(k, int) and 0 <= k < n_terms for k in row):
            raise ModelFileError("The model file is inconsistent: a path names an unknown term.")
        result[index, list(row)] = True
    return result


def refinement_parts(
    refinement: Refinement | None,
) -> tuple[dict[str, Any] | None, dict[str, np.ndarray]]:
    """Return a refinement as manifest entries and arrays, without its field."""
    if refinement is None:
        return None, {}
    entries = {name: encode(getattr(refinement, name)) for name in _PLAIN}
    entries["noise"] = None if refinement.noise is None else encode(refinement.noise.tolist())
    covariance, arrays = uncertainty_parts(refinement.uncertainty, "refinement")
    return entries | (covariance or {"places": [], "parameters": []}), arrays


def refinement_from_parts(
    entries: Mapping[str, Any] | None, arrays: Mapping[str, np.ndarray], field: HybridField
) -> Refinement | None:
    """Return the refinement of a field from the output of `refinement_parts`."""
    if entries is None:
        return None
    plain = {name: decode(entries[name]) for name in _PLAIN}
    noise = None if entries["noise"] is None else np.array(decode(entries["noise"]), dtype=float)
    uncertainty = uncertainty_from_parts(entries, arrays, field, "refinement")
    return Refinement(field, uncertainty=uncertainty, noise=noise, **plain)


def uncertainty_parts(
    uncertainty: Uncertainty | None, prefix: str
) -> tuple[dict[str, Any] | None, dict[str, np.ndarray]]:
    """Return the joint covariance of constants as manifest entries and arrays."""
    if uncertainty is None:
        return None, {}
    names = ("places", "parameters", "degrees_of_freedom")
    entries = {name: encode(getattr(uncertainty, name)) for name in names}
    entries["bounds"] = encode(uncertainty.bounds.tolist())  # bounds may be infinite
    arrays = {name: getattr(uncertainty, name) for name in ("values", "covariance", "stretch")}
    if uncertainty.undetermined is not None:
        arrays["undetermined"] = uncertainty.undetermined
        entries["free_states"] = encode(uncertainty.free_states)
    return entries, {f"{prefix}.{name}": array for name, array in arrays.items()}


def uncertainty_from_parts(
    entries: Mapping[str, Any] | None,
    arrays: Mapping[str, np.ndarray],
    field: HybridField,
    prefix: str,
) -> Uncertainty | None:
    """Return the uncertainty of a field's constants from the output of `uncertainty_parts`."""
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
    unbounded, symmetric = (
        np.tile([-np.inf, np.inf], (size, 1)),
        np.ones((size, 2)),
    )  # of older files
    bounds = np.array(decode(entries.get("bounds", unbounded.tolist())), dtype=float).reshape(
        size, 2
    )
    values, covariance = arrays[f"{prefix}.values"], arrays[f"{prefix}.covariance"]
    stretch = arrays.get(f"{prefix}.stretch", symmetric)
    check_array(f"{prefix}.values", values, (size,))
    check_array(f"{prefix}.covariance", covariance, (size, size))
    check_array(f"{prefix}.stretch", stretch, (size, 2))
    undetermined = arrays.get(f"{prefix}.undetermined")
    if undetermined is not None:
        check_array(f"{prefix}.undetermined", undetermined, (size, undetermined.shape[-1]))
    free_states = tuple(int(state) for state in decode(entries.get("free_states", [])))
    if any(not 0 <= state < rows for state in free_states):
        raise ModelFileError("The model file is inconsistent: a hidden state is not a state.")
    freedom = float(decode(entries["degrees_of_freedom"]))
    return Uncertainty(
        places, parameters, values, covariance, freedom, bounds, stretch, undetermined, free_states
    )
