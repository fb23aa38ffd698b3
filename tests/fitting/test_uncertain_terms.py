"""Few noisy rows: statements about terms that the data do not determine."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import orthoreg as og

t = np.linspace(0, 8, 40)


def noisy(rate, starts, noise, seed):
    rng = np.random.default_rng(seed)
    runs = [solve_ivp(rate, (0, 8), start, t_eval=t, rtol=1e-9).y.T for start in starts]
    std = np.concatenate(runs).std(axis=0)
    return [run + noise * std * rng.standard_normal(run.shape) for run in runs]


@pytest.fixture(scope="module")
def competing():
    def rate(_, z):
        x, y = z
        return [x - 0.5 * x**2 - 0.3 * x * y, 0.9 * y - 0.25 * x * y - 0.5 * y**2]

    starts = ([0.3, 1.2], [1.8, 0.4])
    states = noisy(rate, starts, 0.2, 0)
    return og.Dataset.from_arrays(states, t, names=["x", "y"])


@pytest.fixture(scope="module")
def ambiguous(competing):
    return og.OrthoReg("poly(3)").fit(competing)


def test_a_model_that_is_probably_wrong_is_not_called_correct(ambiguous, competing):
    summary = ambiguous.summary(competing)
    assert summary.verdict.code == "noise-limited"
    assert "other terms explain" in summary.verdict.text
    assert "few-rows" in [advice.code for advice in summary.advice]
    worst = min(score.terms_probability for score in summary.scores.equations)
    assert worst < 0.5


def test_a_file_keeps_the_probability_of_the_terms(ambiguous, competing, tmp_path):
    ambiguous.save(tmp_path / "model.ortho")
    loaded = og.load(tmp_path / "model.ortho")
    assert loaded.summary(competing).verdict == ambiguous.summary(competing).verdict


def test_more_data_decide():
    def rate(_, z):
        x, y = z
        return [x - 0.5 * x**2 - 0.3 * x * y, 0.9 * y - 0.25 * x * y - 0.5 * y**2]

    starts = np.random.default_rng(1).uniform(0.1, 3, (12, 2))
    data = og.Dataset.from_arrays(noisy(rate, starts, 0.02, 0), t, names=["x", "y"])
    model = og.OrthoReg("poly(3)").fit(data)
    assert model.summary(data).verdict.code == "explained"
    used = {
        name for name, row in zip(model.feature_names_, model.support_.T, strict=True) if row.any()
    }
    assert used == {"x", "y", "x**2", "x*y", "y**2"}


@pytest.mark.parametrize("seed", range(3))
def test_constants_in_terms_start_at_several_values(seed):
    """Derivatives of noisy data give a saturation constant that is far too large."""

    def rate(_, z):
        growth = 0.9 * z[0] * z[1] / (0.4 + z[1])
        return [growth - 0.35 * z[0], 1.7 - 0.35 * z[1] - 1.8 * growth]

    data = og.Dataset.from_arrays(
        noisy(rate, ([0.5, 0.5], [2.5, 3.0]), 0.1, seed), t, names=["X", "S"]
    )
    model = og.OrthoReg("poly(2) + X*S/(K + S)").fit(data)
    assert model.parameters_["K"] == pytest.approx(0.4, rel=0.5)


@pytest.mark.parametrize("library", ["poly(2)", "poly(3)"])
@pytest.mark.parametrize("seed", range(3))
def test_a_heater_in_a_room_measured_in_kelvin_is_certain(library, seed):
    """For a switch, u**2 equals u, and 1, T and T**2 are nearly dependent around 290 K."""
    rng = np.random.default_rng(seed)
    times, switch = np.arange(500) * 60.0, np.repeat(rng.integers(0, 2, 50), 10).astype(float)
    rate, state = 1 / 5400, [295.0]
    for u in switch[:-1]:
        rest = 283.15 + 15 * u
        state.append(rest + (state[-1] - rest) * np.exp(-60 * rate))
    T = np.array(state) + 0.005 * np.std(state) * rng.standard_normal(500)
    data = og.Dataset.from_arrays(
        T[:, None], times, u=switch[:, None], names=["T"], input_names=["u"]
    )
    model = og.OrthoReg(library).fit(data)
    summary = model.summary(data)
    assert summary.verdict.code == "explained"
    selected = {n for n, used in zip(model.feature_names_, model.support_[0], strict=True) if used}
    assert selected == {"1", "T", "u"}
    assert model.coefficients_[0, model.feature_names_.index("T")] == pytest.approx(-rate, rel=2e-3)
