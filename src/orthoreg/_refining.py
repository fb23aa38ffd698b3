"""`refine` for a fitted model: its data checked, its constants refined, what they say kept true;
and trajectories matched for the sake of intervals alone."""

from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float

from ._errors import InputError
from ._switched import switching_terms
from ._validation import as_dataset, given_dataset, known_variables
from .data import CLEAN, Dataset
from .diagnostics import Certificate, certify
from .fitting import Fit, Runs, describe
from .libraries import parameter_bounds
from .refinement import Refinement, refine
from .selection import TermEvidence

_MOST_KEPT = 20_000  # rows of the runs that a fit keeps for intervals


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


def keeps_runs(fit: Fit, runs: Runs) -> bool:
    """Whether intervals of this fit will ask its runs: they are noisy, few enough to be kept, and
    its equations, which are all of it, can be followed."""
    return (
        fit.refinement is None
        and runs.data.n_samples <= _MOST_KEPT
        and not np.any(np.asarray(fit.field.weights))
        and not switching_terms(fit.field)
        and runs.data.plan.is_noisy
    )


def matched_for_intervals(model: Any, runs: Runs) -> Refinement:
    """The model's equations matched to the trajectories of its noisy runs, for what these say of
    its constants: derivatives know nothing of noise, and are biased by it."""
    known = model.knowledge()
    return refine(
        model.field_,
        runs.data,
        interpolation=runs.interpolation,
        bounds=parameter_bounds(model.recipe().library) | known.parameter_bounds,
        residual=False,
        knowledge=known,
    )


def shows_noise(matched: Refinement | None, span: Float[np.ndarray, "2 n"]) -> bool:
    """Whether what trajectories leave is noise, not what integrators and files round away."""
    if matched is None or matched.noise is None:
        return False
    noise = np.where(np.isfinite(matched.noise), matched.noise, 0.0)
    return bool((noise > CLEAN * (span[1] - span[0]) / 4).any())


def evidence_of_trajectories(model: Any, matched: Refinement | None) -> TermEvidence | None:
    """What matched trajectories alone say about the terms of a model that no selection chose.

    A term is weighed against its absence as the Bayesian information criterion does: with z its
    distance from zero in standard errors, exp(z^2 / 2) against sqrt(N).
    """
    if matched is None or matched.uncertainty is None:
        return None
    ends = matched.coefficient_intervals()
    assert ends is not None and matched.values is not None and matched.standard_errors is not None
    support = np.array(model.support_)
    probability = support.astype(float)
    count = len(matched.places)
    z = matched.values[:count] / np.maximum(matched.standard_errors[:count], 1e-300)
    for place, gain in zip(matched.places, z**2 - np.log(matched.rows_used), strict=True):
        probability[place] = 1 / (1 + np.exp(-np.clip(gain, -50, 50) / 2))
    return TermEvidence(support, probability, ends, (), from_trajectories=True)


def _trajectories(model: Any, X: Any, t: Any, u: Any) -> Dataset:
    """The data as runs in time, under the names that the model knows."""
    if t is None and given_dataset(X) is None:
        raise InputError(
            "refine() matches trajectories and needs times: give states X with t=..., or a Dataset."
        )
    data = as_dataset(X, None, t, u)
    assert data is not None
    if model.clock_:
        data = data.with_parts(time_name=model.clock_).with_clock()
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
