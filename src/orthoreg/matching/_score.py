"""The score of a set of terms: the likelihood of its trajectories plus the price of its terms."""

from dataclasses import dataclass, replace
from typing import NamedTuple, final

import numpy as np
from jaxtyping import Bool, Float

from ..data import Dataset
from ..field.hybrid import HybridField
from ..terms import FeatureMap, complexity
from . import _limits as limits
from ._matching import Stage
from ._noise import (
    CorrelatedNoise,
    mean_squared_misfit,
    min_misfit,
    white_noise_variance,
)
from ._problem import Problem


def max_noise_ratio(rows: float, accuracy: float = limits.NOISE_ACCURACY) -> float:
    """Return the mean square that `rows` independent values of white noise exceed with probability
    1 - `EXCESS_LEVEL`.

    The value is in units of the estimated noise variance, which may itself be wrong by a factor of
    `accuracy`.
    """
    from scipy.special import chdtri

    if not np.isfinite(rows):
        return accuracy
    rows = max(rows, 1.0)
    return accuracy * float(chdtri(rows, 1 - limits.EXCESS_LEVEL)) / rows


def trajectory_score(ratio: Float[np.ndarray, " n"], rows: Float[np.ndarray, " n"]) -> float:
    """Return the negative log likelihood of trajectories in nats, up to a constant.

    `ratio` is the mean squared misfit of each state in noise variances, `rows` the number of its
    independent values. A misfit beyond twice the noise variance indicates a missing term, whose
    residuals are correlated, so only `TEMPERED` values count there.
    """
    ratio = np.maximum(ratio, 1e-12)
    within = rows / 2 * np.log(np.minimum(ratio, 2.0))
    beyond = np.minimum(rows, limits.TEMPERED) / 2 * np.log(np.maximum(ratio / 2, 1.0))
    return float((within + beyond).sum())


@final
@dataclass(frozen=True, eq=False)
class Score:
    """The score of sets of terms on runs, in nats. Lower is better.

    `noise` is the noise variance of each state, `rows` the number of its independent values,
    `measured` marks the states that count, and `term_price` is the price of each term. If the noise
    is correlated, `correlated_noise` is the source of `noise` and `rows`. The noise variance may be
    wrong by a factor of `noise_accuracy`.
    """

    noise: Float[np.ndarray, " n"]
    rows: Float[np.ndarray, " n"]
    measured: Bool[np.ndarray, " n"]
    term_price: Float[np.ndarray, " K"]
    correlated_noise: CorrelatedNoise | None = None
    noise_accuracy: float = limits.NOISE_ACCURACY

    @classmethod
    def of(cls, data: Dataset, features: FeatureMap) -> "Score":
        """Return the score for white noise."""
        # the price of one among K terms in the extended information criterion [Chen and Chen 2008]
        per_term = 0.5 * np.log(data.n_samples) + np.log(len(features.terms))
        symbols = np.array([complexity(term) for term in features.terms])
        rows = np.full(data.n_states, float(data.n_samples))
        price = per_term + limits.SYMBOL * symbols
        accuracy = limits.MAP_NOISE_ACCURACY if data.discrete else limits.NOISE_ACCURACY
        return cls(
            white_noise_variance(data), rows, data.is_measured, price, noise_accuracy=accuracy
        )

    def with_noise(self, data: Dataset, noise: CorrelatedNoise) -> "Score":
        """Return the score for correlated noise."""
        return replace(
            self,
            noise=np.maximum(noise.variance, min_misfit(data.states)),
            rows=data.n_samples / noise.time,
            correlated_noise=noise,
        )

    @property
    def max_noise_ratio(self) -> float:
        """The misfit, in noise variances, that noise alone rarely exceeds."""
        rows = float(self.rows[self.measured].min(initial=np.inf))
        return max_noise_ratio(rows, self.noise_accuracy)

    def of_stage(
        self, problem: Problem, stage: Stage, support: Bool[np.ndarray, "c K"]
    ) -> tuple[float, float]:
        """Return the score of a match, and its largest misfit in noise variances."""
        data, m = problem.data, problem.measured
        square = mean_squared_misfit(problem, stage.segments, stage.normal)[m]
        ratio = np.maximum(square, min_misfit(data.states)[m]) / self.noise[m]
        rows = data.n_samples
        n_starts = max(rows / stage.length, data.n_runs) * data.n_states
        learned = np.delete(support, list(data.given_rates), axis=0)
        n_free = n_starts + len(problem.constants.inner)
        price = float((learned @ self.term_price).sum() + 0.5 * np.log(rows) * n_free)
        return trajectory_score(ratio, self.rows[m]) + price, float(ratio.max())


@final
class Inclusion(NamedTuple):
    """The probability of each term, and of all selected terms of each equation jointly."""

    terms: Float[np.ndarray, "c K"]
    equations: Float[np.ndarray, " c"]


@final
@dataclass(frozen=True, eq=False)
class StructureChoice:
    """The best-scoring field of a search.

    `states` are the states of all rows on segments of `length` steps, `sigma` are the standard
    deviations of their residuals, `misfit` is the largest misfit of a state in noise variances, and
    `max_noise_ratio` is the misfit that noise alone rarely exceeds. If the noise is correlated, the
    score uses `correlated_noise`. `inclusion` contains the probability of each term.
    """

    field: HybridField
    score: float
    states: Float[np.ndarray, "N n"]
    sigma: Float[np.ndarray, " n"]
    misfit: float
    length: int
    max_noise_ratio: float
    correlated_noise: CorrelatedNoise | None = None
    inclusion: Inclusion | None = None

    @property
    def is_noise(self) -> bool:
        """Whether the misfit is at the level of white or correlated noise."""
        return self.misfit <= self.max_noise_ratio

    @property
    def is_white_noise(self) -> bool:
        return self.is_noise and self.correlated_noise is None
