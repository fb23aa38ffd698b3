"""The functions that are common in physics, with starting values in the scale of the data.

Templates are written in z, any variable; p and c are inner parameters. A template is not used if
its domain does not contain the data with some margin.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple, final

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
from . import _limits as limits
from ._parametric_term import ParametricTerm


@final
class Span(NamedTuple):
    """Where a variable lies: its ends, its root mean square and its standard deviation, and whether
    noise takes values of one that is not negative below zero."""

    low: float
    high: float
    size: float
    spread: float
    is_blurred: bool = False

    @property
    def range(self) -> float:
        return self.high - self.low

    @property
    def positive(self) -> bool:
        return self.low > limits.MIN_POSITIVE * self.high

    @property
    def not_negative(self) -> bool:
        return self.low >= 0

    @property
    def apart_from_zero(self) -> bool:
        return self.positive or self.high < limits.MIN_POSITIVE * self.low

    @property
    def changes_sign(self) -> bool:
        return self.low < -0.02 * self.range and self.high > 0.02 * self.range


Grid = Float[np.ndarray, "g q"]
Offer = tuple[Grid, tuple[float, ...], tuple[float, ...]]
"""Starts of the parameters and their bounds."""


@final
@dataclass(frozen=True)
class Template:
    """A function of z with its family; `offer` gives the starts for a span, None for no use.
    `own` says whether it is tried times z too, as it is times every other variable."""

    text: str
    family: str
    offer: Callable[[Span], Offer | None]
    own: bool = True


def _plain(domain: Callable[[Span], bool]) -> Callable[[Span], Offer | None]:
    return lambda span: (np.zeros((1, 0)), (), ()) if domain(span) else None


def _column(values: Sequence[float]) -> Grid:
    return np.unique(np.asarray(values, dtype=float))[:, None]


def _frequencies(span: Span) -> Offer | None:
    whole = [k for k in (1.0, 2.0, 3.0) if k * span.range > 0.5]
    if span.range < 2 * np.pi:  # not an angle that goes round and round
        whole = [k for k in whole if k * span.range <= limits.MAX_PHASE]
    most = max([limits.MAX_PHASE / span.range, *(1.1 * k for k in whole)])
    values = np.arange(1.2, limits.MAX_PHASE, limits.PHASE_STEP) / span.range
    near = [
        v for v in values if all(abs(v - k) * span.range > 0.4 * limits.PHASE_STEP for k in whole)
    ]
    return _column([*near, *whole]), (0.1 / span.range,), (most,)


def _cycles(span: Span) -> Offer | None:
    """Of time: up to so many periods in its range."""
    values = (
        np.arange(limits.PHASE_STEP, 2 * np.pi * limits.MAX_CYCLES, limits.PHASE_STEP) / span.range
    )
    return values[:, None], (0.5 / span.range,), (2 * np.pi * limits.MAX_CYCLES / span.range,)


def _rates(span: Span) -> Offer | None:
    most = limits.MAX_EXPONENT_CHANGE / span.range
    sizes = np.array([0.3, 1.0, 3.0]) / span.spread
    whole = [1.0] if 0.1 < span.range < limits.MAX_EXPONENT_CHANGE else []
    sizes = [*(s for s in sizes if s <= most), *whole]
    return _column([*sizes, *(-s for s in sizes)]), (-most,), (most,)


def _activations(span: Span) -> Offer | None:
    """Of exp(-p/z), Arrhenius' law: from exponents that change a little over the range to ones that
    change as much as those of exp(p*z) may, as far as the function is no rounding error."""
    if not span.low > limits.MIN_RECIPROCAL_SHARE * span.high:
        return None
    change = 1 / span.low - 1 / span.high
    most = min(limits.MAX_EXPONENT_CHANGE / change, limits.MAX_EXPONENT * span.low)
    sizes = np.array([0.5, 1.5, 4.0, 8.0]) / change
    return _column([s for s in sizes if s <= most] or [most]), (0.05 / change,), (most,)


def _widths(span: Span) -> Offer | None:
    scales = np.array([0.15, 0.5, 1.5, 5.0]) / span.spread**2
    whole = [1.0] if 0.1 < span.spread < 10 else []
    return _column([*scales, *whole]), (1e-3 / span.spread**2,), (60 / span.spread**2,)


def _bumps(span: Span) -> Offer | None:
    places = span.low + np.array([0.25, 0.5, 0.75]) * span.range
    pairs = [(p / span.spread**2, c) for p in (0.5, 3.0) for c in places]
    low = (1e-2 / span.spread**2, span.low - 0.3 * span.range)
    return np.array(pairs), low, (60 / span.spread**2, span.high + 0.3 * span.range)


def _steepness(span: Span) -> Offer | None:
    if not span.changes_sign:
        return None
    whole = [1.0] if 0.2 < span.spread < 5 else []
    values = [*(np.array([0.6, 1.5, 4.0]) / span.spread), *whole]
    return _column(values), (0.05 / span.spread,), (30 / span.spread,)


def _logistic(span: Span) -> Offer | None:
    places = span.low + np.array([0.2, 0.5, 0.8]) * span.range
    slopes = np.array([1.0, 3.0, 8.0]) / span.spread
    pairs = [(p, p * c) for p in slopes for c in places]
    most = 30 / span.spread
    reach = most * max(abs(span.low), abs(span.high))
    return np.array(pairs), (0.1 / span.spread, -reach), (most, reach)


def _constants(power: int, domain: Callable[[Span], bool]) -> Callable[[Span], Offer | None]:
    """Of c + z**power, which has no zero where the data are."""

    def offer(span: Span) -> Offer | None:
        if not domain(span):
            return None
        whole = [1.0] if 0.05 < span.size < 20 else []
        values = [*(np.array([0.1, 0.4, 1.2, 4.0]) * span.size) ** power, *whole]
        return _column(values), ((0.01 * span.size) ** power,), ((100 * span.size) ** power,)

    return offer


def _exponents(span: Span) -> Offer | None:
    if not span.positive:
        return None
    return _column([-2.0, -1.5, -0.5, 1.5, 2.5]), (-6.0,), (6.0,)


def _hill(span: Span) -> Offer | None:
    """Of c + z**p for exponents beside one and two."""
    if not span.positive:
        return None
    pairs = [(p, (k * span.size) ** p) for p in (3.0, 4.0) for k in (0.5, 1.2)]
    most = max(4.0 * span.size, 4.0)
    return np.array(pairs), (0.5, 1e-6 * min(span.size, 1.0) ** 8), (8.0, most**8)


def tangent(text: str) -> Callable[[Span], Offer | None]:
    """tan, or its inverse: no pole and no zero within the range and its margin."""

    def offer(span: Span) -> Offer | None:
        ends = np.array(
            [
                span.low - limits.DOMAIN_MARGIN * span.range,
                span.high + limits.DOMAIN_MARGIN * span.range,
            ]
        )
        shift = 0.0 if text == "cot" else 0.5
        crosses = np.floor(ends / np.pi + shift)
        return (np.zeros((1, 0)), (), ()) if crosses[0] == crosses[1] else None

    return offer


def _always(span: Span) -> bool:
    return True


SIGMOID = "1/(1 + exp(p*z - c))"
"""Steep ones stand in for steps."""
TEMPLATES = (
    Template("sin(p*z)", "trig", _frequencies),
    Template("cos(p*z)", "trig", _frequencies),
    Template("tan(z)", "trig", tangent("tan")),
    Template("1/tan(z)", "trig", tangent("cot")),
    Template("exp(p*z)", "exp", _rates),
    Template("exp(-p/z)", "exp", _activations),
    Template("exp(-p*z**2)", "exp", _widths),
    Template("exp(-p*(z - c)**2)", "exp", _bumps),
    Template("tanh(p*z)", "exp", _steepness),
    Template(SIGMOID, "exp", _logistic),
    Template("1/z", "rational", _plain(lambda span: span.apart_from_zero), own=False),
    Template("z/(c + z)", "rational", _constants(1, lambda span: span.not_negative)),
    Template("1/(c + z)", "rational", _constants(1, lambda span: span.not_negative), own=False),
    Template("z**2/(c + z**2)", "rational", _constants(2, _always)),
    Template("1/(c + z**2)", "rational", _constants(2, _always), own=False),
    Template("z/(c + z**2)", "rational", _constants(2, _always), own=False),
    Template("z**p/(c + z**p)", "rational", _hill, own=False),
    Template("1/(c + z**p)", "rational", _hill, own=False),
    Template("abs(z)", "power", _plain(lambda span: span.changes_sign)),
    Template("sign(z)", "power", _plain(lambda span: span.changes_sign), own=False),
    Template("sqrt(z)", "power", _plain(lambda span: span.not_negative)),
    Template("sqrt(abs(z))", "power", _plain(lambda span: span.is_blurred)),
    Template("log(z)", "power", _plain(lambda span: span.positive)),
    Template("z**p", "power", _exponents, own=False),
)
PLAIN_FACTORS = (
    Template("z**2", "poly", _plain(_always)),
    Template("z*abs(z)", "power", _plain(lambda span: span.changes_sign)),
)
"""Of products with a template of another variable, beside the templates themselves."""
TIME_TEMPLATES = (
    Template("sin(p*z)", "time", _cycles),
    Template("cos(p*z)", "time", _cycles),
    Template("exp(p*z)", "time", _rates),
)


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


def catalogue(
    names: Sequence[str], extent: Extent, clock: int | None = None
) -> list[ParametricTerm]:
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
        plain += [ParametricTerm(time, "time")]
        plain += [one for _, one in with_templates(time, span_of(extent, clock), TIME_TEMPLATES)]
    factors = [
        (one, variables[v], template)
        for z in places
        for template, one in with_templates(variables[z], spans[z])
        for v in places
        if v != z or template.own
    ]
    room = limits.MAX_COLUMNS - sum(len(one.grid) for one in plain)
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


def _monomials(names: Sequence[str], places: Sequence[int]) -> Iterator[ParametricTerm]:
    allowed = set(places)
    for term in Polynomial(limits.MONOMIAL_DEGREE).terms(tuple(names)):
        if variables_of(term) <= allowed:
            yield ParametricTerm(term, "poly")


def with_templates(
    z: Variable, span: Span, templates: Sequence[Template] = TEMPLATES
) -> Iterator[tuple[Template, ParametricTerm]]:
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
        yield template, ParametricTerm(expression, template.family, names, grid, low, high)


def _pairs(variables: dict[int, Variable], spans: dict[int, Span]) -> list[ParametricTerm]:
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


def _pair(text: str, z: Variable, w: Variable) -> ParametricTerm:
    return ParametricTerm(substitute(parsed(text), {"z": z, "w": w}), "trig")


def coarse(grid: Grid, most: int = limits.COARSE_VALUES) -> Float[np.ndarray, "few q"]:
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
