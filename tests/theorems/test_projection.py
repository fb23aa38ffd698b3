"""Appendix A: an L2 penalty separates a fixed class, and fails under sparsity."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from instances import (
    any_function,
    best_residual,
    drawn,
    orthonormal,
    projection,
    reduced_value,
    seeds,
    solve,
)
from numpy.testing import assert_allclose
from sklearn.linear_model import Lasso

from orthoreg._common.errors import InputError
from orthoreg.diagnostics import effective_threshold, l2_hybrid
from orthoreg.solving._moments import overlaps, squared_norm

weights = st.floats(0.1, 5.0)


@given(seeds, weights)
def test_eq_aphynity_minimiser_over_the_residual_and_value_there(seed, lam2):
    """For every g, J(g) is the stated minimum plus (1 + lam2) |g - minimizer|^2."""
    leftover, g = drawn(seed, 2, 2)
    J = squared_norm(leftover - g) + lam2 * squared_norm(g)
    above = (1 + lam2) * squared_norm(g - best_residual(leftover, lam2))
    assert reduced_value(leftover, lam2) + above == pytest.approx(J, rel=1e-10)


@given(seeds, weights)
def test_prop_fixed_symbolic(seed, lam2):
    Phi, y = drawn(seed, 3, 2)
    fit = solve(Phi, any_function(), y, lam2=lam2)
    inside = projection(Phi, y)
    assert_allclose(fit.f_phy, inside, atol=1e-9)
    assert_allclose(fit.f_aug, best_residual(y - inside, lam2), atol=1e-9)
    assert np.abs(overlaps(Phi, fit.f_aug)).max() < 1e-9


@given(seeds, weights)
def test_prop_fixed_symbolic_is_unique_up_to_equivalence_on_the_data(seed, lam2):
    """Terms that agree on D can share the coefficients in any way, but values on D are unique."""
    Phi, y = drawn(seed, 3, 2)
    Psi = any_function()
    fit = solve(np.hstack([Phi, Phi[:, :2]]), np.hstack([Psi, 2 * Psi[:, :5]]), y, lam2=lam2)
    assert_allclose(fit.f_phy, projection(Phi, y), atol=1e-8)
    assert_allclose(fit.f_aug, best_residual(y - projection(Phi, y), lam2), atol=1e-8)


@given(seeds, weights, st.floats(0.05, 0.95))
def test_ex_intro_sparsity_overlap(seed, lam2, share):
    mu = share * 2 * lam2 / (1 + lam2)
    phi = orthonormal(seed, 2)
    fit = solve(phi, any_function(), phi.sum(axis=1, keepdims=True), mu=mu, lam2=lam2)
    toy = l2_hybrid(mu, lam2)
    assert_allclose(fit.w[0], toy.w, atol=1e-9)
    assert_allclose(fit.f_aug[:, 0], toy.overlap * phi.sum(axis=1), atol=1e-8)


@given(seeds, weights, st.floats(1.0, 3.0))
def test_ex_intro_sparsity_overlap_ends_where_stated(seed, lam2, share):
    """From mu = 2 lam2 / (1 + lam2) on, both coefficients are zero."""
    limit = 2 * lam2 / (1 + lam2)
    phi = orthonormal(seed, 2)
    f = phi.sum(axis=1, keepdims=True)
    fit = solve(phi, any_function(), f, mu=share * limit, lam2=lam2)
    assert_allclose(fit.w, 0.0, atol=1e-9)
    nearly = solve(phi, any_function(), f, mu=0.995 * limit, lam2=lam2)
    assert_allclose(nearly.w[0], l2_hybrid(0.995 * limit, lam2).w, atol=1e-9)
    for mu in (0.0, share * limit):
        with pytest.raises(InputError, match="mu must lie between 0 and"):
            l2_hybrid(mu, lam2)


@given(seeds, weights, st.floats(0.05, 0.95))
def test_ex_intro_sparsity_overlap_is_the_same_for_the_orthogonality_penalty_at_equal_weight(
    seed, lam, share
):
    """f and g lie in the span of an orthonormal library, so that |g|^2 = sum_j <g, phi_j>^2."""
    mu = share * 2 * lam / (1 + lam)
    phi = orthonormal(seed, 2)
    fit = solve(phi, any_function(), phi.sum(axis=1, keepdims=True), mu=mu, lam=lam, rho=1e-12)
    toy = l2_hybrid(mu, lam)
    assert_allclose(fit.w[0], toy.w, atol=1e-7)
    assert_allclose(overlaps(phi, fit.f_aug)[:, 0], toy.overlap, atol=1e-7)


@given(seeds, weights, st.floats(0.05, 0.5))
def test_thm_l2_failure_in_any_library(seed, lam2, mu):
    """f lies in the span, and every term in use has the overlap mu sign(w_j) / (2 lam2)."""
    Phi, truth = drawn(seed, 4, 1)
    f = Phi @ np.abs(truth[:4]) + Phi.sum(axis=1, keepdims=True)
    mu = mu * 2 * lam2 / (1 + lam2)
    fit = solve(Phi, any_function(), f, mu=mu, lam2=lam2)
    used = fit.w[0] != 0
    assert used.any()
    found = overlaps(Phi, fit.f_aug)[used, 0]
    assert_allclose(found, np.sign(fit.w[0, used]) * l2_hybrid(mu, lam2).overlap, rtol=1e-7)
    assert squared_norm(f - projection(Phi, f)) < 1e-20


@given(seeds, weights, st.floats(0.05, 0.9))
def test_thm_l2_failure_proof_reduces_to_the_lasso(seed, lam2, mu):
    """The minimum of lam2 / (1 + lam2) |f - Phi w|^2 + mu |w|_1 is scikit-learn's at mu (1 + lam2)
    / (2 lam2)."""
    Phi, f = drawn(seed, 4, 1)
    mu = mu * 2 * lam2 / (1 + lam2)
    alpha = effective_threshold(mu, lam2)
    reference = Lasso(alpha=alpha, fit_intercept=False, tol=1e-14, max_iter=1_000_000)
    fit = solve(Phi, any_function(), f, mu=mu, lam2=lam2)
    assert_allclose(fit.w[0], reference.fit(Phi, f[:, 0]).coef_, atol=1e-8)


@given(seeds, st.floats(0.01, 0.5), st.sampled_from([0.05, 1.0, 100.0, math.inf]))
def test_effective_threshold_decides_which_terms_survive(seed, mu, lam):
    phi = orthonormal(seed, 1)
    threshold = effective_threshold(mu, lam)
    for factor, survives in ((0.997, False), (1.003, True)):
        fit = solve(phi, any_function(), factor * threshold * phi, mu=mu, lam=lam, rho=1e-9)
        assert bool(fit.w[0, 0]) is survives


@given(seeds)
def test_l2_norm_decomposition(seed):
    """|g|^2 = |P g|^2 + |g - P g|^2."""
    Phi, g = drawn(seed, 4, 2)
    inside = projection(Phi, g)
    parts = squared_norm(inside) + squared_norm(g - inside)
    assert parts == pytest.approx(squared_norm(g), rel=1e-10)


@given(seeds, weights, st.floats(0.05, 0.9))
def test_l2_shrinks_what_lies_outside_the_library_and_orthogonality_does_not(seed, lam, mu):
    """Both penalties have the same weight, and f = phi_1 + phi_2 + h with h orthogonal to both."""
    columns = orthonormal(seed, 3)
    phi, h = columns[:, :2], columns[:, 2:]
    f = phi.sum(axis=1, keepdims=True) + h
    mu = mu * 2 * lam / (1 + lam)
    l2 = solve(phi, any_function(), f, mu=mu, lam2=lam)
    orthogonal = solve(phi, any_function(), f, mu=mu, lam=lam, rho=1e-12)
    assert_allclose(l2.f_aug - projection(phi, l2.f_aug), best_residual(h, lam), atol=1e-8)
    assert_allclose(orthogonal.f_aug - projection(phi, orthogonal.f_aug), h, atol=1e-7)
    assert_allclose(l2.w, orthogonal.w, atol=1e-7)
