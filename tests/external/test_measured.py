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
