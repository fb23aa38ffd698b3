"""`Matcher`: match constants to trajectories quickly, to rank many formulas."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, final

import numpy as np
from jaxtyping import Bool, Float

from ..data import Dataset
from ..field.hybrid import HybridField
from ..physics import Knowledge
from . import _limits as limits
from ._constants import Constants
from ._intervals import inverse_curvature
from ._limits import QUICK, Effort
from ._matching import Stage
from ._noise import mean_squared_misfit
from ._problem import Problem, eliminate_starts
from ._refine import Refinement, matched_result
from ._segments import cut
from ._stages import match_stage, prior_precision, updated_states


@final
class MatchStages(NamedTuple):
    """The problem, last stage and first stage of a match."""

    problem: Problem
    last: Stage
    first: Stage


@final
class Match(NamedTuple):
    """A field with constants that were matched to segments.

    `misfits` maps a segment length to the mean squared misfit of each state. It is relative to the
    noise if the noise grows with the state, and zero for states that were not measured. `states`
    are the states of all rows on the longest segments. `stages` is None if trajectories do not
    follow the data.
    """

    field: HybridField
    misfits: dict[int, Float[np.ndarray, " n"]]
    states: Float[np.ndarray, "N n"]
    stages: MatchStages | None = None

    def refinement(self, *, is_curved: bool = True) -> Refinement | None:
        """Return the constants with their joint covariance, or None if trajectories do not follow
        the data.

        If `is_curved`, intervals use profiles of the likelihood, which take longer.
        """
        if self.stages is None:
            return None
        with np.errstate(all="ignore"):
            return matched_result(*self.stages, is_curved=is_curved)


@final
@dataclass(frozen=True, eq=False)
class Matcher:
    """Data to which fields are matched, on segments of at most `max_length` steps.

    If the data are noisy, terms within sqrt(log N) standard errors of zero are removed.
    """

    data: Dataset
    interpolation: Mapping[str, str]
    max_length: int

    def match(
        self,
        field: HybridField,
        bounds: Mapping[str, tuple[float, float]],
        known: Knowledge | None = None,
        *,
        effort: Effort = QUICK,
        after: Match | None = None,
        should_continue: Callable[[int, np.ndarray], bool] = lambda length, misfit: True,
    ) -> Match:
        """Return the field with constants matched to segments of growing length.

        Segments grow as long as trajectories follow the data and `should_continue(length, misfit)`
        is true. If `after` is given, the first segments are the longest ones of that match.
        """
        problem = self._problem(field, known)
        misfits: dict[int, np.ndarray] = {}
        states = problem.initial_states
        if not problem.constants.size:
            return Match(field, misfits, states)
        lengths, stage, first = self.lengths, None, None
        if after is not None and after.stages is not None:
            _, stage, first = after.stages
            misfits, states = dict(after.misfits), after.states
            lengths = [length for length in lengths if length >= stage.length]
        with np.errstate(all="ignore"):
            for length in lengths:
                if stage is not None and self._errors_grow(problem, length, states):
                    break
                p_bounds = problem.constants.bounds(problem.field, bounds, known)
                longer = _match_stage(problem, length, stage, states, p_bounds, effort)
                if longer is None:
                    break
                stage, first = longer, first or longer
                states = updated_states(states, stage)
                problem = replace(problem, field=problem.constants.write(problem.field, stage.p))
                misfits[length] = mean_squared_misfit(problem, stage.segments, stage.normal)
                if not should_continue(length, misfits[length]):
                    stages = MatchStages(problem, stage, first)
                    return Match(problem.field, misfits, states, stages)
            if stage is None or first is None:
                return Match(problem.field, misfits, states)
            if self.data.plan.is_noisy:
                problem, stage, states = self._pruned(problem, stage, states, bounds, known, effort)
                misfits[stage.length] = mean_squared_misfit(problem, stage.segments, stage.normal)
        return Match(problem.field, misfits, states, MatchStages(problem, stage, first))

    @property
    def lengths(self) -> list[int]:
        """Lengths of the segments, in steps."""
        last = min(int(self.data.run_lengths.max()) - 1, self.max_length)
        return [*(length for length in limits.RANKING_LENGTHS if length < 0.7 * last), last]

    def _errors_grow(self, problem: Problem, length: int, states: Float[np.ndarray, "N n"]) -> bool:
        """Return whether chaos of a map prevents a match to segments of this length."""
        if not self.data.discrete:
            return False
        segments = cut(self.data, length, limits.STAGE_ROWS)
        growth = problem.error_growth(problem.initial_constants, states, segments)
        return growth > limits.MATCH_GROWTH

    def _problem(self, field: HybridField, known: Knowledge | None) -> Problem:
        fixed = [self.data.state_names.index(name) for name in self.data.velocity_of]
        constants = Constants.of(field, fixed, residual=False, knowledge=known)
        growing_noise = self.data.plan.is_noisy
        return Problem.of(
            field, constants, self.data, self.interpolation, growing_noise=growing_noise
        )

    def _pruned(
        self,
        problem: Problem,
        stage: Stage,
        states: Float[np.ndarray, "N n"],
        bounds: Mapping[str, tuple[float, float]],
        known: Knowledge | None,
        effort: Effort,
    ) -> tuple[Problem, Stage, Float[np.ndarray, "N n"]]:
        """Return the match after insignificant terms are removed one at a time."""
        n_values = self.data.n_samples * max(problem.measured.sum(), 1)
        min_ratio = np.sqrt(np.log(n_values))
        kept = None if known is None else known.required | known.related
        weakest = _weakest_term(problem, stage, min_ratio, kept)
        while weakest is not None:
            coefficients = np.array(problem.field.coefficients)
            coefficients[weakest] = 0.0
            smaller = self._problem(replace(problem.field, coefficients=coefficients), known)
            p_bounds = smaller.constants.bounds(smaller.field, bounds, known)
            new_stage = _match_stage(smaller, stage.length, stage, states, p_bounds, effort)
            if new_stage is None:
                break
            stage, states = new_stage, updated_states(states, new_stage)
            problem = replace(smaller, field=smaller.constants.write(smaller.field, stage.p))
            weakest = _weakest_term(problem, stage, min_ratio, kept)
        return problem, stage, states


def _match_stage(
    problem: Problem,
    length: int,
    before: Stage | None,
    states: Float[np.ndarray, "N n"],
    bounds: Float[np.ndarray, "2 P"],
    effort: Effort,
) -> Stage | None:
    """Return the match to segments of this length, or None if trajectories do not follow them."""
    sigma = None if before is None else before.sigma
    max_evaluations = effort.max_evaluations
    if length > limits.RANKING_LENGTHS[-1]:
        max_evaluations = min(max_evaluations, limits.RANKING_EVALUATIONS)
    try:
        stage = match_stage(
            problem, length, problem.initial_constants, states, prior_precision(problem), bounds,
            sigma=sigma, max_evaluations=max_evaluations, effort=effort,
        )  # fmt: skip
    except np.linalg.LinAlgError:
        return None
    m = problem.measured
    if stage.normal.is_valid.mean() < limits.MIN_VALID_SHARE or not np.isfinite(stage.p).all():
        return None
    if before is not None:
        limit = np.maximum(
            limits.RANKING_JUMP * before.sigma[m], limits.RANKING_HARMLESS * problem.sizes[m]
        )
        if (stage.sigma[m] > limit).any():
            return None
    return stage


def _weakest_term(
    problem: Problem, stage: Stage, min_ratio: float, kept: Bool[np.ndarray, "c K"] | None
) -> tuple[int, int] | None:
    """Return the equation and term with the smallest ratio of coefficient to standard error.

    Return None if this ratio is at least `min_ratio`. Terms in `kept` and single terms are not
    removed.
    """
    constants = problem.constants
    count = len(constants.rows)
    if count != len(constants.lead):
        return None  # relations tie coefficients
    H = eliminate_starts(stage.normal, stage.precision)[0]
    errors = np.sqrt(np.diag(inverse_curvature(H, stage.normal, stage.precision)))
    ratio = np.abs(stage.p[:count]) / np.maximum(errors[:count], 1e-300)
    is_fixed = np.bincount(constants.rows)[constants.rows] < 2
    if kept is not None:
        is_fixed |= kept[constants.rows, constants.columns]
    ratio = np.where(is_fixed, np.inf, ratio)
    if not count or ratio.min() >= min_ratio:
        return None
    weakest = int(ratio.argmin())
    return int(constants.rows[weakest]), int(constants.columns[weakest])
