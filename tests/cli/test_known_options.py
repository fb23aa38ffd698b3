"""Known physics in options of the command line and in a file."""

import json

import numpy as np
import pytest

import orthoreg as og
from orthoreg.cli import run
from orthoreg.data import write_table
from orthoreg.physics import parse_bound, parse_equation, parse_symmetry, physics_of, read_fields


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """x'' = -k/m x - 0.2 v with k = 2 and m = 0.5, from three starts."""
    t = np.linspace(0, 6, 151)
    rate = np.array([[0.0, 1.0], [-4.0, -0.2]])
    values, vectors = np.linalg.eig(rate)
    runs = []
    for start in ([1.0, 0.0], [0.5, 1.5], [-1.0, 1.0]):
        amplitude = np.linalg.solve(vectors, np.array(start, dtype=complex))
        runs.append((np.exp(np.outer(t, values)) * amplitude @ vectors.T).real)
    x = np.concatenate(runs)
    path = tmp_path_factory.mktemp("known") / "runs.csv"
    columns = {"run": np.repeat(np.arange(3), 151), "t": np.tile(t, 3), "x": x[:, 0], "v": x[:, 1]}
    write_table(path, columns)
    return path


def fit(table, folder, *options):
    base = ["fit", str(table), "--time", "t", "--states", "x,v", "--group", "run"]
    small = ["--library", "poly(2)", "--residual", "0", "--out", str(folder / "out")]
    return run([*base, *small, *options])


def test_equations_values_and_bounds_are_held_and_constants_printed(table, tmp_path, capsys):
    told = ["--known", "x' = v", "--known", "v' = -k/m*x + ...", "--value", "m=0.5",
            "--bound", "v': v <= 0", "--bound", "0.1 <= k <= 10", "--json"]  # fmt: skip
    assert fit(table, tmp_path, *told) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["equations"][0] == "x' = v (given)"
    assert shown["given"] == ["x"]
    found = shown["parameters"]["k"]
    assert found["value"] == pytest.approx(2.0, rel=1e-3)
    assert found["low"] <= found["value"] <= found["high"]
    model = og.load(tmp_path / "out" / "runs.orthoreg")
    assert dict(model.physics.bounds)["k"] == (0.1, 10.0)


def test_a_file_says_the_same_and_options_add_to_it(table, tmp_path, capsys):
    file = tmp_path / "physics.toml"
    file.write_text(
        """
        equations = ["x' = v"]
        bounds = ["v': v <= 0"]
        symmetry = "odd"
        [values]
        m = 0.5
        [required]
        v = ["v"]
        """
    )
    assert fit(table, tmp_path, "--physics", str(file), "--known", "v' = -k/m*x + ...") == 0
    shown = capsys.readouterr().out
    assert "(given)" in shown
    assert "Estimated from the data: k = 2" in " ".join(shown.split())
    assert physics_of(read_fields(file)) == og.Physics(
        equations={"x": "v"}, values={"m": 0.5}, required={"v": ["v"]},
        bounds={("v", "v"): (None, 0)}, symmetry=og.Odd(),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--known", "x = v"], "A known equation must have a form such as \"x' = v\""),
        (["--known", "q' = v"], "--known names 'q', which is not an equation"),
        (["--value", "g"], "--value must have the form g=9.81"),
        (["--bound", "v' v < 0"], "A bound must have the form"),
        (["--bound", "k <= 0"], "--bound names 'k', which is not a constant"),
        (["--relation", "coef(x, v) > 0"], "--relation must have the form"),
        (["--relation", "coef(x, v) = 1", "--relation", "coef(x, v) = 2"],
         "What is known contradicts itself: no coefficients satisfy 'coef(x, v) = 2'"),
        (["--physics", "nowhere.toml"], "--physics 'nowhere.toml' cannot be read"),
    ],
)  # fmt: skip
def test_mistakes_are_one_sentence_in_the_words_of_the_command_line(
    table, tmp_path, capsys, options, words
):
    assert fit(table, tmp_path, *options) == 2
    error = capsys.readouterr().err
    assert words in " ".join(error.split())
    assert "Physics(" not in error and "Traceback" not in error


def test_a_file_with_an_unknown_entry_is_refused(tmp_path):
    file = tmp_path / "physics.toml"
    file.write_text("equation = 3")
    with pytest.raises(og.InputError, match="'equation'.*Did you mean 'equations'"):
        read_fields(file)
    file.write_text("equations = [")
    with pytest.raises(og.InputError, match="is not a TOML file"):
        read_fields(file)


@pytest.mark.parametrize(
    ("text", "key", "ends"),
    [
        ("omega': omega <= 0", ("omega", "omega"), (None, 0.0)),
        ("L >= 1e-3", "L", (1e-3, None)),
        ("0.1 <= L <= 2", "L", (0.1, 2.0)),
        ("`a b`': 3 >= x*y", ("a b", "x*y"), (None, 3.0)),
    ],
)
def test_bounds_as_text(text, key, ends):
    assert parse_bound(text) == (key, ends)


def test_equations_and_symmetries_as_text():
    assert parse_equation("theta'' = -g*sin(theta) + ...") == ("theta'", "-g*sin(theta) + ...")
    assert parse_equation("`a b`' = 3") == ("a b", "3")
    assert parse_symmetry("reflection(x, v)") == og.Reflection("x", "v")
    assert parse_symmetry("Odd") == og.Odd()
    with pytest.raises(og.InputError, match="A symmetry must have the form"):
        parse_symmetry("even()")


def test_a_column_that_was_not_chosen_is_no_constant(tmp_path, capsys):
    t = np.linspace(0, 5, 60)
    write_table(tmp_path / "runs.csv", {"t": t, "x": np.exp(-t), "u": np.sin(t)})
    asked = ["fit", str(tmp_path / "runs.csv"), "--time", "t", "--states", "x"]
    asked += ["--known", "x' = -k*x + b*u", "--out", str(tmp_path / "out")]
    assert run(asked) == 2
    error = capsys.readouterr().err
    assert "--known names 'u', a column of runs.csv" in error and "Pass --inputs 'u'" in error


@pytest.mark.slow
def test_a_bound_holds_for_a_constant_in_a_denominator(table, tmp_path, capsys):
    """The data contradict the given value: they imply m = 1."""
    told = ["--known", "x' = v", "--known", "v' = -4/m*x - 0.2*v", "--bound", "1.2 <= m", "--json"]
    assert fit(table, tmp_path, *told) == 0
    assert json.loads(capsys.readouterr().out)["parameters"]["m"]["value"] >= 1.2
