"""Sentences and numbers are shown only if they apply to the fit."""

import json
import re
import warnings

import numpy as np
import pytest
from moving_systems import lorenz, runs_of, starts
from scipy.integrate import solve_ivp

import orthoreg as og
import orthoreg.findings
from orthoreg.cli import run
from orthoreg.findings.diagnoses import chaotic


@pytest.fixture(scope="module")
def chemostat():
    """Simulate growth on a substrate with yield 0.4 and 2% noise."""
    rng, t = np.random.default_rng(11), np.linspace(0, 40, 121)

    def rates(_, x):
        growth = 0.5 * x[1] / (2 + x[1]) * x[0]
        return [growth - 0.2 * x[0], 0.2 * (10 - x[1]) - growth / 0.4]

    runs = []
    for start in ([0.3, 8.0], [1.8, 2.0], [1.0, 5.0], [0.6, 9.0]):
        x = solve_ivp(rates, (0, 40), start, t_eval=t, rtol=1e-9, atol=1e-11).y.T
        runs.append(x + 0.02 * x.std(axis=0) * rng.standard_normal(x.shape))
    return og.Dataset.from_arrays(runs, t, names=["X", "S"])


def fitted(data, **bounds):
    physics = og.Physics(
        equations={"X": "mu*S/(K + S)*X - 0.2*X", "S": "0.2*(10 - S) - mu*S/(K + S)*X/Y"},
        bounds=bounds,
    )
    return og.OrthoReg(physics=physics).fit(data).summary(data)


def test_given_coefficients_are_called_given_and_no_library_is_spoken_of(chemostat):
    summary = fitted(chemostat)
    assert summary.verdict.code == "explained"
    given = {(one.equation, one.term) for one in summary.terms if one.is_given}
    assert given == {("X", "X"), ("S", "1"), ("S", "S")}
    (line,) = [line for line in str(summary).splitlines() if re.match(r"S' +1 ", line)]
    assert line.split() == ["S'", "1", "2.000", "given"]
    assert not any("not considered" in note for note in summary.notes)


def test_a_bound_that_holds_an_estimate_may_be_what_is_wrong(chemostat):
    summary = fitted(chemostat, Y=(0.3, 0.36))
    assert summary.verdict.code != "explained"
    (advice,) = [one.text for one in summary.advice if one.code == "explain"]
    assert "a given value or the bound of Y is wrong" in advice
    free = orthoreg.findings._advise.given_advice(["X"]).text
    assert "or a given value is wrong" in free


def test_an_exact_coefficient_is_not_given():
    x = np.random.default_rng(0).uniform(-1, 1, (100, 2))
    rows = og.OrthoReg("poly(1)", og.Zero()).fit(x, np.column_stack([x[:, 1], -x[:, 0]]))
    assert not any(one.is_given for one in rows.summary().terms)


def test_terms_that_were_no_candidates_are_not_said_to_depend_on_others():
    """The sine of a column with a narrow range is nearly a sum of powers."""
    x = [0.3]
    for _ in range(400):
        x.append(3.8 * x[-1] * (1 - x[-1]))
    data = og.Dataset.from_arrays(np.array(x)[:, None], np.arange(401.0), names=["x"])
    model = og.OrthoReg().fit(data)
    assert any(text.startswith("sin(x) = ") for text in model.certificate_.dependences)
    notes = model.summary(data).notes
    assert any("cos(x) were not considered" in note for note in notes)
    assert not any("cannot distinguish" in note for note in notes)


def test_without_terms_there_are_no_intervals_to_explain():
    rng = np.random.default_rng(1)
    data = og.Dataset.from_arrays(rng.standard_normal((500, 2)), 0.1 * np.arange(500))
    summary = og.OrthoReg().fit(data).summary(data)
    assert not any(one.coefficient for one in summary.terms)
    assert not any(note.startswith("Intervals") for note in summary.notes)


def test_exact_equations_of_chaos_say_why_whole_runs_are_not_forecast():
    data = runs_of(lorenz, starts(2, [-8, -8, 20], [8, 8, 30]), 25, 2500, ["x", "y", "z"])
    verdict = og.OrthoReg("poly(2)").fit(data).summary(data).verdict
    assert verdict.code == "explained"
    assert verdict.text.endswith("because small errors of the initial state grow.")


def test_an_unstable_system_that_inputs_hold_is_not_called_chaotic():
    """x'' = 25 x + u, held near zero by u."""
    rng, t = np.random.default_rng(2), np.arange(0, 10, 0.01)
    state, states, inputs = np.array([0.1, 0.0]), [], []
    for k in range(len(t)):
        u = -40 * state[0] - 8 * state[1] + 2 * np.sin(3 * t[k]) + rng.normal()
        states.append(state)
        inputs.append([u])
        for _ in range(10):
            state = state + 0.001 * np.array([state[1], 25 * state[0] + u])
    data = og.Dataset.from_arrays(
        np.array(states), t, np.array(inputs), names=["x", "v"], input_names=["u"]
    )
    advice = chaotic(lambda z: np.column_stack([z[:, 1], 25 * z[:, 0] + z[:, 2]]), data, 1e-3)
    assert advice is not None
    assert advice.text.startswith(
        "The system is chaotic or unstable: nearby states under the same inputs diverge "
    )


def test_rows_are_counted_as_they_were_measured():
    """There are fewer windows than rows, but the warning refers to rows."""
    t = np.arange(0.0, 21.0)
    rng = np.random.default_rng(4)
    x = solve_ivp(
        lambda _, x: [x[0] * (0.55 - 0.028 * x[1]), x[1] * (0.026 * x[0] - 0.84)],
        (0, 20), [30, 4], t_eval=t, rtol=1e-9,
    ).y.T  # fmt: skip
    data = og.Dataset.from_arrays(x * (1 + 0.05 * rng.standard_normal(x.shape)), t)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        og.OrthoReg().fit(data)


def test_the_table_of_forecasts_is_that_of_the_verdict(tmp_path, capsys):
    """Outliers do not count in the verdict and in the table."""
    rng, t = np.random.default_rng(3), np.arange(0, 20, 0.05)
    x = solve_ivp(lambda _, x: [x[1], -x[0] - 0.1 * x[1]], (0, 20), [1, 0], t_eval=t, rtol=1e-10)
    x = x.y.T + 0.002 * rng.standard_normal((len(t), 2))
    x[[50, 130, 260, 333], 0] += [3, -4, 5, -3]
    path = tmp_path / "x.csv"
    np.savetxt(path, np.column_stack([t, x]), delimiter=",", header="t,x,v", comments="")
    columns = ["--time", "t", "--states", "x,v"]
    assert run(["fit", str(path), *columns, "--out", str(tmp_path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    error = found["training"]["forecast_error"]
    assert error < 0.01
    assert error == found["summary"]["scores"]["forecast_error"]


def test_given_terms_are_told_from_one_that_is_estimated():
    """The heat loss to the surroundings consists of a constant and a term in T, both given."""
    rng, t = np.random.default_rng(7), np.linspace(0, 6, 121)
    runs = []
    for start in (330.0, 380.0, 420.0):  # T' = 350 - T - 2 (T - 310)
        rest = (350 + 620) / 3
        runs.append((rest + (start - rest) * np.exp(-3 * t))[:, None])
        runs[-1] = runs[-1] + 0.3 * rng.standard_normal(runs[-1].shape)
    data = og.Dataset.from_arrays(runs, t, names=["T"])
    physics = og.Physics(equations={"T": "350 - T - w*(T - 310)"})
    summary = og.OrthoReg(physics=physics).fit(data).summary(data)
    assert summary.verdict.code == "explained"
    assert not any("cannot distinguish" in note for note in summary.notes)
