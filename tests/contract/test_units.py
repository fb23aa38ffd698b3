"""Changing a state's unit changes the numbers in the equations and nothing else."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import orthoreg as og


def exponents(model: og.OrthoReg) -> np.ndarray:
    """For each monomial the powers of the two states, read off its name."""

    def powers(name: str) -> list[int]:
        found = {"x": 0, "y": 0}
        for factor in name.split("*") if "**" not in name else [name]:
            base, _, power = factor.partition("**")
            if base in found:
                found[base] += int(power or 1)
        return [found["x"], found["y"]]

    return np.array([powers(name) for name in model.feature_names_])


@pytest.fixture(scope="module")
def runs() -> tuple[np.ndarray, np.ndarray]:
    """Four runs of a van der Pol-like flow whose cubic term the library lacks."""
    from scipy.integrate import solve_ivp

    times = np.linspace(0, 5, 60)
    starts = [(1.0, 0.0), (-0.5, 1.0), (2.0, -1.0), (0.2, 0.3)]
    solutions = [
        solve_ivp(lambda _, s: [s[1], (1 - s[0] ** 2) * s[1] - s[0]], (0, 5), start,
                  t_eval=times, rtol=1e-10, atol=1e-10).y.T
        for start in starts
    ]  # fmt: skip
    return np.array(solutions), times


def fitted(states: np.ndarray, times: np.ndarray) -> og.OrthoReg:
    data = og.Dataset.from_arrays(states, times, names=["x", "y"])
    return og.OrthoReg(library=og.Polynomial(2)).fit(data)


@pytest.fixture(scope="module")
def one(runs) -> og.OrthoReg:
    """The model that the others are compared with."""
    return fitted(*runs)


@settings(max_examples=6)
@given(st.integers(-20, 20), st.integers(-20, 20))
def test_units_that_are_powers_of_two_change_no_bit(runs, one, first, second):
    states, times = runs
    unit = 2.0 ** np.array([first, second])
    other = fitted(states * unit, times)
    factor = unit[:, None] / np.prod(unit ** exponents(one), axis=1)
    assert np.array_equal(other.coefficients_, one.coefficients_ * factor)
    points = states.reshape(-1, 2)
    assert np.array_equal(other.predict(points * unit), one.predict(points) * unit)


@settings(max_examples=6)
@given(st.floats(1e-4, 1e4), st.floats(1e-4, 1e4))
def test_any_other_unit_agrees_to_rounding(runs, one, first, second):
    states, times = runs
    unit = np.array([first, second])
    other = fitted(states * unit, times)
    factor = unit[:, None] / np.prod(unit ** exponents(one), axis=1)
    assert_allclose(other.coefficients_, one.coefficients_ * factor, rtol=1e-7)
    points = states.reshape(-1, 2)
    size = np.abs(one.predict(points)).max(axis=0) * unit
    assert (np.abs(other.predict(points * unit) - one.predict(points) * unit) < 1e-6 * size).all()


def test_another_unit_of_time_rescales_every_equation(runs, one):
    states, times = runs
    other = fitted(states, times * 60)
    assert_allclose(other.coefficients_, one.coefficients_ / 60, rtol=1e-7)
