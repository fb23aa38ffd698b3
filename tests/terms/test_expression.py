"""Formulas as data: canonical form, conversion to text and back, and equal values in NumPy, JAX and
SymPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy
from hypothesis import example, given, settings
from hypothesis import strategies as st

from orthoreg._common.errors import FormulaError
from orthoreg.terms import _expression as tree
from orthoreg.terms import evaluate, parse, rename, to_text

NAMES = ("x", "a b", "sin")


def recipes(operations: list[str], most: int = 8) -> st.SearchStrategy:
    """Random recipes, in which each step combines the last result with an earlier one."""
    step = st.tuples(st.sampled_from(operations), st.integers(0, 12))
    return st.lists(step, min_size=1, max_size=most)


def build(recipe, numbers=(-1.0, 2.0, 0.5)) -> tree.Expression:
    """Return the formula of a recipe, made by the constructors."""
    made = [tree.Number(number) for number in numbers]
    made += [tree.Variable(i, name) for i, name in enumerate(NAMES)]
    for operation, place in recipe:
        last, other = made[-1], made[place % len(made)]
        try:
            match operation:
                case "add" | "multiply":
                    result = getattr(tree, operation)(last, other)
                case "subtract":
                    result = tree.add(last, tree.multiply(tree.Number(-1.0), other))
                case "square" | "invert" | "root":
                    exponent = {"square": 2.0, "invert": -1.0, "root": 0.5}[operation]
                    result = tree.power(last, tree.Number(exponent))
                case "raise":
                    result = tree.power(other, last)
                case function:
                    result = tree.call(function, last)
        except FormulaError:  # a constant part without a finite value
            continue
        made.append(result)
    return made[-1]


EXACT = ["add", "subtract", "multiply", "square"]  # these numbers are never rounded
TAME = [*EXACT, "sin", "tanh", "arctan", "abs"]  # can be compared in floating point
ANY = [*EXACT, "invert", "root", "raise", "sin", "exp"]


@settings(max_examples=200)
@given(recipes(ANY))
@example([("add", 4), ("multiply", 1), ("add", 5), ("subtract", 7)])
@example([("multiply", 4), ("root", 0), ("multiply", 5), ("multiply", 8)])
def test_text_reads_back_as_the_same_formula(recipe):
    formula = build(recipe, numbers=(-1.0, 2.0, 0.1, 1e20))
    assert parse(to_text(formula), NAMES) == formula


@settings(max_examples=200)
@given(recipes([*EXACT, "root", "invert"]))
def test_canonical_form_is_a_fixed_point(recipe):
    formula = build(recipe)
    assert rename(formula, NAMES) == formula


@settings(max_examples=200)
@given(st.lists(recipes(EXACT), min_size=2, max_size=4), st.randoms(use_true_random=False))
def test_the_order_of_writing_does_not_matter(several, random):
    parts = [build(recipe) for recipe in several]
    shuffled = random.sample(parts, len(parts))
    assert tree.multiply(*shuffled) == tree.multiply(*parts)
    assert tree.add(*shuffled) == tree.add(*parts)


@pytest.mark.parametrize(
    "one, other",
    [
        ("x*x*y", "y*x**2"),
        ("2*x + y + 3*x", "y + 5*x"),
        ("x - x", "0"),
        ("x/y/z", "x*y**-1/z"),
        ("(x*y)**3", "y**3*x**3"),
        ("1/(1/x)", "x"),
        ("1**x", "1"),
        ("-(-x)", "x"),
        ("x**0.5*x**1.5", "x**2"),
        ("z*(x*y)**0.5*(x*y)**0.5", "x*y*z"),
        ("x*(x**2)**0.5*(x**2)**0.5", "x**3"),
        ("z + 2*(x + y) - (x + y)", "x + y + z"),
        ("x**2.0000001 + x**2.0000002", "x**2.0000002 + x**2.0000001"),
        ("sin(y*x)", "sin(x*y)"),
        ("2*pi*x", "6.283185307179586*x"),
    ],
)
def test_equal_formulas_are_equal_objects(one, other):
    left, right = parse(one, "xyz"), parse(other, "xyz")
    assert left == right and hash(left) == hash(right)


@pytest.mark.parametrize(
    "one, other",
    [("(x**2)**0.5", "x"), ("-x**2", "(-x)**2"), ("abs(x)", "x"), ("x**y", "y**x"), ("x/y", "y/x")],
)
def test_different_formulas_stay_different(one, other):
    assert parse(one, "xyz") != parse(other, "xyz")


def sympy_values(formula: tree.Expression, points: np.ndarray) -> list[float]:
    symbols = sympy.symbols("a b c", real=True)
    value = sympy.sympify(evaluate(formula, symbols, sympy))
    return [float(value.subs(dict(zip(symbols, point, strict=True)))) for point in points.T]


def assert_three_agree(formula: tree.Expression, points: np.ndarray) -> None:
    values = np.broadcast_to(evaluate(formula, points, np), points.shape[1])
    with jax.enable_x64(True):
        by_jax = np.broadcast_to(evaluate(formula, jnp.asarray(points), jnp), points.shape[1])
    np.testing.assert_allclose(by_jax, values, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(sympy_values(formula, points), values, rtol=1e-9, atol=1e-12)


@given(recipes(TAME, most=5), st.integers(0, 10**6))
def test_numpy_jax_and_sympy_agree_on_random_formulas(recipe, seed):
    assert_three_agree(build(recipe), np.random.default_rng(seed).uniform(-1.5, 1.5, (3, 2)))


@pytest.mark.parametrize("formula", ["1/x", "x**-2*y", "x**0.5", "x**y", "2**-x", "(x + y)**-1.5"])
def test_numpy_jax_and_sympy_agree_on_powers(formula, rng):
    assert_three_agree(parse(formula, "xyz"), rng.uniform(0.05, 2, (3, 3)))


@pytest.mark.parametrize("function", sorted(tree.FUNCTIONS))
def test_every_function_means_the_same_to_numpy_jax_and_sympy(function, rng):
    points = rng.uniform(0.05, 0.95, (3, 3))
    formula = tree.call(function, tree.Variable(1, "a b"))
    assert_three_agree(formula, points)
    half = (0.5,) if function == "heaviside" else ()
    expected = getattr(np, function)(points[1], *half)
    np.testing.assert_array_equal(evaluate(formula, points, np), expected)
    constant = tree.call(function, tree.Number(0.5))
    assert constant.value == pytest.approx(getattr(np, function)(0.5, *half), rel=1e-15)


def test_numbers_keep_every_digit():
    for number in (0.1, 1 / 3, 1e-300, 1.7e308, 2.0**60, 1e15, -1e16):
        assert parse(to_text(tree.Number(number)), []) == tree.Number(number)


def test_nested_brackets_do_not_cost_exponential_time():
    """Twenty levels are read quickly. With twice the work per level, they would take forever."""
    text = "x"
    for _ in range(20):
        text = f"(y - x*{text}*z)"
    assert parse(to_text(parse(text, "xyz")), "xyz") == parse(text, "xyz")


@pytest.mark.parametrize(
    ("text", "symbols"),
    [("x", 1), ("x*y", 2), ("x**2", 2), ("x**3", 3), ("x**2*y", 3), ("sin(x)", 2), ("2.5", 0),
     ("sqrt(x)", 2), ("x/(K + x)", 4), ("exp(-x**2)", 3)],
)  # fmt: skip
def test_complexity_counts_what_is_written_without_powers(text, symbols):
    from orthoreg.terms import complexity, parse

    assert complexity(parse(text, ["x", "y"], ["K"])) == symbols
