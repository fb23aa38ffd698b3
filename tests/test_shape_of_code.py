"""The page on the shape of the code: counts of this tree, and of small files with known counts."""

import ast
from pathlib import Path

import pytest

from benchmarks import shape

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def now():
    return shape.counts(ROOT)


def test_the_package_is_counted(now):
    files = list((ROOT / "src" / "orthoreg").rglob("*.py"))
    assert now["files"] == len(files)
    assert now["lines"] == sum(len(path.read_text().splitlines()) for path in files)
    assert sum(lines for _, lines, _ in now["packages"].values()) == now["lines"]
    assert 0 < now["constants_in_limits"] <= now["constants"]
    assert now["layers"] <= now["modules_in_layers"]


def test_every_package_says_in_one_sentence_what_it_is_for(now):
    silent = {name for name, (_, _, role) in now["packages"].items() if not role.endswith(".")}
    assert silent == {"modules without a package"}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("LIMIT = 3", ["LIMIT"]),
        ("_LIMIT: float = -1e-3", ["_LIMIT"]),
        ("A, B = 1, 2.5", ["A", "B"]),
        ("GRID = (1, 2, 3)\nSCALES = np.logspace(-4, 0, 161)", ["GRID", "SCALES"]),
        ("HALF = 2 * math.pi", ["HALF"]),
        ("A = B\nFLAG = True\nNAME = 'x'\nlower = 3\nTABLE = {}\nEMPTY = ()", []),
    ],
)
def test_constants_are_names_in_capitals_that_are_bound_to_numbers(text, names):
    assert shape.numeric_constants(ast.parse(text)) == names


def test_names_are_counted_in_code_alone():
    text = 'one = 1  # one\n"""one"""\nprint(one, "one", x.one, someone)\n'
    assert shape.uses([text], "one") == 3


def test_docstrings_do_not_make_a_function_long():
    tree = ast.parse('def f():\n    """One.\n\n    Two."""\n    x = 1\n    return x\n')
    (function,) = tree.body
    assert isinstance(function, ast.FunctionDef)
    assert shape._code_lines(function) == 3


@pytest.mark.slow
def test_a_fit_is_followed_from_the_first_call_to_its_coefficients():
    fits = shape.traced_fits(ROOT)
    for name in ("clean", "noisy"):
        solved, fitted = fits[name]["solved"], fits[name]["fitted"]
        assert 1 < solved["hops"] <= solved["deepest"] <= fitted["deepest"]
        assert solved["packages"] < solved["modules"] <= fitted["modules"] <= fitted["functions"]
        assert fits[name]["equations"] == ["x' = 1.0 v", "v' = -1.0 x - 0.20 v"]
    assert fits["clean"]["fitted"]["modules"] < fits["noisy"]["fitted"]["modules"]


def test_the_page_has_a_row_for_every_count(now):
    fit = dict.fromkeys(shape.TRACED, 1)
    fits = dict.fromkeys(("clean", "noisy"), {"solved": fit, "fitted": fit})
    record = now | {"fits": fits, "uses_everywhere": now["uses"]}
    text = shape.page({"revision": "x", "now": record})
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert len(rows) == 1 + len(shape.ROWS) + 2 + 1 + 10 + 1 + len(now["packages"])
    assert f"| lines | - | {now['lines']:,} |" in rows
