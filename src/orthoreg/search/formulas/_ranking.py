"""Whole models: combinations of one candidate per equation, ranked by their trajectories."""

import heapq
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from jaxtyping import Bool, Float

from ...data import Dataset
from ...field import TanhLayers
from ...field.hybrid import HybridField
from ...matching import FULL, Match, Matcher, min_misfit, trajectory_score
from ...physics import Bound, Knowledge, Physics
from ...terms import (
    AbstractLibrary,
    Expression,
    FeatureMap,
    Parameter,
    PerState,
    Terms,
    parameter_bounds,
    parameters_of,
    parse,
    substitute,
    to_text,
)
from . import _limits as limits
from ._candidates import Candidate, term_prices


@final
@dataclass(frozen=True, eq=False)
class Combination:
    """A candidate for each learned equation. `library` has exactly their terms, `prices` what each
    of them costs, and `is_new` which the base library lacks, like the field's coefficients;
    `physics` is what is given, and `knowledge` what that says of these."""

    candidates: tuple[Candidate, ...]
    library: AbstractLibrary
    physics: Physics | None
    field: HybridField
    prices: Float[np.ndarray, "c K"]
    is_new: Bool[np.ndarray, "c K"]
    knowledge: Knowledge

    @property
    def parameter_bounds(self) -> dict[str, tuple[float, float]]:
        """Between which ends numbers inside the terms lie."""
        return parameter_bounds(self.library) | self.knowledge.parameter_bounds

    @property
    def library_terms(self) -> dict[str, tuple[str, ...]]:
        """The terms of each equation, as its library writes them."""
        if not isinstance(self.library, PerState):
            return {}
        parts = dict(self.library.by_state)
        return {
            name: tuple(own.formulas) if isinstance(own, Terms) else ()
            for name, own in parts.items()
        }


def best_combinations(lists: Sequence[Sequence[Any]], most: int) -> list[tuple[Any, ...]]:
    """One candidate of each list, the lowest sums of scores first."""
    start: tuple[int, ...] = (0,) * len(lists)
    heap: list[tuple[float, tuple[int, ...]]] = [(sum(one[0].score for one in lists), start)]
    seen: set[tuple[int, ...]] = {start}
    found: list[tuple[Any, ...]] = []
    while heap and len(found) < most:
        total, places = heapq.heappop(heap)
        found.append(tuple(one[i] for one, i in zip(lists, places, strict=True)))
        for c, i in enumerate(places):
            after = (*places[:c], i + 1, *places[c + 1 :])
            if i + 1 < len(lists[c]) and after not in seen:
                seen.add(after)
                change = lists[c][i + 1].score - lists[c][i].score
                heapq.heappush(heap, (total + change, after))
    return found


def combine(
    candidates: Sequence[Candidate],
    bind: Callable[[AbstractLibrary], Bound],
    outputs: Sequence[str],
    count: float,
    given: Collection[int] = (),
    physics: Physics | None = None,
    known_values: Mapping[str, float] | None = None,
) -> Combination:
    """The field that these candidates are together with what is known, for so many rows; a term
    that two equations have costs less in the second. `given` are the equations that the data
    give; those without a term here are otherwise what is known of them. `known_values` are
    those of parameters in the physics."""
    written, values, library = {}, dict(known_values or {}), {}
    for one in candidates:
        formulas, bounds = [], {}
        for k in range(len(one.fit.shapes)):
            text, ends = one.fit.written(k, str(one.output))
            formulas.append(text)
            bounds |= ends
            values |= one.fit.parameters(k, str(one.output))
        written[one.output] = formulas
        if formulas:
            ordered = sorted(formulas, key=lambda text: (len(text), text))  # short ones first
            library[outputs[one.output]] = Terms(ordered, bounds)
    empty = {name for c, name in enumerate(outputs) if not written.get(c) and c not in given}
    whole = PerState(library, Terms(["1"]) if empty else None)  # every equation needs some term
    bound = bind(whole)
    features, known = bound.features, bound.knowledge
    coefficients = np.where(known.given, known.low, 0.0)
    prices, is_new = np.zeros_like(coefficients), np.zeros(coefficients.shape, dtype=bool)
    elsewhere: set[Expression] = set()  # terms, and formulas whatever their numbers
    for one in candidates:
        paid = term_prices(one.fit, count, elsewhere)
        elsewhere |= set(one.terms)
        elsewhere |= {form for s in one.fit.shapes for form in (s.expression, s.copy_of) if form}
        for text, w, price, shape in zip(
            written[one.output], one.fit.coefficients, paid, one.fit.shapes, strict=True
        ):
            place = column_of(features, text)
            coefficients[one.output, place] += w
            prices[one.output, place] = price
            is_new[one.output, place] = not shape.known
    field = field_of(
        features.with_values(values[name] for name in features.parameters), coefficients
    )
    return Combination(tuple(candidates), whole, physics, field, prices, is_new, known)


def column_of(features: FeatureMap, text: str) -> int:
    """The place of a term among the features."""
    return features.terms.index(parse(text, features.variables, features.parameters, free=True))


def field_of(features: FeatureMap, coefficients: np.ndarray) -> HybridField:
    """The terms with these coefficients, and no residual."""
    none = np.zeros(len(features.variables))
    outputs = len(coefficients)
    return HybridField(
        features,
        coefficients,
        TanhLayers(none, none + 1.0, (), ()),
        np.zeros((0, outputs)),
        np.zeros_like(coefficients),
        parameters=np.array(features.values),
    )


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
        self._matcher = Matcher(data, interpolation, limits.MAX_SEGMENT_STEPS)
        seen = np.where(plan.is_noise, limits.MIN_NOISE_VARIANCES * plan.noise**2, 0.0)
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
            return (
                self._score(misfit, least, price) < self._best(length, least) + limits.HOPELESS_GAP
            )

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
            score = lowest + limits.UNSTABLE_GAP
            if reached is not None:
                least = self._least(reached)
                score = self._score(matched.misfits[reached], least, _price(one, field))
                if reached < length:
                    score = lowest + max(score - self._best(reached, least), limits.HOPELESS_GAP)
            key = _structure(field)
            if key not in best or score < best[key].score:
                best[key] = Ranked(one, matched, score)
        return sorted(best.values(), key=lambda one: one.score)

    def longest(self) -> int:
        """Steps of the longest segments that some model follows."""
        shortest = self._matcher.lengths[0]
        limit = limits.MAX_UNEXPLAINED * self._variance + limits.MAX_MISFIT_GROWTH * self._least(
            shortest
        )
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
