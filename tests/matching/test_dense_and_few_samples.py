"""Terms that only long segments show, for dense samples and for few samples."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import orthoreg as og


def trajectory(rate, start, times):
    found = solve_ivp(rate, times[[0, -1]], start, t_eval=times, rtol=1e-9, atol=1e-11)
    return found.y.T


def test_weak_damping_is_identified_from_dense_samples():
    rng = np.random.default_rng(1)
    times = 1e-3 * np.arange(6000)  # 3,100 rows per period
    runs = [
        trajectory(lambda t, s: [s[1], -4 * s[0] - 0.3 * s[1]], start, times)[:, :1]
        for start in ([1.0, 0.0], [-0.5, 1.2])
    ]
    noisy = [run + 0.01 * rng.standard_normal(run.shape) for run in runs]
    data = og.Dataset.from_positions(noisy, times, names=["x"])
    assert data.plan.oversampling > 10
    model = og.OrthoReg("poly(2)").fit(data)
    found = dict(zip(model.feature_names_, model.coefficients_[1], strict=True))
    assert {name for name, value in found.items() if value} == {"x", "x_dot"}
    assert found["x"] == pytest.approx(-4, rel=0.01)
    assert found["x_dot"] == pytest.approx(-0.3, rel=0.05)


def test_usual_samples_are_not_dense():
    times = np.linspace(0, 20, 301)
    states = np.column_stack([np.sin(3 * times), np.cos(3 * times)])
    assert og.Dataset.from_arrays(states, times).plan.oversampling == 1


@pytest.mark.parametrize("seed", [300, 301])
def test_rivals_on_short_segments_are_tried_on_longer_ones(seed):
    def rate(t, s):
        return [0.9 * s[0] - 0.03 * s[0] * s[1], -0.7 * s[1] + 0.02 * s[0] * s[1]]

    times = 0.25 * np.arange(60)
    counts = trajectory(rate, [30.0, 20.0], times)
    rng = np.random.default_rng(seed)
    counts = np.round(counts * np.exp(0.05 * rng.standard_normal(counts.shape)))
    model = og.OrthoReg().fit(og.Dataset.from_arrays(counts, times, names=["hares", "foxes"]))
    names = np.array(model.feature_names_)
    assert [set(names[row]) for row in model.support_] == [
        {"hares", "hares*foxes"}, {"foxes", "hares*foxes"},
    ]  # fmt: skip
