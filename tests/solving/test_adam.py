"""Algorithm 1: its objective, training and stopping, and its agreement with `Exact`."""

import math
import warnings
from contextlib import nullcontext
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.flatten_util import ravel_pytree
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import Lasso

import orthoreg as og
from orthoreg._common.arrays import register_pytrees
from orthoreg._common.errors import DataError, InputError, TrainingError, TrainingWarning
from orthoreg.data import Rows
from orthoreg.losses import Informed
from orthoreg.solving import EquationFit, Exact, Moments, Regularization, gather, objective
from orthoreg.solving import _objective as penalties
from orthoreg.solving._objective import PARTS, Objective, Parameters, Weights
from orthoreg.terms import bind

X = np.random.default_rng(0).uniform(-1, 1, (60, 2))
Y = X @ np.array([[0.0, -1.0], [1.0, -0.1]]) + 0.3 * np.cos(3 * X[:, :1])
NET = og.MLP(8, 1)
OWN = og.PerState({"x0": og.Polynomial(1)}, default=og.Fourier(1))


def adam(**options) -> og.Adam:
    return og.Adam(**{"epochs": 60, "learning_rate": 0.02, "threshold": 0.0, **options})


def hybrid(mu=0.01, lam=1.0, seed=0, **options) -> og.OrthoReg:
    """A small model. Models that differ only in numbers share a compiled loop."""
    return og.OrthoReg(
        og.Polynomial(2), NET, sparsity=mu, orthogonality=lam, solver=adam(**options), seed=seed
    )


def projecting(mu=0.01, seed=0, **options) -> og.OrthoReg:
    return hybrid(mu, math.inf, seed, **options)


def J(model) -> float:
    """Return the objective of a fitted model in double precision."""
    return sum(one.objective for one in model.certificate_.equations)


def J_trained(model) -> float:
    """Return the objective during training, for the state that was kept."""
    return model.training_.history[model.training_.best_epoch].sum()


# -- the objective -----------------------------------------------------------------------------


def setting(loss, *, inputs=0, projects=False, seed=0):
    """An objective with scales, its segments and features, and nonzero parameters."""
    register_pytrees()
    rng = np.random.default_rng(seed)
    states, u = rng.standard_normal((14, 2)), rng.standard_normal((14, inputs))
    times = np.cumsum(rng.uniform(0.1, 0.5, 14))
    data = og.Dataset.from_arrays(
        states, times, u if inputs else None, derivatives=rng.standard_normal((14, 2))
    )
    rows = loss.observe(data)
    features = bind(OWN, data.variable_names, data.state_names)
    scale = rng.uniform(0.5, 2, len(features.terms))
    theta = features(rows.variables) / scale
    built = Objective(
        features=features, loss=loss, feature_scale=scale,
        target_scale=np.array([0.5, 2.0]), error_scale=np.array([3.0, 0.7]),
        allowed=features.mask,
        whitening=penalties.whitening(theta.T @ theta / 14, features.mask) if projects else None,
    )  # fmt: skip
    basis = og.MLP(5, 1).init(np.zeros(2 + inputs), np.ones(2 + inputs), rng=rng)
    parameters = Parameters(
        rng.standard_normal(features.mask.T.shape), basis, rng.standard_normal((basis.size, 2))
    )
    segments = loss.segments(rows)
    points = segments.points.reshape(-1, 2 + inputs)
    return built, parameters, segments, features(points) / scale, rows


WEIGHTS = Weights(mu=0.3, lam=0.7, lam2=0.2, rho=0.05)


@pytest.mark.parametrize(
    "case",
    [
        (og.VectorField(), {"projects": True}),
        (og.MultiStep(1), {"inputs": 1}),
        (Informed({"x1": "x0**2"}, 0.5), {}),
    ],
    ids=["projected", "steps with an input", "a known equation"],
)
def test_the_gradient_agrees_with_finite_differences(case, rng):
    loss, options = case
    built, parameters, segments, theta, _ = setting(loss, **options)
    with jax.enable_x64(True):
        learned = (parameters.coefficients, parameters.basis.weights, parameters.weights)
        flat, unravel = ravel_pytree(jax.tree.map(jnp.asarray, learned))
        weights = jax.tree.map(jnp.asarray, WEIGHTS).of_parts()

        @jax.jit
        @jax.value_and_grad
        def total(flat):
            w, hidden, v = unravel(flat)
            basis = replace(parameters.basis, weights=hidden)
            return jnp.sum(weights * built.parts(Parameters(w, basis, v), segments, theta))

        gradient = total(flat)[1]
        for _ in range(4):
            direction = rng.standard_normal(len(flat))
            step = 1e-6 * direction
            found = (total(flat + step)[0] - total(flat - step)[0]) / 2e-6
            assert float(gradient @ direction) == pytest.approx(float(found), rel=1e-6)


@pytest.mark.parametrize("projects", [False, True])
def test_the_parts_sum_to_the_objective_of_the_moments(projects):
    """The objective from values at samples equals the objective from second moments."""
    built, parameters, segments, theta, rows = setting(og.VectorField(), projects=projects)
    unit = Objective(built.features, built.loss, built.feature_scale, np.ones(2), np.ones(2),
                     built.allowed, built.whitening)  # fmt: skip
    with jax.enable_x64(True):
        weights = np.asarray(jax.tree.map(jnp.asarray, WEIGHTS).of_parts())
        parts = np.asarray(unit.parts(parameters, segments, theta)) * weights
    (moments,) = gather(built.features, parameters.basis, rows)
    moments = moments.scaled(built.feature_scale, np.ones(2))
    regularization = Regularization(0.3, 0.7, 0.2)
    expected = 0.0
    for c, row in enumerate(built.allowed):
        w = np.where(row, parameters.coefficients[:, c], 0.0)
        v, p = np.asarray(parameters.weights)[:, c], np.zeros(len(w))
        if projects:
            span = theta[:, row]
            p[row] = np.linalg.lstsq(span, parameters.basis(rows.variables) @ v, rcond=None)[0]
        fit = EquationFit(np.flatnonzero(row), w, v, p, 0.3, 0.05, 0.0, ())
        expected += objective(moments, c, fit, regularization)
    assert parts.sum() == pytest.approx(expected, rel=1e-9)
    assert (parts[2] < 1e-20) == projects and (parts[[0, 1, 3, 4]] > 1e-3).all()


def test_a_second_batch_takes_the_place_of_one_factor_of_the_penalty():
    built, parameters, segments, theta, _ = setting(og.VectorField())
    other = np.random.default_rng(9).standard_normal((6, 2))
    other_theta = built.features(other) / built.feature_scale
    network = [parameters.basis(z) @ parameters.weights for z in (segments.points[:, 0], other)]
    one, two = theta.T @ network[0] / 14, other_theta.T @ network[1] / 6
    with jax.enable_x64(True):
        parts = built.parts(parameters, segments, theta, (other, other_theta))
        alone = built.parts(parameters, segments, theta)
    assert float(parts[2]) == pytest.approx(np.sum((one * two)[built.allowed.T]), rel=1e-10)
    assert float(alone[2]) == pytest.approx(np.sum((one**2)[built.allowed.T]), rel=1e-10)
    assert_array_equal(np.delete(parts, 2), np.delete(alone, 2))


# -- training ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained():
    return hybrid().fit(X, Y)


def test_training_descends_the_objective_of_the_certificate(trained):
    training = trained.training_
    assert training.parts == PARTS and training.history.shape == (61, 5)
    assert training.epochs == 60 and training.message == "" and training.validation is None
    totals = training.history.sum(axis=1)
    assert training.best_epoch == np.argmin(totals)
    assert totals.min() < 0.2 * totals[0]
    assert totals.min() == pytest.approx(J(trained), rel=1e-5)
    symbolic, neural = trained.decompose(X)
    overlap = trained.field_.features(X).T @ neural / 60
    parts = [
        np.sum((Y - symbolic - neural) ** 2) / 60,
        0.01 * np.abs(trained.coefficients_).sum(),
        np.sum(overlap**2),
        0.0,
        0.0,
    ]
    assert_allclose(training.history[training.best_epoch], parts, rtol=1e-4, atol=1e-7)


def test_the_best_state_is_returned_when_training_overshoots():
    model = hybrid(learning_rate=5.0).fit(X, Y)
    totals = model.training_.history.sum(axis=1)
    assert model.training_.best_epoch == np.argmin(totals) < 60
    assert totals[-1] > 1.01 * totals.min()
    assert J(model) == pytest.approx(totals.min(), rel=1e-4)


def test_same_seed_same_bits_and_nothing_is_left_behind(trained):
    again = hybrid().fit(X, Y)
    assert_array_equal(again.predict(X), trained.predict(X))
    assert_array_equal(again.training_.history, trained.training_.history)
    assert not np.array_equal(hybrid(seed=1).fit(X, Y).predict(X), trained.predict(X))
    assert not jax.config.jax_enable_x64


def test_small_coefficients_are_struck_out(trained):
    limit = np.median(np.abs(trained.coefficients_))
    model = hybrid(threshold=limit).fit(X, Y)
    left = np.abs(trained.coefficients_) > limit
    assert 0 < left.sum() < left.size
    assert_array_equal(model.coefficients_, np.where(left, trained.coefficients_, 0.0))


def test_the_rate_falls_to_its_share(trained):
    """If the rate decreases to zero, the last steps are shorter than the first."""
    slow = hybrid(decay=0.0).fit(X, Y).training_.history.sum(axis=1)
    constant = trained.training_.history.sum(axis=1)
    assert slow[0] == constant[0] and slow[1] == pytest.approx(constant[1], rel=1e-3)
    assert abs(slow[60] - slow[59]) < 0.1 * abs(constant[60] - constant[59])


@settings(max_examples=4)
@given(st.integers(-20, 20), st.integers(-20, 20), st.integers(-20, 20))
@pytest.mark.slow
def test_normalised_training_does_not_depend_on_units(first, second, target):
    x_unit, y_unit = 2.0 ** np.array([first, second]), 2.0**target
    one = hybrid(normalize=True).fit(X, Y)
    other = hybrid(normalize=True).fit(X * x_unit, Y * y_unit)
    a, b = x_unit
    terms = np.array([1, a, b, a * a, a * b, b * b])
    assert_allclose(other.coefficients_ * terms / y_unit, one.coefficients_, atol=1e-4)
    assert_allclose(other.predict(X * x_unit) / y_unit, one.predict(X), atol=1e-3)
    assert J(other) == pytest.approx(J(one), rel=1e-4)


# -- several at once ---------------------------------------------------------------------------

STRENGTHS = [(0.01, 0.0, 0), (0.0, 0.3, 1), (0.3, 5.0, 2), (0.02, 30.0, 2**40)]
"""mu, lam and seed of four models that are trained together."""


@pytest.mark.slow
def test_together_is_one_by_one(trained):
    """Strengths and seeds train in one batch. A model that cannot join the batch keeps its
    position."""
    together = [hybrid(0.05, 2.0, 7), projecting(), *(hybrid(0.01, lam) for lam in (1.0, 4.0, 9.0))]
    alone = [hybrid(0.05, 2.0, 7), projecting(), *(hybrid(0.01, lam) for lam in (1.0, 4.0, 9.0))]
    result = og.fit_together(together, X, Y)
    assert all(one is other for one, other in zip(result, together, strict=True))
    for one, other in zip(together, alone, strict=True):
        other.fit(X, Y)
        assert one.training_.best_epoch == other.training_.best_epoch
        assert_allclose(one.coefficients_, other.coefficients_, atol=1e-4)
        assert_allclose(one.predict(X), other.predict(X), atol=1e-4)
        assert_allclose(one.training_.history, other.training_.history, atol=1e-4)
        assert J(one) == pytest.approx(J(other), rel=1e-4)
    assert_allclose(together[2].predict(X), trained.predict(X), atol=1e-4)
    assert np.abs(together[0].predict(X) - together[2].predict(X)).max() > 1e-2


def test_together_exactly_is_one_by_one():
    def model(seed):
        net = og.RandomFeatures(9, ridge=1e-3)
        return og.OrthoReg(og.Polynomial(1), net, solver=og.Exact(), seed=seed)

    models = og.fit_together([model(0), model(1)], X, Y)
    for one in models:
        assert_array_equal(one.predict(X), model(one.seed).fit(X, Y).predict(X))
    assert not np.array_equal(models[0].predict(X), models[1].predict(X))


# -- batches and validation --------------------------------------------------------------------


@pytest.mark.slow
def test_a_batch_of_everything_is_the_full_batch(trained):
    model = hybrid(batch=60).fit(X, Y)
    assert_allclose(model.predict(X), trained.predict(X), atol=1e-3)
    assert_allclose(model.training_.history, trained.training_.history, atol=1e-3)


@pytest.mark.slow
def test_batches_reach_what_the_full_batch_reaches(trained):
    """There are three steps per epoch, and the history is that of all data."""
    model = hybrid(batch=20).fit(X, Y)
    assert J_trained(model) == pytest.approx(J(model), rel=1e-5)
    totals = model.training_.history.sum(axis=1)
    assert totals[0] == pytest.approx(trained.training_.history[0].sum(), rel=1e-5)
    assert totals[20] < trained.training_.history[20].sum()
    assert J(model) < 1.1 * J(trained)


@pytest.mark.slow
def test_squaring_a_batchs_own_estimate_shrinks_the_residual_and_two_batches_do_not():
    """The bias Var / B has the effect of a penalty on the size of the residual."""

    def shares(unbiased):
        with pytest.deprecated_call() if unbiased else nullcontext():
            model = hybrid(lam=30.0, seed=2, batch=20, unbiased=unbiased)
        model.fit(X, Y)
        return np.array([one.residual_share for one in model.certificate_.equations])

    biased, unbiased = shares(False), shares(True)
    assert (unbiased > 1.3 * biased).all()
    assert_array_equal(shares(True), unbiased)


def noisy_runs():
    """Four runs of 15 rows, whose derivatives are mostly noise."""
    noise = np.random.default_rng(3).standard_normal(Y.shape)
    split = np.split(X, 4), np.split(Y + noise, 4)
    return og.Dataset.from_arrays(split[0], [np.arange(15.0)] * 4, derivatives=split[1])


@pytest.mark.parametrize("lam", [0.1, math.inf])
@pytest.mark.slow
def test_training_stops_when_the_held_out_run_no_longer_improves(lam):
    data = noisy_runs()
    model = hybrid(lam=lam, epochs=400, learning_rate=0.05, validation=0.25, patience=25).fit(data)
    training = model.training_
    stop = training.best_epoch + 25
    assert 0 < training.best_epoch < 375
    assert training.message == f"stopped at epoch {stop}: the validation error no longer improved"
    assert training.epochs == stop == len(training.validation) - 1
    assert training.best_epoch == np.argmin(training.validation)
    totals = training.history.sum(axis=1)
    assert totals[-1] < totals[training.best_epoch]  # the training error still decreases
    assert model.certificate_.n_samples == 45
    held_out = data[2].states, data[2].derivatives  # a whole run from the middle
    error = np.mean(np.sum((model.predict(held_out[0]) - held_out[1]) ** 2, axis=1))
    assert training.validation[training.best_epoch] == pytest.approx(error, rel=1e-4)
    assert totals[training.best_epoch] == pytest.approx(J(model), rel=1e-4)


# -- numbers that end --------------------------------------------------------------------------


def test_training_that_leaves_the_finite_range_says_so_and_keeps_the_best_state():
    with pytest.warns(TrainingWarning, match="epoch 1: the fit part of the objective") as caught:
        model = hybrid(learning_rate=1e30).fit(X, Y)
    message = str(caught[0].message)
    assert "the state of epoch 0 is kept" in message and "lower learning_rate" in message
    assert model.training_.message.endswith("was no longer finite")
    assert model.training_.epochs == 1 and model.training_.best_epoch == 0
    assert np.isfinite(model.predict(X)).all() and J(model) == pytest.approx(J_trained(model))


def test_training_that_cannot_begin_is_an_error_that_names_the_part():
    with pytest.raises(TrainingError, match="epoch 0: the orthogonality part.*Adam") as caught:
        hybrid(lam=1e30).fit(X * 1e8, Y)
    assert "finite. Try a lower learning_rate" in str(caught.value)
    assert str(caught.value).endswith(".")


def test_a_fit_that_fails_leaves_the_earlier_one_whole():
    model = hybrid().fit(X, Y)
    before = model.predict(X)
    with pytest.raises(InputError, match="batch=1000"):
        model.set_params(solver=adam(batch=1000)).fit(np.hstack([X, X]), Y)
    assert_array_equal(model.predict(X), before)


def test_features_too_large_for_single_precision_are_refused_with_a_way_out():
    big = X * 1e15
    with pytest.raises(DataError, match=r"'x\d\*\*2' reaches .*normalize=True.*solver=Exact"):
        hybrid().fit(big, Y)
    normal, small = (hybrid(normalize=True).fit(x, Y) for x in (big, X))
    assert J(normal) == pytest.approx(J(small), rel=1e-3)
    exact = og.OrthoReg(og.Polynomial(2), og.Zero()).fit(big, Y)
    assert exact.score(big, Y) > 0.9


@pytest.mark.parametrize("x, y", [(X * 1e20, Y), (X, Y * 1e20)], ids=["states", "derivatives"])
def test_data_too_large_for_single_precision_are_refused(x, y):
    with pytest.raises(DataError, match=r"single precision.*solver=Exact\(\)"):
        hybrid().fit(x, y)


# -- against the exact solver --------------------------------------------------------------------


def test_adam_reaches_the_exact_optimum_and_never_passes_it():
    """The result is within 1% of the known minimizer of the residual, both in double precision."""
    net = og.RandomFeatures(6, ridge=1e-3)
    pairs = [(0.05, 0.0), (0.05, 1.0), (0.3, 10.0), (0.01, 0.1)]

    def models(solver):
        return [
            og.OrthoReg(og.Polynomial(1), net, sparsity=mu, orthogonality=lam, solver=solver)
            for mu, lam in pairs
        ]

    slow = og.Adam(epochs=2000, learning_rate=0.03, decay=0.0, threshold=0.0)
    trained, exact = (og.fit_together(models(solver), X, Y) for solver in (slow, og.Exact()))
    for one, best in zip(trained, exact, strict=True):
        for found, least in zip(
            one.certificate_.equations, best.certificate_.equations, strict=True
        ):
            assert least.objective <= found.objective * (1 + 1e-12) <= 1.01 * least.objective
            distance = found.objective - least.objective
            assert distance <= found.duality_gap + 1e-12
            assert found.duality_gap < 0.01 * least.objective


def of_trained_layers(model) -> tuple[Moments, np.ndarray, np.ndarray]:
    """Return moments of features, trained hidden layers and targets, the features, and the basis
    functions."""
    rows = Rows(X, Y, np.zeros(60, np.int64), np.zeros(2), ("x0", "x1"))
    field = model.field_
    (moments,) = gather(field.features, field.basis, rows)
    return moments, field.features(X), field.basis(X)


def test_polish_is_the_exact_optimum_for_the_trained_layers():
    plain = og.fit_together([hybrid(*one) for one in STRENGTHS], X, Y)
    polished = og.fit_together([hybrid(*one, polish=True) for one in STRENGTHS], X, Y)
    for before, after, (mu, lam, _) in zip(plain, polished, STRENGTHS, strict=True):
        assert_array_equal(after.training_.history, before.training_.history)
        moments, _, _ = of_trained_layers(before)
        mask = np.ones((2, 6), bool)
        best = Exact().solve([moments], mask, Regularization(mu, lam, 0.0), 0.0)
        for c, (old, new) in enumerate(
            zip(before.certificate_.equations, after.certificate_.equations, strict=True)
        ):
            least = objective(moments, c, best.equations[c], Regularization(mu, lam, 0.0))
            assert new.objective <= old.objective
            assert new.objective == pytest.approx(least, rel=1e-7, abs=1e-10)
            assert old.objective - new.objective <= old.duality_gap + 1e-12
        assert J(after) < 0.9 * J(before)


@pytest.mark.parametrize("mu, seed", [(0.0, 0), (0.01, 3), (0.4, 4)])
def test_polish_with_the_projection_is_a_lasso_beside_a_least_squares(mu, seed):
    before, after = projecting(mu + 1e-9, seed).fit(X, Y), projecting(mu + 1e-9, seed, polish=True)
    after.fit(X, Y)
    _, features, psi = of_trained_layers(before)
    for c, row in enumerate(before.field_.features.mask):
        span = features[:, row]
        outside = psi - span @ np.linalg.lstsq(span, psi, rcond=None)[0]
        lasso = Lasso(alpha=mu / 2, fit_intercept=False, tol=1e-14, max_iter=1_000_000)
        free = np.linalg.lstsq(span, Y[:, c], rcond=None)[0]
        w = lasso.fit(span, Y[:, c]).coef_ if mu else free
        residual = outside @ np.linalg.lstsq(outside, Y[:, c], rcond=1e-10)[0]
        least = np.mean((Y[:, c] - span @ w - residual) ** 2) + mu * np.abs(w).sum()
        new, old = (m.certificate_.equations[c] for m in (after, before))
        assert new.objective <= old.objective
        assert new.objective == pytest.approx(least, rel=1e-5, abs=1e-7)
        assert_allclose(after.coefficients_[c, row], w, atol=1e-5)
        assert new.overlap < 1e-10
        assert_allclose(after.decompose(X)[1][:, c], residual, atol=1e-4)


@settings(max_examples=3)
@given(
    st.lists(
        st.tuples(st.floats(1e-4, 1.0), st.floats(1e-4, 1e4), st.integers(0, 1000)),
        min_size=4, max_size=4,
    )
)  # fmt: skip
def test_polish_never_raises_the_objective(strengths):
    plain = og.fit_together([hybrid(*one) for one in strengths], X, Y)
    polished = og.fit_together([hybrid(*one, polish=True) for one in strengths], X, Y)
    for before, after in zip(plain, polished, strict=True):
        for old, new in zip(
            before.certificate_.equations, after.certificate_.equations, strict=True
        ):
            assert new.objective <= old.objective
    mu, _, seed = strengths[0]
    for old, new in zip(
        projecting(mu, seed).fit(X, Y).certificate_.equations,
        projecting(mu, seed, polish=True).fit(X, Y).certificate_.equations,
        strict=True,
    ):
        assert new.objective <= old.objective and new.overlap < 1e-10


# -- refusals ----------------------------------------------------------------------------------

REFUSED = {
    "sparsity": (lambda: hybrid(-0.1).fit(X, Y), "sparsity must be.*at least 0; got -0.1"),
    "orthogonality": (lambda: hybrid(lam=-2.0).fit(X, Y), "orthogonality must be.*got -2"),
    "magnitude": (
        lambda: og.OrthoReg(magnitude=-1.0, solver=adam()).fit(X, Y), "magnitude must be.*got -1",
    ),
    "ridge": (lambda: og.MLP(8, 1, ridge=-1.0), "ridge=.*>= 0; got -1"),
    "projection by batches": (
        lambda: hybrid(lam=math.inf, batch=10).fit(X, Y), "orthogonality=inf.*batch=None",
    ),
    "batch too large": (
        lambda: hybrid(batch=61).fit(X, Y), r"batch=61\) is larger.*there are 60 rows.*smaller",
    ),
    "batch too large beside validation": (
        lambda: hybrid(batch=50, validation=0.25).fit(X, Y), "there are 45 rows",
    ),
    "batch of windows too large": (
        lambda: og.OrthoReg(loss=og.MultiStep(6), solver=adam(batch=11)).fit(X, t=np.arange(60.0)),
        "there are 10 segments",
    ),
    "patience alone": (lambda: og.Adam(patience=5), "needs validation=..., such as 0.2; it is 0"),
    "unbiased alone": (lambda: og.Adam(unbiased=True), "the full batch has no bias"),
    "no epochs": (lambda: og.Adam(epochs=0), "epochs=.*at least 1; got 0"),
    "no batch": (lambda: og.Adam(batch=0), "batch=.*None or a whole number of at least 1; got 0"),
    "no patience": (lambda: og.Adam(patience=0, validation=0.2), "patience=.*at least 1"),
    "rate of zero": (lambda: og.Adam(learning_rate=0.0), "learning_rate=.*above 0; got 0"),
    "rate not finite": (lambda: og.Adam(learning_rate=math.inf), "learning_rate=.*got inf"),
    "rate that is no number": (lambda: og.Adam(learning_rate=math.nan), "got nan"),
    "rising rate": (lambda: og.Adam(decay=2.0), "decay=.*at most 1; got 2"),
    "most held out": (lambda: og.Adam(validation=0.9), "validation=.*at most 0.5; got 0.9"),
    "less than none held out": (lambda: og.Adam(validation=-0.1), "at least 0.*got -0.1"),
    "threshold": (lambda: og.Adam(threshold=-1.0), "threshold=.*at least 0; got -1"),
    "no models": (lambda: og.fit_together([], X, Y), "at least one model; the list is empty"),
    "different solvers": (
        lambda: og.fit_together([hybrid(), hybrid(epochs=61)], X, Y),
        r"the same loss and solver; got.*epochs=60.*and.*epochs=61",
    ),
    "different losses": (
        lambda: og.fit_together(
            [og.OrthoReg(), og.OrthoReg(loss=og.VectorField(og.FiniteDifference()))], X, Y
        ),
        "the same loss and solver",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED)
def test_adam_refuses_in_a_sentence(kind):
    attempt, message = REFUSED[kind]
    with pytest.raises(InputError, match=message) as caught:
        attempt()
    assert str(caught.value).endswith((".", "..."))


def test_one_sample_is_refused():
    with pytest.raises(ValueError, match="1 sample.* minimum of 2"):
        hybrid().fit(X[:1], Y[:1])
    with warnings.catch_warnings(), pytest.raises(DataError, match="needs at least 3"):
        hybrid().fit(og.Dataset.from_arrays(X[:1], 1.0))
