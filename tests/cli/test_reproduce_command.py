"""`orthoreg reproduce` runs the experiments in a clone, and otherwise says where they are."""

from pathlib import Path

import pytest

from orthoreg.cli import _paper, run

PRINTS_ITS_ARGUMENTS = "import sys; print(*sys.argv[1:]); sys.exit(3)\n"


@pytest.fixture
def installed(monkeypatch, tmp_path) -> Path:
    """The package as if it were installed, and another current folder."""
    monkeypatch.setattr(_paper, "__file__", str(tmp_path / "lib/orthoreg/cli/_paper.py"))
    current = tmp_path / "current"
    current.mkdir()
    monkeypatch.chdir(current)
    return current


def add_package(folder: Path, main: str) -> None:
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "__main__.py").write_text(main)


def test_the_installed_package_says_where_the_experiments_are(installed, capsys):
    add_package(installed / "paper", PRINTS_ITS_ARGUMENTS)  # a folder of another project
    assert run(["reproduce", "table_pendulum", "--quick", "--json"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert "is part of the repository, not of the installed package: clone" in printed.err
    assert run(["reproduce", "--help"]) == 0
    assert "python -m paper" in capsys.readouterr().out


def test_a_clone_that_is_the_current_folder_is_run_with_all_arguments(installed, capfd):
    add_package(installed / "paper", PRINTS_ITS_ARGUMENTS)
    (installed / "src" / "orthoreg").mkdir(parents=True)
    assert run(["reproduce", "figures", "--seeds", "2", "--json", "--help"]) == 3
    assert capfd.readouterr().out == "figures --seeds 2 --json --help\n"


def test_the_package_of_a_clone_runs_its_own_experiments(monkeypatch, tmp_path, capfd):
    add_package(tmp_path / "paper", PRINTS_ITS_ARGUMENTS)  # not the package of this clone
    monkeypatch.chdir(tmp_path)
    assert run(["reproduce", "tables"]) == 2
    assert "There is no experiment 'tables'" in capfd.readouterr().err
