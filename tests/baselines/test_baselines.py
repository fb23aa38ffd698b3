"""Baselines with the interface of `OrthoReg`, each compared with an independent reference."""

import math
import pickle
import warnings

import numpy as np
import pysindy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import Lasso

import orthoreg as og
from orthoreg import presets
from orthoreg._common.errors import InputError
from orthoreg.search.rows import Thresholding
from orthoreg.solving import TwoStage

seeds = st.integers(0, 10_000)
X = np.random.default_rng(0).uniform(-1, 1, (60, 2))
Y = X @ np.array([[0.0, -1.0], [1.0, -0.1]]) + 0.3 * np.cos(3 * X[:, :1])
NET = og.MLP(8, 1)
QUICK = og.Adam(epochs=500, learning_rate=0.03, decay=0.01, normalize=True)
KNOWN = {"x0": "x1 + 0.5"}
"""A wrong equation for x0, which the data contradict."""

MODELS = {
    "STLSQ": lambda: og.STLSQ(0.1, og.Polynomial(2)),
    "UniversalODE": lambda: og.UniversalODE(8, 1, solver=QUICK),
    "PINN": lambda: og.PINN(KNOWN, weight=1e6, width=8, depth=1, solver=QUICK),
    "free PINN": lambda: og.PINN(KNOWN, weight=0.0, width=8, depth=1, solver=QUICK),
    "lasso": lambda: presets.lasso(0.05).set_params(library=og.Polynomial(2)),
    "two stage": lambda: presets.two_stage(2.0, 0.2).set_params(
        library=og.Polynomial(2), augmentation=NET, loss=None, solver=TwoStage(QUICK)
    ),
    "selection and refit": lambda: presets.selection_refit().set_params(
        library=og.Polynomial(2), augmentation=NET, loss=None,
        selection=Thresholding(0.2, normalize=True), solver=TwoStage(QUICK),
    ),
}  # fmt: skip
START, TIMES = [0.3, -0.2], [0.0, 0.05, 0.1]


@pytest.fixture(scope="module")
def fitted():
    """Models that are fitted on first use."""
    found = {}

    def get(kind):
        if kind not in found:
            found[kind] = MODELS[kind]().fit(X, Y)
        return found[kind]

    return get


# -- the same interface --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", MODELS)
def test_every_model_predicts_decomposes_simulates_and_reads(kind, fitted):
    model = fitted(kind)
    other = np.random.default_rng(1).uniform(-1.5, 1.5, (30, 2))
    predicted = model.predict(other)
    assert predicted.shape == (30, 2) and np.isfinite(predicted).all()
    symbolic, neural = model.decompose(other)
    assert_array_equal(symbolic + neural, predicted)
    assert_allclose(
        symbolic, model.field_.features(other) @ model.coefficients_.T, rtol=1e-10, atol=1e-12
    )
    source: dict = {}
    exec(model.to_python(), source)
    assert_allclose(source["vector_field"](other), predicted, rtol=1e-10, atol=1e-12)
    rollout = model.simulate(START, TIMES)
    middle = model.predict(rollout.x[1:2])[0]
    assert rollout.completed is True
    assert_allclose((rollout.x[2] - rollout.x[0]) / 0.1, middle, atol=1e-2)
    lines = model.equations()
    assert [line.split("'")[0] for line in lines] == ["x0", "x1"]
    for line, part in zip(lines, neural.T, strict=True):
        assert ("residual" in line) == bool(part.any())
    target = np.column_stack([X[:, 1] + 0.5, Y[:, 1]]) if kind == "PINN" else Y
    assert model.score(X, target) > 0.6
    assert model.certificate_.n_samples == 60


@pytest.mark.parametrize("kind", MODELS)
def test_every_model_can_be_saved_cloned_and_pickled(kind, fitted, tmp_path):
    model = fitted(kind)
    path = tmp_path / "model.orthoreg"
    model.save(path)
    for copy in (og.load(path), pickle.loads(pickle.dumps(model))):
        assert type(copy) is type(model)
        assert_array_equal(copy.predict(X), model.predict(X))
        assert_array_equal(copy.decompose(X)[1], model.decompose(X)[1])
        assert copy.get_params() == model.get_params() and copy.equations() == model.equations()
        assert_array_equal(copy.simulate(START, TIMES).x, model.simulate(START, TIMES).x)
    again = clone(model)
    assert again.get_params() == MODELS[kind]().get_params() and not hasattr(again, "field_")
    assert (model.training_ is None) == (kind in ("STLSQ", "lasso"))


# -- sequential thresholds -----------------------------------------------------------------------


@settings(max_examples=25)
@given(
    seeds, st.sampled_from([0.0, 0.02, 0.1, 0.3, 0.6]), st.sampled_from([0.0, 0.05, 5.0]),
    st.sampled_from([1, 2, 20]),
)  # fmt: skip
def test_stlsq_is_pysindys(seed, threshold, alpha, max_iter):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, (80, 2))
    noise = 0.3 * rng.standard_normal((80, 2))
    y = x @ rng.uniform(-1, 1, (2, 2)) + rng.uniform(-0.5, 0.5) * x[:, :1] * x[:, 1:] + noise
    model = og.STLSQ(threshold, og.Polynomial(3) + og.Fourier(1), alpha=alpha, rounds=max_iter).fit(
        x, y
    )
    features = model.field_.features(x)
    reference = pysindy.STLSQ(threshold=threshold, alpha=alpha, max_iter=max_iter)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of an empty support, or too few iterations
        reference.fit(features, y)
    assert_array_equal(model.support_, np.abs(reference.coef_) > 1e-14)
    assert_allclose(model.coefficients_, reference.coef_, atol=1e-8)


def test_stlsq_of_runs_is_pysindys():
    rng, t = np.random.default_rng(5), 0.05 * np.arange(60)
    turns = np.exp(1j * (0.7 * t + rng.uniform(0, 6, (20, 1)))) * np.exp(-0.1 * t)
    runs = [np.column_stack([one.real, one.imag]) for one in turns * rng.uniform(1, 2, (20, 1))]
    loss = og.VectorField(og.SmoothedFiniteDifference(window=11))
    model = og.STLSQ(0.045, og.Polynomial(2), loss=loss).fit(runs, t=[t] * 20)
    reference = pysindy.SINDy(
        optimizer=pysindy.STLSQ(threshold=0.045),
        feature_library=pysindy.PolynomialLibrary(2),
        differentiation_method=pysindy.SmoothedFiniteDifference(
            smoother_kws={"window_length": 11, "polyorder": 3}, save_smooth=False
        ),
    )
    reference.fit(runs, t=t[1] - t[0])
    assert model.support_.sum() == 4
    assert_array_equal(model.support_, reference.coefficients() != 0)
    assert_allclose(model.coefficients_, reference.coefficients(), atol=1e-9)


def test_stlsq_recovers_a_flow_from_a_run():
    t = np.linspace(0, 8, 400)
    x = np.exp(-0.1 * t)[:, None] * np.column_stack([np.cos(2 * t), np.sin(2 * t)])
    model = og.STLSQ(0.05, og.Polynomial(2)).fit(x, t=t)
    assert model.equations() == ["x0' = -0.1000 x0 - 2.000 x1", "x1' = 2.000 x0 - 0.1000 x1"]


def test_a_threshold_above_everything_leaves_nothing():
    model = og.STLSQ(1e3).fit(X, Y)
    assert model.equations() == ["x0' = 0", "x1' = 0"] and not model.predict(X).any()


# -- lasso ---------------------------------------------------------------------------------------


@settings(max_examples=8)
@given(seeds, st.sampled_from([0.003, 0.05, 0.4]))
def test_the_exact_lasso_is_scikit_learns_at_half_of_mu(seed, mu):
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(-1, 1, (50, 2)), rng.standard_normal((50, 2))
    model = presets.lasso(mu).fit(x, y)
    features = model.field_.features(x)
    assert features.shape == (50, 10)
    reference = Lasso(alpha=mu / 2, fit_intercept=False, tol=1e-12, max_iter=1_000_000)
    assert_allclose(model.coefficients_, reference.fit(features, y).coef_, atol=1e-6)
    same = og.OrthoReg(augmentation=og.Zero(), sparsity=mu, solver=og.Exact()).fit(x, y)
    assert_array_equal(same.coefficients_, model.coefficients_)


# -- networks ------------------------------------------------------------------------------------


def test_a_universal_ode_is_a_network_and_nothing_else(fitted):
    model = fitted("UniversalODE")
    assert model.equations() == ["x0' = residual", "x1' = residual"]
    assert model.coefficients_.shape == (2, 0) and model.feature_names_ == []
    assert_array_equal(model.decompose(X)[0], np.zeros((60, 2)))
    assert model.score(X, Y) > 0.98


def test_a_universal_ode_trained_through_the_integrator():
    """The baseline is fitted to states alone, with steps that are too coarse for derivatives."""
    times = np.arange(0, 8, 0.4)
    runs = [a * np.column_stack([np.cos(times), -np.sin(times)]) for a in (0.5, 1.0)]
    model = og.UniversalODE(8, 1, loss=og.MultiStep(1), solver=QUICK).fit(runs, t=times)
    truth = [x @ np.array([[0.0, -1.0], [1.0, 0.0]]) for x in runs]
    size = np.abs(truth[1]).max()
    assert np.abs(model.predict(runs[1]) - truth[1]).max() < 0.06 * size
    slopes = np.diff(runs[1], axis=0) / 0.4
    assert np.abs(slopes - truth[1][:-1]).max() > 0.15 * size
    assert model.score(runs, t=times) > 0.99


def test_a_heavy_constraint_reproduces_the_known_equation_and_leaves_the_others(fitted):
    model, alone = fitted("PINN"), fitted("UniversalODE")
    known = X[:, 1] + 0.5
    assert np.abs(Y[:, 0] - known).max() > 0.4
    assert np.abs(model.predict(X)[:, 0] - known).max() < 0.05
    # one network represents both equations, so the free equation is fitted less accurately
    assert np.abs(alone.predict(X)[:, 0] - known).max() > 0.3


def test_a_pinn_prints_what_it_was_told(fitted):
    lines = fitted("PINN").equations()
    assert lines[0] == f"x0' = residual (trained towards: {KNOWN['x0']})"
    assert "told" not in lines[1]


def test_a_constraint_without_weight_is_the_network_alone(fitted):
    free, alone = fitted("free PINN"), fitted("UniversalODE")
    assert_allclose(free.predict(X), alone.predict(X), atol=2e-3)
    assert_allclose(free.training_.history[:50], alone.training_.history[:50], rtol=1e-3)
    assert og.PINN().recipe().loss == alone.recipe().loss


def test_what_is_known_draws_the_network_towards_it(fitted):
    """The distance from the known equation decreases with its weight."""
    known = X[:, 1] + 0.5
    distances = [
        np.mean((fitted(kind).predict(X)[:, 0] - known) ** 2) for kind in ("free PINN", "PINN")
    ]
    assert distances[1] < 0.05 * distances[0]


# -- refusals ------------------------------------------------------------------------------------

REFUSED = {
    "target that is no state": (
        lambda: og.PINN({"x0": "x1"}, width=8, depth=1, solver=QUICK).fit(X, Y[:, 0]),
        "refer to 'x0', which is not an equation. The equations are 'y0'",
    ),
    "unknown state": (
        lambda: og.PINN({"omega": "x0"}, width=8, depth=1, solver=QUICK).fit(X, Y),
        "refer to 'omega', which is not an equation. The equations are 'x0', 'x1'",
    ),
    "state with a typo": (
        lambda: og.PINN({"X0": "x0"}, width=8, depth=1, solver=QUICK).fit(X, Y),
        "Did you mean 'x0'",
    ),
    "formula with a typo": (
        lambda: og.PINN({"x0": "sine(x1)"}, solver=QUICK).fit(X, Y), "unknown function 'sine'",
    ),
    "weight": (
        lambda: og.PINN(KNOWN, weight=-1.0, solver=QUICK).fit(X, Y),
        r"weight=...\) must be finite and at least 0; got -1",
    ),
    "nothing known": (lambda: og.PINN({}, solver=QUICK).fit(X, Y), "known equations by state"),
    "width": (lambda: og.UniversalODE(0, 1).fit(X, Y), "width=.*at least 1; got 0"),
    "depth": (lambda: og.PINN(KNOWN, depth=-1).fit(X, Y), "depth=.*at least 1; got -1"),
    "solver": (lambda: og.UniversalODE(8, 1, solver="adam").fit(X, Y), "solver must be a part"),
    "loss": (lambda: og.UniversalODE(8, 1, loss="mse").fit(X, Y), "loss must be a part"),
    "library": (lambda: og.STLSQ(library=["x0"]).fit(X, Y), "library must be.*Polynomial.*text"),
    "threshold": (lambda: og.STLSQ(-1.0).fit(X, Y), "threshold must be.*got -1"),
    "alpha": (lambda: og.STLSQ(alpha=math.nan).fit(X, Y), "alpha must be.*got nan"),
    "iterations": (lambda: og.STLSQ(rounds=0).fit(X, Y), "rounds must be.*got 0"),
    "exact PINN": (
        lambda: og.PINN(KNOWN, width=8, depth=1, solver=og.Exact()).fit(X, Y),
        "needs a loss that is linear in the learned parameters, unlike loss=Informed",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED)
def test_baselines_refuse_in_a_sentence(kind):
    attempt, message = REFUSED[kind]
    with pytest.raises(InputError, match=message) as caught:
        attempt()
    assert str(caught.value).endswith((".", "?"))
