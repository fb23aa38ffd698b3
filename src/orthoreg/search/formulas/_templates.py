"""Functions of one variable, each with the starts of its parameters in the scale of the data.

Templates are written in z, any variable; p and c are inner parameters. A template offers the values
of these with which a search begins, none where its domain does not hold the data with some margin.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np
from jaxtyping import Float

FASTEST = 26.0
"""Frequency times range beyond which a sine follows noise."""
_MARGIN = 0.02  # of the range, beyond which a domain must reach
_STEEPEST = 12.0  # exponent over the range
_FAR_FROM_ZERO = 0.05  # of the largest value: 1/z changes by at most a factor of 20
_LARGEST_EXPONENT = 300.0  # dimensionless: exp of more is less than 1e-130
_STEP = 2.4  # of frequency times range, between neighbours on a grid
_MOST_CYCLES = 60
_LEAST_VALUE = 1e-3  # of the largest, that a positive variable may have: it may lie under a bar


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
        return self.low > _LEAST_VALUE * self.high

    @property
    def not_negative(self) -> bool:
        return self.low >= 0

    @property
    def apart_from_zero(self) -> bool:
        return self.positive or self.high < _LEAST_VALUE * self.low

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
        whole = [k for k in whole if k * span.range <= FASTEST]
    most = max([FASTEST / span.range, *(1.1 * k for k in whole)])
    values = np.arange(1.2, FASTEST, _STEP) / span.range
    near = [v for v in values if all(abs(v - k) * span.range > 0.4 * _STEP for k in whole)]
    return _column([*near, *whole]), (0.1 / span.range,), (most,)


def _cycles(span: Span) -> Offer | None:
    """Of time: up to so many periods in its range."""
    values = np.arange(_STEP, 2 * np.pi * _MOST_CYCLES, _STEP) / span.range
    return values[:, None], (0.5 / span.range,), (2 * np.pi * _MOST_CYCLES / span.range,)


def _rates(span: Span) -> Offer | None:
    most = _STEEPEST / span.range
    sizes = np.array([0.3, 1.0, 3.0]) / span.spread
    whole = [1.0] if 0.1 < span.range < _STEEPEST else []
    sizes = [*(s for s in sizes if s <= most), *whole]
    return _column([*sizes, *(-s for s in sizes)]), (-most,), (most,)


def _activations(span: Span) -> Offer | None:
    """Of exp(-p/z), Arrhenius' law: from exponents that change a little over the range to ones that
    change as much as those of exp(p*z) may, as far as the function is no rounding error."""
    if not span.low > _FAR_FROM_ZERO * span.high:
        return None
    change = 1 / span.low - 1 / span.high
    most = min(_STEEPEST / change, _LARGEST_EXPONENT * span.low)
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
        ends = np.array([span.low - _MARGIN * span.range, span.high + _MARGIN * span.range])
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
