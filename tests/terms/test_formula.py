"""Formulas from text: precedence as in Python, helpful errors, and no hostile input."""

import os
import subprocess

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orthoreg._common.errors import FormulaError
from orthoreg.terms import evaluate, parse, to_text
from orthoreg.terms._expression import Number, Variable

NUMPY = {name: getattr(np, name) for name in ("sin", "exp", "log", "sqrt", "tanh", "pi")}


@pytest.mark.parametrize(
    "formula",
    [
        "sin(3*theta)", "theta**2*omega", "-theta**2", "2**3**2*theta", "theta/omega/3",
        "theta-omega-1", "-theta*-omega", "theta**-2", "2*theta**-omega", "+theta - -omega",
        "exp(-(theta/2)**2)", "1e-3*theta + .5*omega - 2.", "tanh(sqrt(theta*omega))/pi",
        "(theta + omega)*(theta - omega)", "log(theta)**2", "2/3*theta", "2**-theta**2",
    ],
)  # fmt: skip
def test_means_what_python_means(formula, rng):
    theta, omega = points = rng.uniform(0.5, 2, (2, 7))
    expected = eval(formula, {"theta": theta, "omega": omega, **NUMPY})
    value = evaluate(parse(formula, ["theta", "omega"]), points, np)
    np.testing.assert_allclose(value, expected, rtol=1e-14)


@pytest.mark.parametrize(
    "alias, meaning",
    [("x^2", "x**2"), ("ln(x)", "log(x)"), ("asin(x)", "arcsin(x)"), ("Abs(x)", "abs(x)")],
)
def test_other_spellings(alias, meaning):
    assert parse(alias, "x") == parse(meaning, "x")


HOSTILE = [
    "__import__('os').system('x')", "__import__", "x.__class__.__mro__", "x.real", "x[0]", "{x}",
    "(lambda: 0)()", "[x for x in y]", "f'{x}'", "x := 1", "x = 1", "x; y", "x\ny", "x, y", "x\\",
    "x if y else x", "eval(x)", "exec(x)", "open(x)", "getattr(x)", "x @ y", "x // y", "x % y",
    "x == y", "not x", "x!", "\x00", "'x'", '"x"', "x # y", "$x", "1j*x", "1_000*x", "sin(x, y)",
    "sin(*x)", "`x", "``",
]  # fmt: skip


@pytest.mark.parametrize("formula", HOSTILE)
def test_nothing_but_arithmetic_is_read(formula, monkeypatch):
    def ran(*_, **__):
        raise AssertionError("the formula was run")

    monkeypatch.setattr(os, "system", ran)
    monkeypatch.setattr(subprocess, "Popen", ran)
    with pytest.raises(FormulaError, match="^Formula '"):
        parse(formula, ["x", "y"])


@pytest.mark.parametrize(
    "formula",
    ["(" * 5000 + "x" + ")" * 4999, "(" * 4000 + "x" + ")" * 4000, "-" * 9000 + "x",
     "sin(" * 2000 + "x" + ")" * 2000, "x" + "**x" * 3000, "x" * 10_001],
    ids=["open", "brackets", "signs", "calls", "powers", "long"],
)  # fmt: skip
def test_depth_and_length_are_limited(formula):
    with pytest.raises(FormulaError, match="nested|characters") as caught:
        parse(formula, "x")
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "formula",
    ["9**9**9**9", "10**400*x", "1e999", "x + 1e999", "x**1e999", "exp(1000)", "1e300*1e300*x"]
    + ["1/0", "x/0", "0/0", "0**-1", "log(0)", "sqrt(-1)", "(-8)**(1/3)", "arcsin(2)"],
)
def test_constants_without_a_finite_value_are_refused(formula):
    with pytest.raises(FormulaError, match="overflows|finite"):
        parse(formula, "x")


def test_huge_powers_of_a_variable_are_cheap():
    assert to_text(parse("x**9**9", "x")) == "x**387420489"


@given(st.text(st.sampled_from("xy01.e+-*/^() `sincoπ_,[]'"), max_size=25))
def test_any_text_is_a_formula_or_a_formula_error(text):
    try:
        formula = parse(text, ["x", "y"])
    except FormulaError:
        return
    assert parse(to_text(formula), ["x", "y"]) == formula


@pytest.mark.parametrize(
    "formula, words",
    [
        ("sin(3*thta)", ["'thta'", "Did you mean 'theta'?", "'omega'"]),
        ("Theta", ["'Theta'", "Did you mean 'theta'?"]),
        ("sine(theta)", ["function 'sine'", "Did you mean 'sin'?", "'tanh'"]),
        ("omga*cso(theta)", ["'omga'", "Did you mean 'omega'?"]),
        ("zzz", ["'zzz'", "'theta'", "'omega'"]),
        ("theta(1 + omega)", ["'theta' is a variable", "theta*("]),
        ("sin", ["'sin'", "brackets"]),
        ("sin()", ["expected before ')'"]),
        ("sin(theta", ["')' is missing"]),
        ("theta)", ["')' was not expected"]),
        ("2theta", ["'theta' was not expected"]),
        ("theta +", ["expected before its end"]),
        ("theta * / omega", ["expected before '/'"]),
        ("  ", ["empty"]),
    ],
)
def test_slips_are_explained(formula, words):
    with pytest.raises(FormulaError) as caught:
        parse(formula, ["theta", "omega"])
    for word in [f"Formula '{formula}'", *words]:
        assert word in str(caught.value)
    if not any("Did you mean" in word for word in words):
        assert "Did you mean" not in str(caught.value)


@pytest.mark.parametrize(
    "name",
    ["angle of arm", "lambda", "class", "None", "sin", "exp", "pi", "θ", "x²", "1x", "a-b", "a.b"]
    + ["x (m/s)", "_", " x ", "x·y", "e", "E1"],
)  # fmt: skip
def test_any_column_name_works_and_reads_back(name):
    here = Variable(1, name)
    assert parse(f"`{name}`", ["x", name]) == here
    assert parse(to_text(here), ["x", name]) == here
    assert parse(f"2*sin(`{name}`)*x", ["x", name]) == parse(f"x*sin(`{name}`)*2", ["x", name])


def test_a_column_may_shadow_a_function_or_a_constant():
    names = ["sin", "exp", "pi"]
    values = np.array([0.3, 0.7, 1.1])
    assert evaluate(parse("sin(sin)*exp(exp)*pi", names), values, np) == pytest.approx(
        np.sin(0.3) * np.exp(0.7) * 1.1
    )
    assert parse("pi", names) == Variable(2, "pi")
    assert parse("pi", ["x"]) == Number(np.pi)
