"""Diagnosis of a library that lacks terms."""

import numpy as np
import pytest
from moving_systems import LIBRARY, duffing, observed, runs_of, starts, swings, van_der_pol

import orthoreg as og
from orthoreg.data import Rows, folds
from orthoreg.findings._held_out import held_out_errors
from orthoreg.findings._limits import FOLDS
from orthoreg.findings._observations import of_samples
from orthoreg.findings.diagnoses import larger_library
from orthoreg.findings.diagnoses._larger_library import candidates, library_text
from orthoreg.terms import bind, parse_library

PLANE = (starts(4, [-2, -2], [2, 2]), 15, 300, ["x", "v"])


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_the_cubic_term_of_van_der_pol_is_found(noise):
    found = larger_library(observed(runs_of(van_der_pol, *PLANE, noise=noise)), LIBRARY, [0, 1])
    assert found.text == "poly(3)+fourier(1)" and found.equation == 1
    assert found.before > 0.5 and found.after < (0.001 if not noise else 0.1)
    assert found.advice.code == "larger-library"
    assert (
        "Try the library poly(3)+fourier(1)" in found.advice.text and "of v'" in found.advice.text
    )


def test_a_cubic_that_a_sine_imitates_is_found_as_well():
    data = runs_of(duffing, starts(5, [-1.6, -1], [1.6, 1]), 15, 250, ["x", "v"])
    seen = observed(data)
    samples = seen.samples
    imitated = held_out_errors(
        bind(LIBRARY, samples.names, samples.outputs)(samples.variables),
        samples.targets[:, 1:],
        folds(samples, FOLDS),
    )
    assert imitated < 0.1  # by cancelling terms, which no selection chooses
    found = larger_library(seen, LIBRARY, [1])
    assert found.text == "poly(3)+fourier(1)" and found.after < 1e-3 < 0.5 < found.before


def test_sines_are_found_where_there_were_none():
    found = larger_library(observed(swings()), og.Polynomial(2), [1])
    assert found.text == "poly(2)+fourier(1)" and found.after < 1e-3


def test_a_library_that_is_complete_stays():
    assert larger_library(observed(swings()), LIBRARY, [0, 1]) is None


def test_noise_is_no_reason_for_more_terms():
    assert larger_library(observed(swings(noise=0.05)), LIBRARY, [0, 1]) is None


def test_few_rows_are_no_reason_for_more_terms():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (60, 3))
    noisy = rng.standard_normal((60, 1))
    samples = Rows(x, noisy, np.zeros(60, int), np.zeros(1), ("a", "b", "c"), ("y",))
    assert larger_library(of_samples(samples), LIBRARY, [0]) is None


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("poly(2)+fourier(1)", "poly(3)+fourier(1)"),
        ("poly(1)", "poly(2)"),
        ("fourier(2)", "poly(1)+fourier(2)"),
        ("poly(1)+x**3+exp(-v)", "poly(2)+x**3+exp(-v)"),
        ("poly(1)*fourier(1)", "poly(1)+poly(1)*fourier(1)"),
    ],
)
def test_candidates_are_written_as_they_are_typed(text, first):
    written, larger = candidates(parse_library(text))[0]
    assert written == first
    names = ("x", "v")
    assert set(parse_library(written).terms(names)) == set(larger.terms(names))
    assert set(parse_library(text).terms(names)) <= set(larger.terms(names))


def test_a_library_without_a_written_form_has_no_candidates():
    library = og.PerState({"x": og.Polynomial(1)}, default=og.Polynomial(2))
    assert library_text(library) is None and candidates(library) == []
