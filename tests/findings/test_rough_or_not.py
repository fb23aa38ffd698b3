"""Trajectories decide whether an equation whose misfit exceeds the noise is rough or wrong."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import orthoreg as og
from orthoreg.matching import Misfit, _judgement, judge


def tank(levels, t, start):
    """Simulate h' = u - 0.5 sqrt(h), with an inflow u that is held at each row."""
    h = [start]
    for u, begin, end in zip(levels, t[:-1], t[1:], strict=False):
        found = solve_ivp(lambda _, h, u=u: u - 0.5 * np.sqrt(h), (begin, end), h[-1:], rtol=1e-9)
        h.append(found.y[0, -1])
    return np.array(h)


def test_a_small_misfit_beyond_noise_is_roughly_explained():
    """Derivatives are unknown where the inflow switches, but trajectories follow the
    data closely."""
    rng, t = np.random.default_rng(0), np.linspace(0, 40, 240)
    runs, inputs = [], []
    for start in (1.0, 2.0, 3.0):
        u = np.repeat(rng.uniform(0.4, 1.2, 40), 6)
        h = tank(u, t, start)
        runs.append((h + 0.003 * h.std() * rng.standard_normal(len(t)))[:, None])
        inputs.append(u[:, None])
    data = og.Dataset.from_arrays(runs, t, inputs, names=["h"], input_names=["u"])
    summary = og.OrthoReg("poly(2)").fit(data).summary(data)
    (one,) = summary.scores.equations
    assert one.exceeds_noise and one.trajectory_error < 0.01
    assert one.derivative_error > 0.3  # uninformative, because the inflow switches
    assert summary.verdict.code == "roughly-explained"


def test_equations_that_stand_still_explain_nothing():
    t = np.linspace(0, 20, 400)
    rng = np.random.default_rng(1)
    data = og.Dataset.from_arrays((np.sin(t) + 0.01 * rng.standard_normal(400))[:, None], t)
    assert og.OrthoReg().fit(data).summary(data).verdict.code == "not-explained"


def test_the_share_of_the_motion_is_at_most_one():
    still = Misfit(0.2, 0.05, 0.19, 0.01, 0.02, motion=0.0)
    assert still.share_of_motion == 1.0
    assert Misfit(0.2, 0.05, 0.1, 0.01, 0.02, motion=0.5).share_of_motion == 0.2
    assert Misfit(0.0, 0.0, 0.0, 0.0, 0.0, motion=0.0).share_of_motion == 0.0


def test_what_trajectories_leave_is_of_the_motion_where_noise_grows_too():
    """Weights affect whether the misfit counts as noise, but not its reported size."""
    rng, t = np.random.default_rng(3), np.linspace(0, 20, 21)
    clean = solve_ivp(
        lambda _, x: [x[0] * (0.55 - 0.028 * x[1]), x[1] * (0.026 * x[0] - 0.84)],
        (0, 20), [30, 4], t_eval=t, rtol=1e-10,
    ).y.T  # fmt: skip
    noise = 0.05 * clean.std(axis=0) * rng.standard_normal(clean.shape)
    data = og.Dataset.from_arrays(clean + noise, t)
    assert data.plan.growth.any()
    model = og.OrthoReg("poly(2)").fit(data)
    left = np.sqrt(np.mean((data.states - model.forecast(data)[0].x) ** 2, axis=0))
    share = left / data.states.std(axis=0)
    for one, expected in zip(model.summary(data).scores.equations, share, strict=True):
        assert one.trajectory_rows == 21
        assert one.trajectory_error == np.clip(one.trajectory_error, 0.7 * expected, 1.3 * expected)


@pytest.mark.slow
def test_trajectories_that_run_away_in_a_search_are_no_warning():
    """At ignition, a trajectory from a noisy start overflows."""
    rng, t = np.random.default_rng(1), np.arange(0, 12, 0.02)

    def reactor(_, x):
        rate = 7.2e10 * np.exp(-8750 / x[1]) * x[0]
        return [1 - x[0] - rate, 350 - x[1] + 209.2 * rate - 2.09 * (x[1] - 310)]

    runs = []
    for start in ([0.4, 345.0], [0.9, 355.0]):
        x = solve_ivp(reactor, (0, 12), start, "LSODA", t, rtol=1e-10, atol=1e-12).y.T
        runs.append(x + 0.005 * x.std(axis=0) * rng.standard_normal(x.shape))
    data = og.Dataset.from_arrays(runs, t, names=["c", "T"])
    physics = og.Physics(
        equations={
            "c": "1 - c - k*exp(-E/T)*c",
            "T": "350 - T + h*k*exp(-E/T)*c - w*(T - 310)",
        },
        values={"k": 7.2e10, "h": 209.2},
        bounds={"E": (8000, 9500)},
    )
    summary = og.OrthoReg(physics=physics).fit(data).summary(data)
    assert summary.verdict.code == "explained"
    assert not summary.advice


@pytest.mark.parametrize("all_fail", [False, True])
def test_a_failed_match_says_nothing_if_longer_segments_leave_noise(monkeypatch, all_fail):
    rng, t = np.random.default_rng(2), np.linspace(0, 20, 401)
    x = np.column_stack([np.cos(t), -np.sin(t)]) * np.exp(-0.05 * t)[:, None]
    data = og.Dataset.from_arrays(x + 0.01 * rng.standard_normal(x.shape), t)
    model = og.OrthoReg("poly(1)").fit(data)
    matched, lengths = _judgement._match, []

    def failing(problem, segments, *rest):
        found = matched(problem, segments, *rest)
        assert found is not None
        solution, sigma = found
        lengths.append(segments.length)
        if segments.length > lengths[0] and not all_fail:
            return solution, sigma
        lost = replace(solution.normal, states=solution.normal.states + 0.2)
        return solution._replace(normal=lost, converged=False), sigma

    monkeypatch.setattr(_judgement, "_match", failing)
    found = judge(model.field_, data, model.input_interpolation_)
    assert found.exceeds_noise is all_fail
    assert found.rows == (lengths[0] if all_fail else lengths[-1]) + 1


@pytest.fixture(scope="module")
def bursts():
    """Return the summary of a relaxation oscillator without noise, whose library lacks x**2*y."""
    t = np.linspace(0, 20, 1000)
    x = solve_ivp(
        lambda _, x: [x[1], 8 * (1 - x[0] ** 2) * x[1] - x[0]], (0, 20), [2.0, 0.0],
        t_eval=t, method="LSODA", rtol=1e-9, atol=1e-10,
    ).y.T  # fmt: skip
    data = og.Dataset.from_arrays(x, t, names=["x", "y"])
    return og.OrthoReg("poly(1)", og.Zero()).fit(data).summary(data)


def test_a_misfit_in_short_bursts_counts(bursts):
    """The state moves in bursts; between them, almost any equation is right."""
    assert bursts.verdict.code == "not-explained"
    assert bursts.scores.equations[1].trajectory_error > 0.2


def test_a_wrong_model_does_not_make_noise(bursts):
    assert bursts.scores.equations[1].trajectory_noise < 1e-4


def test_noise_that_is_correlated_may_be_the_reason():
    """Trajectories of correct equations do not follow correlated noise, and the misfit does not
    grow along runs."""
    rng, t = np.random.default_rng(0), np.linspace(0, 20, 300)
    runs = []
    for start in ([0.5, 0.3], [0.9, 0.2], [0.3, 0.6]):
        x = solve_ivp(
            lambda _, x: [x[0] * (1 - x[1]), x[1] * (x[0] - 1)], (0, 20), start,
            t_eval=t, rtol=1e-9,
        ).y.T  # fmt: skip
        noise = rng.standard_normal(x.shape)
        for before, now in zip(noise[:-1], noise[1:], strict=True):
            now *= np.sqrt(1 - 0.8**2)
            now += 0.8 * before
        runs.append(x + 0.02 * x.std(axis=0) * noise)
    data = og.Dataset.from_arrays(runs, t)
    summary = og.OrthoReg("poly(2)").fit(data).summary(data)
    selected = {(row.equation, row.term) for row in summary.terms if row.coefficient}
    assert selected == {("x0", "x0"), ("x0", "x0*x1"), ("x1", "x1"), ("x1", "x0*x1")}
    assert "only roughly, unless the noise is correlated" in summary.verdict.text


def test_a_misfit_that_grows_along_runs_is_no_noise(bursts):
    assert "unless" not in bursts.verdict.text
