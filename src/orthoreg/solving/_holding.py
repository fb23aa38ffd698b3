"""Convert the constraints of a task for gradient solvers, and make solutions satisfy them
exactly.
"""

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from .._common.arrays import Mask
from .._common.errors import InputError
from ..physics import Knowledge
from ._equation import objective
from ._objective import Held
from ._problem import Bounds, Equalities, QuadraticProblem
from ._solver import EquationFit, Solution, Task
from ._system import Sizes, conserving


def with_known_terms(task: Task) -> Task:
    """Return the task with given, required and related terms added."""
    symmetries = task.known.symmetries
    if task.learns_hidden and symmetries is not None and symmetries.any:
        raise InputError(
            "physics=Physics(symmetry=...) needs a residual with fixed basis functions; the basis "
            "functions of a network with learned hidden layers change. Use "
            "augmentation=RandomFeatures(...) or Zero(), or omit the symmetry."
        )
    return replace(task, support=task.known.with_support(task.support))


def orthogonal_to(task: Task) -> Mask:
    """Return the terms to which each residual is orthogonal, as in `System`.

    Equations with a common conservation law share their terms.
    """
    support = task.support.copy()
    coupled = task.known.conserved.any(axis=0)
    support[coupled] |= support[coupled].any(axis=0)
    return support


def held_by(task: Task, sizes: Sizes) -> Held:
    """Return the constraints in the solver's units. Coefficients of absent terms are fixed at
    zero.
    """
    known, support = task.known, task.support
    unit = sizes[0] / sizes[1][:, None]
    low = np.where(support, known.low * unit, 0.0)
    high = np.where(support, known.high * unit, 0.0)
    given, values = low == high, np.where(low == high, low, 0.0)
    relations = known.relations / unit
    right = known.values - np.einsum("qck,ck->q", relations, values)
    relations = np.where(given, 0.0, relations)
    used = relations.any(axis=(1, 2))
    matrix = np.transpose(relations[used], (0, 2, 1)).reshape(int(used.sum()), low.size)
    mixing = conserving(known.conserved, sizes[1], known.complete)
    if mixing is None:
        mixing = np.diag([float(c not in known.complete) for c in range(len(support))])
    functions = np.ones((task.basis.size, len(support)), dtype=bool)
    if task.basis_of is not None:
        functions = task.basis_of.T.copy()
        coupled = known.conserved.any(axis=0)
        functions[:, coupled] = functions[:, coupled].all(axis=1, keepdims=True)
    return Held(
        given=given.T,
        values=values.T,
        low=low.T,
        high=high.T,
        matrix=matrix,
        right=right[used],
        pinv=np.linalg.pinv(matrix),
        mixing=mixing,
        functions=functions,
    )


def satisfy_constraints(
    held: Held, task: Task, w: Float[np.ndarray, "c K"], threshold: float
) -> Float[np.ndarray, "c K"]:
    """Return the nearest coefficients that satisfy all constraints.

    Small coefficients become zero unless they are required. Related coefficients become zero
    together.
    """
    low, high = held.low.T, held.high.T
    small = (np.abs(w) <= threshold) & ~task.known.required & (low <= 0) & (high >= 0)
    named = np.transpose(held.matrix.reshape(len(held.right), *w.T.shape), (0, 2, 1)) != 0
    may_vanish = (small | ~named).all(axis=(1, 2)) & (held.right == 0)
    small &= ~named[~may_vanish].any(axis=0)
    low, high = np.where(small, 0.0, low), np.where(small, 0.0, high)
    if not len(held.right):
        return np.clip(w, low, high)
    solution = QuadraticProblem(
        np.eye(w.size),
        w.T.ravel(),
        equalities=Equalities(np.asarray(held.matrix), np.asarray(held.right)),
        bounds=Bounds(low.T.ravel(), high.T.ravel()),
    ).solve()
    return solution.reshape(w.T.shape).T


def active_terms(held: Held, w: Float[np.ndarray, " K"], equation: int) -> tuple[int, ...]:
    """Return the terms of an equation whose coefficient is at one of two different bounds."""
    low, high = np.asarray(held.low)[:, equation], np.asarray(held.high)[:, equation]
    return tuple(np.flatnonzero(((w <= low) | (w >= high)) & (low < high)).tolist())


def apply_constraints(solution: Solution, knowledge: Knowledge) -> Solution:
    """Return the solution with constraints satisfied exactly, despite rounding errors of
    scaling.

    Given equations have their given coefficients and no residual.
    """
    given = knowledge.given_equations
    coefficients = np.array(solution.coefficients)
    for c, fit in enumerate(solution.result.equations):
        for k in fit.active:
            limits = (knowledge.low[c, k], knowledge.high[c, k])
            coefficients[c, k] = min(limits, key=lambda limit: abs(limit - coefficients[c, k]))
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
