"""The functions that physics is mostly made of, for the columns of certain data: monomials,
templates of each variable, these times another, and pairs."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import combinations

import numpy as np
from jaxtyping import Float

from ...data import Extent
from ...terms import (
    Expression,
    Polynomial,
    Variable,
    multiply,
    parameters_of,
    parse,
    substitute,
    variables_of,
)
from ._shapes import Shape
from ._templates import TEMPLATES, TIME_TEMPLATES, Grid, Span, Template, tangent

_DEGREE = 3
_MOST_COLUMNS = 1100
_FEW = 4  # values of parameters on a coarse grid
_PAIRS = (
    "sin(z + w)", "cos(z + w)", "sin(z - w)", "cos(z - w)", "sin(z)*sin(w)", "cos(z)*cos(w)",
)  # fmt: skip
_ORDERED_PAIRS = (
    "sin(z)*cos(w)", "sin(z)*cos(2*w)", "cos(z)*cos(2*w)", "sin(z)*sin(2*w)", "cos(z)*sin(2*w)",
)  # fmt: skip
_POLAR_PAIRS = {
    "cot": ("cos(w)/tan(z)", "sin(w)/tan(z)"),
    "tan": ("cos(w)*tan(z)", "sin(w)*tan(z)"),
}
_INVERSE_PAIRS = ("cos(w)/z", "sin(w)/z")


def catalogue(names: Sequence[str], extent: Extent, clock: int | None = None) -> list[Shape]:
    """Every function of the catalogue that these data can hold: monomials up to degree three,
    templates of each variable, and these times a variable. Of time, the variable `clock`, there
    are oscillations, exponentials and a line."""
    places = [int(v) for v in np.flatnonzero(extent.varies) if v != clock]
    spans = {v: span_of(extent, v) for v in places}
    variables = {v: Variable(v, names[v]) for v in places}
    plain = list(_monomials(names, places))
    plain += [one for v in places for _, one in with_templates(variables[v], spans[v])]
    plain += _pairs(variables, spans)
    if clock is not None and extent.varies[clock]:
        time = Variable(clock, names[clock])
        plain += [Shape(time, "time")]
        plain += [one for _, one in with_templates(time, span_of(extent, clock), TIME_TEMPLATES)]
    factors = [
        (one, variables[v], template)
        for z in places
        for template, one in with_templates(variables[z], spans[z])
        for v in places
        if v != z or template.own
    ]
    room = _MOST_COLUMNS - sum(len(one.grid) for one in plain)
    is_coarse = sum(len(one.grid) for one, _, _ in factors) > room
    return plain + [
        replace(
            one,
            expression=multiply(w, one.expression),
            grid=coarse(one.grid) if is_coarse else one.grid,
        )
        for one, w, _ in factors
    ]


def span_of(extent: Extent, v: int) -> Span:
    """Where one variable lies."""
    size = float(np.hypot(extent.mean[v], extent.std[v]))
    low, high = float(extent.low[v]), float(extent.high[v])
    is_blurred = low >= 0 and bool((extent.sample[:, v] < 0).any())
    return Span(low, high, size, float(extent.std[v]), is_blurred)


def _monomials(names: Sequence[str], places: Sequence[int]) -> Iterator[Shape]:
    allowed = set(places)
    for term in Polynomial(_DEGREE).terms(tuple(names)):
        if variables_of(term) <= allowed:
            yield Shape(term, "poly")


def with_templates(
    z: Variable, span: Span, templates: Sequence[Template] = TEMPLATES
) -> Iterator[tuple[Template, Shape]]:
    """The templates that one variable may be in, each with its shape."""
    for template in templates:
        offer = template.offer(span)
        if offer is None:
            continue
        grid, low, high = offer
        expression = substitute(parsed(template.text), {"z": z})
        names = tuple(name for name in ("p", "c") if name in _letters(template.text))
        # simple numbers on a grid may lie beyond what the scale of the data suggests
        low = tuple(min(end, *(0.5 * grid[:, i])) for i, end in enumerate(low))
        high = tuple(max(end, *(2.0 * grid[:, i])) for i, end in enumerate(high))
        yield template, Shape(expression, template.family, names, grid, low, high)


def _pairs(variables: dict[int, Variable], spans: dict[int, Span]) -> list[Shape]:
    found = []
    for i, j in combinations(variables, 2):
        found += [_pair(text, variables[i], variables[j]) for text in _PAIRS]
        for a, b in ((i, j), (j, i)):
            texts: list[str] = list(_ORDERED_PAIRS)
            for kind, more in _POLAR_PAIRS.items():
                texts += list(more) if tangent(kind)(spans[a]) is not None else []
            texts += list(_INVERSE_PAIRS) if spans[a].apart_from_zero else []
            found += [_pair(text, variables[a], variables[b]) for text in texts]
    return found


def _pair(text: str, z: Variable, w: Variable) -> Shape:
    return Shape(substitute(parsed(text), {"z": z, "w": w}), "trig")


def coarse(grid: Grid, most: int = _FEW) -> Float[np.ndarray, "few q"]:
    """Some rows of the grid, evenly chosen."""
    if len(grid) <= most:
        return grid
    return grid[np.unique(np.linspace(0, len(grid) - 1, most).round().astype(int))]


@lru_cache(maxsize=256)
def parsed(text: str) -> Expression:
    """A template's text."""
    return parse(text, (), ("z", "w", "p", "c"))


def _letters(text: str) -> frozenset[str]:
    return parameters_of(parsed(text))
