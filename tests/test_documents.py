"""Segments run, and README shows what they are."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

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


def test_readme_names_only_commands_that_exist():
    makefile = (ROOT / "Makefile").read_text()
    for target in ("demo", "test", "readme", "reproduction"):
        assert f"\n{target}: .venv/ready" in makefile
