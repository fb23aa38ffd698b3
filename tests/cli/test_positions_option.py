"""`--positions` in fits, simulations and evaluations of tables without velocities."""

import html
import json
import re

import numpy as np
import pytest

from orthoreg.cli import run
from orthoreg.data import write_table

COLUMNS = ["--time", "t", "--group", "run", "--library", "poly(3)"]
ONE = 0.05 * np.arange(150)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """x'' = -4 x in three runs, with its velocity under another name."""
    path = tmp_path_factory.mktemp("positions") / "runs.csv"
    size = np.repeat([1.0, 2.0, 0.5], len(ONE))
    t = np.tile(ONE, 3)
    columns = {"run": np.repeat([0, 1, 2], len(ONE)), "t": t, "x": size * np.cos(2 * t)}
    write_table(path, columns | {"v": -2 * size * np.sin(2 * t), "flat": 0 * t})
    return path


@pytest.fixture(scope="module")
def fitted(table):
    out = table.parent / "out"
    assert run(["fit", str(table), *COLUMNS, "--positions", "x", "--out", str(out)]) == 0
    return out / "runs.orthoreg"


def test_fit_prints_one_equation(fitted, capsys):
    assert (fitted.parent / "equations.txt").read_text() == "x'' = -4.000 x\n"
    assert run(["show", str(fitted)]) == 0
    printed = capsys.readouterr().out
    assert "x'' = -4.000 x" in printed and "x' = x_dot is given, not learned" in printed
    assert run(["show", str(fitted), "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["velocity_of"] == {"x": "x_dot"} and values["estimated"] == ["x_dot"]
    assert values["coefficients"]["x"] == {"x_dot": 1.0}
    assert list(values["terms"]) == ["x_dot"]


def test_simulate_starts_from_position_and_velocity(fitted, capsys):
    options = ["--start", "1,0", "--until", "3", "--step", "0.5", "--json"]
    assert run(["simulate", str(fitted), *options]) == 0
    trajectory = json.loads(capsys.readouterr().out)["trajectory"]
    np.testing.assert_allclose(trajectory["x"], np.cos(np.arange(0, 7)), atol=1e-3)
    assert run(["simulate", str(fitted), *options[2:], "--start", "1"]) == 2
    assert "2 numbers (x, x_dot)" in capsys.readouterr().err


def test_evaluate_and_adapt_read_positions_alone(fitted, table, capsys, tmp_path):
    assert run(["evaluate", str(fitted), str(table), "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["forecast_error"] < 1e-3 and values["r2"] > 0.9999
    assert list(values["derivative_error_by_equation"]) == ["x_dot"]
    adapted = tmp_path / "new.orthoreg"
    assert run(["adapt", str(fitted), str(table), "--out", str(adapted), "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["equations"] == ["x'' = -4.000 x"]
    assert values["coefficients"]["x"] == {"x_dot": 1.0}


def test_a_measured_velocity_is_named_beside_its_position(table, capsys, tmp_path):
    options = ["--positions", "x:v", "--out", str(tmp_path), "--json"]
    assert run(["fit", str(table), *COLUMNS, *options]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["equations"] == ["x' = v", "v' = -4.000 x"]
    assert values["velocity_of"] == {"x": "v"} and values["estimated"] == []
    assert run(["evaluate", values["model"], str(table)]) == 0


def test_advice_names_the_option(table, capsys, tmp_path):
    options = ["--states", "x", "--out", str(tmp_path), "--json"]
    assert run(["fit", str(table), *COLUMNS, *options]) == 0
    (advice, *_) = json.loads(capsys.readouterr().out)["advice"]
    assert advice["code"] == "second-order"
    assert "--positions x" in advice["text"] and "Dataset.from_positions" in advice["text"]


def test_an_input_that_ends_early_is_named(tmp_path, capsys):
    rows = "".join(f"{i},{np.sin(0.2 * i)},{i if i < 8 else ''}\n" for i in range(20))
    (tmp_path / "runs.csv").write_text("t,x,u\n" + rows)
    options = ["--time", "t", "--positions", "x", "--inputs", "u", "--out", str(tmp_path / "out")]
    assert run(["fit", str(tmp_path / "runs.csv"), *options]) == 2
    assert "line 10: column 'u' ends here, 12 rows before" in capsys.readouterr().err


@pytest.mark.parametrize(
    "options, words",
    [
        ([], "--states must name at least one column; pass --positions"),
        (["--positions", "x", "--states", "x,v"], "'x' was chosen twice"),
        (["--positions", "x", "--inputs", "x"], "'x' was chosen twice"),
        (["--positions", "xx"], "no column 'xx'"),
        (["--positions", "x:"], "--positions must name columns, such as theta, or theta:omega"),
        (["--positions", "x,x"], "--positions must be distinct"),
        (["--positions", "flat"], "position 'flat' never changes within a run"),
        (["--positions", "x", "--derivatives", "v"], "--derivatives must be omitted"),
    ],
)
def test_mistakes_get_one_sentence(table, capsys, tmp_path, options, words):
    assert run(["fit", str(table), *COLUMNS, *options, "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert words in error and error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_order(tmp_path, capsys):
    """The sum of two oscillations satisfies x'''' = -5 x'' - 4 x."""
    path, t = tmp_path / "two.csv", 0.05 * np.arange(600)
    write_table(path, {"t": t, "x": np.cos(t) + 0.5 * np.cos(2 * t)})
    options = ["--time", "t", "--positions", "x", "--library", "poly(1)", "--out", str(tmp_path)]
    assert run(["fit", str(path), *options, "--order", "4"]) == 0
    text = (tmp_path / "equations.txt").read_text()
    assert re.fullmatch(r"x'{4} = -4\.00\d x - 5\.00\d x_ddot\n", text)
    assert run(["evaluate", str(tmp_path / "two.orthoreg"), str(path)]) == 0
    capsys.readouterr()
    assert run(["fit", str(path), *options, "--order", "9"]) == 2
    assert "--order must be a whole number from 2 to 4; got 9." in capsys.readouterr().err


def test_a_hidden_state_without_equation(tmp_path, capsys):
    path, t = tmp_path / "wave.csv", 0.05 * np.arange(400)
    write_table(path, {"t": t, "x": np.cos(2 * t)})
    options = ["--time", "t", "--states", "x", "--library", "poly(1)", "--out", str(tmp_path)]
    assert run(["fit", str(path), *options, "--hidden", "h"]) == 0
    assert (tmp_path / "equations.txt").read_text() == "x' = h\nh' = -4.000 x\n"
    report = html.unescape((tmp_path / "report.html").read_text())
    assert "time='t', states=['x'], hidden=['h'])" in report
    capsys.readouterr()
    assert run(["evaluate", str(tmp_path / "wave.orthoreg"), str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["forecast_error"] < 1e-3
