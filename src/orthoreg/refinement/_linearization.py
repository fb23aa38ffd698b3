"""The sum of squares of trajectories as a quadratic function of all candidate coefficients."""

from typing import NamedTuple, final

import numpy as np
from jaxtyping import Float

from ._following import linearized
from ._levenberg import eliminated
from ._normal import normal_equations
from ._problem import Problem
from ._segments import Segments, input_nodes
from ._shooting import Shot


@final
class Quadratic(NamedTuple):
    """RSS(p) = p'Hp - 2 q'p + square over `rows` values, in noise variances, for the free numbers
    p of a problem. The initial states of all segments are eliminated; `spent` counts them."""

    H: np.ndarray
    q: np.ndarray
    square: float
    rows: float
    spent: int


def linearize(
    problem: Problem,
    states: Float[np.ndarray, "T n B"],
    segments: Segments,
    substeps: int,
    sigma: Float[np.ndarray, " n"],
) -> Quadratic | None:
    """Gauss-Newton's model of the sum of squares at the problem's constants, near these states.

    The states need not be a trajectory of the problem's field: the gaps between steps are closed to
    first order. With a field that is zero this is the integral form of each equation,
    x(t) = x(t_0) + int theta(x) w. Candidates with the coefficient zero count like the others.
    None where the field cannot be evaluated along these states.
    """
    p = problem.old
    nodes = input_nodes(problem.data, problem.inputs, segments, substeps)
    slope = problem.slope.at(problem.constants.values(problem.field, p))
    with np.errstate(all="ignore"):
        near, by = linearized(slope, len(p), states, segments, nodes, substeps)
    sound = np.isfinite(near).all(axis=(0, 1)) & np.isfinite(by).all(axis=(1, 2, 3))
    sound = np.asarray(sound)
    if not sound.any():
        return None
    each = sigma[:, None] * problem.relative(segments) * np.ones_like(near)
    with np.errstate(all="ignore"):  # sums of large numbers may leave the range
        normal = normal_equations(
            Shot(near, sound), by, problem.states_of(segments), segments.weight * sound, each
        )
    try:
        H, scores, solved = eliminated(normal, np.zeros(len(p)))
    except np.linalg.LinAlgError:
        return None
    gradient = scores.sum(axis=(0, 1))
    if not (np.isfinite(H).all() and np.isfinite(gradient).all()):
        return None
    s_scores = normal.s_scores.sum(axis=1)
    # the starts move to their best values for these constants
    gained = float((solved[:, :, len(p) :].sum(axis=2) * s_scores).sum())
    square = 2 * float(normal.costs[sound].sum()) - gained
    measured = int(np.isfinite(sigma).sum())
    rows = float(segments.weight[:, sound].sum()) * measured
    spent = int(sound.sum()) * len(sigma)
    q = H @ p + gradient
    return Quadratic(
        H, q, max(square + float(p @ (H @ p)) + 2 * float(gradient @ p), 0.0), rows, spent
    )
