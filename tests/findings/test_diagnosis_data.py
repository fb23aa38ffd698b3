"""Diagnosis of too few rows and of noise."""

import warnings

import numpy as np
import pytest
from moving_systems import COMPLETE, complete, observed, pendulum, runs_of, starts, swings

import orthoreg as og
from orthoreg.data import rows_per_period
from orthoreg.findings._motion import motion_of, stretches
from orthoreg.findings.diagnoses import few_rows, noise
from orthoreg.smoothing import estimate_noise


def of_noise(data):
    seen = observed(data)
    size = np.sqrt(seen.size)
    motion = seen.motion
    return noise(data.state_names, motion.noise_level, np.sqrt(motion.slope_noise) / size)


def test_five_rows_are_few():
    data = runs_of(pendulum, [[1.0, 0.0]], 2, 5, ["theta", "omega"])
    advice = few_rows(data, 10)
    assert advice.code == "few-rows"
    assert "5 rows are few for 10 candidate terms" in advice.text and "at least 50" in advice.text
    assert "Runs" not in advice.text and "runs of 5 rows" in advice.text


@pytest.mark.parametrize(("rows", "said"), [(49, True), (50, False)])
def test_rows_are_counted_against_terms(rows, said):
    data = og.Dataset.from_arrays(np.random.default_rng(0).normal(size=(rows, 2)), 0.1)
    assert (few_rows(data, 10) is not None) is said


@pytest.mark.parametrize(("rows", "said"), [(25, True), (60, False)])
def test_few_samples_a_period_are_noticed(rows, said):
    data = runs_of(pendulum, starts(4, [-2, -1], [2, 1]), 30, rows, ["theta", "omega"])
    advice = few_rows(data, 2, rows_per_period(data))
    assert (advice is not None and "rows per period" in advice.text.lower()) is said


def test_short_runs_are_noticed():
    times = np.linspace(0, 1, 3)
    data = og.Dataset.from_arrays([np.cos(times + a)[:, None] for a in range(200)], times)
    assert "Runs of 3 rows" in few_rows(data, 5).text


@pytest.mark.parametrize("name", COMPLETE)
def test_well_sampled_clean_systems_need_nothing(name):
    data = complete(name)
    assert few_rows(data, 10, rows_per_period(data)) is None
    assert of_noise(data) is None


@pytest.mark.parametrize("level", [0.05, 0.1])
def test_noise_is_told_in_percent(level):
    advice = of_noise(swings(noise=level))
    assert advice.code == "noise" and "theta (" in advice.text and "omega (" in advice.text
    assert "repeat runs and average" in advice.text and "runs" in advice.text


def test_a_little_noise_is_no_matter():
    assert of_noise(swings(noise=0.005)) is None


@pytest.mark.parametrize("level", [0.001, 0.01, 0.1])
@pytest.mark.parametrize("irregular", [False, True])
def test_the_noise_level_is_that_of_the_noise(level, irregular):
    rng = np.random.default_rng(0)
    times = np.sort(rng.uniform(0, 20, 600)) if irregular else np.linspace(0, 20, 600)
    clean = np.column_stack([np.cos(times), 100 * np.sin(times)])
    spread = clean.std(axis=0)
    data = og.Dataset.from_arrays(clean + level * spread * rng.standard_normal(clean.shape), times)
    found, is_white = estimate_noise(data.times, data.states, data.offsets)
    np.testing.assert_allclose(found, level * spread, rtol=0.15)
    assert is_white.all()


def test_coarse_sampling_is_not_taken_for_noise():
    times = np.linspace(0, 30, 40)
    _, is_white = estimate_noise(times, np.cos(times)[:, None], np.array([0, len(times)]))
    assert not is_white.any()


def test_the_period_is_counted_in_rows():
    times = np.linspace(0, 20 * np.pi, 500)
    noisy = 0.05 * np.random.default_rng(0).standard_normal(500)
    columns = np.column_stack([np.cos(times), np.cos(2 * times) + noisy, np.exp(-times)])
    periods = rows_per_period(og.Dataset.from_arrays(columns, times))
    np.testing.assert_allclose(periods[:2], [50, 25], rtol=0.1)
    assert periods[2] == np.inf


@pytest.mark.parametrize(("runs", "rows"), [(1, 50_000), (3, 9_000), (5_000, 10), (40, 500)])
def test_large_data_are_cut_to_whole_stretches(runs, rows):
    times = np.arange(rows) * 0.1
    x = np.arange(runs)[:, None] + times
    data = og.Dataset.from_arrays(list(x[:, :, None]), times)
    some, origin = stretches(data, 4000)
    assert 1000 <= some.n_samples <= 4000 and len(origin) == some.n_runs
    np.testing.assert_allclose(np.diff(some.times)[np.diff(some.run_of_row) == 0], 0.1)
    assert len(set(some.labels)) == origin.max() + 1 == min(runs, len(set(some.labels)))
    if runs == 1:  # rows from the whole run
        assert some.times.min() == 0 and some.times.max() == times[-1]


def test_runs_that_are_too_short_have_no_motion():
    data = og.Dataset.from_arrays([np.ones((3, 1)) * [[1], [2], [4]]], 0.1)
    assert motion_of(data, og.Automatic()) is None


def test_given_derivatives_are_taken_as_they_are():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (400, 2))  # rows in random order
    data = og.Dataset.from_arrays(x, 0.1, derivatives=-x)
    motion = motion_of(data, og.Automatic())
    assert np.array_equal(motion.slopes, -x)
    assert not motion.noise_level.any() and not motion.slope_noise.any()


def test_values_of_a_map_are_not_called_noisy():
    x = [0.3]
    for _ in range(499):
        x.append(3.9 * x[-1] * (1 - x[-1]))
    data = og.Dataset.from_arrays(np.array(x)[:, None], np.arange(500.0), names=["x"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        summary = og.OrthoReg("poly(2)", og.Zero()).fit(data).summary(data)
    texts = " ".join(item.text for item in summary.advice)
    assert "The noise in" not in texts and summary.advice[0].code == "discrete"
