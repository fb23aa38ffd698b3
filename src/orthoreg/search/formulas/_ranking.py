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
    """A combination of one candidate for each learned equation.

    `library` contains exactly their terms, `prices` are the prices of the terms, and `is_new` marks
    terms that the base library lacks; both have the shape of the field's coefficients. `physics` is
    the given physics, and `knowledge` contains its statements on these terms.
    """

    candidates: tuple[Candidate, ...]
    library: AbstractLibrary
    physics: Physics | None
    field: HybridField
    prices: Float[np.ndarray, "c K"]
    is_new: Bool[np.ndarray, "c K"]
    knowledge: Knowledge

    @property
    def parameter_bounds(self) -> dict[str, tuple[float, float]]:
        """The bounds on parameters inside the terms."""
        return parameter_bounds(self.library) | self.knowledge.parameter_bounds

    @property
    def library_terms(self) -> dict[str, tuple[str, ...]]:
        """The terms of each equation, as written in the library."""
        if not isinstance(self.library, PerState):
            return {}
        parts = dict(self.library.by_state)
        return {
            name: tuple(library.formulas) if isinstance(library, Terms) else ()
            for name, library in parts.items()
        }


def best_combinations(lists: Sequence[Sequence[Any]], count: int) -> list[tuple[Any, ...]]:
    """Return the combinations of one candidate per list with the smallest sums of scores."""
    start: tuple[int, ...] = (0,) * len(lists)
    heap: list[tuple[float, tuple[int, ...]]] = [
        (sum(entries[0].score for entries in lists), start)
    ]
    seen: set[tuple[int, ...]] = {start}
    combinations: list[tuple[Any, ...]] = []
    while heap and len(combinations) < count:
        total, indices = heapq.heappop(heap)
        combinations.append(tuple(entries[i] for entries, i in zip(lists, indices, strict=True)))
        for c, i in enumerate(indices):
            successor = (*indices[:c], i + 1, *indices[c + 1 :])
            if i + 1 < len(lists[c]) and successor not in seen:
                seen.add(successor)
                change = lists[c][i + 1].score - lists[c][i].score
                heapq.heappush(heap, (total + change, successor))
    return combinations


def combine(
    candidates: Sequence[Candidate],
    bind: Callable[[AbstractLibrary], Bound],
    outputs: Sequence[str],
    count: float,
    given: Collection[int] = (),
    physics: Physics | None = None,
    known_values: Mapping[str, float] | None = None,
) -> Combination:
    """Return the combination of these candidates with known physics.

    `count` is the number of rows. A term that two equations share costs less in the second. `given`
    are the equations that the data provide; other equations without a term come from the physics.
    `known_values` are the values of parameters in the physics.
    """
    written, values, library = {}, dict(known_values or {}), {}
    for candidate in candidates:
        formulas, bounds = [], {}
        for k in range(len(candidate.fit.terms)):
            text, term_bounds = candidate.fit.written(k, str(candidate.output))
            formulas.append(text)
            bounds |= term_bounds
            values |= candidate.fit.parameters(k, str(candidate.output))
        written[candidate.output] = formulas
        if formulas:
            ordered = sorted(formulas, key=lambda text: (len(text), text))  # short formulas first
            library[outputs[candidate.output]] = Terms(ordered, bounds)
    empty = {name for c, name in enumerate(outputs) if not written.get(c) and c not in given}
    # every equation needs at least one term
    joined = PerState(library, Terms(["1"]) if empty else None)
    bound = bind(joined)
    features, known = bound.features, bound.knowledge
    coefficients = np.where(known.given, known.low, 0.0)
    prices, is_new = np.zeros_like(coefficients), np.zeros(coefficients.shape, dtype=bool)
    elsewhere: set[Expression] = set()  # terms, and formulas without parameter values
    for candidate in candidates:
        paid = term_prices(candidate.fit, count, elsewhere)
        elsewhere |= set(candidate.expressions)
        elsewhere |= {
            form for s in candidate.fit.terms for form in (s.expression, s.copy_of) if form
        }
        for text, w, price, term in zip(
            written[candidate.output],
            candidate.fit.coefficients,
            paid,
            candidate.fit.terms,
            strict=True,
        ):
            column = column_of(features, text)
            coefficients[candidate.output, column] += w
            prices[candidate.output, column] = price
            is_new[candidate.output, column] = not term.known
    field = field_of(
        features.with_values(values[name] for name in features.parameters), coefficients
    )
    return Combination(tuple(candidates), joined, physics, field, prices, is_new, known)


def column_of(features: FeatureMap, text: str) -> int:
    """Return the index of a term among the features."""
    return features.terms.index(parse(text, features.variables, features.parameters, free=True))


def field_of(features: FeatureMap, coefficients: np.ndarray) -> HybridField:
    """Return a field with these coefficients and without a residual."""
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
class RankedModel:
    """A combination with its matched constants and its score in nats."""

    combination: Combination
    matched: Match
    score: float

    @property
    def field(self) -> HybridField:
        """The terms with the matched constants."""
        return self.matched.field

    @property
    def states(self) -> Float[np.ndarray, "N n"]:
        """The model's states at the compared rows."""
        return self.matched.states

    @property
    def is_base(self) -> bool:
        """Whether all terms are in the base library."""
        return not self.combination.is_new[np.asarray(self.field.coefficients) != 0].any()


@final
class ModelRanking:
    """Matches combinations to runs without outliers, on segments of growing length.

    A model that is far behind at one length is not matched to longer segments.
    """

    def __init__(self, data: Dataset, interpolation: Mapping[str, str]):
        data = data.subsample_rows(limits.SEARCH_ROWS).plan.clean
        plan = data.plan
        self._matcher = Matcher(data, interpolation, limits.MAX_SEGMENT_STEPS)
        noise_floor = np.where(plan.is_noise, limits.MIN_NOISE_VARIANCES * plan.noise**2, 0.0)
        self._floor = np.maximum(min_misfit(data.states), noise_floor)
        self.is_noisy = plan.is_noisy
        self._measured, self._count = data.is_measured, float(data.n_samples)
        self._variance = np.maximum(data.states.var(axis=0), 1e-300)
        self._found: list[tuple[Combination, Match]] = []
        self._settled: set[frozenset[tuple[int, str]]] = set()

    def add(self, combination: Combination) -> None:
        """Match a combination, unless one with the same terms was matched at all lengths."""
        terms = _structure(combination.field)
        if terms in self._settled:
            return
        price = _price(combination, combination.field)

        def should_continue(length: int, misfit: np.ndarray) -> bool:
            noise = self._least(length, misfit)
            return (
                self._score(misfit, noise, price) < self._best(length, noise) + limits.HOPELESS_GAP
            )

        matched = self._matcher.match(
            combination.field,
            combination.parameter_bounds,
            combination.knowledge,
            should_continue=should_continue,
        )
        self._found.append((combination, matched))
        if self._matcher.lengths[-1] in matched.misfits:
            self._settled.add(terms)

    def sharpened(self, model: RankedModel) -> Match:
        """Match the constants of a model with full effort."""
        combination = model.combination
        bounds = combination.parameter_bounds
        return self._matcher.match(
            model.field, bounds, combination.knowledge, effort=FULL, after=model.matched
        )

    def ranked(self) -> list[RankedModel]:
        """Return the models, best first, one per set of terms.

        Scores refer to the longest segments that any model follows. A model that was abandoned
        earlier keeps its distance to the best model at that length.
        """
        length = self.longest()
        lowest = self._best(length, self._least(length))
        best: dict[Any, RankedModel] = {}
        for combination, matched in self._found:
            field = matched.field
            last = max((k for k in matched.misfits if k <= length), default=None)
            score = lowest + limits.UNSTABLE_GAP
            if last is not None:
                noise = self._least(last)
                score = self._score(matched.misfits[last], noise, _price(combination, field))
                if last < length:
                    score = lowest + max(score - self._best(last, noise), limits.HOPELESS_GAP)
            key = _structure(field)
            if key not in best or score < best[key].score:
                best[key] = RankedModel(combination, matched, score)
        return sorted(best.values(), key=lambda combination: combination.score)

    def longest(self) -> int:
        """Return the number of steps of the longest segments that any model follows."""
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
        """Return the smallest misfit of any model on segments of this length, which is at least the
        noise.
        """
        known = [match.misfits[length] for _, match in self._found if length in match.misfits]
        misfits = [*more, *known]
        smallest = np.min(misfits, axis=0) if misfits else self._floor
        return np.maximum(smallest, self._floor)

    def _best(self, length: int, noise: Float[np.ndarray, " n"]) -> float:
        """Return the best score of any model on segments of this length."""
        scores = [
            self._score(matched.misfits[length], noise, _price(combination, matched.field))
            for combination, matched in self._found
            if length in matched.misfits
        ]
        return min(scores, default=np.inf)

    def _score(
        self, misfit: Float[np.ndarray, " n"], noise: Float[np.ndarray, " n"], price: float
    ) -> float:
        """Return the score of a misfit relative to the noise."""
        ratio = np.maximum((misfit / noise)[self._measured], 1.0)
        return trajectory_score(ratio, np.full(len(ratio), self._count)) + price


def _structure(field: HybridField) -> frozenset[tuple[int, str]]:
    """Return the terms of each equation, regardless of parameter names."""
    used = np.asarray(field.coefficients) != 0
    return frozenset(
        (int(c), to_text(_with_plain_names(field.features.terms[k]))) for c, k in np.argwhere(used)
    )


def _with_plain_names(term: Expression) -> Expression:
    names = sorted(parameters_of(term))
    return substitute(term, {name: Parameter(f"p{i}") for i, name in enumerate(names)})


def _price(combination: Combination, field: HybridField) -> float:
    return float(combination.prices[np.asarray(field.coefficients) != 0].sum())
