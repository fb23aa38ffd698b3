"""`updated_fit`: a fit with new data added, and a test of whether the constants drift."""

from dataclasses import replace
from typing import Any

import numpy as np

from .._common.errors import InputError
from ..data import Rows
from ..diagnostics import certify
from ..fitting import (
    DRIFT_NAMED,
    Change,
    Drift,
    Fit,
    Updated,
    describe,
    drift_level,
    updated_from_rows,
    updated_from_trajectories,
)
from ..losses import AbstractLoss
from ..matching import Uncertainty
from ..terms import parameter_bounds
from .learning import model_trajectories
from .model import AbstractModel
from .validation import in_states_of, known_dataset, training_rows


def updated_fit(model: AbstractModel, X: Any, y: Any, t: Any, u: Any, forgetting: Any) -> Fit:
    """Return the fit of a model with new data added."""
    if isinstance(forgetting, bool) or not 0 < forgetting <= 1:
        raise InputError(
            f"forgetting must be a number above 0 and at most 1, the weight of old rows per new "
            f"row; got {forgetting!r}."
        )
    if model.schema_.per_run:
        raise InputError(
            "update() needs constants that all runs share, but the model has constants per run. "
            "Fit a new model to all runs."
        )
    fit, recipe, known = model.fit_, model.recipe(), model.knowledge()
    loss, matched = model.loss_ or recipe.loss, fit.matched
    if matched is not None and matched.kept and matched.uncertainty is not None:
        if y is not None:
            raise InputError(
                "update() of constants that were matched to trajectories needs runs in time: give "
                "t=... or a Dataset instead of derivatives y."
            )
        data = model_trajectories(model, X, t, u, "update()")
        if model.schema_.hidden:
            data = in_states_of(model, data)
        result = updated_from_trajectories(
            fit.field, matched.uncertainty, data, model.input_interpolation_,
            parameter_bounds(recipe.library) | known.parameter_bounds, known, float(forgetting),
        )  # fmt: skip
        rows, count = loss.observe(data), data.n_samples
        matched = replace(
            matched, field=result.field, uncertainty=result.uncertainty,
            status=f"updated with {count:,} rows",
        )  # fmt: skip
    else:
        matched, rows = None, _new_rows(model, loss, X, y, t, u)
        count = len(rows)
        assert fit.record is not None
        result = updated_from_rows(
            fit.field, fit.record, fit.estimates, rows, known, float(forgetting)
        )
    targets = loss.targets(rows, result.field.values)
    description = describe(result.field, replace(rows, targets=targets), known)
    names = result.field.features.names
    certificate = certify(
        description, model.output_names_, names, normalized=recipe.solver.normalize
    )
    points = rows.point_extent.range[:, : fit.range.shape[1]]  # files store those of states
    updates = fit.updates + 1
    return replace(
        fit.with_field(result.field, certificate),
        refinement=matched,
        uncertainty=None if matched is not None else result.uncertainty,
        interpolation=fit.interpolation,
        range=np.stack([np.minimum(fit.range[0], points[0]), np.maximum(fit.range[1], points[1])]),
        record=result.record,
        updates=updates,
        drift=_drift(model, result, updates, count),
    )


def _new_rows(model: AbstractModel, loss: AbstractLoss, X: Any, y: Any, t: Any, u: Any) -> Rows:
    """Return the rows of new data, or raise an error if the sums over the old rows are missing."""
    if model.fit_.record is None:
        raise InputError(
            "update() needs sums over the old rows, which this model lacks: its file is of an "
            "earlier version, or adapt() changed it. Fit it again, or use adapt()."
        )
    data = known_dataset(model, X, y, t, u)
    arguments = (X, y, None, u) if data is None else (data, None, None, None)
    rows, _ = training_rows(model, loss, *arguments)
    return replace(rows, targets=loss.targets(rows, model.field_.values))


def _drift(model: AbstractModel, result: Updated, update: int, rows: int) -> Drift:
    """Return the test of drift, with public names for the constants that changed."""
    level = drift_level(update)
    detected = bool(result.p_value < level)
    if not detected:
        return Drift(False, result.p_value, level, rows)
    changes = [change for change in _changes(model, result) if abs(change.z) > DRIFT_NAMED]
    changes.sort(key=lambda change: -abs(change.z))
    return Drift(True, result.p_value, level, rows, tuple(changes))


def _changes(model: AbstractModel, result: Updated) -> list[Change]:
    """Return the changes of all constants."""
    estimates = model.fit_.estimates
    if estimates is None or len(estimates.values) != len(result.change):
        places = [
            (c, int(k)) for c, row in enumerate(model.coefficients_) for k in np.flatnonzero(row)
        ]
        if len(places) != len(result.change):
            return []
        values = np.array([model.coefficients_[place] for place in places])
        free = np.tile([-np.inf, np.inf], (len(places), 1))
        estimates = Uncertainty(
            tuple(places), (), values, result.covariance, np.inf, free, np.ones((len(places), 2))
        )
    functions = dict(model._constant_functions(estimates))
    units = model._printed_units(estimates)
    changes = []
    for name, gradient in model._gradients(estimates):
        std = float(np.sqrt(max(gradient @ result.covariance @ gradient, 0.0)))
        before = estimates.values @ gradient
        after = before + gradient @ result.change
        if name in functions:
            before = functions[name](estimates.values)
            after = functions[name](estimates.values + result.change)
        if std > 0:
            factor, unit = units.get(name, (1.0, ""))
            z = float(gradient @ result.change / std)
            changes.append(Change(name, factor * float(before), factor * float(after), z, unit))
    return changes
