"""Fit runs in time: terms and constants from trajectories, and a residual only if it helps."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import final

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
from ..search.rows import Chosen
from ..simulation import Interpolation
from . import _limits as limits
from ._adapt import describe
from ._dependent import dependent_terms
from ._fit import Fit, Recipe, TrainingRuns
from ._parameters import parameter_grids
from ._route import finish, fit, knowledge_of, prepare


def fit_runs(recipe: Recipe, rows: AnyRows, runs: TrainingRuns) -> Fit:
    """Return the fit of a recipe to runs in time.

    For noisy or coarsely sampled data, noisy maps and constants inside terms, terms and constants
    are chosen such that trajectories follow the runs. A residual is fitted only if the misfit of
    the equations exceeds the noise, and dropped if it makes held-out forecasts worse. Constants of
    equations with a mass matrix are also matched to trajectories, because derivatives hide weak
    effects such as friction. If the misfit exceeds the noise and held inputs improve the
    trajectories, the fit is repeated with held inputs. For noisy data, terms of columns that are
    sums of other columns are not candidates.
    """
    if rows.windows is None:
        return _RunsFit(recipe, rows, runs).run()
    known = knowledge_of(recipe, rows.names, rows.outputs, rows.given, rows.time_index)
    dependent = dependent_terms(prepare(recipe, rows).features, known, runs.data)
    result = _RunsFit(replace(recipe, left_out=dependent.names), rows, runs).run()
    stated = (*dependent.relations, *result.certificate.dependences)
    return replace(result, certificate=replace(result.certificate, dependences=stated))


@final
@dataclass(frozen=True, eq=False)
class _RunsFit:
    """The steps of `fit_runs`."""

    recipe: Recipe
    rows: AnyRows
    runs: TrainingRuns

    @cached_property
    def known(self) -> Knowledge:
        rows = self.rows
        return knowledge_of(self.recipe, rows.names, rows.outputs, rows.given, rows.time_index)

    @cached_property
    def bounds(self) -> dict[str, tuple[float, float]]:
        return self.recipe.parameter_bounds(self.known)

    @property
    def _is_noisy_map(self) -> bool:
        return self.runs.data.discrete and self.runs.data.plan.is_noisy

    @property
    def _follows_runs(self) -> bool:
        """Return whether trajectories choose the terms."""
        data = self.runs.data
        if data.hidden or data.discrete:
            return bool(data.hidden) or self._is_noisy_map
        has_steps = Interpolation.hold in self.runs.interpolation.values()
        # errors of derivatives bias constants inside terms, and other terms would compensate for
        # this
        has_parameters = bool(prepare(self.recipe, self.rows).features.parameters)
        return has_parameters or self.rows.windows is not None or has_steps or is_coarse(data)

    def run(self) -> Fit:
        """Return the fit."""
        recipe, rows, runs = self.recipe, self.rows, self.runs
        if runs.data.discrete and self.known.systems:
            raise InputError(
                "Each equation of a map must give the next value of one state, such as "
                "{'x': 'r*x + ...'}, but some equations contain several derivatives."
            )
        choice: StructureChoice | None = None
        equations: Fit | None = None
        has_jumps = False
        if self._follows_runs and not self.known.systems:
            equations = fit(replace(recipe, augmentation=Zero()), rows)
            # linearized trajectories ignore jumps, so rows choose the terms
            has_jumps = bool(switching_terms(equations.field))
            choice = None if has_jumps else self._chosen_structure(equations)
        if equations is not None and choice is not None and choice.is_white_noise:
            result = equations
        else:
            first = fit(recipe, rows) if equations is None else equations
            held = self._held_inputs(first)
            if held:
                kinds = {**runs.interpolation, **dict.fromkeys(held, str(Interpolation.hold))}
                return fit_runs(recipe, rows, replace(runs, interpolation=kinds))
            result = self._with_useful_residual(first if equations is None else fit(recipe, rows))
        result = replace(result, interpolation=runs.interpolation)
        return self._refined(result, choice, has_jumps)

    def _chosen_structure(self, fit: Fit) -> StructureChoice | None:
        """Return the equations whose trajectories best follow the runs, or None.

        If the misfit of these equations also exceeds the noise, the terms of the fit are kept,
        because they extrapolate better than approximations of a missing term. If the misfit is
        large, the result is None, because matching would distort the constants of correct
        equations. Equations that are given completely are always matched.
        """
        equations, data = fit.field.without_residual(), self.runs.data
        candidates, fixed = candidate_terms(fit), self._fixed_terms(fit)
        is_fixed = fixed.any(axis=1, keepdims=True)
        choice = choose_structure(
            equations,
            data,
            np.where(is_fixed, fixed, candidates),
            interpolation=self.runs.interpolation,
            bounds=self.bounds,
            knowledge=replace(self.known, required=self.known.required | fixed),
            parameter_grids=parameter_grids(equations.features, self.rows, self.bounds),
        )
        if choice is None or choice.is_noise:
            return choice
        n_given = len({*self.known.complete, *data.given_rates})
        all_given = n_given == len(equations.features.mask)
        if not all_given and choice.misfit >= limits.MAX_MISFIT_MATCHED:
            return None
        return replace(choice, field=equations, inclusion=None)

    def _fixed_terms(self, fit: Fit) -> Mask:
        """Return a mask of the terms that the user selected with `Chosen`."""
        selection = self.recipe.selection
        fixed = np.zeros_like(fit.field.features.mask)
        if not isinstance(selection, Chosen):
            return fixed
        named = dict(selection.terms)
        for c, equation in enumerate(self.rows.outputs):
            if equation in named or selection.others is None:
                fixed[c] = np.asarray(fit.field.coefficients)[c] != 0
        return fixed

    def _held_inputs(self, fit: Fit) -> tuple[str, ...]:
        """Return the inputs that are held between rows, according to trajectories of the equations.

        Equations with jumps or a mass matrix are not compared.
        """
        equations = fit.field.without_residual()
        if self.known.systems or switching_terms(equations):
            return ()
        return held_inputs(
            equations,
            self.runs.data,
            self.runs.interpolation,
            bounds=self.bounds,
            knowledge=self.known,
        )

    def _with_useful_residual(self, fit: Fit) -> Fit:
        """Return the fit, without its residual if that makes held-out forecasts worse."""
        is_weak = self.rows.windows is not None
        is_noisy = self._is_noisy_map or (is_weak and self.runs.data.plan.is_noisy)
        has_residual = bool(np.any(np.asarray(fit.field.weights)))
        if has_residual and not residual_forecasts(self.recipe, fit.field, self.runs, is_noisy):
            return self._with_field(fit, fit.field.without_residual())
        return fit

    def _refined(self, fit: Fit, choice: StructureChoice | None, has_jumps: bool) -> Fit:
        """Return the fit with constants refined on whole runs.

        Constants are refined only if the fit has no residual, and if its terms were chosen by
        trajectories, have jumps, or belong to equations with a mass matrix.
        """
        start, data = fit.field, self.runs.data
        has_residual = bool(np.any(np.asarray(start.weights)))
        if not has_residual and choice is not None:
            start = choice.field
        elif has_residual or not has_jumps:
            if not self.known.systems or switching_terms(start):
                return fit
        noise = None if choice is None else choice.correlated_noise
        with step("Matching trajectories"):
            refinement = refine(
                start,
                data.subsample_rows(limits.SEARCH_ROWS) if has_jumps else data,
                interpolation=self.runs.interpolation,
                bounds=self.bounds,
                knowledge=self.known,
                noise=None if noise is None else np.sqrt(noise.variance),
                choice=choice,
            )
        inclusion = None if choice is None else choice.inclusion
        refined = self._with_field(fit, refinement.field)
        return replace(refined, refinement=refinement, inclusion=inclusion)

    def _with_field(self, fit: Fit, field: HybridField) -> Fit:
        """Return the fit with another field, and with the certificate of that field."""
        if field is fit.field:
            return fit
        certificate = certify(
            describe(field, self.rows, self.known), self.rows.outputs, field.features.names,
            normalized=self.recipe.solver.normalize,
        )  # fmt: skip
        return replace(fit, field=field, certificate=certificate)


def candidate_terms(fit: Fit) -> Mask:
    """Return a mask of the candidate terms of each equation.

    Terms that jump are not candidates, because linearized trajectories ignore jumps.
    """
    features = fit.field.features
    left_out = () if fit.selection is None else fit.selection.left_out
    names = [*left_out, *jumping_terms(features)]
    return features.mask & ~np.isin(features.names, names)


def residual_forecasts(
    recipe: Recipe, field: HybridField, runs: TrainingRuns, is_noisy: bool
) -> bool:
    """Return whether to keep the residual, judged by forecasts of held-out runs or of the end of a
    single run.

    The forecasts use a residual fitted to the remaining rows. They must be no worse with the
    residual than without it, or better if rows are noisy. With too few rows to decide, the residual
    is kept only for clean rows.
    """
    data = _sample(runs.data)
    held_out = held_out_rows(_as_rows(data), limits.HELD_OUT_SHARE)
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
    return is_better or min(with_residual, without) > limits.LOST_FORECAST


def _as_rows(data: Dataset) -> Rows:
    zeros = np.zeros((data.n_samples, data.n_states))
    return Rows(data.variables, zeros, data.run_of_row, np.zeros(data.n_states), times=data.times)


def _sample(data: Dataset) -> Dataset:
    """Return a sample of whole runs, or the end of a single run."""
    sample = data.sample.subsample(limits.PLAN_ROWS, 2)
    if sample.n_runs > 1:
        return sample
    return sample.only(np.arange(sample.n_samples) >= sample.n_samples - limits.PLAN_ROWS)
