"""Examples run, and README shows what they are."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.stem)
def test_example_runs_and_readme_shows_its_text(example, tmp_path):
    done = subprocess.run(
        [sys.executable, str(example)], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    source = example.read_text().split('"""', 2)[2].strip()
    assert source in (ROOT / "README.md").read_text()


def test_readme_names_only_commands_that_exist():
    makefile = (ROOT / "Makefile").read_text()
    for target in ("demo", "test", "readme"):
        assert f"\n{target}: .venv/ready" in makefile
