"""The verdict depends only on the numbers of the summary."""

from dataclasses import replace

import pytest

from orthoreg.findings import EquationScore, Scores, TermRow
from orthoreg.findings._findings import VERDICTS
from orthoreg.findings._verdict import sentence_of, status_of, verdict_of
from orthoreg.findings._words import listed, percent

WHERE = "on held-out rows"


def equation(error, *, noise=0.0, residual=False, alone=None, name="x", status=None):
    score = EquationScore(
        name, "", "", residual, 0.0, error, error, error if alone is None else alone, noise
    )
    status = status_of(score) if status is None else status
    return EquationScore(**{**vars(score), "status": status})


def verdict(*equations, terms=(), rows=100, **scores):
    return verdict_of(Scores(equations, **scores), terms, rows, WHERE)


@pytest.mark.parametrize(
    ("error", "noise", "status"),
    [
        (0.001, 0.0, "explained"),
        (0.05, 0.0, "explained"),
        (0.06, 0.0, "roughly-explained"),
        (0.06, 0.05, "explained"),  # this much may be noise
        (0.25, 0.0, "not-explained"),
        (1.0, 0.0, "not-explained"),
        (0.25, 0.2, "noise-limited"),
        (1.0, 0.2, "not-explained"),
    ],
)
def test_the_status_follows_from_error_and_noise(error, noise, status):
    assert equation(error, noise=noise).status == status


def test_the_larger_of_two_errors_counts():
    held_out = EquationScore("x", "", "", False, 0.0, derivative_error=0.0, held_out_error=0.5)
    on_data = EquationScore("x", "", "", False, 0.0, derivative_error=0.5, held_out_error=0.0)
    assert status_of(held_out) == status_of(on_data) == "not-explained"


@pytest.mark.parametrize(
    ("alone", "status"), [(0.5, "needs-residual"), (0.02, "explained"), (0.12, "needs-residual")]
)
def test_a_residual_is_needed_where_the_terms_alone_fail(alone, status):
    assert equation(0.01, residual=True, alone=alone).status == status


def test_a_failed_fit_is_called_one():
    terms = [TermRow("v", "sin(v)", 0.3, 0.1, 0.5, 0.31)]
    found = verdict(
        equation(1.0, name="theta"), equation(0.25, name="v"), terms=terms,
        forecast_error=0.95, forecasts=4,
    )  # fmt: skip
    assert found.code == "not-explained"
    assert found.text == (
        "The equations do not explain theta' (error 100% on held-out rows) and v' (25%); "
        "forecasts of whole runs are off by 95%; the term sin(v) of v' is uncertain, with a "
        "probability of 31%."
    )


def test_a_good_fit_says_how_good():
    found = verdict(equation(0.001), equation(0.004, name="v"), forecast_error=0.002, forecasts=3)
    assert found.code == "explained"
    assert found.text == (
        "The equations explain x' and v' within 0.4% on held-out rows, and forecasts of whole "
        "runs are off by 0.2%."
    )


def test_residual_and_equations_are_told_apart():
    found = verdict(equation(0.01, residual=True, alone=0.5))
    assert found.code == "needs-residual"
    assert found.text == (
        "Equations and residual together explain x' within 1% on held-out rows; without the "
        "residual, the error of x' is 50%."
    )


@pytest.mark.parametrize(
    ("scores", "code", "words"),
    [
        ({"forecast_error": 0.95, "forecasts": 4}, "forecasts-fail", "but forecasts of whole"),
        ({"forecast_error": 0.2, "forecasts": 4}, "roughly-explained", "and forecasts of whole"),
        ({"forecast_error": 0.01, "forecasts": 4, "forecasts_failed": 2}, "forecasts-fail",
         "but 2 of 4 forecasts end early, and the others are off by 1%"),
        ({"forecast_error": None, "forecasts": 4, "forecasts_failed": 4}, "forecasts-fail",
         "but 4 of 4 forecasts end early"),
        ({"forecast_error": 0.01, "forecasts": 9, "forecasts_failed": 1}, "explained",
         "and 1 of 9 forecasts end early"),
    ],
)  # fmt: skip
def test_forecasts_count(scores, code, words):
    found = verdict(equation(0.001), **scores)
    assert found.code == code and words in found.text


@pytest.mark.parametrize(("rows", "code"), [(5, "undecided"), (9, "undecided"), (10, "explained")])
def test_few_rows_are_not_judged(rows, code):
    assert verdict(equation(0.0), rows=rows).code == code


def test_constant_states_are_not_judged():
    still = equation(1.0, status="constant", name="k")
    assert verdict(still, equation(0.001)).code == "explained"
    assert "k'" not in verdict(still, equation(0.001)).text
    assert verdict(still).code == "undecided"
    assert sentence_of(still, WHERE) == "k never changes in these data."


def test_every_code_is_a_known_one():
    errors = [0.001, 0.1, 0.3, 1.0]
    for first in errors:
        for noise in (0.0, 0.25):
            for forecast in (0.01, 0.2, 0.9):
                found = verdict(
                    equation(first, noise=noise, residual=True, alone=1.0),
                    forecast_error=forecast, forecasts=2,
                )  # fmt: skip
                assert found.code in VERDICTS
                assert found.text.endswith(".") and ".." not in found.text


def test_many_equations_make_no_long_sentence():
    found = verdict(*(equation(0.3 + i / 100, name=f"x{i}") for i in range(20)))
    assert "x19' (error 49% on held-out rows)" in found.text and "and 17 more" in found.text
    assert len(found.text) < 200


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0, "less than 0.01%"), (0.00123, "0.12%"), (0.0512, "5.1%"), (0.123, "12%"),
     (0.9999, "100%"), (1.41, "141%"), (123.0, "1.2e+04%"), (float("inf"), "infinitely much")],
)  # fmt: skip
def test_percent(share, text):
    assert percent(share) == text


def test_lists():
    assert [listed(list("abcdef")[:n], most=4) for n in (1, 2, 4, 6)] == [
        "a", "a and b", "a, b, c and d", "a, b, c and 3 more",
    ]  # fmt: skip


def test_terms_that_are_probably_wrong_are_limited_by_noise():
    score = EquationScore("y", "noise-limited", "", False, 0.3, trajectory_error=0.09,
                          trajectory_noise=0.09, trajectory_rows=40, exceeds_noise=False,
                          terms_probability=0.14)  # fmt: skip
    known = replace(score, equation="x", status="explained", terms_probability=0.9)
    result = verdict(known, score)
    assert result.code == "noise-limited"
    assert result.text.endswith(
        "which is noise; but other terms explain y' as well: the selected terms are correct with "
        "a probability of 14%."
    )
    assert "x' and y'" in result.text
    assert sentence_of(score, "").endswith("with a probability of 14%.")
    assert "other terms" not in sentence_of(known, "")
