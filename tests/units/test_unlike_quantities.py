"""Inputs that combine unlike quantities are refused in one sentence, with both units."""

import numpy as np
import pytest

import orthoreg as og
from orthoreg._common.errors import InputError

UNITS = {
    "t": "s", "x": "m", "v": "m/s", "theta": "rad", "phi": "deg", "omega": "rad/s", "T": "degC",
    "Ta": "K", "S": "g/L", "p": "bar", "I": "A", "U": "V", "y": "mm",
}  # fmt: skip
NAMES = [name for name in UNITS if name != "t"]


@pytest.fixture(scope="module")
def data():
    times = np.linspace(0, 1, 30)
    phases = np.arange(1, len(NAMES) + 1)
    states = 2 + np.sin(np.outer(times, phases))
    return og.Dataset.from_arrays(states, times, names=NAMES, units=UNITS)


EQUATIONS = [
    ({"v": "x + ..."}, ("m/s²", "[m]")),
    ({"x": "v + x"}, ("m/s", "[m]")),
    ({"v": "-k*(x + v)"}, ("[m]", "m/s")),
    ({"x": "S"}, ("m/s", "g/L")),
    ({"x": "v", "v": "-x"}, ("m/s²", "[m]")),
    ({"omega": "-k*sin(x)"}, ("[m]",)),
    ({"omega": "-k*sin(phi)"}, ("deg",)),
    ({"omega": "-k*cos(omega)"}, ("rad/s",)),
    ({"v": "a_0*exp(-S)"}, ("g/L",)),
    ({"v": "a_0*log(p)"}, ("bar",)),
    ({"v": "a_0*tanh(v)"}, ("m/s",)),
    ({"S": "-r*S/(1 + S)"}, ("[1]", "g/L")),
    ({"S": "-r*S/(x + S)"}, ("[m]", "g/L")),
    ({"T": "-k*(T - Ta)"}, ("degC", "[K]")),
    ({"S": "-r*exp(-E/T)*S"}, ("degC",)),
    ({"T": "-k*sqrt(T)"}, ("degC",)),
    ({"v": "c*x**v"}, ("m/s",)),
    ({"v": "-k*x - k*v"}, ("m/s²", "m/s]")),
    ({"I": "(U - R*I - R*U)/L_1"}, ("V",)),
    ({"v": "-k*(x - y)"}, ("[m]", "mm")),
    ({"x": "abs(x)*v/S + v"}, ("m/s",)),
    (["v' + omega' = -c*v", "omega' = -b*omega"], ("rad/s²",)),
]


@pytest.mark.parametrize(("equations", "units"), EQUATIONS)
def test_known_equations(data, equations, units):
    refused(data, units, physics=og.Physics(equations=equations))


FIELDS = [
    ({"conserved": ["x + v"]}, ("[m]", "m/s")),
    ({"conserved": ["I + U"]}, ("[A]", "[V]")),
    ({"relations": ["coef(x, x) = -coef(v, x)"]}, ("1/s", "1/s²")),
    ({"relations": ["coef(I, U) + coef(U, I) = 0"]}, ("A/(s·V)", "V/(s·A)")),
    ({"start": {"x": "v"}}, ("[m]", "m/s")),
    ({"start": {"U": "U + I"}}, ("[V]", "[A]")),
]


@pytest.mark.parametrize(("fields", "units"), FIELDS)
def test_other_knowledge(data, fields, units):
    refused(data, units, physics=og.Physics(**fields))


@pytest.mark.parametrize(
    ("library", "units"),
    [
        ("sin(x)", ("[m]",)),
        ("poly(1) + S/(x + S)", ("[m]", "g/L")),
        ("exp(v)", ("m/s",)),
        ("log(T)", ("degC",)),
        ("x**2 + v*sin(phi)", ("deg",)),
        ("1/(1 + p)", ("bar",)),
    ],
)
def test_formulas_of_a_library(data, library, units):
    refused(data, units, library=library)


def refused(data, units, **settings):
    with pytest.raises(InputError) as error:
        og.OrthoReg(augmentation=og.Zero(), **settings).fit(data)
    text = str(error.value)
    assert text.endswith(".") and ". " not in text and "\n" not in text, text
    assert all(unit in text for unit in units), text


def test_a_velocity_in_another_unit_than_its_position():
    times = np.linspace(0, 1, 30)
    table = {"t [s]": times, "theta [deg]": np.sin(times), "omega [rpm]": np.cos(times) / 6}
    data = og.read_table(table, time="t", positions={"theta": "omega"})
    with pytest.raises(InputError, match=r"'omega' is in rpm, but .* deg/s, .* 6 times .*\.$"):
        og.OrthoReg().fit(data)


@pytest.mark.parametrize(
    "equations",
    [
        {"v": "-k/m_1*x - c*v"},  # only one product of constants is known
        {"v": "-4*x - 0.2*v"},  # a number is a coefficient, which has a unit
        {"x": "v"},
        {"omega": "-k*sin(theta) - c*omega"},
        {"S": "-r*S/(K + S)"},
        {"v": "a_0*exp(-x/L_1)"},
        {"T": "-k*T + q"},
    ],
)
def test_sensible_equations_pass(data, equations):
    og.physics.unit_algebra(og.Physics(equations=equations), og.Polynomial(1), data.schema)


def test_unknown_units_are_not_compared(data):
    plain = data.with_parts(units={"x": "m", "v": "knobs", "t": "s"})
    physics = og.Physics(conserved=["x + v"])
    assert og.physics.unit_algebra(physics, None, plain.schema) is not None


def test_units_of_constants_are_compared(data):
    physics = og.Physics(
        equations={"omega": "-g/L_1*sin(theta) - c*omega"}, values={"g": "9.81 m/s^2"}
    )
    assert physics == og.Physics(
        equations={"omega": "-g/L_1*sin(theta) - c*omega"},
        values={"g": 9.81},
        units={"g": "m/s^2"},
    )
    algebra = og.physics.unit_algebra(physics, None, data.schema)
    assert algebra.units.text(algebra.constants["L_1"]) == "m"
    wrong = og.Physics(equations={"omega": "-g/L_1*sin(theta)"},
                       values={"g": "9.81 m/s^2", "L_1": "2 kg"})  # fmt: skip
    refused(data, ("rad/s²", "m/(kg·s²)"), physics=wrong)
    unreadable = og.Physics(equations={"omega": "-g*sin(theta)"}, values={"g": "9.81 knobs"})
    refused(data, ("knobs",), physics=unreadable)
    unused = og.Physics(equations={"omega": "-g*sin(theta)"}, units={"h": "m"})
    refused(data, ("'h'",), physics=unused)
