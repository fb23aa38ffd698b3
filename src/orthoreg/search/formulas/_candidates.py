"""Make candidates from supports: estimate parameters, remove idle terms, simplify constants."""

from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import final

import numpy as np
from jaxtyping import Float

from ...data import dimensionless, is_same
from ...terms import Expression, UnitAlgebra, like_terms, to_text
from . import _limits as limits
from ._equation import DictionaryProblem, price_of
from ._parametric_term import ParametricTerm
from ._projection import Projection, project, subset_fits


@final
@dataclass(frozen=True, eq=False)
class Candidate:
    """An equation as a sum of terms, with its score in nats.

    The score consists of the misfit, a price for each term, and a price for cancelling terms.
    `snapped` contains estimates and standard errors of parameters that were replaced by simple
    numbers. `is_readable` is true if simple numbers were tried.
    """

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
    def expressions(self) -> tuple[Expression, ...]:
        """The terms with numbers for their parameters."""
        return tuple(
            term.at(values) for term, values in zip(self.fit.terms, self.fit.values, strict=True)
        )

    @property
    def new(self) -> tuple[int, ...]:
        """The indices of the terms that the library lacks."""
        return tuple(k for k, term in enumerate(self.fit.terms) if not term.known)

    @cached_property
    def structure(self) -> frozenset[str]:
        """The formulas of the terms without parameter values."""
        return frozenset(to_text(term.expression) for term in self.fit.terms)

    @cached_property
    def new_terms(self) -> frozenset[str]:
        """The new terms as printed, with rounded numbers. x**3 equals x**p at p = 3."""
        return frozenset(
            to_text(self.fit.terms[k].at([float(f"{v:.4g}") for v in self.fit.values[k]]))
            for k in self.new
        )

    @cached_property
    def new_structure(self) -> frozenset[str]:
        """The formulas of the new terms."""
        return frozenset(to_text(self.fit.terms[k].expression) for k in self.new)

    def proposes_the_same(self, other: "Candidate") -> bool:
        """Return whether two candidates propose the same new formulas."""
        return self.new_terms == other.new_terms or self.new_structure == other.new_structure

    def values(self, points: Float[np.ndarray, "P V"]) -> Float[np.ndarray, " P"]:
        """Return the right-hand side at the given points."""
        total, fit = np.zeros(len(points)), self.fit
        for term, values, w in zip(fit.terms, fit.values, fit.coefficients, strict=True):
            total += w * term.columns(points, np.array([values]).reshape(1, -1))[:, 0]
        return total

    def standard_errors(self) -> Float[np.ndarray, " m"]:
        """Return the standard errors of the coefficients, followed by those of the free
        parameters.
        """
        return np.sqrt(np.maximum(np.diag(self.fit.covariance), 0.0) * self.mse)


def scored_fit(equation: DictionaryProblem, fit: Projection | None) -> Candidate | None:
    """Return a fit with its prices, or None if it is not finite."""
    if fit is None or not np.isfinite(fit.rss):
        return None
    prices = term_prices(fit, equation.count)
    rows = len(equation.target)
    freedom = rows - len(fit.covariance)
    return Candidate(
        equation.output,
        fit,
        float(equation.nats(fit.rss)),
        prices,
        _excess(equation, fit),
        fit.rss / max(freedom, 1),
    )


def term_prices(
    fit: Projection, count: float, elsewhere: Set[Expression] | None = None
) -> tuple[float, ...]:
    """Return the price of each term.

    A shared denominator is charged once. Symbols are cheap in terms and formulas that also appear
    `elsewhere`, in other equations.
    """
    prices, paid = [], False
    for term, values in zip(fit.terms, fit.values, strict=True):
        if term.numerator is not None and paid:
            term, values = ParametricTerm(term.numerator, term.family), ()
        paid |= term.numerator is not None
        if elsewhere is not None:
            forms = {term.at(values), term.expression, term.copy_of}
            term = replace(term, is_shared=not forms.isdisjoint(elsewhere))
        prices.append(price_of(term, values, count))
    return tuple(prices)


def _excess(equation: DictionaryProblem, fit: Projection) -> float:
    """Return the price of terms that cancel because they are larger than the target.

    Their coefficients need more digits, which cost log(|w| |phi| / |y|) nats each.
    """
    size = np.array([
        np.linalg.norm(equation.whitened(term, values))
        for term, values in zip(fit.terms, fit.values, strict=True)
    ])  # fmt: skip
    ratio = np.abs(fit.coefficients) * size / max(np.sqrt(equation.square), 1e-300)
    return limits.CANCELLATION_PRICE * float(np.log(np.maximum(ratio, 1.0)).sum())


def rescored(equation: DictionaryProblem, candidate: Candidate) -> Candidate:
    """Return the candidate, scored with the current noise of the equation."""
    return replace(candidate, nats=float(equation.nats(candidate.fit.rss)), is_readable=False)


def polish(equation: DictionaryProblem, columns: Sequence[int]) -> Candidate | None:
    """Return the candidate with estimated parameters and without terms that do not improve the
    score.

    Return None if it cannot be fitted.
    """
    terms = [equation.terms[equation.term_of_column[k]] for k in columns]
    values = [equation.values[k] for k in columns]
    fitted = scored_fit(equation, project(equation, terms, values))
    return None if fitted is None else prune(equation, fitted)


def prune(equation: DictionaryProblem, candidate: Candidate) -> Candidate:
    """Return the candidate after single terms, or pairs that cancel, are removed while this lowers
    the score.
    """
    while len(candidate.fit.terms) > 1:
        indices = range(len(candidate.fit.terms))
        removals = [{k} for k in indices]
        if 2 < len(indices) <= limits.MAX_TERMS_PAIRED:
            removals += [set(pair) for pair in combinations(indices, 2)]
        candidates = [
            scored_fit(equation, fit) for fit in subset_fits(equation, candidate.fit, removals)
        ]
        best = min(
            (other for other in candidates if other), key=lambda other: other.score, default=None
        )
        if best is None or best.score >= candidate.score:
            break
        refitted = scored_fit(
            equation, project(equation, best.fit.terms, best.fit.values, best.fit.held)
        )
        candidate = refitted if refitted is not None and refitted.score <= best.score else best
    return with_covariance(equation, candidate)


def with_covariance(equation: DictionaryProblem, candidate: Candidate) -> Candidate:
    """Return the candidate with the covariance of its constants, which trial fits do not
    compute.
    """
    if not np.isnan(candidate.fit.covariance).any():
        return candidate
    fit = candidate.fit
    fit_with_errors = project(equation, fit.terms, fit.values, fit.held, rounds=0)
    return candidate if fit_with_errors is None else replace(candidate, fit=fit_with_errors)


def make_readable(equation: DictionaryProblem, candidate: Candidate) -> Candidate:
    """Replace inner parameters by nearby simple numbers if the score does not increase.

    Formulas that become equal to library terms are replaced by these terms.
    """
    if candidate.is_readable:
        return candidate
    for group in candidate.fit.free:
        if _has_unit(equation, candidate.fit.terms[group[0][0]], group[0][1]):
            continue  # the number is simple only in some units
        for number in _simple_near(candidate, group[0]):
            values = [list(v) for v in candidate.fit.values]
            held = [list(h) for h in candidate.fit.held]
            for k, i in group:
                values[k][i], held[k][i] = number, True
            simpler = scored_fit(
                equation,
                project(
                    equation,
                    candidate.fit.terms,
                    [tuple(v) for v in values],
                    [tuple(h) for h in held],
                ),
            )
            if simpler is not None and simpler.score <= candidate.score:
                estimate = (
                    candidate.fit.values[group[0][0]][group[0][1]],
                    interval_half(candidate, group[0]),
                )
                snapped = candidate.snapped | dict.fromkeys(group, estimate)
                candidate = replace(simpler, snapped=snapped)
                break
    return replace(_with_library_terms(equation, candidate), is_readable=True)


def _has_unit(equation: DictionaryProblem, term: ParametricTerm, index: int) -> bool:
    """Return whether a parameter of a term is known to have a unit."""
    if equation.rows.units is None:
        return False
    algebra = UnitAlgebra(equation.rows.units)
    if not like_terms([term.expression], algebra)[0]:
        return False
    algebra.of(term.expression)
    unit = algebra.constants.get(term.parameters[index])
    return unit is not None and not is_same(unit, dimensionless())


def _with_library_terms(equation: DictionaryProblem, candidate: Candidate) -> Candidate:
    """Replace formulas by equal library terms, such as x**p with p rounded to 2 by x**2."""
    known = {term.expression: term for term in equation.terms if term.known}
    fit = candidate.fit
    replaced = {
        k: known[expression]
        for k, (expression, term) in enumerate(zip(candidate.expressions, fit.terms, strict=True))
        if not term.known and all(fit.held[k]) and expression in known
    }
    if not replaced or len({*candidate.expressions}) < len(candidate.expressions):
        return candidate
    terms = tuple(replaced.get(k, term) for k, term in enumerate(fit.terms))
    values = tuple(() if k in replaced else v for k, v in enumerate(fit.values))
    held = tuple(() if k in replaced else h for k, h in enumerate(fit.held))
    renamed = replace(fit, terms=terms, values=values, held=held)
    snapped = {
        index: estimate for index, estimate in candidate.snapped.items() if index[0] not in replaced
    }
    return replace(
        candidate, fit=renamed, prices=term_prices(renamed, equation.count), snapped=snapped
    )


def _simple_near(candidate: Candidate, index: tuple[int, int]) -> list[float]:
    """Return the simple numbers in the interval of a parameter, nearest first."""
    k, i = index
    term: ParametricTerm = candidate.fit.terms[k]
    value = candidate.fit.values[k][i]
    half = max(
        limits.SIMPLE_ERRORS * interval_half(candidate, index), limits.SIMPLE_DISTANCE * abs(value)
    )
    signed = [sign * number for number in limits.SIMPLE_NUMBERS for sign in (1.0, -1.0)]
    near = [n for n in signed if abs(n - value) <= half and term.low[i] <= n <= term.high[i]]
    return sorted(near, key=lambda n: abs(n - value))


def interval_half(candidate: Candidate, index: tuple[int, int]) -> float:
    """Return the standard error of a parameter, or zero if the parameter was fixed."""
    positions = [j for j, group in enumerate(candidate.fit.free) if index in group]
    if not positions:
        return 0.0
    return float(candidate.standard_errors()[len(candidate.fit.terms) + positions[0]])
