"""`refine` for a fitted model: its data checked, its constants refined, its certificate true."""

from dataclasses import replace
from typing import Any

from .._common.errors import InputError
from ..data import Dataset
from ..diagnostics import Certificate, certify
from ..fitting import describe
from ..matching import Refinement, refine
from ..terms import parameter_bounds
from .validation import as_dataset, given_dataset, known_variables


def refinement_of(model: Any, X: Any, t: Any, u: Any) -> tuple[Refinement, Certificate]:
    """What refining the model on these data gives, and the certificate of the field that it has
    then, on these data."""
    data = _trajectories(model, X, t, u)
    recipe = model.recipe()
    known = model.knowledge()
    found = refine(
        model.field_,
        data,
        interpolation=model.input_interpolation_,
        bounds=parameter_bounds(recipe.library) | known.parameter_bounds,
        knowledge=known,
    )
    if not found.kept:
        return found, model.certificate_
    rows = recipe.loss.observe(data)
    targets = recipe.loss.targets(rows, found.field.values)
    result = describe(found.field, replace(rows, targets=targets), known)
    names = found.field.features.names
    return found, certify(result, model.output_names_, names, normalized=recipe.solver.normalize)


def _trajectories(model: Any, X: Any, t: Any, u: Any) -> Dataset:
    """The data as runs in time, under the names that the model knows."""
    if t is None and given_dataset(X) is None:
        raise InputError(
            "refine() matches trajectories and needs times: give states X with t=..., or a Dataset."
        )
    data = as_dataset(X, None, t, u)
    assert data is not None
    if model.clock_:
        data = data.with_parts(time_name=model.clock_).with_time_input()
    if t is None:
        known_variables(model, data, None)  # refuses other names
        return data
    for what, known, found in (
        ("states", model.state_names_, data.state_names),
        ("inputs", model.input_names_, data.input_names),
    ):
        if len(known) != len(found):
            raise InputError(f"The model has {len(known)} {what}; the data have {len(found)}.")
    return data.with_parts(state_names=model.state_names_, input_names=model.input_names_)
