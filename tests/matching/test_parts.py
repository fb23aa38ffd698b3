"""Parts of a refinement: derivatives, sensitivities, segments, elimination."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import LV_TERMS, LV_TRUE, field_of
from numpy.testing import assert_allclose

from orthoreg.data import Dataset
from orthoreg.field import RandomFeatures
from orthoreg.field.gate import Gate
from orthoreg.matching._constants import Constants
from orthoreg.matching._problem import Problem, eliminate_starts
from orthoreg.matching._residual import reprojected
from orthoreg.matching._segments import cut
from orthoreg.terms import derivative, evaluate, parse

FORMULAS = [
    "x", "3", "x*y", "x**3*y", "sin(x*y)", "cos(2*x)", "tan(x/3)", "exp(-x)*y", "log(x + 2)",
    "sqrt(x + y)", "1/(K + x)", "x**K", "K**x", "tanh(K*x)", "sinh(x)", "cosh(x)", "arctan(x)",
    "arcsin(x/4)", "arccos(y/4)", "abs(x - 5)", "x/(K + x**2)", "x*sign(y)",
]  # fmt: skip


@pytest.mark.parametrize("text", FORMULAS)
def test_derivative_is_the_difference_quotient(text):
    item = parse(text, ["x", "y"], ["K"])
    at, K, h = np.array([1.3, 0.7]), 1.7, 1e-6

    def value(x, y, K):
        return evaluate(item, [x, y], np, {"K": K})

    for i in range(2):
        step = h * np.eye(2)[i]
        expected = (value(*(at + step), K) - value(*(at - step), K)) / (2 * h)
        found = evaluate(derivative(item, i), at, np, {"K": K})
        assert_allclose(found, expected, rtol=1e-7, atol=1e-9)
    expected = (value(*at, K + h) - value(*at, K - h)) / (2 * h)
    found = evaluate(derivative(item, "K"), at, np, {"K": K})
    assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


def _problem(data, field):
    constants = Constants.of(field)
    return Problem(
        field, constants, data, {}, data.states.std(axis=0), np.ones(data.n_states, dtype=bool)
    )


@pytest.mark.parametrize("gated", [False, True])
def test_sensitivities_are_difference_quotients(noisy_lv, gated):
    """Scores of the normal equations equal differences of the cost, with residual and gate."""
    rng = np.random.default_rng(0)
    field = field_of(["x", "y", "x*y/(x + K)"], ["x", "y"], [[1.1, 0, -0.5], [0, -0.4, 0.2]], [9.0])
    basis = RandomFeatures(3, weight_scale=0.5).init(
        noisy_lv.states.mean(axis=0), noisy_lv.states.std(axis=0), rng=rng
    )
    region = Gate(hold=False)(noisy_lv.states[:200]) if gated else None
    field = replace(field, basis=basis, weights=0.1 * rng.standard_normal((4, 2)), region=region)
    problem = replace(_problem(noisy_lv, field), gated=gated)
    segments = cut(noisy_lv, 10, 10_000)

    def evaluate(p, starts, sigma):
        states = problem.simulate(p, starts, segments, 2).states
        return problem.evaluate(p, starts, sigma, segments, 2, states)

    p = problem.initial_constants
    starts = noisy_lv.states[segments.rows[0]].T.copy()
    sigma = 2.0 * noisy_lv.states.std(axis=0)
    normal = evaluate(p, starts, sigma)
    assert len(p) == 4 + 1 + 8
    for i in range(len(p)):
        step = 1e-5 * np.eye(len(p))[i]
        slope = evaluate(p + step, starts, sigma).cost - evaluate(p - step, starts, sigma).cost
        assert_allclose(normal.p_scores[..., i].sum(), -slope / 2e-5, rtol=1e-3, atol=1e-4)
    for j in range(2):
        step = 1e-4 * np.eye(2)[:, [j]] * np.ones(segments.count)
        slope = (
            evaluate(p, starts + step, sigma).costs - evaluate(p, starts - step, sigma).costs
        ) / 2e-4
        assert_allclose(normal.s_scores[..., j].sum(axis=1), -slope, rtol=1e-3, atol=1e-4)


def test_vectorized_steps_equal_integration_row_by_row(noisy_lv):
    field = field_of(LV_TERMS, ["x", "y"], LV_TRUE)
    problem = _problem(noisy_lv, field)
    segments = cut(noisy_lv, 200, 10_000)
    guess = problem.measured_states(segments)
    starts = guess[0].copy()
    p = problem.initial_constants
    states, is_valid = problem.simulate(p, starts, segments, 2)
    found = problem.evaluate(p, starts, np.ones(2), segments, 2, guess)
    assert is_valid.all()
    assert_allclose(found.states, states, rtol=1e-5)


def test_elimination_is_the_dense_solution(noisy_lv):
    field = field_of(LV_TERMS, ["x", "y"], LV_TRUE)
    problem = _problem(noisy_lv, field)
    segments = cut(noisy_lv, 30, 10_000)
    starts = noisy_lv.states[segments.rows[0]].T.copy()
    p, guess = problem.initial_constants, problem.measured_states(segments)
    normal = problem.evaluate(p, starts, np.ones(2), segments, 1, guess)
    size, count = 4, segments.count
    dense = np.zeros((size + 2 * count,) * 2)
    dense[:size, :size] = normal.pp
    score = np.concatenate([normal.p_scores.sum(axis=(0, 1)), normal.s_scores.sum(axis=1).ravel()])
    for b in range(count):
        at = slice(size + 2 * b, size + 2 * b + 2)
        dense[at, at] = normal.ss[b]
        dense[at, :size] = normal.sp[b]
        dense[:size, at] = normal.sp[b].T
    H, scores, _ = eliminate_starts(normal, np.zeros(size))
    assert_allclose(np.linalg.inv(H), np.linalg.inv(dense)[:size, :size], rtol=1e-6)
    step = np.linalg.solve(H, scores.sum(axis=(0, 1)))
    assert_allclose(step, np.linalg.solve(dense, score)[:size], rtol=1e-6)


def test_segments_cover_runs_and_share_their_ends():
    data = Dataset.from_arrays([np.arange(9.0)[:, None], np.arange(4.0)[:, None]], 0.5)
    segments = cut(data, 4, 1000)
    assert segments.rows[0].tolist() == [0, 4, 9]
    assert segments.weight.T.tolist() == [[1, 1, 1, 1, 0.5], [0.5, 1, 1, 1, 1], [1, 1, 1, 1, 0]]
    assert segments.steps[:, 2].tolist() == [0.5, 0.5, 0.5, 0.0]
    # each row counts once
    total = np.zeros(13)
    np.add.at(total, segments.rows, segments.weight)
    assert total.tolist() == [1.0] * 13
    assert cut(data, 4, 5).count == 1


def test_reprojection_does_not_change_the_function(noisy_lv):
    rng = np.random.default_rng(0)
    field = field_of(LV_TERMS, ["x", "y"], LV_TRUE)
    basis = RandomFeatures(5, weight_scale=0.5).init(
        noisy_lv.states.mean(axis=0), noisy_lv.states.std(axis=0), rng=rng
    )
    field = replace(
        field, basis=basis, weights=rng.standard_normal((6, 2)), correction=0.1 * LV_TRUE
    )
    found, jacobian = reprojected(field, Constants.of(field), noisy_lv)
    z = noisy_lv.states
    assert_allclose(found.values(z), field.values(z), rtol=1e-9, atol=1e-9)
    theta, residual = found.features(z), found.neural(z)
    assert_allclose(theta[:, [0, 2]].T @ residual[:, 0], 0, atol=1e-7)
    assert jacobian.shape == (4, 16)
    moved = replace(field, weights=field.weights + 0.01)
    change = reprojected(moved, Constants.of(field), noisy_lv)[0].coefficients - found.coefficients
    expected = jacobian[:, 4:] @ np.full(12, 0.01)
    assert_allclose(change[LV_TRUE != 0], expected, rtol=1e-6, atol=1e-12)
