"""Matches that start near their minimum."""

import numpy as np
from conftest import field_of, solved

from orthoreg.data import Dataset
from orthoreg.matching._constants import Constants
from orthoreg.matching._limits import FULL
from orthoreg.matching._problem import Problem
from orthoreg.matching._stages import match_stage, prior_precision, updated_states

TERMS = ["x", "y", "z", "x*y", "x*z"]
TRUE = np.array([[-10, 10, 0, 0, 0], [28, -1, 0, 0, -1], [0, 0, -8 / 3, 1, 0]])


def lorenz(t, v):
    x, y, z = v
    return [10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z]


def test_match_of_a_chaotic_flow_takes_few_steps():
    """Long chaotic segments determine some directions by less than 1e-7 of the diagonal of the
    normal equations. Less damped steps reach the same minimum sooner."""
    rng = np.random.default_rng(0)
    t = 0.01 * np.arange(2001)
    exact = solved(lorenz, [[1.0, 2.0, 20.0]], t)[0]
    noisy = exact + 0.01 * exact.std(axis=0) * rng.standard_normal(exact.shape)
    data = Dataset.from_arrays([noisy], t, names=["x", "y", "z"])
    field = field_of(TERMS, ["x", "y", "z"], 1.01 * TRUE)
    problem = Problem(
        field, Constants.of(field), data, {}, noisy.std(axis=0), np.ones(3, dtype=bool)
    )
    size = problem.constants.size
    bounds = np.tile([[-np.inf], [np.inf]], size)
    short = match_stage(
        problem, 50, problem.initial_constants, noisy, prior_precision(problem), bounds
    )
    states = updated_states(noisy, short)
    counts, stages = [], []
    for effort in (FULL, FULL._replace(starts_near=True)):
        steps: list[int] = []
        stages.append(match_stage(
            problem, 400, short.p, states, short.precision, bounds, sigma=short.sigma,
            effort=effort, on_step=lambda steps=steps: steps.append(1),
        ))  # fmt: skip
        counts.append(len(steps))
    assert all(stage.solution.converged for stage in stages)
    assert counts[1] <= 4
    assert counts[1] < counts[0]
    np.testing.assert_allclose(stages[1].p, stages[0].p, rtol=1e-4)
    np.testing.assert_allclose(stages[1].p, TRUE[TRUE != 0], rtol=5e-3)
