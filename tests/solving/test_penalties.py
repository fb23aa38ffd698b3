"""The penalties as functions of values at samples, and the projection of a fitted model."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import orthoreg as og
from orthoreg.diagnostics import minibatch_bias
from orthoreg.solving import _objective as penalties

seeds = st.integers(0, 10_000)
ALL = np.ones((2, 4), bool)
SOME = np.array([[True, False, True, True], [False, False, False, True]])


def drawn(seed: int, N: int = 25, K: int = 4, c: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Return features that overlap with each other, and a residual that overlaps with them."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((N, K)) @ rng.uniform(0.2, 1, (K, K))
    return features, features[:, :c] + rng.standard_normal((N, c))


def orthogonality(features, residual, allowed=ALL, second=None) -> float:
    with jax.enable_x64(True):
        return float(penalties.orthogonality(features, residual, allowed, second))


# -- values ------------------------------------------------------------------------------------


@given(seeds, st.sampled_from([ALL, SOME]))
def test_orthogonality_is_the_sum_of_squared_inner_products(seed, allowed):
    features, residual = drawn(seed)
    expected = sum(
        np.mean(features[:, k] * residual[:, c]) ** 2
        for c in range(2)
        for k in range(4)
        if allowed[c, k]
    )
    assert orthogonality(features, residual, allowed) == pytest.approx(expected, rel=1e-10)


@given(seeds, st.floats(0.01, 100.0))
def test_unit_norm_features_make_it_independent_of_units_and_raw_ones_do_not(seed, unit):
    features, residual = drawn(seed)
    scale = np.array([1.0, unit, 1.0, 1.0])
    one, other = (f / np.sqrt(np.mean(f**2, axis=0)) for f in (features, features * scale))
    assert orthogonality(other, residual) == pytest.approx(orthogonality(one, residual), rel=1e-9)
    raw = orthogonality(features * scale, residual) - orthogonality(features, residual)
    overlap = np.sum((features[:, 1] @ residual / 25) ** 2)
    assert raw == pytest.approx((unit**2 - 1) * overlap, rel=1e-6, abs=1e-9 * overlap)


def test_sparsity_and_magnitude():
    coefficients = np.array([[1.0, -2.0], [0.0, 0.5]])
    residual = np.array([[1.0, 2.0], [-3.0, 0.0], [0.0, 1.0]])
    assert float(penalties.sparsity(coefficients)) == 3.5
    assert float(penalties.magnitude(residual)) == 5.0


# -- batches -----------------------------------------------------------------------------------


def test_one_batch_is_biased_by_its_variance_and_two_are_not():
    """Means over 40,000 batches of 8 of 200 samples with replacement, within four
    standard errors."""
    rng = np.random.default_rng(0)
    features, residual = drawn(1, N=200)
    batches = rng.integers(0, 200, (2, 40_000, 8))
    exact = orthogonality(features, residual, SOME)
    bias = sum(
        minibatch_bias(features[:, k] * residual[:, c], 8) for c, k in np.argwhere(SOME).tolist()
    )

    def estimate(rows, others):
        second = (features[others], residual[others])
        one = penalties.orthogonality(features[rows], residual[rows], SOME)
        two = penalties.orthogonality(features[rows], residual[rows], SOME, second)
        return one, two

    with jax.enable_x64(True):
        features, residual = jnp.asarray(features), jnp.asarray(residual)
        one, two = (np.asarray(values) for values in jax.vmap(estimate)(*batches))
    errors = [values.std() / math.sqrt(40_000) for values in (one, two)]
    assert abs(two.mean() - exact) < 4 * errors[1]
    assert abs(one.mean() - exact - bias) < 4 * errors[0]
    assert bias > 40 * max(errors)


# -- projection --------------------------------------------------------------------------------


@given(seeds, st.sampled_from([ALL, SOME, ~ALL]))
def test_whitened_features_are_orthonormal_and_span_what_each_equation_may_use(seed, allowed):
    features, _ = drawn(seed)
    R = penalties.whitening(features.T @ features / 25, allowed)
    for c, row in enumerate(allowed):
        terms = np.flatnonzero(row)
        assert not R[c][~row].any() and not R[c][:, ~row].any()
        white = (features @ R[c])[:, terms]
        assert_allclose(white.T @ white / 25, np.eye(len(terms)), atol=1e-9)
        span = features[:, terms]
        if len(terms):
            assert_allclose(span @ np.linalg.lstsq(span, white, rcond=None)[0], white, atol=1e-8)


@given(seeds, st.sampled_from([1e-6, 1.0, 1e6]))
def test_whitening_leaves_out_what_does_not_vary(seed, unit):
    """A repeated feature and a zero feature change nothing, in any unit."""
    features, _ = drawn(seed)
    more = np.column_stack([features, unit * features[:, 0], 0 * features[:, 0]])
    (R,) = penalties.whitening(more.T @ more / 25, np.ones((1, 6), bool))
    gram = (more @ R).T @ (more @ R) / 25
    values = np.linalg.eigvalsh(gram)
    assert_allclose(values, [0, 0, 1, 1, 1, 1], atol=1e-7)


@given(seeds, st.sampled_from([ALL, SOME]))
def test_projected_is_what_least_squares_leaves(seed, allowed):
    features, network = drawn(seed)
    R = penalties.whitening(features.T @ features / 25, allowed)
    white = np.einsum("nk,ckl->cnl", features, R)
    with jax.enable_x64(True):
        residual, weights = (np.asarray(a) for a in penalties.projected(white, network))
        again, none = (np.asarray(a) for a in penalties.projected(white, residual))
    for c, row in enumerate(allowed):
        span = features[:, row]
        left = network[:, c] - span @ np.linalg.lstsq(span, network[:, c], rcond=None)[0]
        assert_allclose(residual[:, c], left, atol=1e-9)
    assert orthogonality(features, residual, allowed) < 1e-20
    taken = np.einsum("nk,ckl,cl->nc", features, R, weights)
    assert_allclose(residual + taken, network, atol=1e-10)
    assert_allclose(again, residual, atol=1e-10)
    assert_allclose(none, 0.0, atol=1e-10)


# -- the projection in a fitted model ------------------------------------------------------------

X = np.random.default_rng(0).uniform(-1, 1, (60, 2))
Y = X @ np.array([[0.0, -1.0], [1.0, -0.1]]) + 0.3 * np.cos(3 * X[:, :1])
OWN = og.PerState({"x0": og.Polynomial(1)}, default=og.Fourier(1))


@pytest.fixture(scope="module")
def model():
    """Each equation has its own terms, and its residual may represent those of the other."""
    return og.OrthoReg(
        OWN, og.MLP(8, 1), sparsity=0.01, orthogonality=math.inf,
        solver=og.Adam(epochs=60, learning_rate=0.02, threshold=0.0),
    ).fit(X, Y)  # fmt: skip


def test_the_residual_is_orthogonal_to_the_library_in_double_precision(model):
    features = model.field_.features(X)
    residual = model.decompose(X)[1]
    size = np.sqrt(np.outer(np.mean(features**2, axis=0), np.mean(residual**2, axis=0)))
    relative = np.abs(features.T @ residual / 60) / size
    own = model.field_.features.mask.T
    assert own.sum() == 7 and not own.all()
    assert relative[own].max() < 1e-10
    assert relative[~own].max() > 1e-3
    assert np.sqrt(np.mean(residual**2)) > 0.03
    assert max(one.overlap for one in model.certificate_.equations) < 1e-10


def test_what_was_trained_is_what_was_kept(model):
    training = model.training_
    kept = sum(one.objective for one in model.certificate_.equations)
    assert training.history[training.best_epoch].sum() == pytest.approx(kept, rel=1e-5)
    error = np.mean(np.sum((Y - model.predict(X)) ** 2, axis=1))
    assert kept == pytest.approx(error + 0.01 * np.abs(model.coefficients_).sum(), rel=1e-9)


def test_all_ways_to_evaluate_the_projected_model_agree(model):
    other = np.random.default_rng(5).uniform(-2, 2, (40, 2))
    predicted = model.predict(other)
    symbolic, neural = model.decompose(other)
    assert_array_equal(symbolic + neural, predicted)
    assert_allclose(
        symbolic, model.field_.features(other) @ model.coefficients_.T, rtol=1e-12, atol=1e-14
    )
    source: dict = {}
    exec(model.to_python(), source)
    assert_allclose(source["vector_field"](other), predicted, rtol=1e-12, atol=1e-12)
    with jax.enable_x64(True):
        traced = [np.asarray(model.field_(0.0, jnp.asarray(x))) for x in other[:5]]
    assert_allclose(traced, predicted[:5], rtol=1e-12, atol=1e-12)
    assert all(line.endswith("+ residual") for line in model.equations())


def test_a_file_keeps_the_projection(model, tmp_path):
    model.save(tmp_path / "m.orthoreg")
    loaded = og.load(tmp_path / "m.orthoreg")
    assert_array_equal(loaded.predict(X), model.predict(X))
    assert_array_equal(loaded.decompose(X)[1], model.decompose(X)[1])
    assert loaded.field_.correction.any()
    assert loaded.certificate_ == model.certificate_
    assert loaded.get_params() == model.get_params()
