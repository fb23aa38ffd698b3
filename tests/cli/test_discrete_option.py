"""The option --discrete fits maps."""

import json

import numpy as np
import pytest

from orthoreg.cli import run
from orthoreg.data import write_table


def logistic(rows=200):
    x = [0.3]
    for _ in range(rows - 1):
        x.append(3.7 * x[-1] * (1 - x[-1]))
    return np.array(x)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("maps") / "counts.csv"
    write_table(path, {"year": 1900.0 + np.arange(200), "x": logistic()})
    return path


@pytest.fixture(scope="module")
def fitted(table):
    out = table.parent / "out"
    options = ["--time", "year", "--states", "x", "--library", "poly(2)", "--discrete"]
    assert run(["fit", str(table), *options, "--residual", "0", "--out", str(out)]) == 0
    return out / "counts.orthoreg"


def test_fit_prints_a_map(fitted, capsys):
    assert (fitted.parent / "equations.txt").read_text() == "x[k+1] = 3.700 x - 3.700 x**2\n"
    assert run(["show", str(fitted), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["equations"] == ["x[k+1] = 3.700 x - 3.700 x**2"]
    assert list(shown["terms"]) == ["x"]


def test_simulate_takes_whole_steps(fitted, capsys):
    options = ["--start", "0.3", "--until", "5", "--json", "--step"]
    assert run(["simulate", str(fitted), *options, "1"]) == 0
    trajectory = json.loads(capsys.readouterr().out)["trajectory"]
    np.testing.assert_allclose(trajectory["x"], logistic(6), atol=1e-6)
    assert run(["simulate", str(fitted), *options, "0.4"]) == 2
    assert "whole steps of 1" in capsys.readouterr().err


def test_evaluate_reads_the_table_as_a_map(fitted, table, capsys):
    assert run(["evaluate", str(fitted), str(table), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["derivative_error"] < 1e-9


@pytest.mark.parametrize(
    ("times", "options", "words"),
    [
        (np.arange(50) ** 1.3, ["--states", "x"], "needs equal time steps"),
        (np.arange(50.0), ["--positions", "x"], "--positions must be omitted with --discrete"),
        (np.arange(50.0), ["--states", "x", "--fill"], "--fill must be omitted with --discrete"),
    ],
)
def test_mistakes_are_one_sentence(tmp_path, capsys, times, options, words):
    path = tmp_path / "table.csv"
    write_table(path, {"t": times, "x": logistic(50)})
    command = [
        "fit",
        str(path),
        "--time",
        "t",
        *options,
        "--discrete",
        "--out",
        str(tmp_path / "o"),
    ]
    assert run(command) == 2
    printed = capsys.readouterr()
    assert words in printed.err and printed.out == "" and "discrete=True" not in printed.err


def test_known_equations_have_the_left_side_of_a_map(table, tmp_path, capsys):
    command = ["fit", str(table), "--time", "year", "--states", "x", "--out", str(tmp_path / "o")]
    assert run([*command, "--known", "x[k+1] = r*x*(1 - x)", "--discrete", "--json"]) == 0
    fitted = json.loads(capsys.readouterr().out)
    assert fitted["parameters"]["r"]["value"] == pytest.approx(3.7, rel=1e-6)
    assert run([*command, "--known", "x' = r*x", "--discrete"]) == 2
    assert 'must have the form "x[k+1] = r*x"' in capsys.readouterr().err
    assert run([*command, "--known", "x[k+1] = r*x"]) == 2
    assert "add --discrete" in capsys.readouterr().err


def test_a_table_without_times(tmp_path, capsys):
    path = tmp_path / "counts.csv"
    write_table(path, {"x": logistic()})
    options = ["--states", "x", "--library", "poly(2)", "--residual", "0", "--out", str(tmp_path)]
    assert run(["fit", str(path), *options]) == 2
    assert "--time must name" in capsys.readouterr().err
    assert run(["fit", str(path), "--discrete", *options]) == 0
    assert (tmp_path / "equations.txt").read_text() == "x[k+1] = 3.700 x - 3.700 x**2\n"
    assert "time=" not in (tmp_path / "report.html").read_text()
    capsys.readouterr()
    assert run(["evaluate", str(tmp_path / "counts.orthoreg"), str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["derivative_error"] < 1e-9
