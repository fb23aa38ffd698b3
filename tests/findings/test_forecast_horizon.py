"""Forecasts of chaotic systems state the time up to which they are predictions."""

import json

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import orthoreg as og
from orthoreg.cli import run
from orthoreg.findings.charts import forecast_chart
from orthoreg.plotting import plot_forecast

START = [1.0, 1.0, 20.0]


def lorenz(duration):
    """Return times and states of the Lorenz system."""
    times = np.linspace(0, duration, round(100 * duration) + 1)

    def slope(_, x):
        return [10 * (x[1] - x[0]), x[0] * (28 - x[2]) - x[1], x[0] * x[1] - 8 / 3 * x[2]]

    path = solve_ivp(slope, (0, duration), START, t_eval=times, rtol=1e-11, atol=1e-11)
    return times, path.y.T


@pytest.fixture(scope="module", params=[0.0, 0.02])
def chaotic(request):
    """A model fitted to ten seconds of the Lorenz system, clean or with 2% noise, and its data."""
    times, states = lorenz(10)
    noise = request.param * states.std(axis=0)
    states = states + noise * np.random.default_rng(0).standard_normal(states.shape)
    data = og.Dataset.from_arrays(states, times)
    return og.OrthoReg("poly(2)", og.Zero()).fit(data), data


def test_long_simulations_name_their_horizon(chaotic):
    model, _ = chaotic
    times, truth = lorenz(40)
    rollout = model.simulate(START, times)
    until = rollout.reliable_until
    assert rollout.completed and f"after t = {until:.3g}" in rollout.message
    errors = np.linalg.norm(rollout.x - truth, axis=1) / np.linalg.norm(truth.std(axis=0))
    assert (
        errors[times <= until].max() < 0.3
    )  # the forecast is accurate up to this time, and not much longer
    assert errors[times <= 4 * until].max() > 0.3


def test_the_verdict_names_the_same_horizon(chaotic):
    model, data = chaotic
    texts = [item.text for item in model.summary(data).advice if item.code == "chaotic"]
    if data.plan.is_noisy:
        assert f"longer than about {model.simulate(START, [0, 40]).reliable_until:.2g}" in texts[0]


def test_short_simulations_and_shifted_times(chaotic):
    model, _ = chaotic
    until = model.simulate(START, [0.0, 40.0]).reliable_until
    assert model.simulate(START, [0.0, 0.9 * until]).reliable_until is None
    assert model.simulate(START, [100.0, 140.0]).reliable_until == pytest.approx(100 + until)
    batch = model.simulate([START, START], [0.0, 40.0])
    assert [rollout.reliable_until for rollout in batch.runs()] == [until, until]


def test_model_files_store_it_and_the_command_line_says_it(chaotic, tmp_path, capsys):
    model, _ = chaotic
    path = tmp_path / "m.orthoreg"
    model.save(path)
    until = og.load(path).simulate(START, [0.0, 40.0]).reliable_until
    assert until == model.simulate(START, [0.0, 40.0]).reliable_until
    command = ["simulate", str(path), "--start", "1,1,20", "--until", "40", "--step", "0.1"]
    assert run(command) == 0
    assert f"chaotic: after t = {until:.3g}, the forecast is one" in capsys.readouterr().out
    assert run([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["reliable_until"] == until


def test_charts_mark_it(chaotic):
    model, _ = chaotic
    times, states = lorenz(40)
    data = og.Dataset.from_arrays(states[::10], times[::10])
    rollout = model.simulate(START, times[::10])
    kinds = model.input_interpolation_
    assert forecast_chart(data, [rollout], interpolation=kinds).runs[0].lost == (
        rollout.reliable_until
    )
    labels = [text.get_text() for text in plot_forecast(data, [rollout]).legends[0].get_texts()]
    assert "predictable until here" in labels


def test_other_systems_have_no_horizon():
    times = np.linspace(0, 20, 401)
    waves = np.c_[np.cos(times), np.sin(times), np.cos(np.pi * times), np.sin(np.pi * times)]
    model = og.OrthoReg("poly(1)", og.Zero()).fit(og.Dataset.from_arrays(waves, times))
    rollout = model.simulate(waves[0], np.linspace(0, 400, 4001))
    assert rollout.reliable_until is None and "chaotic" not in rollout.message
