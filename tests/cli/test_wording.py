"""Mistakes on the command line are reported in terms of its options, before any work is done."""

import os
import re

import numpy as np
import pytest

from orthoreg import InputError
from orthoreg.cli import run
from orthoreg.cli._app import options_of
from orthoreg.cli._arguments import delimiter_in, numbers_in
from orthoreg.cli._output import in_options

COLUMNS = ["--time", "t", "--states", "x,v"]
PYTHON = re.compile(r"\w=|[A-Z]\w*\(|\bmath\.|\.from_\w+")


def rows(separator: str = ",") -> str:
    t = np.linspace(0, 6, 30)
    lines = np.column_stack([t, np.cos(t), -np.sin(t)])
    return "\n".join(separator.join(f"{value:.6g}" for value in line) for line in lines) + "\n"


TABLES = {
    "good": "t,x,v\n" + rows(),
    "tabs": "t\tx\tv\n" + rows("\t"),
    "semicolons": "t;x;v\n" + rows(";"),
    "again": "t,x,v\n" + rows() + rows(),
    "unsorted": "t,x,v\n0,1,0\n2,1,0\n1,.9,0\n3,1,0\n",
    "doubled": "t,x,v\n0,1,0\n.1,1,0\n.1,1,0\n.2,1,0\n.3,1,0\n",
    "interleaved": "t,x,v\n0,1,0\n0,1,0\n1,1,0\n1,2,0\n",
    "short": "t,x,v\n0,1,0\n1,2,1\n",
    "uneven": "t,x,v\n0,1,0\n1,2,1\n3,2,4\n4,2,3\n5,1,3\n7,1,1\n",
    "large": "t,x,v\n0,1,0\n1,4.9e300,1\n2,2,4\n",
    "larger": "t,x,v\n0,1,0\n1,1e120,1\n2,2,4\n3,2,3\n",
    "days": "t,x,v\n3/4/2024,1,2\n4/4/2024,1,3\n",
    "marked": "t,x,v\n0,1,2\n1,err,3\n",
    "texts": "t,x,v\n0,1,2\n1,off,3\n",
    "dates": "t,x,v\n2024-01-01,1,2\n2024-01-02,1,3\n",
}


@pytest.fixture
def tables(tmp_path):
    for name, content in TABLES.items():
        (tmp_path / f"{name}.csv").write_text(content)
    return tmp_path


WRONG = [
    ("tabs", ["--delimiter", ","], [r"pass --delimiter '\t'"]),
    ("semicolons", ["--delimiter", ","], ["pass --delimiter ';'"]),
    ("good", ["--delimiter", "tabs"], ["--delimiter must be a single character", "'tab'"]),
    ("good", ["--delimiter", '"'], ["--delimiter must be", "quote"]),
    ("again", [], ["line 32", "6 then 0", "start of a run", "pass --group, the column"]),
    ("unsorted", [], ["Sort the rows by 't'", "(line 4)", "pass --group, the column"]),
    ("doubled", [], ["line 4", "Keep one of the rows with the same time, or their mean (line 4)"]),
    ("interleaved", [], ["more than once", "pass --group, the column"]),
    ("short", [], ["2 points", "the estimate of derivatives needs at least 3 in each run"]),
    ("uneven", ["--preset", "lasso"], ["equal time steps", "Choose another --preset."]),
    ("large", [], ["line 3", "'x' is 4.9e+300, which is too large", "at most 1e+150"]),
    ("larger", ["--library", "poly(2)"], ["'x**2' is 1e+240", "below 1e150"]),
    ("dates", ["--states", "t2"], ["no column 't2'"]),
    ("days", [], ["'3/4/2024'", "--date-format '%d/%m/%Y"]),
    ("marked", [], ["line 3", "'x' contains 'err'", "pass --repair to leave out"]),
    ("texts", [], ["line 3", "'x' contains 'off'", "pass --missing 'off'"]),
    ("", [], ["is a folder"]),
    ("good", ["--states", ""], ["--states must name at least one column"]),
    ("good", ["--states", "x,x"], ["--states must be distinct"]),
    ("good", ["--time", ""], ["--time must name a column"]),
    ("good", ["--inputs", "u"], ["no column 'u'"]),
    ("good", ["--group", ""], ["--group must name a column"]),
    ("good", ["--derivatives", "x"], ["--derivatives must name one column for each"]),
    ("good", ["--sparsity", "-1"], ["--sparsity must be a number"]),
    ("good", ["--orthogonality", "-1"], ["--orthogonality must be", "(inf for the projection)"]),
    ("good", ["--magnitude", "inf"], ["--magnitude must be"]),
    ("good", ["--library", "poly(400)"], ["poly(400) in 2 variables has 80601 terms"]),
    ("good", ["--seed", "x"], ["--seed", "See 'orthoreg fit --help'"]),
]


@pytest.mark.parametrize(("table", "options", "words"), WRONG)
def test_a_mistake_is_named_by_the_options_of_the_command(tables, capsys, table, options, words):
    file = tables / (table if "." in table or not table else f"{table}.csv")
    out = tables / "out"
    assert run(["fit", str(file), *COLUMNS, *options, "--out", str(out)]) == 2
    message = capsys.readouterr().err
    assert message.startswith("error: ") and message.count("\n") == 1
    for word in words:
        assert word in message
    assert not PYTHON.search(re.sub(r"'[^']*'", "", message)), message
    assert not out.exists()


def test_only_the_options_of_the_command_are_advised():
    message = "runs.csv: times begin again: pass group=..., the column. Use solver=Exact()."
    assert in_options(message, options_of("fit")) == (
        "runs.csv: times begin again: pass --group, the column. Choose another --preset."
    )
    assert in_options(message, options_of("evaluate")) == (
        "runs.csv: times begin again: pass --group, the column."
    )
    assert in_options("noise must be finite.", options_of("generate")) == "--noise must be finite."
    assert in_options("noise must be finite.", options_of("fit")) == "noise must be finite."
    assert in_options("x0 must have shape (2,).", options_of("simulate")).startswith("--start must")


def test_what_the_user_wrote_is_not_reworded():
    message = "There is no file 'group=... states must'. It's theta' = omega, seed=3."
    assert in_options(message, options_of("fit")) == (
        "There is no file 'group=... states must'. It's theta' = omega, --seed 3."
    )


@pytest.mark.parametrize(
    ("text", "character"),
    [("\\t", "\t"), ("tab", "\t"), ("Tab", "\t"), ("\t", "\t"), (";", ";"), ("semicolon", ";"),
     ("comma", ","), ("space", " "), ("|", "|"), ("pipe", "|")],
)  # fmt: skip
def test_a_delimiter_may_be_written_as_a_word(text, character):
    assert delimiter_in(text) == character


@pytest.mark.parametrize("text", ["1,a", "", "nan,0", "1,inf"])
def test_numbers_are_finite(text):
    with pytest.raises(InputError, match=f"--start must be finite numbers.*'{text}'"):
        numbers_in(text, "--start")


def test_memory_that_runs_out_is_no_fault_of_the_program(tables, capsys, monkeypatch):
    def fit(*_, **__):
        raise MemoryError("Unable to allocate 36 TiB")

    monkeypatch.setattr("orthoreg.OrthoReg.fit", fit)
    file = str(tables / "good.csv")
    assert run(["fit", file, *COLUMNS, "--out", str(tables / "out")]) == 2
    assert "not enough memory: Unable to allocate 36 TiB. Use fewer" in capsys.readouterr().err


def refused(arguments: list[str], capsys, monkeypatch) -> str:
    """Return the message of a command that must fail before it begins to work."""
    for work in ("orthoreg.data.read_table", "orthoreg.systems.generate", "orthoreg.load"):
        monkeypatch.setattr(work, lambda *_, **__: pytest.fail("the work was begun"))
    assert run(arguments) == 2
    return capsys.readouterr().err


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="needs a folder that refuses files")
@pytest.mark.parametrize("out", ["/proc/out", "/proc/deeper/out"])
def test_a_folder_that_cannot_be_made_is_refused_first(tables, capsys, monkeypatch, out):
    arguments = ["fit", str(tables / "good.csv"), *COLUMNS, "--out", out]
    assert "writable folder; '/proc' is not" in refused(arguments, capsys, monkeypatch)


def test_a_link_to_nothing_is_no_folder(tables, capsys, monkeypatch):
    (tables / "link").symlink_to(tables / "nothing")
    arguments = ["fit", str(tables / "good.csv"), *COLUMNS, "--out", str(tables / "link")]
    assert "is a link to" in refused(arguments, capsys, monkeypatch)


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="needs a folder that refuses files")
@pytest.mark.parametrize(
    ("out", "words"),
    [("/proc/x.csv", "writable folder"), ("/dev/null", "is a device"),
     ("{folder}/good.csv/x.csv", "does not exist")],
)  # fmt: skip
@pytest.mark.parametrize(
    "command", [["generate", "pendulum"], ["adapt", "{folder}/good.csv", "{folder}/good.csv"]]
)
def test_a_file_that_cannot_be_written_is_refused_first(
    tables, capsys, monkeypatch, command, out, words
):
    arguments = [part.format(folder=tables) for part in (*command, "--out", out)]
    assert words in refused(arguments, capsys, monkeypatch)


def test_an_option_whose_name_begins_with_another_is_named_in_full():
    found = in_options("time_unit must be one of 's', 'h'; got 'w'.", options_of("fit"))
    assert found == "--time-unit must be one of 's', 'h'; got 'w'."
