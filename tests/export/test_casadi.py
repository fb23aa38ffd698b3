"""CasADi functions: equal to the model, with the derivatives and the trust region of the model."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import orthoreg as og

casadi = pytest.importorskip("casadi")

RNG = np.random.default_rng(0)
EVERY_FUNCTION = (
    "sin(x0) + cos(x1) + tan(x0) + tanh(x1) + exp(x0) + log(3 + x1) + sqrt(3 + x0) + arctan(x0) + "
    "arcsin(x0/4) + arccos(x1/4) + sinh(x0) + cosh(x1) + abs(x0) + sign(x1) + heaviside(x0) + "
    "x0**3 + x0/(3 + x1) + x0*u0"
)


def hybrid(augmentation=None, physics=None, gate=None):
    z = RNG.uniform(-1.5, 1.5, (400, 3))
    y = np.column_stack([z[:, 1], np.sin(3 * z[:, 0]) - 0.3 * z[:, 1] + z[:, 2] * z[:, 0]])
    model = og.OrthoReg(
        og.Polynomial(1), augmentation or og.RandomFeatures(30, weight_scale=1.0),
        orthogonality=np.inf, selection=None, gate=gate or og.Gate(), physics=physics,
    )  # fmt: skip
    return model.fit(z[:, :2], y, u=z[:, 2:])


def terms():
    z = RNG.uniform(-1.5, 1.5, (400, 3))
    y = np.column_stack([z.sum(axis=1), z.prod(axis=1)])
    return og.OrthoReg(EVERY_FUNCTION, og.Zero(), selection=None).fit(z[:, :2], y, u=z[:, 2:])


MODELS = {
    "terms": terms,
    "random features": hybrid,
    "deep": lambda: hybrid(og.MLP(8, 3)),
    "odd": lambda: hybrid(physics=og.Physics(symmetry=og.Odd())),
    "periodic": lambda: hybrid(physics=og.Physics(symmetry=og.Periodic("x0"))),
    "fading": lambda: hybrid(gate=og.Gate(hold=False)),
}


@pytest.mark.parametrize("name", MODELS)
def test_values_and_derivatives_are_those_of_the_model(name):
    model = MODELS[name]()
    exported = model.to_casadi()
    z = RNG.uniform(-2.5, 2.5, (200, 3))
    values = np.array(exported.f.map(len(z))(z[:, :2].T, z[:, 2:].T)).T
    wanted = model.predict(z[:, :2], z[:, 2:])
    assert np.abs(values - wanted).max() <= 1e-10 * max(1.0, np.abs(wanted).max())
    jacobian, step = exported.f.jacobian(), 1e-6
    errors = []
    for row in z[:40]:
        by = np.hstack([np.array(part) for part in jacobian(row[:2], row[2:], 0)])
        ends = row + step * np.vstack([np.eye(3), -np.eye(3)])
        rates = model.predict(ends[:, :2], ends[:, 2:])
        errors.append(np.abs(by - (rates[:3] - rates[3:]).T / (2 * step)).max())
    # the gate has kinks, and sign, abs and heaviside jump, where differences are wrong
    assert np.quantile(errors, 0.9) < 1e-6 * max(1.0, np.abs(wanted).max())


def test_the_trust_region_is_that_of_the_gate_or_the_box():
    z = RNG.uniform(-3, 3, (200, 3))
    for model in (hybrid(), hybrid(physics=og.Physics(symmetry=og.Periodic("x0")))):
        beyond = np.array(model.to_casadi().trust.map(len(z))(z[:, :2].T, z[:, 2:].T))[0]
        assert_allclose(beyond, model.distance(z[:, :2], z[:, 2:]) ** 2 - 1, atol=1e-9)
        assert (beyond < 0).any() and (beyond > 0).any()
    y = np.column_stack([z[:, 1], -z[:, 0] + z[:, 2]])
    plain = og.STLSQ(library="poly(1)").fit(0.8 * z[:, :2], y, u=z[:, 2:])
    assert plain.field_.region is None
    beyond = np.array(plain.to_casadi().trust.map(len(z))(z[:, :2].T, z[:, 2:].T))[0]
    low, high = plain.fit_.range
    assert ((beyond <= 0) == ((z >= low) & (z <= high)).all(axis=1)).all()


def test_the_integrator_makes_the_steps_of_the_simulation():
    model = hybrid()
    step = model.to_casadi().integrator(0.1, substeps=20)
    x = np.array([0.3, -0.2])
    for _ in range(5):
        x = np.array(step(x, [0.4])).ravel()
    wanted = model.simulate([0.3, -0.2], [0.0, 0.5], [[0.4], [0.4]], rtol=1e-12).x[-1]
    assert_allclose(x, wanted, atol=1e-7)


def test_a_map_and_delayed_inputs_keep_their_meaning():
    x = [[0.5]]
    for _ in range(60):
        x.append([3.2 * x[-1][0] * (1 - x[-1][0])])
    data = og.Dataset.from_arrays(np.array(x), names=["x"], discrete=True)
    model = og.OrthoReg("poly(2)", og.Zero()).fit(data)
    exported = model.to_casadi()
    assert exported.f.name() == "next_state" and exported.step == 1.0
    assert float(exported.f([0.2], [])) == pytest.approx(0.512, rel=1e-6)
    assert exported.integrator(1.0) is exported.f


def test_a_missing_casadi_names_the_extra(monkeypatch):
    monkeypatch.setattr("orthoreg._common.errors.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"orthoreg\[casadi\]"):
        hybrid().to_casadi()
