"""Another unit of a state changes only the numbers in the equations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import orthoreg as og


def exponents(model: og.OrthoReg) -> np.ndarray:
    """Return the powers of the two states in each monomial, from its name."""

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
    """Four runs of an oscillator with a cubic term that the library lacks."""
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
    return og.OrthoReg(og.Polynomial(2), og.RandomFeatures(120)).fit(data)


@pytest.fixture(scope="module")
def one(runs) -> og.OrthoReg:
    """The model with which the others are compared."""
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


@pytest.mark.slow
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


# -- many scales: a circuit in volts, amperes and microseconds, or in any other units

MONOMIALS = {"v": (1, 0, 0), "i": (0, 1, 0), "u": (0, 0, 1), "v*i": (1, 1, 0)}
UNITS = [((1e-9, 1e3), 1e-6, 1.0), ((1e6, 1e-6), 1e9, 1e-3), ((1e-12, 1e-3), 1e-9, 1e9)]


@pytest.fixture(scope="module")
def circuit():
    """Return times, runs and input of a driven circuit with a voltage-dependent resistance."""
    from scipy.integrate import solve_ivp

    times = np.linspace(0, 12, 160)
    runs = [
        solve_ivp(lambda t, s: [s[1], np.sin(1.3 * t) - 0.4 * s[1] - s[0] - 0.3 * s[0] * s[1]],
                  (0, 12), start, t_eval=times, rtol=1e-9, atol=1e-10).y.T
        for start in ((1.0, 0.0), (0.0, -1.0), (0.5, 1.0))
    ]  # fmt: skip
    return times, np.array(runs), np.sin(1.3 * times)[:, None]


def learned(circuit, kind: str, states=(1.0, 1.0), time=1.0, drive=1.0) -> dict:
    """Return coefficients by equation and term, in units of 1, of a fit in other units."""
    times, runs, inputs = circuit
    noise = 0.02 * np.random.default_rng(0).normal(size=runs.shape) if kind == "weak" else 0
    data = og.Dataset.from_arrays(
        (runs + noise) * np.array(states), times * time, inputs * drive, names=["v", "i"],
        input_names=["u"],
    )  # fmt: skip
    loss = og.Weak() if kind == "weak" else og.VectorField()
    model = og.OrthoReg(augmentation=og.Zero(), loss=loss).fit(data)
    if kind == "refined":
        model = model.refine(data)
    units = np.array([*states, drive])
    return {
        (output, name): value * time / unit * np.prod(units ** np.array(MONOMIALS[name]))
        for output, unit, row in zip(data.state_names, states, model.coefficients_, strict=True)
        for name, value in zip(model.feature_names_, row, strict=True)
        if value
    }


@pytest.mark.parametrize(
    ("kind", "units"),
    [
        ("strong", UNITS),
        ("weak", UNITS[-1:]),
        pytest.param("refined", UNITS, marks=pytest.mark.slow),
    ],
)
def test_scales_that_differ_by_many_powers_of_ten_change_no_term(circuit, kind, units):
    expected = learned(circuit, kind)
    assert set(expected) == {("v", "i"), *(("i", name) for name in MONOMIALS)}
    for states, time, drive in units:
        found = learned(circuit, kind, states, time, drive)
        assert found.keys() == expected.keys()
        for place, value in expected.items():
            assert found[place] == pytest.approx(value, rel=1e-9)


def test_a_second_order_system_in_nanometres_and_nanoseconds():
    times = np.linspace(0, 10, 300)
    swings = [np.exp(-0.15 * times) * np.cos(1.4 * times + phase) for phase in (0.0, 1.0)]

    def learned(length: float, time: float) -> np.ndarray:
        data = og.Dataset.from_positions(
            np.array(swings)[:, :, None] * length, times * time, names=["q"]
        )
        model = og.OrthoReg(library=og.Polynomial(2), augmentation=og.Zero()).fit(data)
        assert model.equations()[0].startswith("q'' = -") and np.sum(model.support_[1]) == 2
        found = dict(zip(model.feature_names_, model.coefficients_[1], strict=True))
        return np.array([found["q"] * time**2, found["q_dot"] * time])

    assert_allclose(learned(1e-9, 1e-9), [-(1.4**2 + 0.15**2), -0.3], rtol=1e-4)
    assert_allclose(learned(1e-9, 1e-9), learned(1e6, 1e3), rtol=1e-9)
