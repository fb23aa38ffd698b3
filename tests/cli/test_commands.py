"""The command line: output, files, exit codes, and one sentence per mistake."""

import json
import subprocess
import sys

import numpy as np
import pytest

import orthoreg as og
from orthoreg.cli import run
from orthoreg.data import write_table
from orthoreg.systems import LotkaVolterra, Pendulum
from orthoreg.systems import generate as simulated

COLUMNS = ["--time", "t", "--states", "theta,omega", "--group", "run"]
ROLLOUT = ["--start", "1,0", "--until", "1", "--step", "0.5"]


@pytest.fixture(scope="module")
def table(tmp_path_factory, pendulum_runs):
    """A CSV file that `orthoreg generate` wrote."""
    path = tmp_path_factory.mktemp("cli") / "runs.csv"
    assert (
        run(["generate", "pendulum", "--split", "train", "--runs", "20", "--out", str(path)]) == 0
    )
    return path


@pytest.fixture(scope="module")
def fitted(table):
    """A folder with the results of `orthoreg fit`."""
    out = table.parent / "out"
    options = ["--residual", "60", "--plots", "--out", str(out)]
    assert run(["fit", str(table), *COLUMNS, *options]) == 0
    return out


def test_generate_writes_the_simulated_runs(table, pendulum_runs):
    data = og.read_table(table, "t", ["theta", "omega"], group="run")
    assert np.array_equal(data.states, pendulum_runs.states)
    assert np.array_equal(data.offsets, pendulum_runs.offsets)


def test_generate_leaves_out_what_the_library_lacks(table, tmp_path):
    path = tmp_path / "runs.csv"
    assert (
        run(["generate", "pendulum", "--runs", "20", "--within-library", "--out", str(path)]) == 0
    )
    data = og.read_table(path, "t", ["theta", "omega"], group="run")
    expected = simulated(Pendulum().within_library(), "train", runs=20)
    assert np.array_equal(data.states, expected.states)


def test_generate_writes_irregular_noisy_runs_of_other_systems(tmp_path, capsys):
    path = tmp_path / "runs.csv"
    options = ["--split", "t2", "--runs", "2", "--sampling", "irregular", "--noise", "0.1"]
    arguments = ["generate", "lotka-volterra", *options, "--seed", "3", "--out", str(path)]
    assert run([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["columns"] == ["run", "t", "x", "y"]
    data = og.read_table(path, "t", ["x", "y"], group="run")
    expected = simulated(LotkaVolterra(), "t2", runs=2, sampling="irregular", noise=0.1, seed=3)
    assert np.array_equal(data.states, expected.states)
    assert np.array_equal(data.times, expected.times)
    assert not data.has_equal_steps().any()


def test_fit_writes_model_summary_and_with_plots_pictures(fitted):
    names = sorted(path.name for path in fitted.iterdir())
    plots = ["forecast.png", "phase.png", "residual.png", "selection.png"]
    texts = ["equations.txt", "summary.json", "summary.txt"]
    assert names == sorted([*plots, *texts, "report.html", "runs.orthoreg"])
    for name in plots:
        assert (fitted / name).read_bytes().startswith(b"\x89PNG")
    summary = og.load(fitted / "runs.orthoreg").summary()
    assert (fitted / "equations.txt").read_text().splitlines() == list(summary.equations)
    assert (fitted / "summary.txt").read_text() == f"{summary}\n"
    assert json.loads((fitted / "summary.json").read_text()) == json.loads(summary.to_json())


def test_fit_prints_one_json_object(table, tmp_path, capsys):
    arguments = ["fit", str(table), *COLUMNS, "--residual", "0", "--out", str(tmp_path), "--json"]
    assert run(arguments) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["runs"] == 20 and values["samples"] == 2000
    assert values["coefficients"]["theta"]["omega"] == pytest.approx(1.0, abs=1e-4)
    assert values["certificate"]["orthogonality"] == "inf"
    assert values["training"]["forecasts"] == 20
    assert values["verdict"] == values["summary"]["verdict"]
    assert values["advice"] == values["summary"]["advice"]
    keys = ("data", "reading", "units", "runs", "samples", "preset", "equations",
            "input_interpolation", "coefficients", "terms", "lookalikes", "certificate",
            "training", "model", "plots", "report", "warnings", "verdict", "advice",
            "summary")  # fmt: skip
    assert tuple(values) == keys


def test_fit_prints_equations_for_people(table, tmp_path, capsys):
    (tmp_path / "forecast.png").touch()  # files of an earlier fit
    assert run(["fit", str(table), *COLUMNS, "--residual", "0", "--out", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    places = [
        out.index(words)
        for words in (
            "theta' = 1.000 omega", "Verdict", "do not explain omega'", "What to try next",
            "[larger-library]", "Fit (relative", "wrote",
        )
    ]  # fmt: skip
    assert places == sorted(places)
    assert ".png" not in out and not list(tmp_path.glob("*.png"))


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
    assert values["left_at"] is None
    away = ["simulate", str(model), "--start", "9,0", "--until", "1", "--step", "0.5"]
    assert run([*away, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["left_at"] == 0
    assert run(away) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("note: The rollout left the training data at t = 0;")


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


@pytest.fixture(scope="module")
def driven(tmp_path_factory):
    """The file of a model x' = u - x, fitted to a table."""
    times = np.linspace(0, 6, 121)
    x, u = np.exp(-times), np.cos(times)
    path = tmp_path_factory.mktemp("driven") / "m.orthoreg"
    write_table(path.with_suffix(".csv"), {"t": times, "x": x, "u": u, "slope": u - x})
    columns = ["--time", "t", "--states", "x", "--inputs", "u", "--derivatives", "slope"]
    arguments = ["--library", "x+u", "--residual", "0", "--sparsity", "0"]
    table = str(path.with_suffix(".csv"))
    assert run(["fit", table, *columns, *arguments, "--out", str(path.parent)]) == 0
    return path


def test_simulate_takes_inputs_from_a_table(driven, tmp_path, capsys):
    table = tmp_path / "u.csv"
    table.write_text("t;u\n0;2\n3;2\n")
    arguments = ["--start", "0", "--until", "3", "--step", "0.1", "--json"]
    arguments += ["--inputs", str(table), "--delimiter", ";"]
    assert run(["simulate", str(driven), *arguments]) == 0
    captured = capsys.readouterr()
    values = json.loads(captured.out)
    assert captured.err == "" and values["warnings"] == []
    expected = 2 * (1 - np.exp(-np.array(values["trajectory"]["t"])))
    assert np.allclose(values["trajectory"]["x"], expected, atol=1e-5)


@pytest.mark.parametrize(("first", "last"), [(0, 2), (1, 3), (1, 2)])
def test_inputs_must_cover_the_simulation(driven, tmp_path, capsys, first, last):
    table = tmp_path / "u.csv"
    table.write_text(f"t,u\n{first},1\n{last},2\n")
    arguments = ["--start", "0", "--until", "3", "--step", "0.1", "--inputs", str(table)]
    assert run(["simulate", str(driven), *arguments]) == 2
    _assert_one_sentence(capsys, ["--inputs", "0 to 3", f"{first} to {last}"])


def test_evaluate_remembers_the_columns(fitted, table, capsys):
    assert run(["evaluate", str(fitted / "runs.orthoreg"), str(table), "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["derivative_error"] < 0.05 and values["r2"] > 0.998
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
        ("0,0,1,2\n0,1,1,2\n", ["bad.csv", "line 1", "a header", "has numbers"]),
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
        (["--library", "__import__('os').system('x')"], ["Library", "'"]),
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
        (["simulate", "{model}", "--start", "1,0", "--until", "1", "--step", "5"], ["5 and 1"]),
        (
            ["simulate", "no.orthoreg", "--start", "1,0", "--until", "1", "--step", "1"],
            ["no.ortho"],
        ),
        (["simulate", "{half}", "--start", "1,0", "--until", "1", "--step", "1"], ["complete"]),
        (["evaluate", "{model}", "nothing.csv"], ["nothing.csv"]),
        (["generate", "pendulm", "--out", "{folder}/x.csv"], ["Did you mean 'pendulum'"]),
        (["generate", "pendulum", "--split", "test", "--out", "{folder}/x.csv"], ["--split"]),
        (["generate", "sir", "--sampling", "random", "--out", "{folder}/x.csv"], ["--sampling"]),
        (["generate", "pendulum", "--difficulty", "hihg", "--out", "x.csv"], ["mean 'high'"]),
        (
            ["generate", "duffing", "--difficulty", "low", "--out", "x.csv"],
            ["to the pendulum"],
        ),
        (["generate", "sir", "--runs", "0", "--out", "{folder}/x.csv"], ["--runs"]),
        (["generate", "pendulum", "--out", "{folder}/none/x.csv"], ["does not exist"]),
        (["generate", "pendulum", "--out", "{folder}"], ["--out must be a file", "is a folder"]),
        (["simulate", "{model}", *ROLLOUT, "--out", "{folder}"], ["--out must be a file"]),
        (["simulate", "{model}", *ROLLOUT, "--inputs", "u.csv"], ["no inputs", "u.csv"]),
        (["demo", "--out", "{half}"], ["--out must be a folder", "is a file"]),
        (["demo", "--out", "{half}/deeper"], ["--out must be a folder", "is a file"]),
        (["fit", "{model}", *COLUMNS, "--out", "{half}"], ["--out must be a folder"]),
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


def test_nothing_is_written_when_drawing_fails(table, tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("ORTHOREG_DEBUG", raising=False)
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", lambda *_, **__: 1 / 0)
    out = tmp_path / "out"
    options = ["--residual", "0", "--plots", "--out", str(out)]
    assert run(["fit", str(table), *COLUMNS, *options]) == 1
    assert not out.exists()


def test_square_brackets_in_names_are_printed(tmp_path, capsys):
    path = tmp_path / "decay.csv"
    rows = [f"{i / 10},{np.exp(-i / 10)},{np.exp(-i / 5)}" for i in range(30)]
    path.write_text("t,v [m],[bold]w\n" + "\n".join(rows) + "\n")
    arguments = ["fit", str(path), "--time", "t", "--states", "v [m],[bold]w"]
    arguments += ["--library", "poly(1)", "--residual", "0", "--out", str(tmp_path)]
    assert run(arguments) == 0
    out = capsys.readouterr().out
    assert "v' = " in out and "[bold]w'" in out and "v in m" in out
    assert "decay.csv: 1 run, 30 samples" in out
    assert run(["simulate", str(tmp_path / "decay.orthoreg"), *ROLLOUT]) == 0
    header = capsys.readouterr().out.splitlines()[1]
    assert header.split("  ")[0].strip() == "t" and "v [m]" in header and "[bold]w" in header


def test_no_arguments_print_the_help(capsys):
    assert run([]) == 0
    captured = capsys.readouterr()
    assert "Usage" in captured.out and captured.err == ""


def test_version(capsys):
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"orthoreg {og.__version__}\n"


def test_a_linked_file_stays_a_link(tmp_path):
    (tmp_path / "there").mkdir()
    real, link = tmp_path / "there" / "x.csv", tmp_path / "x.csv"
    real.write_text("old")
    link.symlink_to(real)
    assert run(["generate", "pendulum", "--runs", "1", "--out", str(link)]) == 0
    assert link.is_symlink() and real.read_text().startswith("run,t,theta,omega")
    assert sorted(item.name for item in tmp_path.iterdir()) == ["there", "x.csv"]


def test_our_own_failure_is_exit_code_one(table, tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("ORTHOREG_DEBUG", raising=False)
    monkeypatch.setattr(og.OrthoReg, "fit", lambda *_, **__: 1 / 0)
    assert run(["fit", str(table), *COLUMNS, "--out", str(tmp_path)]) == 1
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_installed_command_answers():
    command = [sys.executable, "-m", "orthoreg", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for name in ("demo", "fit", "show", "simulate", "evaluate", "adapt", "update", "generate"):
        assert name in done.stdout


def _assert_one_sentence(capsys, words):
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ") and captured.err.count("\n") == 1
    assert "Traceback" not in captured.err
    for word in words:
        assert word in captured.err
