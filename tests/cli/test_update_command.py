"""The update command: new data into a model file, a test of drift, and errors in one sentence."""

import json

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import orthoreg as og
from orthoreg.cli import run
from orthoreg.data import write_table

KNOWN = ["--known", "theta' = omega", "--known", "omega' = -k*sin(theta) - c*omega"]


def day(folder, number, k=1.0):
    """Write a noisy run of a pendulum and return its path."""
    rng, t = np.random.default_rng(number), np.arange(0, 10, 0.05)
    x = solve_ivp(
        lambda t, x: [x[1], -k * np.sin(x[0]) - 0.2 * x[1]], (0, 10), [rng.uniform(1, 3), 0.0],
        t_eval=t, rtol=1e-8,
    ).y + 0.02 * rng.standard_normal((2, 200))  # fmt: skip
    path = folder / f"day{number}.csv"
    write_table(path, {"t [s]": t, "theta [rad]": x[0], "omega [rad/s]": x[1]})
    return str(path)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("update")
    columns = ["--time", "t", "--states", "theta,omega", "--out", str(folder)]
    assert run(["fit", day(folder, 0), *columns, *KNOWN]) == 0
    return folder / "day0.orthoreg"


def test_updates_from_files_equal_updates_in_memory(fitted, tmp_path, capsys):
    out, expected = tmp_path / "m.orthoreg", og.load(fitted)
    out.write_bytes(fitted.read_bytes())
    for number in (1, 2):
        table = day(tmp_path, number)
        capsys.readouterr()
        assert run(["update", str(out), table, "--out", str(out), "--json"]) == 0
        values = json.loads(capsys.readouterr().out)
        expected = expected.update(og.read_table(table, time="t", states=["theta", "omega"]))
        assert values["parameters"]["k"]["value"] == pytest.approx(expected.parameters_["k"])
        assert values["parameters"]["k"]["unit"] == "rad/s²"
        assert values["drift"]["detected"] is False and values["drift"]["rows"] == 200
        assert values["verdict"]["code"] == "explained" and values["model"] == str(out)
    assert og.load(out).fit_.updates == 2


def test_drift_is_reported_with_units_and_what_to_do(fitted, tmp_path, capsys):
    table, out = day(tmp_path, 3, k=1.1), tmp_path / "m.orthoreg"
    assert run(["update", str(fitted), table, "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "no longer follow the old constants" in printed
    assert "rad/s² (+10%)" in printed and "--forgetting 0.99" in printed
    averaged = og.load(out).parameters_["k"]
    assert 1.02 < averaged < 1.08
    command = ["update", str(fitted), table, "--out", str(out), "--forgetting", "0.97"]
    assert run(command) == 0
    assert "--forgetting" not in capsys.readouterr().out  # this advice was followed
    assert 1.09 < og.load(out).parameters_["k"] < 1.11


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{model}", "{table}"], "Missing option '--out'"),
        (["{model}", "missing.csv", "--out", "m"], "There is no file 'missing.csv'"),
        (["{table}", "{table}", "--out", "m"], "is not a complete orthoreg model file"),
        (["{model}", "{table}", "--out", "m", "--forgetting", "1.5"], "--forgetting must be"),
        (["{model}", "{other}", "--out", "m"], "omega"),
    ],
)
def test_errors_are_one_sentence_and_write_nothing(
    fitted, tmp_path, capsys, monkeypatch, arguments, message
):
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / "other.csv", {"t": np.arange(9.0), "theta": np.arange(9.0)})
    names = {"model": fitted, "table": day(tmp_path, 1), "other": tmp_path / "other.csv"}
    assert run(["update", *(text.format(**names) for text in arguments)]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and not (tmp_path / "m").exists()
    assert captured.err.startswith("error: ") and captured.err.count("\n") == 1
    assert message in captured.err
