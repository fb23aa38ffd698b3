"""The shape of the code: lines, files, layers, constants, and the path from `fit` to coefficients.

`ast` and `tokenize` count the source of an earlier revision and of this one. Nothing is timed, so
the numbers do not depend on the machine.
"""

import ast
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import tokenize
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from .revision import revision

ROOT = Path(__file__).parents[1]
BEFORE = "2116a1b"
"""The last revision before the reorganization of the code."""
IDENTIFIERS = ("one", "found")
PYTHON_FOLDERS = ("src", "paper", "tests", "benchmarks", "torture", "examples", "docs")
LONG_FILE, LONG_FUNCTION = 500, 60
"""Lines. Longer files and functions are counted. `CONTRIBUTING.md` states these limits."""


def measure() -> dict[str, Any]:
    """Count the current files, and those of the earlier revision if Git has it."""
    record: dict[str, Any] = {"before_revision": BEFORE, "revision": revision()}
    archive = subprocess.run(
        ["git", "archive", BEFORE], cwd=ROOT, capture_output=True, check=False
    ).stdout
    if archive:
        with tempfile.TemporaryDirectory() as folder:
            with tarfile.open(fileobj=io.BytesIO(archive)) as files:
                files.extractall(folder, filter="data")
            record["before"] = _counted(Path(folder))
    record["now"] = _counted(ROOT)
    return record


def _counted(root: Path) -> dict[str, Any]:
    everywhere = {name: uses(_python_texts(root), name) for name in IDENTIFIERS}
    return counts(root) | {"uses_everywhere": everywhere, "fits": traced_fits(root)}


# -- counting ------------------------------------------------------------------------------


def counts(root: Path) -> dict[str, Any]:
    """Return the counts of the source of a checkout."""
    package = root / "src" / "orthoreg"
    texts = {path.relative_to(package): path.read_text() for path in sorted(package.rglob("*.py"))}
    trees = {path: ast.parse(text) for path, text in texts.items()}
    lines = {path: len(text.splitlines()) for path, text in texts.items()}
    functions = [
        (_code_lines(node), f"{path.as_posix()}: {node.name}")
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    constants = {path: len(numeric_constants(tree)) for path, tree in trees.items()}
    longest_file = max(lines, key=lambda path: lines[path])
    longest_function = max(functions)
    layers = _layers(root)
    return {
        "lines": sum(lines.values()),
        "files": len(lines),
        "lines_per_file": round(sum(lines.values()) / len(lines)),
        "layers": len(layers),
        "modules_in_layers": sum(len(layer.split("|")) for layer in layers),
        "classes": sum(isinstance(n, ast.ClassDef) for t in trees.values() for n in ast.walk(t)),
        "functions": len(functions),
        "constants": sum(constants.values()),
        "constants_in_limits": sum(n for path, n in constants.items() if path.name == "_limits.py"),
        "longest_file": [lines[longest_file], longest_file.as_posix()],
        "long_files": sum(n > LONG_FILE for n in lines.values()),
        "longest_function": list(longest_function),
        "long_functions": sum(n > LONG_FUNCTION for n, _ in functions),
        "uses": {name: uses(texts.values(), name) for name in IDENTIFIERS},
        "packages": _packages(package, lines, trees),
    }


def numeric_constants(tree: ast.Module) -> list[str]:
    """Return the uppercase names that a module binds to numbers.

    Numbers are literals, and arithmetic, NumPy or math functions, tuples and lists of numbers.
    """
    names = []
    for node in tree.body:
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets, value = [node.target], node.value
        else:
            continue
        for target in targets:
            bound = _bound_numbers(target, value)
            names += [name for name in bound if name.strip("_").isupper()]
    return names


def _bound_numbers(target: ast.expr, value: ast.expr) -> list[str]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        pairs = zip(target.elts, value.elts, strict=False)
        return [name for pair in pairs for name in _bound_numbers(*pair)]
    if isinstance(target, ast.Name) and _is_number(value):
        literals = (node for node in ast.walk(value) if isinstance(node, ast.Constant))
        if any(True for _ in literals):  # not only other names
            return [target.id]
    return []


def _is_number(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=value):
            return isinstance(value, int | float) and not isinstance(value, bool)
        case ast.UnaryOp(operand=operand):
            return _is_number(operand)
        case ast.BinOp(left=left, right=right):
            return _is_number(left) and _is_number(right)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return bool(parts) and all(map(_is_number, parts))
        case ast.Call(func=ast.Attribute(value=ast.Name(id="np" | "math")), args=parts):
            return bool(parts) and all(map(_is_number, parts))
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name.strip("_").isupper() or name in ("pi", "inf", "e")
    return False


def _code_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the number of lines of a function without its docstring."""
    lines = (node.end_lineno or node.lineno) - node.lineno + 1
    first = node.body[0]
    if ast.get_docstring(node, clean=False) is not None:
        lines -= (first.end_lineno or first.lineno) - first.lineno + 1
    return lines


def _layers(root: Path) -> list[str]:
    """Return the layers of the package from the contract of import-linter."""
    project = tomllib.loads((root / "pyproject.toml").read_text())
    contracts = project["tool"]["importlinter"]["contracts"]
    (layers,) = (c["layers"] for c in contracts if c.get("containers") == ["orthoreg"])
    return layers


def _python_texts(root: Path) -> Iterator[str]:
    for folder in PYTHON_FOLDERS:
        for path in (root / folder).rglob("*.py"):
            yield path.read_text()


def uses(texts: Iterable[str], name: str) -> int:
    """Count the uses of a name in the code of these files, without text and comments."""
    count = 0
    for text in texts:
        if name in text:
            tokens = tokenize.generate_tokens(io.StringIO(text).readline)
            count += sum(part.type == tokenize.NAME and part.string == name for part in tokens)
    return count


def _packages(
    package: Path, lines: dict[Path, int], trees: dict[Path, ast.Module]
) -> dict[str, list[Any]]:
    """Return the number of files and lines and the first sentence of the docstring per package."""
    rows: dict[str, list[Any]] = {}
    for path in sorted(lines):
        if path.name == "__init__.py" and len(path.parts) == 2:
            own = [p for p in lines if p.parts[0] == path.parts[0]]
            words = " ".join((ast.get_docstring(trees[path]) or "").split("\n\n")[0].split())
            sentence = words.split(". ")[0].removesuffix(".") + "."
            rows[path.parts[0]] = [len(own), sum(lines[p] for p in own), sentence]
    single = [p for p in lines if len(p.parts) == 1]
    rows["modules without a package"] = [len(single), sum(lines[p] for p in single), ""]
    return rows


# -- following a fit -----------------------------------------------------------------------

FIT = """
import json, sys
import numpy as np

import orthoreg as og

noise = float(sys.argv[1])
t = np.linspace(0, 10, 201)
rng = np.random.default_rng(0)
runs = []
for start in ([1.0, 0.0], [-0.5, 1.0], [0.3, -1.2]):  # x'' = -x - 0.2 x'
    w = np.sqrt(1 - 0.1**2)
    b = (start[1] + 0.1 * start[0]) / w
    decay, cos, sin = np.exp(-0.1 * t), np.cos(w * t), np.sin(w * t)
    x = decay * (start[0] * cos + b * sin)
    v = -0.1 * x + decay * w * (b * cos - start[0] * sin)
    runs.append(np.column_stack([x, v]) + noise * rng.standard_normal((len(t), 2)))
data = og.Dataset.from_arrays(runs, t, names=["x", "v"])
model = og.OrthoReg()

stack, modules, functions = [], set(), set()
solving, to_solver, deepest, solved = 0, 0, 0, None


def counted():
    return {
        "hops": to_solver, "deepest": deepest,
        "modules": len(modules), "functions": len(functions),
        "packages": len({name.split(".")[1] for name in modules if "." in name}),
    }


def follow(frame, event, _):
    global solving, to_solver, deepest, solved
    name = frame.f_globals.get("__name__", "")
    if not name.startswith("orthoreg"):
        return
    if event == "call":
        last, hops = stack[-1] if stack else (name, 0)
        stack.append((name, hops + (name != last)))
        modules.add(name)
        functions.add((name, frame.f_code.co_qualname))
        solving += frame.f_code.co_name == "solve_all"
        deepest = max(deepest, stack[-1][1])
        if solving and solved is None:
            to_solver = max(to_solver, stack[-1][1])
    elif event == "return" and stack:
        stack.pop()
        if frame.f_code.co_name == "solve_all":
            solving -= 1
            solved = solved or counted()


sys.setprofile(follow)
model.fit(data)
sys.setprofile(None)
print(json.dumps({"solved": solved, "fitted": counted(), "equations": model.equations(2)}))
"""
"""Script that fits a damped oscillator with all defaults and counts the code that runs."""


def traced_fits(root: Path) -> dict[str, Any]:
    """Trace default fits of clean and noisy runs, each in a separate process."""
    results = {}
    environment = os.environ | {"PYTHONPATH": str(root / "src")}
    for name, noise in (("clean", 0.0), ("noisy", 0.02)):
        done = subprocess.run(
            [sys.executable, "-c", FIT, str(noise)],
            cwd=root, env=environment, capture_output=True, text=True, check=True,
        )  # fmt: skip
        results[name] = json.loads(done.stdout)
    return results


# -- the page ------------------------------------------------------------------------------


def page(record: dict[str, Any]) -> str:
    """Return `docs/shape.md`."""
    before, now = record.get("before"), record["now"]
    earlier = before or {}
    text = (
        "# Shape of the code\n\n"
        "For contributors: the size and structure of `src/orthoreg`, counted by `python -m "
        "benchmarks shape`. "
    )
    if before:
        text += f"*Before* is revision {record['before_revision']}, "
    text += f"*now* is revision {record['revision']}.\n\n| | before | now |\n|---|---|---|\n"
    for label, key in ROWS:
        text += f"| {label} | {_cell(earlier, key)} | {_cell(now, key)} |\n"
    for name in IDENTIFIERS:
        text += f"| uses of the name `{name}` | {_of_name(earlier, name)} | "
        text += f"{_of_name(now, name)} |\n"
    text += (
        "\n- **Lines** include comments, docstrings and blank lines. The lengths of functions do "
        "not include docstrings.\n"
        "- **Layers** are those of the import contract in `pyproject.toml`.\n"
        "- **Numeric constants** are names in capitals that a module binds to numbers.\n"
        "- **Uses of a name** are counted in the code of `src/orthoreg` and, in brackets, of all "
        "Python files of the repository.\n\n"
        "## From `fit` to coefficients\n\n"
        "The table traces all function calls of `OrthoReg().fit(data)` for three runs of a damped "
        "oscillator, with and without noise. A *hop* is a call from one module into another. "
        "*Hops to the solved equations* is the number of hops on the call stack from `fit` to the "
        "deepest function of the solver. *Deepest stack* is the largest number of hops at any "
        "time. *Modules*, *packages* and *functions* are the numbers of distinct items that run. "
        "The first two columns end when the solver returns coefficients for the first time.\n\n"
        "| fit | | first coefficients, before | now | all of `fit`, before | now |\n"
        "|---|---|---|---|---|---|\n"
    )
    for fit in ("clean", "noisy"):
        for key, words in TRACED.items():
            cells = [
                str(side["fits"][fit][stop][key]) if side else "-"
                for stop in ("solved", "fitted")
                for side in (before, now)
            ]
            text += f"| {fit} | {words} | {' | '.join(cells)} |\n"
    text += (
        "\n## Packages\n\n| package | files | lines, before | lines, now | role |\n"
        "|---|---|---|---|---|\n"
    )
    past = earlier.get("packages", {})
    for name in [*now["packages"], *(name for name in past if name not in now["packages"])]:
        files, lines, role = now["packages"].get(name, ("-", None, f"*{past.get(name, [''])[-1]}*"))
        shown = f"`{name}`" if " " not in name else name
        text += f"| {shown} | {files} | {_count(past.get(name, (0, None))[1])} | "
        text += f"{_count(lines)} | {_escaped(role)} |\n"
    return text + "\nPackages without lines under *now* were removed or renamed.\n"


TRACED = {
    "hops": "hops to the solved equations",
    "deepest": "deepest stack, in hops",
    "modules": "modules",
    "packages": "packages",
    "functions": "functions",
}
ROWS = (
    ("lines", "lines"),
    ("files", "files"),
    ("lines in a file, mean", "lines_per_file"),
    ("layers", "layers"),
    ("packages and modules in layers", "modules_in_layers"),
    ("classes", "classes"),
    ("functions and methods", "functions"),
    ("numeric constants", "constants"),
    ("of these, in a `_limits.py`", "constants_in_limits"),
    ("longest file", "longest_file"),
    (f"files of more than {LONG_FILE} lines", "long_files"),
    ("longest function", "longest_function"),
    (f"functions of more than {LONG_FUNCTION} lines", "long_functions"),
)


def _cell(side: dict[str, Any], key: str) -> str:
    value = side.get(key)
    if isinstance(value, list):
        count, name = value
        return f"{count} (`{name}`)"
    return _count(value)


def _of_name(side: dict[str, Any], name: str) -> str:
    if not side:
        return "-"
    return f"{side['uses'][name]:,} ({side['uses_everywhere'][name]:,})"


def _count(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _escaped(text: str) -> str:
    return text.replace("|", r"\|")
