"""What runs in time say about a fit of their derivatives: does its residual forecast, and which
constants follow the trajectories best."""

from dataclasses import replace

import numpy as np

from .._common.progress import step
from .._common.typing import Mask
from ..augmentations import Zero
from ..data import AnyRows, Dataset, Rows, held_out_rows
from ..diagnostics import certify
from ..field.hybrid import HybridField, jumping_terms, switching_terms
from ..libraries import parameter_bounds
from ..losses import is_coarse
from ..physics import Knowledge
from ..refinement import (
    Match,
    choose_structure,
    forecast_error,
    held_inputs,
    refine,
)
from ..simulation import Interpolation
from . import _limits as limits
from ._adapt import describe
from ._fit import Fit, Runs
from ._recipe import Recipe
from ._route import finish, fit, knowledge_of, prepare


def fit_runs(recipe: Recipe, rows: AnyRows, runs: Runs) -> Fit:
    """The model of a recipe for runs in time.

    Of noisy or sparse data the terms and constants are those whose trajectories follow the runs; a
    residual is fitted only if the equations alone leave more than noise. It is dropped where it
    makes held-out forecasts worse. Constants of equations with a mass matrix are matched as well:
    weak effects such as friction drown in derivatives. Where the equations leave more than noise
    and follow the runs better with held inputs, the fit is repeated with these.
    """
    weak = rows.windows is not None
    known = knowledge_of(recipe, rows.names, rows.outputs, rows.given, rows.time_index)
    matched: Match | None = None
    result: Fit | None = None
    jumps = ()
    bare: Fit | None = None
    stepped = Interpolation.hold in runs.interpolation.values()
    if (weak or stepped or is_coarse(runs.data)) and not known.systems:
        bare = fit(replace(recipe, augmentation=Zero()), rows)
        # the search compares linearized trajectories, which see no jumps: rows choose the terms
        jumps = switching_terms(bare.field)
        if not jumps:
            matched = _followed(recipe, bare, runs, known)
        if matched is not None and matched.leaves_white_noise:
            result = bare
    if result is None:
        tried = fit(recipe, rows) if bare is None else bare
        held = _held(recipe, tried, runs, known)
        if held:
            kinds = {**runs.interpolation, **dict.fromkeys(held, str(Interpolation.hold))}
            return fit_runs(recipe, rows, replace(runs, interpolation=kinds))
        result = tried if bare is None else fit(recipe, rows)
        noisy = weak and runs.data.plan.is_noisy
        if np.any(np.asarray(result.field.weights)) and not residual_forecasts(
            recipe, result.field, runs, noisy
        ):
            result = _with_field(recipe, result, result.field.without_residual(), rows)
    result = replace(result, interpolation=runs.interpolation)
    return _refined(recipe, result, rows, runs, known, matched, bool(jumps))


def _refined(
    recipe: Recipe,
    fit: Fit,
    rows: AnyRows,
    runs: Runs,
    known: Knowledge,
    matched: Match | None,
    jumps: bool,
) -> Fit:
    """The fit with constants that follow whole runs, where it has no residual and its trajectories
    were matched, must be, or could not be compared because its terms jump."""
    start = fit.field
    alone = not np.any(np.asarray(start.weights))
    if alone and matched is not None:
        start = matched.field
    elif not (alone and jumps) and (not known.systems or switching_terms(start)):
        return fit
    coloured = None if matched is None else matched.coloured
    with step("Matching trajectories"):
        found = refine(
            start,
            runs.data.subsample_rows(limits.MAX_ROWS_JUMPS) if jumps else runs.data,
            interpolation=runs.interpolation,
            bounds=parameter_bounds(recipe.library) | known.parameter_bounds,
            knowledge=known,
            noise=None if coloured is None else np.sqrt(coloured.variance),
            matched=matched,
        )
    refined = _with_field(recipe, fit, found.field, rows)
    return replace(
        refined, refinement=found, inclusion=None if matched is None else matched.inclusion
    )


def _with_field(recipe: Recipe, fit: Fit, field: HybridField, rows: AnyRows) -> Fit:
    """The fit with another field, and the certificate of that."""
    if field is fit.field:
        return fit
    known = knowledge_of(recipe, rows.names, rows.outputs, rows.given, rows.time_index)
    certificate = certify(
        describe(field, rows, known), rows.outputs, field.features.names,
        normalized=recipe.solver.normalize,
    )  # fmt: skip
    return replace(fit, field=field, certificate=certificate)


def _followed(recipe: Recipe, fit: Fit, runs: Runs, known: Knowledge) -> Match | None:
    """The equations whose trajectories follow the runs best. Where even these leave more than
    noise, those of the fit, which extrapolate better than what imitates a missing term; None where
    much is missing: matching would distort the constants of equations that are right. Equations
    that the user gave completely are matched whatever they leave."""
    alone = fit.field.without_residual()
    found = choose_structure(
        alone,
        runs.data,
        candidate_terms(fit),
        interpolation=runs.interpolation,
        bounds=parameter_bounds(recipe.library) | known.parameter_bounds,
        knowledge=known,
    )
    if found is None or found.leaves_noise:
        return found
    all_given = len({*known.complete, *runs.data.given_rates}) == len(alone.features.mask)
    matched = all_given or found.misfit < limits.MAX_MISFIT_MATCHED
    return replace(found, field=alone, inclusion=None) if matched else None


def _held(recipe: Recipe, fit: Fit, runs: Runs, known: Knowledge) -> tuple[str, ...]:
    """The inputs with which the equations of the fit follow the runs better if they are held;
    equations whose terms jump, and those with several derivatives, are not compared."""
    alone = fit.field.without_residual()
    if known.systems or switching_terms(alone):
        return ()
    return held_inputs(
        alone,
        runs.data,
        runs.interpolation,
        bounds=parameter_bounds(recipe.library) | known.parameter_bounds,
        knowledge=known,
    )


def candidate_terms(fit: Fit) -> Mask:
    """The terms that each equation may have. Of those that jump, which trajectories are not matched
    with, the fit of rows has decided."""
    features = fit.field.features
    left_out = () if fit.selection is None else fit.selection.left_out
    names = [*left_out, *jumping_terms(features)]
    return features.mask & ~np.isin(features.names, names)


def residual_forecasts(recipe: Recipe, field: HybridField, runs: Runs, noisy: bool) -> bool:
    """Whether forecasts of held-out runs, or of the end of a single one, are no worse with the
    residual that the other rows give, and better where rows are noisy. Where the rows are too few
    to tell, a residual of clean ones stays."""
    data = _some(runs.data)
    held = held_out_rows(_plain_rows(data), limits.RESIDUAL_HELD_OUT_SHARE)
    if min(held.sum(), (~held).sum()) < limits.MIN_ROWS_RESIDUAL_TEST:
        return not noisy
    rest, unseen = data.only(~held), data.only(held)
    observed = runs.loss.observe(rest)
    task = prepare(recipe, observed)
    support = np.asarray(field.coefficients) != 0
    strengths = replace(task.regularization, sparsity=0.0)
    features = field.features if field.features.parameters else task.features
    task = replace(task, features=features, support=support, regularization=strengths)
    solution = recipe.solver.solve_all([task])[0]
    tried = finish(recipe, task, solution, None).field
    alone = forecast_error(tried.without_residual(), unseen, runs.interpolation)
    both = forecast_error(tried, unseen, runs.interpolation)
    most = limits.RESIDUAL_ERROR_RATIO_NOISY if noisy else limits.RESIDUAL_ERROR_RATIO
    return both <= most * alone or min(both, alone) > limits.LOST_FORECAST_ERROR


def _plain_rows(data: Dataset) -> Rows:
    none = np.zeros((data.n_samples, data.n_states))
    return Rows(data.variables, none, data.run_of_row, np.zeros(data.n_states), times=data.times)


def _some(data: Dataset) -> Dataset:
    """So many rows as are needed: whole runs, or the end of a single one."""
    some = data.sample.subsample(limits.MAX_ROWS_RESIDUAL_TEST, 2)
    if some.n_runs > 1:
        return some
    return some.only(np.arange(some.n_samples) >= some.n_samples - limits.MAX_ROWS_RESIDUAL_TEST)
