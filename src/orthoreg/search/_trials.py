"""Match sets of terms to segments of runs, and score the fields."""

from collections.abc import Mapping
from typing import NamedTuple, final

import numpy as np
from jaxtyping import Bool, Float

from ..data import Dataset
from ..field.hybrid import HybridField
from ..matching import _limits as limits
from ..matching._constants import Constants
from ..matching._matching import Stage
from ..matching._noise import (
    CorrelatedNoise,
    estimate_correlated_noise,
    mean_squared_misfit,
    min_misfit,
)
from ..matching._problem import Problem
from ..matching._score import Score
from ..matching._segments import cut
from ..matching._stages import (
    follows_data,
    match_stage,
    match_stages,
    prior_precision,
    segment_lengths,
    updated_states,
)
from ..physics import Knowledge
from ..solving import CenteredTerms
from ..terms import sine_argument


@final
class Trial(NamedTuple):
    """A field matched to segments of one length.

    It has a score, a misfit in noise variances, and a flag for a misfit that is only rounding.
    """

    field: HybridField
    stage: Stage
    score: float
    misfit: float
    is_rounding: bool

    @property
    def support(self) -> Bool[np.ndarray, "c K"]:
        return support_of(self.field)


@final
class TrialMatcher:
    """Matches the constants of a field, or of variants with other terms, to segments of runs."""

    def __init__(
        self,
        field: HybridField,
        data: Dataset,
        interpolation: Mapping[str, str],
        bounds: Mapping[str, tuple[float, float]],
        known: Knowledge,
    ):
        self.field, self.data, self.known = field, data, known
        self.fixed = list(data.given_rates)
        self.score = Score.of(data, field.features)
        self._interpolation = interpolation or dict.fromkeys(data.input_names, "cubic")
        self._bounds = bounds
        self._is_sine = np.array([sine_argument(term) is not None for term in field.features.terms])
        self._centered: CenteredTerms | None = None

    def problem(self, field: HybridField, candidates: np.ndarray | None = None) -> Problem:
        """Return the problem in which the constants of a field and of `candidates` are free."""
        constants = Constants.of(
            field, self.fixed, residual=False, knowledge=self.known, candidates=candidates
        )
        return Problem.of(
            field, constants, self.data, self._interpolation, growing_noise=True,
            starts=self.known.starts,
        )  # fmt: skip

    def lengths(self) -> list[int]:
        """Return the lengths of segments, from the shortest to the longest."""
        return segment_lengths(self.problem(self.field), limits.SEARCH_EFFORT)

    def match(
        self,
        field: HybridField,
        length: int,
        states: Float[np.ndarray, "N n"],
        previous: Stage | None = None,
    ) -> Trial | None:
        """Return the field matched to segments of this length, starting from these states."""
        problem = self.problem(field)
        if not problem.constants.size:
            return None
        bounds = problem.constants.bounds(field, self._bounds, self.known)
        with np.errstate(all="ignore"):
            stage = match_stage(
                problem, length, problem.initial_constants, states, prior_precision(problem),
                bounds, sigma=None if previous is None else previous.sigma,
                effort=limits.SEARCH_EFFORT,
            )  # fmt: skip
        is_longer = previous is not None and previous.length < length
        shorter = previous if is_longer else None
        if not follows_data(problem, shorter, stage, limits.SEARCH_EFFORT):
            return None
        matched = problem.constants.write(field, stage.p)
        score, misfit = self.score.of_stage(problem, stage, support_of(matched))
        is_rounding = (stage.sigma <= limits.ROUNDING_FLOOR * problem.sizes)[problem.measured]
        trial = Trial(matched, stage, score, misfit, bool(is_rounding.all()))
        is_noise = trial.misfit <= self.score.max_noise_ratio
        return None if not is_longer and self._cancels(matched, is_noise) else trial

    def first_misfit(self, length: int | None = None) -> Trial | None:
        """Return the field matched to segments of this length.

        If the length is None, use the shortest segments for which the misfit exceeds the noise.
        Return None if there are none, or if trajectories do not follow the data. For clean data,
        try only the shortest segments.
        """
        trial, states = None, self.data.plan.smoothed
        lengths = self.lengths()
        for trial_length in lengths if self.data.plan.is_noisy else lengths[:1]:
            if trial is not None and self.errors_grow(trial, trial_length, states):
                return None
            shorter = None if trial is None else trial.stage
            trial = self.match(self.field, trial_length, states, shorter)
            if trial is None or trial_length == length:
                return trial
            if length is None and trial.misfit > self.score.max_noise_ratio:
                return trial
            states = updated_states(states, trial.stage)
        return None

    def longest_match(self, like: Trial | None = None, max_stages: int = 99) -> Trial | None:
        """Return the field matched to segments, or None if trajectories do not follow the data.

        The segments are the longest that the field follows in `max_stages` stages or, if `like` is
        given, as long as in that trial.
        """
        states, trial = self.data.plan.smoothed, None
        if like is not None:
            return self.match(self.field, like.stage.length, states, like.stage)
        lengths = self.lengths()
        for length in lengths[:max_stages]:
            if trial is not None and self.errors_grow(trial, length, states):
                break
            shorter = None if trial is None else trial.stage
            longer = self.match(self.field if trial is None else trial.field, length, states,
                                 shorter)  # fmt: skip
            if longer is None:
                break
            trial, states = longer, updated_states(states, longer.stage)
        return trial

    def cost(self, trial: Trial) -> float:
        """Return the negative log likelihood of a trial in nats, for noise of unknown size.

        A misfit beyond the noise is treated as correlated, so that fewer values count.
        """
        problem, stage = self.problem(trial.field), trial.stage
        m = problem.measured
        square = mean_squared_misfit(problem, stage.segments, stage.normal)[m]
        floor = min_misfit(self.data.states)[m]
        rows = float(self.data.n_samples)
        if trial.misfit > self.score.max_noise_ratio:
            rows = min(rows, limits.TEMPERED)
        return float(rows / 2 * np.log(np.maximum(square, floor)).sum())

    def errors_grow(self, best: Trial, length: int, states: Float[np.ndarray, "N n"]) -> bool:
        """Return whether chaos prevents a match to segments of this length."""
        problem = self.problem(best.field)
        segments = cut(self.data, length, limits.STAGE_ROWS)
        growth = problem.error_growth(problem.initial_constants, states, segments)
        return growth > limits.MATCH_GROWTH

    def use_noise(self, noise: CorrelatedNoise) -> None:
        """Use this noise in scores from now on."""
        self.score = self.score.with_noise(self.data, noise)

    def correlated_noise(self) -> CorrelatedNoise | None:
        """Return the noise in the residuals of the field's trajectories, or None if it is not
        correlated.
        """
        problem = self.problem(self.field)
        if not problem.constants.size:
            return None
        bounds = problem.constants.bounds(self.field, self._bounds, self.known)
        with np.errstate(all="ignore"):
            stages, _ = match_stages(problem, bounds, effort=limits.SEARCH_EFFORT)
        noise = estimate_correlated_noise(problem, stages)
        if noise is None:
            return None
        _, ratio = self.score.of_stage(problem, stages[-1], support_of(self.field))
        return noise if self.score.max_noise_ratio < ratio < limits.MAX_EXCESS else None

    def _cancels(self, field: HybridField, is_noise: bool) -> bool:
        """Return whether an equation with changed terms has terms that are many times larger than
        their sum.

        Such sets imitate a missing term and fail outside the data.

        At an equilibrium, the true terms also cancel, so a set whose misfit is only noise is kept.
        The exception is a set whose other terms cancel sines and cosines: 1 - theta**2/2 -
        cos(theta) is effectively a fourth power.
        """
        initial, new = np.asarray(self.field.coefficients), np.asarray(field.coefficients)
        is_changed = ((initial != 0) != (new != 0)).any(axis=1)
        size = np.sqrt(np.mean(field.symbolic(self.data.variables) ** 2, axis=0))
        if self._centered is None:
            self._centered = CenteredTerms.of(field.features, self.data.variables)
        cancels = self._centered.cancellation(new, size) > limits.CANCELS
        if is_noise:
            without_sines = np.where(self._is_sine, 0.0, new)
            cancels &= self._centered.cancellation(without_sines, size) <= limits.CANCELS
        return bool(cancels[is_changed].any())


def support_of(field: HybridField) -> Bool[np.ndarray, "c K"]:
    """Return a mask of the terms in use."""
    return np.asarray(field.coefficients) != 0


def best_trial(trials: list[Trial | None]) -> Trial | None:
    """Return the trial with the lowest score, or None if no match succeeded."""
    return min((t for t in trials if t is not None), key=lambda t: t.score, default=None)
