"""Whole models from the candidates of each equation, as fields that trajectories can judge."""

import heapq
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from jaxtyping import Bool, Float

from ...field import TanhLayers
from ...field.hybrid import HybridField
from ...physics import Bound, Knowledge, Physics
from ...terms import (
    AbstractLibrary,
    Expression,
    FeatureMap,
    PerState,
    Terms,
    parameter_bounds,
    parse,
)
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
