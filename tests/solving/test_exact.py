"""The exact solver compared with generic convex solvers, scikit-learn and optimality conditions."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from sklearn.linear_model import Lasso

from orthoreg.solving import Exact, Moments, Regularization, exact_path, objective

seeds = st.integers(0, 10_000)
weights = st.sampled_from([0.0, 0.01, 0.1, 1.0, 10.0])


def problem(seed: int, K: int = 5, H: int = 4, N: int = 40) -> tuple[np.ndarray, ...]:
    """Return features, overlapping basis functions, and one target."""
    rng = np.random.default_rng(seed)
    Phi = rng.standard_normal((N, K)) * rng.uniform(0.3, 3, K)
    Psi = rng.standard_normal((N, H)) + Phi[:, :H] @ rng.standard_normal((min(K, H), H))
    y = Phi @ rng.standard_normal(K) + rng.standard_normal(N)
    return Phi, Psi, y[:, None]


def moments_of(Phi: np.ndarray, Psi: np.ndarray, y: np.ndarray) -> Moments:
    block = np.hstack([Phi, Psi, y])
    return Moments(len(y), block.T @ block, Phi.shape[1], Psi.shape[1])


def J(w, v, Phi, Psi, y, mu, lam, lam2, rho):
    """Return the objective as a sum over samples."""
    N = len(y)
    residual = Psi @ v
    return (
        np.sum((y[:, 0] - Phi @ w - residual) ** 2) / N
        + mu * np.abs(w).sum()
        + lam * np.sum((Phi.T @ residual / N) ** 2)
        + lam2 * np.sum(residual**2) / N
        + rho * v @ v
    )


def convex_optimum(Phi, Psi, y, mu, lam, lam2, rho) -> float:
    """Return min J by bounded L-BFGS on w = p - q with p, q >= 0, which is smooth and
    independent."""
    N, K = Phi.shape
    H = Psi.shape[1]
    overlap = Phi.T @ Psi / N

    def value_and_slope(z):
        p, q, v = z[:K], z[K : 2 * K], z[2 * K :]
        error = y[:, 0] - Phi @ (p - q) - Psi @ v
        value = (
            error @ error / N
            + mu * (p.sum() + q.sum())
            + lam * np.sum((overlap @ v) ** 2)
            + lam2 * np.sum((Psi @ v) ** 2) / N
            + rho * v @ v
        )
        dw = -2 * Phi.T @ error / N
        dv = (
            -2 * Psi.T @ error / N
            + 2 * lam * overlap.T @ (overlap @ v)
            + 2 * lam2 * Psi.T @ (Psi @ v) / N
            + 2 * rho * v
        )
        return value, np.concatenate([dw + mu, -dw + mu, dv])

    bounds = [(0, None)] * (2 * K) + [(None, None)] * H
    start = np.zeros(2 * K + H)
    options = {"maxiter": 50_000, "maxfun": 200_000, "ftol": 1e-16, "gtol": 1e-12, "maxcor": 40}
    least = np.inf
    for _ in range(4):  # sometimes a line search stops early, so it is restarted
        found = minimize(
            value_and_slope, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options
        )
        start, least = found.x, float(found.fun)
    return least


@given(seeds, weights, weights, st.sampled_from([0.0, 0.3]), st.sampled_from([1e-3, 0.1]))
def test_objective_agrees_with_a_generic_convex_solve(seed, mu, lam, lam2, rho):
    Phi, Psi, y = problem(seed)
    moments = moments_of(Phi, Psi, y)
    regularization = Regularization(mu, lam, lam2)
    result = Exact().solve([moments], np.ones((1, 5), bool), regularization, rho)
    fit = result.equations[0]
    ours = J(fit.w, fit.v, Phi, Psi, y, mu, lam, lam2, rho)
    assert_allclose(ours, objective(moments, 0, fit, regularization), rtol=1e-10)
    reference = convex_optimum(Phi, Psi, y, mu, lam, lam2, rho)
    assert abs(ours - reference) <= 1e-8 * max(1, abs(reference))


@given(seeds, weights, weights)
def test_solution_meets_the_sub_gradient_conditions(seed, mu, lam):
    """Central differences of J are zero in v and in nonzero w, and otherwise within [-mu, mu]."""
    data = problem(seed)
    fit = (
        Exact()
        .solve([moments_of(*data)], np.ones((1, 5), bool), Regularization(mu, lam, 0.1), 1e-3)
        .equations[0]
    )

    def slope(j, of_w):
        step = np.zeros(5 if of_w else 4)
        step[j] = 1e-5
        up = (fit.w + step, fit.v) if of_w else (fit.w, fit.v + step)
        down = (fit.w - step, fit.v) if of_w else (fit.w, fit.v - step)
        smooth = 0.0 if of_w else mu
        return (
            J(*up, *data, smooth, lam, 0.1, 1e-3) - J(*down, *data, smooth, lam, 0.1, 1e-3)
        ) / 2e-5

    for j in range(4):
        assert abs(slope(j, False)) < 1e-6
    for j in range(5):
        if fit.w[j] != 0:
            assert abs(slope(j, True) + mu * np.sign(fit.w[j])) < 1e-6
        else:
            assert abs(slope(j, True)) <= mu + 1e-6


@given(seeds, st.sampled_from([1e-3, 0.03, 0.3, 1.0]))
def test_without_a_residual_it_is_the_lasso_at_half_mu(seed, mu):
    Phi, _, y = problem(seed)
    moments = moments_of(Phi, np.zeros((40, 0)), y)
    w = Exact().solve([moments], np.ones((1, 5), bool), Regularization(mu, 1.0, 0.0), 0.0)
    reference = Lasso(alpha=mu / 2, fit_intercept=False, tol=1e-14, max_iter=1_000_000)
    assert_allclose(w.coefficients[0], reference.fit(Phi, y[:, 0]).coef_, atol=1e-8)


@given(seeds, st.sampled_from([1e-3, 0.1]))
def test_infinite_orthogonality_is_the_limit_and_leaves_no_overlap(seed, mu):
    Phi, Psi, y = problem(seed)
    moments = moments_of(Phi, Psi, y)

    def solve(lam):
        return Exact().solve([moments], np.ones((1, 5), bool), Regularization(mu, lam, 0.0), 1e-3)

    projected, nearly = solve(math.inf).equations[0], solve(1e9).equations[0]
    scale = np.sqrt(np.diag(moments.A).max() * np.diag(moments.D).max())
    assert np.abs(moments.B @ projected.v).max() < 1e-12 * scale * max(1, np.abs(projected.v).max())
    assert_allclose(nearly.w, projected.w, atol=1e-5)
    assert_allclose(Psi @ nearly.v, Psi @ projected.v, atol=1e-4)
    plain = Exact().solve(
        [moments_of(Phi, Psi[:, :0], y)], np.ones((1, 5), bool), Regularization(mu, 0, 0), 0.0
    )
    assert_allclose(projected.w, plain.coefficients[0], atol=1e-10)


@given(seeds)
def test_overlap_falls_as_orthogonality_grows(seed):
    moments = moments_of(*problem(seed))
    sizes = []
    for lam in (0.0, 0.1, 1.0, 10.0, 1e3):
        fit = (
            Exact()
            .solve([moments], np.ones((1, 5), bool), Regularization(0.1, lam, 0.0), 1e-3)
            .equations[0]
        )
        sizes.append(np.linalg.norm(moments.B @ fit.v))
    assert all(after <= before + 1e-10 for before, after in zip(sizes, sizes[1:], strict=False))


def test_path_equals_single_solves():
    Phi, Psi, y = problem(7)
    moments = moments_of(Phi, Psi, np.hstack([y, y**2]))
    mask = np.array([[True] * 5, [True, False, True, True, False]])
    lams, mus = [0.0, 0.5, math.inf], [0.3, 0.01, 0.1]
    path = exact_path(moments, mask, lams, mus, ridge=1e-3)
    assert path.shape == (3, 3, 2, 5)
    for i, lam in enumerate(lams):
        for j, mu in enumerate(mus):
            single = Exact().solve([moments], mask, Regularization(mu, lam, 0.0), 1e-3)
            assert_allclose(path[i, j], single.coefficients, atol=1e-9)
    assert not path[:, :, 1, [1, 4]].any()


@given(seeds, st.sampled_from([1e-3, 1.0, 1e4]), st.sampled_from([1e-3, 1.0, 1e4]))
def test_normalised_solution_does_not_depend_on_units(seed, feature_unit, target_unit):
    Phi, Psi, y = problem(seed)
    mask = np.ones((1, 5), bool)
    regularization = Regularization(0.1, 2.0, 0.1)
    solver = Exact(normalize=True)
    one = solver.solve([moments_of(Phi, Psi, y)], mask, regularization, 1e-3)
    other = solver.solve(
        [moments_of(Phi * feature_unit, Psi, y * target_unit)], mask, regularization, 1e-3
    )
    expected = one.coefficients * target_unit / feature_unit
    assert_allclose(other.coefficients, expected, rtol=1e-7, atol=1e-12 * np.abs(expected).max())
    assert_allclose(other.weights, one.weights * target_unit, rtol=1e-6, atol=1e-9 * target_unit)


def test_a_residual_that_only_fits_noise_is_dropped():
    rng = np.random.default_rng(0)
    Phi, Psi = rng.standard_normal((400, 2)), rng.standard_normal((400, 30))
    y = Phi @ [[1.0], [-2.0]] + 0.1 * rng.standard_normal((400, 1))
    folds = [moments_of(Phi[i::5], Psi[i::5], y[i::5]) for i in range(5)]
    result = Exact().solve(folds, np.ones((1, 2), bool), Regularization(0.0, math.inf, 0.0), None)
    assert result.equations[0].ridge == math.inf
    assert not result.weights.any()
