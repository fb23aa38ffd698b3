"""Variants of a candidate: steps instead of steep sigmoids, and exchanged roles of variables."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, permutations
from typing import NamedTuple, final

import numpy as np

from ...terms import (
    Expression,
    Number,
    Parameter,
    Variable,
    add,
    call,
    multiply,
    replace_variables,
    substitute,
)
from . import _limits as limits
from ._candidates import Candidate, prune, scored_fit
from ._catalogue import SIGMOID, parsed, span_of
from ._equation import DictionaryProblem
from ._measurements import Measurements
from ._parametric_term import ParametricTerm
from ._projection import project


@final
class Step(NamedTuple):
    """A step with its threshold and its factor."""

    term: ParametricTerm
    threshold: float
    factor: Expression


def with_steps(equation: DictionaryProblem, candidate: Candidate) -> Iterator[Candidate]:
    """Yield the candidate with a step sign(z - c) instead of a steep sigmoid, if that lowers the
    score.

    A step has no slope, so the search locates it as the middle of a sigmoid.
    """
    fit = candidate.fit
    for k, (term, values) in enumerate(zip(fit.terms, fit.values, strict=True)):
        step = step_for(equation, term, values)
        if step is None or not equation.allows(step.term).all():
            continue
        others = [i for i in range(len(fit.terms)) if i != k]
        terms = [step.term, *(fit.terms[i] for i in others)]
        starts = [(step.threshold,), *(fit.values[i] for i in others)]
        fixed = [(False,), *(fit.held[i] for i in others)]
        for constant in _flat_part(equation, terms, step.factor):
            terms, starts, fixed = [*terms, constant], [*starts, ()], [*fixed, ()]
        variant = scored_fit(equation, project(equation, terms, starts, fixed))
        if variant is not None and (better := prune(equation, variant)).score < candidate.score:
            yield better


def step_for(
    equation: DictionaryProblem, term: ParametricTerm, values: tuple[float, ...]
) -> Step | None:
    """Return the step at the middle of a steep sigmoid, possibly times a variable.

    Return None for other terms.
    """
    if term.parameters != ("p", "c"):
        return None
    rows = equation.rows
    variables = [Variable(v, name) for v, name in enumerate(rows.names)]
    for z in variables:
        sigmoid = substitute(parsed(SIGMOID), {"z": z})
        for factor in (Number(1.0), *variables):
            if term.expression != multiply(factor, sigmoid):
                continue
            span = span_of(rows.extent, z.index)
            slope, middle = values[0], values[1] / values[0]
            if slope * span.std < limits.MIN_STEP_SLOPE:
                return None
            jump = call("sign", add(z, multiply(Number(-1.0), Parameter("c"))))
            bounds = (
                middle - limits.THRESHOLD_RANGE * span.range,
                middle + limits.THRESHOLD_RANGE * span.range,
            )
            step = ParametricTerm(
                multiply(factor, jump), "power", ("c",), np.array([[middle]]),
                (bounds[0],), (bounds[1],), widths=(limits.THRESHOLD_DIFFERENCE * span.range,),
            )  # fmt: skip
            return Step(step, middle, factor)
    return None


def _flat_part(
    equation: DictionaryProblem, terms: list[ParametricTerm], factor: Expression
) -> list[ParametricTerm]:
    """Return the constant part of a sigmoid times its factor, unless the candidate contains it."""
    if any(term.expression == factor for term in terms):
        return []
    return [term for term in equation.terms if term.expression == factor][:1]


Renaming = dict[int, int]
"""A dict from each variable to the variable that replaces it."""


def in_other_roles(
    equation: DictionaryProblem,
    others: Sequence[Sequence[Candidate]],
    should_continue: Callable[[], bool],
) -> list[Candidate]:
    """Return candidates with the structure of other equations' best candidates, and newly estimated
    constants.

    The units of a network often obey the same law. Symbols of such a known structure are cheap.
    """
    rows = equation.rows
    copies: list[Candidate] = []
    for candidate in [
        candidate for candidates in others for candidate in candidates[: limits.ROLE_CANDIDATES]
    ]:
        for renaming in renamings(rows, candidate.output, equation.output):
            if not should_continue():
                return copies
            copy = _in_role(equation, candidate, renaming)
            copies += [] if copy is None else [copy]
    return copies


def renamings(rows: Measurements, source: int, goal: int) -> Iterator[Renaming]:
    """Yield the exchanges of units that map the equation `source` to the equation `goal`.

    A unit is a state, or a position with its velocity.
    """
    units = {c: [c, *(p for p, v in rows.given.items() if v == c)] for c in rows.learned}
    similar = [c for c in rows.learned if len(units[c]) == len(units[source])]
    if goal not in similar:
        return
    for order in _orders(len(similar)):
        goals = dict(zip(similar, (similar[i] for i in order), strict=True))
        if goals[source] == goal:
            yield {
                old: new
                for c, to in goals.items()
                for old, new in zip(units[c], units[to], strict=True)
            }


def _orders(count: int) -> list[tuple[int, ...]]:
    """Return all orders of a few units.

    For many units, return exchanges of two units, and shifts along a ring.
    """
    if count <= limits.MAX_PERMUTED_UNITS:
        return list(permutations(range(count)))
    orders = [tuple((i + shift) % count for i in range(count)) for shift in range(1, count)]
    for i, j in combinations(range(count), 2):
        order = list(range(count))
        order[i], order[j] = j, i
        orders.append(tuple(order))
    return list(dict.fromkeys(orders))


def _in_role(
    equation: DictionaryProblem, source: Candidate, renaming: Renaming
) -> Candidate | None:
    names = equation.rows.names
    variables = [Variable(renaming.get(v, v), names[renaming.get(v, v)]) for v in range(len(names))]
    known = {term.expression: term for term in equation.terms if term.known}
    terms = [_renamed(term, variables, known) for term in source.fit.terms]
    pairs = zip(terms, source.fit.values, strict=True)
    if not all(_is_defined(term, values, equation.rows) for term, values in pairs):
        return None
    if not all(equation.allows(term).all() for term in terms):
        return None
    fit = project(equation, terms, source.fit.values)
    copy = scored_fit(equation, fit)
    return None if copy is None else prune(equation, copy)


def _renamed(
    term: ParametricTerm, variables: Sequence[Expression], known: dict[Expression, ParametricTerm]
) -> ParametricTerm:
    expression = replace_variables(term.expression, variables)
    if expression in known:
        return known[expression]
    numerator = term.numerator
    return replace(
        term, expression=expression, known=False, written_as="", is_shared=True,
        copy_of=term.expression,
        family="own" if term.known else term.family,
        numerator=None if numerator is None else replace_variables(numerator, variables),
    )  # fmt: skip


def _is_defined(term: ParametricTerm, values: Sequence[float], rows: Measurements) -> bool:
    """Return whether a function is finite on the data and slightly beyond."""
    margin = limits.DOMAIN_MARGIN * (rows.extent.high - rows.extent.low)
    sample = rows.extent.sample
    points = np.concatenate([sample - margin, sample, sample + margin])
    return bool(np.isfinite(term.columns(points, np.array([values]).reshape(1, -1))).all())
