"""Steps at a threshold, sign(z - c), in the place of steep sigmoids: a sigmoid has a slope by which
a search finds its middle, a step has none."""

from collections.abc import Iterator
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
    substitute,
)
from ._candidates import Candidate, candidate, prune
from ._catalogue import parsed, span_of
from ._equation import Equation
from ._projection import project
from ._shapes import Shape
from ._templates import SIGMOID

_STEEP = 8.0  # over the standard deviation of the variable: the least slope that may be a step
_WIDTH = 0.02  # of the range: by how far a threshold moves to learn what that changes
_AROUND = 0.2  # of the range, to either side of the sigmoid's middle, in which the threshold is


@final
class Step(NamedTuple):
    """A step with its threshold, and what it is multiplied with."""

    shape: Shape
    threshold: float
    factor: Expression


def with_steps(equation: Equation, found: Candidate) -> Iterator[Candidate]:
    """The candidate with a step in the place of a steep sigmoid, for each that lowers the score."""
    fit = found.fit
    for k, (shape, values) in enumerate(zip(fit.shapes, fit.values, strict=True)):
        step = step_for(equation, shape, values)
        if step is None or not equation.allows(step.shape).all():
            continue
        others = [i for i in range(len(fit.shapes)) if i != k]
        shapes = [step.shape, *(fit.shapes[i] for i in others)]
        starts = [(step.threshold,), *(fit.values[i] for i in others)]
        fixed = [(False,), *(fit.held[i] for i in others)]
        for one in _flat_part(equation, shapes, step.factor):
            shapes, starts, fixed = [*shapes, one], [*starts, ()], [*fixed, ()]
        tried = candidate(equation, project(equation, shapes, starts, fixed))
        if tried is not None and (better := prune(equation, tried)).score < found.score:
            yield better


def step_for(equation: Equation, shape: Shape, values: tuple[float, ...]) -> Step | None:
    """The step where a steep sigmoid, alone or times a variable, has its middle; None for other
    shapes."""
    if shape.parameters != ("p", "c"):
        return None
    rows = equation.rows
    variables = [Variable(v, name) for v, name in enumerate(rows.names)]
    for z in variables:
        sigmoid = substitute(parsed(SIGMOID), {"z": z})
        for factor in (Number(1.0), *variables):
            if shape.expression != multiply(factor, sigmoid):
                continue
            span = span_of(rows.extent, z.index)
            slope, middle = values[0], values[1] / values[0]
            if slope * span.spread < _STEEP:
                return None
            jump = call("sign", add(z, multiply(Number(-1.0), Parameter("c"))))
            ends = middle - _AROUND * span.range, middle + _AROUND * span.range
            step = Shape(
                multiply(factor, jump), "power", ("c",), np.array([[middle]]),
                (ends[0],), (ends[1],), widths=(_WIDTH * span.range,),
            )  # fmt: skip
            return Step(step, middle, factor)
    return None


def _flat_part(equation: Equation, shapes: list[Shape], factor: Expression) -> list[Shape]:
    """What a sigmoid has beside its step, a constant times the factor, unless it is there."""
    if any(one.expression == factor for one in shapes):
        return []
    return [one for one in equation.shapes if one.expression == factor][:1]
