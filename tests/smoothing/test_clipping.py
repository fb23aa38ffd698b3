"""Limits of a sensor's range are detected. Rest, stops, peaks and rounding are not limits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from orthoreg.smoothing import bridged, find_range_limits

ROWS = 1000
t = np.linspace(0, 60, ROWS)
ONE_RUN = np.array([0, ROWS])
SIGNALS = {
    "sine": np.sin(t),
    "two sines": np.sin(t) + 0.5 * np.sin(2.3 * t),
    "damped": np.exp(-0.05 * t) * np.cos(2 * t),
    "logistic": 1 / (1 + np.exp(-(t - 20) / 3)),
    "step response": 1 - np.exp(-np.maximum(t - 20, 0)),
    "decay": np.exp(-t / 5),
}


def limits_of(x):
    return find_range_limits(t, np.asarray(x, float)[:, None], ONE_RUN)[:, 0]


def rounded(x, bits):
    step = 1.3 * np.ptp(x) / 2**bits
    return np.round(x / step) * step


@pytest.mark.parametrize("noise", [0.0, 0.01, 0.05])
@pytest.mark.parametrize("share", [0.1, 0.3])
@pytest.mark.parametrize("name", ["sine", "two sines", "damped"])
def test_limits_are_found(name, share, noise):
    rng = np.random.default_rng(0)
    x = SIGNALS[name] + noise * SIGNALS[name].std() * rng.standard_normal(ROWS)
    high = np.quantile(SIGNALS[name], 1 - share)
    low, found = limits_of(np.minimum(x, high))
    assert found == high and low == -np.inf
    assert_array_equal(limits_of(-np.minimum(x, high)), [-high, np.inf])


def test_both_limits_of_a_rounded_column_are_found():
    x = np.clip(SIGNALS["sine"] + 0.01 * np.random.default_rng(0).standard_normal(ROWS), -0.8, 0.7)
    step = 2 / 2**10
    assert_allclose(limits_of(np.round(x / step) * step), [-0.8, 0.7], atol=step)


@pytest.mark.parametrize("noise", [0.0, 0.003, 0.02])
@pytest.mark.parametrize("name", SIGNALS)
def test_peaks_and_rest_are_no_limits(name, noise):
    x = SIGNALS[name] + noise * SIGNALS[name].std() * np.random.default_rng(0).standard_normal(ROWS)
    for values in (x, *(rounded(x, bits) for bits in (6, 8, 10, 12))):
        assert not np.isfinite(limits_of(values)).any()


def test_counts_and_values_near_zero_are_no_limits():
    rng = np.random.default_rng(0)
    wave, decay = 1 + np.sin(t), np.exp(-t / 5)
    for x in (wave, decay):
        for size in (3, 50, 1000):
            assert not np.isfinite(limits_of(rng.poisson(size * x))).any()
    assert not np.isfinite(
        limits_of(np.round(decay * np.exp(0.1 * rng.standard_normal(ROWS)), 2))
    ).any()


def stopped():
    """Return the position of a forced mass between elastic forces and a stop at 1."""
    q, v, h, result = 0.0, 0.0, (t[1] - t[0]) / 20, []
    for time in t:
        result.append(q)
        for k in range(20):
            v += h * (2 * np.sin(time + k * h) - 0.5 * q - 0.1 * v)
            q += h * v
            if q > 1.0:
                q, v = 1.0, min(v, 0.0)
    return np.array(result)


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_a_mechanical_stop_is_no_limit_of_the_sensor(noise):
    x = stopped()
    assert (x == 1.0).sum() > 20
    x = x + noise * np.random.default_rng(0).standard_normal(ROWS)
    assert not np.isfinite(limits_of(x)).any()


def test_a_held_or_switched_column_has_no_limits():
    rng = np.random.default_rng(0)
    held = np.repeat(SIGNALS["sine"][::5] + 0.01 * rng.standard_normal(200), 5)
    assert not np.isfinite(limits_of(held)).any()
    assert not np.isfinite(limits_of(np.repeat(rng.integers(0, 3, 40), 25))).any()
    assert not np.isfinite(limits_of(np.ones(ROWS))).any()


def test_irregular_times_and_runs():
    rng = np.random.default_rng(1)
    times = np.sort(rng.uniform(0, 60, ROWS))
    x = np.minimum(np.sin(times) + 0.01 * rng.standard_normal(ROWS), 0.8)
    assert find_range_limits(times, x[:, None], ONE_RUN)[1, 0] == 0.8
    runs = np.array([0, 300, 650, ROWS])
    assert find_range_limits(times, x[:, None], runs)[1, 0] == 0.8


def test_curves_continue_the_motion_beyond_a_limit():
    x = np.sin(t)[:, None]
    clipped = (x > 0.9).astype(np.int8) - (x < -0.9)
    values = bridged(t, np.clip(x, -0.9, 0.9), ONE_RUN, clipped, 5)
    inside = slice(100, 900)
    assert np.abs(values - x)[inside].max() < 0.03
    assert (np.abs(values[clipped != 0]) >= 0.9).all()
    assert_array_equal(values[clipped == 0], x[clipped == 0])
