"""Outliers are single rows; fast motion and noise are none."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from orthoreg.smoothing import outliers, without_outliers

t = np.sort(np.random.default_rng(3).uniform(0, 20, 400))
ONE_RUN = np.array([0, 400])


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
    assert_allclose(without_outliers(t, spoilt, ONE_RUN), x, atol=0.01)


def test_runs_do_not_see_each_other():
    x = np.concatenate([np.zeros(200), np.full(200, 5.0)])[:, None]
    x = x + 0.01 * np.random.default_rng(0).standard_normal((400, 1))
    times = np.tile(np.arange(200.0), 2)
    assert not outliers(times, x, np.array([0, 200, 400])).any()
