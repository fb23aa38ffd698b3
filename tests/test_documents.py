"""Segments run, and README shows what they are."""

import re
import subprocess
import sys
from operator import attrgetter
from pathlib import Path

import pytest

import orthoreg
from orthoreg.cli import run
from orthoreg.experiments import read

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.stem)
def test_example_runs_and_readme_shows_its_text(example, tmp_path):
    done = subprocess.run(
        [sys.executable, str(example)], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    source = example.read_text().split('"""', 2)[2].strip()
    assert source in (ROOT / "README.md").read_text()


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


README = (ROOT / "README.md").read_text()
CODE = re.sub(r"(?m)^(?!    ).*$", "", README) + " ".join(re.findall(r"`[^`\n]+`", README))
"""Its indented lines, and what stands in backticks."""


def test_readme_names_only_targets_of_make_that_exist():
    targets = set(re.findall(r"\bmake ([a-z]+)", CODE))
    assert {"demo", "test", "readme"} <= targets
    makefile = (ROOT / "Makefile").read_text()
    assert [name for name in targets if f"\n{name}: .venv/ready" not in makefile] == []


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
