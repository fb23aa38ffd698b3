"""`orthoreg show` prints the summary that a model file contains."""

import json

import numpy as np
import pytest

import orthoreg as og
from orthoreg.cli import run
from orthoreg.data import write_table


@pytest.fixture(scope="module")
def angles(tmp_path_factory):
    """A table of angles without velocities, and the output of `fit` as text and JSON."""
    path = tmp_path_factory.mktemp("show") / "angles.csv"
    times = np.linspace(0, 25, 300)
    columns = {"run": np.repeat([0, 1, 2], 300), "t": np.tile(times, 3)}
    theta = np.concatenate([size * np.cos(times + size) for size in (0.5, 1.0, 1.5)])
    write_table(path, columns | {"theta": theta})
    return path


def fit(path, *options):
    columns = ["--time", "t", "--states", "theta", "--group", "run", "--residual", "0"]
    return run(["fit", str(path), *columns, "--out", str(path.parent / "out"), *options])


def show(path, *options):
    return run(["show", str(path.parent / "out" / "angles.orthoreg"), *options])


def test_a_fit_that_fails_says_so_and_what_to_do(angles, capsys):
    assert fit(angles) == 0
    out = capsys.readouterr().out
    assert "theta' = 0" in out and "The equations do not explain theta': the misfit of its" in out
    assert "1. theta' is not a function of the given columns" in out and "[second-order]" in out
    assert "explains" not in out.replace("columns and rates together explain", "")


def test_show_prints_what_fit_printed(angles, capsys):
    assert fit(angles) == 0
    fitted = capsys.readouterr().out.splitlines()
    assert show(angles) == 0
    shown = capsys.readouterr().out.splitlines()
    begin, end = (
        fitted.index("Equations"),
        fitted.index("Forecasts of training runs from their first rows"),
    )
    assert shown[: end - begin] == fitted[begin:end]


def test_show_has_the_same_values_for_programs(angles, capsys):
    assert fit(angles, "--json") == 0
    fitted = json.loads(capsys.readouterr().out)
    assert show(angles, "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    for key in ("equations", "coefficients", "certificate", "verdict", "advice", "summary"):
        assert shown[key] == fitted[key]
    assert [one["code"] for one in shown["advice"]] == ["second-order", "explain"]


def test_intervals_and_probabilities_are_kept(tmp_path, capsys):
    times = np.linspace(0, 6, 60)
    runs = [np.column_stack([a * np.cos(times), -a * np.sin(times)]) for a in (0.5, 1.0, 1.5)]
    og.OrthoReg(og.Polynomial(1), og.Zero()).fit(runs, t=times).save(tmp_path / "m.orthoreg")
    assert run(["show", str(tmp_path / "m.orthoreg"), "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    term = values["terms"]["x0"]["x1"]
    assert term["probability"] == 1 and term["low"] <= term["coefficient"] <= term["high"]
    assert values["summary"]["source"] is None
    assert run(["show", str(tmp_path / "m.orthoreg")]) == 0
    out = capsys.readouterr().out
    assert "95% interval" in out and "This summary covers the fit alone" in out


def test_mistakes_get_one_sentence(tmp_path, capsys):
    assert run(["show", str(tmp_path / "none.orthoreg")]) == 2
    assert "no model file" in capsys.readouterr().err
