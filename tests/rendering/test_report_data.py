"""The data of a report are plain numbers that equal those of the model."""

import json
import re
from dataclasses import replace
from html import escape

import numpy as np
import pytest
from hostile import INPUT, LABEL, NAMES, UNIT, hostile
from numpy.testing import assert_allclose

import orthoreg as og
import orthoreg.findings
from orthoreg._common.errors import InputError
from orthoreg.rendering.html import render
from orthoreg.rendering.html._payload import payload, plain_chart
from orthoreg.reporting import collect


@pytest.fixture(scope="module")
def found(pendulum_model, pendulum_runs):
    return collect(pendulum_model, pendulum_runs)


def body(found) -> str:
    """Return the page without its scripts."""
    return render(found).split('<script type="application/json"')[0]


def test_every_part_is_there_for_a_model_with_a_network(found):
    assert [len(found.forecasts.runs), len(found.phase.portraits)] == [8, 1]
    assert found.phase.portraits[0].network is not None
    assert [one.equation for one in found.residual] == ["omega'"]
    assert found.residual[0].distance is not None
    assert {one["equation"] for one in payload(found)["coefficients"]} == {"theta'", "omega'"}
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
    stability = f"({100 * evidence.probability[1, k]:.0f}%)"  # the equation needs its residual
    assert sine.probability == stability
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
    # more terms fit the inner rows no worse
    inner = [step.inner for step in by_name["omega'"].steps]
    assert all(b <= a * (1 + 1e-9) for a, b in zip(inner, inner[1:], strict=False))


def test_a_step_of_the_path_forecasts_as_its_equation_does(pendulum_runs):
    """The selected step of a model without a network is the model itself."""
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
    with pytest.raises(InputError, match="the model was fitted to 'theta', 'omega'"):
        og.report(pendulum_model, tmp_path / "a.html", data=other)
    assert list(tmp_path.iterdir()) == []


def test_a_model_from_a_file_has_the_same_path(found, pendulum_model, pendulum_runs, tmp_path):
    pendulum_model.save(tmp_path / "m.orthoreg")
    loaded = og.load(tmp_path / "m.orthoreg")
    again = collect(loaded, pendulum_runs)
    assert plain_chart(again.paths) == plain_chart(found.paths)
    with pytest.raises(InputError, match="models from files lack"):
        og.bootstrap(loaded)


def test_what_searches_found_is_shown_with_its_evidence():
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, (300, 1))
    data = og.Dataset.from_arrays(x, 1.0, names=["q"], derivatives=-x + 0.5 * np.sin(3 * x))
    model = og.OrthoReg(og.Polynomial(1), og.Zero()).fit(data)
    found = collect(model, data, explanation=model.explain(data))
    best = found.proposals[0]
    assert best.formula == "sin(3*q)" and best.gain > 100
    page = body(found)
    assert "lacks <math" in page and f"{best.gain:.0f} nats" in page
    enough = collect(model, data, explanation=model.explain(data.with_derivatives(-x)))
    assert enough.proposals == () and "None of the tested formulas" in render(enough)


def test_many_equations_are_folded_and_their_coefficients_shown_one_by_one():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (300, 12))
    names = [f"temperature_of_the_room_{i}" for i in range(12)]
    slopes = x @ rng.uniform(0.5, 1, (12, 12))
    data = og.Dataset.from_arrays(x, 1.0, names=names, derivatives=slopes)
    model = og.OrthoReg("poly(1)", og.Zero(), sparsity=0.0).fit(data)
    found = collect(model, data)
    page = render(found)
    assert len(page) < 6e6
    assert "<summary>6 more equations</summary>" in page
    assert 'class="card equations long"' in page
    many = body(replace(found, has_network=True))
    assert many.count("<option") >= 12 and 'id="coefficients-equation"' in many
    few = body(replace(collect(*_line()), has_network=True))
    assert "more equations" not in few and "coefficients-equation" not in few


def test_without_a_network_there_is_no_map_of_it_and_no_chart_of_coefficients():
    found = collect(*_line())
    page = body(found)
    assert found.residual == () and not found.has_network
    assert 'id="residual"' not in page and 'id="chart-coefficients"' not in page
    assert '<section id="coefficients"' in page and "−1.000" in page  # the table exists


def test_inputs_that_are_held_are_drawn_in_steps_at_the_times_they_change():
    t = np.linspace(0, 38, 1901)
    u = np.where(t % 10 < 5, 0.0, 1.0)
    x = np.zeros_like(t)
    for k in range(1, len(t)):
        x[k] = u[k - 1] + (x[k - 1] - u[k - 1]) * np.exp(-(t[k] - t[k - 1]))
    data = og.Dataset.from_arrays(x[:, None], t, u=u[:, None], input_names=["u"])
    model = og.OrthoReg("poly(1)", og.Zero()).fit(data)
    found = collect(model, data).forecasts
    (run,) = found.runs
    assert model.input_interpolation_ == {"u": "hold"} and found.held == (True,)
    changes = [0.0, *t[1:][np.diff(u) != 0], 38.0]
    assert_allclose(run.input_times[0], changes, atol=1e-3)
    assert run.inputs[0].tolist() == [0.0, *[1.0, 0.0] * 3, 1.0, 1.0]


def test_an_accepted_model_is_the_subject_and_the_earlier_one_stands_beside_it():
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, (300, 1))
    data = og.Dataset.from_arrays(x, 1.0, names=["q"], derivatives=-x + 0.5 * np.sin(3 * x))
    model = og.OrthoReg(og.Polynomial(1), og.Zero()).fit(data)
    explanation = model.explain(data)
    found = collect(explanation.accept(0), data, explanation=explanation)
    assert [term.name for term in found.equations[0].terms] == ["q", "sin(3*q)"]
    assert found.earlier is not None and found.proposals[0].is_accepted
    assert found.earlier.verdict == model.summary(data).verdict != found.summary.verdict
    name, now, before = found.earlier.rows[2]
    assert name == "error of q'" and "less than" in now and "less than" not in before
    page = body(found)
    assert page.count('class="badge') == 1  # the equation of the accepted model
    assert page.index('id="verdict"') < page.index('id="earlier"') < page.index('id="proposals"')
    assert "missing in the earlier library" in page and found.earlier.verdict.text[:20] in page
    assert collect(model, data, explanation=explanation).earlier is None


def test_what_is_not_defined_is_not_printed_as_nan():
    model, data = _line()
    found = collect(model, data)
    rows = [replace(one, duality_gap=np.nan) for one in found.summary.certificate]
    page = body(replace(found, summary=replace(found.summary, certificate=tuple(rows))))
    assert ">nan<" not in page and ">duality gap<" not in page
    assert "There is no duality gap" in page
    assert ">duality gap<" in body(found)


def test_formulas_in_sentences_and_tables_are_typeset():
    model, data = _line()
    advice = orthoreg.findings.Advice(
        "noise", "Mind 'x' and x**2, not read_table(positions=['x'])."
    )
    found = collect(model, data)
    page = body(replace(found, summary=replace(found.summary, advice=(advice,))))
    (said,) = re.findall(r"<li>(Mind .*?) <span", page)
    assert re.sub("<math.*?</math>", "MATH", said) == (
        "Mind MATH and MATH, not read_table(positions=[&#x27;x&#x27;])."
    )
    assert "<msup>" in said


def test_each_equation_has_its_latex_to_copy(found, pendulum_model):
    page = body(found)
    for line in pendulum_model.to_latex():
        assert f'data-copy="{escape(line)}"' in page
    assert page.count(">Copy LaTeX<") == 2 and page.count(">Copy all as LaTeX<") == 1


def _line():
    t = np.linspace(0, 6, 120)
    data = og.Dataset.from_arrays(np.exp(-t)[:, None], t, names=["x"])
    return og.OrthoReg("poly(1)", og.Zero()).fit(data), data
