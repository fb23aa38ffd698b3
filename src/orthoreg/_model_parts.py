"""What a model file holds of a fitted model, and a model made of it again."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._errors import ModelFileError
from ._persistence import (
    check_array,
    decode,
    encode,
    encode_library,
    evidence_from_parts,
    evidence_parts,
    field_from_parts,
    field_parts,
    path_parts,
    paths_from_parts,
    refinement_from_parts,
    refinement_parts,
    uncertainty_from_parts,
    uncertainty_parts,
)
from .data import Schema
from .diagnostics import Certificate
from .selection import TermEvidence
from .simulation import chosen_interpolation
from .summary import Summary

Arrays = dict[str, np.ndarray]


def model_parts(model: Any, evidence: TermEvidence | None) -> tuple[dict[str, Any], Arrays]:
    """Plain data and arrays that the model is made of."""
    entries, arrays = field_parts(model.field_)
    about_terms, evidence_arrays = evidence_parts(evidence)
    refinement, refinement_arrays = refinement_parts(model.refinement_)
    about_rows, row_arrays = uncertainty_parts(model._estimates(), "uncertainty")
    params = {
        name: encode_library(value, model.field_.features.variables)
        if name == "library"
        else encode(value)
        for name, value in model.get_params(deep=False).items()
    }
    manifest = {
        "estimator": type(model).__name__,
        "params": params,
        "field": entries,
        **model.schema_.to_dict(),
        "interpolation": model.input_interpolation_,
        "outputs": list(model.output_names_),
        "target_is_flat": model.target_is_flat_,
        "has_feature_names": hasattr(model, "feature_names_in_"),
        "certificate": encode(model.certificate_.as_dict()),
        "evidence": about_terms,
        "selection": path_parts(model.selection_),
        "refinement": refinement,
        "accepted": encode(model.accepted_),
        "uncertainty": about_rows,
        "summary": None if model._summary is None else encode(model._summary.to_dict()),
    }
    return manifest, {
        **arrays, **evidence_arrays, **refinement_arrays, **row_arrays,
        "state_range": model.state_range_
    }  # fmt: skip


def model_params(manifest: dict[str, Any], known: Sequence[str]) -> dict[str, Any]:
    """The arguments of the estimator, which `known` names."""
    params = decode(manifest["params"])
    if "gate" in known:
        params = {"gate": None} | params  # a file from before there were gates
    if params.get("selection") is not None and params.get("sparsity") is not None:
        params["selection"] = None  # from before the two excluded each other: it had no effect
    return params


def restore(model: Any, manifest: dict[str, Any], arrays: Arrays) -> None:
    """Everything learned, from the parts of a file; refuses parts that do not fit together."""
    model.field_ = field_from_parts(manifest["field"], arrays)
    model.schema_ = Schema.from_dict(manifest)
    linear = dict.fromkeys(model.input_names_, "linear")  # files from before there was a choice
    model.input_interpolation_ = chosen_interpolation(linear, manifest.get("interpolation"))
    model.output_names_ = tuple(manifest["outputs"])
    model.target_is_flat_ = bool(manifest["target_is_flat"])
    model.certificate_ = Certificate.from_dict(decode(manifest["certificate"]))
    model.state_range_ = arrays["state_range"]
    check_array("state_range", model.state_range_, (2, len(model.state_names_)))
    names = (model.state_names_ + model.input_names_, len(model.output_names_))
    states = set(model.state_names_)
    known = states.issuperset({*model.velocity_of_, *model.velocity_of_.values()})
    known &= states.issuperset(model.estimated_)
    fit_together = (model.field_.features.variables, len(model.field_.features.allowed))
    if names != fit_together or not known:
        raise ModelFileError("The model file is inconsistent: its names do not fit together.")
    model.training_ = None
    shape = model.field_.coefficients.shape
    model.selection_ = paths_from_parts(manifest.get("selection"), shape)
    model._evidence = evidence_from_parts(manifest["evidence"], arrays, shape)
    model.refinement_ = refinement_from_parts(
        manifest.get("refinement"), arrays, model.field_
    )  # files from before there were any have none
    model._of_rows = uncertainty_from_parts(
        manifest.get("uncertainty"), arrays, model.field_, "uncertainty"
    )
    model.accepted_ = tuple(decode(manifest.get("accepted", [])))
    kept = decode(manifest["summary"])
    model._summary = None if kept is None else Summary.from_dict(kept)
    if manifest["has_feature_names"]:
        model.feature_names_in_ = np.array(model.state_names_, dtype=object)
