"""Two stages: first the equations alone, then a residual for the remaining error."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import Lasso

import orthoreg as og
from orthoreg._common.errors import InputError
from orthoreg.diagnostics import two_stage
from orthoreg.search.rows import Thresholding
from orthoreg.solving import TwoStage

seeds = st.integers(0, 10_000)
X = np.random.default_rng(0).uniform(-1, 1, (60, 2))
Y = X @ np.array([[0.0, -1.0], [1.0, -0.1]]) + 0.3 * np.cos(3 * X[:, :1])
NET = og.MLP(8, 1)
QUICK = og.Adam(epochs=400, learning_rate=0.02)


def overlaps(model, x) -> np.ndarray:
    """Return <f_aug, theta_k>_D for each equation, from the definition."""
    residual = model.decompose(x)[1].reshape(len(x), -1)
    return (model.field_.features(x).T @ residual / len(x)).T


# -- the first stage -----------------------------------------------------------------------------


@settings(max_examples=15)
@given(seeds, st.sampled_from([0.01, 0.1, 0.5]))
def test_shrinkage_is_scikit_learns_lasso(seed, mu):
    x = np.random.default_rng(seed).uniform(-1, 1, (50, 2))
    y = x @ np.array([[0.0, -1.0], [1.0, -0.1]]) + x[:, :1] ** 2
    model = og.OrthoReg(og.Polynomial(2), og.Zero(), sparsity=mu, solver=TwoStage()).fit(x, y)
    reference = Lasso(alpha=mu / 2, fit_intercept=False, tol=1e-14, max_iter=1_000_000)
    assert_allclose(
        model.coefficients_, reference.fit(model.field_.features(x), y).coef_, atol=1e-8
    )


@given(seeds, st.floats(0.1, 1.9), st.sampled_from([0.0, 0.5, 20.0, math.inf]))
def test_the_toy_keeps_half_of_mu_or_its_share(seed, mu, lam):
    """phi_1 and phi_2 are orthonormal on the data, y is their sum, and the residual is
    unrestricted."""
    drawn = np.random.default_rng(seed).standard_normal((16, 2))
    phi = np.linalg.qr(drawn)[0] * 4
    model = og.OrthoReg(
        og.Terms(["x0", "x1"]), og.RandomFeatures(100, ridge=1e-9, weight_scale=3.0),
        sparsity=mu, orthogonality=lam, solver=TwoStage(),
    ).fit(phi, phi.sum(axis=1))  # fmt: skip
    toy = two_stage(mu, lam)
    assert_allclose(model.coefficients_, toy.w, atol=1e-9)
    assert_allclose(overlaps(model, phi), toy.overlap, rtol=1e-4, atol=1e-7)


@settings(max_examples=10)
@given(seeds, st.floats(0.05, 0.5), st.sampled_from([1e-3, 1.0, 1e3]))
def test_normalised_stages_do_not_depend_on_units(seed, threshold, unit):
    x = np.random.default_rng(seed).uniform(-1, 1, (50, 2))
    y = x @ np.array([[0.0, -1.0], [1.0, -0.1]]) + 0.2 * x[:, :1] ** 2
    units = np.array([unit, 1.0])

    def fit(scale):
        rule = Thresholding(threshold, normalize=True)
        solver = TwoStage(og.Exact(normalize=True))
        model = og.OrthoReg(og.Polynomial(1), og.Zero(), selection=rule, solver=solver)
        return model.fit(x * scale, y * scale)

    one, other = fit(1.0), fit(units)
    assert_array_equal(other.support_, one.support_)
    expected = one.coefficients_ * units[:, None] / np.append(1.0, units)
    assert_allclose(other.coefficients_, expected, rtol=1e-8, atol=1e-12)


# -- the second stage ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def refitted():
    """Terms are selected by thresholds. The network may then represent the other terms."""
    rule = Thresholding(0.3)
    return og.OrthoReg(og.Polynomial(2), NET, selection=rule, solver=TwoStage(QUICK)).fit(X, Y)


@pytest.fixture(scope="module")
def selected():
    return og.STLSQ(0.3, og.Polynomial(2)).fit(X, Y)


@pytest.fixture(scope="module")
def exactly_refitted():
    net = og.RandomFeatures(20, ridge=1e-6)
    rule = Thresholding(0.3)
    return og.OrthoReg(og.Polynomial(2), net, selection=rule, solver=TwoStage()).fit(X, Y)


@pytest.mark.parametrize("kind", ["refitted", "exactly_refitted"])
def test_selection_and_refit_keep_the_residual_off_the_selected_terms_alone(
    kind, selected, request
):
    model = request.getfixturevalue(kind)
    assert_array_equal(model.support_, [[0, 0, 1, 0, 0, 0], [0, 1, 0, 0, 0, 0]])
    assert_allclose(model.coefficients_, selected.coefficients_, rtol=1e-12)
    overlap = np.abs(overlaps(model, X))
    assert overlap[model.support_].max() < 1e-12
    assert overlap[~model.support_].max() > 1e-2
    assert max(one.overlap for one in model.certificate_.equations) < 1e-10
    assert model.score(X, Y) > selected.score(X, Y) + 0.02


def test_what_the_second_stage_trained_is_what_was_kept(refitted):
    kept = sum(one.objective for one in refitted.certificate_.equations)
    training = refitted.training_
    assert training.history[training.best_epoch].sum() == pytest.approx(kept, rel=1e-4)
    error = np.mean(np.sum((Y - refitted.predict(X)) ** 2, axis=1))
    assert kept == pytest.approx(error, rel=1e-9)


def test_polish_solves_the_second_stage_for_the_same_coefficients(refitted):
    solver = TwoStage(og.Adam(epochs=400, learning_rate=0.02, polish=True))
    rule = Thresholding(0.3)
    model = og.OrthoReg(og.Polynomial(2), NET, selection=rule, solver=solver).fit(X, Y)
    assert_array_equal(model.coefficients_, refitted.coefficients_)
    psi, features = refitted.field_.basis(X), refitted.field_.features(X)
    for c, used in enumerate(refitted.support_):
        span = features[:, used]
        outside = psi - span @ np.linalg.lstsq(span, psi, rcond=None)[0]
        left = Y[:, c] - span @ refitted.coefficients_[c, used]
        best = outside @ np.linalg.lstsq(outside, left, rcond=1e-10)[0]
        assert_allclose(model.decompose(X)[1][:, c], best, atol=1e-5)


@pytest.mark.slow
def test_a_trained_second_stage_does_not_move_the_first():
    """After a Lasso, the overlap of the network is between zero and the whole shrinkage."""
    model = og.OrthoReg(
        og.Polynomial(2), NET, sparsity=0.2, orthogonality=2.0, solver=TwoStage(QUICK)
    ).fit(X, Y)
    lasso = og.OrthoReg(og.Polynomial(2), og.Zero(), sparsity=0.2, solver=og.Exact()).fit(X, Y)
    assert_allclose(model.coefficients_, lasso.coefficients_, rtol=1e-9, atol=1e-12)
    training = model.training_
    kept = sum(one.objective for one in model.certificate_.equations)
    shrinkage = 0.2 * np.abs(model.coefficients_).sum()  # the second stage does not change it
    assert training.history[training.best_epoch].sum() == pytest.approx(kept - shrinkage, rel=1e-4)
    assert training.history[training.best_epoch, 1] == 0
    assert model.score(X, Y) > lasso.score(X, Y)


def test_several_second_stages_at_once_are_one_by_one():
    def model(mu, lam):
        net = og.RandomFeatures(9, ridge=1e-3)
        return og.OrthoReg(og.Polynomial(2), net, sparsity=mu, orthogonality=lam, solver=TwoStage())

    pairs = [(0.1, 0.0), (0.1, 5.0), (0.4, math.inf)]
    for one, pair in zip(og.fit_together([model(*p) for p in pairs], X, Y), pairs, strict=True):
        assert_array_equal(one.predict(X), model(*pair).fit(X, Y).predict(X))


# -- refusals ------------------------------------------------------------------------------------

REFUSED = {
    "threshold": (lambda: Thresholding(-0.1), "threshold must be finite and at least 0; got -0.1"),
    "alpha": (lambda: Thresholding(alpha=math.inf), "alpha must be finite.*got inf"),
    "a stage in a stage": (lambda: TwoStage(then=TwoStage()), "TwoStage.then=.* must be Exact"),
    "no iterations": (lambda: Thresholding(rounds=0), "rounds must be.*at least 1; got 0"),
    "prediction in time": (
        lambda: og.OrthoReg(loss=og.MultiStep(1), solver=TwoStage()).fit(X, t=np.arange(60.0)),
        r"TwoStage\(\) needs a loss that is linear.*loss=MultiStep.*Use loss=VectorField\(\)",
    ),
    "sparsity": (
        lambda: og.OrthoReg(sparsity=-1.0, solver=TwoStage()).fit(X, Y), "got -1",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED)
def test_stages_refuse_in_a_sentence(kind):
    attempt, message = REFUSED[kind]
    with pytest.raises(InputError, match=message) as caught:
        attempt()
    assert str(caught.value).endswith(".")
