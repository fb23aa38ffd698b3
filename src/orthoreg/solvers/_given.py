"""Equations that are given: their coefficients to the last digit, and no residual."""

from dataclasses import replace

import numpy as np

from ..physics import Knowledge
from ._equation import objective
from ._result import EquationFit
from ._solver import Solution


def hold(solution: Solution, knowledge: Knowledge) -> Solution:
    """The solution with the equations of which nothing is learned exactly as they are given, and
    with coefficients that meet all constraints, which scaling rounds."""
    given = knowledge.given_equations
    coefficients = np.array(solution.coefficients)
    for c, fit in enumerate(solution.result.equations):
        for k in fit.active:
            ends = (knowledge.low[c, k], knowledge.high[c, k])
            coefficients[c, k] = min(ends, key=lambda end: abs(end - coefficients[c, k]))
    solution = replace(solution, coefficients=knowledge.rounded(coefficients))
    if not given:
        return solution
    result = solution.result
    equations = list(result.equations)
    objectives = None if result.objectives is None else list(result.objectives)
    coefficients, correction, weights = (
        np.array(values)
        for values in (solution.coefficients, solution.correction, solution.weights)
    )
    for c in given:
        unit = knowledge.low[c]
        coefficients[c], correction[c], weights[:, c] = unit, 0.0, 0.0
        equations[c] = EquationFit(
            terms=np.flatnonzero(unit),
            w=unit * result.feature_scale / result.target_scale[c],
            v=np.zeros_like(equations[c].v),
            p=np.zeros_like(unit),
            sparsity=0.0,
            ridge=np.inf,
            duality_gap=0.0,
            dependences=(),
        )
        if objectives is not None:
            objectives[c] = objective(result.moments, c, equations[c], result.regularization)
    return replace(
        solution,
        coefficients=coefficients,
        correction=correction,
        weights=weights,
        result=replace(
            result,
            equations=tuple(equations),
            objectives=None if objectives is None else tuple(objectives),
        ),
    )
