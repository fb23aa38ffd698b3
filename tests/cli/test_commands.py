"""The command line as a user meets it: output, files, exit codes, one sentence per mistake."""

import json
import subprocess
import sys

import numpy as np
import pytest

import orthoreg as og
from orthoreg.cli import run

COLUMNS = ["--time", "t", "--states", "theta,omega", "--group", "run"]


@pytest.fixture(scope="module")
def table(tmp_path_factory, pendulum_runs):
    """A CSV file as `orthoreg generate` writes it."""
    path = tmp_path_factory.mktemp("cli") / "runs.csv"
    assert (
        run(["generate", "pendulum", "--split", "train", "--runs", "20", "--out", str(path)]) == 0
    )
    return path


@pytest.fixture(scope="module")
def fitted(table):
    """The folder that `orthoreg fit` filled."""
    out = table.parent / "out"
    assert run(["fit", str(table), *COLUMNS, "--residual", "60", "--out", str(out)]) == 0
    return out


def test_generate_writes_the_simulated_runs(table, pendulum_runs):
    data = og.read_table(table, "t", ["theta", "omega"], group="run")
    assert np.array_equal(data.states, pendulum_runs.states)
    assert np.array_equal(data.offsets, pendulum_runs.offsets)


def test_fit_writes_model_and_plots(fitted):
    names = sorted(path.name for path in fitted.iterdir())
    assert names == ["forecast.png", "phase.png", "residual.png", "runs.orthoreg"]
    for name in names[:3]:
        assert (fitted / name).read_bytes().startswith(b"\x89PNG")


def test_fit_prints_one_json_object(table, tmp_path, capsys):
    arguments = ["fit", str(table), *COLUMNS, "--residual", "0", "--out", str(tmp_path), "--json"]
    assert run(arguments) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["runs"] == 20 and values["samples"] == 2000
    assert values["coefficients"]["theta"]["omega"] == pytest.approx(1.0, abs=1e-4)
    assert values["certificate"]["orthogonality"] == "inf"
    assert values["training"]["forecasts"] == 20


def test_fit_prints_equations_for_people(table, tmp_path, capsys):
    assert run(["fit", str(table), *COLUMNS, "--residual", "0", "--out", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    for words in ("theta' = 1.000 omega", "fit error", "overlap", "bound", "wrote"):
        assert words in out


def test_simulate_writes_what_the_model_says(fitted, tmp_path, capsys):
    model, out = fitted / "runs.orthoreg", tmp_path / "x.csv"
    arguments = ["simulate", str(model), "--start", "1,0", "--until", "2", "--step", "0.1"]
    assert run([*arguments, "--out", str(out)]) == 0
    written = og.read_table(out, "t", ["theta", "omega"])
    expected = og.load(model).simulate([1.0, 0.0], 0.1 * np.arange(21)).x
    assert np.array_equal(written.states, expected)
    capsys.readouterr()
    assert run([*arguments, "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["status"] == "completed"
    assert values["trajectory"]["theta"] == expected[:, 0].tolist()


def test_divergence_is_reported_and_is_no_error(tmp_path, capsys):
    x = np.linspace(-1, 1, 50)[:, None]
    model = og.OrthoReg(og.Terms(["x0**2"]), og.Zero()).fit(x, x**2)
    model.save(tmp_path / "m.orthoreg")
    arguments = ["--start", "1", "--until", "2", "--step", "0.1", "--json"]
    assert run(["simulate", str(tmp_path / "m.orthoreg"), *arguments]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["status"] == "diverged"
    assert values["stopped_at"] == pytest.approx(1.0, abs=1e-3)
    assert "x0**2" in values["message"]


def test_evaluate_remembers_the_columns(fitted, table, capsys):
    assert run(["evaluate", str(fitted / "runs.orthoreg"), str(table), "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["derivative_error"] < 0.05 and values["r2"] > 0.999
    assert values["forecasts_failed"] == 0


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("run,t,theta\n0,0,1\n", ["bad.csv", "no column 'omega'"]),
        ("run,t,theta,omega\n0,0,1,2\n0,1,x,2\n", ["bad.csv", "line 3", "run 0", "theta", "'x'"]),
        ("run,t,theta,omega\n0,0,1,2\n0,1,,2\n", ["bad.csv", "line 3", "theta", "empty"]),
        ("run,t,theta,omega\n0,0,1,2\n0,1,nan,2\n", ["bad.csv", "line 3", "run 0", "theta", "nan"]),
        ("run,t,theta,omega\n0,0,1,2\n0,1,inf,2\n", ["bad.csv", "line 3", "run 0", "theta", "inf"]),
        ("run,t,theta,omega\n7,1,1,2\n7,1,1,3\n", ["bad.csv", "line 3", "run 7", "repeats"]),
        ("run,t,theta,omega\n7,1,1,2\n7,0,1,3\n", ["bad.csv", "line 3", "run 7", "goes back"]),
        ("run,t,theta,omega\n4,0,1,2\n4,1,1.5,3\n", ["bad.csv", "run 4", "2 points", "at least 3"]),
        ("run;t;theta;omega\n0;0;1;2\n", ["bad.csv", "semicolon"]),
        ("", ["bad.csv", "empty"]),
        ("run,t,theta,omega\n", ["bad.csv", "no rows"]),
    ],
)
def test_bad_tables_get_one_sentence_and_leave_nothing_behind(tmp_path, capsys, content, words):
    path = tmp_path / "bad.csv"
    path.write_text(content)
    assert run(["fit", str(path), *COLUMNS, "--out", str(tmp_path / "out")]) == 2
    _assert_one_sentence(capsys, words)
    assert [item.name for item in tmp_path.iterdir()] == ["bad.csv"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--library", "__import__('os').system('x')"], ["Formula", "'"]),
        (["--library", "poly(2)+sn(theta)"], ["Did you mean 'sin'"]),
        (["--library", "poly(2)+sin(thta)"], ["Did you mean 'theta'"]),
        (["--library", "pooly(2)"], ["Did you mean 'poly'"]),
        (["--library", "poly(400)"], ["terms", "lower degree"]),
        (["--sparsity", "-1"], ["sparsity", "-1"]),
        (["--orthogonality", "nan"], ["orthogonality", "nan"]),
        (["--sparsity", "a"], ["--sparsity"]),
        (["--residual", "-5"], ["--residual"]),
        (["--colour", "red"], ["--colour"]),
        (["--inputs", "theta"], ["theta", "twice"]),
        (["--delimiter", ";;"], ["single character"]),
    ],
)
def test_wrong_options_get_one_sentence(table, tmp_path, capsys, arguments, words):
    out = tmp_path / "out"
    assert run(["fit", str(table), *COLUMNS, "--out", str(out), *arguments]) == 2
    _assert_one_sentence(capsys, words)
    assert not out.exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["simulate", "{model}", "--start", "1", "--until", "1", "--step", "0.1"],
            ["theta, omega"],
        ),
        (["simulate", "{model}", "--start", "a,b", "--until", "1", "--step", "0.1"], ["numbers"]),
        (["simulate", "{model}", "--start", "1,0", "--until", "1", "--step", "0"], ["positive"]),
        (
            ["simulate", "no.orthoreg", "--start", "1,0", "--until", "1", "--step", "1"],
            ["no.ortho"],
        ),
        (["simulate", "{half}", "--start", "1,0", "--until", "1", "--step", "1"], ["whole"]),
        (["evaluate", "{model}", "nothing.csv"], ["nothing.csv"]),
        (["generate", "pendulm", "--out", "{folder}/x.csv"], ["Did you mean 'pendulum'"]),
        (["generate", "pendulum", "--split", "test", "--out", "{folder}/x.csv"], ["--split"]),
        (["generate", "pendulum", "--out", "{folder}/none/x.csv"], ["no folder"]),
        (["fot"], ["fot"]),
    ],
)
def test_mistakes_of_other_commands(fitted, tmp_path, capsys, arguments, words):
    half = tmp_path / "half.orthoreg"
    whole = (fitted / "runs.orthoreg").read_bytes()
    half.write_bytes(whole[: len(whole) // 2])
    places = {"model": fitted / "runs.orthoreg", "half": half, "folder": tmp_path}
    assert run([argument.format(**places) for argument in arguments]) == 2
    _assert_one_sentence(capsys, words)
    assert [item.name for item in tmp_path.iterdir()] == ["half.orthoreg"]


def test_a_constant_state_is_a_warning(tmp_path, capsys):
    path = tmp_path / "flat.csv"
    rows = [f"{i / 10},{np.exp(-i / 10)},5" for i in range(20)]
    path.write_text("t,x,k\n" + "\n".join(rows) + "\n")
    arguments = ["fit", str(path), "--time", "t", "--states", "x,k", "--library", "poly(1)"]
    assert run([*arguments, "--residual", "0", "--out", str(tmp_path), "--json"]) == 0
    captured = capsys.readouterr()
    assert "'k' never changes" in captured.err
    assert "'k' never changes" in json.loads(captured.out)["warnings"][0]


def test_our_own_failure_is_exit_code_one(table, tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("ORTHOREG_DEBUG", raising=False)
    monkeypatch.setattr(og.OrthoReg, "fit", lambda *_, **__: 1 / 0)
    assert run(["fit", str(table), *COLUMNS, "--out", str(tmp_path)]) == 1
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_installed_command_answers():
    command = [sys.executable, "-m", "orthoreg", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for name in ("demo", "fit", "simulate", "evaluate", "generate"):
        assert name in done.stdout


def _assert_one_sentence(capsys, words):
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ") and captured.err.count("\n") == 1
    assert "Traceback" not in captured.err
    for word in words:
        assert word in captured.err
