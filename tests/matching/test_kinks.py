"""Equations with abs, sign and heaviside in hidden states: kinks are smoothed, and states cross
them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

import orthoreg as og
from orthoreg.terms import derivative, evaluate, kink_arguments, parse, to_text, without_kinks

x = np.linspace(-3, 3, 601)


def formula(text):
    return parse(text, ("x", "y"))


def value(item):
    return np.broadcast_to(evaluate(item, [x, 2 * x], np), x.shape)


def test_arguments_of_kinks_are_found_inside_other_functions():
    item = formula("sqrt(abs(x)) + x*sign(y - abs(x - 3)) + exp(x)")
    expected = {to_text(formula(text)) for text in ("x", "x - 3", "y - abs(x - 3)")}
    assert {to_text(kink) for kink in kink_arguments(item)} == expected
    assert not kink_arguments(formula("x**2 + sin(y)"))


@pytest.mark.parametrize("text", ["abs(x - 1)", "sign(x - 1)", "heaviside(x - 1)"])
def test_smooth_formulas_approach_those_with_kinks(text):
    exact, far = formula(text), np.abs(x - 1) > 0.3
    (kink,) = kink_arguments(exact)
    errors = [
        np.abs(value(without_kinks(exact, {kink: width})) - value(exact))[far].max()
        for width in (0.2, 0.02)
    ]
    assert errors[1] < 0.02 * errors[0] < 0.02
    assert without_kinks(exact, {}) == exact


def test_a_smooth_threshold_has_a_slope_on_both_sides():
    exact = formula("x - 1 + abs(x - 1)")
    smooth = without_kinks(exact, dict.fromkeys(kink_arguments(exact), 0.5))
    assert (value(derivative(smooth, 0)) > 1e-3).all()
    assert (value(derivative(exact, 0))[x < 0.99] == 0).all()
    slope = value(derivative(without_kinks(formula("sqrt(abs(x))"), {formula("x"): 0.1}), 0))
    assert np.isfinite(slope).all() and np.abs(slope).max() < 2
    assert_allclose(slope, -slope[::-1], atol=1e-12)


def overflowing_tanks(seed):
    """Return one run of the lower of two tanks with 1% noise; the upper one overflows at 8."""
    rng, t = np.random.default_rng(seed), 2.0 * np.arange(400)
    u = np.repeat(rng.uniform(0.6, 4.0, 16), 25)
    states, now = [], np.array([3.0, 3.0])
    for level in u:
        states.append(now)
        now = solve_ivp(
            lambda _, s, level=level: [
                0.22 * level - 0.2 * np.sqrt(s[0]) - 0.5 * max(s[0] - 8, 0),
                0.2 * np.sqrt(s[0]) - 0.22 * np.sqrt(s[1]),
            ],
            (0, 2), now, rtol=1e-8, atol=1e-8,
        ).y[:, -1]  # fmt: skip
    x = np.array(states)
    y = x[:, 1:] + 0.01 * x[:, 1].std() * rng.standard_normal((400, 1))
    data = og.Dataset.from_arrays(
        y, t, u[:, None], names=["y"], input_names=["u"], hidden=["h"]
    )  # fmt: skip
    return data, x


@pytest.mark.slow
def test_a_hidden_tank_overflows():
    data, x = overflowing_tanks(0)
    assert (x[:, 0] > 8).mean() > 0.1
    physics = og.Physics(
        equations={
            "h": "b*u - a*sqrt(abs(h)) - c*(h - 8 + abs(h - 8))",
            "y": "a*sqrt(abs(h)) - d*sqrt(abs(y))",
        },
        start={"h": (0.1, 8)},
    )
    model = og.OrthoReg(physics=physics).fit(data)
    assert model.summary(data).verdict.code == "explained"
    for name, truth in {"a": 0.2, "b": 0.22, "d": 0.22, "c": 0.25}.items():
        low, high = model.parameter_intervals_[name]
        assert low - 0.05 * truth < truth < high + 0.05 * truth
    hidden = model.forecast(data)[0].x[:, model.state_names_.index("h")]
    assert np.sqrt(np.mean((hidden - x[:, 0]) ** 2)) < 0.05 * x[:, 0].std()


def test_no_statement_on_identifiability_at_a_wrong_minimum():
    """Without the predation term, the misfit of the equations is far above the noise."""
    t = np.arange(0, 40, 0.2)
    states = solve_ivp(
        lambda t, x: [1.1 * x[0] - 0.4 * x[0] * x[1], 0.1 * x[0] * x[1] - 0.4 * x[1]], (0, 40),
        [10.0, 5.0], t_eval=t, rtol=1e-9,
    ).y.T  # fmt: skip
    y = states[:, :1] + 0.01 * np.random.default_rng(0).standard_normal((len(t), 1))
    data = og.Dataset.from_arrays(y, t, names=["prey"], hidden=["predators"])
    equations = {"prey": "a*prey - k*predators", "predators": "c*predators"}
    model = og.OrthoReg(physics=og.Physics(equations=equations)).fit(data)
    assert model.summary(data).verdict.code == "not-explained"
    assert model.undetermined_ is None
