"""Noise, outliers, smoothing and windows are decided once, and the same for all rows or a part."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import orthoreg as og
from orthoreg.data import Plan, chunked, concatenate
from orthoreg.data import _plan as planning

DECISIONS = (
    "estimate_noise",
    "find_outliers",
    "best_smoother",
    "estimate_noise_growth",
    "best_half_widths",
)


def runs(count=4, rows=200, noise=0.02, positions=False) -> og.Dataset:
    """Noisy oscillations with different starts."""
    rng, t = np.random.default_rng(0), np.linspace(0, 12, rows)
    phase = rng.uniform(0, 6, count)
    x = [np.column_stack([np.sin(t + p), np.cos(t + p)]) for p in phase]
    x = [one + noise * rng.standard_normal(one.shape) for one in x]
    if positions:
        return og.Dataset.from_positions([one[:, :1] for one in x], t, names=["x"])
    return og.Dataset.from_arrays(x, t, names=["x", "v"])


@pytest.fixture
def calls(monkeypatch):
    """Counts how often each decision is made."""
    counts = dict.fromkeys(DECISIONS, 0)

    def counted(name, function):
        def call(*arguments, **options):
            counts[name] += 1
            return function(*arguments, **options)

        return call

    for name in DECISIONS:
        monkeypatch.setattr(planning, name, counted(name, getattr(planning, name)))
    return counts


def test_a_fit_with_summary_and_forecasts_decides_once(calls):
    data = runs()
    model = og.OrthoReg("poly(1)", og.Zero()).fit(data)
    assert isinstance(model.loss_, og.Weak)
    assert model.summary(data).verdict.code == "explained"
    model.forecast(data)
    assert calls == dict.fromkeys(DECISIONS, 1)


def test_a_search_for_formulas_decides_once(calls):
    og.discover(runs(2, 120), "poly(1)", tried=2, minutes=1)
    assert calls == dict.fromkeys(DECISIONS, 1)


def test_clean_runs_are_not_smoothed(calls):
    """Windows, outliers and smoothing are computed only for noisy runs."""
    og.OrthoReg("poly(1)", og.Zero()).fit(runs(noise=0.0))
    assert calls == {**dict.fromkeys(DECISIONS, 0), "estimate_noise": 1}


@pytest.mark.parametrize("positions", [False, True])
def test_the_plan_does_not_depend_on_the_order_of_runs_and_columns(positions):
    data = runs(positions=positions)
    order = [2, 0, 3, 1]
    other = data[order]
    if not positions:
        x = [run.states[:, ::-1] for run in other]
        other = og.Dataset.from_arrays(x, data[0].times, names=["v", "x"])
    columns = [other.state_names.index(name) for name in data.state_names]
    one, two = data.plan, other.plan
    assert one.is_noisy == two.is_noisy
    assert_allclose(two.noise[columns], one.noise, rtol=1e-9)
    assert_array_equal(two.is_noise[columns], one.is_noise)
    assert_array_equal(two.smoother.window[columns], one.smoother.window)
    assert_allclose(two.smoother.noise[columns], one.smoother.noise, rtol=1e-9)
    assert_allclose(two.growth[columns], one.growth)
    assert one.polynomial == two.polynomial and one.half_widths(8) == two.half_widths(8)
    smoothed = concatenate(list(data[order])).plan.smoothed
    assert_allclose(two.smoothed[:, columns], smoothed, rtol=1e-9, atol=1e-12)


def test_the_plan_of_chunks_is_that_of_runs_in_memory(monkeypatch):
    monkeypatch.setattr("orthoreg.data._limits.SUBSAMPLE_ROWS", 900)
    data = runs(40, 60)
    parts = chunked(data, 500)
    assert data.sample.n_samples < data.n_samples
    one, two = data.plan, parts.plan
    assert_array_equal(parts.sample.states, data.sample.states)
    assert_array_equal(two.noise, one.noise)
    assert_array_equal(two.smoother.window, one.smoother.window)
    assert_array_equal(two.smoother.noise, one.smoother.noise)
    assert_array_equal(two.growth, one.growth)
    assert_array_equal(two.outliers.columns, one.outliers.columns)
    assert two.is_noisy == one.is_noisy and two.half_widths(8) == one.half_widths(8)
    smoothed = [chunk.with_plan_of(parts.sample).plan.smoothed for chunk in parts.chunks()]
    assert_allclose(np.concatenate(smoothed), one.smoothed, rtol=1e-12, atol=1e-12)


def test_a_part_of_the_runs_is_treated_as_all_are(calls):
    data = runs(12, 100)
    part, cut = data.subsample_rows(250), data.subsample_rows(50)
    assert part.n_samples == 200 and cut.n_samples == 50
    for some in (part, cut):
        assert some.plan.is_noisy and some.plan.polynomial == data.plan.polynomial
        assert some.plan.noise is data.plan.noise and some.plan.smoother is data.plan.smoother
    assert_array_equal(part.states[:100], data[3].states)
    assert_allclose(part.plan.smoothed[:100], data.plan.smoothed[300:400], atol=1e-12)
    assert calls["estimate_noise"] == calls["best_smoother"] == 1


def test_a_sample_of_runs_prefers_neither_the_nearest_nor_the_farthest():
    """Runs are sorted by their distance from the mean before samples are drawn."""
    data = runs(30, 20)
    assert len(set(data.subsample(5 * 20).offsets)) == 6
    assert [data[i].states[0, 0] for i in (3, 9, 15, 21, 27)] == [
        run.states[0, 0] for run in data.subsample(5 * 20)
    ]


def test_runs_that_somebody_chose_have_a_plan_of_their_own():
    """Test runs do not influence the plan of training runs."""
    data = runs(4)
    alone = og.Dataset.from_arrays([run.states for run in data[:2]], data[0].times)
    assert_array_equal(data[:2].plan.noise, alone.plan.noise)
    assert data[:2].plan.parent is None


def test_a_run_without_outliers_has_none_to_search_for(calls):
    data = runs(1)
    states = np.array(data.states)
    states[70, 0] += 3.0
    spoilt = og.Dataset.from_arrays(states, data.times)
    clean = spoilt.plan.clean
    assert_array_equal(np.argwhere(spoilt.plan.outliers.is_outlier), [[70, 0]])
    assert_allclose(clean.states[70], data.states[70], atol=0.1)
    assert clean.plan.clean is clean and clean.plan.noise is spoilt.plan.noise
    assert_array_equal(clean.plan.smoothed, spoilt.plan.smoothed)
    assert calls["find_outliers"] == 1


def test_runs_are_sent_without_their_plan():
    data = runs(1)
    assert isinstance(data.plan, Plan) and data.plan.smoothed.shape == data.states.shape
    sent = pickle.loads(pickle.dumps(data))
    assert "plan" not in vars(sent) and "sample" not in vars(sent)
    assert_array_equal(sent.states, data.states)


def test_the_noise_of_a_part_grows_as_that_of_all_runs_does():
    """The noise is proportional to the state, so runs with small states have less noise."""
    rng, t = np.random.default_rng(0), np.linspace(0, 30, 600)
    x = [a * (2 + np.column_stack([np.sin(t), np.cos(t)])) for a in (1.0, 0.1, 1.0, 0.1)]
    data = og.Dataset.from_arrays(
        [one * (1 + 0.05 * rng.standard_normal(one.shape)) for one in x], t
    )
    small = data[1].with_plan_of(data)
    assert (data.plan.growth > 0.9).all()
    assert_array_equal(small.plan.relative_variance, data.plan.relative_variance[600:1200])
    share = np.sqrt(small.plan.variance.mean(axis=0)) / np.sqrt(np.mean(x[1] ** 2, axis=0))
    assert_allclose(share, 0.05, rtol=0.3)
