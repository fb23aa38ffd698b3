"""Relations between coefficients, as rows of a linear system."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import inf

import numpy as np
from jaxtyping import Float

from .._common.errors import InputError
from ..terms import (
    Expression,
    FeatureMap,
    Number,
    Product,
    Sum,
    derivative,
    evaluate,
    multiply,
    parse,
)
from ._knowledge import Knowledge, contradiction
from ._statement import Powers, is_monotonic, split

_COEFFICIENT = re.compile(r"coef\s*\(")
_FEW = 20  # relations that are checked one after the other
Find = Callable[[str, str, str], tuple[int, int]]


def read_relation(
    text: str, find: Find, shape: tuple[int, ...]
) -> tuple[Float[np.ndarray, "c K"], float]:
    """Weights of coefficients and the value of their sum; `find` gives the place of a term."""
    left, sign, right = text.partition("=")
    if not sign or "=" in right:
        raise InputError(
            f"Physics(relations=...) must be such as 'coef(x, x*y) = -coef(y, x*y)'; got '{text}'."
        )
    places: list[tuple[int, int]] = []
    sides = [_side(side, places, text, find) for side in (left, right)]
    names = [f"coef{i}" for i in range(len(places))]
    row, value = np.zeros(shape), 0.0
    for side, factor in zip(sides, (1.0, -1.0), strict=True):
        formula = parse(side, names)
        value -= factor * float(evaluate(formula, [0.0] * len(names), np))
        for i, place in enumerate(places):
            slope = derivative(formula, i)
            if not isinstance(slope, Number):
                raise InputError(
                    f"Physics(relations=...) must be linear in the coefficients; got '{text}'."
                )
            row[place] += factor * slope.value
    return row, value


def _side(side: str, places: list[tuple[int, int]], text: str, find: Find) -> str:
    """The text with each coef(equation, term) replaced by a name."""
    while found := _COEFFICIENT.search(side):
        depth, end = 1, found.end()
        while depth and end < len(side):
            depth += (side[end] == "(") - (side[end] == ")")
            end += 1
        equation, comma, term = side[found.end() : end - 1].partition(",")
        if depth or not comma:
            raise InputError(
                f"Physics(relations=...) must name coefficients as coef(equation, term); "
                f"got '{text}'."
            )
        places.append(find(equation.strip().strip("`"), term.strip(), "relations"))
        side = f"{side[: found.start()]} coef{len(places) - 1} {side[end:]}"
    return side


def conserving(
    known: Knowledge, quantities: Sequence[str], features: FeatureMap, outputs: Sequence[str]
) -> Knowledge:
    """dE/dt = sum_c dE/dx_c f_c = 0 for every product of terms that occurs in it."""
    rows, words, linear = [], [], []
    complete = set(known.complete)
    for text in quantities:
        quantity = parse(text, features.variables)
        places = [features.variables.index(name) for name in outputs]
        slopes = {c: derivative(quantity, place) for c, place in enumerate(places)}
        slopes = {c: slope for c, slope in slopes.items() if slope != Number(0.0)}
        if not slopes:
            raise InputError(f"Physics(conserved=...): '{text}' holds no state.")
        sums: dict[Expression, np.ndarray] = {}
        for c, slope in slopes.items():
            for k in np.flatnonzero(features.mask[c]):
                for item in _expanded(multiply(slope, features.terms[k])):
                    part = split(item, features.parameters)
                    sums.setdefault(part.term, np.zeros(known.low.shape))[c, k] += part.number
        rows += list(sums.values())
        words += [f"that '{text}' is conserved"] * len(sums)
        weights = [slopes.get(c, Number(0.0)) for c in range(len(outputs))]
        if all(isinstance(weight, Number) for weight in weights):
            linear.append([weight.value for weight in weights if isinstance(weight, Number)])
        else:
            complete |= set(slopes)
    more = np.array(rows).reshape(len(rows), *known.low.shape)
    return replace(
        known,
        relations=np.concatenate([known.relations, more]),
        values=np.concatenate([known.values, np.zeros(len(rows))]),
        words=(*known.words, *words),
        conserved=np.array(linear).reshape(len(linear), len(outputs)),
        complete=tuple(sorted(complete)),
    )


def _expanded(item: Expression) -> list[Expression]:
    """The summands of a product of sums."""
    if isinstance(item, Sum):
        return [part for term in item.terms for part in _expanded(term)]
    factors = item.factors if isinstance(item, Product) else ()
    for i, factor in enumerate(factors):
        if isinstance(factor, Sum):
            others = factors[:i] + factors[i + 1 :]
            return [part for term in factor.terms for part in _expanded(multiply(term, *others))]
    return [item]


def product_bounds(
    powers: Powers, number: float, bounds: Mapping[str, tuple[float, float]]
) -> tuple[float, float]:
    """Between which ends number * prod p**exponent lies for constants within these bounds."""
    low = high = number
    for name, exponent in powers:
        ends = _power_bounds(*bounds.get(name, (-inf, inf)), exponent)
        corners = [0.0 if not a or not b else a * b for a in (low, high) for b in ends]
        low, high = min(corners), max(corners)
    return low, high


def _power_bounds(low: float, high: float, exponent: float) -> tuple[float, float]:
    """Between which ends p**exponent lies for low <= p <= high."""
    if not is_monotonic(low, high, exponent):
        return -inf, inf
    if exponent == 1:
        return low, high
    if low >= 0:
        ends = sorted(_power(end, exponent) for end in (low, high))
    else:
        ends = sorted(-_power(-end, exponent) for end in (low, high))
    return ends[0], ends[1]


def _power(base: float, exponent: float) -> float:
    if base == 0 and exponent < 0:
        return inf
    return float(base**exponent)


def check_feasible(known: Knowledge, features: FeatureMap) -> None:
    """Refuses relations that bounds and what is given exclude."""
    from scipy.optimize import linprog

    count = len(known.values)
    may = (known.with_support(features.mask) & features.mask) | known.given
    low, high = (np.where(may, ends, 0.0).ravel() for ends in (known.low, known.high))
    matrix = known.relations.reshape(count, len(low))
    for some in range(1, count + 1) if count <= _FEW else [count]:
        result = linprog(
            np.zeros(len(low)), A_eq=matrix[:some], b_eq=known.values[:some],
            bounds=np.column_stack([low, high]),
        )  # fmt: skip
        if result.x is None:
            raise contradiction(known.words[some - 1])
