"""Whole models ranked by the trajectories that they make."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from jaxtyping import Float

from ...data import Dataset
from ...field.hybrid import HybridField
from ...matching import FULL, Match, Matcher, min_misfit, trajectory_score
from ...terms import Expression, Parameter, parameters_of, substitute, to_text
from . import _limits as limits
from ._combinations import Combination


@final
@dataclass(frozen=True, eq=False)
class Ranked:
    """A combination, what matching its constants gave, and its score in nats."""

    combination: Combination
    matched: Match
    score: float

    @property
    def field(self) -> HybridField:
        """The terms with the constants that were matched."""
        return self.matched.field

    @property
    def states(self) -> Float[np.ndarray, "N n"]:
        """The states of the rows that were looked at as the model has them."""
        return self.matched.states

    @property
    def is_base(self) -> bool:
        """Whether its terms are the base library's alone."""
        return not self.combination.is_new[np.asarray(self.field.coefficients) != 0].any()


@final
class Ranking:
    """Matches combinations to runs without outliers, and remembers how well each does on segments
    of each length: one that is far behind is not followed further."""

    def __init__(self, data: Dataset, interpolation: Mapping[str, str]):
        data = data.subsample_rows(limits.RANKING_ROWS).plan.clean
        plan = data.plan
        self._matcher = Matcher(data, interpolation, limits.LONGEST_SEGMENT)
        seen = np.where(plan.is_noise, limits.LEAST_NOISE * plan.noise**2, 0.0)
        self._floor = np.maximum(min_misfit(data.states), seen)
        self.is_noisy = plan.is_noisy
        self._measured, self._count = data.is_measured, float(data.n_samples)
        self._variance = np.maximum(data.states.var(axis=0), 1e-300)
        self._found: list[tuple[Combination, Match]] = []
        self._settled: set[frozenset[tuple[int, str]]] = set()

    def add(self, one: Combination) -> None:
        """Matches one combination, unless one of the same terms was matched on all lengths."""
        terms = _structure(one.field)
        if terms in self._settled:
            return
        price = _price(one, one.field)

        def goes_on(length: int, misfit: np.ndarray) -> bool:
            least = self._least(length, misfit)
            return self._score(misfit, least, price) < self._best(length, least) + limits.HOPELESS

        matched = self._matcher.match(
            one.field, one.parameter_bounds, one.knowledge, should_continue=goes_on
        )
        self._found.append((one, matched))
        if self._matcher.lengths[-1] in matched.misfits:
            self._settled.add(terms)

    def sharpened(self, one: Ranked) -> Match:
        """The field with its constants matched as well as they can be."""
        whole = one.combination
        bounds = whole.parameter_bounds
        return self._matcher.match(
            one.field, bounds, whole.knowledge, effort=FULL, after=one.matched
        )

    def ranked(self) -> list[Ranked]:
        """Best first, one of each set of terms. Scores are those of the longest segments that
        some model follows; one that was given up before is behind by as much as it was there."""
        length = self.longest()
        lowest = self._best(length, self._least(length))
        best: dict[Any, Ranked] = {}
        for one, matched in self._found:
            field = matched.field
            reached = max((k for k in matched.misfits if k <= length), default=None)
            score = lowest + limits.RUN_AWAY
            if reached is not None:
                least = self._least(reached)
                score = self._score(matched.misfits[reached], least, _price(one, field))
                if reached < length:
                    score = lowest + max(score - self._best(reached, least), limits.HOPELESS)
            key = _structure(field)
            if key not in best or score < best[key].score:
                best[key] = Ranked(one, matched, score)
        return sorted(best.values(), key=lambda one: one.score)

    def longest(self) -> int:
        """Steps of the longest segments that some model follows."""
        shortest = self._matcher.lengths[0]
        limit = limits.FOLLOWED * self._variance + limits.SHORT_MISFIT * self._least(shortest)
        followed = [
            length
            for _, matched in self._found
            for length, misfit in matched.misfits.items()
            if (misfit < limit)[self._measured].all()
        ]
        return max(followed, default=shortest)

    def _least(self, length: int, *more: np.ndarray) -> Float[np.ndarray, " n"]:
        """The least misfit of any model on segments of this length, no less than noise."""
        others = [found.misfits[length] for _, found in self._found if length in found.misfits]
        misfits = [*more, *others]
        least = np.min(misfits, axis=0) if misfits else self._floor
        return np.maximum(least, self._floor)

    def _best(self, length: int, least: Float[np.ndarray, " n"]) -> float:
        """The least score of any model on segments of this length."""
        scores = [
            self._score(matched.misfits[length], least, _price(one, matched.field))
            for one, matched in self._found
            if length in matched.misfits
        ]
        return min(scores, default=np.inf)

    def _score(
        self, misfit: Float[np.ndarray, " n"], least: Float[np.ndarray, " n"], price: float
    ) -> float:
        """The score of `fit`, with the least misfit of any model for the noise."""
        ratio = np.maximum((misfit / least)[self._measured], 1.0)
        return trajectory_score(ratio, np.full(len(ratio), self._count)) + price


def _structure(field: HybridField) -> frozenset[tuple[int, str]]:
    """The terms of each equation, whatever their parameters are called."""
    used = np.asarray(field.coefficients) != 0
    return frozenset(
        (int(c), to_text(_with_plain_names(field.features.terms[k]))) for c, k in np.argwhere(used)
    )


def _with_plain_names(term: Expression) -> Expression:
    names = sorted(parameters_of(term))
    return substitute(term, {name: Parameter(f"p{i}") for i, name in enumerate(names)})


def _price(one: Combination, field: HybridField) -> float:
    return float(one.prices[np.asarray(field.coefficients) != 0].sum())
