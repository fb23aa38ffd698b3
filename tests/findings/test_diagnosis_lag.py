"""Diagnosis of a velocity column that lags behind its position."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import orthoreg as og
from orthoreg.findings.diagnoses._data import lag, lags

t = np.linspace(0, 20, 1000)


def columns(late, noise=0.01, seed=0, factor=1.0):
    velocity = 2 * np.cos(2 * (t - late)) + 1.5 * np.cos(5 * (t - late))
    x = np.column_stack([np.sin(2 * t) + 0.3 * np.sin(5 * t), factor * velocity])
    x += noise * np.random.default_rng(seed).standard_normal(x.shape)
    return og.Dataset.from_arrays(x, t, names=["q", "v"])


@pytest.mark.parametrize("late", [0.05, 0.005, -0.02])
def test_the_lag_is_estimated(late):
    (found,) = lags(columns(late))
    assert (found.position, found.velocity) == ("q", "v")
    assert found.lag == pytest.approx(late, abs=4 * found.error)
    assert found.error < 0.1 * max(abs(late), 0.01)


@pytest.mark.parametrize("seed", range(5))
def test_columns_that_agree_are_left_alone(seed):
    assert lags(columns(0.0, seed=seed)) == []


def test_a_state_that_is_no_velocity_is_left_alone():
    assert lags(columns(0.05, factor=1.2)) == []
    x = np.column_stack([np.exp(-0.2 * t), np.sin(3 * t)])
    assert lags(og.Dataset.from_arrays(x, t)) == []


def test_the_advice_names_the_way_out():
    advice = lag(columns(0.05))
    assert advice is not None and advice.code == "lag"
    assert "v lags the derivative of q by 0.05" in advice.text
    assert "--positions q" in advice.text and "positions=['q']" in advice.text
    model = og.OrthoReg("poly(1)", og.Zero()).fit(columns(0.05))
    assert "lag" in [one.code for one in model.summary(columns(0.05)).advice]


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_an_equation_with_a_damping_term_is_no_lag(noise):
    def rate(t, s):
        return [-s[1] - s[2], s[0] + 0.22 * s[1], 0.25 + s[2] * (s[0] - 7.5)]

    times = 0.12 * np.arange(1000)
    start = [-5.5, -6.2, 0.02]
    found = solve_ivp(rate, times[[0, -1]], start, t_eval=times, rtol=1e-9, atol=1e-11)
    states = found.y.T
    states = states + noise * states.std(axis=0) * np.random.default_rng(0).standard_normal(
        states.shape
    )
    assert lags(og.Dataset.from_arrays(states, times, names=list("xyz"))) == []
