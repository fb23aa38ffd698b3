"""Runs with little noise whose derivatives are inaccurate."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import orthoreg as og


def switched_cart(rng, drag=0.45, gain=0.67):
    """A cart whose force changes every 20 rows, without noise."""
    t = np.arange(0, 20, 0.1)
    force = np.repeat(rng.uniform(-1, 1, 10), 20)
    x, v = [0.0], [rng.uniform(-1, 1)]
    for F in force[:-1]:  # exact: v relaxes to gain F / drag
        goal = gain * F / drag
        x.append(x[-1] + goal * 0.1 + (v[-1] - goal) * (1 - np.exp(-drag * 0.1)) / drag)
        v.append(goal + (v[-1] - goal) * np.exp(-drag * 0.1))
    return np.column_stack([x, v]), force, t


def test_a_switched_input_does_not_bias_the_constants_of_clean_runs():
    """Derivatives have two values where an input jumps."""
    rng = np.random.default_rng(3)
    runs = [switched_cart(rng) for _ in range(4)]
    data = og.Dataset.from_arrays(
        [states for states, _, _ in runs], runs[0][2], [force[:, None] for _, force, _ in runs],
        names=["x", "v"], input_names=["F"],
    )  # fmt: skip
    model = og.OrthoReg("poly(2)").fit(data)
    used = {
        (output, name): value
        for output, row in zip(model.output_names_, model.coefficients_, strict=True)
        for name, value in zip(model.feature_names_, row, strict=True)
        if value
    }
    expected = {("x", "v"): 1.0, ("v", "v"): -0.45, ("v", "F"): 0.67}
    assert used == pytest.approx(expected, rel=1e-4)
    assert model.summary(data).verdict.code == "explained"


def grown(start, t):
    found = solve_ivp(
        lambda _, x: -0.5 * x + 1.5 * x**2 - 0.6 * x**3, (0, t[-1]), [start], t_eval=t, rtol=1e-9
    )
    return found.y.T


def test_terms_may_cancel_where_a_system_rests_in_several_places():
    """Most rows are at an equilibrium, where large terms cancel."""
    rng = np.random.default_rng(5)
    t = np.arange(0, 20, 0.1)
    clean = [grown(start, t) for start in (0.1, 0.3, 0.35, 0.5, 0.6, 1.0, 2.5, 3.0)]
    spread = np.concatenate(clean).std()
    runs = [run + 0.05 * spread * rng.standard_normal(run.shape) for run in clean]
    data = og.Dataset.from_arrays(runs, t, names=["x"])
    model = og.OrthoReg("poly(4)").fit(data)
    found = dict(zip(model.feature_names_, model.coefficients_[0], strict=True))
    expected = {"x": -0.5, "x**2": 1.5, "x**3": -0.6}
    assert {name: value for name, value in found.items() if value} == pytest.approx(
        expected, rel=0.1
    )
    assert model.summary(data).verdict.code == "explained"


def test_constants_inside_terms_of_clean_runs_come_from_trajectories():
    """Errors of derivatives led to K = 0.1036 and a term that compensated for it."""

    def rate(_, z):
        a, b = z
        return [a * (1 - a) - 0.36 * a * b / (0.1 + a), 0.3 * (a - b)]

    times = np.linspace(0, 25, 250)
    starts = np.random.default_rng(4).uniform(0.2, 1.2, (4, 2))
    runs = [
        solve_ivp(rate, (0, 25), start, t_eval=times, rtol=1e-10, atol=1e-10).y.T
        for start in starts
    ]
    data = og.Dataset.from_arrays(runs, times, names=["a", "b"])
    model = og.OrthoReg("poly(2) + a*b/(K + a)").fit(data)
    used = [
        {n for n, on in zip(model.feature_names_, row, strict=True) if on} for row in model.support_
    ]
    assert used == [{"a", "a**2", "a*b/(a + K)"}, {"a", "b"}]
    assert model.parameters_["K"] == pytest.approx(0.1, rel=1e-5)
    assert model.summary(data).verdict.code == "explained"
