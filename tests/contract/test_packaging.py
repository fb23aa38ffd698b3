"""The installed package: declared dependencies, one version number, change log and citation."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import orthoreg

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NAMES = {"scikit-learn": "sklearn"}


def declared(requirements):
    names = (re.match(r"[\w-]+", requirement)[0] for requirement in requirements)
    return {NAMES.get(name, name.replace("-", "_")) for name in names}


def imported():
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                yield from ((alias.name.split(".")[0], path) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                yield (node.module or "").split(".")[0], path


def test_every_package_that_is_imported_is_declared():
    extras = PROJECT["optional-dependencies"]
    known = declared(PROJECT["dependencies"])
    known |= {name for extra in set(extras) - {"dev", "docs"} for name in declared(extras[extra])}
    # files that users read in the repository
    known |= {"orthoreg", "xarray", "zstandard"} | set(sys.stdlib_module_names)
    missing = {(name, path.name) for name, path in imported() if name not in known}
    assert missing == set()


def test_the_version_stands_in_one_place_and_has_a_section_of_changes():
    assert PROJECT["dynamic"] == ["version"]
    assert f"## [{orthoreg.__version__}] - " in (ROOT / "CHANGELOG.md").read_text()
    assert f'version: "{orthoreg.__version__}"' in (ROOT / "CITATION.cff").read_text()
