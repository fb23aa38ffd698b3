"""The constrained minimum compared with an interior-point solver and with its own conditions."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from orthoreg.solving import Bounds, Equalities, QuadraticProblem
from orthoreg.solving._active_set import by_daqp, pivot


def random_problem(seed, K, q, l1=0.0, condition=1.0):
    """Return a problem with feasible equalities, all kinds of bounds, and given coefficients."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((3 * K, K)) * np.logspace(0, condition, K)
    y = X @ rng.standard_normal(K) + 0.3 * rng.standard_normal(3 * K)
    inside = rng.standard_normal(K)
    E = rng.standard_normal((q, K)) * (rng.random((q, K)) < 0.5)
    E = E[E.any(axis=1)]
    kinds = rng.integers(0, 5, K)
    low = np.where(np.isin(kinds, (1, 3)), inside - rng.random(K), -np.inf)
    high = np.where(np.isin(kinds, (2, 3)), inside + rng.random(K), np.inf)
    low, high = (np.where(kinds == 4, np.minimum(inside, 0.0), low),
                 np.where(kinds == 4, np.maximum(inside, 0.0), high))  # fmt: skip
    return QuadraticProblem(
        X.T @ X / len(X), X.T @ y / len(X), l1, Equalities(E, E @ inside), Bounds(low, high)
    )


def reference(problem):
    import cvxpy as cp

    w = cp.Variable(len(problem.r))
    low, high = problem.bounds.low, problem.bounds.high
    constraints = [w[np.isfinite(low)] >= low[np.isfinite(low)]]
    constraints += [w[np.isfinite(high)] <= high[np.isfinite(high)]]
    constraints += [problem.equalities.matrix @ w == problem.equalities.values]
    value = cp.quad_form(w, cp.psd_wrap(problem.Q)) - 2 * problem.r @ w
    tight = dict.fromkeys(["tol_gap_abs", "tol_gap_rel", "tol_feas"], 1e-11)
    whole = cp.Problem(cp.Minimize(value + problem.l1 * cp.norm1(w)), constraints)
    whole.solve("CLARABEL", **tight)
    return np.asarray(w.value)


@pytest.mark.parametrize("l1", [0.0, 0.4])
@pytest.mark.parametrize("seed", range(6))
def test_the_minimum_is_that_of_an_interior_point_solver(seed, l1):
    problem = random_problem(seed, 4 + 3 * seed, seed % 4, l1)
    found, other = problem.solve(), reference(problem)
    assert_allclose(found, other, atol=1e-5)
    assert problem.value(found) <= problem.value(other) + 1e-6


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000), K=st.integers(2, 25), q=st.integers(0, 3),
    l1=st.sampled_from([0.0, 0.05, 1.0]), condition=st.sampled_from([0.0, 3.0]),
)  # fmt: skip
def test_the_conditions_of_the_minimum_hold(seed, K, q, l1, condition):
    """The point is feasible, and there are multipliers of the equalities for which each component
    of the gradient is within the limits of its bounds and norm."""
    from scipy.optimize import linprog

    problem = random_problem(seed, K, min(q, K - 1), l1, condition)
    low, high = problem.bounds.low, problem.bounds.high
    E, e = problem.equalities.matrix, problem.equalities.values
    w = problem.solve()
    assert (w >= low).all() and (w <= high).all()
    size = max(1.0, float(np.abs(w).max()))
    assert_allclose(E @ w, e, atol=1e-8 * size)
    near = 1e-9 * size
    up = np.where(w >= high, np.inf, np.where(w > -near, l1, -l1))
    down = np.where(w <= low, -np.inf, np.where(w < near, -l1, l1))
    gradient = 2 * (problem.Q @ w - problem.r)
    slack = 1e-6 * max(float(np.abs(problem.r).max()), 1.0)
    # find m with down <= -(gradient + E' m) <= up
    finite = [np.isfinite(down), np.isfinite(up)]
    A = np.vstack([E.T[finite[0]], -E.T[finite[1]]])
    b = np.concatenate([(-gradient - down + slack)[finite[0]], (gradient + up + slack)[finite[1]]])
    if not len(E):
        assert (b >= 0).all()
        return
    feasible = linprog(np.zeros(len(E)), A_ub=A, b_ub=b, bounds=(None, None))
    assert feasible.status == 0


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), K=st.integers(3, 20), l1=st.sampled_from([0.0, 0.2]))
def test_both_ways_lead_to_the_same_minimum(seed, K, l1):
    problem = random_problem(seed, K, 2, l1)
    fast = pivot(problem.constrained())
    if fast is not None and not (problem.bounds.low == problem.bounds.high).any():
        slow = by_daqp(problem.constrained())
        assert_allclose(fast, slow, atol=1e-6 * max(1.0, float(np.abs(slow).max())))


@pytest.mark.parametrize("l1", [0.0, 0.1])
def test_most_problems_need_no_single_steps(l1):
    found = []
    for seed in range(30):
        p = random_problem(seed, 15, 2, l1)
        found.append(pivot(p.constrained()) is not None)
    assert sum(found) >= 24


def tied_problem(seed, l1, K=12, pairs=3):
    """Coefficients have pairs of opposite sign, as with coupled equations, and bounds at zero.
    Whole pairs reach zero."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((4 * K, K))
    y = X @ np.where(rng.random(K) < 0.5, rng.standard_normal(K), 0.0) + rng.standard_normal(4 * K)
    E = np.zeros((pairs, K))
    E[np.arange(pairs), np.arange(pairs)] = 1.0
    E[np.arange(pairs), pairs + np.arange(pairs)] = rng.uniform(0.5, 2.0, pairs)
    low = np.where(rng.random(K) < 0.4, 0.0, -np.inf)
    free = Bounds(low, np.full(K, np.inf))
    return QuadraticProblem(
        X.T @ X / len(X), X.T @ y / len(X), l1, Equalities(E, E[:, 0] * 0), free
    )


@pytest.mark.parametrize("l1", [0.0, 0.5])
def test_an_equality_whose_coefficients_are_all_held_needs_no_single_steps(l1):
    idle = 0
    for seed in range(12):
        p = tied_problem(seed, l1)
        found = pivot(p.constrained())
        assert found is not None
        assert_allclose(found, reference(p), atol=1e-5)
        idle += int(((found[:3] == 0) & (found[3:6] == 0)).sum())
    assert idle >= 5  # the case of this test


@pytest.mark.parametrize("constrained", [False, True])
def test_the_solution_of_a_similar_problem_as_a_start_changes_nothing(constrained):
    for seed in range(8):
        p = random_problem(seed, 15, 2, 0.2)
        if not constrained:
            p = QuadraticProblem(p.Q, p.r, p.l1)
        nearby = replace(p, l1=0.3).solve()
        assert_allclose(p.solve(nearby), p.solve(), atol=1e-9)
