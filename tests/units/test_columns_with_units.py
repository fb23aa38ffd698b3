"""Units of columns, coefficients and constants, and how they are printed."""

import importlib.util
import json

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import orthoreg as og
from orthoreg.data import Delay, Schema, parse_unit, unit_converter, units_of
from orthoreg.physics import unit_algebra


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("m s-1", "m/s"), ("°", "deg"), ("m/s²", "m/s**2"), ("Ohm", "ohm"), ("µm", "um"),
        ("kg·m^2", "kg*m**2"), ("hours", "h"), ("°C", "degC"), ("1/min", "min^-1"),
    ],
)  # fmt: skip
def test_spellings_of_a_unit(text, other):
    assert parse_unit(text) == parse_unit(other) is not None


@pytest.mark.parametrize("text", ["cells/mL", "left", "a.u.", "dB", "px", "", "-"])
def test_text_that_is_no_unit(text):
    assert parse_unit(text) is None


def test_units_of_derived_columns():
    schema = Schema(
        state_names=("theta", "theta_dot", "T", "n"),
        units={"theta": "deg", "T": "°C", "t": "min", "n": "cells"},
        velocity_of={"theta": "theta_dot"},
    )
    units = units_of(schema)
    assert units.text(units.rate("theta_dot")) == "deg/min²"
    assert units.text(units.rate("T")) == "delta_degC/min"
    assert units.rate("n") is None and units.unreadable == ("cells",)


@pytest.mark.parametrize(
    ("given", "wanted", "number", "expected"),
    [
        ("degC", "K", 20.0, 293.15), ("degF", "degC", 212.0, 100.0), ("deg", "rad", 180.0, np.pi),
        ("bar", "kPa", 1.2, 120.0), ("rpm", "rad/s", 60.0, 2 * np.pi), ("h", "s", 2.0, 7200.0),
    ],
)  # fmt: skip
def test_conversion_of_numbers(given, wanted, number, expected):
    factor, offset = unit_converter("x", given, wanted)
    assert factor * number + offset == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("equation", "constant", "unit"),
    [
        ("-m_1*S/(K + S)*X", "K", "g/L"),
        ("-m_1*S/(K + S)*X", "m_1", "1/h"),
        ("a_0*exp(-x/L_1)", "L_1", "m"),
        ("a_0*sin(w*x + c)", "w", "1/m"),
        ("-k*S**2/(K**2 + S**2)", "K", "g/L"),
        ("-k*sqrt(S)", "k", "(g/L)^0.5/h"),
        ("-k*abs(S - S_0)", "S_0", "g/L"),
    ],
)
def test_units_of_constants_are_inferred(equation, constant, unit):
    schema = Schema(state_names=("S", "X", "x"), units={"S": "g/L", "X": "g/L", "x": "m", "t": "h"})
    algebra = unit_algebra(og.Physics(equations={"S": equation}), None, schema)
    expected = parse_unit(unit.replace("^", "**"))
    assert algebra.constants[constant].is_compatible_with(expected)
    assert (1 * algebra.constants[constant] / expected).to_base_units().magnitude == pytest.approx(
        1
    )


@pytest.fixture(scope="module")
def pendulum():
    times = np.linspace(0, 10, 400)
    states = solve_ivp(
        lambda t, x: [x[1], -9.81 * np.sin(x[0]) - 0.3 * x[1]], (0, 10), [2.0, 0.0],
        t_eval=times, rtol=1e-9, atol=1e-10,
    ).y  # fmt: skip
    return {"t [s]": times, "theta [rad]": states[0], "omega [rad/s]": states[1]}


@pytest.fixture(scope="module")
def model(pendulum):
    data = og.read_table(pendulum, time="t", states=["theta", "omega"])
    return og.OrthoReg(augmentation=og.Zero()).fit(data)


def test_every_form_prints_units(model):
    line = "omega' = -0.3000 [1/s] omega - 9.810 [rad/s²] sin(theta)"
    assert model.equations() == ["theta' = 1.000 omega", line]
    latex = r"- 9.810\,\mathrm{rad/s^{2}}\,\sin\left(\theta\right)"
    assert model.to_latex()[1].endswith(latex)
    assert "<mtext>rad/s²</mtext>" in model.to_mathml()[1]
    summary = model.summary()
    units = {(row.equation, row.term): row.unit for row in summary.terms if row.coefficient}
    assert units == {
        ("theta", "omega"): "1", ("omega", "omega"): "1/s", ("omega", "sin(theta)"): "rad/s²"
    }  # fmt: skip
    assert line in str(summary)
    assert [row["unit"] for row in json.loads(summary.to_json())["terms"] if row["coefficient"]]
    assert "sin(omega) and cos(omega) were not considered: by the units" in str(summary)


def test_conversion_on_output(model):
    shown = model.in_units({"rad": "deg"})
    assert shown.equations()[1] == "omega' = -0.3000 [1/s] omega - 562.1 [deg/s²] sin(theta)"
    rows = {(row.equation, row.term): row for row in shown.summary().terms}
    row = rows["omega", "sin(theta)"]
    assert row.coefficient == pytest.approx(-9.81 * 180 / np.pi, rel=1e-4)
    assert row.low < row.coefficient < row.high
    np.testing.assert_array_equal(shown.coefficients_, model.coefficients_)
    back = shown.in_units({})
    assert back.equations() == model.equations()


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ({"rad": "m"}, "different quantities"),
        ({"rad": "grad_"}, "not a unit"),
        ({"degC": "K"}, "zero"),
    ],
)
def test_impossible_conversions(model, wanted, words):
    with pytest.raises(ValueError, match=words):
        model.in_units(wanted)


def test_without_pint_headers_are_read_and_nothing_is_compared(pendulum, monkeypatch):
    find = importlib.util.find_spec
    parse_unit.cache_clear()
    for module in ("data._units", "_common.errors"):
        monkeypatch.setattr(
            f"orthoreg.{module}.find_spec", lambda name: None if name == "pint" else find(name)
        )
    data = og.read_table(pendulum, time="t", states=["theta", "omega"])
    assert data.units["theta"] == "rad"
    model = og.OrthoReg(augmentation=og.Zero()).fit(data)
    assert model.equations()[1] == "omega' = -0.3000 omega - 9.810 sin(theta)"
    with pytest.raises(ImportError, match=r"orthoreg\[units\]"):
        model.in_units({"rad": "deg"})
    parse_unit.cache_clear()


def test_without_units_nothing_is_printed(pendulum):
    plain = {name.split()[0]: column for name, column in pendulum.items()}
    data = og.read_table(plain, time="t", states=["theta", "omega"])
    model = og.OrthoReg(augmentation=og.Zero()).fit(data)
    assert model.equations()[1] == "omega' = -0.3000 omega - 9.810 sin(theta)"
    assert model.coefficient_units_ is None
    assert all(row.unit is None for row in model.summary().terms)


def test_constants_per_run_delays_and_hidden_states_have_units():
    times = np.linspace(0, 8, 200)
    runs = [np.exp(-k * times)[:, None] for k in (0.4, 0.6, 0.8)]
    data = og.Dataset.from_arrays(
        runs, times, names=["y"], units={"y": "g/L", "t": "h", "z": "g/L"}, hidden=["z"]
    )
    assert data.units["z"] == "g/L"
    data = og.Dataset.from_arrays(runs, times, names=["y"], units={"y": "g/L", "t": "h"})
    physics = og.Physics(equations={"y": "-k*y"}, per_run=["k"])
    model = og.OrthoReg(physics=physics).fit(data)
    assert model.coefficient_units_.of_constant("k") == "1/h"
    notes = "\n".join(model.in_units({"h": "d"}).summary().notes)
    assert "k has the median 13." in notes and "1/d and varies by" in notes
    schema = Schema(
        state_names=("y",), input_names=("u", "u(t - tau)"), units={"y": "m", "u": "V", "t": "s"},
        delays=(Delay("u", "tau", 0.5, False),),
    )  # fmt: skip
    algebra = unit_algebra(None, None, schema)
    assert algebra.constants["tau"] == parse_unit("s")
    assert algebra.units.of["u(t - tau)"] == parse_unit("V")
