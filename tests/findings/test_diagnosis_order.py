"""Diagnosis of second-order systems of which only positions are given."""

import re

import numpy as np
import pytest
from moving_systems import (
    COMPLETE,
    LIBRARY,
    complete,
    observed,
    pendulum,
    predators,
    runs_of,
    starts,
    swings,
)

import orthoreg as og
from orthoreg.findings.diagnoses import higher_order


def found(data, library=LIBRARY, above=1):
    """Advice on an order higher by `above`, and the states that it concerns."""
    seen, recipe = observed(data), og.OrthoReg(library, og.Zero()).recipe()
    unknown = higher_order(seen, recipe, range(data.n_states), seen.first_order())
    result = None if unknown is None else unknown.advice(above)
    return (None, []) if unknown is None or result is None else (result[1], [*unknown.equations])


@pytest.mark.parametrize("noise", [0.0, 0.01, 0.05])
def test_angles_without_velocities_are_of_second_order(noise):
    advice, states = found(swings(keep=[0], noise=noise))
    assert advice.code == "second-order" and states == [0]
    assert "theta' is not a function of the given columns" in advice.text
    assert "--positions theta on the command line, Dataset.from_positions" in advice.text


def test_one_run_that_comes_back_is_enough():
    data = runs_of(pendulum, [[1.5, 0.5]], 30, 500, ["theta", "omega"], keep=[0])
    assert found(data)[0] is not None


def test_irregular_times_do_not_matter():
    times = np.sort(np.random.default_rng(0).uniform(0, 40, 500))
    data = og.Dataset.from_arrays(np.cos(times)[:, None], times, names=["q"])
    assert found(data)[1] == [0]


def test_two_positions_of_coupled_oscillators_are_both_named():
    def slope(t, x):
        return [x[2], x[3], -2 * x[0] + x[1], x[0] - 3 * x[1]]

    data = runs_of(slope, starts(4, [-1] * 4, [1] * 4), 20, 300, ["p", "q", "v", "w"], keep=[0, 1])
    advice, states = found(data)
    assert states == [0, 1] and "p' and q' are not a function" in advice.text


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_a_state_whose_partner_is_hidden_is_of_second_order_too(noise):
    data = runs_of(
        predators, starts(4, [1, 1], [5, 3]), 20, 300, ["prey", "pred"], keep=[0], noise=noise
    )
    assert found(data)[1] == [0]


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_complete_states_are_not(noise):
    assert found(swings(noise=noise)) == (None, [])


def test_a_run_that_never_comes_back_says_nothing():
    times = np.linspace(0, 5, 200)
    data = og.Dataset.from_arrays(np.exp(-times)[:, None], times)
    assert found(data) == (None, [])


def test_an_unknown_input_is_not_mistaken_for_a_velocity():
    rng = np.random.default_rng(0)
    phases, speeds = rng.uniform(0, 6, 6), rng.uniform(0.7, 3, 6)

    def slope(t, x):
        push = np.sin(1.3 * speeds * t + phases) + 0.7 * np.sin(2.9 * speeds * t + 3 * phases)
        return [x[1], -4 * x[0] - 0.2 * x[1] + push]

    data = runs_of(slope, starts(6, [-1, -1], [1, 1]), 20, 300, ["x", "v"])
    assert found(data) == (None, [])


def chain(t, x):
    """Six masses between springs."""
    q, v = x[:6], x[6:]
    pull = np.pad(q, ((1, 1), (0, 0)))
    return [*v, *(pull[:-2] - 2 * q + pull[2:] - 0.05 * v)]


@pytest.mark.parametrize(("kept", "expected"), [(6, [0, 1, 2, 3, 4, 5]), (12, [])])
def test_many_positions_that_never_come_near_each_other(kept, expected):
    names = [f"{letter}{i}" for letter in "qv" for i in range(6)]
    begin = starts(5, [-1] * 12, [1] * 12)
    data = runs_of(chain, begin, 20, 300, names, keep=list(range(kept)))
    assert not observed(data).first_order().enough
    assert found(data, og.Polynomial(1))[1] == expected


def test_a_voltage_that_jumps_with_the_current_is_no_position():
    """The rates jump, so second order would lead to forecasts that explode."""
    rng = np.random.default_rng(0)
    runs, inputs, times = [], [], np.arange(600.0)
    for _ in range(3):
        current = np.repeat(rng.choice([0.0, 1.0, 2.0, -1.0], 60), 10)
        charge = 1 - np.cumsum(current) / 3000
        lagged = np.zeros(600)
        for k in range(599):
            lagged[k + 1] = lagged[k] + 0.05 * (0.03 * current[k] - lagged[k])
        runs.append((3.2 + 0.9 * charge - 0.05 * current - lagged)[:, None])
        inputs.append(current[:, None])
    data = og.Dataset.from_arrays(runs, [times] * 3, u=inputs, names=["V"], input_names=["i"])
    assert found(data) == (None, [])


def sprott(t, x):
    return [x[1], x[2], -2.017 * x[2] + x[1] ** 2 - x[0]]


JERK = [[-0.9, 0.0, 0.5]]


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_a_jerk_flow_is_of_third_order(noise):
    data = runs_of(sprott, JERK, 80, 1200, ["x", "v", "a"], keep=[0], noise=noise)
    assert found(data, og.Polynomial(2)) == (None, [])
    advice, states = found(data, og.Polynomial(2), above=2)
    assert advice.code == "missing-variable" and states == [0]
    assert "--positions x --order 3 on the command line" in advice.text
    assert "read_table(positions=['x'], order=3)" in advice.text
    after, before = re.search(
        r"off by (?:less than )?(\S+)% instead of (\S+)%", advice.text
    ).groups()
    assert float(after) < 10 and float(before) > 80


def test_the_order_of_positions_is_raised():
    def third(t, x):
        return [x[1], x[2], -0.3 * x[2] - 2 * x[1] - 0.4 * x[0]]

    begin = starts(5, [-1] * 3, [1] * 3)
    data = runs_of(third, begin, 20, 300, ["x", "v", "a"], keep=[0], noise=0.01)
    advice, states = found(data.with_velocities({"x": None}), og.Polynomial(1))
    assert states == [1] and advice.text.startswith("x'' is not a function")
    assert "--positions x --order 3" in advice.text


@pytest.mark.parametrize("above", [1, 2])
@pytest.mark.parametrize("kind", ["walk", "steps"])
def test_an_unmeasured_input_is_no_higher_order(above, kind):
    rng, rows = np.random.default_rng(3), 600
    values = np.cumsum(rng.standard_normal(rows)) / 5
    if kind == "steps":
        values = np.repeat(rng.standard_normal(rows // 20), 20)
    x = np.zeros(rows)
    for k in range(rows - 1):
        x[k + 1] = x[k] + 0.1 * (values[k] - x[k])
    data = og.Dataset.from_arrays(x[:, None], 0.1 * np.arange(rows), names=["x"])
    assert found(data, og.Polynomial(2), above) == (None, [])


@pytest.mark.parametrize("name", COMPLETE)
def test_complete_columns_need_no_higher_order(name):
    assert found(complete(name)) == (None, []) == found(complete(name), above=2)


def test_a_summary_says_what_does_not_help():
    rng, rows = np.random.default_rng(3), 600
    values = np.repeat(rng.standard_normal(rows // 20), 20)
    x = np.zeros(rows)
    for k in range(rows - 1):
        x[k + 1] = x[k] + 0.1 * (values[k] - x[k])
    data = og.Dataset.from_arrays(x[:, None], 0.1 * np.arange(rows), names=["x"])
    summary = og.OrthoReg("poly(2)", og.Zero()).fit(data).summary(data)
    texts = {advice.code: advice.text for advice in summary.advice}
    assert texts["missing-variable"].endswith(
        "Equations of order 2 and 3 in the measured states do not help."
    )
