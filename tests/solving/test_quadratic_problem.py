"""`QuadraticProblem` compared with scikit-learn's Lasso, SciPy's minimizers and its own
conditions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize

import orthoreg as og
from orthoreg.solving import Bounds, Equalities, QuadraticProblem, coupled

seeds = st.integers(0, 10_000)


def random_problem(seed: int, l1: float = 0.0, rank: int | None = None):
    rng = np.random.default_rng(seed)
    K = int(rng.integers(2, 7))
    X = rng.standard_normal((rank or K + 5, K)) * 10.0 ** rng.uniform(-2, 2, K)
    return QuadraticProblem(X.T @ X, X.T @ rng.standard_normal(len(X)), l1), rng


def constrained(seed: int, l1: float = 0.0):
    """Return bounds and equalities around a random point, so that the problem is feasible."""
    problem, rng = random_problem(seed, l1)
    K = len(problem.r)
    size = 1 / np.sqrt(np.diag(problem.Q))
    inside = rng.standard_normal(K) * size
    below, above = (rng.exponential(1.0, K) * size * (rng.random(K) < 0.8) for _ in range(2))
    low = np.where(rng.random(K) < 0.3, -np.inf, inside - below)
    high = np.where(rng.random(K) < 0.3, np.inf, inside + above)
    E = rng.standard_normal((int(rng.integers(0, K)), K)) / size
    return QuadraticProblem(problem.Q, problem.r, l1, Equalities(E, E @ inside), Bounds(low, high))


@given(seeds, st.floats(1e-3, 10))
def test_l1_solution_is_that_of_scikit_learn(seed, l1):
    from sklearn.linear_model import Lasso

    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((30, 5)), rng.standard_normal(30)
    ours = QuadraticProblem(X.T @ X / 30, X.T @ y / 30, l1).solve()
    # the squared error of scikit-learn has the factor 1/2
    theirs = Lasso(alpha=l1 / 2, fit_intercept=False, tol=1e-14, max_iter=100_000).fit(X, y)
    assert_allclose(ours, theirs.coef_, atol=1e-8)


@given(seeds, st.sampled_from([0.0, 0.05, 1.0]))
def test_constrained_minimum_meets_constraints_and_no_feasible_direction_descends(seed, l1):
    problem = constrained(seed, l1)
    w = problem.solve()
    E, e = problem.equalities.matrix, problem.equalities.values
    size = np.abs(w).max() + 1e-12
    assert_allclose(E @ w, e, atol=1e-7 * max(np.abs(E).max(initial=0.0) * size, 1e-12))
    assert (w >= problem.bounds.low).all() and (w <= problem.bounds.high).all()
    # compared with points towards other feasible points, which is sufficient because of convexity
    rng = np.random.default_rng(seed + 1)
    for other in feasible_points(problem, w, rng):
        for share in (1e-3, 0.1, 1.0):
            assert problem.value(w) <= problem.value(w + share * (other - w)) + 1e-8 * (
                1 + abs(problem.value(w))
            )


def feasible_points(problem, w, rng):
    """Return feasible points: steps along the null space of the equalities, clipped at
    the bounds."""
    E = problem.equalities.matrix
    null = np.linalg.svd(E)[2][np.linalg.matrix_rank(E) :] if len(E) else np.eye(len(w))
    for _ in range(20 if len(null) else 0):
        move = rng.standard_normal(len(null)) @ null / np.sqrt(np.diag(problem.Q).max())
        with np.errstate(all="ignore"):
            room = np.where(
                move > 0, (problem.bounds.high - w) / move, (problem.bounds.low - w) / move
            )
        room = room[np.abs(move) > 1e-14]
        yield w + min(1.0, max(room.min(initial=1.0), 0.0)) * move


@pytest.mark.parametrize("seed", range(12))
def test_constrained_minimum_is_that_of_an_independent_solver(seed):
    problem = constrained(seed)
    unit = 1 / np.sqrt(np.diag(problem.Q))
    E, e = problem.equalities.matrix * unit, problem.equalities.values
    low, high = problem.bounds.low / unit, problem.bounds.high / unit
    reference = minimize(
        lambda s: problem.value(s * unit),
        np.clip(0.0, low, high),
        jac=lambda s: 2 * unit * (problem.Q @ (s * unit) - problem.r),
        method="SLSQP",
        bounds=list(zip(low, high, strict=True)),
        constraints=[{"type": "eq", "fun": lambda s: E @ s - e, "jac": lambda s: E}]
        if len(e)
        else [],
        options={"ftol": 1e-15, "maxiter": 2000},
    )
    assert_allclose(problem.value(problem.solve()), reference.fun, rtol=1e-9, atol=1e-9)


def test_equalities_couple_equations():
    """If two equations have opposite coefficients, the result is the mean of the
    separate results."""
    one, two = (
        QuadraticProblem(np.eye(1), np.array([3.0])),
        QuadraticProblem(np.eye(1), np.array([-1.0])),
    )
    together = coupled([one, two])
    opposite = QuadraticProblem(
        together.Q, together.r, equalities=Equalities(np.array([[1.0, 1.0]]), np.zeros(1))
    )
    assert_allclose(opposite.solve(), [2.0, -2.0])


def test_a_coefficient_at_its_bound_is_exactly_there():
    problem = QuadraticProblem(
        np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([1.0, -1.0]),
        bounds=Bounds(np.array([-np.inf, 0.0]), np.array([np.inf, np.inf])),
    )  # fmt: skip
    assert problem.solve().tolist() == [1.0, 0.0]


@given(seeds)
def test_without_full_rank_the_gradient_vanishes(seed):
    problem, _ = random_problem(seed, rank=2)
    w = problem.solve()
    assert_allclose(problem.Q @ w, problem.r, atol=1e-8 * np.abs(problem.r).max())


@given(seeds, st.floats(1e-2, 1e2))
def test_duality_gap_vanishes_at_the_minimum_and_bounds_other_points(seed, l1):
    problem, rng = random_problem(seed, l1)
    constant = float(problem.r @ np.linalg.solve(problem.Q, problem.r)) + 1.0
    w = problem.solve()
    best = constant + problem.value(w)
    assert problem.duality_gap(w, constant) <= 1e-9 * constant
    other = w + rng.standard_normal(len(w)) / np.sqrt(np.diag(problem.Q))
    assert problem.duality_gap(other, constant) >= constant + problem.value(other) - best - 1e-9


@given(seeds, st.sampled_from([0.0, 0.01, 0.5]), st.floats(0.0, 1.0))
def test_duality_gap_bounds_the_distance_to_the_optimum(seed, l1, wrong):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 5)) * rng.uniform(0.3, 3, 5)
    y = X @ rng.standard_normal(5) + rng.standard_normal(40)
    problem, constant = QuadraticProblem(X.T @ X / 40, X.T @ y / 40, l1), float(y @ y / 40)
    best = problem.solve()
    other = best + wrong * rng.standard_normal(5)
    gap = problem.duality_gap(other, constant)
    assert gap >= problem.value(other) - problem.value(best) - 1e-10
    assert problem.duality_gap(best, constant) < 1e-10 * max(1.0, constant)


@pytest.mark.parametrize("K", [1, 3, 12, 60])
def test_l1_handles_ill_conditioned_and_larger_problems(K):
    rng = np.random.default_rng(K)
    base = rng.standard_normal((80, K))
    X = base @ np.diag(np.logspace(0, -4, K)) @ np.linalg.qr(rng.standard_normal((K, K)))[0]
    X /= np.sqrt((X**2).mean(axis=0))
    y = rng.standard_normal(80)
    for l1 in (1e-4, 1e-2, 0.1):
        problem = QuadraticProblem(X.T @ X / 80, X.T @ y / 80, l1)
        assert problem.duality_gap(problem.solve(), float(y @ y / 80)) < 1e-10


@given(seeds, st.sampled_from([0.0, 0.1]))
def test_only_solves_with_all_other_coefficients_zero(seed, l1):
    problem, rng = random_problem(seed, l1)
    K = len(problem.r)
    terms = np.sort(rng.permutation(K)[: int(rng.integers(1, K))])
    w = np.zeros(K)
    w[terms] = problem.only(terms).solve()
    others = np.setdiff1d(np.arange(K), terms)
    none = Equalities(np.eye(K)[others], np.zeros(len(others)))
    held = QuadraticProblem(problem.Q, problem.r, l1, none)
    assert problem.value(w) == pytest.approx(held.value(held.solve()), rel=1e-8, abs=1e-10)


@given(seeds, st.floats(1e-2, 10))
def test_start_changes_nothing(seed, l1):
    problem, rng = random_problem(seed, l1)
    assert_allclose(
        problem.solve(), problem.solve(rng.standard_normal(len(problem.r))), atol=1e-9, rtol=1e-7
    )


def test_contradictory_constraints_are_one_sentence():
    with pytest.raises(og.OrthoregError, match="coefficient 0 exclude each other: 1 to 0"):
        Bounds(np.ones(1), np.zeros(1))
    problem = QuadraticProblem(
        np.eye(2), np.zeros(2), 0.0,
        Equalities(np.array([[1.0, 1.0]]), np.array([3.0])), Bounds(np.zeros(2), np.ones(2)),
    )  # fmt: skip
    with pytest.raises(
        og.OrthoregError, match="contradict each other: no coefficients satisfy all"
    ):
        problem.solve()
