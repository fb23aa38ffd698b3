"""If a term has several constants, their sum is one coefficient."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import orthoreg as og
from orthoreg.physics import ConstantProduct, ConstantSystem, constant_values

TRUTH = {"a": 0.8, "b": 0.5, "e": 0.3, "f": 0.2}
EQUATIONS = {"c": "-e*c - a*c + b*p", "p": "a*c - b*p - f*p"}


def blood_and_tissue(hidden=(), noise=0.01):
    t = 0.1 * np.arange(200)
    a, b, e, f = TRUTH.values()
    x = solve_ivp(
        lambda t, x: [-(e + a) * x[0] + b * x[1], a * x[0] - (b + f) * x[1]], (0, t[-1]),
        [10.0, 0.0], t_eval=t, rtol=1e-9, atol=1e-9,
    ).y.T  # fmt: skip
    x = x + noise * x.std(axis=0) * np.random.default_rng(0).standard_normal(x.shape)
    if hidden:
        return og.Dataset.from_arrays(x[:, :1], t, names=["c"], hidden=["p"])
    return og.Dataset.from_arrays(x, t, names=["c", "p"])


@pytest.fixture(scope="module")
def measured():
    return blood_and_tissue()


def fitted(data, equations=EQUATIONS, **physics):
    return og.OrthoReg(physics=og.Physics(equations=equations, **physics)).fit(data)


def test_a_constant_follows_from_a_sum_and_another_place(measured, tmp_path):
    model = fitted(measured)
    assert model.parameters_ == pytest.approx(TRUTH, rel=0.03)
    for name, (low, high) in model.parameter_intervals_.items():
        assert low < TRUTH[name] < high and high - low < 0.1 * TRUTH[name]
    names = list(model.feature_names_)
    c, p = names.index("c"), names.index("p")
    W, found = model.coefficients_, model.parameters_
    assert W[0, c] == pytest.approx(-found["e"] - found["a"], rel=1e-9)
    assert W[1, p] == pytest.approx(-found["b"] - found["f"], rel=1e-9)
    model.save(tmp_path / "m.orthoreg")
    assert og.load(tmp_path / "m.orthoreg").parameters_ == model.parameters_


def test_a_relation_of_sums_holds(measured):
    """Two constants give three coefficients, one of which is their sum."""
    model = fitted(measured, {"c": "-(e + a)*c + a*p", "p": "e*c - 0.7*p"})
    names = list(model.feature_names_)
    c, p = names.index("c"), names.index("p")
    W = model.coefficients_
    assert W[0, c] == pytest.approx(-W[0, p] - W[1, c], rel=1e-9)


def test_only_the_sum_is_reported_if_nothing_else_follows(measured):
    model = fitted(measured, {"c": "-(e + a)*c + b*p", "p": "0.8*c - f*p - 2*h*p"})
    assert set(model.parameters_) == {"a + e", "b", "f + 2*h"}
    assert model.parameters_["a + e"] == pytest.approx(1.1, rel=0.02)
    low, high = model.parameter_intervals_["a + e"]
    assert low < 1.1 < high


def test_a_number_and_a_constant(measured):
    model = fitted(measured, {"c": "-e*c - 0.8*c + b*p", "p": "0.8*c - b*p - f*p"})
    assert model.parameters_["e"] == pytest.approx(0.3, rel=0.03)


@pytest.mark.parametrize("ends", [(0.0, 0.25), (0.35, None), (0.0, 1.0)])
def test_a_bound_of_a_constant_in_a_sum_holds(measured, ends):
    value = fitted(measured, bounds={"e": ends}).parameters_["e"]
    low, high = ends[0], np.inf if ends[1] is None else ends[1]
    assert low <= value <= high
    assert value == pytest.approx(np.clip(0.3, low, high), rel=0.03)


def test_what_a_hidden_state_leaves_open_is_named():
    model = fitted(blood_and_tissue(hidden=["p"]), start={"p": 0})
    assert set(model.undetermined_.constants) == {"a", "b", "e", "f"}
    assert model.undetermined_.states == ("p",)
    assert set(model.undetermined_.combinations) == {"a + e", "b + f", "a*b"}
    given = fitted(blood_and_tissue(hidden=["p"]), start={"p": 0}, values={"f": 0.2})
    assert given.undetermined_ is None
    assert given.parameters_["e"] == pytest.approx(0.3, rel=0.05)


def test_numbers_of_any_size():
    constants = [
        ConstantProduct(0, 0, 1e12, (("a", 1.0),)),
        ConstantProduct(0, 0, 1e12, (("b", 1.0),)),
        ConstantProduct(1, 0, 1e-9, (("a", 1.0),)),
    ]
    assert ConstantSystem(tuple(constants)).text((0, 0)) == "a + b"
    coefficients = np.array([[5e12], [2e-9]])
    assert constant_values(constants, coefficients) == pytest.approx({"a": 2.0, "b": 3.0})
