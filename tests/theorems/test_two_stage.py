"""Appendix C: residual pipelines that cause overlap, and the stage that does not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from instances import N, any_function, drawn, orthonormal, seeds, solve
from numpy.testing import assert_allclose

from orthoreg._common.errors import InputError
from orthoreg.diagnostics import l2_hybrid, two_stage
from orthoreg.solving._moments import overlaps, squared_norm

sparsities = st.floats(0.1, 1.9)


def lasso_stage(phi: np.ndarray, f: np.ndarray, mu: float) -> tuple[np.ndarray, np.ndarray]:
    """Return w of the first stage and the remaining error."""
    fit = solve(phi, phi[:, :0], f, mu=mu)
    return fit.w[0], f - fit.f_phy


def residual_stage(phi: np.ndarray, leftover: np.ndarray, lam: float) -> np.ndarray:
    """Return the g that minimizes |r - g|^2 + lam sum_j <g, phi_j>^2 among all functions."""
    return np.linalg.solve(np.eye(N) + lam * phi @ phi.T / N, leftover)


@given(seeds, sparsities)
def test_app_sequential_extension_the_lasso_leaves_its_shrinkage_in_the_span(seed, mu):
    phi = orthonormal(seed, 2)
    f = phi.sum(axis=1, keepdims=True)
    w, leftover = lasso_stage(phi, f, mu)
    toy = two_stage(mu)
    assert_allclose(w, toy.w, atol=1e-9)
    assert_allclose(leftover, toy.overlap * f, atol=1e-9)


@given(seeds, sparsities)
def test_prop_seq_two_stage_failure_unconstrained(seed, mu):
    """Item 1."""
    phi = orthonormal(seed, 2)
    _, leftover = lasso_stage(phi, phi.sum(axis=1, keepdims=True), mu)
    g = solve(phi[:, :0], any_function(), leftover).f_aug
    assert_allclose(g, leftover, atol=1e-9)
    assert_allclose(overlaps(phi, g)[:, 0], two_stage(mu).overlap, rtol=1e-8)


@given(seeds, st.floats(0.05, 0.5))
def test_prop_seq_two_stage_failure_unconstrained_in_any_library(seed, mu):
    """Every term in use has the overlap mu/2 with the error of the first stage."""
    Phi, f = drawn(seed, 4, 1)
    w, leftover = lasso_stage(Phi, f + Phi.sum(axis=1, keepdims=True), mu)
    used = w != 0
    assert used.any()
    expected = np.sign(w[used]) * two_stage(mu).overlap
    assert_allclose(overlaps(Phi, residual_stage(Phi, leftover, 0.0))[used, 0], expected, rtol=1e-7)


@given(seeds, sparsities)
def test_prop_seq_two_stage_failure_compositional(seed, mu):
    """Item 2. A table represents an expressive network that is zero at x_i and equals the error at
    T(x_i)."""
    phi = orthonormal(seed, 2)
    f = phi.sum(axis=1)
    transported = (phi @ lasso_stage(phi, f[:, None], mu)[0]).tolist()
    inputs = np.random.default_rng(seed).uniform(100, 200, N).tolist()
    assert len({*inputs, *transported}) == 2 * N
    network = dict.fromkeys(inputs, 0.0) | dict(zip(transported, f - transported, strict=True))
    at_inputs = np.array([[network[x]] for x in inputs])
    effective = np.array([[network[x]] for x in transported])
    assert_allclose(np.array(transported) + effective[:, 0], f, atol=1e-12)
    assert np.abs(overlaps(phi, at_inputs)).max() == 0
    assert_allclose(overlaps(phi, effective)[:, 0], two_stage(mu).overlap, rtol=1e-8)


@given(seeds, sparsities, st.sampled_from([0.0, 0.5, 10.0, 1e4]))
def test_regularised_residual_stage(seed, mu, lam):
    """The overlap is (mu/2) / (1 + lam). The rest of the shrinkage remains as error, and w is
    unchanged."""
    phi = orthonormal(seed, 2)
    f = phi.sum(axis=1, keepdims=True)
    w, leftover = lasso_stage(phi, f, mu)
    g = residual_stage(phi, leftover, lam)
    toy = two_stage(mu, lam)
    assert_allclose(w, toy.w, atol=1e-9)
    assert_allclose(overlaps(phi, g)[:, 0], toy.overlap, rtol=1e-8)
    error = squared_norm(f - (phi @ w)[:, None] - g)
    assert error == pytest.approx(2 * (1 - toy.w - toy.overlap) ** 2, rel=1e-7, abs=1e-14)


@given(seeds, st.floats(0.5, 50.0), st.floats(0.05, 0.9))
def test_regularised_residual_stage_keeps_less_overlap_than_the_joint_problem(seed, lam, share):
    """In the joint problem, the overlap is mu / (2 lam), because w shrinks further."""
    mu = share * 2 * lam / (1 + lam)
    phi = orthonormal(seed, 2)
    f = phi.sum(axis=1, keepdims=True)
    joint = solve(phi, any_function(), f, mu=mu, lam=lam, rho=1e-12)
    staged, together = two_stage(mu, lam), l2_hybrid(mu, lam)
    assert_allclose(overlaps(phi, joint.f_aug)[:, 0], together.overlap, rtol=1e-6)
    assert_allclose(joint.w[0], together.w, atol=1e-7)
    assert staged.overlap / together.overlap == pytest.approx(lam / (1 + lam), rel=1e-9)
    assert staged.w - together.w == pytest.approx(mu / (2 * lam), rel=1e-7)


@given(st.sampled_from([0.0, 2.0, -1.0, 3.0]))
def test_app_sequential_extension_needs_mu_between_zero_and_two(mu):
    with pytest.raises(InputError, match="between 0 and 2"):
        two_stage(mu)
    phi = orthonormal(0, 2)
    if mu >= 2:
        w, _ = lasso_stage(phi, phi.sum(axis=1, keepdims=True), mu)
        assert_allclose(w, 0.0, atol=1e-9)
    nearly = lasso_stage(phi, phi.sum(axis=1, keepdims=True), 1.99)[0]
    assert_allclose(nearly, two_stage(1.99).w, rtol=1e-7)
