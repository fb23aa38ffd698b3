"""What one equation has, tried in the others with the roles of variables exchanged: the units of a
network often obey one law."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, permutations

import numpy as np

from ...terms import Expression, Variable, replace_variables
from ._candidates import Candidate, candidate, prune
from ._equation import Equation
from ._measurements import Measurements
from ._projection import project
from ._shapes import Shape

_TAKEN = 3  # candidates of each equation, best first
_ALL_ORDERS = 3  # units of which every order is tried; of more, pairs and rings
_MARGIN = 0.02  # of the range, beyond which a function must be defined

Renaming = dict[int, int]
"""Which variable takes the place of which."""


def in_other_roles(
    equation: Equation, others: Sequence[Sequence[Candidate]], goes_on: Callable[[], bool]
) -> list[Candidate]:
    """Candidates for the equation with the structure of the best ones of other equations, their
    constants estimated anew. Its symbols cost little: they are known from there."""
    rows = equation.rows
    found: list[Candidate] = []
    for one in [one for candidates in others for one in candidates[:_TAKEN]]:
        for renaming in renamings(rows, one.output, equation.output):
            if not goes_on():
                return found
            tried = _in_role(equation, one, renaming)
            found += [] if tried is None else [tried]
    return found


def renamings(rows: Measurements, source: int, goal: int) -> Iterator[Renaming]:
    """The exchanges of units that make the equation `source` into the equation `goal`. A unit is a
    state, or a velocity with its position."""
    units = {c: [c, *(p for p, v in rows.given.items() if v == c)] for c in rows.learned}
    alike = [c for c in rows.learned if len(units[c]) == len(units[source])]
    if goal not in alike:
        return
    for order in _orders(len(alike)):
        goals = dict(zip(alike, (alike[i] for i in order), strict=True))
        if goals[source] == goal:
            yield {
                old: new
                for c, to in goals.items()
                for old, new in zip(units[c], units[to], strict=True)
            }


def _orders(count: int) -> list[tuple[int, ...]]:
    """All orders of a few units; of many, exchanges of two and shifts along a ring."""
    if count <= _ALL_ORDERS:
        return list(permutations(range(count)))
    found = [tuple((i + by) % count for i in range(count)) for by in range(1, count)]
    for i, j in combinations(range(count), 2):
        order = list(range(count))
        order[i], order[j] = j, i
        found.append(tuple(order))
    return list(dict.fromkeys(found))


def _in_role(equation: Equation, one: Candidate, renaming: Renaming) -> Candidate | None:
    names = equation.rows.names
    variables = [Variable(renaming.get(v, v), names[renaming.get(v, v)]) for v in range(len(names))]
    known = {shape.expression: shape for shape in equation.shapes if shape.known}
    shapes = [_renamed(shape, variables, known) for shape in one.fit.shapes]
    pairs = zip(shapes, one.fit.values, strict=True)
    if not all(_is_defined(shape, values, equation.rows) for shape, values in pairs):
        return None
    if not all(equation.allows(shape).all() for shape in shapes):
        return None
    fit = project(equation, shapes, one.fit.values)
    found = candidate(equation, fit)
    return None if found is None else prune(equation, found)


def _renamed(
    shape: Shape, variables: Sequence[Expression], known: dict[Expression, Shape]
) -> Shape:
    expression = replace_variables(shape.expression, variables)
    if expression in known:
        return known[expression]
    top = shape.numerator
    return replace(
        shape, expression=expression, known=False, written_as="", is_shared=True,
        copy_of=shape.expression,
        family="own" if shape.known else shape.family,
        numerator=None if top is None else replace_variables(top, variables),
    )  # fmt: skip


def _is_defined(shape: Shape, values: Sequence[float], rows: Measurements) -> bool:
    """Whether the function is finite among the data and a little beyond."""
    wide = _MARGIN * (rows.extent.high - rows.extent.low)
    sample = rows.extent.sample
    points = np.concatenate([sample - wide, sample, sample + wide])
    return bool(np.isfinite(shape.columns(points, np.array([values]).reshape(1, -1))).all())
