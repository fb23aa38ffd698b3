"""Rational right-hand sides, from equations P(x) + Q(x) x' = 0, which are linear in both."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple, final

import numpy as np

from ...terms import (
    Expression,
    Number,
    Parameter,
    Polynomial,
    add,
    monomial,
    multiply,
    power,
    variables_of,
)
from ._beam import RIDGE
from ._dictionary import PER_SYMBOL
from ._equation import Equation
from ._score import misfit_nats
from ._shapes import Shape, symbols

_MOST = 3  # denominators that are offered
_LARGEST = 2  # factors in a denominator, beside its constant
_MOST_FACTORS = 14
_DEGREE = 2  # of denominators, and of the numerators that are offered over them
_IMPLICIT_DEGREE = 4  # of P, for one variable
_MARGIN = 0.25  # of the range beyond the data, in which a denominator must not vanish
_LEAST = 0.02  # of its largest value: less counts as vanishing
_PROBES = 500
_WIDE = 30.0  # by which a constant may change
_NONE = np.zeros((1, 0))


def add_denominators(equation: Equation) -> int:
    """Adds fractions whose denominators an implicit equation suggests, as shapes that share
    these; how many columns."""
    if equation.rows.slopes is None:
        return 0
    terms = _monomials(equation)
    factors = [one for one in terms if 0 < _degree(one) <= _DEGREE][:_MOST_FACTORS]
    problem = Implicit(equation, terms, factors)
    without = problem.eliminated(()).score
    sets = [
        chosen
        for size in range(1, _LARGEST + 1)
        for chosen in combinations(range(len(terms), len(problem)), size)
    ]
    found = sorted((problem.eliminated(chosen) for chosen in sets), key=lambda one: one.score)
    before = len(equation)
    for one in [one for one in found if one.score < without][:_MOST]:
        shared = {factors[k - len(terms)]: q for k, q in one.weights.items()}
        if not _vanishes(equation, shared):
            for shape in fractions([one for one in terms if _degree(one) <= _DEGREE], shared):
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
        values = [Shape(one, "poly").columns(rows.points, _NONE) for one in terms]
        over = [-values[terms.index(one)] * slope for one in factors]
        phi = equation.weighed(rows.at_rows(np.hstack([*values, *over])))
        norm = np.sqrt(np.vecdot(phi.T, phi.T))
        self.norm = np.where(norm > 0, norm, 1.0)
        self.phi = phi / self.norm
        self.gram = self.phi.T @ self.phi
        self.moments = self.phi.T @ equation.target
        self.square = equation.square
        half = 0.5 * np.log(max(equation.count, 2.0))
        self.price = np.array([half + PER_SYMBOL * symbols(one) for one in (*terms, *factors)])
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
            gram = self.gram[np.ix_(chosen, chosen)] + RIDGE * np.eye(len(chosen))
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


def fractions(numerators: Sequence[Expression], shared: dict[Expression, float]) -> Iterator[Shape]:
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
    ends = np.sort(np.stack([values / _WIDE, values * _WIDE]), axis=0)
    for one in numerators:
        yield Shape(
            multiply(one, power(below, Number(-1.0))), "rational", names, values[None],
            tuple(ends[0]), tuple(ends[1]), numerator=one,
        )  # fmt: skip


def _monomials(equation: Equation) -> list[Expression]:
    """Monomials of degree three, higher ones of a single variable."""
    rows = equation.rows
    moving = set(np.flatnonzero(rows.extent.varies).tolist()) - {rows.clock}
    found = [
        term
        for term in Polynomial(_IMPLICIT_DEGREE).terms(tuple(rows.names))
        if variables_of(term) <= moving and (len(variables_of(term)) < 2 or _degree(term) < 4)
    ]
    return found


def _degree(term: Expression) -> int:
    found = monomial(term, width=1 + max(variables_of(term), default=0))
    return 0 if found is None else sum(found[1])


def _vanishes(equation: Equation, shared: dict[Expression, float]) -> bool:
    """Whether 1 + sum q theta comes near zero among the data or around them."""
    extent = equation.rows.extent
    wide = _MARGIN * (extent.high - extent.low)
    low, high = extent.with_signs(np.stack([extent.low - wide, extent.high + wide]))
    rng = np.random.default_rng(0)
    drawn = rng.uniform(low, high, (_PROBES, len(low)))
    points = np.concatenate([drawn, equation.rows.points])
    value = np.ones(len(points))
    for one, q in shared.items():
        value += q * Shape(one, "poly").columns(points, _NONE)[:, 0]
    size = np.abs(value)
    return bool(value.min() < 0 < value.max() or size.min() < _LEAST * size.max())
