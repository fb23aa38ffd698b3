"""Problems with a singular Q: the minimum, and the gap that bounds the distance from it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orthoreg.solving import Bounds, Equalities, QuadraticProblem

KINDS = ["norm", "norm bounds", "norm equalities", "bounds equalities", "norm bounds equalities"]


def singular(seed, kind):
    """Return a feasible problem of low rank with repeated or mixed terms, and R and z of its
    quadratic part |z - Rw|^2."""
    rng = np.random.default_rng(seed)
    n, K = 40, int(rng.integers(3, 14))
    rank = int(rng.integers(1, K))
    base = rng.standard_normal((n, rank))
    mixed = base @ rng.standard_normal((rank, K))
    repeated = base[:, rng.integers(0, rank, K)] * rng.choice([1.0, -1.0, 2.0], K)
    R = (mixed if rng.random() < 0.5 else repeated) / np.sqrt(n)
    R = R * 10.0 ** (rng.uniform(-2, 2, K) if rng.random() < 0.5 else 0.0)
    z = R @ rng.standard_normal(K) * (rng.random() < 0.8) + 0.05 * rng.standard_normal(n)
    size = 1 / np.sqrt((R**2).sum(axis=0))
    inside = rng.standard_normal(K) * size
    below, above = (rng.exponential(1.0, K) * size * (rng.random(K) < 0.8) for _ in range(2))
    low = np.where(rng.random(K) < 0.4, -np.inf, inside - below)
    high = np.where(rng.random(K) < 0.4, np.inf, inside + above)
    E = rng.standard_normal((int(rng.integers(1, K)), K)) * (rng.random(K) < 0.5) / size
    E = E[E.any(axis=1)]
    problem = QuadraticProblem(
        R.T @ R,
        R.T @ z,
        float(10.0 ** rng.uniform(-2, 0.3)) if "norm" in kind else 0.0,
        Equalities(E, E @ inside) if "equalities" in kind else None,
        Bounds(low, high) if "bounds" in kind else None,
    )
    return problem, R, z


def reference(problem, R, z):
    """Return the minimum by an interior-point solver, with columns scaled to equal size."""
    import cvxpy as cp

    unit = 1 / np.sqrt(np.diag(problem.Q))
    v = cp.Variable(len(unit))
    constraints = []
    if problem.bounds is not None:
        low, high = problem.bounds.low / unit, problem.bounds.high / unit
        constraints += [v[np.isfinite(low)] >= low[np.isfinite(low)]]
        constraints += [v[np.isfinite(high)] <= high[np.isfinite(high)]]
    if problem.equalities is not None:
        E = problem.equalities.matrix * unit
        size = np.sqrt((E**2).sum(axis=1))
        constraints += [(E / size[:, None]) @ v == problem.equalities.values / size]
    value = cp.sum_squares((R * unit) @ v - z) + problem.l1 * cp.norm1(cp.multiply(unit, v))
    whole = cp.Problem(cp.Minimize(value), constraints)
    whole.solve("CLARABEL", **dict.fromkeys(["tol_gap_abs", "tol_gap_rel", "tol_feas"], 1e-12))
    return float(whole.value) - float(z @ z)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_minimum_is_that_of_an_interior_point_solver(kind):
    for seed in range(150):
        problem, R, z = singular(seed, kind)
        w, least, constant = problem.solve(), reference(problem, R, z), float(z @ z)
        size = max(constant, constant + least)
        assert problem.value(w) <= least + 1e-7 * size, seed
        assert problem.duality_gap(w, constant) >= problem.value(w) - least - 1e-8 * size, seed


@settings(deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(KINDS))
def test_the_solution_is_feasible_and_its_gap_proves_that_it_is_the_minimum(seed, kind):
    problem, _, z = singular(seed, kind)
    w, constant = problem.solve(), float(z @ z)
    if problem.bounds is not None:
        assert (w >= problem.bounds.low).all() and (w <= problem.bounds.high).all()
    if problem.equalities is not None:
        E, e = problem.equalities.matrix, problem.equalities.values
        assert (np.abs(E @ w - e) <= 1e-8 * (np.abs(E) @ np.abs(w) + np.abs(e) + 1e-6)).all()
    assert problem.duality_gap(w, constant) <= 1e-8 * max(constant, constant + problem.value(w))


@settings(deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(KINDS), st.floats(0.0, 1.0))
def test_the_gap_of_any_feasible_point_bounds_its_distance_from_the_minimum(seed, kind, share):
    problem, _, z = singular(seed, kind)
    best, constant = problem.solve(), float(z @ z)
    # between the minimum and the value at the feasible minimum of a problem with the same
    # constraints
    rng = np.random.default_rng(seed)
    elsewhere = QuadraticProblem(
        np.diag(np.diag(problem.Q)), problem.r * rng.normal(1.0, 1.0, len(best)), 0.0,
        problem.equalities, problem.bounds,
    ).solve()  # fmt: skip
    w = best + share * (elsewhere - best)
    lost = problem.value(w) - problem.value(best)
    assert problem.duality_gap(w, constant) >= lost - 1e-8 * max(constant, abs(lost))
