"""Suggested experiments: when there is one, what it decides, and that its command runs."""

import shlex
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

import orthoreg as og
from orthoreg import InputError
from orthoreg.cli import run
from orthoreg.design import spread_points
from orthoreg.findings import Findings
from orthoreg.model.measuring import _starts
from orthoreg.model.rivals import _imitation, open_rivals


def swings(size, noise=0.01, count=3):
    """Return noisy runs of a pendulum that swings about this far."""
    t, runs = 0.05 * np.arange(120), []
    for seed in range(count):
        rng = np.random.default_rng(seed)
        x = solve_ivp(
            lambda t, x: [x[1], -4 * np.sin(x[0]) - 0.2 * x[1]], (0, t[-1]),
            [size * rng.uniform(0.8, 1.0), 0.0], t_eval=t, rtol=1e-9,
        ).y.T  # fmt: skip
        runs.append(x + noise * size * rng.standard_normal(x.shape))
    return og.Dataset.from_arrays(runs, t, names=["theta", "omega"])


@pytest.fixture(scope="module")
def small():
    data = swings(0.3)
    return og.OrthoReg(augmentation=og.Zero()).fit(data), data


def advice_of(findings):
    return [item.text for item in findings.advice if item.code == "next-experiment"]


def test_small_swings_suggest_runs_that_tell_an_angle_from_its_sine(small):
    model, data = small
    findings = model.summary(data)
    (text,) = advice_of(findings)
    planned = findings.next_runs
    assert planned.rivals == ("sin(theta) instead of theta in omega'",)
    assert planned.separation > 3 and f"{planned.separation:.2g} standard deviations" in text
    assert planned.command in text and planned.runs[0].text[1:30] in text
    assert "also hold outside the training data" in planned.assumption
    assert len(planned.runs) == 2 and len(planned.runs[0].curves) == len(planned.names) == 2
    assert np.abs(planned.runs[0].curves[0]).max() > 1.2 * planned.ranges[0][1]
    assert Findings.from_dict(findings.to_dict()) == findings


def test_nothing_is_suggested_if_nothing_is_open():
    data = swings(2.5, noise=0.005)
    findings = og.OrthoReg(augmentation=og.Zero()).fit(data).summary(data)
    assert findings.verdict.code == "explained"
    assert findings.next_runs is None and not advice_of(findings)


def test_a_wide_interval_suggests_runs_that_narrow_it():
    data = swings(0.5, noise=0.05, count=1)
    known = {"theta": "omega", "omega": "-k*sin(theta) - c*omega - d*omega*abs(omega)"}
    model = og.OrthoReg(augmentation=og.Zero(), physics=og.Physics(equations=known)).fit(data)
    planned = model.summary(data).next_runs
    assert "The interval of d includes zero" in planned.reason and planned.separation is None
    widths = dict(planned.widths)
    assert set(widths) == {"k", "c", "d"} and 0 < widths["d"] < 0.6
    assert f"{100 * widths['d']:.0f}% of its width" in planned.reason


def test_the_suggested_command_runs(small, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model, data = small
    model.save("my model.orthoreg")
    findings = model.summary(data).with_model("my model.orthoreg")
    words = shlex.split(findings.next_runs.command)
    assert words[:3] == ["orthoreg", "design", "my model.orthoreg"]
    assert findings.next_runs.command in advice_of(findings)[0]
    assert run(words[1:]) == 0
    assert "(sin(theta) instead of theta in omega')" in capsys.readouterr().out
    assert (tmp_path / "next.csv").exists()


def test_the_report_draws_the_runs(small, tmp_path):
    model, data = small
    page = og.report(model, tmp_path / "r.html", data=data).read_text()
    assert '<section id="next"' in page and page.count('class="course"') == 2
    model.save(tmp_path / "m.orthoreg")
    assert og.load(tmp_path / "m.orthoreg").summary().next_runs is not None
    certain = replace(model.summary(data), next_runs=None)
    other = og.report(model, tmp_path / "r.html", data=data, summary=certain).read_text()
    assert '<section id="next"' not in other


def test_a_rival_imitates_the_model_in_the_training_range(small):
    model, _ = small
    (rival,) = open_rivals(model, np.zeros((2, 0)))
    points = spread_points(*model.state_range_, 50)
    near = np.abs(rival.model.predict(points) - model.predict(points)).max(axis=0)
    assert near[0] == 0 and 0 < near[1] < 0.01 * np.abs(model.predict(points)[:, 1]).max()
    far = 8 * points
    assert np.abs(rival.model.predict(far) - model.predict(far))[:, 1].max() > 1
    before, after = model.fit_.estimates, rival.model.fit_.estimates
    c, k = 1, model.feature_names_.index("theta")
    i, j = before.places.index((c, k)), len(after.places) - 1
    share = after.values[j] / before.values[i]  # sin(theta) is a little smaller than theta
    assert 1 < share < 1.05
    assert after.covariance[j, j] == pytest.approx(share**2 * before.covariance[i, i])


def test_the_same_terms_imitate_themselves(small):
    model, _ = small
    points = spread_points(*model.state_range_, 50)
    k = model.feature_names_.index("theta")
    imitated = _imitation(model.field_, 1, k, k, points)
    assert imitated is not None
    used, terms, matrix = imitated
    assert_allclose(matrix[[terms.index(j) for j in used]], np.eye(len(used)), atol=1e-9)


def test_widened_starts_keep_the_sign_of_the_data(small):
    model, _ = small
    assert _starts(model)["theta"][0] < 1.5 * model.state_range_[0, 0]
    t = np.linspace(0, 5, 60)
    x = 0.05 + np.exp(-t) + 0.002 * np.random.default_rng(0).standard_normal(60)
    food = og.OrthoReg("poly(1)", og.Zero()).fit(
        og.Dataset.from_arrays(x[:, None], t, names=["food"])
    )
    low, high = _starts(food)["food"]
    assert 0 <= low <= 0.1 and high > 1.4


def test_rivals_are_refused_if_the_fit_left_none_open():
    data = swings(2.5, noise=0.005)
    model = og.OrthoReg(augmentation=og.Zero()).fit(data)
    with pytest.raises(InputError, match="The fit left no alternative terms open"):
        model.next_experiment({"theta": (-1, 1)}, goal="rivals")
