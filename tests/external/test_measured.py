"""Data that others measured or published. Needs the folder named by ORTHOREG_DATA."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import orthoreg as og

DATA = Path(os.environ.get("ORTHOREG_DATA", Path(__file__).parents[3] / "shared" / "data"))
pytestmark = [
    pytest.mark.external,
    pytest.mark.skipif(not DATA.is_dir(), reason="no folder of external data"),
]


def test_published_pendulum_is_found_with_defaults_and_forecast():
    """theta'' = -1.0966 sin theta - 0.2 theta', half a second between samples."""
    frame = pd.read_csv(DATA / "aphynity_pendulum.csv")
    train, test = (
        og.read_table(frame[frame.split == split], "t", ["theta", "omega"], group="traj")
        for split in ("train", "test")
    )
    model = og.OrthoReg().fit(train)
    found = dict(zip(model.feature_names_, model.coefficients_[1], strict=True))
    assert found.pop("sin(theta)") == pytest.approx(-1.0966, abs=2e-3)
    assert found.pop("omega") == pytest.approx(-0.2, abs=2e-3)
    assert not any(found.values())
    forecasts = model.forecast(test)
    errors = [(f.x - run.states) ** 2 for f, run in zip(forecasts, test, strict=True)]
    assert np.log10(np.mean(errors)) < -6  # a neural ODE is published with -2.84


def test_lynx_and_hare_rates_agree_with_a_bayesian_fit():
    """Stan's posterior means: 0.55, 0.028, 0.80, 0.024."""
    data = og.read_table(DATA / "lynx_hare_1900_1920.csv", "t", ["hare", "lynx"])
    library = og.PerState(
        {"hare": og.Terms(["hare", "hare*lynx"]), "lynx": og.Terms(["lynx", "hare*lynx"])}
    )
    model = og.OrthoReg(library, og.Zero(), sparsity=0.0).fit(data)
    found = dict(zip(model.feature_names_, model.coefficients_.T, strict=True))
    assert found["hare"][0] == pytest.approx(0.55, rel=0.15)
    assert found["hare*lynx"][0] == pytest.approx(-0.028, rel=0.15)
    assert found["lynx"][1] == pytest.approx(-0.80, rel=0.15)
    assert found["hare*lynx"][1] == pytest.approx(0.024, rel=0.15)


def test_lynx_and_hare_need_no_residual_and_are_forecast_without_explosion():
    data = og.read_table(DATA / "lynx_hare_1900_1920.csv", "t", ["hare", "lynx"])
    model = og.OrthoReg(og.Polynomial(2)).fit(data)
    assert not model.field_.weights.any()
    (forecast,) = model.forecast(data)
    assert forecast.completed
    assert np.abs(forecast.x).max() < 5 * data.states.max()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["", "_noisy"])
def test_the_capacitance_of_a_circuit_is_found_with_its_interval(kind):
    """v_c' = i_l / C with C = 270 nF, time in microseconds."""
    frame = pd.read_csv(DATA / "rlc_saturating.csv")
    frame = frame[frame.run < 2][["run", "t", f"v_c{kind}", f"i_l{kind}", "v_in"]]
    frame.columns = ["run", "t", "v_c", "i_l", "v_in"]
    data = og.read_table(frame, "t", ["v_c", "i_l"], ["v_in"], "run")
    model = og.OrthoReg(physics=og.Physics(equations={"v_c": "i_l/C"})).fit(data)
    assert model.parameters_["C"] == pytest.approx(270e-9, rel=1e-3)
    low, high = model.parameter_intervals_["C"]
    assert low < 270e-9 < high < 1.01 * low
    assert not np.any(model.field_.weights[:, 0])


def test_the_published_pendulum_with_its_structure_given():
    """omega0^2 = 1.0966 is told to be g/L, and theta' = omega; the damping is left to be found."""
    frame = pd.read_csv(DATA / "aphynity_pendulum.csv")
    data = og.read_table(frame[frame.split == "train"], "t", ["theta", "omega"], group="traj")
    physics = og.Physics(
        equations={"theta": "omega", "omega": "-g/L*sin(theta) + ..."}, values={"g": 9.81},
        bounds={("omega", "omega"): (None, 0)},
    )  # fmt: skip
    model = og.OrthoReg(physics=physics).fit(data)
    assert model.equations()[0] == "theta' = omega (given)"
    assert model.parameters_["L"] == pytest.approx(9.81 / 1.0966, rel=2e-3)
    found = dict(zip(model.feature_names_, model.coefficients_[1], strict=True))
    assert found["omega"] == pytest.approx(-0.2, abs=2e-3)


def test_an_epidemic_whose_susceptibles_nobody_counted():
    """S' = -beta S I / N has the solution S = S(0) exp(-beta J / N) with J' = I, which the counts
    give. Published: beta 1.79, gamma 0.456; N = 763, of whom 3 were ill at first."""
    frame = pd.read_csv(DATA / "boarding_school_flu_1978.csv")
    ill, days = frame.in_bed.to_numpy(float), frame.t.to_numpy(float)
    total = np.concatenate([[0.0], np.cumsum((ill[1:] + ill[:-1]) / 2)])
    data = og.Dataset.from_arrays(np.column_stack([ill, total]), days, names=["I", "J"])
    physics = og.Physics(
        equations={"J": "I", "I": "beta*S0/N*exp(-beta*J/N)*I - gamma*I"},
        values={"N": 763, "S0": 760}, bounds={"beta": (0.1, 10)},
    )  # fmt: skip
    model = og.OrthoReg(physics=physics).fit(data)
    assert model.parameters_["beta"] == pytest.approx(1.79, rel=0.1)
    assert model.parameters_["gamma"] == pytest.approx(0.456, rel=0.1)
    low, high = model.parameter_intervals_["gamma"]
    assert low < 0.456 < high
