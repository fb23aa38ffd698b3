"""Fits with delays: values, terms, intervals, files and errors."""

from pathlib import Path

import numpy as np
import pytest
from delayed_systems import forced_oscillator, heated_plant, hutchinson, mackey_glass

import orthoreg as og
from orthoreg._common.errors import DataWarning, InputError

LIBRARY = "poly(1) + u(t - tau)"


def terms_of(model: og.OrthoReg) -> list[set[str]]:
    return [
        {name for name, used in zip(model.feature_names_, row, strict=True) if used}
        for row in model.support_
    ]


@pytest.mark.parametrize("seed", range(2))
def test_dead_time_of_an_oscillator(seed: int):
    data = forced_oscillator(seed)
    model = og.OrthoReg(LIBRARY).fit(data)
    assert terms_of(model) == [{"v"}, {"x", "v", "u(t - tau)"}]
    assert model.parameters_["tau"] == pytest.approx(0.35, abs=0.01)
    low, high = model.parameter_intervals_["tau"]
    assert low < model.parameters_["tau"] < high and high - low < 0.01
    assert f"u(t - {model.parameters_['tau']:.4f})" in model.equations()[1]
    summary = model.summary(data)
    assert summary.verdict.code == "explained"
    assert any("have no such history" in note for note in summary.notes)


def test_no_delay_where_there_is_none():
    model = og.OrthoReg(LIBRARY).fit(forced_oscillator(3, delay=0.0))
    assert terms_of(model)[1] == {"x", "v", "u"}
    assert "tau" not in model.parameters_


def test_given_and_bounded_delays():
    data = forced_oscillator(4)
    equations = {"x": "v", "v": "-k*x - c*v + b*u(t - tau)"}
    given = og.OrthoReg(physics=og.Physics(equations=equations, values={"tau": 0.35})).fit(data)
    assert "u(t - 0.35)" in given.equations()[1] and "tau" not in given.parameters_
    bounded = og.OrthoReg(physics=og.Physics(equations=equations, bounds={"tau": (0, 0.2)}))
    bounded = bounded.fit(data)
    assert bounded.parameters_["tau"] == pytest.approx(0.2, abs=0.02)
    free = og.OrthoReg(physics=og.Physics(equations=equations)).fit(data)
    assert free.parameters_ == pytest.approx({"b": 2.0, "c": 0.5, "k": 4.0, "tau": 0.35}, rel=0.03)


@pytest.mark.parametrize("options", [{}, {"irregular": True}, {"with_disturbance": True}])
def test_dead_time_of_a_plant_with_a_held_input(options: dict):
    data = heated_plant(1, **options)
    model = og.OrthoReg(LIBRARY).fit(data)
    expected = {"x", "u(t - tau)"} | ({"w"} if options.get("with_disturbance") else set())
    assert terms_of(model) == [expected]
    assert model.parameters_["tau"] == pytest.approx(1.3, abs=0.03)
    assert model.input_interpolation_["u(t - tau)"] == "hold"
    forecast = model.forecast(data)[0]
    rows = np.isin(data.times, forecast.times)
    assert np.std(forecast.x - data.states[rows]) < 0.04 * data.states.std()


def test_a_short_dead_time():
    """The delay is a fifth of the time between rows."""
    model = og.OrthoReg(LIBRARY).fit(heated_plant(0, delay=0.1))
    assert terms_of(model) == [{"x", "u(t - tau)"}]
    assert model.parameters_["tau"] == pytest.approx(0.1, abs=0.03)


def test_positions_gaps_and_several_runs():
    runs = [forced_oscillator(seed) for seed in (5, 6)]
    t = [np.where(np.arange(401) < 250, run.times, run.times + 9.0) for run in runs]
    x, u = [run.states[:, :1] for run in runs], [run.inputs for run in runs]
    with pytest.warns(DataWarning, match="separate runs"):
        data = og.Dataset.from_positions(x, t, u, names=["x"], input_names=["u"])
    assert data.n_runs == 4
    model = og.OrthoReg(LIBRARY).fit(data)
    assert model.parameters_["tau"] == pytest.approx(0.35, abs=0.01)
    assert terms_of(model)[1] == {"x", "x_dot", "u(t - tau)"}


def test_mackey_glass():
    equations = {"x": "beta*x(t - tau)/(1 + x(t - tau)**n) - gamma*x"}
    data = mackey_glass(0)
    model = og.OrthoReg(physics=og.Physics(equations=equations)).fit(data)
    assert model.parameters_["tau"] == pytest.approx(17, rel=0.01)
    assert {name: model.parameters_[name] for name in ("beta", "gamma", "n")} == pytest.approx(
        {"beta": 0.2, "gamma": 0.1, "n": 10}, rel=0.05
    )
    rollout = model.forecast(data)[0]
    assert rollout.times[0] >= 17 - 1.1 and rollout.completed
    soon = rollout.times < rollout.times[0] + 50
    measured = data.states[np.isin(data.times, rollout.times)]
    assert np.std(rollout.x[soon] - measured[soon]) < 0.1 * data.states.std()


def test_a_delayed_logistic_equation():
    physics = og.Physics(equations={"x": "r*x*(1 - x(t - tau)/K)"})
    model = og.OrthoReg(physics=physics).fit(hutchinson(0))
    assert model.parameters_ == pytest.approx({"r": 0.9, "K": 2.0, "tau": 1.9}, rel=0.02)
    assert any("may be too narrow" in note for note in model.summary().notes)


def test_a_wrong_library_is_called_wrong():
    data = forced_oscillator(0)
    delayed = og.Dataset.from_arrays(
        data.states, data.times, data.inputs**3, names=["x", "v"], input_names=["u"]
    )
    summary = og.OrthoReg("poly(1) + u(t - tau)", og.Zero()).fit(delayed).summary(delayed)
    assert summary.verdict.code not in ("explained", "noise-limited")


def test_a_model_file_keeps_delays(tmp_path: Path):
    data = forced_oscillator(0)
    model = og.OrthoReg(LIBRARY).fit(data)
    model.save(tmp_path / "model.orthoreg")
    loaded = og.load(tmp_path / "model.orthoreg")
    assert loaded.equations() == model.equations()
    assert loaded.parameters_ == model.parameters_
    assert loaded.parameter_intervals_ == model.parameter_intervals_
    np.testing.assert_array_equal(loaded.forecast(data)[0].x, model.forecast(data)[0].x)


def test_other_data_and_new_inputs():
    data = forced_oscillator(0)
    model = og.OrthoReg(LIBRARY).fit(data)
    refined = model.refine(forced_oscillator(1))
    assert refined.parameters_["tau"] == model.parameters_["tau"]
    assert refined.coefficients_ == pytest.approx(model.coefficients_, abs=0.1)
    adapted = model.adapt(forced_oscillator(2))
    assert adapted.score(forced_oscillator(2)) > 0.99
    t = np.linspace(0, 5, 101)
    sampled = model.simulate([0.0, 0.0], t, u=np.ones((101, 1)))
    function = model.simulate([0.0, 0.0], t, u=lambda s: float(s >= 0))
    later = model.simulate([0.0, 0.0], t, u=lambda s: float(s >= -1))
    np.testing.assert_allclose(sampled.x, later.x, atol=1e-6)
    before = t < model.parameters_["tau"]
    assert np.abs(function.x[before]).max() < 1e-9  # the state is constant within the dead time


def test_exports_write_the_delay_or_refuse(tmp_path: Path):
    data = forced_oscillator(0)
    model = og.OrthoReg(LIBRARY, og.Zero()).fit(data)
    tau = model.parameters_["tau"]
    assert f"delay(u, {tau!r})" in model.to_modelica()
    assert f"u(t - {tau:.10g})" in model.to_c() and f"u(t - {tau:.10g})" in model.to_python()
    assert rf"u\left(t - {tau:.4f}\right)" in model.to_latex()[1]
    with pytest.raises(InputError, match="cannot contain a delay"):
        model.to_fmu(tmp_path / "model.fmu")
    names: dict = {}
    exec(model.to_python(), names)
    z = np.array([[0.3, -0.2, 0.5, 0.7]])
    np.testing.assert_allclose(
        names["vector_field"](z), model.predict(z[:, :2], z[:, 2:]), rtol=1e-12
    )


def test_what_is_refused():
    data = forced_oscillator(0)
    for library, words in {
        "poly(1) + u(t - 30)": "shorter than the longest run, which lasts 20 t; got 30",
        "poly(1) + u(t - x)": "'x' is a column",
        "poly(1) + u(t - tau) + x/(tau + x**2)": "is a delay and also a constant",
    }.items():
        with pytest.raises(InputError, match=words):
            og.OrthoReg(library).fit(data)
    physics = og.Physics(equations={"v": "-k*x + b*u(t - tau) + ..."}, bounds={"tau": (25, None)})
    with pytest.raises(InputError, match="its lower bound is 25"):
        og.OrthoReg(physics=physics).fit(data)
    with pytest.raises(InputError, match="estimates no delays"):
        og.discover(data, LIBRARY)
    with pytest.raises(InputError, match="needs runs in time"):
        og.OrthoReg("poly(1) + x0(t - tau)").fit(data.states, data.states)
    model = og.OrthoReg("poly(1)", og.Zero()).fit(data)
    with pytest.raises(InputError, match="history is for models with delayed states"):
        model.simulate([1.0, 0.0], data.times, data.inputs, history=data)
