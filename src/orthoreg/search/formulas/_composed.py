"""Composite terms: fractions with a shared denominator, and products of two templates."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple, final

import numpy as np
from jaxtyping import Float

from ...terms import (
    Expression,
    Number,
    Parameter,
    Polynomial,
    Variable,
    add,
    monomial,
    multiply,
    power,
    substitute,
    to_text,
    variables_of,
)
from . import _limits as limits
from ._beam import Support
from ._catalogue import PLAIN_FACTORS, TEMPLATES, coarse, span_of, with_templates
from ._equation import DictionaryProblem
from ._measurements import misfit_nats
from ._parametric_term import ParametricTerm, held, symbols
from ._projection import Projection, project

_NONE = np.zeros((1, 0))


def add_denominators(equation: DictionaryProblem) -> int:
    """Add fractions with a shared denominator. Return the number of new columns.

    An implicit equation P(x) + Q(x) x' = 0 suggests the denominators.
    """
    if equation.rows.slopes is None:
        return 0
    terms = _monomials(equation)
    factors = [other for other in terms if 0 < _degree(other) <= limits.FRACTION_DEGREE][
        : limits.MAX_FACTORS
    ]
    problem = ImplicitProblem(equation, terms, factors)
    without = problem.eliminated(()).score
    choices = [
        columns
        for size in range(1, limits.MAX_DENOMINATOR_FACTORS + 1)
        for columns in combinations(range(len(terms), len(problem)), size)
    ]
    eliminations = sorted(
        (problem.eliminated(columns) for columns in choices), key=lambda other: other.score
    )
    before = len(equation)
    for other in [other for other in eliminations if other.score < without][: limits.DENOMINATORS]:
        weights = {factors[k - len(terms)]: q for k, q in other.weights.items()}
        if not _vanishes(equation, weights):
            for term in fractions(
                [other for other in terms if _degree(other) <= limits.FRACTION_DEGREE], weights
            ):
                equation.offer(term)
    return len(equation) - before


@final
class Elimination(NamedTuple):
    """Lowest score of an elimination, and the weights q of the factors in the denominator 1 + sum q
    theta.
    """

    score: float
    weights: dict[int, float]


@final
class ImplicitProblem:
    """The implicit equation y = P w - (Q y) q. Columns of P and of Q y have unit norm."""

    def __init__(
        self,
        equation: DictionaryProblem,
        terms: Sequence[Expression],
        factors: Sequence[Expression],
    ):
        rows = equation.rows
        assert rows.slopes is not None
        slope = rows.slopes[:, [equation.output]]
        values = [ParametricTerm(term, "poly").columns(rows.points, _NONE) for term in terms]
        fractions = [-values[terms.index(term)] * slope for term in factors]
        phi = equation.weighed(rows.at_rows(np.hstack([*values, *fractions])))
        norm = np.sqrt(np.vecdot(phi.T, phi.T))
        self.norm = np.where(norm > 0, norm, 1.0)
        self.phi = phi / self.norm
        self.gram = self.phi.T @ self.phi
        self.moments = self.phi.T @ equation.target
        self.square = equation.square
        half = 0.5 * np.log(max(equation.count, 2.0))
        self.price = np.array([half + limits.SYMBOL * symbols(term) for term in (*terms, *factors)])
        self._count, self._rows = equation.count, len(equation.target)
        self._reliable = rows.reliable
        self._terms = len(terms)

    def __len__(self) -> int:
        return self.phi.shape[1]

    def eliminated(self, factors: Sequence[int]) -> Elimination:
        """Eliminate terms one by one, the least important first, and return the result with the
        lowest score.

        Factors are not eliminated.
        """
        columns = [*range(self._terms), *factors]
        best = Elimination(np.inf, {})
        while True:
            gram = self.gram[np.ix_(columns, columns)] + limits.DIAGONAL_ROUNDING * np.eye(
                len(columns)
            )
            inverse = np.linalg.inv(gram)
            w = inverse @ self.moments[columns]
            rss = max(self.square - float(self.moments[columns] @ w), 0.0)
            score = float(self._nats(rss)) + float(self.price[columns].sum())
            if score < best.score:
                last = slice(len(columns) - len(factors), None)
                weights = (w / self.norm[columns])[last].tolist()
                best = Elimination(score, dict(zip(factors, weights, strict=True)))
            if len(columns) - len(factors) <= 1:
                return best
            losses = w**2 / np.diag(inverse)
            losses[len(columns) - len(factors) :] = np.inf
            del columns[int(np.argmin(losses))]

    def _nats(self, rss: float) -> Any:
        return misfit_nats(max(rss, 1e-300) / self._rows, 1.0, self._count, self._reliable)


def fractions(
    numerators: Sequence[Expression], weights: dict[Expression, float]
) -> Iterator[ParametricTerm]:
    """Yield each numerator divided by the denominator, whose constants are parameters.

    The denominator is c + theta for one factor and 1 + q theta + ... for several factors.
    """
    if len(weights) == 1:
        ((factor, q),) = weights.items()
        names, values = ("c",), np.array([1 / q])
        denominator = add(Parameter("c"), factor)
    else:
        names = tuple(f"q{i}" for i in range(1, len(weights) + 1))
        values = np.array(list(weights.values()))
        parts = [
            multiply(Parameter(n), numerator) for n, numerator in zip(names, weights, strict=True)
        ]
        denominator = add(Number(1.0), *parts)
    bounds = np.sort(
        np.stack([values / limits.DENOMINATOR_RANGE, values * limits.DENOMINATOR_RANGE]), axis=0
    )
    for numerator in numerators:
        yield ParametricTerm(
            multiply(numerator, power(denominator, Number(-1.0))), "rational", names, values[None],
            tuple(bounds[0]), tuple(bounds[1]), numerator=numerator,
        )  # fmt: skip


def _monomials(equation: DictionaryProblem) -> list[Expression]:
    """Return monomials up to degree three, and higher powers of single variables."""
    rows = equation.rows
    moving = set(np.flatnonzero(rows.extent.varies).tolist()) - {rows.time_variable}
    terms = [
        term
        for term in Polynomial(limits.IMPLICIT_DEGREE).terms(tuple(rows.names))
        if variables_of(term) <= moving and (len(variables_of(term)) < 2 or _degree(term) < 4)
    ]
    return terms


def _degree(term: Expression) -> int:
    exponents = monomial(term, width=1 + max(variables_of(term), default=0))
    return 0 if exponents is None else sum(exponents[1])


def _vanishes(equation: DictionaryProblem, weights: dict[Expression, float]) -> bool:
    """Return whether 1 + sum q theta comes close to zero on or near the data."""
    extent = equation.rows.extent
    margin = limits.POLE_MARGIN * (extent.high - extent.low)
    low, high = extent.with_signs(np.stack([extent.low - margin, extent.high + margin]))
    rng = np.random.default_rng(0)
    drawn = rng.uniform(low, high, (limits.POLE_POINTS, len(low)))
    points = np.concatenate([drawn, equation.rows.points])
    value = np.ones(len(points))
    for factor, q in weights.items():
        value += q * ParametricTerm(factor, "poly").columns(points, _NONE)[:, 0]
    size = np.abs(value)
    return bool(value.min() < 0 < value.max() or size.min() < limits.MIN_DENOMINATOR * size.max())


FAMILY = "product"


@final
@dataclass(frozen=True, eq=False)
class Factors:
    """The templates of one variable, and their columns at the points.

    `places[k]` are the indices of the columns of term k.
    """

    terms: tuple[ParametricTerm, ...]
    places: tuple[slice, ...]
    columns: Float[np.ndarray, "M g"]


@final
class ProductStart(NamedTuple):
    """A product to add to a support, with its gain and its parameter values from the grids."""

    gain: float
    term: ParametricTerm
    values: tuple[float, ...]


def add_products(
    equation: DictionaryProblem,
    supports: Sequence[Support],
    should_continue: Callable[[], bool] = lambda: True,
) -> list[tuple[int, ...]]:
    """Add the products that improve these supports most, with estimated parameters.

    The dictionary cannot hold all products of two templates. Return each support combined with each
    of its products.
    """
    bases = [orthonormal(equation.phi[:, list(support.columns)]) for support in supports]
    starts: list[list[ProductStart]] = [[] for _ in supports]
    for first, second in _pairs(equation):
        if not should_continue():
            break
        gains = product_gains(equation, bases, first.columns, second.columns)
        best = _best_starts(equation, first, second, gains)
        starts = [_largest([*known, *new]) for known, new in zip(starts, best, strict=True)]
    indices: dict[str, int] = {}
    starting_supports = []
    for support, products in zip(supports, starts, strict=True):
        if not should_continue():
            break
        for term, values in _estimated(equation, support, products):
            column = _added(equation, term, values, indices)
            if column is not None:
                starting_supports.append((*support.columns, column))
    return starting_supports


def orthonormal(columns: Float[np.ndarray, "R k"]) -> Float[np.ndarray, "R r"]:
    """Return an orthonormal basis of the columns."""
    if not columns.shape[1]:
        return columns
    u, s, _ = np.linalg.svd(columns, full_matrices=False)
    return u[:, s > limits.MIN_SINGULAR_VALUE * s[0]]


def product_gains(
    equation: DictionaryProblem,
    bases: Sequence[Float[np.ndarray, "R _"]],
    first: Float[np.ndarray, "M g"],
    second: Float[np.ndarray, "M h"],
) -> Float[np.ndarray, "s g h"]:
    """Return the decrease of each support's squared misfit by the product of each column of `first`
    and of `second`.

    Supports are given as bases of columns at the points. Products that are not finite or depend on
    the support have minus infinity.
    """
    y = equation.target
    joint = np.hstack(bases)
    ends = np.cumsum([0, *(basis.shape[1] for basis in bases)])
    residuals = np.column_stack([y - basis @ (basis.T @ y) for basis in bases])
    gains = np.full((len(bases), first.shape[1], second.shape[1]), -np.inf)
    for k, column in enumerate(first.T):
        with np.errstate(all="ignore"):
            phi = equation.weighed(equation.rows.at_rows(column[:, None] * second))
            norm = np.sqrt(np.vecdot(phi.T, phi.T))
            is_defined = np.isfinite(norm) & (norm > 0)
            phi = np.where(is_defined, phi, 0.0) / np.where(is_defined, norm, 1.0)
        inside = (joint.T @ phi) ** 2
        correlation = (residuals.T @ phi) ** 2
        for s, (begin, end) in enumerate(zip(ends, ends[1:], strict=False)):
            remaining = 1.0 - inside[begin:end].sum(axis=0)
            is_independent = is_defined & (remaining > limits.MIN_NEW_NORM)
            gains[s, k, is_independent] = correlation[s, is_independent] / remaining[is_independent]
    return gains


def product(left: ParametricTerm, right: ParametricTerm) -> ParametricTerm:
    """Return the product of two terms.

    Parameters of the second term get the suffix 2, and the grid combines all rows of both grids.
    """
    names = {name: Parameter(f"{name}2") for name in right.parameters}
    grid = np.hstack([
        np.repeat(left.grid, len(right.grid), axis=0), np.tile(right.grid, (len(left.grid), 1))
    ])  # fmt: skip
    return ParametricTerm(
        multiply(left.expression, substitute(right.expression, names)),
        FAMILY,
        (*left.parameters, *(f"{name}2" for name in right.parameters)),
        grid,
        (*left.low, *right.low),
        (*left.high, *right.high),
    )


def _pairs(equation: DictionaryProblem) -> Iterator[tuple[Factors, Factors]]:
    """Yield the factors of each pair of varying variables, except time."""
    rows = equation.rows
    variables = [int(v) for v in np.flatnonzero(rows.extent.varies) if v != rows.time_variable]
    terms = {
        v: [
            term
            for _, term in with_templates(
                Variable(v, rows.names[v]), span_of(rows.extent, v), (*TEMPLATES, *PLAIN_FACTORS)
            )
            if all(rows.combine_like([term.expression]))
        ]
        for v in variables
    }
    pairs = list(combinations(variables, 2))
    terms = _not_too_many(terms, pairs)
    factors = {v: _factors(terms[v], rows.points) for v in variables}
    for i, j in pairs:
        yield factors[i], factors[j]


def _not_too_many(
    factors: dict[int, list[ParametricTerm]], pairs: Sequence[tuple[int, int]]
) -> dict[int, list[ParametricTerm]]:
    """Return the factors of each variable, with grids coarse enough for the number of products."""
    reduced = factors
    for values in limits.PRODUCT_VALUES:
        count = {v: sum(len(term.grid) for term in terms) for v, terms in reduced.items()}
        if sum(count[i] * count[j] for i, j in pairs) <= limits.MAX_PRODUCT_COLUMNS:
            break
        reduced = {
            v: [replace(term, grid=coarse(term.grid, values)) for term in terms]
            for v, terms in factors.items()
        }
    return reduced


def _factors(terms: Sequence[ParametricTerm], points: Float[np.ndarray, "M V"]) -> Factors:
    offsets = np.cumsum([0, *(len(term.grid) for term in terms)]).tolist()
    columns = np.hstack([term.columns(points, term.grid) for term in terms])
    slices = tuple(slice(*pair) for pair in zip(offsets, offsets[1:], strict=False))
    return Factors(tuple(terms), slices, columns)


def _best_starts(
    equation: DictionaryProblem, first: Factors, second: Factors, gains: Float[np.ndarray, "s g h"]
) -> list[list[ProductStart]]:
    """Return the best values of each product that the symmetries allow, for each support."""
    best: list[list[ProductStart]] = [[] for _ in gains]
    for left, rows in zip(first.terms, first.places, strict=True):
        for right, columns in zip(second.terms, second.places, strict=True):
            term = product(left, right)
            allowed = equation.allows(term)
            if not allowed.any():
                continue
            block = gains[:, rows, columns].reshape(len(gains), -1)
            block = np.where(allowed, block, -np.inf)
            for starts, row, place in zip(best, block, block.argmax(axis=1), strict=True):
                if np.isfinite(row[place]):
                    values = tuple(term.grid[place].tolist())
                    start = ProductStart(float(row[place]), term, values)
                    starts.append(start if allowed.all() else _held(start))
    return [_largest(starts) for starts in best]


def _held(start: ProductStart) -> ProductStart:
    """Return the start with fixed parameters, because other values would break a symmetry."""
    return ProductStart(start.gain, held(start.term, start.values), ())


def _largest(starts: Sequence[ProductStart]) -> list[ProductStart]:
    return sorted(starts, key=lambda start: -start.gain)[: limits.PRODUCTS_TRIED]


def _estimated(
    equation: DictionaryProblem, support: Support, starts: Sequence[ProductStart]
) -> list[tuple[ParametricTerm, tuple[float, ...]]]:
    """Return the best products to add to a support, with estimated parameters."""
    terms = [equation.terms[equation.term_of_column[k]] for k in support.columns]
    values = [equation.values[k] for k in support.columns]

    def fitted(term: ParametricTerm, own: tuple[float, ...], rounds: int) -> Projection | None:
        fixed = [*((True,) * len(v) for v in values), (False,) * len(own)]
        return project(equation, [*terms, term], [*values, own], fixed, rounds=rounds, errors=False)

    fits = [fitted(start.term, start.values, limits.PRODUCT_ROUNDS) for start in starts]
    chosen = sorted((fit for fit in fits if fit is not None), key=lambda fit: fit.rss)[
        : limits.PRODUCTS_KEPT
    ]
    estimated = [
        fitted(fit.terms[-1], fit.values[-1], 2 * limits.PRODUCT_ROUNDS) or fit for fit in chosen
    ]
    return [(fit.terms[-1], fit.values[-1]) for fit in estimated]


def _added(
    equation: DictionaryProblem,
    term: ParametricTerm,
    values: tuple[float, ...],
    indices: dict[str, int],
) -> int | None:
    """Add a column of a product, and the product itself if it is new. Return the column index."""
    text = to_text(term.expression)
    if text not in indices:
        equation.terms.append(term)
        indices[text] = len(equation.terms) - 1
    return equation.add(indices[text], tuple(float(f"{v:.8g}") for v in values))
