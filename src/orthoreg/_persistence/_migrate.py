"""Files of earlier versions in the form of this one: the only place that knows of them."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._common.errors import ModelFileError

VERSION = 2
Manifest = dict[str, Any]
Arrays = Mapping[str, np.ndarray]


def migrate(manifest: Manifest, arrays: Arrays) -> tuple[Manifest, dict[str, np.ndarray]]:
    """Manifest and arrays in the form of this version, from those of any earlier one."""
    found = dict(arrays)
    if manifest["version"] < 2:
        manifest, found = _from_1(manifest, found)
    # from before a model could be of second order, and when losses had other names
    return {"velocity_of": {}, "estimated": [], **_with_renamed_losses(manifest)}, found


def _with_renamed_losses(value: Any) -> Any:
    """Recipes in which `Measured` is `Auto`, and `OneStep` `MultiStep` with one step."""
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
    """Version 1 knew no gates at first, no evidence, and one kind of network."""
    field = manifest["field"]
    if field.get("composed"):
        raise ModelFileError(
            "The file holds a network that is composed with its equations, which orthoreg has "
            "given up: it was a counterexample. Fit another model."
        )
    params = {"gate": None, **manifest["params"]} if manifest["estimator"] == "OrthoReg" else (
        manifest["params"]
    )  # fmt: skip
    params = _recipes_from_1(params)
    if params.get("selection") is not None and params.get("sparsity") is not None:
        params["selection"] = None  # the two did not exclude each other: it had no effect
    first = params.pop("$first", None)
    if first is not None:
        params |= {"selection": first, "sparsity": None}
    names = {"mean", "scale", *(name for name in arrays if name.startswith("layer"))}
    arrays = {f"basis.{name}" if name in names else name: array for name, array in arrays.items()}
    arrays.setdefault("correction", np.zeros_like(arrays["coefficients"]))
    arrays["parameters"] = np.zeros(0)
    equations = [
        {"library_r2": one.pop("sayable", None), **one}
        for one in map(dict, manifest["certificate"]["equations"])
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
    """The constructor's arguments, each recipe with the fields it has today."""
    found = {name: _recipe_from_1(value) for name, value in params.items()}
    given, solver = params.get("solver"), found.get("solver")
    if isinstance(given, dict) and given.get("refit") and given["normalize"]:
        found["solver"] = None  # the default's way to solve
    if isinstance(solver, dict) and solver["$kind"] == "TwoStage":
        first = solver.pop("first", None)
        if first is not None and first["$kind"] == "Thresholding":
            found["$first"] = first
    return found


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
        fields.pop("refit", None)  # what a selection chose is solved for without shrinkage
    if fields.get("$kind") == "Gate":
        fields["hold"] = False
    return fields
