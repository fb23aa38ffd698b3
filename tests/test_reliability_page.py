"""The page on reliability names tests that exist."""

import ast
import re
from pathlib import Path

TESTS = Path(__file__).parent
PAGE = (TESTS.parent / "docs" / "reliability.md").read_text()
NAMED = re.findall(r"`([\w/]+\.py)(?:::(\w+))?`", PAGE)


def functions(path: Path) -> set[str]:
    if not path.is_file():
        return set()
    tree = ast.parse(path.read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_named_tests_exist():
    missing = [
        f"{file}::{test}"
        for file, test in NAMED
        if not (TESTS / file).is_file() or (test and test not in functions(TESTS / file))
    ]
    assert not missing and len(NAMED) > 20


def test_every_promise_names_a_test():
    rows = [line for line in PAGE.splitlines() if line.startswith("|") and "---" not in line]
    rows = [row for row in rows if not row.endswith("| test |")]
    assert len(rows) > 20 and all(re.search(r"`[\w/]+\.py(::\w+)?` \|$", row) for row in rows)
