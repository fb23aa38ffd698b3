"""Units in equations with several derivatives, and of constants per run, wherever they are
printed."""

import json

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import orthoreg as og
from orthoreg.cli import run
from orthoreg.data import write_table

UNITS = {"t": "s", "x": "m", "a": "rad", "v": "m/s", "w": "rad/s", "u": "N"}


def cart(z, force):
    """Return the rates of a cart with a pendulum."""
    _, a, v, w = z
    mass = np.array([[1.5, 0.15 * np.cos(a)], [0.15 * np.cos(a), 0.075]])
    right = [force + 0.15 * w**2 * np.sin(a) - 0.3 * v, -1.47 * np.sin(a) - 0.01 * w]
    return [v, w, *np.linalg.solve(mass, right)]


@pytest.fixture(scope="module")
def model():
    pytest.importorskip("pint")
    rng, t, runs, forces = np.random.default_rng(0), np.arange(0, 5, 0.05), [], []
    for start in ([0, 0.5, 0, 0], [0.5, 2.5, 0, 0]):
        u = 2 * np.sin(rng.uniform(1, 3) * t + rng.uniform(0, 6))
        x = solve_ivp(
            lambda s, z: cart(z, np.interp(s, t, u)),  # noqa: B023
            (0, t[-1]), start, t_eval=t, rtol=1e-8, atol=1e-9,
        ).y.T  # fmt: skip
        runs.append(x + 0.01 * x.std(axis=0) * rng.standard_normal(x.shape))
        forces.append(u[:, None])
    data = og.Dataset.from_arrays(
        runs, t, u=forces, names=["x", "a", "v", "w"], input_names=["u"], units=UNITS
    )
    equations = ["x' = v", "a' = w", "M*v' + q*cos(a)*w' = u + q*w^2*sin(a) - b*v",
                 "J*w' + q*cos(a)*v' = -G*sin(a) - c*w"]  # fmt: skip
    physics = og.Physics(equations=equations)
    return og.OrthoReg(augmentation=og.Zero(), physics=physics).fit(data)


def test_numbers_of_coupled_equations_have_units(model):
    *_, first, second = model.equations(3)
    assert first.split(" = ")[0] == "1.5 [N·s²/m] v' + 0.15 [N·s²] w'*cos(a)"
    assert "u - 0.3" in first and "[N·s/m] v + 0.15 [N·s²] w**2*sin(a)" in first
    assert "[m·N·s²] w'" in second and "[m·N] sin(a)" in second and "[m·N·s] w" in second


def test_the_solved_form_has_no_factor_with_a_unit(model):
    rates = model.to_latex()[2:]
    assert all(line.split("=")[1].strip().startswith(r"\frac") for line in rates)
    units = model.coefficient_units_
    assert units.text(2, int(np.flatnonzero(model.support_[2])[0])) == "1"


def test_coupled_equations_are_printed_in_other_units(model):
    other = model.in_units({"m": "cm"})
    *_, first, second = other.equations(3)
    assert first.startswith("0.015 [N·s²/cm] v'")
    assert second.startswith("7.5") and "[N·cm] sin(a)" in second.replace("cm·N", "N·cm")
    assert other.printed_constants()["G"] == pytest.approx(100 * model.parameters_["G"])
    assert model.printed_constants() == model.parameters_
    state, force = np.array([[0.0, 0.3, 0.0, 0.0]]), np.array([[1.0]])
    assert np.array_equal(other.predict(state, u=force), model.predict(state, u=force))


def test_constants_per_run_have_units_in_the_terminal_and_in_json(tmp_path, capsys):
    pytest.importorskip("pint")
    rng, rows = np.random.default_rng(1), {"run": [], "t [s]": [], "x [m]": []}
    t = np.arange(0, 4, 0.05)
    for number, rate in enumerate((0.5, 0.8, 1.1, 1.4)):
        rows["run"] += [number] * len(t)
        rows["t [s]"] += t.tolist()
        rows["x [m]"] += (np.exp(-rate * t) + 0.005 * rng.standard_normal(len(t))).tolist()
    write_table(tmp_path / "r.csv", {name: np.array(column) for name, column in rows.items()})
    command = ["fit", str(tmp_path / "r.csv"), "--time", "t", "--states", "x", "--group", "run",
               "--known", "x' = -k*x", "--per-run", "k", "--units", "s->min",
               "--out", str(tmp_path / "out")]  # fmt: skip
    assert run(command) == 0
    assert "k [1/min]" in capsys.readouterr().out
    assert run([*command, "--json"]) == 0
    constant = json.loads(capsys.readouterr().out)["per_run"]["k"]
    assert constant["unit"] == "1/min"
    assert constant["runs"]["0"]["value"] == pytest.approx(30, rel=0.05)
    assert 30 < constant["median"] < 84
