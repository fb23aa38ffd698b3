"""Kinks of equations, which are zeros of the arguments of abs, sign and heaviside."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from ..terms import Expression, compiled, kink_arguments, run, to_text
from ._problem import Problem


def kinks_of(problem: Problem) -> list[Expression]:
    """Return the arguments of all functions with kinks in the equations of a problem."""
    terms = problem.field.features.terms
    used = np.array(np.any(problem.field.coefficients, axis=0))
    used[problem.constants.columns] = True
    kinks = (kink_arguments(terms[k]) for k in np.flatnonzero(used))
    return sorted(frozenset().union(*kinks), key=to_text)


def argument_values(
    problem: Problem,
    kinks: Sequence[Expression],
    variables: Float[np.ndarray, "N V"],
    parameters: Float[np.ndarray, " q"],
) -> list[Float[np.ndarray, " N"]]:
    """Return the values of these arguments for rows of variables and for parameters inside
    terms.
    """
    names = problem.field.features.parameters
    named = dict(zip(names, parameters.tolist(), strict=True))
    with np.errstate(all="ignore"):
        values = run(compiled(tuple(kinks)), variables.T, np, named)
    return [np.broadcast_to(value, len(variables)) for value in values]
