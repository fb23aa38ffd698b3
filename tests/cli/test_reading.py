"""Commands print notes on the tables that they read, and have the same options for reading."""

import importlib.util
import json

import numpy as np
import pytest

from orthoreg.cli import run
from orthoreg.cli._app import options_of

T = np.arange(0, 4, 0.05)
SETTINGS = ["--library", "poly(1)", "--residual", "0"]


def rows(start: float, time=lambda t: f"{t:.2f}") -> list[str]:
    return [f"{time(t)};{start * np.exp(-t):.9f}".replace(".", ",") for t in T]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two runs of a decay, each in its own file, and a model fitted to them."""
    place = tmp_path_factory.mktemp("reading")
    for name, start in (("first", 1.0), ("second", -2.0)):
        text = "\n".join(["# rig 7", "t [s];x [m]", *rows(start)])
        (place / f"{name}.csv").write_text(text + "\n")
    files = [str(place / f"{name}.csv") for name in ("first", "second")]
    arguments = ["--time", "t", "--states", "x", *SETTINGS, "--out", str(place / "out")]
    assert run(["fit", *files, *arguments]) == 0
    return place


def test_files_are_runs_and_what_was_found_out_is_printed(folder, capsys):
    model = folder / "out" / f"{folder.name}.orthoreg"
    assert run(["evaluate", str(model), str(folder / "*.csv")]) == 0
    out = capsys.readouterr().out
    for words in (
        "note: Columns are separated by semicolons.", "note: Decimals are written with a comma.",
        "note: The header is on line 2; 1 line above it is not part of the table.",
        "note: Units in the header: t in s, x in m.", "*.csv: 2 runs, 160 samples",
    ):  # fmt: skip
        assert words in out
    assert run(["simulate", str(model), "--start", "1", "--until", "1", "--step", "0.5"]) == 0
    assert "t [s]" in (out := capsys.readouterr().out) and "x [m]" in out
    assert run(["show", str(model)]) == 0
    assert "- Units: t in s, x in m." in capsys.readouterr().out


def test_repairs_are_listed_for_programs(folder, tmp_path, capsys):
    content = rows(1.0)
    content[3], content[10] = content[10], content[3]
    content[20] = "1,00;err"
    (tmp_path / "bad.csv").write_text("\n".join(["t;x", *content]) + "\n")
    model = str(folder / "out" / f"{folder.name}.orthoreg")
    arguments = ["evaluate", model, str(tmp_path / "bad.csv"), "--json"]
    assert run(arguments) == 2
    assert "line 22: column 'x' contains 'err'" in capsys.readouterr().err
    assert run([*arguments, "--repair"]) == 0
    values = json.loads(capsys.readouterr().out)
    repairs = {note["code"]: note["count"] for note in values["reading"] if note["is_repair"]}
    assert repairs == {"missing": 1, "sorted": 2} and values["samples"] == len(T) - 1
    assert values["forecast_error"] < 1e-4


def test_columns_are_converted_to_the_units_of_the_fit(folder, tmp_path, capsys):
    (tmp_path / "mm.csv").write_text("\n".join(["time [s];x [mm]", *rows(1000.0)]) + "\n")
    model = str(folder / "out" / f"{folder.name}.orthoreg")
    assert run(["evaluate", model, str(tmp_path / "mm.csv"), "--time", "time"]) == 0
    printed = capsys.readouterr()
    assert "'x' is converted from mm to m." in printed.out + printed.err
    assert "warning" not in printed.err
    (tmp_path / "kg.csv").write_text("\n".join(["time [s];x [kg]", *rows(1.0)]) + "\n")
    assert run(["evaluate", model, str(tmp_path / "kg.csv"), "--time", "time"]) == 2
    assert "from kg to m: these units measure different quantities" in capsys.readouterr().err


def test_other_units_than_those_of_the_fit_are_warned_of_without_pint(
    folder, tmp_path, capsys, monkeypatch
):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        "orthoreg.cli._reading.find_spec", lambda name: None if name == "pint" else find(name)
    )
    (tmp_path / "mm.csv").write_text("\n".join(["time [s];x [mm]", *rows(1000.0)]) + "\n")
    model = str(folder / "out" / f"{folder.name}.orthoreg")
    assert run(["evaluate", model, str(tmp_path / "mm.csv"), "--time", "time"]) == 0
    message = capsys.readouterr().err
    assert "mm.csv has x in mm, but the model was fitted to x in m. Convert" in message
    assert message.count("warning") == 1


@pytest.mark.parametrize("command", ["fit", "evaluate", "adapt", "refine", "update", "simulate"])
def test_every_command_that_reads_has_the_same_options(command):
    names = {"delimiter", "decimal", "encoding", "comment", "missing", "date_format", "sheet",
             "long", "repair", "fill", "gap"}  # fmt: skip
    assert names <= set(options_of(command))
    assert options_of(command)["date_format"] == "--date-format"


def test_a_wrong_pair_of_columns_is_named(folder, capsys):
    assert run(["fit", str(folder / "first.csv"), "--time", "t", "--long", "a"]) == 2
    assert "--long must be two columns" in capsys.readouterr().err
