"""What a report is made of: plain numbers, each the one that the model gives."""

import json
import re

import numpy as np
import pytest
from hostile import INPUT, LABEL, NAMES, UNIT, hostile
from numpy.testing import assert_allclose

import orthoreg as og
from orthoreg._errors import InputError
from orthoreg.reporting import collect, render


@pytest.fixture(scope="module")
def found(pendulum_model, pendulum_runs):
    return collect(pendulum_model, pendulum_runs)


def test_every_part_is_there_for_a_model_with_a_network(found):
    assert [len(found.forecasts.runs), len(found.phase.portraits)] == [8, 1]
    assert found.phase.portraits[0].network is not None
    assert [one.equation for one in found.residual] == ["omega'"]
    assert found.residual[0].distance is not None
    assert {one.equation for one in found.coefficients} == {"theta'", "omega'"}
    assert len(found.diagnostics) == 2 and len(found.diagnostics[0].against) == 2
    assert [head for head, _ in found.sentences] == ["Equations", "Network", "Split", "Forecasts"]


def test_equations_carry_intervals_probabilities_and_the_network(found, pendulum_model):
    by_name = {one.label: one for one in found.equations}
    sine, network = by_name["omega"].terms
    evidence = og.bootstrap(pendulum_model)
    k = pendulum_model.feature_names_.index("sin(theta)")
    low, high = evidence.interval[1, k]
    ends = [float(end) for end in sine.interval.replace("−", "-").split(" to ")]
    assert_allclose(ends, [low, high], rtol=1e-3)
    assert sine.probability == f"{100 * evidence.probability[1, k]:.0f} %"
    assert network.kind == "network" and "% of the size" in network.interval


def test_forecasts_are_those_of_the_model(found, pendulum_model, pendulum_runs):
    run = found.forecasts.runs[0]
    place = pendulum_runs.labels.index(run.label)
    rollout = pendulum_model.forecast(pendulum_runs[[place]])[0]
    at = [np.flatnonzero(np.isclose(rollout.times, t, atol=1e-3))[0] for t in run.forecast_times]
    for state in (0, 1):
        assert_allclose(run.forecast[state], rollout.x[at, state], rtol=1e-3, atol=1e-4)


def test_bands_are_the_errors_of_the_other_runs(found, pendulum_model, pendulum_runs):
    run = found.forecasts.runs[-1]
    place = pendulum_runs.labels.index(run.label)
    errors = [
        (one.x - own.states) ** 2
        for one, own in zip(pendulum_model.forecast(pendulum_runs), pendulum_runs, strict=True)
    ]
    others = np.mean([e for i, e in enumerate(errors) if i != place], axis=0)
    high = np.array(run.high[0], dtype=float) - np.array(run.forecast[0], dtype=float)
    at = [np.flatnonzero(np.isclose(pendulum_runs[place].times, t, atol=1e-3))[0]
          for t in run.forecast_times]  # fmt: skip
    assert_allclose(high, 2 * np.sqrt(others[at, 0]), atol=2e-4)


def test_the_path_holds_the_errors_of_the_selection_and_the_model_itself(found, pendulum_model):
    by_name = {one.equation: one for one in found.paths.equations}
    for c, name in enumerate(("theta'", "omega'")):
        path, own = by_name[name], pendulum_model.selection_.paths[c]
        assert path.steps[path.chosen].n_terms == pendulum_model.support_[c].sum()
        for step in path.steps:
            place = list(own.n_terms).index(step.n_terms)
            assert_allclose(step.outer, max(np.sqrt(own.outer[place]), 1e-7))
            assert len(step.terms) == step.n_terms
    # more terms follow the rows that were fitted no worse
    inner = [step.inner for step in by_name["omega'"].steps]
    assert all(b <= a * (1 + 1e-9) for a, b in zip(inner, inner[1:], strict=False))


def test_a_step_of_the_path_forecasts_as_its_equation_does(pendulum_runs):
    """The chosen step of a model without a network is the model."""
    model = og.OrthoReg(augmentation=og.Zero()).fit(pendulum_runs)
    found = collect(model, pendulum_runs)
    path = found.paths.equations[0]
    run = pendulum_runs.labels.index(found.paths.run)
    rollout = model.forecast(pendulum_runs[[run]])[0]
    step = path.steps[path.chosen]
    at = [np.flatnonzero(np.isclose(rollout.times, t, atol=1e-3))[0] for t in found.paths.times]
    assert_allclose(step.forecast[0], rollout.x[at, 0], atol=2e-3)


def test_the_page_fits_into_a_mail_and_holds_nothing_but_numbers(found):
    page = render(found)
    assert len(page.encode()) < 6e6
    assert not re.search(r'(?:src|href)="(?!#)', page.split("<script>")[0])
    text = re.search(r'id="report-data">(.*?)</script>', page, re.S)[1]
    data = json.loads(text, parse_constant=pytest.fail)  # no NaN, no infinity
    assert set(data) >= {"forecasts", "phase", "residual", "paths", "coefficients", "diagnostics"}


def test_names_are_text_everywhere():
    model, data = hostile()
    page = render(collect(model, data))
    before = page.split('<script type="application/json"')[0]
    for word in (*NAMES, INPUT, LABEL, UNIT, data.source):
        assert word not in before
    inside = re.search(r'id="report-data">(.*?)</script>', page, re.S)[1]
    assert "<" not in inside
    assert LABEL in json.dumps(json.loads(inside)["forecasts"]["runs"], ensure_ascii=False).replace(
        '\\"', '"'
    )


def test_a_model_without_data_has_a_report_of_its_fit(pendulum_model, tmp_path):
    path = og.report(pendulum_model, tmp_path / "fit.html")
    page = path.read_text()
    assert 'id="equations"' in page and 'id="chart-coefficients"' in page
    assert 'id="chart-forecast"' not in page


def test_what_cannot_be_reported_is_refused(pendulum_model, pendulum_runs, tmp_path):
    with pytest.raises(InputError, match="report takes a fitted model"):
        og.report(pendulum_runs, tmp_path / "a.html")
    with pytest.raises(InputError, match="runs in time"):
        og.report(pendulum_model, tmp_path / "a.html", data=np.zeros((4, 2)))
    other = og.Dataset.from_arrays(np.eye(9)[:, :2], 0.1, names=["a", "b"])
    with pytest.raises(InputError, match="the model knows 'theta', 'omega'"):
        og.report(pendulum_model, tmp_path / "a.html", data=other)
    assert list(tmp_path.iterdir()) == []


def test_a_model_from_a_file_has_the_same_path(found, pendulum_model, pendulum_runs, tmp_path):
    pendulum_model.save(tmp_path / "m.orthoreg")
    loaded = og.load(tmp_path / "m.orthoreg")
    assert collect(loaded, pendulum_runs).paths == found.paths
    with pytest.raises(InputError, match="a model file does not keep them"):
        og.bootstrap(loaded)


def test_what_searches_found_is_shown_with_its_evidence():
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, (300, 1))
    data = og.Dataset.from_arrays(x, 1.0, names=["q"], derivatives=-x + 0.5 * np.sin(3 * x))
    model = og.OrthoReg(og.Polynomial(1), og.Zero()).fit(data)
    found = collect(model, data, explanation=model.explain(data))
    best = found.proposals[0]
    assert best.formula == "sin(3*q)" and best.gain > 100
    page = render(found)
    assert "lacks sin(3*q)" in page and f"{best.gain:.0f} nats" in page
    enough = collect(model, data, explanation=model.explain(data.with_derivatives(-x)))
    assert enough.proposals == () and "Nothing to add" in render(enough)


def test_many_equations_are_folded_and_their_coefficients_shown_one_by_one():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (300, 12))
    names = [f"temperature_of_the_room_{i}" for i in range(12)]
    slopes = x @ rng.uniform(0.5, 1, (12, 12))
    data = og.Dataset.from_arrays(x, 1.0, names=names, derivatives=slopes)
    model = og.OrthoReg("poly(1)", og.Zero(), sparsity=0.0).fit(data)
    page = render(collect(model, data))
    assert len(page) < 6e6
    assert "<summary>6 more equations</summary>" in page
    assert 'class="card equations long"' in page
    assert page.count("<option") >= 12 and 'id="coefficients-equation"' in page
    few = render(collect(*_line()))
    assert "more equations" not in few and "coefficients-equation" not in few.split("<script>")[0]


def _line():
    t = np.linspace(0, 6, 120)
    data = og.Dataset.from_arrays(np.exp(-t)[:, None], t, names=["x"])
    return og.OrthoReg("poly(1)", og.Zero()).fit(data), data
