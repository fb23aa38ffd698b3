"""`model.summary(data)`: complete summaries of fitted models."""

import warnings

import numpy as np
import pytest
from moving_systems import (
    COMPLETE,
    complete,
    driven,
    forced,
    lorenz,
    runs_of,
    starts,
    swings,
    van_der_pol,
    with_input,
)

import orthoreg as og
from orthoreg._common.errors import InputError
from orthoreg.findings._findings import CODES
from orthoreg.findings._scores import forecast_scores
from orthoreg.simulation import Rollout, Status

ALONE = og.Zero()


def codes(summary):
    return [one.code for one in summary.advice]


def summary_of(data, *, forecasts=(), **options):
    """Return the summary of a default model without a residual. Forecasts are made only
    on request."""
    model = og.OrthoReg(augmentation=ALONE, **options).fit(data)
    return model.summary(data, forecasts=None if forecasts is None else list(forecasts))


@pytest.mark.parametrize("name", COMPLETE)
def test_complete_systems_are_explained_and_need_no_advice(name):
    summary = summary_of(complete(name))
    assert summary.verdict.code == "explained" and summary.advice == ()
    for score in summary.scores.equations:
        assert score.status == "explained"
        assert score.held_out_error == pytest.approx(0, abs=0.01)


DEFECTS = {
    "second-order": lambda: swings(keep=[0]),
    "larger-library": lambda: runs_of(van_der_pol, starts(4, [-2, -2], [2, 2]), 15, 300,
                                      ["x", "v"]),
    "time-dependent": lambda: forced(),
    "per-run": lambda: runs_of(
        lambda t, x: [x[1], -np.array([1.0, 1.5, 2.2, 3.0, 4.0]) * x[0] - 0.1 * x[1]],
        np.tile([1.5, 0.2], (5, 1)), 15, 200, ["x", "v"],
    ),
    "chaotic": lambda: runs_of(lorenz, starts(3, [-8, -8, 20], [8, 8, 30]), 20, 1000,
                               ["x", "y", "z"]),
    "noise": lambda: swings(noise=0.8),
    "few-rows": lambda: runs_of(driven, [[1.0, 0.0]], 2, 12, ["x", "v"], inputs=np.sin),
}  # fmt: skip


@pytest.mark.parametrize("code", DEFECTS)
def test_each_defect_is_advised_on_first(code):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `fit` itself may warn about few rows
        summary = summary_of(DEFECTS[code]())
    assert codes(summary)[0] == code and set(codes(summary)) <= set(CODES)
    assert all(one.text.endswith(".") for one in summary.advice)


def test_noise_is_no_defect_of_a_model_that_explains_the_rest():
    summary = summary_of(swings(noise=0.2))
    assert summary.verdict.code == "explained" and "which is noise" in summary.verdict.text
    assert codes(summary) == []


def test_the_input_that_was_missing_mends_the_verdict():
    from moving_systems import two_tones

    before, after = summary_of(forced()), summary_of(with_input(forced(), two_tones))
    assert before.verdict.code == "not-explained" and "v'" in before.verdict.text
    assert after.verdict.code == "explained"


def test_five_rows_are_not_judged():
    data = runs_of(driven, [[1.0, 0.0]], 2, 5, ["x", "v"], inputs=np.sin)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        summary = summary_of(data)
    assert summary.verdict.code == "undecided" and codes(summary) == ["few-rows"]


def test_runs_too_short_to_differentiate_twice_still_get_advice():
    times = np.linspace(0, 1, 3)
    runs = [np.column_stack([np.cos(times + a), -np.sin(times + a)]) for a in range(40)]
    data = og.Dataset.from_arrays(runs, times)
    summary = og.OrthoReg(og.Polynomial(1), ALONE).fit(data).summary(data, forecasts=[])
    assert codes(summary) == ["few-rows"] and "rows of the fit" in summary.verdict.text


def test_a_state_that_never_changes_is_no_failure():
    data = swings()
    constant = [np.column_stack([run.states, np.full(run.n_samples, 5.0)]) for run in data]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = og.Dataset.from_arrays(constant, data[0].times, names=["theta", "omega", "k"])
    summary = summary_of(data)
    assert summary.verdict.code == "explained"
    assert summary.scores.equations[2].status == "constant"


def test_the_model_is_judged_where_the_data_are_others():
    """The advice uses the coefficients of the model, not those of the new data."""
    model = og.OrthoReg(og.Polynomial(1), ALONE).fit(complete("spiral"))
    faster = runs_of(lambda t, x: [-0.3 * x[0] + 3 * x[1], -3 * x[0] - 0.3 * x[1]],
                     starts(3, [-2, -2], [2, 2]), 8, 150, ["a", "b"])  # fmt: skip
    summary = model.summary(faster, forecasts=[])
    assert summary.scores.equations[0].held_out_error == pytest.approx(0, abs=1e-3)
    assert summary.verdict.code == "not-explained"


def test_forecasts_are_scored():
    summary = summary_of(complete("decay"), forecasts=None)
    assert summary.scores.forecasts == 2
    assert summary.scores.forecast_error == pytest.approx(0, abs=1e-3)
    assert "forecasts of whole runs are off by" in summary.verdict.text


def test_states_with_derivatives_are_judged_without_times(rng):
    x = rng.uniform(-1, 1, (300, 2))
    y = np.column_stack([x[:, 1], -3 * x[:, 0] ** 3])
    model = og.OrthoReg(og.Polynomial(2), ALONE).fit(x, y)
    summary = model.summary(x, y)
    assert summary.verdict.code == "not-explained" and codes(summary) == ["larger-library"]
    assert summary.source is None and summary.scores.forecasts == 0
    flat = og.OrthoReg(og.Polynomial(2), ALONE).fit(x, y[:, 0]).summary(x, y[:, 0])
    assert flat.verdict.code == "explained"


def test_without_data_it_is_of_the_fit_or_the_last_one():
    data = complete("decay")
    model = og.OrthoReg(og.Polynomial(1), ALONE).fit(data)
    of_fit = model.summary()
    assert of_fit.source is None and any("covers the fit alone" in note for note in of_fit.notes)
    assert "rows of the fit" in of_fit.verdict.text
    made = model.summary(data, forecasts=[])
    assert model.summary() is made
    assert model.adapt(data).summary().source is None
    assert model.fit(data).summary().source is None


def test_models_without_a_selection_have_coefficients_only():
    summary = summary_of(complete("decay"), sparsity=0.01)
    assert all(one.probability is None for one in summary.terms)
    assert any("No intervals or probabilities" in note for note in summary.notes)


def test_large_data_are_looked_at_in_part():
    times = np.linspace(0, 2000, 40_000)
    data = og.Dataset.from_arrays(np.column_stack([np.cos(times), -np.sin(times)]), times)
    summary = summary_of(data)
    assert "Verdict and advice are based on 2000 of 40000 rows." in summary.notes
    assert summary.verdict.code == "explained" and summary.samples == 40_000


def test_what_is_not_fitted_or_of_other_columns_is_refused():
    with pytest.raises(ValueError, match="not fitted"):
        og.OrthoReg().summary(complete("decay"))
    model = og.OrthoReg(og.Polynomial(1), ALONE).fit(complete("decay"))
    with pytest.raises(InputError, match="'m'.*'theta'"):
        model.summary(swings())


def test_outliers_that_did_not_count_are_counted():
    t = np.linspace(0, 10, 300)
    rng = np.random.default_rng(0)
    x = np.column_stack([np.cos(t), -np.sin(t)]) + 0.02 * rng.standard_normal((300, 2))
    x[[40, 200], 0] += 4.0
    data = og.Dataset.from_arrays(x, t, names=["q", "v"])
    model = og.OrthoReg("poly(1)").fit(data)
    np.testing.assert_allclose(model.coefficients_, [[0, 0, 1], [0, -1, 0]], atol=0.02)
    (note,) = (note for note in model.summary(data).notes if "Outliers" in note)
    assert note.endswith("were left out: q (2).")


def test_an_offset_of_the_states_makes_no_forecast_look_better():
    t = np.linspace(0, 6, 100)
    true = np.column_stack([np.sin(t), np.cos(t)])
    scores = [
        forecast_scores(
            [Rollout(t, 0.8 * true + offset, Status.completed, None, None, "", None)],
            [true + offset],
        )["forecast_error"]
        for offset in (0.0, 100.0)
    ]
    assert scores[0] == pytest.approx(0.2, rel=0.01)
    assert scores[1] == pytest.approx(scores[0])


def test_given_equations_that_are_wrong_are_advised_on():
    data = runs_of(van_der_pol, starts(4, [-2, -2], [2, 2]), 15, 300, ["x", "v"], noise=0.01)
    given = og.Physics(equations={"x": "v", "v": "-k*x + m*v"})  # without x**2*v
    summary = og.OrthoReg(physics=given).fit(data).summary(data)
    assert summary.verdict.code in ("not-explained", "roughly-explained")
    (advice,) = [one for one in summary.advice if one.code == "explain"]
    assert "was given completely" in advice.text and "v'" in advice.text
