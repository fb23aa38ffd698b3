"""Equations that contain time, and constants that differ between runs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

import orthoreg as og
from orthoreg.fitting import prepare
from orthoreg.search.rows import unresolved_trig_terms

FORCED = og.Physics(equations={"x": "v", "v": "F*cos(w*t) + ..."})


@pytest.fixture(scope="module")
def forced():
    """x'' = -2 x - 0.2 x' + 0.8 cos(1.7 t) from three starts."""
    t = np.linspace(0, 12, 241)

    def rate(s, x):
        return [x[1], -2 * x[0] - 0.2 * x[1] + 0.8 * np.cos(1.7 * s)]

    starts = ([1, 0], [0, 1], [-1, 0.5])
    runs = [
        solve_ivp(rate, (0, 12), start, t_eval=t, rtol=1e-9, atol=1e-10).y.T for start in starts
    ]
    return og.Dataset.from_arrays(runs, t, names=["x", "v"])


@pytest.fixture(scope="module")
def model(forced):
    return og.OrthoReg(og.Polynomial(2), og.RandomFeatures(30), physics=FORCED).fit(forced)


def test_size_and_frequency_of_a_force_are_found(model):
    assert model.parameters_ == pytest.approx({"F": 0.8, "w": 1.7}, rel=1e-4)
    assert model.input_names_ == ("t",)
    names = np.array(model.feature_names_)
    assert set(names[model.support_[1]]) == {"x", "v", "cos(t*w)"}
    assert [name for name in names if "t" in name] == ["cos(t*w)"]  # the library lacks this term


def test_time_is_not_asked_for_again(model, forced, tmp_path):
    forecast = model.forecast(forced)[1]
    assert_allclose(forecast.x, forced[1].states, atol=1e-4)
    rolled = model.simulate(forced.states[0], forced.times[:241])
    assert_allclose(rolled.x, forced[0].states, atol=1e-4)
    assert rolled.left_at is None
    assert model.score(forced) > 0.9999
    model.save(tmp_path / "model.orthoreg")
    loaded = og.load(tmp_path / "model.orthoreg")
    assert_allclose(loaded.simulate(forced.states[0], forced.times[:241]).x, rolled.x)
    assert loaded.equations() == model.equations()


def test_a_dataset_with_a_clock_is_told_the_time_once(forced):
    twice = forced.with_time_input().with_time_input()
    assert twice.input_names == ("t",)
    assert_allclose(twice.inputs[:, 0], forced.times)


def test_inputs_may_come_beside_the_time():
    t = np.linspace(0, 6, 121)
    u = np.sin(3 * t)[:, None]

    def rate(s, x):
        return [-x[0] + np.sin(3 * s) + 0.5 * s]

    runs = [
        solve_ivp(rate, (0, 6), [a], t_eval=t, rtol=1e-9, atol=1e-10).y.T for a in (0.0, 1.0, 2.0)
    ]
    data = og.Dataset.from_arrays(runs, t, [u] * 3, names=["x"], input_names=["u"])
    physics = og.Physics(equations={"x": "a*t + ..."})
    model = og.OrthoReg(og.Polynomial(1), og.Zero(), physics=physics).fit(data)
    assert model.parameters_["a"] == pytest.approx(0.5, rel=1e-3)
    for given in (u, u[None], lambda s: np.sin(3 * s)):
        assert_allclose(model.simulate([0.0], t, given).x, runs[0], atol=2e-3)
    with pytest.raises(og.InputError, match="without the time"):
        model.simulate([0.0], t, np.hstack([u, u]))


def test_a_mass_that_differs_from_run_to_run_is_a_column():
    t = np.linspace(0, 5, 101)
    masses, runs = [0.5, 1.0, 2.0, 3.0], []
    for m in masses:
        w = np.sqrt(2.0 / m)
        runs.append(np.column_stack([np.cos(w * t), -w * np.sin(w * t)]))
    u = [np.full((101, 1), m) for m in masses]
    data = og.Dataset.from_arrays(runs, t, u, names=["x", "v"], input_names=["m"])
    physics = og.Physics(equations={"x": "v", "v": "-k*x/m"})
    model = og.OrthoReg(og.Polynomial(1), physics=physics).fit(data)
    assert model.parameters_["k"] == pytest.approx(2.0, rel=1e-3)


def test_a_frequency_to_be_found_is_no_short_sine_of_the_default_library(forced):
    features = prepare(
        og.OrthoReg(physics=og.Physics(equations={"v": "F*cos(w*t) + ..."})).recipe(),
        og.VectorField().observe(forced.with_time_input()),
    ).features
    extent = np.tile([[0.0], [1e-3]], (1, len(features.variables)))
    left_out = unresolved_trig_terms(features, extent)
    assert not left_out[features.names.index("cos(t*w)")]
    assert left_out[features.names.index("sin(x)")]
