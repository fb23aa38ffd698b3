"""Mistakes in a command are reported before slow imports."""

import json
import subprocess
import sys

import pytest

from orthoreg.cli._arguments import PRESET_NAMES
from orthoreg.presets import PRESETS

HEAVY = ["rich", "jax", "equinox", "scipy.optimize", "scipy.stats", "sklearn", "sympy",
         "matplotlib", "plotly", "pandas", "dask"]  # fmt: skip
UNREAD = [*HEAVY, "numpy"]  # without reading a table
PROGRAM = f"""
import json, sys
from orthoreg.cli import run
code = run(sys.argv[1:])
print(json.dumps([code, [name for name in {UNREAD} if name in sys.modules]]))
"""
FIT = ["fit", "table.csv", "--time", "t", "--states", "x"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fit", "absent.csv", "--time", "t", "--states", "x"], "There is no file 'absent.csv'"),
        (["fit", "*.dat", "--time", "t", "--states", "x"], "No file matches '*.dat'"),
        (["fit", "table.csv", "--time", "t", "--states", "y"], "no column 'y'"),
        (["fit", "table.csv", "--time", "t"], "--states must name"),
        (["fit", "table.csv", "--states", "x"], "--time"),
        ([*FIT, "--preset", "absent"], "--preset must be one of"),
        ([*FIT, "--library", "poly(-1)"], "poly"),
        ([*FIT, "--library", "sinn(x)"], "unknown function 'sinn'"),
        ([*FIT, "--library", "poly(1)+exp(w)"], "unknown variable 'w'"),
        ([*FIT, "--bound", "x': w <= 3"], "unknown variable 'w'"),
        ([*FIT, "--sparsity", "-1"], "--sparsity must be a number, finite and at least 0"),
        ([*FIT, "--orthogonality", "nan"], "--orthogonality must be a number, at least 0"),
        ([*FIT, "--known", "x = 1"], "A known equation must have a form"),
        ([*FIT, "--bound", "L"], "bound"),
        ([*FIT, "--out", "table.csv"], "--out must be a folder"),
        ([*FIT, "--repiar"], "No such option"),
        (["show", "absent.orthoreg"], "There is no model file"),
        (["evaluate", "absent.orthoreg", "table.csv"], "There is no model file"),
        (["simulate", "absent.orthoreg", "--start", "1", "--until", "2"], "There is no model"),
        (["report", "absent.orthoreg", "table.csv"], "There is no model file"),
    ],
)
def test_nothing_heavy_is_imported_before_a_mistake_is_reported(tmp_path, arguments, words):
    (tmp_path / "table.csv").write_text("t,x\n" + "".join(f"{k},{k * k}\n" for k in range(9)))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], cwd=tmp_path, capture_output=True, text=True
    )
    assert words in done.stderr, done.stderr
    code, loaded = json.loads(done.stdout.splitlines()[-1])
    assert code == 2 and not set(loaded) & set(UNREAD if "absent" in str(arguments) else HEAVY)


def test_the_names_of_presets_are_those_that_there_are():
    assert list(PRESETS) == PRESET_NAMES
