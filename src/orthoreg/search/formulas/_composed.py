"""Terms composed of others: fractions over a shared denominator, and products of two templates."""

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
from ._equation import Equation
from ._measurements import misfit_nats
from ._parametric_term import ParametricTerm, held, symbols
from ._projection import Projection, project

_NONE = np.zeros((1, 0))


def add_denominators(equation: Equation) -> int:
    """Adds fractions whose denominators an implicit equation suggests, as shapes that share
    these; how many columns."""
    if equation.rows.slopes is None:
        return 0
    terms = _monomials(equation)
    factors = [one for one in terms if 0 < _degree(one) <= limits.FRACTION_DEGREE][
        : limits.MAX_FACTORS
    ]
    problem = Implicit(equation, terms, factors)
    without = problem.eliminated(()).score
    sets = [
        chosen
        for size in range(1, limits.MAX_DENOMINATOR_FACTORS + 1)
        for chosen in combinations(range(len(terms), len(problem)), size)
    ]
    found = sorted((problem.eliminated(chosen) for chosen in sets), key=lambda one: one.score)
    before = len(equation)
    for one in [one for one in found if one.score < without][: limits.DENOMINATORS]:
        shared = {factors[k - len(terms)]: q for k, q in one.weights.items()}
        if not _vanishes(equation, shared):
            for shape in fractions(
                [one for one in terms if _degree(one) <= limits.FRACTION_DEGREE], shared
            ):
                equation.offer(shape)
    return len(equation) - before


@final
class Elimination(NamedTuple):
    """The lowest score on the way, and the weights of the factors in 1 + sum q theta there, by
    their columns."""

    score: float
    weights: dict[int, float]


@final
class Implicit:
    """y = P w - (Q y) q for one equation: columns of P, then of Q y, of unit norm."""

    def __init__(
        self, equation: Equation, terms: Sequence[Expression], factors: Sequence[Expression]
    ):
        rows = equation.rows
        assert rows.slopes is not None
        slope = rows.slopes[:, [equation.output]]
        values = [ParametricTerm(one, "poly").columns(rows.points, _NONE) for one in terms]
        over = [-values[terms.index(one)] * slope for one in factors]
        phi = equation.weighed(rows.at_rows(np.hstack([*values, *over])))
        norm = np.sqrt(np.vecdot(phi.T, phi.T))
        self.norm = np.where(norm > 0, norm, 1.0)
        self.phi = phi / self.norm
        self.gram = self.phi.T @ self.phi
        self.moments = self.phi.T @ equation.target
        self.square = equation.square
        half = 0.5 * np.log(max(equation.count, 2.0))
        self.price = np.array(
            [half + limits.SYMBOL_PRICE * symbols(one) for one in (*terms, *factors)]
        )
        self._count, self._rows = equation.count, len(equation.target)
        self._reliable = rows.reliable
        self._terms = len(terms)

    def __len__(self) -> int:
        return self.phi.shape[1]

    def eliminated(self, factors: Sequence[int]) -> Elimination:
        """All terms beside these factors, then one less after the other, the least missed first."""
        chosen = [*range(self._terms), *factors]
        best = Elimination(np.inf, {})
        while True:
            gram = self.gram[np.ix_(chosen, chosen)] + limits.RIDGE * np.eye(len(chosen))
            inverse = np.linalg.inv(gram)
            w = inverse @ self.moments[chosen]
            rss = max(self.square - float(self.moments[chosen] @ w), 0.0)
            score = float(self._nats(rss)) + float(self.price[chosen].sum())
            if score < best.score:
                own = slice(len(chosen) - len(factors), None)
                weights = (w / self.norm[chosen])[own].tolist()
                best = Elimination(score, dict(zip(factors, weights, strict=True)))
            if len(chosen) - len(factors) <= 1:
                return best
            lost = w**2 / np.diag(inverse)
            lost[len(chosen) - len(factors) :] = np.inf
            del chosen[int(np.argmin(lost))]

    def _nats(self, rss: float) -> Any:
        return misfit_nats(max(rss, 1e-300) / self._rows, 1.0, self._count, self._reliable)


def fractions(
    numerators: Sequence[Expression], shared: dict[Expression, float]
) -> Iterator[ParametricTerm]:
    """Each numerator over the denominator, with the constants of that as parameters: c + theta
    for one factor, 1 + q theta + ... for more."""
    if len(shared) == 1:
        ((factor, q),) = shared.items()
        names, values = ("c",), np.array([1 / q])
        below = add(Parameter("c"), factor)
    else:
        names = tuple(f"q{i}" for i in range(1, len(shared) + 1))
        values = np.array(list(shared.values()))
        parts = [multiply(Parameter(n), one) for n, one in zip(names, shared, strict=True)]
        below = add(Number(1.0), *parts)
    ends = np.sort(
        np.stack([values / limits.DENOMINATOR_RANGE, values * limits.DENOMINATOR_RANGE]), axis=0
    )
    for one in numerators:
        yield ParametricTerm(
            multiply(one, power(below, Number(-1.0))), "rational", names, values[None],
            tuple(ends[0]), tuple(ends[1]), numerator=one,
        )  # fmt: skip


def _monomials(equation: Equation) -> list[Expression]:
    """Monomials of degree three, higher ones of a single variable."""
    rows = equation.rows
    moving = set(np.flatnonzero(rows.extent.varies).tolist()) - {rows.clock}
    found = [
        term
        for term in Polynomial(limits.IMPLICIT_DEGREE).terms(tuple(rows.names))
        if variables_of(term) <= moving and (len(variables_of(term)) < 2 or _degree(term) < 4)
    ]
    return found


def _degree(term: Expression) -> int:
    found = monomial(term, width=1 + max(variables_of(term), default=0))
    return 0 if found is None else sum(found[1])


def _vanishes(equation: Equation, shared: dict[Expression, float]) -> bool:
    """Whether 1 + sum q theta comes near zero among the data or around them."""
    extent = equation.rows.extent
    wide = limits.POLE_MARGIN * (extent.high - extent.low)
    low, high = extent.with_signs(np.stack([extent.low - wide, extent.high + wide]))
    rng = np.random.default_rng(0)
    drawn = rng.uniform(low, high, (limits.POLE_POINTS, len(low)))
    points = np.concatenate([drawn, equation.rows.points])
    value = np.ones(len(points))
    for one, q in shared.items():
        value += q * ParametricTerm(one, "poly").columns(points, _NONE)[:, 0]
    size = np.abs(value)
    return bool(value.min() < 0 < value.max() or size.min() < limits.MIN_DENOMINATOR * size.max())


FAMILY = "product"


@final
@dataclass(frozen=True, eq=False)
class Factors:
    """The templates of one variable as shapes, and their columns at the points side by side;
    those of factor k are `places[k]`."""

    shapes: tuple[ParametricTerm, ...]
    places: tuple[slice, ...]
    columns: Float[np.ndarray, "M g"]


@final
class Start(NamedTuple):
    """A product beside a support, with the values of its parameters on the grids."""

    gain: float
    shape: ParametricTerm
    values: tuple[float, ...]


def add_products(
    equation: Equation,
    supports: Sequence[Support],
    goes_on: Callable[[], bool] = lambda: True,
) -> list[tuple[int, ...]]:
    """Adds the products that serve these supports best, with their parameters estimated; each of
    the supports with each of its products."""
    bases = [orthonormal(equation.phi[:, list(one.columns)]) for one in supports]
    starts: list[list[Start]] = [[] for _ in supports]
    for first, second in _pairs(equation):
        if not goes_on():
            break
        gains = product_gains(equation, bases, first.columns, second.columns)
        found = _best_starts(equation, first, second, gains)
        starts = [_largest([*old, *new]) for old, new in zip(starts, found, strict=True)]
    places: dict[str, int] = {}
    begun = []
    for support, tried in zip(supports, starts, strict=True):
        if not goes_on():
            break
        for shape, values in _estimated(equation, support, tried):
            column = _added(equation, shape, values, places)
            if column is not None:
                begun.append((*support.columns, column))
    return begun


def orthonormal(columns: Float[np.ndarray, "R k"]) -> Float[np.ndarray, "R r"]:
    """A basis of the space that these columns span."""
    if not columns.shape[1]:
        return columns
    u, s, _ = np.linalg.svd(columns, full_matrices=False)
    return u[:, s > limits.MIN_SINGULAR_VALUE * s[0]]


def product_gains(
    equation: Equation,
    bases: Sequence[Float[np.ndarray, "R _"]],
    first: Float[np.ndarray, "M g"],
    second: Float[np.ndarray, "M h"],
) -> Float[np.ndarray, "s g h"]:
    """By how much the product of each column of `first` with each of `second`, at the points,
    lowers the squared misfit of each support, given as a basis; minus infinity where it depends
    on that support or is not finite."""
    y = equation.target
    joint = np.hstack(bases)
    ends = np.cumsum([0, *(basis.shape[1] for basis in bases)])
    left = np.column_stack([y - basis @ (basis.T @ y) for basis in bases])
    gains = np.full((len(bases), first.shape[1], second.shape[1]), -np.inf)
    for k, column in enumerate(first.T):
        with np.errstate(all="ignore"):
            phi = equation.weighed(equation.rows.at_rows(column[:, None] * second))
            norm = np.sqrt(np.vecdot(phi.T, phi.T))
            sound = np.isfinite(norm) & (norm > 0)
            phi = np.where(sound, phi, 0.0) / np.where(sound, norm, 1.0)
        inside = (joint.T @ phi) ** 2
        correlation = (left.T @ phi) ** 2
        for s, (begin, end) in enumerate(zip(ends, ends[1:], strict=False)):
            own = 1.0 - inside[begin:end].sum(axis=0)
            good = sound & (own > limits.MIN_NEW_NORM)
            gains[s, k, good] = correlation[s, good] / own[good]
    return gains


def product(one: ParametricTerm, two: ParametricTerm) -> ParametricTerm:
    """The product of two shapes, the parameters of the second with the number 2 in their names;
    its grid has every row of the first grid with every row of the second."""
    names = {name: Parameter(f"{name}2") for name in two.parameters}
    grid = np.hstack([
        np.repeat(one.grid, len(two.grid), axis=0), np.tile(two.grid, (len(one.grid), 1))
    ])  # fmt: skip
    return ParametricTerm(
        multiply(one.expression, substitute(two.expression, names)),
        FAMILY,
        (*one.parameters, *(f"{name}2" for name in two.parameters)),
        grid,
        (*one.low, *two.low),
        (*one.high, *two.high),
    )


def _pairs(equation: Equation) -> Iterator[tuple[Factors, Factors]]:
    """The factors of every two variables that move, but for time."""
    rows = equation.rows
    moving = [int(v) for v in np.flatnonzero(rows.extent.varies) if v != rows.clock]
    shapes = {
        v: [
            one
            for _, one in with_templates(
                Variable(v, rows.names[v]), span_of(rows.extent, v), (*TEMPLATES, *PLAIN_FACTORS)
            )
        ]
        for v in moving
    }
    pairs = list(combinations(moving, 2))
    shapes = _not_too_many(shapes, pairs)
    factors = {v: _factors(shapes[v], rows.points) for v in moving}
    for i, j in pairs:
        yield factors[i], factors[j]


def _not_too_many(
    shapes: dict[int, list[ParametricTerm]], pairs: Sequence[tuple[int, int]]
) -> dict[int, list[ParametricTerm]]:
    """The factors of each variable with so many values that all products have room."""
    found = shapes
    for most in limits.PRODUCT_VALUES:
        count = {v: sum(len(one.grid) for one in mine) for v, mine in found.items()}
        if sum(count[i] * count[j] for i, j in pairs) <= limits.MAX_PRODUCT_COLUMNS:
            break
        found = {
            v: [replace(one, grid=coarse(one.grid, most)) for one in mine]
            for v, mine in shapes.items()
        }
    return found


def _factors(shapes: Sequence[ParametricTerm], points: Float[np.ndarray, "M V"]) -> Factors:
    ends = np.cumsum([0, *(len(one.grid) for one in shapes)]).tolist()
    columns = np.hstack([one.columns(points, one.grid) for one in shapes])
    places = tuple(slice(*pair) for pair in zip(ends, ends[1:], strict=False))
    return Factors(tuple(shapes), places, columns)


def _best_starts(
    equation: Equation, first: Factors, second: Factors, gains: Float[np.ndarray, "s g h"]
) -> list[list[Start]]:
    """For each support the best values of each product of two factors that the symmetries allow."""
    found: list[list[Start]] = [[] for _ in gains]
    for one, rows in zip(first.shapes, first.places, strict=True):
        for two, columns in zip(second.shapes, second.places, strict=True):
            shape = product(one, two)
            allowed = equation.allows(shape)
            if not allowed.any():
                continue
            block = gains[:, rows, columns].reshape(len(gains), -1)
            block = np.where(allowed, block, -np.inf)
            for mine, row, best in zip(found, block, block.argmax(axis=1), strict=True):
                if np.isfinite(row[best]):
                    values = tuple(shape.grid[best].tolist())
                    start = Start(float(row[best]), shape, values)
                    mine.append(start if allowed.all() else _held(start))
    return [_largest(mine) for mine in found]


def _held(start: Start) -> Start:
    """With its parameters as numbers: others would break a symmetry."""
    return Start(start.gain, held(start.shape, start.values), ())


def _largest(starts: Sequence[Start]) -> list[Start]:
    return sorted(starts, key=lambda one: -one.gain)[: limits.PRODUCTS_TRIED]


def _estimated(
    equation: Equation, support: Support, starts: Sequence[Start]
) -> list[tuple[ParametricTerm, tuple[float, ...]]]:
    """The products that leave least beside a support, with their parameters estimated."""
    shapes = [equation.shapes[equation.shape[k]] for k in support.columns]
    values = [equation.values[k] for k in support.columns]

    def fitted(shape: ParametricTerm, own: tuple[float, ...], rounds: int) -> Projection | None:
        fixed = [*((True,) * len(v) for v in values), (False,) * len(own)]
        return project(
            equation, [*shapes, shape], [*values, own], fixed, rounds=rounds, errors=False
        )

    begun = [fitted(one.shape, one.values, limits.PRODUCT_ROUNDS) for one in starts]
    best = sorted((fit for fit in begun if fit is not None), key=lambda fit: fit.rss)[
        : limits.PRODUCTS_KEPT
    ]
    found = [
        fitted(fit.shapes[-1], fit.values[-1], 2 * limits.PRODUCT_ROUNDS) or fit for fit in best
    ]
    return [(fit.shapes[-1], fit.values[-1]) for fit in found]


def _added(
    equation: Equation, shape: ParametricTerm, values: tuple[float, ...], places: dict[str, int]
) -> int | None:
    """The number of a column of a shape that `places` has, or gets, by its text."""
    text = to_text(shape.expression)
    if text not in places:
        equation.shapes.append(shape)
        places[text] = len(equation.shapes) - 1
    return equation.add(places[text], tuple(float(f"{v:.8g}") for v in values))
