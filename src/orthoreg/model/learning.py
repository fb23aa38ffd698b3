"""Fit models: `fit_together`, and `adapt` and `refine` for new data."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar, final

import numpy as np

from .._common.errors import InputError
from .._common.parallel import one_thread
from .._common.progress import step
from ..data import AnyRows, ChunkedDataset, Dataset, Delay
from ..diagnostics import Certificate, certify
from ..field.hybrid import HybridField
from ..findings.diagnoses import forecast_horizon
from ..fitting import (
    DELAY_MOVE,
    DELAY_ROUNDS,
    Columns,
    Fit,
    Recipe,
    TrainingRuns,
    adapt,
    away_from_zero,
    delays_in_use,
    describe,
    estimated,
    first_delays,
    first_hidden_delays,
    fit_all,
    fit_runs,
    matched_delays,
    needs_rows,
    simpler_delays,
    with_embedded_states,
    with_estimated_states,
    with_hidden_states,
    with_row_uncertainty,
)
from ..matching import Refinement, refine
from ..physics import requested_delays, unit_algebra
from ..simulation import with_delays
from .model import AbstractModel
from .validation import (
    as_dataset,
    given_dataset,
    given_runs,
    in_states_of,
    known_dataset,
    known_variables,
    run_rows,
    training_rows,
    warn_of_few_rows,
    with_step_of,
    with_time_input,
)

Model = TypeVar("Model", bound=AbstractModel)


def fit_together(
    models: Sequence[Model], X: Any, y: Any = None, *, t: Any = None, u: Any = None
) -> list[Model]:
    """Fit several models to the same data.

    A gradient solver trains the models in one batch if they differ only in their seeds and in the
    weights of the objective.

    Parameters
    ----------
    models
        models with the same loss and the same solver.
    X, y, t, u
        the data, as for `fit`.

    Returns
    -------
    models
        the same models, fitted.

    Examples
    --------
    >>> import numpy as np, orthoreg as og
    >>> t = np.linspace(0, 6, 121)
    >>> models = [og.OrthoReg("x0", og.Zero(), sparsity=mu, solver=og.Exact()) for mu in (0, 9)]
    >>> [m.equations() for m in og.fit_together(models, np.exp(-t)[:, None], t=t)]
    [["x0' = -1.000 x0"], ["x0' = 0"]]
    """
    if not models:
        raise InputError("fit_together needs at least one model; the list is empty.")
    for model in models:
        if not isinstance(model, AbstractModel):
            raise InputError(f"fit_together takes models such as OrthoReg(); got {model!r}.")
    recipes = [model.recipe() for model in models]
    data = given_runs(X, y, t, u)
    for recipe in recipes:
        data = None if data is None else with_time_input(data, recipe.physics, recipe.library)
    if isinstance(data, ChunkedDataset) and any(needs_rows(recipe) for recipe in recipes):
        data = data.sample  # as many rows as fit into memory train networks
    whole, delays = data, _delays_of(recipes, data)
    if delays:
        assert isinstance(whole, Dataset)
        whole = with_embedded_states(recipes[0], whole)
        first = first_hidden_delays if _has_unknowns(recipes[0], whole) else first_delays
        data = first(recipes[0], whole, delays)
    if data is None:
        rows, columns = training_rows(models[0], recipes[0].loss, X, y, t, u)
        result = _Fitted(_fits(recipes, rows, None), rows, columns, None)
    else:
        recipes = [_in_units(recipe, data) for recipe in recipes]
        result = _fitted(recipes, data)
    if delays:
        assert isinstance(whole, Dataset)
        result = _with_matched_delays(recipes, whole, result)
    fits, rows, columns, runs = result
    if data is not None:
        fits = [_with_horizon(fit, data.sample) for fit in fits]
    n_terms = max(int(fit.field.features.mask.sum(axis=1).max(initial=0)) for fit in fits)
    count = len(rows) if data is None else data.sample.n_samples
    warn_of_few_rows(count, len(columns.schema.state_names), n_terms)
    runs = None if any(recipe.follows_trajectories for recipe in recipes) else runs
    # models change only after all fits, so that a failure leaves every model unchanged
    return [model._learn(fit, columns, runs) for model, fit in zip(models, fits, strict=True)]


def _in_units(recipe: Recipe, data: Dataset | ChunkedDataset) -> Recipe:
    """Return the recipe with the units of the columns.

    Raise InputError if its formulas combine unlike quantities.
    """
    algebra = unit_algebra(recipe.physics, recipe.library, data.schema)
    return replace(recipe, units=data.units, algebra=algebra)


@final
class _Fitted(NamedTuple):
    """Fits with their rows and columns, and with their runs unless derivatives were given."""

    fits: list[Fit]
    rows: AnyRows
    columns: Columns
    runs: TrainingRuns | None


def _has_unknowns(recipe: Recipe, data: Dataset) -> bool:
    """Return whether the fit estimates hidden states or constants per run."""
    is_per_run = recipe.physics is not None and bool(recipe.physics.per_run)
    return data.has_unknown_states or is_per_run


def _fitted(recipes: Sequence[Recipe], data: Dataset | ChunkedDataset) -> _Fitted:
    """Return the fits of several recipes to runs."""
    if isinstance(data, Dataset):
        if _has_unknowns(recipes[0], data) and len(recipes) > 1:
            raise InputError(
                "Models with hidden states or constants per run must be fitted one by one, since "
                "each estimates them from its own equations."
            )
        data = with_hidden_states(recipes[0], with_embedded_states(recipes[0], data))
    with one_thread(data.n_samples):
        rows, columns = run_rows(data, recipes[0].loss)
    data = data.sample if isinstance(data, ChunkedDataset) else data
    runs: TrainingRuns | None = None
    if data.derivatives is None:
        assert columns.loss is not None
        runs = TrainingRuns(data, columns.loss, columns.interpolation)
    return _Fitted(_fits(recipes, rows, runs), rows, columns, runs)


def _fits(recipes: Sequence[Recipe], rows: AnyRows, runs: TrainingRuns | None) -> list[Fit]:
    with step("Choosing terms"), one_thread(len(rows)):
        if runs is not None and all(recipe.follows_trajectories for recipe in recipes):
            fits = [fit_runs(recipe, rows, runs) for recipe in recipes]
        else:
            fits = fit_all(recipes, rows)
        return [
            with_row_uncertainty(recipe, fit, rows)
            for recipe, fit in zip(recipes, fits, strict=True)
        ]


def _with_horizon(fit: Fit, data: Dataset) -> Fit:
    """Return the fit with the time for which forecasts are reliable.

    The fit is unchanged if some of its variables were not measured.
    """
    is_measured = fit.field.features.variables == data.variable_names
    if not is_measured or data.has_unknown_states:
        return fit
    return replace(fit, horizon=forecast_horizon(fit.field.values, data))


def _delays_of(
    recipes: Sequence[Recipe], data: Dataset | ChunkedDataset | None
) -> tuple[Delay, ...]:
    """Return the delayed variables that the recipes contain."""
    if data is None:
        return ()
    delays = [requested_delays(recipe.library, recipe.physics, data.sample) for recipe in recipes]
    if not any(delays):
        return ()
    if isinstance(data, ChunkedDataset):
        raise InputError(
            f"Delayed variables such as '{delays[0][0].name}' need whole runs in memory; the data "
            f"are read in chunks. Read them with chunks=False, or fewer runs."
        )
    if any(other != delays[0] for other in delays[1:]):
        raise InputError("Models that are fitted together need the same delayed variables.")
    return delays[0]


def _with_states_of(whole: Dataset, fitted: Dataset) -> Dataset:
    """Return the runs without delayed columns, with the hidden states and constants per run that a
    fit estimated."""
    if whole.state_names == fitted.state_names and not whole.has_unknown_states:
        return whole
    return with_estimated_states(whole, fitted)


def _with_matched_delays(recipes: Sequence[Recipe], whole: Dataset, result: _Fitted) -> _Fitted:
    """Return the fits with delays matched to trajectories of the first fit.

    Models are fitted again if the delays change or if other delays need fewer terms.
    """
    estimate = None
    for remaining in range(DELAY_ROUNDS, -1, -1):
        fit, delays = result.fits[0], result.columns.schema.delays
        kinds = fit.interpolation or result.columns.interpolation
        runs = whole if result.runs is None else _with_states_of(whole, result.runs.data)
        with one_thread():
            estimate = matched_delays(recipes[0], fit.field, runs, delays, kinds)
        if estimate is None or not remaining:
            break
        now = {delay.delay: delay.value for delay in delays}
        moves = np.abs(estimate.values - [now[name] for name in estimate.names])
        new: tuple[Delay, ...] | None = estimated(delays, estimate)
        if (moves <= DELAY_MOVE * np.sqrt(np.diag(estimate.covariance))).all():
            with one_thread():
                new = simpler_delays(recipes[0], fit.field, runs, delays)
        if new is None:
            break
        result = _fitted(recipes, with_delays(whole, new))
    if estimate is not None:
        fit, delays = result.fits[0], result.columns.schema.delays
        distinct = away_from_zero(fit.field, whole, delays, estimate)
        if distinct is not None:
            undelayed = _fitted(recipes, with_delays(whole, distinct))
            if not delays_in_use(undelayed.fits[0].field, distinct):
                return undelayed
    fits = [replace(fit, delays=estimate) for fit in result.fits]
    return result._replace(fits=fits)


def adapted(
    model: AbstractModel, X: Any, y: Any, t: Any, u: Any
) -> tuple[HybridField, Certificate]:
    """Return the model's field with coefficients adapted to new data, and its certificate."""
    recipe = model.recipe()
    data = known_dataset(model, X, y, t, u)
    if data is not None:
        X, y, u = data, None, None
    rows, columns = training_rows(model, recipe.loss, X, y, None, u)
    if t is None:
        known_variables(model, X, u)  # raises an error if names differ
    _check_counts(
        states=(model.state_names_, columns.schema.state_names),
        inputs=(model.input_names_, columns.schema.input_names),
        targets=(model.output_names_, columns.outputs),
    )
    targets = recipe.loss.targets(rows, model.field_.values)
    known = model.knowledge()
    result = adapt(model.field_, replace(rows, targets=targets), known)
    # rounding by the scaling would change known coefficients
    coefficients = known.rounded(np.array(result.coefficients))
    names = model.field_.features.names
    certificate = certify(result, model.output_names_, names, normalized=recipe.solver.normalize)
    return replace(model.field_, coefficients=coefficients), certificate


def refinement_of(model: AbstractModel, X: Any, t: Any, u: Any) -> tuple[Refinement, Certificate]:
    """Return the refinement of a model on trajectories, and the refined field's certificate on
    these data.
    """
    data = model_trajectories(model, X, t, u, "refine()").sorted_runs
    recipe, known = model.recipe(), model.knowledge()
    refinement = refine(
        model.field_,
        data,
        interpolation=model.input_interpolation_,
        bounds=recipe.parameter_bounds(known),
        knowledge=known,
    )
    if not refinement.kept:
        return refinement, model.certificate_
    rows = recipe.loss.observe(data)
    targets = recipe.loss.targets(rows, refinement.field.values)
    result = describe(refinement.field, replace(rows, targets=targets), known)
    names = refinement.field.features.names
    certificate = certify(result, model.output_names_, names, normalized=recipe.solver.normalize)
    return refinement, certificate


def model_trajectories(model: AbstractModel, X: Any, t: Any, u: Any, who: str) -> Dataset:
    """Return the data as runs in time with the names of the model's variables."""
    if t is None and given_dataset(X) is None:
        raise InputError(
            f"{who} matches trajectories and needs times. Give states X with t=..., or a Dataset."
        )
    data = as_dataset(X, None, t, u)
    assert data is not None
    data = with_step_of(model, data)
    if model.clock_:
        data = data.with_parts(time_name=model.clock_).with_time_input()
    if t is None:
        known_variables(model, data, None)  # refuses other names
        return in_states_of(model, data) if model.schema_.delays else data
    if model.schema_.delays:
        names = (*model.schema_.measured_inputs, *([model.clock_] if model.clock_ else []))
        _check_counts(
            states=(model.state_names_, data.state_names), inputs=(names, data.input_names)
        )
        named = data.with_parts(state_names=model.state_names_, input_names=names)
        return in_states_of(model, named)
    _check_counts(
        states=(model.state_names_, data.state_names),
        inputs=(model.input_names_, data.input_names),
    )
    return data.with_parts(state_names=model.state_names_, input_names=model.input_names_)


def _check_counts(**names: tuple[Sequence[str], Sequence[str]]) -> None:
    """Raise an error if the data and the model have different numbers of variables."""
    for what, (known, given) in names.items():
        if len(known) != len(given):
            raise InputError(f"The model has {len(known)} {what}; the data have {len(given)}.")
