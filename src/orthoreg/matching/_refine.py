"""`refine`: estimate constants, starts and the weights of the residual from trajectories."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from jaxtyping import Float

from .._common.progress import progress
from ..data import Dataset
from ..field.hybrid import HybridField
from ..physics import Knowledge
from . import _limits as limits
from ._constants import Constants
from ._forecasts import Comparison, HeldOutForecasts
from ._identifiability import undetermined_directions
from ._intervals import Uncertainty, estimate_covariance, profile_factors
from ._matching import Stage
from ._noise import white_noise_variance
from ._problem import Problem
from ._residual import open_gate, reprojected
from ._score import StructureChoice
from ._stages import match_stages


@final
@dataclass(frozen=True, eq=False)
class Refinement:
    """Constants matched to trajectories, with their uncertainty.

    `uncertainty` contains the estimates with their joint covariance. Its degrees of freedom are the
    number of values minus the number of estimates or, if the covariance comes from the scores of
    groups (`is_sandwich`), the number of groups (runs or stretches) minus one. `noise` is the
    residual standard deviation of each state, infinite if it was not measured. `error_before` and
    `error_after` are root mean squared errors of forecasts of held-out data, in standard deviations
    of the states. `status` describes the result in words. If `kept` is false, the field is the
    given one and there is no uncertainty.
    """

    field: HybridField
    kept: bool
    status: str
    uncertainty: Uncertainty | None = None
    is_sandwich: bool = False
    noise: Float[np.ndarray, " n"] | None = None
    error_before: float = np.nan
    error_after: float = np.nan
    segment_rows: int = 0
    rows_used: int = 0

    @property
    def places(self) -> tuple[tuple[int, int], ...]:
        """The equation and term of each estimated coefficient."""
        return () if self.uncertainty is None else self.uncertainty.places

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the estimated inner parameters, which follow the coefficients."""
        return () if self.uncertainty is None else self.uncertainty.parameters

    @property
    def values(self) -> Float[np.ndarray, " k"] | None:
        return None if self.uncertainty is None else self.uncertainty.values

    @property
    def covariance(self) -> Float[np.ndarray, "k k"] | None:
        return None if self.uncertainty is None else self.uncertainty.covariance

    @property
    def degrees_of_freedom(self) -> float:
        return np.inf if self.uncertainty is None else self.uncertainty.degrees_of_freedom

    @property
    def standard_errors(self) -> Float[np.ndarray, " k"] | None:
        """The standard error of each constant, in the order of `values`."""
        return None if self.uncertainty is None else self.uncertainty.standard_errors

    def interval(self, level: float = 0.95) -> Float[np.ndarray, "k 2"] | None:
        """Return the interval of each constant, within its bounds."""
        return None if self.uncertainty is None else self.uncertainty.interval(level)

    def coefficient_intervals(self, level: float = 0.95) -> Float[np.ndarray, "c K 2"] | None:
        """Return the intervals in the shape of the coefficients.

        For coefficients that were not estimated, both ends are the coefficient.
        """
        if self.uncertainty is None:
            return None
        return self.uncertainty.coefficient_intervals(np.asarray(self.field.coefficients), level)

    def __repr__(self) -> str:
        return f"Refinement({self.status})"


def refine(
    field: HybridField,
    data: Dataset,
    *,
    interpolation: Mapping[str, str] | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    residual: bool = True,
    knowledge: Knowledge | None = None,
    noise: Float[np.ndarray, " n"] | None = None,
    choice: StructureChoice | None = None,
) -> Refinement:
    """Match the constants of a field to trajectories.

    These are all nonzero coefficients, the parameters in their terms and, unless `residual=False`,
    the weights of the residual.

    The sum of squared differences between simulated and measured states is minimized over the
    constants and the start of every segment. Each state is weighted by its noise, which is
    estimated and may grow with the state. Differences beyond `HUBER` standard deviations count
    linearly. Segments grow from 4 steps to whole runs as long as trajectories follow the data.
    Equations of positions (`data.velocity_of`) and values given by `knowledge` are fixed; relations
    and bounds are satisfied. The prior of the weights is normal around their initial values; its
    variance maximizes the evidence.

    The result is kept if the misfit of the `choice` of terms that produced the field is only noise,
    or if forecasts of held-out runs, or of the end of a single run, are no worse. Otherwise the
    constants are refined without the weights. The gate of refined weights is widened if this
    improves forecasts of the outermost runs. `noise` is the standard deviation of each state's
    noise; a misfit of this size does not limit the segment length. If the misfit of a `choice` is
    only noise, refinement starts from its segments.
    """
    fixed = [data.state_names.index(name) for name in data.velocity_of]
    constants = Constants.of(field, fixed, residual=residual, knowledge=knowledge)
    if not constants.size:
        return _not_refined(field, "there is no constant to refine")
    if int(data.run_lengths.max()) <= limits.MIN_REFINED_STEPS:
        return _not_refined(field, f"no run has more than {limits.MIN_REFINED_STEPS} rows")
    if not data.states.std(axis=0)[data.is_measured].any():
        return _not_refined(field, "no measured state moves")
    kinds = dict(interpolation or dict.fromkeys(data.input_names, "cubic"))
    problem = Problem.of(
        field, constants, data, kinds, growing_noise=True, expected_noise=noise,
        starts=None if knowledge is None else knowledge.starts,
    )  # fmt: skip
    p_bounds = constants.bounds(field, bounds or {}, knowledge)
    with np.errstate(all="ignore"), progress("Matching trajectories", 1.0) as show:
        accepted, comparison, stages, states = None, None, [], problem.initial_states
        for start in _starts(data, choice):
            new_stages, new_states = match_stages(
                problem, p_bounds, lambda fraction: show(0.7 * fraction, ""), **start
            )
            if not new_stages:
                continue
            new, new_comparison = new_stages[-1], None
            if choice is None or not choice.is_white_noise:
                show(0.7, "(held-out runs)")
                new, new_comparison = _accepted_stage(problem, new_stages, new_states, p_bounds)
            if accepted is None or (new is not None and _is_better(new_comparison, comparison)):
                accepted, comparison, stages, states = new, new_comparison, new_stages, new_states
        if accepted is None and comparison is None:
            return _not_refined(
                field, "its trajectories do not follow the data even over a few steps"
            )
        if accepted is not None:
            result = _result(problem, (accepted, stages[0]), comparison, p_bounds, knowledge)
            if not constants.weighted:
                return result
            show(0.9, "(outside the data)")
            gated = open_gate(result.field, problem, accepted, states, p_bounds)
            return replace(result, field=gated)
    if constants.weighted and constants.count:
        return refine(
            field, data, interpolation=interpolation, bounds=bounds, residual=False,
            knowledge=knowledge, noise=noise, choice=choice,
        )  # fmt: skip
    assert comparison is not None
    return _refused(field, comparison, stages[-1])


def _is_better(new: Comparison | None, old: Comparison | None) -> bool:
    """Return whether the constants from another start give better forecasts of held-out data."""
    return new is not None and old is not None and new.after < old.after


def _starts(data: Dataset, choice: StructureChoice | None) -> list[dict[str, Any]]:
    """Return the options of the first segments, for each start to try.

    A choice whose misfit is only noise is near the minimum. The states of any other choice may lead
    back to wrong constants, so short segments of the measured states are matched too.
    """
    if choice is None or len(choice.states) != data.n_samples:
        return [{}]
    effort = limits.FULL._replace(first_length=choice.length)
    if choice.is_noise:
        near = effort._replace(starts_near=True)
        return [{"effort": near, "states": choice.states, "sigma": choice.sigma}]
    return [{}, {"effort": effort, "states": choice.states}]


def _accepted_stage(
    problem: Problem,
    stages: Sequence[Stage],
    states: Float[np.ndarray, "N n"],
    bounds: Float[np.ndarray, "2 P"],
) -> tuple[Stage | None, Comparison]:
    """Return the last stage whose constants forecast held-out data no worse than the initial
    constants.

    The stage may be None. The last comparison is returned too.
    """
    comparison = Comparison(np.nan, np.nan)
    held_out = HeldOutForecasts(problem, states, bounds)
    for stage in stages[: -limits.MAX_REFUSED_STAGES - 1 : -1]:
        comparison = held_out.compare(stage)
        if comparison.is_accepted:
            return stage, comparison
    return None, comparison


def _result(
    problem: Problem,
    stages: tuple[Stage, Stage],
    comparison: Comparison | None,
    bounds: Float[np.ndarray, "2 P"],
    knowledge: Knowledge | None,
    *,
    is_curved: bool = True,
) -> Refinement:
    """Return the refinement, given the last and the first stage.

    If `is_curved`, intervals use profiles of the likelihood.
    """
    stage, first = stages
    constants, data = problem.constants, problem.data
    field = constants.write(problem.field, stage.p)
    field, jacobian = reprojected(field, constants, data)
    covariance = estimate_covariance(problem, stage, first)
    coefficients = np.asarray(field.coefficients)[constants.rows, constants.columns]
    freedom = covariance.groups - 1.0 if covariance.is_sandwich else _n_free(problem, stage)
    n_used = len(np.unique(stage.segments.rows[stage.segments.weight > 0]))
    subset = "" if n_used >= data.n_samples else f", {n_used:,} of {data.n_samples:,} rows"
    rows = stage.segments.length + 1
    status = f"refined on segments of {rows} rows{subset}"
    # without convergence, the curvature does not measure the distance to the minimum
    m = problem.measured
    has_misfit = bool((stage.sigma[m] > limits.ROUNDING_FLOOR * problem.sizes[m]).any())
    is_stuck = has_misfit and covariance.is_sandwich and not stage.solution.converged
    if is_stuck:
        status += (
            " without reaching a minimum, so intervals are not known (bounds near the true "
            "values of the constants help)"
        )
    if comparison is not None:
        errors = _percent(comparison.before), _percent(comparison.after)
        status += f": forecast error {errors[0]} -> {errors[1]}"
    uncertainty = None
    if not is_stuck:
        factors = np.ones((constants.count, 2))
        if is_curved and not covariance.is_sandwich:  # a profile ignores misfits beyond the noise
            factors = profile_factors(problem, stage, bounds, freedom)
        uncertainty = Uncertainty(
            places=tuple(zip(constants.rows.tolist(), constants.columns.tolist(), strict=True)),
            parameters=tuple(field.features.parameters[i] for i in constants.inner),
            values=np.append(coefficients, stage.p[len(constants.lead) : constants.count]),
            covariance=jacobian @ covariance.matrix @ jacobian.T,
            degrees_of_freedom=freedom,
            bounds=constants.estimate_bounds(bounds, knowledge),
            stretch=constants.profile_factors(factors),
        )
        if data.hidden and _is_followed(problem, stage):
            uncertainty = _with_undetermined(uncertainty, problem, stage)
    return Refinement(
        field=field,
        kept=True,
        status=status,
        uncertainty=uncertainty,
        is_sandwich=covariance.is_sandwich,
        noise=stage.sigma,
        error_before=np.nan if comparison is None else comparison.before,
        error_after=np.nan if comparison is None else comparison.after,
        segment_rows=rows,
        rows_used=n_used,
    )


def _with_undetermined(uncertainty: Uncertainty, problem: Problem, stage: Stage) -> Uncertainty:
    """Return the uncertainty with the directions that the data do not determine."""
    changes, states = undetermined_directions(problem, stage)
    if not changes.size:
        return uncertainty
    absolute = problem.constants.derivatives() @ (stage.p[:, None] * changes)
    size = np.where(uncertainty.values != 0, np.abs(uncertainty.values), 1.0)
    relative = absolute / np.where(uncertainty.values != 0, uncertainty.values, 1.0)[:, None]
    # without these directions, the other combinations have a finite variance
    axes = np.linalg.qr(absolute / size[:, None])[0]
    kept = np.eye(len(size)) - axes @ axes.T
    covariance = kept @ (uncertainty.covariance / np.outer(size, size)) @ kept
    covariance = covariance * np.outer(size, size)
    return replace(uncertainty, covariance=covariance, undetermined=relative, free_states=states)


def _is_followed(problem: Problem, stage: Stage) -> bool:
    """Return whether the misfit may be noise.

    At a minimum far above the noise, sensitivities do not show which constants the data determine.
    """
    m = problem.measured
    noise = white_noise_variance(problem.data)[m]
    is_large = stage.sigma[m] ** 2 > limits.FOLLOWED * noise
    return not (is_large & (stage.sigma[m] > limits.HIDDEN_MAX_NOISE * problem.sizes[m])).any()


def _n_free(problem: Problem, stage: Stage) -> float:
    """Return the number of measured values minus the number of estimates."""
    values = stage.segments.weight.sum() * problem.measured.sum()
    starts = stage.segments.count * len(problem.sizes)
    return float(max(values - problem.constants.count - starts, 1.0))


def _not_refined(field: HybridField, reason: str) -> Refinement:
    return Refinement(field, False, f"not refined: {reason}")


def _refused(field: HybridField, comparison: Comparison, stage: Stage) -> Refinement:
    return Refinement(
        field,
        False,
        f"not refined: refined constants forecast held-out data with an error of "
        f"{_percent(comparison.after)}, the given ones with {_percent(comparison.before)}",
        noise=stage.sigma,
        error_before=comparison.before,
        error_after=comparison.after,
        segment_rows=stage.segments.length + 1,
    )


def _percent(error: float) -> str:
    return f"{100 * error:.2g}%"


def matched_result(problem: Problem, stage: Stage, first: Stage, *, is_curved: bool) -> Refinement:
    """Return the constants of a stage with their covariance, without a check on held-out data."""
    free = np.tile([[-np.inf], [np.inf]], problem.constants.size)
    result = _result(problem, (stage, first), None, free, None, is_curved=is_curved)
    return replace(result, status=f"matched to segments of {result.segment_rows} rows")


def match_fixed_structure(
    field: HybridField,
    data: Dataset,
    interpolation: Mapping[str, str],
    bounds: Mapping[str, tuple[float, float]],
    knowledge: Knowledge | None,
) -> Refinement | None:
    """Return the coefficients and inner parameters for which trajectories best follow these runs.

    The result includes their covariance, but no check on held-out data. Return None if trajectories
    do not follow the runs.
    """
    fixed = [data.state_names.index(name) for name in data.velocity_of]
    constants = Constants.of(field, fixed, residual=False, knowledge=knowledge)
    problem = Problem.of(
        field, constants, data, dict(interpolation), growing_noise=True,
        starts=None if knowledge is None else knowledge.starts,
    )  # fmt: skip
    p_bounds = constants.bounds(field, bounds, knowledge)
    with np.errstate(all="ignore"):
        stages, _ = match_stages(problem, p_bounds)
        if not stages:
            return None
        return matched_result(problem, stages[-1], stages[0], is_curved=False)
