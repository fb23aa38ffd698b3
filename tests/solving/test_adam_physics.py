"""`Adam` with `physics=`: known physics holds exactly, and the result agrees with `Exact`."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

import orthoreg as og
from orthoreg._common.errors import InputError

LIBRARY = og.Polynomial(2) + og.Fourier(1)
TRAINED = og.Adam(epochs=1500, learning_rate=0.05, normalize=True, decay=0.05)
POLISHED = og.Adam(epochs=20, normalize=True, polish=True)
RESIDUAL = og.RandomFeatures(10, ridge=1e-2)


@pytest.fixture(scope="module")
def data() -> og.Dataset:
    t = np.linspace(0, 6, 151)
    rng = np.random.default_rng(3)
    runs = [
        solve_ivp(lambda _, z: [z[1], -9.81 / 1.4 * np.sin(z[0]) - 0.3 * z[1]], (0, 6),
                  rng.uniform(-1.5, 1.5, 2), t_eval=t, rtol=1e-9, atol=1e-9).y.T
        for _ in range(4)
    ]  # fmt: skip
    return og.Dataset.from_arrays(runs, t, names=["theta", "omega"])


def model(physics, solver, residual=RESIDUAL, lam=1.0, **others):
    return og.OrthoReg(
        LIBRARY, residual, physics=physics, solver=solver, orthogonality=lam, sparsity=1e-3,
        **others,
    )  # fmt: skip


def coefficient(fitted, equation, term):
    return fitted.coefficients_[equation, fitted.feature_names_.index(term)]


KNOWN = {
    "in part": og.Physics(
        equations={"theta": "omega", "omega": "-g/L*sin(theta) + ..."}, values={"g": 9.81},
        bounds={("omega", "omega"): (-0.2, 0)},
    ),
    "coefficients": og.Physics(equations={"omega": "-7*sin(theta) + ..."}),
    "terms": og.Physics(
        required={"omega": ["omega"]}, forbidden={"omega": ["theta", "1"], "theta": ["sin(theta)"]}
    ),
    "relation": og.Physics(relations=["coef(theta, omega) = -coef(omega, theta)"]),
    "relation and bounds": og.Physics(
        relations=["coef(theta, omega) = -coef(omega, theta)"],
        bounds={("theta", "omega"): (None, 0.8), ("omega", "omega"): (0, None)},
    ),
    "conserved": og.Physics(conserved=["theta + omega"]),
    "symmetry": og.Physics(symmetry=og.Odd()),
}  # fmt: skip


@pytest.mark.parametrize("lam", [1.0, math.inf])
@pytest.mark.parametrize("what", KNOWN)
def test_a_polished_fit_is_the_exact_one(data, what, lam):
    """The basis of the residual is fixed here, so that both solvers have the same problem."""
    physics = KNOWN[what]
    found = model(physics, POLISHED, lam=lam).fit(data)
    exact = model(physics, og.Exact(normalize=True), lam=lam).fit(data)
    assert_allclose(found.coefficients_, exact.coefficients_, atol=1e-8)
    points = np.random.default_rng(0).uniform(-1, 1, (20, 2))
    assert_allclose(found.predict(points), exact.predict(points), atol=1e-5)


@pytest.mark.parametrize("what", ["in part", "relation", "relation and bounds", "conserved"])
def test_training_ends_near_the_constrained_minimum(data, what):
    found = model(KNOWN[what], TRAINED).fit(data)
    gap = max(equation.duality_gap for equation in found.certificate_.equations)
    assert gap < 2e-3  # for targets with mean square one


@pytest.mark.slow
def test_what_is_known_holds_without_polish(data):
    points = np.random.default_rng(0).uniform(-1, 1, (20, 2))
    short = og.Adam(epochs=30, normalize=True)
    network = og.MLP(6, 1)
    one = model(KNOWN["in part"], short, network).fit(data)
    assert one.equations()[0] == "theta' = omega (given)"
    assert not one.decompose(points)[1][:, 0].any()
    assert -0.2 <= coefficient(one, 1, "omega") <= 0
    one = model(KNOWN["coefficients"], short, network).fit(data)
    assert coefficient(one, 1, "sin(theta)") == -7
    one = model(KNOWN["terms"], short, network).fit(data)
    assert coefficient(one, 1, "omega") != 0
    assert not any(coefficient(one, 1, term) for term in ("theta", "1"))
    one = model(KNOWN["relation and bounds"], short, network).fit(data)
    assert coefficient(one, 0, "omega") == -coefficient(one, 1, "theta")
    assert coefficient(one, 0, "omega") <= 0.8 and coefficient(one, 1, "omega") >= 0
    for lam in (1.0, math.inf):
        one = model(KNOWN["conserved"], short, network, lam).fit(data)
        assert_allclose(one.predict(points).sum(axis=1), 0, atol=1e-12)
        assert np.abs(one.decompose(points)[1]).max() > 1e-8
    one = model(KNOWN["symmetry"], short).fit(data)
    assert_allclose(one.predict(-points), -one.predict(points), atol=1e-12)


def test_an_active_bound_is_in_the_certificate(data):
    found = model(KNOWN["in part"], TRAINED).fit(data)
    assert coefficient(found, 1, "omega") == -0.2
    assert found.certificate_.equations[1].active_bounds == ("omega",)


@pytest.mark.slow
def test_models_with_different_knowledge_are_trained_together(data):
    short = og.Adam(epochs=30, normalize=True)
    free, told = og.fit_together(
        [model(None, short, og.Zero()), model(KNOWN["coefficients"], short, og.Zero())], data
    )
    assert coefficient(told, 1, "sin(theta)") == -7
    assert coefficient(free, 1, "sin(theta)") != -7


@pytest.mark.slow
def test_a_loss_of_predictions_holds_what_is_known(data):
    found = model(
        KNOWN["coefficients"], og.Adam(epochs=5, normalize=True), og.Zero(), loss=og.MultiStep(3)
    ).fit(data)
    assert coefficient(found, 1, "sin(theta)") == -7


def test_a_network_that_learns_its_layers_has_no_symmetry(data):
    with pytest.raises(InputError, match="Use augmentation=RandomFeatures"):
        model(KNOWN["symmetry"], POLISHED, og.MLP(6, 1)).fit(data)
