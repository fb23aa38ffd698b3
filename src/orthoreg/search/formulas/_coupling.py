"""Equations of motion in which several accelerations stand together, M(q) q'' = F(q, q'): sought as
they are written on paper, where they are short, and not solved for one acceleration each."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, combinations_with_replacement
from typing import NamedTuple, final

import numpy as np
from jaxtyping import Float

from ...physics import MOST_COUPLED, Bound, Physics
from ...terms import (
    AbstractLibrary,
    Empty,
    Expression,
    Number,
    Parameter,
    Polynomial,
    Variable,
    add,
    call,
    multiply,
    power,
    quote_name,
    to_text,
    variables_of,
)
from . import _limits as limits
from ._beam import Support, beam, best_of, exchange
from ._candidates import Candidate, candidate, prune, rescored
from ._equation import Equation, dictionary
from ._measurements import Measurements
from ._parametric_term import ParametricTerm
from ._projection import project
from ._proposals import Gap
from ._ranking import Combination, best_combinations, field_of
from ._search import least_left

_ONE = Number(1.0)


@final
class Coupled(NamedTuple):
    """A candidate for each learned equation. Variables from the place `width` on are derivatives of
    the outputs."""

    candidates: tuple[Candidate, ...]
    width: int

    @property
    def score(self) -> float:
        """By rows alone."""
        return sum(one.score for one in self.candidates)


def coupled_systems(
    rows: Measurements, gaps: Sequence[Gap], goes_on: Callable[[], bool]
) -> list[Coupled]:
    """Systems of equations that hold several accelerations, best first, where they are clearly
    better than the best candidates of the gaps, which hold one each."""
    moving = {v: p for p, v in rows.given.items() if v in rows.learned}
    if rows.slopes is None or not 1 < len(moving) <= MOST_COUPLED or len(moving) < len(gaps):
        return []
    width = len(rows.names)
    further = tuple(f"{name}'" for name in rows.outputs)
    wide = replace(
        rows,
        points=np.hstack([rows.points, rows.slopes]),
        centres=np.hstack([rows.centres, rows.targets]),
        beyond=None,
        names=(*rows.names, *further),
        sides=None if rows.sides is None else np.hstack([rows.sides, np.ones_like(rows.slopes)]),
    )
    problems, lists, gain = [], [], 0.0
    for gap in gaps:
        if not goes_on():
            return []
        c = gap.equation.output
        shapes = [*_known(gap.equation), *forces(rows, moving), *inertias(wide, width, moving, c)]
        problems.append(Equation(wide, dictionary(shapes, wide), c))
        lists.append(_search(problems[-1], width))
        explicit = gap.candidates[0]
        gain += problems[-1].nats(explicit.fit.rss) + explicit.price - lists[-1][0].score
    if gain < limits.MIN_GAIN:
        return []
    if _is_singular(Coupled(tuple(found[0] for found in lists), width), rows):
        lists = [
            _independent(equation, found, width, goes_on)
            for equation, found in zip(problems, lists, strict=True)
        ]
    systems = [Coupled(one, width) for one in best_combinations(lists, limits.COUPLED_TRIED)]
    sound = [one for one in systems if _is_coupled(one) and not _is_singular(one, rows)]
    return [one for one in sound if one.score - sound[0].score < limits.COUPLED_MAX_GAP][
        : limits.COUPLED_SYSTEMS
    ]


def _search(
    equation: Equation,
    width: int,
    without: Expression | None = None,
    count: int = limits.COUPLED_FITTED,
) -> list[Candidate]:
    """The best candidates that do without a term. The own acceleration may have one factor that
    changes: with more, sums that nearly vanish would explain it without any force."""
    terms = [equation.shapes[place].expression for place in equation.shape]
    own = np.array([width + equation.output in variables_of(term) for term in terms])
    allowed = ~own & np.array([term != without for term in terms])
    varied = [
        beam(equation, allowed, [(int(k),)], depth=limits.COUPLED_DEPTH)
        for k in np.flatnonzero(own).tolist()
    ]
    varied = sorted(varied, key=lambda supports: _lowest(equation, supports))
    plain = beam(equation, allowed, depth=limits.COUPLED_DEPTH)
    chosen = [
        one
        for supports in varied[limits.COUPLED_EXCHANGED :]
        for one in best_of(equation, supports, 1)
    ]
    for supports in [plain, *varied[: limits.COUPLED_EXCHANGED]]:
        chosen += best_of(equation, exchange(equation, allowed, supports), count)
    found = [_fitted(equation, one.columns, width) for one in chosen]
    sound = [one for one in found if one is not None]
    if without is None:
        fits = [(one.fit.rss, len(one.fit.shapes)) for one in sound]
        equation.noise = least_left(equation, fits)
    ordered = sorted((rescored(equation, one) for one in sound), key=lambda one: one.score)
    smaller = [
        _in_units(equation, prune(equation, one), width) for one in ordered[: limits.COUPLED_PRUNED]
    ]
    best: dict[frozenset[str], Candidate] = {}
    for one in sorted((one for one in smaller if one is not None), key=lambda one: one.score):
        best.setdefault(one.structure, one)
    return list(best.values())[: limits.COUPLED_KEPT]


def _lowest(equation: Equation, supports: Sequence[Support]) -> float:
    return min(float(equation.nats(one.rss)) + one.price for one in supports)


def _fitted(equation: Equation, columns: Sequence[int], width: int) -> Candidate | None:
    shapes = [equation.shapes[equation.shape[k]] for k in columns]
    fit = project(equation, shapes, [equation.values[k] for k in columns])
    found = candidate(equation, fit)
    return None if found is None else _in_units(equation, found, width)


def _independent(
    equation: Equation, found: Sequence[Candidate], width: int, goes_on: Callable[[], bool]
) -> list[Candidate]:
    """The candidates, and those that do without some force of the best one: where two equations of
    motion turned out to be the same, the other one lacks some of its terms."""
    more = list(found)
    for term in found[0].terms:
        if goes_on() and all(place < width for place in variables_of(term)):
            more += _search(equation, width, term, count=1)[:1]
    return sorted(more, key=lambda one: one.score)


def _in_units(equation: Equation, found: Candidate, width: int) -> Candidate | None:
    """The candidate judged by its misfit with a mean mass of one; None where the mass vanishes."""
    system = Coupled((found,), width)
    mass = mass_matrix(system, equation.rows.extent.sample)[:, 0, 0]
    if mass.min() < limits.MIN_MASS * mass.max():
        return None
    rss = found.fit.rss / float(np.mean(mass**2))
    return replace(found, fit=replace(found.fit, rss=rss), nats=float(equation.nats(rss)))


def _known(equation: Equation) -> list[ParametricTerm]:
    """The terms of the library."""
    return [one for one in equation.shapes if one.known]


def forces(rows: Measurements, moving: dict[int, int]) -> Iterator[ParametricTerm]:
    """What stands on the right: monomials of degree two, gravity and springs, what turning arms and
    turning frames add, dry and quadratic friction, inputs that act along an angle."""
    places = [v for v in np.flatnonzero(rows.extent.varies).tolist() if v != rows.clock]
    named = {v: Variable(v, rows.names[v]) for v in places}
    angles = list(_angles(rows, [named[p] for p in moving.values() if p in named]))
    speeds = [named[v] for v in moving if v in named]
    inputs = [named[v] for v in places if v >= len(rows.outputs)]
    for term in Polynomial(2).terms(tuple(rows.names)):
        if variables_of(term) <= set(places):
            yield ParametricTerm(term, "poly")
    squares = [multiply(*pair) for pair in combinations_with_replacement(speeds, 2)]
    yield from (ParametricTerm(one, "trig") for one in angles)
    for factor in (*squares, *inputs):
        yield from (ParametricTerm(multiply(factor, one), "trig") for one in angles)
    for p in moving.values():
        if p in named:
            yield ParametricTerm(power(named[p], Number(3.0)), "poly")
            yield from (ParametricTerm(multiply(named[p], one), "poly") for one in squares)
    for v in speeds:
        yield ParametricTerm(call("sign", v), "power")
        yield ParametricTerm(multiply(v, call("abs", v)), "power")


def inertias(
    rows: Measurements, width: int, moving: dict[int, int], output: int
) -> Iterator[ParametricTerm]:
    """Accelerations times functions of positions; the own one alone is the left side."""
    positions = [Variable(p, rows.names[p]) for p in moving.values() if rows.extent.varies[p]]
    factors = [*positions, *(power(one, Number(2.0)) for one in positions)]
    factors += [multiply(one, other) for one, other in combinations(positions, 2)]
    factors += list(_angles(rows, positions))
    for v in moving:
        rate = Variable(width + v, rows.names[width + v])
        own = [] if v == output else [_ONE]
        yield from (ParametricTerm(multiply(rate, one), "trig") for one in (*own, *factors))


def _angles(rows: Measurements, positions: Sequence[Variable]) -> Iterator[Expression]:
    """Sine and cosine of each position, and of each sum and difference, that go far enough."""
    extent = rows.extent
    wide = [
        one for one in positions
        if extent.high[one.index] - extent.low[one.index] > limits.MIN_ANGLE_RANGE
    ]  # fmt: skip
    arguments: list[Expression] = list(wide)
    for one, other in combinations(wide, 2):
        arguments += [add(one, multiply(Number(sign), other)) for sign in (1.0, -1.0)]
    for argument in arguments:
        yield from (call(name, argument) for name in ("sin", "cos"))


def _is_coupled(system: Coupled) -> bool:
    """Whether an equation holds the acceleration of another."""
    return any(
        place >= system.width for one in system.candidates for term in one.terms
        for place in variables_of(term)
    )  # fmt: skip


def _is_singular(system: Coupled, rows: Measurements) -> bool:
    """Whether the mass matrix cannot be inverted among the data: two equations say the same."""
    found = np.linalg.det(mass_matrix(system, rows.extent.sample))
    size = np.abs(found)
    return bool(
        found.min() < 0 < found.max() or size.min() < limits.MIN_DETERMINANT * max(size.max(), 1.0)
    )


def mass_matrix(system: Coupled, points: Float[np.ndarray, "P V"]) -> Float[np.ndarray, "P c c"]:
    """M at points, for the coefficient one of each equation's own acceleration."""
    outputs = [one.output for one in system.candidates]
    zero = np.zeros((len(points), system.width))
    found = np.zeros((len(points), len(outputs), len(outputs)))
    for e, one in enumerate(system.candidates):
        found[:, e, e] = 1.0
        at_rest = one.values(np.hstack([points, zero]))
        for j, c in enumerate(outputs):
            unit = zero.copy()
            unit[:, c] = 1.0
            found[:, e, j] -= one.values(np.hstack([points, unit])) - at_rest
    return found


def couple(
    system: Coupled,
    bind: Callable[[AbstractLibrary, Physics], Bound],
    rows: Measurements,
) -> Combination:
    """The field that the equations are once they are solved for the accelerations. They are given
    as they are written, every coefficient a constant that can be estimated."""
    texts, values = written(system, rows)
    physics, library = Physics(equations=texts), Empty()
    bound = bind(library, physics)
    features, known = bound.features, bound.knowledge
    coefficients = np.where(known.given, known.low, 0.0)
    for one in known.constants:  # of equations that hold one acceleration alone
        powers = [values[name] ** exponent for name, exponent in one.powers]
        coefficients[one.equation, one.term] = one.number * np.prod(powers)
    prices = np.zeros_like(coefficients)
    for one in system.candidates:
        place = int(np.flatnonzero(coefficients[one.output])[0])
        prices[one.output, place] = one.price
    whole = features.with_values(values[name] for name in features.parameters)
    return Combination(
        system.candidates, library, physics, field_of(whole, coefficients), prices, prices > 0,
        known,
    )  # fmt: skip


def written(system: Coupled, rows: Measurements) -> tuple[list[str], dict[str, float]]:
    """The equations as text, accelerations on the left, and the values of their constants, whose
    names are no columns."""
    letter = "k"
    while any(name.startswith(letter) for name in rows.names):
        letter += "k"
    position = {v: rows.outputs[p] for p, v in rows.given.items()}
    rates = [f"{quote_name(position.get(c, name))}''" for c, name in enumerate(rows.outputs)]
    names = [*(quote_name(name) for name in rows.names), *rates]
    texts, values = [], {}
    for e, one in enumerate(system.candidates, start=1):
        own = Variable(system.width + one.output, "")
        left: list[Expression] = [own]
        right: list[Expression] = []
        for k, (term, w) in enumerate(zip(one.terms, one.fit.coefficients, strict=True), start=1):
            is_inertia = any(place >= system.width for place in variables_of(term))
            name = f"{letter}{e}_{k}"
            values[name] = -float(w) if is_inertia else float(w)
            (left if is_inertia else right).append(multiply(Parameter(name), term))
        sides = [to_text(add(*parts), names=names) for parts in (left, right)]
        texts.append(" = ".join(sides))
    return texts, values
