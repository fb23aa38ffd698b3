"""Equations that are given: one term with coefficient one, and no residual."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ._equation import objective
from ._result import EquationFit
from ._solver import Solution


def hold(solution: Solution, given: Mapping[int, int]) -> Solution:
    """The solution with these equations, {equation: term}, exactly as they are given."""
    if not given:
        return solution
    result = solution.result
    equations = list(result.equations)
    objectives = None if result.objectives is None else list(result.objectives)
    coefficients, correction, weights = (
        np.array(values)
        for values in (solution.coefficients, solution.correction, solution.weights)
    )
    for c, term in given.items():
        unit = np.zeros(len(result.feature_scale))
        unit[term] = 1.0
        coefficients[c], correction[c], weights[:, c] = unit, 0.0, 0.0
        equations[c] = EquationFit(
            terms=np.array([term]),
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
