"""Lines of the programs that the benchmark runs."""

import ast
from pathlib import Path

_FOLDER = Path(__file__).parent / "snippets"


def code_lines(method: str) -> int:
    """Return the number of lines of a program with code, without comments and docstrings."""
    text = (_FOLDER / f"{method}.py").read_text()
    documentation: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.FunctionDef)) and ast.get_docstring(node):
            first = node.body[0]
            documentation |= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return sum(
        bool(line.strip()) and not line.strip().startswith("#") and number not in documentation
        for number, line in enumerate(text.splitlines(), start=1)
    )
