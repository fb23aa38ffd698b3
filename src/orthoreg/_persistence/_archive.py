"""Model files: one zip file with a manifest, arrays and a checksum. Older versions are migrated."""

import hashlib
import json
import os
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np
from safetensors import numpy as safetensors

from .._common import unpacking
from .._common.errors import InputError, ModelFileError, quoted, shortened
from .._common.files import atomic_write, existing_model
from .._common.typed import is_printable, printable

VERSION = 2
Manifest = dict[str, Any]
Arrays = Mapping[str, np.ndarray]


def migrate(manifest: Manifest, arrays: Arrays) -> tuple[Manifest, dict[str, np.ndarray]]:
    """Convert manifest and arrays of any earlier version to the current one."""
    migrated = dict(arrays)
    if manifest["version"] < 2:
        manifest, migrated = _from_1(manifest, migrated)
    # older files have no second-order equations, and other names for losses
    return {"velocity_of": {}, "estimated": [], **_with_renamed_losses(manifest)}, migrated


def _with_renamed_losses(value: Any) -> Any:
    """Replace `Measured` by `Auto`, and `OneStep` by `MultiStep` with one step."""
    if isinstance(value, list):
        return [_with_renamed_losses(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.get("$kind") == "OneStep":
        value = {**value, "$kind": "MultiStep", "window": 1}
    elif value.get("$kind") == "Measured":
        value = {**value, "$kind": "Auto"}
    return {name: _with_renamed_losses(item) for name, item in value.items()}


def _from_1(
    manifest: Manifest, arrays: dict[str, np.ndarray]
) -> tuple[Manifest, dict[str, np.ndarray]]:
    """Convert version 1, which had no evidence, only one kind of network, and at first no gates."""
    field = manifest["field"]
    if field.get("composed"):
        raise ModelFileError(
            "The file contains a network that is composed with its equations, which orthoreg no "
            "longer supports. Fit another model."
        )
    params = {"gate": None, **manifest["params"]} if manifest["estimator"] == "OrthoReg" else (
        manifest["params"]
    )  # fmt: skip
    params = _recipes_from_1(params)
    if params.get("selection") is not None and params.get("sparsity") is not None:
        # version 1 allowed it together with sparsity, where it had no effect
        params["selection"] = None
    first = params.pop("$first", None)
    if first is not None:
        params |= {"selection": first, "sparsity": None}
    names = {"mean", "scale", *(name for name in arrays if name.startswith("layer"))}
    arrays = {f"basis.{name}" if name in names else name: array for name, array in arrays.items()}
    arrays.setdefault("correction", np.zeros_like(arrays["coefficients"]))
    arrays["parameters"] = np.zeros(0)
    equations = [
        {"library_r2": entry.pop("sayable", None), **entry}
        for entry in map(dict, manifest["certificate"]["equations"])
    ]
    return {
        **manifest,
        "params": params,
        "field": {**field, "parameters": [], "basis": "TanhLayers"},
        "certificate": {**manifest["certificate"], "equations": equations},
        "interpolation": dict.fromkeys(manifest["inputs"], "linear"),
        "evidence": None,
        "summary": None,
    }, arrays


def _recipes_from_1(params: Manifest) -> Manifest:
    """Convert the constructor's arguments to recipes with the current fields."""
    recipes = {name: _recipe_from_1(value) for name, value in params.items()}
    given, solver = params.get("solver"), recipes.get("solver")
    if isinstance(given, dict) and given.get("refit") and given["normalize"]:
        recipes["solver"] = None  # equivalent to the default
    if isinstance(solver, dict) and solver["$kind"] == "TwoStage":
        first = solver.pop("first", None)
        if first is not None and first["$kind"] == "Thresholding":
            recipes["$first"] = first
    return recipes


def _recipe_from_1(value: Any) -> Any:
    if isinstance(value, list):
        return [_recipe_from_1(item) for item in value]
    if not isinstance(value, dict):
        return value
    fields = {name: _recipe_from_1(item) for name, item in value.items()}
    if fields.get("$kind") == "RandomFeatures":
        fields["weight_scale"] = fields.pop("steepness")
        fields["univariate_fraction"] = fields.pop("alone", 0.0)
    if fields.get("$kind") == "Exact":
        fields.pop("refit", None)  # selected terms are now always estimated without shrinkage
    if fields.get("$kind") == "Gate":
        fields["hold"] = False
    return fields


_MANIFEST, _ARRAYS, _DIGEST = "manifest.json", "arrays.safetensors", "digest.sha256"
_MAX_MANIFEST, _MAX_ARRAYS = 2**24, 2**31  # bytes
_MAX_NESTING = 500  # maximum nesting; each part of a library takes one level


def write_model(
    path: str | os.PathLike[str], manifest: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> None:
    """Write the file atomically. Equal content gives equal bytes."""
    _check_texts(
        manifest, InputError, "A model whose names contain control characters cannot be saved"
    )
    described = json.dumps(
        {"format": "orthoreg", "version": VERSION, **manifest}, indent=1, allow_nan=False
    ).encode()
    block = safetensors.save({name: np.ascontiguousarray(arrays[name]) for name in sorted(arrays)})
    if len(described) > _MAX_MANIFEST or len(block) > _MAX_ARRAYS:
        raise InputError("The model is too large for a model file. Use fewer terms or features.")
    parts = {_MANIFEST: described, _ARRAYS: block, _DIGEST: _digest(described, block).encode()}
    with atomic_write(path) as stream:
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in parts.items():
                # large entries are stored, because `read_model` rejects a large expansion
                packed = len(content) <= unpacking.FREE_SIZE
                kind = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
                archive.writestr(zipfile.ZipInfo(name), content, kind)


def read_model(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return manifest and arrays. First check that the file is complete and unchanged."""
    file = existing_model(path)
    damaged = f"'{file.name}' is not a complete orthoreg model file"
    try:
        with zipfile.ZipFile(file) as archive:
            _check_sizes(archive.infolist(), file.stat().st_size, damaged)
            described, block, digest = (
                _unpacked(archive, name) for name in (_MANIFEST, _ARRAYS, _DIGEST)
            )
    except ModelFileError:
        raise
    except Exception:  # zipfile and zlib raise many types of errors for damaged files
        raise ModelFileError(
            f"{damaged}: it is truncated, damaged or of another type. Save the model again."
        ) from None
    manifest: dict[str, Any] = {}
    try:
        manifest = json.loads(described)
        version = manifest["version"] if manifest["format"] == "orthoreg" else None
    except (ValueError, TypeError, KeyError, RecursionError):
        version = None
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
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
    except Exception:  # NumPy raises errors of several types for unknown types and shapes
        raise ModelFileError(f"{damaged}: its arrays cannot be read.") from None
    _check_texts(manifest, ModelFileError, f"{damaged}: its manifest contains control characters")
    try:
        return migrate(manifest, arrays)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"{damaged}: its parts are inconsistent ({error}).") from None


def _check_texts(value: Any, error: type[InputError], problem: str, depth: int = 0) -> None:
    """Raise an error for data that are nested too deeply, or for text with control characters."""
    if depth > _MAX_NESTING:
        raise error("A model file must not be nested so deeply.")
    if isinstance(value, str) and not is_printable(value):
        raise error(f"{problem}: '{shortened(printable(value))}'.")
    if isinstance(value, Mapping):
        value = [*value.keys(), *value.values()]
    if isinstance(value, list | tuple):
        for item in value:
            _check_texts(item, error, problem, depth + 1)


def _check_sizes(entries: list[zipfile.ZipInfo], size: int, damaged: str) -> None:
    """Raise ModelFileError, before unpacking, for foreign or excessively large entries."""
    limits = {_MANIFEST: _MAX_MANIFEST, _ARRAYS: _MAX_ARRAYS, _DIGEST: 64}
    names = sorted(entry.filename for entry in entries)
    if names != sorted(limits):
        raise ModelFileError(f"{damaged}: it contains {quoted(names)}.")
    for entry in entries:
        max_size = unpacking.max_unpacked(min(entry.compress_size, size))
        if entry.file_size > min(limits[entry.filename], max_size):
            raise ModelFileError(
                f"{damaged}: '{entry.filename}' would unpack from {entry.compress_size} to "
                f"{entry.file_size} bytes."
            )


def _unpacked(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return the bytes of an entry up to its declared size, which `ZipFile.read` may exceed."""
    with archive.open(name) as stream:
        return stream.read(archive.getinfo(name).file_size)


def _digest(described: bytes, block: bytes) -> str:
    digest = hashlib.sha256(described)
    digest.update(b"\0")
    digest.update(block)
    return digest.hexdigest()
