"""Tests on measured or published data, in the folder that ORTHOREG_DATA names."""

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


@pytest.mark.slow
def test_published_pendulum_is_found_with_defaults_and_forecast():
    """theta'' = -1.0966 sin theta - 0.2 theta', with samples every half second."""
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
    assert np.log10(np.mean(errors)) < -6  # the published result of a neural ODE is -2.84


def test_lynx_and_hare_rates_agree_with_a_bayesian_fit():
    """The posterior means of Stan are 0.55, 0.028, 0.80 and 0.024."""
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
    """v_c' = i_l / C with C = 270 nF and times in microseconds."""
    frame = pd.read_csv(DATA / "rlc_saturating.csv")
    frame = frame[frame.run < 2][["run", "t", f"v_c{kind}", f"i_l{kind}", "v_in"]]
    frame.columns = ["run", "t", "v_c", "i_l", "v_in"]
    data = og.read_table(frame, "t", ["v_c", "i_l"], ["v_in"], "run")
    model = og.OrthoReg(physics=og.Physics(equations={"v_c": "i_l/C"})).fit(data)
    assert model.parameters_["C"] == pytest.approx(270e-9, rel=1e-3)
    low, high = model.parameter_intervals_["C"]
    assert low < 270e-9 < high < 1.01 * low
    assert not np.any(model.field_.weights[:, 0])


@pytest.mark.slow
def test_the_published_pendulum_with_its_structure_given():
    """omega0^2 = 1.0966 is given as g/L, and theta' = omega is given. The damping must be found."""
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
    """S' = -beta S I / N has the solution S = S(0) exp(-beta J / N) with J' = I. Published values
    are beta 1.79 and gamma 0.456, with N = 763 and I(0) = 3."""
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


DOUBLE_PENDULUM = [
    "J1*theta1'' + c*cos(theta1 - theta2)*theta2'' = -c*sin(theta1 - theta2)*theta2'^2"
    " + b1*sin(theta1) - k1*theta1' - k2*(theta1' - theta2')",
    "J2*theta2'' + c*cos(theta1 - theta2)*theta1'' = c*sin(theta1 - theta2)*theta1'^2"
    " + b2*sin(theta2) + k2*(theta1' - theta2')",
]


@pytest.mark.slow
def test_a_real_double_pendulum_from_its_angles_with_nothing_told():
    """Both equations contain both accelerations. Forecasts over a second are within 1.5 times the
    errors of the authors' model."""
    frame = pd.read_csv(DATA / "double_pendulum.csv")
    swings = frame[frame.split == "train"]
    swings = swings[swings.run.isin(swings.run.unique()[::2])]
    train, test = (
        og.read_table(one, "t", positions=["theta1", "theta2"], group="run")
        for one in (swings, frame[frame.split == "test"])
    )
    best = og.discover(train).best
    for line, own, other in zip(best.equations(), ("1", "2"), ("2", "1"), strict=True):
        left, right = line.split(" = ")
        assert left.startswith(f"theta{own}'' + ")
        assert left.endswith(f"*theta{other}''*cos(theta1 - theta2)")
        assert f"*theta{other}_dot**2*sin(theta1 - theta2)" in right
        assert f"*sin(theta{own})" in right
    for forecast, run, authors in zip(
        best.forecast(test), test, (0.002, 0.002, 0.002, 0.013), strict=True
    ):
        error = forecast.x[:201, :2] - run.states[:201, :2]
        assert np.sqrt(np.mean(error**2)) <= 1.5 * authors


@pytest.mark.slow
def test_a_real_double_pendulum_with_its_mass_matrix_from_angles_alone():
    """The authors' ratios are estimated within 1%, and forecasts over a second are within 1.5 times
    the authors' errors. The interval of the friction is wide."""
    frame = pd.read_csv(DATA / "double_pendulum.csv")
    train, test = (
        og.read_table(frame[frame.split == split], "t", positions=["theta1", "theta2"], group="run")
        for split in ("train", "test")
    )
    model = og.OrthoReg(physics=og.Physics(equations=DOUBLE_PENDULUM)).fit(train)
    m1, m2, a1, a2, L1, I1, I2, g = (
        0.0938,
        0.1376,
        0.1086,
        0.1168,
        0.1727,
        4.375e-4,
        1.2688e-3,
        9.8086,
    )
    inertia = I1 + m1 * a1**2 + m2 * L1**2
    published = {
        "c": m2 * L1 * a2, "J2": I2 + m2 * a2**2,
        "b1": (m1 * a1 + m2 * L1) * g, "b2": m2 * a2 * g,
    }  # fmt: skip
    for name, value in published.items():
        assert model.parameters_[name] == pytest.approx(value / inertia, rel=0.01)
    low, high = model.parameter_intervals_["k2"]
    assert low < 1e-5 / inertia < high and high - low > abs(model.parameters_["k2"])
    for forecast, run, authors in zip(
        model.forecast(test), test, (0.002, 0.002, 0.002, 0.013), strict=True
    ):
        error = forecast.x[:201, :2] - run.states[:201, :2]
        assert np.sqrt(np.mean(error**2)) <= 1.5 * authors
