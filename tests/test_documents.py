"""Examples run, and README and CONTRIBUTING name only things that exist."""

import re
import subprocess
import sys
import tomllib
import warnings
from operator import attrgetter
from pathlib import Path

import pytest

import orthoreg
from orthoreg.cli import run
from paper import read

ROOT = Path(__file__).parents[1]


EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(example, tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "error", str(example)], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_readme_shows_the_text_of_the_first_example():
    source = (ROOT / "examples" / "quickstart.py").read_text().split('"""', 2)[2].strip()
    assert source in (ROOT / "README.md").read_text()


@pytest.mark.slow
def test_examples_become_notebooks_that_run(tmp_path):
    jupytext, nbclient = pytest.importorskip("jupytext"), pytest.importorskip("nbclient")
    notebooks = {path.stem: jupytext.read(path) for path in EXAMPLES if path.stem != "quickstart"}
    for notebook in notebooks.values():
        kinds = [cell.cell_type for cell in notebook.cells]
        assert kinds[0] == "markdown" and kinds.count("code") >= 2
    with warnings.catch_warnings():  # warnings of the kernel about sockets
        warnings.simplefilter("ignore")
        nbclient.NotebookClient(notebooks["friction"], timeout=300, kernel_name="python3").execute(
            cwd=str(tmp_path)
        )
    assert "sign(v)" in str(notebooks["friction"].cells)


@pytest.mark.slow
def test_the_page_of_the_reproduction_is_that_of_its_records():
    docs = ROOT / "docs"
    page = read(docs / "reproduction").page("reproduction")
    assert (docs / "reproduction.md").read_text() == page
    for picture in re.findall(r"\]\((reproduction/\w+\.png)\)", page):
        assert (docs / picture).stat().st_size > 50_000


@pytest.mark.slow
def test_the_page_of_the_recommended_default_is_that_of_its_records():
    docs = ROOT / "docs"
    result = read(docs / "extrapolation", ["extrapolation"])
    assert (docs / "extrapolation.md").read_text() == result.beyond_page("extrapolation/errors.png")
    assert (docs / "extrapolation" / "errors.png").stat().st_size > 50_000


def test_the_page_of_the_search_is_that_of_its_records():
    docs = ROOT / "docs"
    page = read(docs / "discovery", ["discovery"]).discovery_page()
    assert (docs / "discovery.md").read_text() == page


README = (ROOT / "README.md").read_text()
CODE = re.sub(r"(?m)^(?!    ).*$", "", README) + " ".join(re.findall(r"`[^`\n]+`", README))
"""Indented lines of README, and texts in backticks."""


def test_readme_names_only_targets_of_make_that_exist():
    targets = set(re.findall(r"\bmake ([a-z]+)", CODE))
    assert {"demo", "test", "readme"} <= targets
    makefile = (ROOT / "Makefile").read_text()
    assert [name for name in targets if f"\n{name}: .venv/" not in makefile] == []


COMMANDS = re.findall(r"\borthoreg ([a-z]+)((?:(?! #|`).)*)", CODE)


@pytest.mark.parametrize("name, rest", COMMANDS, ids=lambda part: str(part).strip()[:20])
def test_readme_names_only_commands_and_options_that_exist(name, rest, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert run([name, "--help"]) == 0
    shown = capsys.readouterr().out
    options = re.findall(r"--[a-z-]+", rest)
    assert [option for option in options if not re.search(rf"{option}\b", shown)] == []


def test_readme_names_only_what_the_package_has():
    names = set(re.findall(r"\bog\.([A-Za-z_.]+\w)", README))
    assert len(names) > 10
    for name in names:
        attrgetter(name)(orthoreg)


def test_contributing_lists_the_layers_of_the_import_contract():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contract = project["tool"]["importlinter"]["contracts"][0]
    text = (ROOT / "CONTRIBUTING.md").read_text()
    table = text.split("| module | responsibility |")[1].split("\n\n")[0]
    rows = [row.split("|")[1] for row in table.splitlines() if row.startswith("| `")]
    listed = [set(re.findall(r"`(\w+)/?`", row)) for row in rows]
    assert listed == [set(layer.split(" | ")) for layer in contract["layers"]]
    package = ROOT / "src" / "orthoreg"
    for name in re.findall(r"`(\w+)(?=/`)", table):
        assert (package / name / "__init__.py").exists()


def test_contributing_names_only_files_that_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    places = [ROOT / "src" / "orthoreg", ROOT]
    named = set(re.findall(r"`([\w.]+/[\w/.]*\w\.(?:py|md))`", text))
    assert len(named) > 10
    assert [n for n in named if not any((place / n).exists() for place in places)] == []
