"""Search for equations of motion with several accelerations each, M(q) q'' = F(q, q')."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, combinations_with_replacement
from typing import NamedTuple, final

import numpy as np
from jaxtyping import Float

from ...physics import MAX_COUPLED, Bound, ConstantSystem, Physics
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
from ._candidates import Candidate, prune, rescored, scored_fit
from ._equation import DictionaryProblem
from ._measurements import Measurements
from ._parametric_term import ParametricTerm
from ._projection import project
from ._proposals import EquationResult
from ._ranking import Combination, best_combinations, field_of
from ._search import smallest_noise

_ONE = Number(1.0)


@final
class CoupledSystem(NamedTuple):
    """A candidate for each learned equation.

    Variables from index `width` on are derivatives of the outputs.
    """

    candidates: tuple[Candidate, ...]
    width: int

    @property
    def score(self) -> float:
        """The score on rows."""
        return sum(candidate.score for candidate in self.candidates)


def coupled_systems(
    rows: Measurements, results: Sequence[EquationResult], should_continue: Callable[[], bool]
) -> list[CoupledSystem]:
    """Return systems of equations with several accelerations each, best first.

    They must clearly beat the best candidates with one acceleration each. Such equations of motion,
    M(q) q'' = F(q, q'), are short in this form, but long when they are solved for one acceleration.
    """
    position_of = {v: p for p, v in rows.given.items() if v in rows.learned}
    if (
        rows.slopes is None
        or not 1 < len(position_of) <= MAX_COUPLED
        or len(position_of) < len(results)
    ):
        return []
    width = len(rows.names)
    rates = tuple(f"{name}'" for name in rows.outputs)
    extended = replace(
        rows,
        points=np.hstack([rows.points, rows.slopes]),
        centres=np.hstack([rows.centres, rows.targets]),
        beyond=None,
        names=(*rows.names, *rates),
        sides=None if rows.sides is None else np.hstack([rows.sides, np.ones_like(rows.slopes)]),
    )
    problems, lists, gain = [], [], 0.0
    for result in results:
        if not should_continue():
            return []
        c = result.equation.output
        terms = [
            *_known(result.equation),
            *forces(rows, position_of),
            *inertias(extended, width, position_of, c),
        ]
        is_like = rows.combine_like([term.expression for term in terms])
        terms = [term for term, each in zip(terms, is_like, strict=True) if each or term.known]
        problems.append(DictionaryProblem(extended, terms, c))
        lists.append(_search(problems[-1], width))
        explicit = result.candidates[0]
        gain += problems[-1].nats(explicit.fit.rss) + explicit.price - lists[-1][0].score
    if gain < limits.MIN_GAIN:
        return []
    if _is_singular(CoupledSystem(tuple(candidates[0] for candidates in lists), width), rows):
        lists = [
            _independent(equation, candidates, width, should_continue)
            for equation, candidates in zip(problems, lists, strict=True)
        ]
    systems = [
        CoupledSystem(system, width) for system in best_combinations(lists, limits.COUPLED_TRIED)
    ]
    regular = [
        system for system in systems if _is_coupled(system) and not _is_singular(system, rows)
    ]
    return [system for system in regular if system.score - regular[0].score < limits.MAX_GAP][
        : limits.COUPLED_SYSTEMS
    ]


def _search(
    equation: DictionaryProblem,
    width: int,
    without: Expression | None = None,
    count: int = limits.COUPLED_FITTED,
) -> list[Candidate]:
    """Return the best candidates without the term `without`.

    In a term, the equation's acceleration may be multiplied by only one variable factor: with more,
    sums that nearly vanish would explain it without any force.
    """
    terms = [equation.terms[place].expression for place in equation.term_of_column]
    has_own = np.array([width + equation.output in variables_of(term) for term in terms])
    allowed = ~has_own & np.array([term != without for term in terms])
    varied = [
        beam(equation, allowed, [(int(k),)], depth=limits.COUPLED_DEPTH)
        for k in np.flatnonzero(has_own).tolist()
    ]
    varied = sorted(varied, key=lambda supports: _lowest(equation, supports))
    plain = beam(equation, allowed, depth=limits.COUPLED_DEPTH)
    chosen = [
        each
        for supports in varied[limits.COUPLED_EXCHANGED :]
        for each in best_of(equation, supports, 1)
    ]
    for supports in [plain, *varied[: limits.COUPLED_EXCHANGED]]:
        chosen += best_of(equation, exchange(equation, allowed, supports), count)
    fits = [_fitted(equation, each.columns, width) for each in chosen]
    fitted = [each for each in fits if each is not None]
    if without is None:
        fits = [(each.fit.rss, len(each.fit.terms)) for each in fitted]
        equation.noise = smallest_noise(equation, fits)
    ranked = sorted((rescored(equation, each) for each in fitted), key=lambda each: each.score)
    pruned = [
        _in_units(equation, prune(equation, each), width)
        for each in ranked[: limits.COUPLED_PRUNED]
    ]
    best: dict[frozenset[str], Candidate] = {}
    for each in sorted((each for each in pruned if each is not None), key=lambda each: each.score):
        best.setdefault(each.structure, each)
    return list(best.values())[: limits.COUPLED_KEPT]


def _lowest(equation: DictionaryProblem, supports: Sequence[Support]) -> float:
    return min(float(equation.nats(support.rss)) + support.price for support in supports)


def _fitted(equation: DictionaryProblem, columns: Sequence[int], width: int) -> Candidate | None:
    terms = [equation.terms[equation.term_of_column[k]] for k in columns]
    fit = project(equation, terms, [equation.values[k] for k in columns])
    fitted = scored_fit(equation, fit)
    return None if fitted is None else _in_units(equation, fitted, width)


def _independent(
    equation: DictionaryProblem,
    known: Sequence[Candidate],
    width: int,
    should_continue: Callable[[], bool],
) -> list[Candidate]:
    """Return the candidates, and the best candidates that lack a force of the first one.

    If two equations of motion turn out to be equal, one of them contains terms of the other.
    """
    candidates = list(known)
    for term in known[0].expressions:
        if should_continue() and all(variable < width for variable in variables_of(term)):
            candidates += _search(equation, width, term, count=1)[:1]
    return sorted(candidates, key=lambda candidate: candidate.score)


def _in_units(equation: DictionaryProblem, fitted: Candidate, width: int) -> Candidate | None:
    """Return the candidate with its misfit scaled to a mean mass of one.

    Return None if the mass vanishes.
    """
    system = CoupledSystem((fitted,), width)
    mass = mass_matrix(system, equation.rows.extent.sample)[:, 0, 0]
    if mass.min() < limits.MIN_MASS * mass.max():
        return None
    rss = fitted.fit.rss / float(np.mean(mass**2))
    return replace(fitted, fit=replace(fitted.fit, rss=rss), nats=float(equation.nats(rss)))


def _known(equation: DictionaryProblem) -> list[ParametricTerm]:
    """Return the library terms of an equation."""
    return [term for term in equation.terms if term.known]


def forces(rows: Measurements, moving: dict[int, int]) -> Iterator[ParametricTerm]:
    """Yield candidate terms for right-hand sides.

    These are monomials of degree two, gravity and springs, terms of rotating arms and frames, dry
    and quadratic friction, and inputs that act along an angle.
    """
    variables = [v for v in np.flatnonzero(rows.extent.varies).tolist() if v != rows.time_variable]
    named = {v: Variable(v, rows.names[v]) for v in variables}
    angles = list(_angles(rows, [named[p] for p in moving.values() if p in named]))
    velocities = [named[v] for v in moving if v in named]
    inputs = [named[v] for v in variables if v >= len(rows.outputs)]
    for term in Polynomial(2).terms(tuple(rows.names)):
        if variables_of(term) <= set(variables):
            yield ParametricTerm(term, "poly")
    squares = [multiply(*pair) for pair in combinations_with_replacement(velocities, 2)]
    yield from (ParametricTerm(one, "trig") for one in angles)
    for factor in (*squares, *inputs):
        yield from (ParametricTerm(multiply(factor, one), "trig") for one in angles)
    for p in moving.values():
        if p in named:
            yield ParametricTerm(power(named[p], Number(3.0)), "poly")
            yield from (ParametricTerm(multiply(named[p], one), "poly") for one in squares)
    for v in velocities:
        yield ParametricTerm(call("sign", v), "power")
        yield ParametricTerm(multiply(v, call("abs", v)), "power")


def inertias(
    rows: Measurements, width: int, moving: dict[int, int], output: int
) -> Iterator[ParametricTerm]:
    """Yield accelerations times functions of positions.

    The equation's own acceleration is not among them, because it is on the left-hand side.
    """
    positions = [Variable(p, rows.names[p]) for p in moving.values() if rows.extent.varies[p]]
    factors = [*positions, *(power(one, Number(2.0)) for one in positions)]
    factors += [multiply(one, other) for one, other in combinations(positions, 2)]
    factors += list(_angles(rows, positions))
    for v in moving:
        rate = Variable(width + v, rows.names[width + v])
        constant = [] if v == output else [_ONE]
        yield from (ParametricTerm(multiply(rate, one), "trig") for one in (*constant, *factors))


def _angles(rows: Measurements, positions: Sequence[Variable]) -> Iterator[Expression]:
    """Yield the sine and cosine of each position, sum and difference whose range is large
    enough.
    """
    extent = rows.extent
    wide = [
        position for position in positions
        if extent.high[position.index] - extent.low[position.index] > limits.MIN_ANGLE_RANGE
    ]  # fmt: skip
    arguments: list[Expression] = list(wide)
    for position, other in combinations(wide, 2):
        arguments += [add(position, multiply(Number(sign), other)) for sign in (1.0, -1.0)]
    for argument in arguments:
        yield from (call(name, argument) for name in ("sin", "cos"))


def _is_coupled(system: CoupledSystem) -> bool:
    """Return whether an equation contains the acceleration of another equation."""
    return any(
        variable >= system.width
        for candidate in system.candidates
        for term in candidate.expressions
        for variable in variables_of(term)
    )


def _is_singular(system: CoupledSystem, rows: Measurements) -> bool:
    """Return whether the mass matrix is singular on the data, which means that two equations are
    equal.
    """
    determinant = np.linalg.det(mass_matrix(system, rows.extent.sample))
    size = np.abs(determinant)
    return bool(
        determinant.min() < 0 < determinant.max()
        or size.min() < limits.MIN_DENOMINATOR * max(size.max(), 1.0)
    )


def mass_matrix(
    system: CoupledSystem, points: Float[np.ndarray, "P V"]
) -> Float[np.ndarray, "P c c"]:
    """Return the mass matrix M at points. Each equation's own acceleration has coefficient one."""
    outputs = [candidate.output for candidate in system.candidates]
    zero = np.zeros((len(points), system.width))
    mass = np.zeros((len(points), len(outputs), len(outputs)))
    for e, candidate in enumerate(system.candidates):
        mass[:, e, e] = 1.0
        at_rest = candidate.values(np.hstack([points, zero]))
        for j, c in enumerate(outputs):
            unit = zero.copy()
            unit[:, c] = 1.0
            mass[:, e, j] -= candidate.values(np.hstack([points, unit])) - at_rest
    return mass


def couple(
    system: CoupledSystem,
    bind: Callable[[AbstractLibrary, Physics], Bound],
    rows: Measurements,
) -> Combination:
    """Return the combination whose field solves the equations for the accelerations.

    The equations become physics in which every coefficient is a constant.
    """
    texts, values = written(system, rows)
    physics, library = Physics(equations=texts), Empty()
    bound = bind(library, physics)
    features, known = bound.features, bound.knowledge
    coefficients = np.where(known.given, known.low, 0.0)
    # starting values from equations with a single acceleration
    for place, value in ConstantSystem(known.constants).at(values.__getitem__).items():
        coefficients[place] = value
    prices = np.zeros_like(coefficients)
    for item in system.candidates:
        term = int(np.flatnonzero(coefficients[item.output])[0])
        prices[item.output, term] = item.price
    resolved = features.with_values(values[name] for name in features.parameters)
    return Combination(
        system.candidates, library, physics, field_of(resolved, coefficients), prices, prices > 0,
        known,
    )  # fmt: skip


def written(system: CoupledSystem, rows: Measurements) -> tuple[list[str], dict[str, float]]:
    """Return the equations as text with accelerations on the left, and the values of their
    constants.

    The names of the constants differ from all columns.
    """
    letter = "k"
    while any(name.startswith(letter) for name in rows.names):
        letter += "k"
    position = {v: rows.outputs[p] for p, v in rows.given.items()}
    rates = [f"{quote_name(position.get(c, name))}''" for c, name in enumerate(rows.outputs)]
    names = [*(quote_name(name) for name in rows.names), *rates]
    texts, values = [], {}
    for e, candidate in enumerate(system.candidates, start=1):
        acceleration = Variable(system.width + candidate.output, "")
        left: list[Expression] = [acceleration]
        right: list[Expression] = []
        for k, (term, w) in enumerate(
            zip(candidate.expressions, candidate.fit.coefficients, strict=True), start=1
        ):
            is_inertia = any(variable >= system.width for variable in variables_of(term))
            name = f"{letter}{e}_{k}"
            values[name] = -float(w) if is_inertia else float(w)
            (left if is_inertia else right).append(multiply(Parameter(name), term))
        sides = [to_text(add(*parts), names=names) for parts in (left, right)]
        texts.append(" = ".join(sides))
    return texts, values
