"""Numbers whose squares are rounded to zero are refused; all others give the same digits."""

import numpy as np
import pytest

import orthoreg as og
from orthoreg import DataError

TIMES = np.linspace(0, 10, 201)
STATES = np.exp(-0.1 * TIMES)[:, None] * np.c_[np.cos(TIMES), -np.sin(TIMES)]
NOISE = np.random.default_rng(0).normal(0, 0.01, STATES.shape)


def fitted(states, library="poly(1)", times=TIMES):
    return og.OrthoReg(library, og.Zero()).fit(og.Dataset.from_arrays(states, times))


@pytest.mark.parametrize("noise", [0.0, 1.0])
@pytest.mark.parametrize("exponent", [-320, -200, 480])
def test_other_units_give_the_same_digits(noise, exponent):
    states = STATES + noise * NOISE
    coefficients = fitted(states).coefficients_[:, 1:]
    assert (fitted(np.ldexp(states, exponent)).coefficients_[:, 1:] == coefficients).all()


@pytest.mark.parametrize("size", [1e-110, 1e-160, 1e-300, 1e-320])
def test_tiny_states_are_refused_by_name(size):
    with pytest.raises(DataError, match="column 'x0' is at most .* too small.* smaller unit"):
        fitted(STATES * size)


@pytest.mark.parametrize("size, term", [(1e-50, "x0[*][*]3"), (1e-99, "x0[*][*]2")])
def test_tiny_terms_are_refused_by_name(size, term):
    with pytest.raises(DataError, match=f"Library term '{term}' is at most .* too small"):
        fitted(STATES * size, "poly(3)")


def test_terms_that_are_rounded_to_zero_are_refused():
    with pytest.raises(DataError, match="Library term 'x0[*][*]4' is at most 0 in size"):
        og.OrthoReg("x0 + x1 + x0**4", og.Zero()).fit(STATES * 1e-90, -STATES * 1e-90)


def test_tiny_rates_are_refused():
    with pytest.raises(DataError, match="largest rate of change is .* time in a larger one"):
        fitted(STATES * 1e-80, times=TIMES * 1e80)


def test_zeros_are_no_tiny_numbers():
    states = np.c_[STATES, np.zeros(len(TIMES))]
    with pytest.warns(og.DataWarning, match="state 'x2' never changes"):
        assert fitted(states).equations()[2] == "x2' = 0"
    late = np.exp(-60 * TIMES)[:, None]  # decays to 1e-260 within the data
    assert fitted(late[:100], times=TIMES[:100]).equations() == ["x0' = -60.00 x0"]
