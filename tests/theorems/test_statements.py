"""Every labelled statement of the paper, over randomly drawn instances.

Closed forms are compared with the exact solver or with least squares on samples, to tolerances
far below one per cent, so that a formula that is off by one per cent fails.
"""

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from sklearn.linear_model import Lasso

from orthoreg._geometry import overlaps, squared_norm
from orthoreg.diagnostics import (
    certify,
    effective_threshold,
    l2_hybrid,
    minibatch_bias,
    minibatch_tail,
    orthogonality_gap_bound,
    residual_cosine,
    two_stage,
)
from orthoreg.moments import Moments
from orthoreg.solvers import EquationFit, Exact, Strengths, objective

seeds = st.integers(0, 10_000)
N = 30


def orthonormal(seed: int, columns: int) -> np.ndarray:
    """Columns that are orthonormal under <.,.>_D = 1/N sum."""
    drawn = np.random.default_rng(seed).standard_normal((N, columns))
    return np.linalg.qr(drawn)[0] * math.sqrt(N)


def moments_of(Phi: np.ndarray, Psi: np.ndarray, y: np.ndarray) -> Moments:
    block = np.hstack([Phi, Psi, y])
    return Moments(len(y), block.T @ block, Phi.shape[1], Psi.shape[1])


def solve(Phi, Psi, y, mu, lam, lam2=0.0, rho=0.0) -> EquationFit:
    mask = np.ones((1, Phi.shape[1]), bool)
    moments = moments_of(Phi, Psi, y)
    return Exact().solve([moments], mask, Strengths(mu, lam, lam2), rho).equations[0]


def any_function() -> np.ndarray:
    """A basis that can say everything on the samples."""
    return np.eye(N) * math.sqrt(N)


@given(seeds, st.floats(0.2, 5.0), st.floats(0.05, 0.95))
def test_ex_intro_sparsity_overlap_and_thm_l2_failure(seed, lam2, share):
    mu = share * 2 * lam2 / (1 + lam2)
    phi = orthonormal(seed, 2)
    fit = solve(phi, any_function(), phi.sum(axis=1, keepdims=True), mu, 0.0, lam2)
    toy = l2_hybrid(mu, lam2)
    residual = any_function() @ fit.v
    assert_allclose(fit.w, toy.w, atol=1e-9)
    assert_allclose(overlaps(phi, residual[:, None])[:, 0], toy.overlap, rtol=1e-8)
    assert toy.overlap > 0  # not orthogonal, although the library contains the target


@given(seeds, st.floats(0.1, 5.0))
def test_prop_fixed_symbolic(seed, lam2):
    rng = np.random.default_rng(seed)
    Phi, y = rng.standard_normal((N, 3)), rng.standard_normal((N, 1))
    fit = solve(Phi, any_function(), y, 0.0, 0.0, lam2)
    projection = Phi @ np.linalg.lstsq(Phi, y[:, 0], rcond=None)[0]
    residual = any_function() @ fit.v
    assert_allclose(Phi @ fit.w, projection, atol=1e-8)
    assert_allclose(residual, (y[:, 0] - projection) / (1 + lam2), atol=1e-8)
    assert np.abs(overlaps(Phi, residual[:, None])).max() < 1e-9


@given(seeds, st.floats(0.0, 1.0), st.floats(1e-3, 1e3), st.floats(0.0, 1.0))
def test_thm_penalty_bound_main_and_thm_ortho_stationary(seed, mu, lam, lam2):
    rng = np.random.default_rng(seed)
    Phi, Psi, y = (rng.standard_normal((N, k)) for k in (4, 6, 1))
    moments = moments_of(Phi, Psi, y)
    fit = solve(Phi, Psi, y, mu, lam, lam2)
    observed = np.sum(overlaps(Phi, (Psi @ fit.v)[:, None]) ** 2)
    symbolic = solve(Phi, Psi[:, :0], y, mu, lam)
    baseline = squared_norm(y - (Phi @ symbolic.w)[:, None]) + mu * np.abs(symbolic.w).sum()
    assert objective(moments, 0, fit, Strengths(mu, lam, lam2)) <= baseline + 1e-10
    assert observed <= baseline / lam + 1e-12


@given(seeds, st.floats(0.01, 1.0), st.floats(0.01, 100.0))
def test_thm_penalty_bound_main_is_what_the_certificate_states(seed, mu, lam):
    rng = np.random.default_rng(seed)
    Phi, Psi, y = (rng.standard_normal((N, k)) for k in (4, 6, 1))
    result = Exact().solve(
        [moments_of(Phi, Psi, y)], np.ones((1, 4), bool), Strengths(mu, lam, 0.0), 0.0
    )
    stated = certify(result, ("y",), tuple("abcd"), normalized=False).equations[0]
    lasso = Lasso(alpha=mu / 2, fit_intercept=False, tol=1e-14, max_iter=1_000_000)
    w = lasso.fit(Phi, y[:, 0]).coef_
    baseline = squared_norm(y - (Phi @ w)[:, None]) + mu * np.abs(w).sum()
    residual = (Psi @ result.weights)[:, :1]
    assert stated.penalty_bound.bound == pytest.approx(baseline / lam, rel=1e-7)
    observed = np.sum(overlaps(Phi, residual) ** 2)
    assert stated.penalty_bound.observed == pytest.approx(observed, rel=1e-7, abs=1e-14)
    assert stated.penalty_bound.assumption_holds and stated.penalty_bound.holds


@given(seeds, st.floats(0.01, 1.0))
def test_thm_error_decomp_is_what_the_certificate_states(seed, mu):
    rng = np.random.default_rng(seed)
    Phi, Psi, y = (rng.standard_normal((N, k)) for k in (4, 6, 1))
    result = Exact().solve(
        [moments_of(Phi, Psi, y)], np.ones((1, 4), bool), Strengths(mu, math.inf, 0.0), 0.0
    )
    stated = certify(result, ("y",), tuple("abcd"), normalized=False).equations[0].error_split
    projection = Phi @ np.linalg.lstsq(Phi, y, rcond=None)[0]
    f_phy, f_aug = Phi @ result.coefficients.T, Psi @ result.weights
    size = squared_norm(y)
    assert stated.symbolic == pytest.approx(squared_norm(projection - f_phy) / size, rel=1e-7)
    assert stated.neural == pytest.approx(squared_norm(y - projection - f_aug) / size, rel=1e-7)
    assert stated.total == pytest.approx(squared_norm(y - f_phy - f_aug) / size, rel=1e-7)
    assert abs(stated.cross) < 1e-10


@given(seeds)
def test_thm_ortho_stationary_overlap_vanishes_as_the_weight_grows(seed):
    rng = np.random.default_rng(seed)
    Phi, Psi, y = (rng.standard_normal((N, k)) for k in (4, 6, 1))
    sizes = [
        np.sum(overlaps(Phi, (Psi @ solve(Phi, Psi, y, 0.1, lam).v)[:, None]) ** 2)
        for lam in (1e2, 1e4, 1e6)
    ]
    assert sizes[1] < sizes[0] / 10 and sizes[2] < sizes[1] / 10


@given(seeds)
def test_thm_error_decomp(seed):
    rng = np.random.default_rng(seed)
    Phi, f = rng.standard_normal((N, 4)), rng.standard_normal((N, 1))
    projector = Phi @ np.linalg.pinv(Phi)
    f_phy = Phi @ rng.standard_normal((4, 1))
    f_aug = rng.standard_normal((N, 1))
    f_aug = f_aug - projector @ f_aug
    symbolic = squared_norm(projector @ f - f_phy)
    neural = squared_norm(f - projector @ f - f_aug)
    assert_allclose(squared_norm(f - f_phy - f_aug), symbolic + neural, rtol=1e-10)


@given(st.floats(0.1, 5.0), st.floats(0.5, 0.999), st.integers(1, 10_000))
def test_thm_finite_sample_solves_hoeffding(largest, confidence, samples):
    """The bound is the deviation whose Hoeffding tail on [-R, R] is exactly delta."""
    bound = orthogonality_gap_bound(largest, samples, confidence)
    tail = 2 * math.exp(-2 * samples * bound**2 / (2 * largest) ** 2)
    assert tail == pytest.approx(1 - confidence, rel=1e-9)


def test_thm_finite_sample_and_cor_population_orthogonality_hold_in_the_worst_case():
    """Products of +-R, where the inequality is tightest: violations stay below delta."""
    rng = np.random.default_rng(0)
    for samples, confidence in ((10, 0.9), (50, 0.95), (200, 0.8)):
        means = rng.choice([-2.0, 2.0], (20_000, samples)).mean(axis=1)
        bound = orthogonality_gap_bound(2.0, samples, confidence)
        violations = np.mean(np.abs(means) > bound)
        assert 0 < violations <= 1 - confidence


@given(seeds, st.integers(2, 40), st.floats(0.05, 1.0))
def test_lem_minibatch_deviation(seed, batch, deviation):
    rng = np.random.default_rng(seed)
    products = rng.uniform(-1, 1, 25)
    drawn = products[rng.integers(0, 25, (4000, batch))].mean(axis=1)
    largest = float(np.abs(products).max())
    seen = np.mean(np.abs(drawn - products.mean()) >= deviation)
    assert seen <= minibatch_tail(largest, batch, deviation) + 3 * math.sqrt(0.25 / 4000)


@given(st.floats(0.1, 3.0), st.integers(1, 1000), st.floats(0.5, 0.999))
def test_lem_minibatch_deviation_forms_are_equivalent(largest, batch, confidence):
    bound = orthogonality_gap_bound(largest, batch, confidence)
    assert minibatch_tail(largest, batch, bound) == pytest.approx(1 - confidence, rel=1e-9)


@given(seeds, st.integers(1, 3))
def test_squared_minibatch_estimate_is_biased_by_the_variance_and_two_batches_are_not(seed, batch):
    """Expectations over every batch that can be drawn, not over a sample of them."""
    products = np.random.default_rng(seed).normal(0.2, 1.0, 6)
    estimates = np.array([np.mean(drawn) for drawn in itertools.product(products, repeat=batch)])
    exact = products.mean() ** 2
    assert np.mean(estimates**2) - exact == pytest.approx(minibatch_bias(products, batch), rel=1e-9)
    assert np.mean(np.outer(estimates, estimates)) == pytest.approx(exact, abs=1e-12)


@given(seeds, st.floats(0.1, 1.9), st.sampled_from([0.0, 0.5, 10.0, 1e4]))
def test_prop_seq_two_stage_failure_and_the_regularised_stage(seed, mu, lam):
    phi = orthonormal(seed, 2)
    f = phi.sum(axis=1, keepdims=True)
    first = solve(phi, phi[:, :0], f, mu, 0.0)
    leftover = f - (phi @ first.w)[:, None]
    assert_allclose(leftover, mu / 2 * f, atol=1e-9)
    overlap = phi.T @ any_function() / N
    D = any_function().T @ any_function() / N
    v = np.linalg.solve(D + lam * overlap.T @ overlap, any_function().T @ leftover / N)
    toy = two_stage(mu, lam)
    assert_allclose(first.w, toy.w, atol=1e-9)
    assert_allclose(overlaps(phi, any_function() @ v)[:, 0], toy.overlap, rtol=1e-8)


@given(seeds, st.floats(0.1, 1.9))
def test_prop_seq_two_stage_failure_compositional(seed, mu):
    """A table of values is an expressive network: zero at x_i, the leftover at T(x_i)."""
    phi = orthonormal(seed, 2)
    transported = (1 - mu / 2) * phi.sum(axis=1)
    inputs = np.random.default_rng(seed).uniform(10, 20, N)
    assume(len({*inputs, *transported}) == 2 * N)
    leftover = mu / 2 * phi.sum(axis=1)
    network = dict.fromkeys(inputs, 0.0) | dict(zip(transported, leftover, strict=True))
    at_inputs = np.array([network[x] for x in inputs])
    effective = np.array([network[x] for x in transported])
    assert_allclose(transported + effective, phi.sum(axis=1), atol=1e-12)
    assert np.abs(overlaps(phi, at_inputs[:, None])).max() == 0
    assert_allclose(overlaps(phi, effective[:, None])[:, 0], two_stage(mu).overlap, rtol=1e-9)


@given(seeds, st.floats(0.01, 0.5), st.sampled_from([0.05, 1.0, 100.0, math.inf]))
def test_effective_threshold_decides_which_terms_survive(seed, mu, lam):
    phi = orthonormal(seed, 1)
    threshold = effective_threshold(mu, lam)
    for factor, survives in ((0.997, False), (1.003, True)):
        fit = solve(phi, any_function(), factor * threshold * phi, mu, lam, rho=1e-9)
        assert bool(fit.w[0]) is survives


@given(seeds)
def test_residual_cosine_is_the_cosine_and_ignores_scale(seed):
    rng = np.random.default_rng(seed)
    symbolic, neural = rng.standard_normal((2, N, 2))
    a, b = symbolic.ravel(), neural.ravel()
    expected = abs(a @ b) / np.linalg.norm(a) / np.linalg.norm(b)
    assert residual_cosine(symbolic, neural) == pytest.approx(expected, rel=1e-12)
    assert residual_cosine(3 * symbolic, -0.1 * neural) == pytest.approx(expected, rel=1e-12)
    assert math.isnan(residual_cosine(symbolic, 0 * neural))


@given(seeds, st.floats(0.05, 0.5), st.floats(0.05, 2.0))
def test_eq_orthoreg_objective_is_what_is_minimised(seed, mu, lam):
    """No direction from the solution lowers the objective, by a generic search from it."""
    rng = np.random.default_rng(seed)
    Phi, Psi, y = (rng.standard_normal((N, k)) for k in (3, 3, 1))
    fit = solve(Phi, Psi, y, mu, lam)

    def J(z):
        residual = Psi @ z[3:]
        return (
            squared_norm(y - (Phi @ z[:3] + residual)[:, None])
            + mu * np.abs(z[:3]).sum()
            + lam * np.sum(overlaps(Phi, residual[:, None]) ** 2)
        )

    start = np.concatenate([fit.w, fit.v])
    found = minimize(J, start, method="Nelder-Mead", options={"maxfev": 1500, "xatol": 1e-10})
    assert J(start) <= found.fun + 1e-10
