"""Values at the limit of a sensor are censored observations."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad, solve_ivp

import orthoreg as og
from orthoreg.findings.charts._forecast import as_forecasts, forecast_errors
from orthoreg.matching._censoring import censored, expected_noise, expected_square


def test_cost_curvature_and_residual_are_those_of_the_normal_distribution():
    a, h = np.linspace(-3.5, 8, 24), 1e-5
    cost, curvature, residual = censored(a)
    slope = (censored(a + h)[0] - censored(a - h)[0]) / (2 * h)
    assert_allclose(-slope, curvature * residual, rtol=1e-6, atol=1e-12)
    bend = censored(a + h)[1] * censored(a + h)[2] - censored(a - h)[1] * censored(a - h)[2]
    assert_allclose(-bend / (2 * h), curvature, rtol=1e-4, atol=1e-10)
    assert (np.diff(cost) < 0).all()


def test_far_states_cost_as_much_as_outliers_or_nothing():
    cost, curvature, residual = censored(np.array([-50.0, -10.0, 40.0, 1e6]))
    assert np.isfinite([cost, curvature, residual]).all()
    assert_allclose((cost[0] - cost[1]) / 40, (curvature * residual)[0])
    assert_allclose(cost[2:], 0, atol=1e-100)


@pytest.mark.parametrize("a", [-2.0, 0.0, 1.5])
def test_expected_noise_of_a_value_at_the_limit(a):
    def density(e):
        return np.exp(-(e**2) / 2)

    share = quad(density, -a, 30)[0]
    assert_allclose(
        expected_noise(np.array([a])), quad(lambda e: e * density(e), -a, 30)[0] / share
    )
    square = quad(lambda e: e**2 * density(e), -a, 30)[0] / share
    assert_allclose(expected_square(np.array([a])), square)


def van_der_pol(noise, low, high, seed=0, step=0.08):
    t = np.arange(0, 40, step)
    x = solve_ivp(
        lambda t, x: [x[1], (1 - x[0] ** 2) * x[1] - x[0]], (0, 40), [1, 0], t_eval=t, rtol=1e-9
    ).y.T  # fmt: skip
    y = x + noise * x.std(axis=0) * np.random.default_rng(seed).standard_normal(x.shape)
    y[:, 0] = np.clip(y[:, 0], np.quantile(x[:, 0], low), np.quantile(x[:, 0], high))
    return og.Dataset.from_arrays(y, t, names=["x", "v"]), x


@pytest.fixture(scope="module")
def fits():
    result = {}
    for name, low, high in (("all", 0, 1), ("upper", 0, 0.85), ("both", 0.1, 0.85)):
        data, x = van_der_pol(0.02, low, high)
        model = og.OrthoReg("poly(3)").fit(data)
        result[name] = model, data, x
    return result


@pytest.mark.parametrize("name", ["upper", "both"])
def test_a_fit_with_clipped_values_is_as_good_as_without(fits, name):
    model, data, _ = fits[name]
    assert (data.plan.clipped != 0).mean() > 0.07
    truth = {("x", "v"): 1, ("v", "x"): -1, ("v", "v"): 1, ("v", "x**2*v"): -1}
    names = list(model.feature_names_)
    chosen = {(data.state_names[c], names[k]) for c, k in np.argwhere(model.coefficients_).tolist()}
    assert chosen == set(truth)
    interval = model.refinement_.coefficient_intervals()
    complete = fits["all"][0].refinement_.coefficient_intervals()
    for (state, term), value in truth.items():
        c, k = data.state_names.index(state), names.index(term)
        width, usual = np.ptp(interval[c, k]), np.ptp(complete[c, k])
        assert usual < width < 1.5 * usual
        assert abs(model.coefficients_[c, k] - value) < 2 * width
    findings = model.summary(data)
    assert findings.verdict.code == "explained"
    assert findings.scores.forecast_error < 0.03


def test_noise_is_that_of_the_other_values(fits):
    _, data, x = fits["both"]
    assert_allclose(data.plan.noise, 0.02 * x.std(axis=0), rtol=0.35)
    assert_allclose(fits["both"][0].refinement_.noise, 0.02 * x.std(axis=0), rtol=0.1)
    windows = data.plan.half_widths(8)
    rows = og.Weak(widths=windows).observe(data)
    lost = np.flatnonzero(data.plan.is_lost)
    assert len(rows) > 0
    assert abs(rows.windows[:, lost]).sum() == 0


def test_smooth_curves_replace_the_values(fits):
    _, data, x = fits["upper"]
    lost = data.plan.clipped[:, 0] != 0
    error = (data.plan.smoothed - x)[lost, 0]
    assert np.sqrt(np.mean(error**2)) < 0.1 * x[:, 0].std()
    assert data.plan.continued.filled[:, 0].sum() == lost.sum()


def test_the_summary_names_the_values_and_their_treatment(fits):
    model, data, _ = fits["both"]
    notes = " ".join(model.summary(data).notes)
    for sign, words in ((1, "largest"), (-1, "smallest")):
        count = int((data.plan.clipped[:, 0] == sign).sum())
        assert f"x is at its {words} value" in notes and f"in {count} rows" in notes
    assert "sensor" not in " ".join(fits["all"][0].summary(fits["all"][1]).notes)


def test_charts_and_verdict_agree_on_the_error_of_a_forecast(fits):
    model, data, _ = fits["upper"]
    forecasts = model.forecast(data)
    scores = model.summary(data, forecasts=forecasts).scores
    by_run, _ = forecast_errors(data, as_forecasts(data, forecasts))
    assert by_run[0] == pytest.approx(scores.forecast_error, rel=0.3)


def test_equations_that_stay_below_the_limit_are_wrong():
    data, _ = van_der_pol(0.02, 0, 0.85)
    limit = data.plan.range_limits[1, 0]
    model = og.OrthoReg("poly(1)", og.Zero()).fit(data)
    forecast = model.simulate([0.1, 0.0], data.times)
    assert forecast.x[:, 0].max() < limit
    assert model.summary(data).verdict.code == "not-explained"


def test_subsets_and_chunks_use_the_limits_of_all_runs():
    data, _ = van_der_pol(0.01, 0, 0.85)
    first = data.only(np.arange(data.n_samples) < 40).with_plan_of(data)
    assert first.plan.range_limits[1, 0] == data.plan.range_limits[1, 0]
    assert (first.plan.clipped == data.plan.clipped[:40]).all()


def test_an_input_at_its_limit_is_used_as_it_is():
    rng, t = np.random.default_rng(0), np.arange(0, 40, 0.05)
    u = np.minimum(2 * np.sin(t) + np.sin(2.7 * t), 1.2)
    x = solve_ivp(
        lambda s, x: [-x[0] + np.interp(s, t, u)], (0, 40), [0], t_eval=t, max_step=0.02
    ).y.T
    x += 0.01 * x.std() * rng.standard_normal(x.shape)
    data = og.Dataset.from_arrays(x, t, u[:, None], names=["x"], input_names=["u"])
    model = og.OrthoReg("poly(2)").fit(data)
    notes = " ".join(model.summary(data).notes)
    assert f"u is at its largest value 1.2 in {int((u == 1.2).sum())} rows" in notes
    assert not data.plan.clipped.any()


def test_hidden_states_with_a_clipped_sensor():
    t = np.arange(0, 40, 0.1)
    x = solve_ivp(
        lambda t, x: [1.1 * x[0] - 0.4 * x[0] * x[1], 0.1 * x[0] * x[1] - 0.4 * x[1]], (0, 40),
        [10.0, 5.0], t_eval=t, rtol=1e-9,
    ).y.T  # fmt: skip
    y = x[:, :1] + 0.02 * x[:, 0].std() * np.random.default_rng(0).standard_normal((len(t), 1))
    limit = np.quantile(x[:, 0], 0.9)
    data = og.Dataset.from_arrays(np.minimum(y, limit), t, names=["prey"], hidden=["predators"])
    equations = {
        "prey": "a*prey - 0.4*prey*predators", "predators": "c*prey*predators - d*predators"
    }  # fmt: skip
    model = og.OrthoReg(physics=og.Physics(equations=equations)).fit(data)
    for name, value in {"a": 1.1, "c": 0.1, "d": 0.4}.items():
        low, high = model.parameter_intervals_[name]
        assert low < value < high
        assert high - low < 0.1 * value
    forecast = model.forecast(data)[0].x[:, 0]
    assert forecast.max() > 1.2 * limit
    assert np.sqrt(np.mean((forecast - x[:, 0]) ** 2)) < 0.05 * x[:, 0].std()
    assert model.summary(data).verdict.code == "explained"


def test_positions_with_a_clipped_sensor():
    t = np.arange(0, 30, 0.05)
    q = 2 * np.exp(-0.05 * t) * np.cos(1.4 * t)
    y = np.minimum(q + 0.01 * q.std() * np.random.default_rng(0).standard_normal(len(t)), 1.0)
    data = og.Dataset.from_positions(y, t, names=["q"])
    assert (data.plan.clipped[:, 0] != 0).sum() > 50
    model = og.OrthoReg("poly(3)").fit(data)
    text = model.equations(3)[-1]
    assert model.summary(data).verdict.code == "explained"
    names = list(model.feature_names_)
    found = {names[k]: v for k, v in enumerate(model.coefficients_[1]) if v}
    assert set(found) == {"q", "q_dot"}, text
    assert_allclose([found["q"], found["q_dot"]], [-(1.4**2 + 0.05**2), -0.1], rtol=0.02)
