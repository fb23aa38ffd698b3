"""Outliers are single rows. Fast motion, noise and responses to inputs are not outliers."""

from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from orthoreg.smoothing import find_outliers

t = np.sort(np.random.default_rng(3).uniform(0, 20, 400))
ONE_RUN = np.array([0, 400])


def outliers(*runs, **inputs) -> np.ndarray:
    return find_outliers(*runs, **inputs).is_outlier


@pytest.mark.parametrize("noise", [0.01, 0.05])
def test_wrong_rows_are_found_and_no_others(noise):
    rng = np.random.default_rng(0)
    x = np.column_stack([np.sin(t), np.cos(2 * t)]) + noise * rng.standard_normal((400, 2))
    wrong = np.zeros(x.shape, dtype=bool)
    wrong[[50, 51, 120, 300], 0] = wrong[77, 1] = True
    found = outliers(t, np.where(wrong, x + 3.0, x), ONE_RUN)
    assert_array_equal(found, wrong)


def test_what_is_fast_or_jumps_is_no_outlier():
    rng = np.random.default_rng(1)
    pulse = np.exp(-((np.linspace(0, 20, 400) - 7) ** 2) / 0.02)
    steps = np.sign(np.sin(np.linspace(0, 20, 400)))
    decay = np.exp(-np.linspace(0, 20, 400)) * (1 + 0.02 * rng.standard_normal(400))
    spikes = np.exp(-((np.linspace(0, 400, 400)[:, None] - [100, 250]) ** 2) / 8).sum(axis=1)
    x = np.column_stack([pulse, steps, pulse + 0.01 * rng.standard_normal(400), decay, spikes])
    assert not outliers(np.linspace(0, 20, 400), x, ONE_RUN).any()


def test_they_are_replaced_by_what_lies_between():
    x = (2 * t + 1)[:, None] + 1e-3 * np.random.default_rng(0).standard_normal((400, 1))
    spoilt = x.copy()
    spoilt[[30, 200]] -= 9.0
    assert_allclose(find_outliers(t, spoilt, ONE_RUN).repaired, x, atol=0.01)


def test_runs_do_not_see_each_other():
    x = np.concatenate([np.zeros(200), np.full(200, 5.0)])[:, None]
    x = x + 0.01 * np.random.default_rng(0).standard_normal((400, 1))
    times = np.tile(np.arange(200.0), 2)
    assert not outliers(times, x, np.array([0, 200, 400])).any()


def _solve(rates, start, until: float, rows: int):
    from scipy.integrate import solve_ivp

    times = np.linspace(0, until, rows)
    result = solve_ivp(rates, (0, until), start, "LSODA", times, rtol=1e-8, atol=1e-10)
    return times, result.y.T


def _hodgkin_huxley(_, x):
    v, m, h, n = x
    return [
        10 - 120 * m**3 * h * (v - 50) - 36 * n**4 * (v + 77) - 0.3 * (v + 54.4),
        0.1 * (v + 40) / (1 - np.exp(-(v + 40) / 10)) * (1 - m) - 4 * np.exp(-(v + 65) / 18) * m,
        0.07 * np.exp(-(v + 65) / 20) * (1 - h) - h / (1 + np.exp(-(v + 35) / 10)),
        0.01 * (v + 55) / (1 - np.exp(-(v + 55) / 10)) * (1 - n)
        - 0.125 * np.exp(-(v + 65) / 80) * n,
    ]


MOVING = {
    "neuron": (_hodgkin_huxley, [-64.9, 0.05, 0.6, 0.32], 300, 1000),
    "coarse neuron": (_hodgkin_huxley, [-64.9, 0.05, 0.6, 0.32], 300, 400),
    "relaxation": (lambda _, x: [x[1], 20 * (1 - x[0] ** 2) * x[1] - x[0]], [1, 0], 200, 1500),
    "excitable": (
        lambda _, x: [(x[0] - x[0] ** 3 / 3 - x[1] + 0.5) / 0.02, x[0] + 0.7 - 0.8 * x[1]],
        [0, 0], 40, 600,
    ),
    "bursts": (
        lambda _, x: [x[1] - x[0] ** 3 + 3 * x[0] ** 2 - x[2] + 3.2, 1 - 5 * x[0] ** 2 - x[1],
                      0.006 * (4 * (x[0] + 1.6) - x[2])],
        [0, 0, 3], 1000, 1000,
    ),
    "chaos of few samples": (  # Dadras
        lambda _, x: [x[1] - 3 * x[0] + 2.7 * x[1] * x[2], 1.7 * x[1] - x[0] * x[2] + x[2],
                      2 * x[0] * x[1] - 9 * x[2]],
        [1, 1, 1], 100, 900,
    ),
}  # fmt: skip


@cache
def _moving(system: str):
    return _solve(*MOVING[system])


@pytest.mark.parametrize("noise", [0, 0.01, 0.05])
@pytest.mark.parametrize("system", MOVING)
def test_spikes_and_jumps_of_a_system_are_motion(system, noise):
    times, x = _moving(system)
    x = x + noise * x.std(axis=0) * np.random.default_rng(2).standard_normal(x.shape)
    assert not outliers(times, x, np.array([0, len(x)])).any()


@pytest.mark.parametrize("resolution", [0.01, 0.05, 0.2])
def test_rounding_makes_no_outliers(resolution):
    times = np.linspace(0, 20, 1000)
    x = np.column_stack([np.sin(times), np.exp(-times / 5), 0.3 * np.sin(times)])
    noisy = x + 0.3 * resolution * np.random.default_rng(0).standard_normal(x.shape)
    for values in (x, noisy):
        assert not outliers(
            times, resolution * np.round(values / resolution), np.array([0, 1000])
        ).any()


def test_a_pulse_of_an_input_explains_the_value_at_it():
    """The voltage of a battery drops with the current. A sensor may fail at any time."""
    rng = np.random.default_rng(3)
    times, current = np.arange(1000.0), np.zeros(1000)
    for start in range(10, 990, 20):
        current[start : start + rng.integers(1, 4)] = rng.uniform(1, 5)
    voltage = 3.7 - np.cumsum(current) / 2000 - 0.05 * current + 1e-4 * rng.standard_normal(1000)
    voltage[[205, 706]] += 1.0
    found = outliers(times, voltage[:, None], np.array([0, 1000]), inputs=current[:, None])
    assert_array_equal(np.flatnonzero(found), [205, 706])


def test_a_state_that_moves_at_the_same_time_explains_a_spike():
    """Fuel burns within one sample: the temperature has a spike, and the fuel a step."""
    rng = np.random.default_rng(0)
    times = np.arange(600.0)
    fuel, heat = 1 + 0.1 * np.sin(times / 40), np.zeros(600)
    fuel[300:] -= 0.3
    heat[300] = 5.0
    x = np.column_stack([heat, fuel]) + 0.003 * rng.standard_normal((600, 2))
    assert not outliers(times, x, np.array([0, 600])).any()
    assert outliers(times, x[:, :1], np.array([0, 600])).sum() == 1


def test_all_sensors_may_fail_at_once():
    rng = np.random.default_rng(0)
    x = np.column_stack([np.sin(t), np.cos(t)]) + 0.01 * rng.standard_normal((400, 2))
    x[200] += 3.0
    found = outliers(t, x, ONE_RUN)
    assert found[200].all() and found.sum() == 2


@pytest.mark.parametrize("length", [1, 2])
@pytest.mark.parametrize("noise", [0, 0.01, 0.05])
def test_outliers_of_one_percent_are_found(noise, length):
    times, x = _solve(
        lambda _, x: [10 * (x[1] - x[0]), x[0] * (28 - x[2]) - x[1], x[0] * x[1] - 8 / 3 * x[2]],
        [1, 1, 20], 30, 3000,
    )  # fmt: skip
    rng, std = np.random.default_rng(0), x.std(axis=0)
    wrong = np.zeros(x.shape, dtype=bool)
    for _ in range(90 // length):
        row, column = rng.integers(5, 2990), rng.integers(3)
        wrong[row : row + length, column] = True
    size = rng.uniform(5, 20, x.shape) * std * rng.choice([-1, 1], (3000, 3))
    x = x + noise * std * rng.standard_normal(x.shape)
    found = outliers(times, np.where(wrong, x + size, x), np.array([0, 3000]))
    assert not (found & ~wrong).any()
    assert (found & wrong).sum() >= 0.95 * wrong.sum()


def test_a_value_of_any_size_is_replaced():
    x = np.sin(t)[:, None]
    spoilt = x.copy()
    spoilt[[100, 250]] = [[-9999.0], [1e30]]
    assert_allclose(find_outliers(t, spoilt, ONE_RUN).repaired, x, atol=1e-3)
