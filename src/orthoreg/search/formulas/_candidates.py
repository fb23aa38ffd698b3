"""From supports to candidates: parameters estimated, idle terms left out, constants made
readable."""

from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import final

import numpy as np
from jaxtyping import Float

from ...terms import Expression, to_text
from . import _limits as limits
from ._equation import Equation, price_of
from ._parametric_term import ParametricTerm
from ._projection import Projection, project, subset_fits


@final
@dataclass(frozen=True, eq=False)
class Candidate:
    """One equation as a sum of terms, with what it costs in nats: the misfit, a price for each
    term, and the excess of terms that cancel. `snapped` are the estimates and standard errors of
    parameters that simple numbers took the place of; where these were sought, it `is_readable`."""

    output: int
    fit: Projection
    nats: float
    prices: tuple[float, ...]
    excess: float
    mse: float
    snapped: dict[tuple[int, int], tuple[float, float]] = field(default_factory=dict)
    is_readable: bool = False

    @property
    def price(self) -> float:
        return sum(self.prices) + self.excess

    @property
    def score(self) -> float:
        return self.nats + self.price

    @cached_property
    def terms(self) -> tuple[Expression, ...]:
        """With numbers in the place of parameters."""
        return tuple(
            shape.at(values) for shape, values in zip(self.fit.shapes, self.fit.values, strict=True)
        )

    @property
    def new(self) -> tuple[int, ...]:
        """The places of the terms that the library lacks."""
        return tuple(k for k, shape in enumerate(self.fit.shapes) if not shape.known)

    @cached_property
    def structure(self) -> frozenset[str]:
        """What the candidate is but for its numbers."""
        return frozenset(to_text(shape.expression) for shape in self.fit.shapes)

    @cached_property
    def new_terms(self) -> frozenset[str]:
        """The new terms as they are printed, numbers rounded: equal for x**3 and x**p at p = 3."""
        return frozenset(
            to_text(self.fit.shapes[k].at([float(f"{v:.4g}") for v in self.fit.values[k]]))
            for k in self.new
        )

    @cached_property
    def new_structure(self) -> frozenset[str]:
        """The new terms without their numbers."""
        return frozenset(to_text(self.fit.shapes[k].expression) for k in self.new)

    def proposes_the_same(self, other: "Candidate") -> bool:
        """Whether the new terms of two candidates are the same formula."""
        return self.new_terms == other.new_terms or self.new_structure == other.new_structure

    def values(self, points: Float[np.ndarray, "P V"]) -> Float[np.ndarray, " P"]:
        """The right-hand side at points."""
        total, fit = np.zeros(len(points)), self.fit
        for shape, values, w in zip(fit.shapes, fit.values, fit.coefficients, strict=True):
            total += w * shape.columns(points, np.array([values]).reshape(1, -1))[:, 0]
        return total

    def standard_errors(self) -> Float[np.ndarray, " m"]:
        """Of the coefficients, then of the free parameters."""
        return np.sqrt(np.maximum(np.diag(self.fit.covariance), 0.0) * self.mse)


def candidate(equation: Equation, fit: Projection | None) -> Candidate | None:
    """What a projection costs."""
    if fit is None or not np.isfinite(fit.rss):
        return None
    prices = term_prices(fit, equation.count)
    rows = len(equation.target)
    free = rows - len(fit.covariance)
    return Candidate(
        equation.output,
        fit,
        float(equation.nats(fit.rss)),
        prices,
        _excess(equation, fit),
        fit.rss / max(free, 1),
    )


def term_prices(
    fit: Projection, count: float, elsewhere: Set[Expression] | None = None
) -> tuple[float, ...]:
    """What each term costs; a denominator that terms share is paid for once. Symbols of terms, or
    of formulas, that are `elsewhere` already cost little; those of shared ones where that is not
    known yet."""
    prices, paid = [], False
    for shape, values in zip(fit.shapes, fit.values, strict=True):
        if shape.numerator is not None and paid:
            shape, values = ParametricTerm(shape.numerator, shape.family), ()
        paid |= shape.numerator is not None
        if elsewhere is not None:
            forms = {shape.at(values), shape.expression, shape.copy_of}
            shape = replace(shape, is_shared=not forms.isdisjoint(elsewhere))
        prices.append(price_of(shape, values, count))
    return tuple(prices)


def _excess(equation: Equation, fit: Projection) -> float:
    """What terms cost that are larger than the target and cancel: the digits of their
    coefficients that it takes, log(|w| |phi| / |y|) nats each."""
    size = np.array([
        np.linalg.norm(equation.whitened(shape, values))
        for shape, values in zip(fit.shapes, fit.values, strict=True)
    ])  # fmt: skip
    ratio = np.abs(fit.coefficients) * size / max(np.sqrt(equation.square), 1e-300)
    return limits.CANCELLATION_PRICE * float(np.log(np.maximum(ratio, 1.0)).sum())


def rescored(equation: Equation, found: Candidate) -> Candidate:
    """The candidate with the noise that the equation has now."""
    return replace(found, nats=float(equation.nats(found.fit.rss)), is_readable=False)


def polish(equation: Equation, columns: Sequence[int]) -> Candidate | None:
    """The columns with their parameters estimated, without the terms that the score does not
    miss."""
    shapes = [equation.shapes[equation.shape[k]] for k in columns]
    values = [equation.values[k] for k in columns]
    found = candidate(equation, project(equation, shapes, values))
    return None if found is None else prune(equation, found)


def prune(equation: Equation, found: Candidate) -> Candidate:
    """Without terms, or pairs of them (which may cancel), for as long as that lowers the score."""
    while len(found.fit.shapes) > 1:
        places = range(len(found.fit.shapes))
        left_out = [{k} for k in places]
        if 2 < len(places) <= limits.MAX_TERMS_PAIRED:
            left_out += [set(pair) for pair in combinations(places, 2)]
        tried = [candidate(equation, fit) for fit in subset_fits(equation, found.fit, left_out)]
        best = min((one for one in tried if one), key=lambda one: one.score, default=None)
        if best is None or best.score >= found.score:
            break
        again = candidate(
            equation, project(equation, best.fit.shapes, best.fit.values, best.fit.held)
        )
        found = again if again is not None and again.score <= best.score else best
    return with_errors(equation, found)


def with_errors(equation: Equation, found: Candidate) -> Candidate:
    """The candidate with the covariance of its constants, which trials do without."""
    if not np.isnan(found.fit.covariance).any():
        return found
    fit = found.fit
    again = project(equation, fit.shapes, fit.values, fit.held, rounds=0)
    return found if again is None else replace(found, fit=again)


def make_readable(equation: Equation, found: Candidate) -> Candidate:
    """With simple numbers in the place of inner parameters near them, where the score does not
    suffer, and as terms of the library what has become one of them."""
    if found.is_readable:
        return found
    for group in found.fit.free:
        for number in _simple_near(found, group[0]):
            values = [list(v) for v in found.fit.values]
            held = [list(h) for h in found.fit.held]
            for k, i in group:
                values[k][i], held[k][i] = number, True
            tried = candidate(
                equation,
                project(
                    equation,
                    found.fit.shapes,
                    [tuple(v) for v in values],
                    [tuple(h) for h in held],
                ),
            )
            if tried is not None and tried.score <= found.score:
                estimate = (
                    found.fit.values[group[0][0]][group[0][1]],
                    interval_half(found, group[0]),
                )
                known = found.snapped | dict.fromkeys(group, estimate)
                found = replace(tried, snapped=known)
                break
    return replace(_with_library_terms(equation, found), is_readable=True)


def _with_library_terms(equation: Equation, found: Candidate) -> Candidate:
    """With terms of the library in the place of formulas that are the same, such as x**p with p
    snapped to 2."""
    known = {shape.expression: shape for shape in equation.shapes if shape.known}
    fit = found.fit
    places = {
        k: known[term]
        for k, (term, shape) in enumerate(zip(found.terms, fit.shapes, strict=True))
        if not shape.known and all(fit.held[k]) and term in known
    }
    if not places or len({*found.terms}) < len(found.terms):
        return found
    shapes = tuple(places.get(k, shape) for k, shape in enumerate(fit.shapes))
    values = tuple(() if k in places else v for k, v in enumerate(fit.values))
    held = tuple(() if k in places else h for k, h in enumerate(fit.held))
    same = replace(fit, shapes=shapes, values=values, held=held)
    snapped = {place: one for place, one in found.snapped.items() if place[0] not in places}
    return replace(found, fit=same, prices=term_prices(same, equation.count), snapped=snapped)


def _simple_near(found: Candidate, place: tuple[int, int]) -> list[float]:
    """Simple numbers that the interval of a parameter contains, nearest first."""
    k, i = place
    shape: ParametricTerm = found.fit.shapes[k]
    value = found.fit.values[k][i]
    half = max(
        limits.SIMPLE_ERRORS * interval_half(found, place), limits.SIMPLE_DISTANCE * abs(value)
    )
    signed = [sign * number for number in limits.SIMPLE_NUMBERS for sign in (1.0, -1.0)]
    inside = [n for n in signed if abs(n - value) <= half and shape.low[i] <= n <= shape.high[i]]
    return sorted(inside, key=lambda n: abs(n - value))


def interval_half(found: Candidate, place: tuple[int, int]) -> float:
    """The standard error of a parameter; zero where it was held."""
    places = [j for j, group in enumerate(found.fit.free) if place in group]
    if not places:
        return 0.0
    return float(found.standard_errors()[len(found.fit.shapes) + places[0]])
