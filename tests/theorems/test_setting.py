"""Sections 3 and 4: inner product, library, losses, penalty and objective."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from instances import (
    N,
    any_function,
    drawn,
    inner,
    library_functions,
    projection,
    rescaled_penalty,
    seeds,
    solve,
)
from numpy.testing import assert_allclose

import orthoreg as og
from orthoreg.solving import squared_error
from orthoreg.solving._moments import overlaps, squared_norm
from orthoreg.terms import bind


@given(seeds, st.integers(1, 3))
def test_sec_background_inner_product_and_norm(seed, outputs):
    (f,) = drawn(seed, outputs)
    assert squared_norm(f) == pytest.approx(inner(f, f), rel=1e-12)


@pytest.mark.parametrize("states, size", [(["theta", "omega"], 20), (["S", "I", "R"], 48)])
def test_eq_lindict_has_a_coefficient_for_every_feature_and_equation(states, size):
    features = bind(og.Polynomial(2) + og.Fourier(1), states, states)
    assert features.mask.all() and features.mask.size == size


@settings(max_examples=5)
@given(seeds)
def test_eq_lindict_is_the_symbolic_part_of_a_model(seed):
    states, y = drawn(seed, 2, 2)
    library = og.Polynomial(2) + og.Fourier(1)
    model = og.OrthoReg(library, og.RandomFeatures(5), sparsity=0.01, solver=og.Exact())
    model.fit(states, y)
    features = bind(library, ["x0", "x1"], ["x0", "x1"])(states)
    weights = model.coefficients_.T.ravel()  # one for each phi_j, features first
    expected = sum(w * phi for w, phi in zip(weights, library_functions(features, 2), strict=True))
    symbolic, neural = model.decompose(states)
    assert_allclose(symbolic, expected, atol=1e-10)
    assert_allclose(symbolic + neural, model.predict(states), atol=1e-10)


@given(seeds)
def test_eq_fit_loss_vf_is_a_mean_over_samples_of_squared_euclidean_norms(seed):
    Phi, Psi, y = drawn(seed, 4, 6, 2)
    fit = solve(Phi, Psi, y, mu=0.1, lam=1.0)
    moments = fit.result.moments
    found = sum(
        squared_error(moments, c, one.w, one.v) for c, one in enumerate(fit.result.equations)
    )
    expected = sum(np.linalg.norm(row) ** 2 for row in y - fit.f_phy - fit.f_aug) / N
    assert found == pytest.approx(expected, rel=1e-9)


@given(seeds, st.integers(1, 3))
def test_eq_orthoreg_penalty_sums_squared_inner_products_with_every_library_function(seed, outputs):
    Phi, f_aug = drawn(seed, 4, outputs)
    each = [inner(f_aug, phi) for phi in library_functions(Phi, outputs)]
    assert_allclose(overlaps(Phi, f_aug).ravel(), each, rtol=1e-10, atol=1e-14)


@given(seeds)
def test_eq_orthoreg_penalty_is_zero_only_if_the_residual_is_orthogonal_to_the_span(seed):
    Phi, f_aug, weights = drawn(seed, 4, 2, 2)
    f_aug = f_aug - projection(Phi, f_aug)
    assert np.sum(overlaps(Phi, f_aug) ** 2) < 1e-28
    assert abs(inner(f_aug, Phi @ weights[:4])) < 1e-13
    span = f_aug + 0.01 * Phi[:, :1]
    assert np.sum(overlaps(Phi, span) ** 2) > 1e-8


@given(seeds)
def test_app_hyperparam_selection_rescaled_features_rescale_their_penalty_by_the_square(seed):
    Phi, f_aug = drawn(seed, 4, 2)
    scales = np.random.default_rng(seed).uniform(0.1, 10, 4)
    before, after = overlaps(Phi, f_aug) ** 2, overlaps(Phi * scales, f_aug) ** 2
    assert_allclose(after, rescaled_penalty(before, scales), rtol=1e-9)


@given(seeds)
def test_app_hyperparam_selection_unit_norm_features_have_a_penalty_without_scale(seed):
    Phi, f_aug = drawn(seed, 4, 2)
    scales = np.random.default_rng(seed).uniform(0.1, 10, 4)

    def standardised(features):
        return features / [math.sqrt(squared_norm(column[:, None])) for column in features.T]

    expected = np.sum(overlaps(standardised(Phi), f_aug) ** 2)
    rescaled = np.sum(overlaps(standardised(Phi * scales), f_aug) ** 2)
    assert rescaled == pytest.approx(expected, rel=1e-9)
    sizes = [inner(column[:, None], column[:, None]) for column in standardised(Phi * scales).T]
    assert_allclose(sizes, 1.0, rtol=1e-12)


def check_optimal(Phi, Psi, y, fit, mu, penalty_slope):
    """Zero is a subgradient of |y - f|^2 + mu |w|_1 + penalty at the solution."""
    error = y - fit.f_phy - fit.f_aug
    assert_allclose(-2 * Psi.T @ error / N + penalty_slope, 0.0, atol=1e-9)
    slope = 2 * (Phi.T @ error / N).T
    used = fit.w != 0
    assert_allclose(slope[used], mu * np.sign(fit.w[used]), atol=1e-9)
    assert (np.abs(slope[~used]) <= mu + 1e-9).all()


@given(seeds, st.floats(0.05, 0.5), st.floats(0.05, 2.0))
def test_eq_orthoreg_objective_and_eq_ortho_loss_are_minimised(seed, mu, lam):
    """The gradient of the penalty is 2 lam sum_j <f_aug, phi_j> <psi, phi_j>."""
    Phi, Psi, y = drawn(seed, 4, 6, 2)
    fit = solve(Phi, Psi, y, mu=mu, lam=lam)
    slope = 2 * lam * (Phi.T @ Psi / N).T @ overlaps(Phi, fit.f_aug)
    check_optimal(Phi, Psi, y, fit, mu, slope)


@given(seeds, st.floats(0.05, 0.5), st.floats(0.05, 2.0))
def test_eq_l2_loss_is_minimised(seed, mu, lam2):
    """The gradient of the penalty is 2 lam2 <f_aug, psi>."""
    Phi, Psi, y = drawn(seed, 4, 6, 2)
    fit = solve(Phi, Psi, y, mu=mu, lam2=lam2)
    check_optimal(Phi, Psi, y, fit, mu, 2 * lam2 * overlaps(Psi, fit.f_aug))


@given(seeds, st.floats(0.05, 0.5))
def test_sec_background_without_regularisation_the_residual_says_everything(seed, mu):
    Phi, y = drawn(seed, 4, 2)
    fit = solve(Phi, any_function(), y, mu=mu)
    assert not fit.w.any()
    assert_allclose(fit.f_aug, y, atol=1e-9)


@given(seeds)
def test_eq_pend_forcing_terms_lie_outside_the_library(seed):
    """For random states in the training box, functions in the span are projected to themselves."""
    states = np.random.default_rng(seed).uniform(-1, 1, (200, 2)) * [math.pi / 2, 1.0]
    names = ["theta", "omega"]
    Phi = bind(og.Polynomial(2) + og.Fourier(1), names, names)(states)
    forcing = bind(og.Terms(["cos(3*theta)", "exp(-theta**2)", "tanh(omega)"]), names, names)
    for column in forcing(states).T:
        missed = column[:, None] - projection(Phi, column[:, None])
        assert squared_norm(missed) > 1e-9 * squared_norm(column[:, None])
    assert_allclose(projection(Phi, Phi), Phi, atol=1e-9)
