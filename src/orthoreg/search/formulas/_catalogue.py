"""A catalogue of functions that are common in physics, with starting values on the scale of the
data.

A template is a function of z, which denotes any variable; p and c are inner parameters. A template
is used only if its domain contains the data with some margin.
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
    """The distribution of a variable.

    It has the range, the root mean square, the standard deviation, and whether noise makes a
    nonnegative variable negative.
    """

    low: float
    high: float
    rms: float
    std: float
    noise_crosses_zero: bool = False

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
    def excludes_zero(self) -> bool:
        return self.positive or self.high < limits.MIN_POSITIVE * self.low

    @property
    def changes_sign(self) -> bool:
        return self.low < -0.02 * self.range and self.high > 0.02 * self.range


Grid = Float[np.ndarray, "g q"]
Offer = tuple[Grid, tuple[float, ...], tuple[float, ...]]
"""Starting values of the parameters, with lower and upper bounds."""


@final
@dataclass(frozen=True)
class Template:
    """A function of z and its family.

    `offer` returns starting values for a span, or None if the function does not apply. Every
    function is multiplied by each other variable; `own` states whether it is also multiplied by z.
    """

    text: str
    family: str
    offer: Callable[[Span], Offer | None]
    own: bool = True


def _plain(domain: Callable[[Span], bool]) -> Callable[[Span], Offer | None]:
    return lambda span: (np.zeros((1, 0)), (), ()) if domain(span) else None


def _column(values: Sequence[float]) -> Grid:
    return np.unique(np.asarray(values, dtype=float))[:, None]


def _frequencies(span: Span) -> Offer | None:
    integers = [k for k in (1.0, 2.0, 3.0) if k * span.range > 0.5]
    if span.range < 2 * np.pi:  # not an angle that completes a turn
        integers = [k for k in integers if k * span.range <= limits.MAX_PHASE]
    highest = max([limits.MAX_PHASE / span.range, *(1.1 * k for k in integers)])
    values = np.arange(1.2, limits.MAX_PHASE, limits.PHASE_STEP) / span.range
    others = [
        v
        for v in values
        if all(abs(v - k) * span.range > 0.4 * limits.PHASE_STEP for k in integers)
    ]
    return _column([*others, *integers]), (0.1 / span.range,), (highest,)


def _cycles(span: Span) -> Offer | None:
    """Return frequencies of a function of time, up to `MAX_CYCLES` periods."""
    values = (
        np.arange(limits.PHASE_STEP, 2 * np.pi * limits.MAX_CYCLES, limits.PHASE_STEP) / span.range
    )
    return values[:, None], (0.5 / span.range,), (2 * np.pi * limits.MAX_CYCLES / span.range,)


def _rates(span: Span) -> Offer | None:
    steepest = limits.MAX_EXPONENT_CHANGE / span.range
    sizes = np.array([0.3, 1.0, 3.0]) / span.std
    unit = [1.0] if 0.1 < span.range < limits.MAX_EXPONENT_CHANGE else []
    sizes = [*(s for s in sizes if s <= steepest), *unit]
    return _column([*sizes, *(-s for s in sizes)]), (-steepest,), (steepest,)


def _activations(span: Span) -> Offer | None:
    """Return exponents p of exp(-p/z), the Arrhenius law, or None if z comes close to zero.

    The smallest causes little change over the data. The largest causes the largest change of
    exp(p*z), and is limited so that the function exceeds rounding.
    """
    if not span.low > limits.MIN_RECIPROCAL_SHARE * span.high:
        return None
    change = 1 / span.low - 1 / span.high
    largest = min(limits.MAX_EXPONENT_CHANGE / change, limits.MAX_EXPONENT * span.low)
    sizes = np.array([0.5, 1.5, 4.0, 8.0]) / change
    return _column([s for s in sizes if s <= largest] or [largest]), (0.05 / change,), (largest,)


def _widths(span: Span) -> Offer | None:
    scales = np.array([0.15, 0.5, 1.5, 5.0]) / span.std**2
    unit = [1.0] if 0.1 < span.std < 10 else []
    return _column([*scales, *unit]), (1e-3 / span.std**2,), (60 / span.std**2,)


def _bumps(span: Span) -> Offer | None:
    centers = span.low + np.array([0.25, 0.5, 0.75]) * span.range
    pairs = [(p / span.std**2, c) for p in (0.5, 3.0) for c in centers]
    low = (1e-2 / span.std**2, span.low - 0.3 * span.range)
    return np.array(pairs), low, (60 / span.std**2, span.high + 0.3 * span.range)


def _steepness(span: Span) -> Offer | None:
    if not span.changes_sign:
        return None
    unit = [1.0] if 0.2 < span.std < 5 else []
    values = [*(np.array([0.6, 1.5, 4.0]) / span.std), *unit]
    return _column(values), (0.05 / span.std,), (30 / span.std,)


def _logistic(span: Span) -> Offer | None:
    centers = span.low + np.array([0.2, 0.5, 0.8]) * span.range
    slopes = np.array([1.0, 3.0, 8.0]) / span.std
    pairs = [(p, p * c) for p in slopes for c in centers]
    steepest = 30 / span.std
    reach = steepest * max(abs(span.low), abs(span.high))
    return np.array(pairs), (0.1 / span.std, -reach), (steepest, reach)


def _constants(power: int, domain: Callable[[Span], bool]) -> Callable[[Span], Offer | None]:
    """Return starting values of c in c + z**power. The sum must have no zero on the data."""

    def offer(span: Span) -> Offer | None:
        if not domain(span):
            return None
        unit = [1.0] if 0.05 < span.rms < 20 else []
        values = [*(np.array([0.1, 0.4, 1.2, 4.0]) * span.rms) ** power, *unit]
        return _column(values), ((0.01 * span.rms) ** power,), ((100 * span.rms) ** power,)

    return offer


def _exponents(span: Span) -> Offer | None:
    if not span.positive:
        return None
    return _column([-2.0, -1.5, -0.5, 1.5, 2.5]), (-6.0,), (6.0,)


def _hill(span: Span) -> Offer | None:
    """Return starting values of c and p in c + z**p, for exponents other than one and two."""
    if not span.positive:
        return None
    pairs = [(p, (k * span.rms) ** p) for p in (3.0, 4.0) for k in (0.5, 1.2)]
    largest = max(4.0 * span.rms, 4.0)
    return np.array(pairs), (0.5, 1e-6 * min(span.rms, 1.0) ** 8), (8.0, largest**8)


def tangent(text: str) -> Callable[[Span], Offer | None]:
    """Return a function that offers tan or its reciprocal.

    Neither may have a pole or zero within the range and its margin.
    """

    def offer(span: Span) -> Offer | None:
        wide = np.array(
            [
                span.low - limits.DOMAIN_MARGIN * span.range,
                span.high + limits.DOMAIN_MARGIN * span.range,
            ]
        )
        shift = 0.0 if text == "cot" else 0.5
        crosses = np.floor(wide / np.pi + shift)
        return (np.zeros((1, 0)), (), ()) if crosses[0] == crosses[1] else None

    return offer


def _always(span: Span) -> bool:
    return True


SIGMOID = "1/(1 + exp(p*z - c))"
"""A sigmoid. Steep sigmoids approximate steps."""
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
    Template("1/z", "rational", _plain(lambda span: span.excludes_zero), own=False),
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
    Template("sqrt(abs(z))", "power", _plain(lambda span: span.noise_crosses_zero)),
    Template("log(z)", "power", _plain(lambda span: span.positive)),
    Template("z**p", "power", _exponents, own=False),
)
PLAIN_FACTORS = (
    Template("z**2", "poly", _plain(_always)),
    Template("z*abs(z)", "power", _plain(lambda span: span.changes_sign)),
)
"""Further factors for products with a template of another variable."""
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
    names: Sequence[str], extent: Extent, time_variable: int | None = None
) -> list[ParametricTerm]:
    """Return all functions of the catalogue that apply to the data.

    These are monomials up to degree three, templates of each variable, their products with a
    variable, and pairs. Functions of time (the variable `time_variable`) are oscillations,
    exponentials and a line.
    """
    moving = [int(v) for v in np.flatnonzero(extent.varies) if v != time_variable]
    spans = {v: span_of(extent, v) for v in moving}
    variables = {v: Variable(v, names[v]) for v in moving}
    terms = list(_monomials(names, moving))
    terms += [term for v in moving for _, term in with_templates(variables[v], spans[v])]
    terms += _pairs(variables, spans)
    if time_variable is not None and extent.varies[time_variable]:
        time = Variable(time_variable, names[time_variable])
        terms += [ParametricTerm(time, "time")]
        terms += [
            term for _, term in with_templates(time, span_of(extent, time_variable), TIME_TEMPLATES)
        ]
    factors = [
        (term, variables[v], template)
        for z in moving
        for template, term in with_templates(variables[z], spans[z])
        for v in moving
        if v != z or template.own
    ]
    room = limits.MAX_COLUMNS - sum(len(term.grid) for term in terms)
    is_coarse = sum(len(term.grid) for term, _, _ in factors) > room
    return terms + [
        replace(
            term,
            expression=multiply(factor, term.expression),
            grid=coarse(term.grid) if is_coarse else term.grid,
        )
        for term, factor, _ in factors
    ]


def span_of(extent: Extent, v: int) -> Span:
    """Return the distribution of one variable."""
    size = float(np.hypot(extent.mean[v], extent.std[v]))
    low, high = float(extent.low[v]), float(extent.high[v])
    noise_crosses_zero = low >= 0 and bool((extent.sample[:, v] < 0).any())
    return Span(low, high, size, float(extent.std[v]), noise_crosses_zero)


def _monomials(names: Sequence[str], variables: Sequence[int]) -> Iterator[ParametricTerm]:
    allowed = set(variables)
    for term in Polynomial(limits.MONOMIAL_DEGREE).terms(tuple(names)):
        if variables_of(term) <= allowed:
            yield ParametricTerm(term, "poly")


def with_templates(
    z: Variable, span: Span, templates: Sequence[Template] = TEMPLATES
) -> Iterator[tuple[Template, ParametricTerm]]:
    """Yield each template that applies to a variable, with its term."""
    for template in templates:
        offer = template.offer(span)
        if offer is None:
            continue
        grid, low, high = offer
        expression = substitute(parsed(template.text), {"z": z})
        parameters = tuple(name for name in ("p", "c") if name in _letters(template.text))
        # simple numbers on a grid may lie outside the bounds that the scale of the data gives
        low = tuple(min(bound, *(0.5 * grid[:, i])) for i, bound in enumerate(low))
        high = tuple(max(bound, *(2.0 * grid[:, i])) for i, bound in enumerate(high))
        yield template, ParametricTerm(expression, template.family, parameters, grid, low, high)


def _pairs(variables: dict[int, Variable], spans: dict[int, Span]) -> list[ParametricTerm]:
    terms = []
    for i, j in combinations(variables, 2):
        terms += [_pair(text, variables[i], variables[j]) for text in _PAIRS]
        for a, b in ((i, j), (j, i)):
            formulas: list[str] = list(_ORDERED_PAIRS)
            for kind, more in _POLAR_PAIRS.items():
                formulas += list(more) if tangent(kind)(spans[a]) is not None else []
            formulas += list(_INVERSE_PAIRS) if spans[a].excludes_zero else []
            terms += [_pair(text, variables[a], variables[b]) for text in formulas]
    return terms


def _pair(text: str, z: Variable, w: Variable) -> ParametricTerm:
    return ParametricTerm(substitute(parsed(text), {"z": z, "w": w}), "trig")


def coarse(grid: Grid, count: int = limits.COARSE_VALUES) -> Float[np.ndarray, "few q"]:
    """Return at most `count` evenly spaced rows of the grid."""
    if len(grid) <= count:
        return grid
    return grid[np.unique(np.linspace(0, len(grid) - 1, count).round().astype(int))]


@lru_cache(maxsize=256)
def parsed(text: str) -> Expression:
    """Return the formula of a template's text."""
    return parse(text, (), ("z", "w", "p", "c"))


def _letters(text: str) -> frozenset[str]:
    return parameters_of(parsed(text))
