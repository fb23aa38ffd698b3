"""Linear models: exact derivatives, intervals of each element, conversion."""

import numpy as np
import pytest
from controlled_systems import differences, hybrid, pendulum
from numpy.testing import assert_allclose
from scipy.linalg import expm

import orthoreg as og
from orthoreg import InputError
from orthoreg.control import jacobian


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("hold", [False, True])
def test_derivatives_of_residual_and_gate_are_exact(symmetric, hold):
    field = hybrid(symmetric, hold).field_
    assert field.has_residual and field.region is not None
    z = np.random.default_rng(1).uniform(-2.5, 2.5, (300, 3))  # inside, fading and outside
    share = field.region.share(z)
    assert (share == 1).any() and ((share > 0) & (share < 1)).any() and (share == 0).any()
    wanted = differences(field.values, z)
    error = np.abs(jacobian(field, z) - wanted).max(axis=(1, 2))
    # the distance has a kink between two landmarks, where differences are wrong
    assert np.quantile(error, 0.98) < 1e-7 * np.abs(wanted).max()


def test_derivatives_of_a_residual_of_periodic_variables_are_exact():
    rng = np.random.default_rng(0)
    z = rng.uniform(-6, 6, (400, 2))
    model = og.OrthoReg(
        og.Polynomial(1), og.RandomFeatures(30, weight_scale=1.0), selection=None, gate=None,
        physics=og.Physics(symmetry=og.Periodic("x0")),
    ).fit(z, np.column_stack([z[:, 1], np.sin(z[:, 0])]))  # fmt: skip
    assert model.field_.has_residual
    found, wanted = jacobian(model.field_, z), differences(model.field_.values, z)
    assert_allclose(found, wanted, atol=1e-7 * np.abs(wanted).max())


def test_the_linear_model_of_a_pendulum_is_that_of_its_equation():
    model, _ = pendulum()
    sine = model.feature_names_.index("sin(theta)")
    damping = model.feature_names_.index("omega")
    g, c = (model.coefficients_[1, k] for k in (sine, damping))
    linear = model.linearize({"theta": np.pi / 3, "omega": 0.4})
    assert linear.A[1] == pytest.approx([g / 2, c], rel=1e-12)
    intervals = model.fit_.estimates.coefficient_intervals(model.coefficients_)
    assert_allclose(linear.A_interval[1, 0], np.sort(intervals[1, sine]) / 2, rtol=1e-6)
    assert_allclose(linear.A_interval[1, 1], intervals[1, damping], rtol=1e-6)
    assert_allclose(linear.rate, model.predict([[np.pi / 3, 0.4]])[0])
    assert linear.B.shape == (2, 0) and linear.D.shape == (2, 0)


def test_an_interval_of_an_element_with_two_constants_has_their_covariance():
    model, _ = pendulum()
    rng, estimates = np.random.default_rng(0), model.fit_.estimates
    draws = rng.multivariate_normal(estimates.values, estimates.covariance, 20_000)
    names, x = model.feature_names_, 1.1
    values = np.zeros(len(draws))
    for i, (c, k) in enumerate(estimates.places):
        if c == 1 and names[k] == "sin(theta)":
            values += draws[:, i] * np.cos(x)
    low, high = model.linearize([x, 0.0]).A_interval[1, 0]
    assert values.std() > 0
    assert (high - low) / 2 == pytest.approx(estimates.quantile() * values.std(), rel=0.03)


def test_linear_and_nonlinear_models_move_alike_near_the_state():
    model, _ = pendulum()
    linear = model.linearize([0.0, 0.0])
    start = np.array([1e-4, -2e-4])
    moved = model.simulate(start, [0.0, 3.0], rtol=1e-12).x[-1]
    assert_allclose(expm(3 * linear.A) @ start, moved, atol=1e-9)


def test_conversions_have_the_matrices_names_and_step():
    control = pytest.importorskip("control")
    model = hybrid()
    linear = model.linearize([0.1, 0.2], [0.3])
    A, B, C, D = linear
    for system in (linear.to_scipy(), linear.to_control()):
        for found, wanted in zip((system.A, system.B, system.C, system.D), linear, strict=True):
            assert_allclose(found, wanted)
    system = linear.to_control()
    assert (system.state_labels, system.input_labels) == (["x0", "x1"], ["u0"])
    assert isinstance(system, control.StateSpace) and system.isctime()
    assert B == pytest.approx(
        differences(model.field_.values, np.array([[0.1, 0.2, 0.3]]))[0, :, 2:]
    )
    x = [[0.5]]
    for _ in range(60):
        x.append([3.2 * x[-1][0] * (1 - x[-1][0])])
    logistic = og.OrthoReg("poly(2)", og.Zero()).fit(
        og.Dataset.from_arrays(np.array(x), names=["x"], discrete=True)
    )
    linear = logistic.linearize([0.25])
    assert linear.A[0, 0] == pytest.approx(3.2 * (1 - 0.5), rel=1e-6)
    assert linear.to_control().dt == linear.to_scipy().dt == 1.0


def test_outputs_are_the_measured_states():
    t = np.linspace(0, 20, 400)
    data = og.Dataset.from_positions(np.exp(-0.1 * t) * np.cos(t), t, names=["q"])
    linear = og.OrthoReg("poly(1)", og.Zero()).fit(data).linearize([0, 0])
    assert linear.output_names == ("q",)
    assert linear.C.tolist() == [[1.0, 0.0]]


@pytest.mark.parametrize(
    ("x", "u", "message"),
    [
        ([0.1], [0.0], "x must be one finite number for each of 'x0', 'x1'"),
        ([0.1, np.nan], [0.0], "one finite number"),
        ([0.1, "a"], [0.0], "x must contain numbers"),
        ({"x0": 1.0, "x2": 1.0}, [0.0], "'x2', which is not one of 'x0', 'x1'"),
        ({"x0": 1.0}, [0.0], "x needs a value for each of 'x1'"),
        ([0.1, 0.2], None, "u must be one finite number for each of 'u0'"),
    ],
)
def test_wrong_points_are_refused_in_the_names_of_the_model(x, u, message):
    with pytest.raises(InputError, match=message):
        hybrid().linearize(x, u)


def test_delays_and_time_are_refused_in_one_sentence():
    t = np.linspace(0, 30, 600)
    x = np.sin(0.8 * t)[:, None]
    data = og.Dataset.from_arrays(x, t, names=["x"])
    delayed = og.OrthoReg("x(t - 0.5) + x", og.Zero(), selection=None, sparsity=0).fit(data)
    driven = og.OrthoReg(physics=og.Physics(equations={"x": "a*cos(0.8*t)"})).fit(data)
    for who in ("linearize", "equilibria"):
        arguments = ([0.0],) if who == "linearize" else ()
        with pytest.raises(
            InputError, match=r"without delays, but the model contains x\(t - 0\.5\)"
        ):
            getattr(delayed, who)(*arguments)
        with pytest.raises(InputError, match="do not depend on time, but the model uses 't'"):
            getattr(driven, who)(*arguments)
