"""The model file: a zip of one JSON manifest and one safetensors block. Reading runs no code."""

import dataclasses
import hashlib
import json
import math
import os
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors import numpy as safetensors

from ._errors import InputError, ModelFileError, quoted
from ._field import HybridField
from ._files import atomic_write
from ._gate import Gate, Region
from .augmentations import MLP, RandomFeatures, TanhLayers, Zero
from .differentiation import (
    Automatic,
    FiniteDifference,
    LocalPolynomial,
    SavitzkyGolay,
    SmoothedFiniteDifference,
    SmoothingSpline,
)
from .libraries import (
    AbstractLibrary,
    Empty,
    FeatureMap,
    Fourier,
    Joined,
    PerState,
    Polynomial,
    Products,
    Terms,
    feature_names,
    parse,
    rename,
    to_text,
)
from .losses import Informed, MultiStep, OneStep, VectorField
from .selection import (
    ConfoundedPair,
    CrossValidation,
    Extrapolation,
    InformationCriterion,
    Shrinkage,
    StabilitySelection,
    TermEvidence,
    Thresholding,
)
from .solvers import Adam, Exact, TwoStage

VERSION = 2
_MANIFEST, _ARRAYS, _DIGEST = "manifest.json", "arrays.safetensors", "digest.sha256"
_LARGEST_MANIFEST, _LARGEST_ARRAYS = 2**24, 2**31
_FREE_SIZE, _MOST_EXPANSION = 2**26, 50  # beyond this size, by how much an entry may unpack
_RECIPES = {
    kind.__name__: kind
    for kind in (
        Polynomial, Fourier, Terms, PerState, Joined, Products, Empty,
        RandomFeatures, MLP, Zero, VectorField, OneStep, MultiStep, Informed,
        Exact, Adam, TwoStage, Shrinkage, Thresholding, Gate,
        Automatic, FiniteDifference, LocalPolynomial, SavitzkyGolay, SmoothedFiniteDifference,
        SmoothingSpline,
        Extrapolation, CrossValidation, InformationCriterion, StabilitySelection,
    )
}  # fmt: skip
"""What a file may name: each is rebuilt from its fields, nothing else is."""


# -- files ---------------------------------------------------------------------------------


def write_model(
    path: str | os.PathLike[str], manifest: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> None:
    """Writes the file whole or not at all. The same content gives the same bytes."""
    described = json.dumps(
        {"format": "orthoreg", "version": VERSION, **manifest}, indent=1, allow_nan=False
    ).encode()
    block = safetensors.save({name: np.ascontiguousarray(arrays[name]) for name in sorted(arrays)})
    if len(described) > _LARGEST_MANIFEST or len(block) > _LARGEST_ARRAYS:
        raise InputError("The model is too large for a model file. Use fewer terms or features.")
    parts = {_MANIFEST: described, _ARRAYS: block, _DIGEST: _digest(described, block).encode()}
    with atomic_write(path) as stream:
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in parts.items():
                # what is large is stored as it is: `read_model` refuses what unpacks to much more
                packed = len(content) <= _FREE_SIZE
                kind = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
                archive.writestr(zipfile.ZipInfo(name), content, kind)


def read_model(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Manifest and arrays, after every check that the file is whole and unchanged."""
    file = Path(path)
    if not file.is_file():
        raise ModelFileError(f"There is no model file '{path}'. Check the path.")
    damaged = f"'{file.name}' is not a whole orthoreg model file"
    try:
        with zipfile.ZipFile(file) as archive:
            _check_sizes(archive.infolist(), file.stat().st_size, damaged)
            described, block, digest = (
                _unpacked(archive, name) for name in (_MANIFEST, _ARRAYS, _DIGEST)
            )
    except ModelFileError:
        raise
    except Exception:  # the many ways in which zipfile and zlib refuse damaged bytes
        raise ModelFileError(
            f"{damaged}: it is cut short, damaged or of another kind. Save the model again."
        ) from None
    manifest: dict[str, Any] = {}
    try:
        manifest = json.loads(described)
        version = manifest["version"] if manifest["format"] == "orthoreg" else None
    except (ValueError, TypeError, KeyError, RecursionError):
        version = None
    if not isinstance(version, int):
        raise ModelFileError(f"{damaged}: its manifest cannot be read.")
    if version > VERSION:
        raise ModelFileError(
            f"'{file.name}' has format version {version}; this orthoreg reads up to {VERSION}. "
            f"Upgrade orthoreg to open it."
        )
    if digest.decode(errors="replace") != _digest(described, block):
        raise ModelFileError(
            f"'{file.name}' was changed after it was saved: its checksum does not match."
        )
    try:
        arrays = safetensors.load(block)
    except SafetensorError:
        raise ModelFileError(f"{damaged}: its arrays cannot be read.") from None
    return migrate(manifest), arrays


def migrate(manifest: dict[str, Any]) -> dict[str, Any]:
    """The manifest in the form of this version, from that of any earlier one."""
    if manifest["version"] < 2:  # files kept neither evidence nor summary
        manifest = {**manifest, "evidence": None, "summary": None}
    return manifest


def _check_sizes(entries: list[zipfile.ZipInfo], size: int, damaged: str) -> None:
    """Refuses, before anything is unpacked, what is not ours or would grow without measure."""
    limits = {_MANIFEST: _LARGEST_MANIFEST, _ARRAYS: _LARGEST_ARRAYS, _DIGEST: 64}
    found = sorted(entry.filename for entry in entries)
    if found != sorted(limits):
        raise ModelFileError(f"{damaged}: it holds {quoted(found)}.")
    for entry in entries:
        most = max(_FREE_SIZE, _MOST_EXPANSION * min(entry.compress_size, size))
        if entry.file_size > min(limits[entry.filename], most):
            raise ModelFileError(
                f"{damaged}: '{entry.filename}' would unpack from {entry.compress_size} to "
                f"{entry.file_size} bytes."
            )


def _unpacked(archive: zipfile.ZipFile, name: str) -> bytes:
    """An entry's bytes, up to its declared size, beyond which `ZipFile.read` would unpack."""
    with archive.open(name) as stream:
        return stream.read(archive.getinfo(name).file_size)


def _digest(described: bytes, block: bytes) -> str:
    digest = hashlib.sha256(described)
    digest.update(b"\0")
    digest.update(block)
    return digest.hexdigest()


# -- recipes -------------------------------------------------------------------------------


def encode(value: Any) -> Any:
    """Numbers, text, lists and known recipes as JSON."""
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
    if _RECIPES.get(type(value).__name__) is type(value):
        fields = {
            f.name: encode(getattr(value, f.name)) for f in dataclasses.fields(value) if f.init
        }
        return {"$kind": type(value).__name__, **fields}
    raise InputError(
        f"{value!r} cannot be saved in a model file; it holds only orthoreg's own parts."
    )


def decode(value: Any) -> Any:
    """The value that `encode` wrote."""
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "$float" in value:
        return float(value["$float"])
    if "$kind" in value:
        fields = {name: decode(item) for name, item in value.items() if name != "$kind"}
        if value["$kind"] == "RandomFeatures":
            fields.setdefault("alone", 0.0)  # files from before there were such units
        if value["$kind"] == "Gate":
            fields.setdefault("hold", False)  # files from before residuals were held
        if value["$kind"] == "PerState":
            fields["by_state"] = dict(fields["by_state"])
        return _RECIPES[value["$kind"]](**fields)
    return {name: decode(item) for name, item in value.items()}


def encode_library(library: AbstractLibrary | None, variables: tuple[str, ...]) -> Any:
    """A library as JSON; one of the user's own making as the formulas it stands for."""
    try:
        return encode(library)
    except InputError:
        assert library is not None
        return encode(Terms(feature_names(library, variables)))


# -- fields --------------------------------------------------------------------------------


def field_parts(field: HybridField) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """A field as manifest entries and arrays."""
    names = _symbols(len(field.features.variables), field.features.parameters)
    manifest = {
        "variables": list(field.features.variables),
        "terms": [to_text(term, names=names) for term in field.features.terms],
        "allowed": [list(row) for row in field.features.allowed],
        "parameters": list(field.features.parameters),
        "layers": len(field.basis.weights),
    }
    arrays = {
        "coefficients": field.coefficients,
        "weights": field.weights,
        "correction": field.correction,
        "mean": field.basis.mean,
        "scale": field.basis.scale,
        "parameters": np.array(field.features.values),
    }
    for i, (weight, bias) in enumerate(zip(field.basis.weights, field.basis.biases, strict=True)):
        arrays[f"layer{i}.weight"], arrays[f"layer{i}.bias"] = weight, bias
    if field.region is not None:
        manifest["fade"] = float(field.region.fade)
        arrays["region.rate"] = field.region.rate
        arrays["region.landmarks"] = field.region.landmarks
        if field.region.held is not None:
            arrays["region.held"] = field.region.held
    return manifest, {name: np.asarray(array) for name, array in arrays.items()}


def field_from_parts(manifest: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> HybridField:
    """The field that `field_parts` described; its formulas are parsed, never run."""
    variables = tuple(manifest["variables"])
    parameters = tuple(manifest.get("parameters", ()))
    symbols = _symbols(len(variables), parameters)
    terms = tuple(rename(parse(text, symbols, parameters), variables) for text in manifest["terms"])
    layers = range(manifest["layers"])
    basis = TanhLayers(
        arrays["mean"],
        arrays["scale"],
        tuple(arrays[f"layer{i}.weight"] for i in layers),
        tuple(arrays[f"layer{i}.bias"] for i in layers),
    )
    values = arrays.get("parameters", np.zeros(0))
    check_array("parameters", values, (len(parameters),))
    features = FeatureMap(
        variables, terms, tuple(tuple(row) for row in manifest["allowed"]), parameters,
        tuple(values.tolist()),
    )  # fmt: skip
    coefficients = arrays["coefficients"]
    correction = arrays.get("correction", np.zeros_like(coefficients))
    region = None
    if "fade" in manifest:
        fade = Gate(manifest["fade"]).fade  # which checks it
        held = arrays.get("region.held")  # files from before residuals were held have none
        region = Region(arrays["region.rate"], arrays["region.landmarks"], fade, held)
    field = HybridField(
        features, coefficients, basis, arrays["weights"], correction, region, values
    )
    _check_field(field)
    return field


def _symbols(count: int, parameters: Sequence[str]) -> list[str]:
    """What variables are called in a file's formulas: v0, v1, ..., or vv0, ... beside such names."""
    prefix = "v"
    while any(f"{prefix}{i}" in parameters for i in range(count)):
        prefix += "v"
    return [f"{prefix}{i}" for i in range(count)]


def evidence_parts(
    evidence: TermEvidence | None,
) -> tuple[dict[str, Any] | None, dict[str, np.ndarray]]:
    """What resamples say about the terms, as manifest entries and arrays."""
    if evidence is None:
        return None, {}
    pairs = [encode(dataclasses.asdict(pair)) for pair in evidence.pairs]
    return {"support": evidence.support.tolist(), "confounded": pairs}, {
        "evidence.probability": evidence.probability,
        "evidence.interval": evidence.interval,
    }


def evidence_from_parts(
    entries: Mapping[str, Any] | None, arrays: Mapping[str, np.ndarray], shape: tuple[int, ...]
) -> TermEvidence | None:
    """The evidence that `evidence_parts` described, for coefficients of this shape."""
    if entries is None:
        return None
    probability, interval = arrays["evidence.probability"], arrays["evidence.interval"]
    check_array("evidence.probability", probability, shape)
    check_array("evidence.interval", interval, (*shape, 2))
    support = np.array(entries["support"], dtype=bool).reshape(shape)
    pairs = tuple(ConfoundedPair(**decode(pair)) for pair in entries["confounded"])
    for pair in pairs:
        if not (0 <= pair.equation < shape[0] and 0 <= min(pair.term, pair.other)
                and max(pair.term, pair.other) < shape[1]):  # fmt: skip
            raise ModelFileError("The model file is inconsistent: a confounded term is none.")
    return TermEvidence(support, probability, interval, pairs)


def _check_field(field: HybridField) -> None:
    """Refuses arrays that are not finite or do not fit together."""
    n_variables, n_outputs = len(field.features.variables), len(field.features.allowed)
    basis = field.basis
    widths = [n_variables, *(bias.shape[0] for bias in basis.biases if bias.ndim == 1)]
    expected = {
        "coefficients": (field.coefficients, (n_outputs, len(field.features.terms))),
        "weights": (field.weights, (basis.size, n_outputs)),
        "correction": (field.correction, (n_outputs, len(field.features.terms))),
        "mean": (basis.mean, (n_variables,)),
        "scale": (basis.scale, (n_variables,)),
    }
    if field.region is not None:
        rate, landmarks = field.region.rate, field.region.landmarks
        expected["rate"] = (rate, (n_variables,))
        expected["landmarks"] = (landmarks, (max(1, len(landmarks)), n_variables))
        if field.region.held is not None:
            expected["held"] = (field.region.held, (len(landmarks), n_outputs))
    for i, weight in enumerate(basis.weights):
        expected[f"layer {i}"] = (weight, tuple(widths[i : i + 2]))
    for name, (array, shape) in expected.items():
        check_array(name, array, shape)
    for i, bias in enumerate(basis.biases):
        check_array(f"bias {i}", bias, (widths[i + 1],))


def check_array(name: str, array: Any, shape: tuple[int, ...]) -> None:
    """Refuses an array of another shape or kind, or one that is not finite."""
    if array.shape != shape or array.dtype != np.float64 or not np.isfinite(array).all():
        raise ModelFileError(
            f"The model file is inconsistent: '{name}' must hold finite numbers of shape {shape}; "
            f"it has shape {array.shape} and type {array.dtype}."
        )
