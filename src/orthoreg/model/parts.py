"""Convert a fitted model to plain data and arrays for a model file, and back."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.errors import ModelFileError
from .._common.typed import check_type
from .._persistence import (
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
from ..data import Schema
from ..diagnostics import Certificate
from ..findings import Summary
from ..fitting import Columns, Fit, RowRecord
from ..simulation import chosen_interpolation

if TYPE_CHECKING:
    from .model import AbstractModel

Arrays = dict[str, np.ndarray]
Accepted = tuple[dict[str, Any], ...]


def model_parts(
    model: "AbstractModel", fit: Fit, summary: Summary | None
) -> tuple[dict[str, Any], Arrays]:
    """Return a fitted model as plain data and arrays."""
    assert fit.columns is not None
    entries, arrays = field_parts(fit.field)
    about_terms, evidence_arrays = evidence_parts(fit.evidence)
    refinement, refinement_arrays = refinement_parts(fit.refinement)
    about_rows, row_arrays = uncertainty_parts(fit.estimates, "uncertainty")
    params = {
        name: encode_library(value, fit.field.features.variables)
        if name == "library"
        else encode(value)
        for name, value in model.get_params(deep=False).items()
    }
    manifest = {
        "estimator": type(model).__name__,
        "params": params,
        "field": entries,
        **fit.columns.schema.to_dict(),
        "interpolation": dict(fit.columns.interpolation),
        "outputs": list(fit.columns.outputs),
        "target_is_flat": fit.columns.target_is_flat,
        "has_feature_names": fit.columns.feature_names is not None,
        "certificate": encode(fit.certificate.as_dict()),
        "evidence": about_terms,
        "selection": path_parts(fit.selection),
        "refinement": refinement,
        "accepted": encode(fit.accepted),
        "uncertainty": about_rows,
        "record": None if fit.record is None else [list(fit.record.terms), fit.record.count],
        "updates": fit.updates,
        "horizon": fit.horizon,
        "summary": None if summary is None else encode(summary.to_dict()),
    }
    if fit.record is not None:
        arrays = arrays | {"record_gram": fit.record.gram}
    return manifest, {
        **arrays, **evidence_arrays, **refinement_arrays, **row_arrays,
        "state_range": model.state_range_
    }  # fmt: skip


def model_params(manifest: dict[str, Any], known: Sequence[str]) -> dict[str, Any]:
    """Return the constructor arguments whose names are in `known`."""
    params = decode(manifest["params"])
    if "gate" in known:
        params = {"gate": None} | params  # files written before gates existed
    if params.get("selection") is not None and params.get("sparsity") is not None:
        params["selection"] = None  # earlier versions ignored the selection
    return params


def restored(manifest: dict[str, Any], arrays: Arrays) -> tuple[Fit, Columns, Accepted]:
    """Return all learned data from the parts of a file.

    Raise an error if the parts are inconsistent.
    """
    field = field_from_parts(manifest["field"], arrays)
    schema = Schema.from_dict(manifest)
    linear = dict.fromkeys(schema.input_names, "linear")  # files written before this option existed
    names, outputs = schema.state_names, tuple(manifest["outputs"])
    columns = Columns(
        schema,
        outputs,
        chosen_interpolation(linear, manifest.get("interpolation")),
        target_is_flat=bool(manifest["target_is_flat"]),
        feature_names=np.array(names, dtype=object) if manifest["has_feature_names"] else None,
    )
    check_array("state_range", arrays["state_range"], (2, len(names)))
    fits = (names + schema.input_names, len(outputs)) == (
        field.features.variables, len(field.features.allowed)
    )  # fmt: skip
    if not fits or outputs not in (names, numbered_outputs(len(outputs))):
        raise ModelFileError("The model file is inconsistent: its names do not match.")
    shape = field.coefficients.shape
    refinement = refinement_from_parts(manifest.get("refinement"), arrays, field)
    uncertainty = uncertainty_from_parts(manifest.get("uncertainty"), arrays, field, "uncertainty")
    if schema.delays and refinement is not None:  # the uncertainty includes the delays
        refinement = replace(refinement, uncertainty=uncertainty)
    certificate = Certificate.from_dict(decode(manifest["certificate"]))
    check_type(certificate, Certificate, "certificate")
    if len(certificate.equations) != len(outputs):
        raise ModelFileError("The model file is inconsistent: a certificate is missing.")
    fit = Fit(
        field,
        certificate,
        paths_from_parts(manifest.get("selection"), shape),
        None,
        arrays["state_range"],
        # absent in older files
        refinement=refinement,
        uncertainty=uncertainty,
        stored_evidence=evidence_from_parts(manifest["evidence"], arrays, shape),
        record=_record(manifest.get("record"), arrays, shape[1]),
        updates=int(manifest.get("updates", 0)),
        horizon=_horizon(manifest.get("horizon")),
    )
    return fit, columns, tuple(decode(manifest.get("accepted", [])))


def numbered_outputs(count: int) -> tuple[str, ...]:
    """Return names for targets that are not derivatives of the states."""
    return tuple(f"y{i}" for i in range(count))


def _record(entry: Any, arrays: Arrays, n_terms: int) -> RowRecord | None:
    """Return the sums over old rows, or None for older files."""
    if entry is None:
        return None
    terms, count = entry
    check_array("record_gram", arrays["record_gram"], (len(terms), len(terms)))
    if not all(isinstance(k, int) and 0 <= k < n_terms for k in terms):
        raise ModelFileError("The model file is inconsistent: its record names unknown terms.")
    return RowRecord(tuple(terms), arrays["record_gram"], float(count))


def _horizon(value: Any) -> float | None:
    if value is None or (isinstance(value, float) and 0 < value < math.inf):
        return value
    raise ModelFileError("The model file is inconsistent: 'horizon' must be a positive number.")


def restored_summary(manifest: dict[str, Any]) -> Summary | None:
    kept = decode(manifest["summary"])
    if kept is None:
        return None
    summary = Summary.from_dict(kept)
    check_type(summary, Summary, "summary")
    return summary
