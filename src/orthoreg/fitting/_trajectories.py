"""Fit of runs in time: terms and constants from trajectories, and a residual only if it helps."""

from dataclasses import replace

import numpy as np

from .._common.arrays import Mask
from .._common.errors import InputError
from .._common.progress import step
from ..data import AnyRows, Dataset, Rows, held_out_rows
from ..diagnostics import certify
from ..field import Zero
from ..field.hybrid import HybridField, jumping_terms, switching_terms
from ..losses import is_coarse
from ..matching import StructureChoice, forecast_error, refine
from ..physics import Knowledge
from ..search import choose_structure, held_inputs
from ..simulation import Interpolation
from ..terms import parameter_bounds
from . import _limits as limits
from ._adapt import describe
from ._fit import Fit, Recipe, TrainingRuns
from ._parameters import parameter_grids
from ._route import finish, fit, knowledge_of, prepare


def fit_runs(recipe: Recipe, rows: AnyRows, runs: TrainingRuns) -> Fit:
    """Return the fit of a recipe to runs in time.

    For noisy or coarsely sampled data, noisy maps and constants inside terms, the terms and
    constants are chosen so that trajectories follow the runs, and a residual is fitted only if the
    equations alone leave more than noise. The residual is dropped if it makes held-out forecasts worse. Constants of equations
    with a mass matrix are also matched to trajectories, because derivatives hide weak effects such
    as friction. If the equations leave more than noise and held inputs improve the trajectories,
    the fit is repeated with held inputs.
    """
    is_weak = rows.windows is not None
    known = knowledge_of(recipe, rows.names, rows.outputs, rows.given, rows.time_index)
    has_steps = Interpolation.hold in runs.interpolation.values()
    choice: StructureChoice | None = None
    result: Fit | None = None
    equations: Fit | None = None
    has_jumps = False
    is_map = runs.data.discrete
    if is_map and known.systems:
        raise InputError(
            "The equations of a map must give the next value of one state each, such as "
            "{'x': 'r*x + ...'}; some have several derivatives."
        )
    is_noisy_map = is_map and runs.data.plan.is_noisy
    follows_runs = is_noisy_map or (not is_map and (is_weak or has_steps or is_coarse(runs.data)))
    # errors of derivatives bias constants inside terms, and other terms would compensate for it
    has_parameters = not is_map and bool(prepare(recipe, rows).features.parameters)
    follows_runs = follows_runs or has_parameters or bool(runs.data.hidden)
    if follows_runs and not known.systems:
        equations = fit(replace(recipe, augmentation=Zero()), rows)
        # linearized trajectories ignore jumps, so rows choose the terms
        has_jumps = bool(switching_terms(equations.field))
        if not has_jumps:
            choice = _chosen_structure(recipe, equations, rows, runs, known)
        if choice is not None and choice.is_white_noise:
            result = equations
    if result is None:
        first = fit(recipe, rows) if equations is None else equations
        held = _held_inputs(recipe, first, runs, known)
        if held:
            kinds = {**runs.interpolation, **dict.fromkeys(held, str(Interpolation.hold))}
            return fit_runs(recipe, rows, replace(runs, interpolation=kinds))
        result = first if equations is None else fit(recipe, rows)
        is_noisy = is_noisy_map or (is_weak and runs.data.plan.is_noisy)
        has_residual = bool(np.any(np.asarray(result.field.weights)))
        if has_residual and not residual_forecasts(recipe, result.field, runs, is_noisy):
            result = _with_field(recipe, result, result.field.without_residual(), rows)
    result = replace(result, interpolation=runs.interpolation)
    return _refined(recipe, result, rows, runs, known, choice, has_jumps)


def _refined(
    recipe: Recipe,
    fit: Fit,
    rows: AnyRows,
    runs: TrainingRuns,
    known: Knowledge,
    choice: StructureChoice | None,
    has_jumps: bool,
) -> Fit:
    """Return the fit with constants refined on whole runs. Constants are refined only if the fit
    has no residual, and if its terms were chosen by trajectories, have jumps, or belong to
    equations with a mass matrix."""
    start = fit.field
    has_residual = bool(np.any(np.asarray(start.weights)))
    if not has_residual and choice is not None:
        start = choice.field
    elif has_residual or not has_jumps:
        if not known.systems or switching_terms(start):
            return fit
    noise = None if choice is None else choice.correlated_noise
    with step("Matching trajectories"):
        refinement = refine(
            start,
            runs.data.subsample_rows(limits.MAX_ROWS_JUMPS) if has_jumps else runs.data,
            interpolation=runs.interpolation,
            bounds=parameter_bounds(recipe.library) | known.parameter_bounds,
            knowledge=known,
            noise=None if noise is None else np.sqrt(noise.variance),
            choice=choice,
        )
    refined = _with_field(recipe, fit, refinement.field, rows)
    inclusion = None if choice is None else choice.inclusion
    return replace(refined, refinement=refinement, inclusion=inclusion)


def _with_field(recipe: Recipe, fit: Fit, field: HybridField, rows: AnyRows) -> Fit:
    """Return the fit with another field and the certificate of that field."""
    if field is fit.field:
        return fit
    known = knowledge_of(recipe, rows.names, rows.outputs, rows.given, rows.time_index)
    certificate = certify(
        describe(field, rows, known), rows.outputs, field.features.names,
        normalized=recipe.solver.normalize,
    )  # fmt: skip
    return replace(fit, field=field, certificate=certificate)


def _chosen_structure(
    recipe: Recipe, fit: Fit, rows: AnyRows, runs: TrainingRuns, known: Knowledge
) -> StructureChoice | None:
    """Return the equations whose trajectories follow the runs best.

    If these equations also leave more than noise, the terms of the fit are kept, because they
    extrapolate better than approximations of a missing term. If the misfit is large, the result is
    None, because matching would distort the constants of correct equations. Equations that are
    given completely are always matched.
    """
    equations = fit.field.without_residual()
    bounds = parameter_bounds(recipe.library) | known.parameter_bounds
    choice = choose_structure(
        equations,
        runs.data,
        candidate_terms(fit),
        interpolation=runs.interpolation,
        bounds=bounds,
        knowledge=known,
        parameter_grids=parameter_grids(equations.features, rows, bounds),
    )
    if choice is None or choice.is_noise:
        return choice
    n_given = len({*known.complete, *runs.data.given_rates})
    all_given = n_given == len(equations.features.mask)
    if not all_given and choice.misfit >= limits.MAX_MISFIT_MATCHED:
        return None
    return replace(choice, field=equations, inclusion=None)


def _held_inputs(recipe: Recipe, fit: Fit, runs: TrainingRuns, known: Knowledge) -> tuple[str, ...]:
    """Return the inputs that are held between rows according to trajectories of the equations.
    Equations with jumps or a mass matrix are not compared."""
    equations = fit.field.without_residual()
    if known.systems or switching_terms(equations):
        return ()
    return held_inputs(
        equations,
        runs.data,
        runs.interpolation,
        bounds=parameter_bounds(recipe.library) | known.parameter_bounds,
        knowledge=known,
    )


def candidate_terms(fit: Fit) -> Mask:
    """Return the candidate terms of each equation. Terms that jump are not candidates, because
    linearized trajectories ignore jumps."""
    features = fit.field.features
    left_out = () if fit.selection is None else fit.selection.left_out
    names = [*left_out, *jumping_terms(features)]
    return features.mask & ~np.isin(features.names, names)


def residual_forecasts(
    recipe: Recipe, field: HybridField, runs: TrainingRuns, is_noisy: bool
) -> bool:
    """Return whether to keep the residual, judged by forecasts of held-out runs or of the end of a
    single run.

    With a residual fitted to the remaining rows, forecasts must be no worse, or better if rows are
    noisy. With too few rows to decide, the residual is kept only for clean rows.
    """
    data = _sample(runs.data)
    held_out = held_out_rows(_as_rows(data), limits.RESIDUAL_HELD_OUT_SHARE)
    if min(held_out.sum(), (~held_out).sum()) < limits.MIN_ROWS_RESIDUAL_TEST:
        return not is_noisy
    test = data.only(held_out)
    task = prepare(recipe, runs.loss.observe(data.only(~held_out)))
    support = np.asarray(field.coefficients) != 0
    strengths = replace(task.regularization, sparsity=0.0)
    features = field.features if field.features.parameters else task.features
    task = replace(task, features=features, support=support, regularization=strengths)
    hybrid = finish(recipe, task, recipe.solver.solve_all([task])[0], None).field
    without = forecast_error(hybrid.without_residual(), test, runs.interpolation)
    with_residual = forecast_error(hybrid, test, runs.interpolation)
    ratio = limits.RESIDUAL_ERROR_RATIO_NOISY if is_noisy else limits.RESIDUAL_ERROR_RATIO
    is_better = with_residual <= ratio * without
    return is_better or min(with_residual, without) > limits.LOST_FORECAST_ERROR


def _as_rows(data: Dataset) -> Rows:
    zeros = np.zeros((data.n_samples, data.n_states))
    return Rows(data.variables, zeros, data.run_of_row, np.zeros(data.n_states), times=data.times)


def _sample(data: Dataset) -> Dataset:
    """Return a subset of whole runs, or the end of a single run."""
    sample = data.sample.subsample(limits.MAX_ROWS_RESIDUAL_TEST, 2)
    if sample.n_runs > 1:
        return sample
    return sample.only(
        np.arange(sample.n_samples) >= sample.n_samples - limits.MAX_ROWS_RESIDUAL_TEST
    )
