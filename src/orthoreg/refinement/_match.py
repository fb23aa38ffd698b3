"""Constants by trajectories in little time, for comparing many structures."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple, final

import numpy as np
from jaxtyping import Bool, Float

from ..data import Dataset
from ..field.hybrid import HybridField
from ..physics import Knowledge
from . import _limits as limits
from ._constants import Constants
from ._covariance import covariance_of
from ._levenberg import eliminated
from ._problem import Problem
from ._refine import matched_result
from ._result import Refinement
from ._stages import Effort, Stage, first_precision, run_stage

QUICK = Effort(rounds=1, tolerance=0.05, evaluations=8, substeps=8)
"""Enough to rank structures."""


@final
class Ended(NamedTuple):
    """Where a match ended: its problem, the last stage, and the first one."""

    problem: Problem
    stage: Stage
    first: Stage


@final
class Matched(NamedTuple):
    """A field whose constants follow segments, and the mean square of what each state is off, by
    the length of these: in units of its noise where this grows with the state, and zero where it
    was not measured. `states` are those of all rows, on the longest segments."""

    field: HybridField
    misfits: dict[int, Float[np.ndarray, " n"]]
    states: Float[np.ndarray, "N n"]
    ended: Ended | None = None

    def refinement(self, *, is_curved: bool = True) -> Refinement | None:
        """Return the constants with their joint covariance; None if no segment was followed.
        Intervals follow the curved profile of the likelihood, which is slow, if `is_curved`."""
        if self.ended is None:
            return None
        with np.errstate(all="ignore"):
            return matched_result(*self.ended, is_curved=is_curved)


@final
@dataclass(frozen=True, eq=False)
class Matcher:
    """The data that fields are matched to. If they are noisy, terms nearer to zero than sqrt(log N)
    standard errors are left out. Segments have at most `longest` steps."""

    data: Dataset
    interpolation: Mapping[str, str]
    longest: int = limits.RANKING_LONGEST
    sizes: Float[np.ndarray, " n"] = field(init=False)
    measured: Bool[np.ndarray, " n"] = field(init=False)

    def __post_init__(self) -> None:
        spreads = self.data.states.std(axis=0)
        object.__setattr__(self, "sizes", np.where(spreads > 0, spreads, 1.0))
        object.__setattr__(self, "measured", self.data.is_measured)

    def match(
        self,
        field: HybridField,
        bounds: Mapping[str, tuple[float, float]],
        known: Knowledge | None = None,
        *,
        effort: Effort = QUICK,
        after: "Matched | None" = None,
        goes_on: Callable[[int, np.ndarray], bool] = lambda length, misfit: True,
    ) -> Matched:
        """The field with constants that follow segments of a few lengths, as long as they are
        followed at all and `goes_on` after each length with its misfit. A field that was matched
        before begins with the longest segments of that match."""
        problem = self._problem(field, known)
        misfits: dict[int, np.ndarray] = {}
        smooth = np.array(self.data.states)
        if not problem.constants.size:
            return Matched(field, misfits, smooth)
        lengths, stage, first = self.lengths, None, None
        if after is not None and after.ended is not None:
            stage, first = after.ended.stage, after.ended.first
            misfits, smooth = dict(after.misfits), np.array(after.states)
            lengths = [length for length in lengths if length >= stage.length]
        with np.errstate(all="ignore"):
            for length in lengths:
                ends = problem.constants.bounds(problem.field, bounds, known)
                found = _stage(problem, length, stage, smooth, ends, effort)
                if found is None:
                    break
                stage, first = found, first or found
                problem = replace(problem, field=problem.constants.write(problem.field, stage.p))
                misfits[length] = _misfit(problem, stage)
                if not goes_on(length, misfits[length]):
                    return Matched(problem.field, misfits, smooth, Ended(problem, stage, first))
            if stage is None or first is None:
                return Matched(problem.field, misfits, smooth)
            if self.data.plan.is_noisy:
                problem, stage = self._pruned(problem, stage, smooth, bounds, known, effort)
                misfits[stage.length] = _misfit(problem, stage)
        return Matched(problem.field, misfits, smooth, Ended(problem, stage, first))

    @property
    def lengths(self) -> list[int]:
        """Steps of the segments."""
        last = min(int(self.data.run_lengths.max()) - 1, self.longest)
        return [*(length for length in limits.RANKING_LENGTHS if length < 0.7 * last), last]

    def _problem(self, field: HybridField, known: Knowledge | None) -> Problem:
        fixed = [self.data.state_names.index(name) for name in self.data.velocity_of]
        constants = Constants.of(field, fixed, residual=False, knowledge=known)
        return Problem(
            field, constants, self.data, self.interpolation, self.sizes, self.measured,
            growing_noise=self.data.plan.is_noisy,
        )  # fmt: skip

    def _pruned(
        self,
        problem: Problem,
        stage: Stage,
        smooth: Float[np.ndarray, "N n"],
        bounds: Mapping[str, tuple[float, float]],
        known: Knowledge | None,
        effort: Effort,
    ) -> tuple[Problem, Stage]:
        """Without the weakest terms, one after the other."""
        least = np.sqrt(np.log(self.data.n_samples * max(self.measured.sum(), 1)))
        kept = None if known is None else known.required | known.related
        weak = _weakest(problem, stage, least, kept)
        while weak is not None:
            coefficients = np.array(problem.field.coefficients)
            coefficients[weak] = 0.0
            smaller = self._problem(replace(problem.field, coefficients=coefficients), known)
            ends = smaller.constants.bounds(smaller.field, bounds, known)
            found = _stage(smaller, stage.length, stage, smooth, ends, effort)
            if found is None:
                break
            stage = found
            problem = replace(smaller, field=smaller.constants.write(smaller.field, stage.p))
            weak = _weakest(problem, stage, least, kept)
        return problem, stage


def _misfit(problem: Problem, stage: Stage) -> Float[np.ndarray, " n"]:
    normal = stage.solution.normal
    return problem.misfit(normal.states, stage.segments, normal.sound)


def _stage(
    problem: Problem,
    length: int,
    before: Stage | None,
    smooth: Float[np.ndarray, "N n"],
    ends: Float[np.ndarray, "2 P"],
    effort: Effort,
) -> Stage | None:
    """The best constants on segments of this length; None where they are not followed."""
    sigma = None if before is None else before.sigma
    most = effort.evaluations
    if length > limits.RANKING_LENGTHS[-1]:
        most = min(most, limits.RANKING_EVALUATIONS)
    try:
        stage = run_stage(
            problem, length, problem.old, smooth, first_precision(problem), ends, sigma=sigma,
            most=most, effort=effort,
        )  # fmt: skip
    except np.linalg.LinAlgError:
        return None
    sound, m = stage.solution.normal.sound, problem.measured
    if sound.mean() < limits.RANKING_SHARE or not np.isfinite(stage.p).all():
        return None
    if before is not None:
        limit = np.maximum(
            limits.RANKING_JUMP * before.sigma[m], limits.RANKING_HARMLESS * problem.sizes[m]
        )
        if (stage.sigma[m] > limit).any():
            return None
    smooth[stage.segments.rows[:, sound]] = np.moveaxis(
        stage.solution.normal.states[:, :, sound], 1, 2
    )
    return stage


def _weakest(
    problem: Problem, stage: Stage, least: float, kept: Bool[np.ndarray, "c K"] | None
) -> tuple[int, int] | None:
    """The place of the coefficient nearest to zero, if it is nearer than `least` errors; none of
    those that are `kept`."""
    constants = problem.constants
    count = len(constants.rows)
    if count != len(constants.lead):
        return None  # relations tie coefficients
    normal = stage.solution.normal
    H = eliminated(normal, stage.precision)[0]
    errors = np.sqrt(np.diag(covariance_of(H, normal, stage.precision)))
    ratio = np.abs(stage.p[:count]) / np.maximum(errors[:count], 1e-300)
    alone = np.bincount(constants.rows)[constants.rows] < 2
    held = alone if kept is None else alone | kept[constants.rows, constants.columns]
    ratio = np.where(held, np.inf, ratio)
    if not count or ratio.min() >= least:
        return None
    place = int(ratio.argmin())
    return int(constants.rows[place]), int(constants.columns[place])
