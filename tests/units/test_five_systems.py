"""Five systems with units in the header: units of coefficients in every kind of output."""

import json
from typing import NamedTuple

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import orthoreg as og
from orthoreg.cli import run as main
from orthoreg.data import is_same, known_unit


def table(flow, starts, until, count, names, given=()):
    """Return runs as a table with a column `run`. `given` are the inputs as functions of time."""
    times, parts = np.linspace(0, until, count), []
    for run, start in enumerate(starts):
        solution = solve_ivp(flow, (0, until), start, t_eval=times, rtol=1e-9, atol=1e-10)
        inputs = [np.broadcast_to(column(times), times.shape) for column in given]
        parts.append(np.array([times, *solution.y, *inputs, np.full(count, float(run))]))
    return dict(zip((*names, "run"), np.concatenate(parts, axis=1), strict=True))


class Case(NamedTuple):
    table: dict
    columns: dict  # arguments of read_table
    model: dict  # arguments of OrthoReg
    expected: dict  # (equation, term): (value, unit)


def pendulum() -> Case:
    flow = lambda t, x: [x[1], -np.degrees(9.81 * np.sin(np.radians(x[0]))) - 0.3 * x[1]]  # noqa: E731
    columns = table(flow, [[100, 0], [40, 100]], 8, 400, ["t [s]", "theta [deg]", "omega [deg/s]"])
    return Case(
        columns,
        {"states": ["theta", "omega"], "units": {"theta": "rad", "omega": "rad/s"}},
        {},
        {
            ("theta", "omega"): (1.0, "dimensionless"),
            ("omega", "omega"): (-0.3, "1/s"),
            ("omega", "sin(theta)"): (-9.81, "rad/s^2"),
        },
    )


def rlc() -> Case:
    """L i' = u - R i - q/C with L = 0.5 H, R = 2 ohm, C = 0.1 F, in mA, mC and ms."""
    drive = lambda t: 5 * np.sin(3e-3 * t)  # noqa: E731
    flow = lambda t, x: [1e-3 * x[1], 1e-3 * (1e3 * drive(t) - 2 * x[1] - x[0] / 0.1) / 0.5]  # noqa: E731
    columns = table(
        flow, [[0, 0], [50, 100]], 6000, 600, ["t [ms]", "q [mC]", "i [mA]", "u [V]"], [drive]
    )
    return Case(
        columns,
        {"states": ["q", "i"], "inputs": ["u"]},
        {"library": "poly(1)"},
        {
            ("q", "i"): (1e-3, "mC/(mA*ms)"),
            ("i", "u"): (2.0, "mA/(V*ms)"),
            ("i", "i"): (-4e-3, "1/ms"),
            ("i", "q"): (-0.02, "mA/(mC*ms)"),
        },
    )


def heat() -> Case:
    """Two blocks at temperatures in degC exchange heat with each other and with the room."""
    power = lambda t: 20 + 15 * np.sin(0.7 * t)  # noqa: E731

    def flow(t, x):
        return [0.05 * power(t) - 0.3 * (x[0] - x[1]), 0.2 * (x[0] - x[1]) - 0.1 * (x[1] - 21)]

    names = ["time [min]", "T1 [degC]", "T2 [degC]", "P [W]"]
    return Case(
        table(flow, [[60, 21], [25, 40]], 30, 400, names, [power]),
        {"states": ["T1", "T2"], "inputs": ["P"]},
        {"library": "poly(1)"},
        {
            ("T1", "P"): (0.05, "delta_degC/(W*min)"),
            ("T1", "T1"): (-0.3, "1/min"),
            ("T1", "T2"): (0.3, "1/min"),
            ("T2", "T1"): (0.2, "1/min"),
            ("T2", "T2"): (-0.3, "1/min"),
            ("T2", "1"): (2.1, "delta_degC/min"),
        },
    )


def chemostat() -> Case:
    def flow(t, x):
        growth = 0.5 * x[1] / (0.3 + x[1]) * x[0]
        return [growth - 0.2 * x[0], 0.2 * (4 - x[1]) - 2 * growth]

    columns = table(flow, [[0.2, 3], [1.0, 0.2]], 30, 300, ["t [h]", "X [g/L]", "S [g/L]"])
    return Case(
        columns,
        {"states": ["X", "S"]},
        {"library": "poly(1) + X*S/(K + S)"},
        {
            ("X", "X"): (-0.2, "1/h"),
            ("X", "X*S/(S + K)"): (0.5, "1/h"),
            ("S", "S"): (-0.2, "1/h"),
            ("S", "1"): (0.8, "g/(L*h)"),
            ("S", "X*S/(S + K)"): (-1.0, "1/h"),
        },
    )


def drone() -> Case:
    """Tilt [deg], rotor speed [rpm], pressure [bar] and temperature [degC] of an actuator."""
    throttle = lambda t: 1 + 0.8 * np.sin(1.3 * t)  # noqa: E731

    def flow(t, x):
        tilt, rate, speed, pressure, heat = x
        return [
            rate,
            -40 * np.sin(np.radians(tilt)) - 0.5 * rate + 2e-6 * speed**2,
            -0.8 * speed + 2000 * throttle(t),
            0.3 * throttle(t) - 0.2 * pressure,
            0.02 * pressure * speed / 100 - 0.1 * (heat - 20),
        ]

    names = ["t [s]", "tilt [deg]", "q [deg/s]", "n [rpm]", "p [bar]", "T [degC]", "u [V]"]
    starts = [[30, 0, 2000, 1.0, 25], [-50, 40, 3000, 2.0, 40], [80, -20, 1500, 0.5, 20]]
    library = og.PerState({"q": "poly(1) + n**2 + sin(tilt)", "T": "poly(2)"}, default="poly(1)")
    return Case(
        table(flow, starts, 12, 400, names, [throttle]),
        {
            "positions": {"tilt": "q"}, "states": ["n", "p", "T"], "inputs": ["u"],
            "units": {"tilt": "rad", "q": "rad/s"},
        },
        {"library": library},
        {
            ("q", "sin(tilt)"): (-np.radians(40), "rad/s^2"),
            ("q", "q"): (-0.5, "1/s"),
            ("q", "n**2"): (np.radians(2e-6), "rad/(s^2*rpm^2)"),
            ("n", "n"): (-0.8, "1/s"),
            ("n", "u"): (2000, "rpm/(V*s)"),
            ("p", "p"): (-0.2, "1/s"),
            ("p", "u"): (0.3, "bar/(V*s)"),
            ("T", "n*p"): (2e-4, "delta_degC/(s*rpm*bar)"),
            ("T", "T"): (-0.1, "1/s"),
            ("T", "1"): (2.0, "delta_degC/s"),
        },
    )  # fmt: skip


CASES = (pendulum, rlc, heat, chemostat, drone)


@pytest.fixture(scope="module", params=CASES, ids=lambda case: case.__name__)
def fitted(request):
    case = request.param()
    time = next(iter(case.table)).split()[0]
    data = og.read_table(case.table, time=time, group="run", **case.columns)
    return case, og.OrthoReg(augmentation=og.Zero(), **case.model).fit(data), data


def test_values_and_units(fitted):
    case, model, _ = fitted
    units = model.coefficient_units_
    for (equation, term), (value, text) in case.expected.items():
        c, k = model.output_names_.index(equation), model.feature_names_.index(term)
        unit = units.units.rate(equation)
        assert model.coefficients_[c, k] == pytest.approx(value, rel=1e-3), (equation, term)
        assert unit is not None and is_same(known_unit(units.text(c, k) or "m"), known_unit(text))
    used = {
        (model.output_names_[c], model.feature_names_[k])
        for c, k in np.argwhere(model.support_).tolist()
    }
    given = set(model.velocity_of_.items())
    assert used - given == set(case.expected)


def test_the_units_of_both_sides_agree(fitted):
    """The printed units times the units of the terms are those of the left-hand side."""
    _, model, _ = fitted
    units = model.coefficient_units_
    for c, k in np.argwhere(model.support_).tolist():
        product = known_unit(units.text(c, k) or "1")
        term = units._of_term(model.field_.features.terms[k])
        assert is_same(product * term, units.units.rate(model.output_names_[c]))


def test_every_form_has_every_unit(fitted):
    _, model, data = fitted
    summary = model.summary(data)
    text, latex, values = str(summary), " ".join(model.to_latex()), summary.to_dict()
    for row in values["terms"]:
        if row["coefficient"] and row["unit"] != "1":
            assert f"[{row['unit']}]" in text
            assert latex.count(r"\mathrm{") >= 1
    assert all(row["unit"] for row in values["terms"])


def test_the_command_line_writes_units(tmp_path, capsys):
    case = pendulum()
    file, out = tmp_path / "pendulum.csv", tmp_path / "out"
    rows = np.column_stack(list(case.table.values()))
    np.savetxt(file, rows, delimiter=",", header=",".join(case.table), comments="")
    arguments = ["fit", str(file), "--time", "t", "--states", "theta,omega", "--group",
                 "run", "--out", str(out), "--json", "--units",
                 "theta=rad,omega=rad/s,rad->deg"]  # fmt: skip
    assert main(arguments) == 0
    entries = json.loads(capsys.readouterr().out)
    assert entries["units"] == {"t": "s", "theta": "rad", "omega": "rad/s"}
    assert entries["coefficient_units"]["omega"] == {"omega": "1/s", "sin(theta)": "deg/s²"}
    value = entries["coefficients"]["omega"]["sin(theta)"]
    assert value == pytest.approx(-9.81 * 180 / np.pi, rel=1e-3)
    assert entries["terms"]["omega"]["sin(theta)"]["unit"] == "deg/s²"
    page = (out / "report.html").read_text()
    assert "<mtext>deg/s²</mtext>" in page and "\\mathrm{deg/s^{2}}" in page
    model = og.load(out / "pendulum.orthoreg")
    assert "[rad/s²] sin(theta)" in model.equations()[1]
    capsys.readouterr()
    assert main(["evaluate", str(out / "pendulum.orthoreg"), str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["forecast_error"] < 1e-3  # degrees are converted
    simulated = ["simulate", str(out / "pendulum.orthoreg"), "--start", "1,0", "--until", "1",
                 "--step", "0.5", "--units", "rad->deg", "--json"]  # fmt: skip
    assert main(simulated) == 0
    rollout = json.loads(capsys.readouterr().out)["trajectory"]
    assert rollout["theta"][0] == pytest.approx(180 / np.pi)


@pytest.mark.parametrize(
    ("units", "words"),
    [
        ("theta", "--units must be units of columns"),
        ("theta=kg", "different quantities"),
        ("rad->s", "different quantities"),
        ("theta=furlong/fortnight/x", "not a known unit"),
    ],
)
def test_wrong_units_on_the_command_line(tmp_path, capsys, units, words):
    case = pendulum()
    file = tmp_path / "pendulum.csv"
    rows = np.column_stack(list(case.table.values()))[:60]
    np.savetxt(file, rows, delimiter=",", header=",".join(case.table), comments="")
    arguments = ["fit", str(file), "--time", "t", "--states", "theta,omega", "--units", units]
    assert main([*arguments, "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert words in error and error.strip().count("\n") <= 2, error


def test_explain_names_a_sine_of_degrees_with_its_unit():
    case = pendulum()
    data = og.read_table(case.table, time="t", group="run", states=["theta", "omega"])
    model = og.OrthoReg("poly(1)").fit(data)
    found = model.explain(data)
    assert found.proposals[0].formula == "sin(0.01745*theta)"
    assert "[deg/s²] sin(0.01745*theta)" in found.proposals[0].text
    (coefficient, inner) = found.proposals[0].constants
    assert (coefficient.unit, inner.unit) == ("deg/s²", "1/deg")
    assert "1/deg" in str(found)
    accepted = found.accept(0)
    ((_, unit),) = accepted.coefficient_units_.algebra.constants.items()
    assert is_same(unit, known_unit("rad/deg"))


def test_discover_adds_only_like_quantities():
    case = chemostat()
    data = og.read_table(case.table, time="t", group="run", states=["X", "S"])
    for model in og.discover(data).models:
        units = model.coefficient_units_
        for k in np.flatnonzero(model.support_.any(axis=0)):
            units.algebra.of(
                model.field_.features.terms[k]
            )  # raises UnitError for unlike quantities
        assert all(constant.get("unit") for constant in model.constants())
