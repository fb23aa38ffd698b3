"""The simulate command with inputs, their times and their interpolation."""

import json

import numpy as np
import pytest

import orthoreg as og
from orthoreg.cli import run
from orthoreg.data import write_table

TIMES = np.linspace(0, 12, 241)


def fitted_to(u, folder, capsys):
    """The file of a model x' = u - x, fitted by the command, and what the command printed."""
    x = np.exp(-TIMES)
    write_table(folder / "m.csv", {"t": TIMES, "x": x, "u": u, "slope": u - x})
    columns = ["--time", "t", "--states", "x", "--inputs", "u", "--derivatives", "slope"]
    settings = ["--library", "x+u", "--residual", "0", "--sparsity", "0", "--out", str(folder)]
    assert run(["fit", str(folder / "m.csv"), *columns, *settings]) == 0
    return folder / "m.orthoreg", capsys.readouterr().out


def trajectory(capsys, arguments):
    assert run(["simulate", *arguments, "--json"]) == 0
    return np.array(json.loads(capsys.readouterr().out)["trajectory"]["x"])


@pytest.fixture
def coarse(tmp_path):
    """The input is a sine with nine samples per period, and ends before the simulation."""
    t = np.arange(-3, 30) * 2 * np.pi / 9
    write_table(tmp_path / "u.csv", {"t": t, "u": np.sin(t)})
    return ["--start", "-0.5", "--until", "12", "--step", "0.05", "--inputs",
            str(tmp_path / "u.csv")]  # fmt: skip


def test_inputs_run_smoothly_between_the_rows_of_their_table(tmp_path, capsys, coarse):
    model, said = fitted_to(np.cos(TIMES), tmp_path, capsys)
    assert "Inputs between rows: u smooth (cubic)" in said
    times = 0.05 * np.arange(241)
    expected = (np.sin(times) - np.cos(times)) / 2
    errors = {
        kind: np.abs(trajectory(capsys, [str(model), *coarse, *option]) - expected).max()
        for kind, option in {
            "as fitted": [],
            "linear": ["--interpolation", "linear"],
            "hold": ["--interpolation", "u=hold"],
        }.items()
    }
    assert errors["as fitted"] < 3e-3 < 0.02 < errors["linear"] < 0.05 < errors["hold"]


def test_steps_in_the_data_are_held_said_and_remembered(tmp_path, capsys):
    model, said = fitted_to(np.sign(np.sin(TIMES)), tmp_path, capsys)
    assert "Inputs between rows: u in steps (hold)" in said
    assert og.load(model).input_interpolation_ == {"u": "hold"}
    write_table(tmp_path / "u.csv", {"t": np.array([0.0, 1.0, 2.0]), "u": np.array([0.0, 1.0, 1])})
    arguments = [str(model), "--start", "0", "--until", "2", "--step", "0.1"]
    found = trajectory(capsys, [*arguments, "--inputs", str(tmp_path / "u.csv")])
    times = 0.1 * np.arange(21)
    assert np.allclose(found, np.where(times < 1, 0, 1 - np.exp(1 - times)), atol=1e-6)


@pytest.fixture(scope="module")
def driven(tmp_path_factory):
    """The file of a model x' = u - x."""
    x, u = np.exp(-TIMES)[:, None], np.cos(TIMES)[:, None]
    data = og.Dataset.from_arrays(x, TIMES, u, ["x"], input_names=["u"], derivatives=u - x)
    model = og.OrthoReg("x+u", og.Zero(), sparsity=0.0).fit(data)
    path = tmp_path_factory.mktemp("driven") / "m.orthoreg"
    model.save(path)
    return path


@pytest.mark.parametrize(
    ("given", "words"),
    [("cubc", ["--interpolation", "'cubic'"]), ("v=hold", ["'u'", "'v'"]),
     ("u=holt", ["'hold'"]), ("u=hold,linear", ["u=hold,v=linear"])],
)  # fmt: skip
def test_wrong_interpolations_get_one_sentence(driven, capsys, coarse, given, words):
    assert run(["simulate", str(driven), *coarse, "--interpolation", given]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1
    assert all(word in captured.err for word in words)


def test_a_simulation_goes_on_from_past_samples(tmp_path, capsys):
    model, _ = fitted_to(np.cos(TIMES), tmp_path, capsys)
    t = 0.05 * np.arange(61)
    x = (np.sin(t) + np.cos(t)) / 2 - 1.5 * np.exp(-t)  # x' = cos(t) - x, x(0) = -1
    write_table(tmp_path / "past.csv", {"t": t, "x": x, "u": np.cos(t)})
    write_table(tmp_path / "u.csv", {"t": TIMES, "u": np.cos(TIMES)})
    past = [str(model), "--from-data", str(tmp_path / "past.csv"), "--step", "0.5"]
    inputs = ["--inputs", str(tmp_path / "u.csv")]
    times = 3 + 0.5 * np.arange(9)
    expected = (np.sin(times) + np.cos(times)) / 2 - 1.5 * np.exp(-times)
    assert np.allclose(trajectory(capsys, [*past, *inputs, "--until", "7"]), expected, atol=1e-3)
    for options, words in [
        ([*past, *inputs, "--until", "2"], "--until after 3"),
        ([*past, *inputs, "--until", "7", "--start", "0"], "--start"),
        ([str(model), *inputs, "--until", "7", "--step", "1"], "--from-data"),
    ]:
        assert run(["simulate", *options]) == 2
        assert words in capsys.readouterr().err
