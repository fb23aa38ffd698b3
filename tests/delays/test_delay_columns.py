"""Delayed columns of data, and simulations with delays, against exact solutions."""

import numpy as np
import pytest

import orthoreg as og
from orthoreg._common.errors import FormulaError, InputError
from orthoreg.data import Delay, delays_in, split_delayed
from orthoreg.simulation import delayed_columns, run_inputs, simulation_inputs, with_delays
from orthoreg.simulation import with_delayed_inputs as delayed_inputs
from orthoreg.terms import Polynomial, Terms, feature_names, parse, to_text


def test_delayed_variables_in_formulas_are_columns():
    variables = ("x", "u", "u(t - tau)", "x(t - 0.5)")
    for text in ("x*u(t - tau)", "x(t - 0.5)/(x(t - 0.5) + K)", "sin(u(t - tau))"):
        assert to_text(parse(text, variables, free=True)) == text
    assert parse("u(t-tau)", variables) == parse("`u(t - tau)`", variables)
    with pytest.raises(FormulaError, match="needs runs in time"):
        parse("u(t - theta)", variables)
    with pytest.raises(FormulaError, match="write 'x"):
        parse("x(u + 1)", variables)


def test_families_have_no_delayed_variables():
    names = ["x", "u", "u(t - tau)"]
    assert feature_names(Polynomial(1), names) == ("1", "x", "u")
    assert feature_names(og.Fourier(1), names[1:]) == ("sin(u)", "cos(u)")
    assert feature_names(Terms(["x*u(t - tau)"]), names) == ("x*u(t - tau)",)


def test_names_of_delayed_variables():
    assert Delay("room 1", "tau", 0.5).name == "`room 1`(t - tau)"
    assert split_delayed("`room 1`(t - tau)") == ("room 1", "tau")
    assert split_delayed("sin(x)") is None
    assert Delay("u", "tau", 0.35).shown(4) == "u(t - 0.3500)"
    assert [written.delay for written in delays_in("-k*x + b*u(time-tau2) + y(t - 3.5)")] == [
        "tau2", "3.5"
    ]  # fmt: skip


def test_columns_have_earlier_values_and_rows_without_history_are_left_out():
    t = np.linspace(0, 10, 201)
    u = np.sin(1.3 * t)
    data = og.Dataset.from_arrays(
        [np.cos(t)[:, None]] * 2, [t, t + 50], [u[:, None]] * 2, names=["x"], input_names=["u"]
    )
    delayed = with_delays(data, [Delay("u", "tau", 0.73), Delay("x", "s", 2.0)])
    assert delayed.input_names == ("u", "u(t - tau)", "x(t - s)")
    assert delayed.n_runs == 2 and delayed.times[0] == 2.0 and delayed.times[-1] == 60.0
    first = delayed[0]
    np.testing.assert_allclose(first.inputs[:, 1], np.sin(1.3 * (first.times - 0.73)), atol=1e-5)
    np.testing.assert_allclose(first.inputs[:, 2], np.cos(first.times - 2.0), atol=1e-5)


def test_held_inputs_keep_impulse_and_moment_of_each_step():
    """If a step of the input falls between two rows, its mean and its moment are exact."""
    t = np.array([0.0, 1.0, 2.5, 3.0, 4.2, 5.0, 6.0, 7.5])
    u = np.array([0.0, 0.0, 2.0, 2.0, -1.0, -1.0, -1.0, 0.0])
    data = og.Dataset.from_arrays(
        np.arange(8.0)[:, None], t, u[:, None], names=["x"], input_names=["u"]
    )
    _, lines = delayed_columns(data, [Delay("u", "tau", 0.8)])
    for i in range(1, 7):
        s = t[i] + (np.arange(20_000) + 0.5) / 20_000 * (t[i + 1] - t[i])
        index = np.maximum(np.searchsorted(t, s - 0.8, side="right") - 1, 0)
        start, change = lines[i, 0]
        place = (s - t[i]) / (t[i + 1] - t[i])
        assert start + change / 2 == pytest.approx(u[index].mean(), abs=1e-3)
        assert start / 2 + change / 3 == pytest.approx((place * u[index]).mean(), abs=1e-3)


def test_inputs_of_a_simulation_are_delayed_exactly():
    t = np.linspace(0, 5, 26)
    u = np.where(t < 2, 0.0, 1.0)
    held = simulation_inputs(u[:, None], t, 1, {"u": "hold"})
    both = delayed_inputs(held, ["u"], [Delay("u", "tau", 0.33)], has_time=False)
    s = np.linspace(0, 5, 4001)[None]
    np.testing.assert_array_equal(both.at(s)[0, :, 1], (s[0] >= 2.33).astype(float))
    smooth = simulation_inputs(np.sin(t)[:, None], t, 1, {"u": "cubic"})
    both = delayed_inputs(smooth, ["u"], [Delay("u", "tau", 0.33)], has_time=False)
    later = s[:, s[0] >= 0.33]
    np.testing.assert_allclose(
        both.at(later)[0, :, 1], smooth.at(later - 0.33)[0, :, 0], atol=1e-12
    )


def test_the_method_of_steps_against_the_exact_solution():
    """x' = -x(t - 1) with x = 1 before zero has polynomial solutions between whole times."""
    t = np.linspace(0, 6, 241)
    model = og.OrthoReg("x(t - 1)", og.Zero(), physics=og.Physics(equations={"x": "-x(t - 1)"}))
    model = model.fit(og.Dataset.from_arrays(np.cos(np.pi / 2 * t)[:, None], t, names=["x"]))
    assert model.equations() == ["x' = -x(t - 1) (given)"]
    x = model.simulate([1.0], t).x[:, 0]
    one, two = t <= 1, (t > 1) & (t <= 2)
    np.testing.assert_allclose(x[one], 1 - t[one], atol=1e-9)
    np.testing.assert_allclose(x[two], 1 - t[two] + (t[two] - 1) ** 2 / 2, atol=1e-9)
    wave = model.simulate([0.0], t, history=lambda s: np.sin(np.pi / 2 * s))
    with pytest.raises(InputError, match="history must cover"):
        model.simulate(
            [1.0], t, history=og.Dataset.from_arrays(np.cos(t)[:, None], t + 1, names=["x"])
        )
    exact = model.simulate([1.0], t, history=lambda s: np.cos(np.pi / 2 * s))
    assert wave.completed and exact.completed
    assert np.abs(exact.x[:, 0] - x).max() > 0.1  # the history matters


def test_an_input_without_delay_is_the_input():
    t = np.linspace(0, 5, 101)
    data = og.Dataset.from_arrays(
        np.cos(t)[:, None], t, np.sin(t)[:, None], names=["x"], input_names=["u"]
    )
    delayed = with_delays(data, [Delay("u", "tau", 0.0)])
    np.testing.assert_allclose(delayed.inputs[:, 1], delayed.inputs[:, 0], atol=1e-12)
    assert run_inputs(delayed, {"u": "cubic", "u(t - tau)": "cubic"}).size == 2
