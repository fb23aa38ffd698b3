"""Signs inside formulas, steps, and derivatives compared with SymPy."""

import numpy as np
import pytest
import sympy
from numpy.testing import assert_allclose

from orthoreg.terms import (
    derivative,
    evaluate,
    parse,
    parse_library,
    separate_signs,
    to_text,
    variables_of,
)

NAMES = ["x", "v"]
POINTS = np.random.default_rng(0).uniform(0.1, 0.9, (2, 50)) * np.array([[1.0], [-1.0]])


@pytest.mark.parametrize(
    "formula",
    ["sin(x)*cos(v)", "tan(x*v)", "arcsin(x)", "arccos(x*v)", "arctan(x) + x**3/v", "x**v",
     "sinh(x)*cosh(v) + tanh(x - v)", "exp(-x**2)", "log(x)*sqrt(x)", "abs(v)*v", "3"],
)  # fmt: skip
def test_derivatives_are_those_of_sympy(formula):
    item = parse(formula, NAMES)
    symbols = sympy.symbols("x v", real=True)
    exact = evaluate(item, symbols, sympy)
    for i, symbol in enumerate(symbols):
        expected = sympy.lambdify(symbols, sympy.diff(exact, symbol), "numpy")(*POINTS)
        found = evaluate(derivative(item, i), POINTS, np)
        assert_allclose(np.broadcast_to(found, 50), np.broadcast_to(expected, 50), rtol=1e-12)


@pytest.mark.parametrize(
    "formulas, surfaces",
    [
        (["sign(v)", "x*sign(-2*v)", "sign(v**3)", "sign(tanh(v))", "heaviside(3*v)"], ["v"]),
        (["sign(x*v)"], ["x", "v"]),
        (["sign(2 - 4*x)", "heaviside(x - 0.5)"], None),
        (["abs(x)", "x**2", "exp(v)"], []),
    ],
)
def test_signs_become_variables_of_their_own(formulas, surfaces):
    terms = [parse(formula, NAMES) for formula in formulas]
    replaced, found = separate_signs(terms, 2)
    if surfaces is None:
        assert len(found) == 1
    else:
        assert [to_text(surface) for surface in found] == surfaces
    points = POINTS * np.random.default_rng(1).choice([-1, 1], POINTS.shape)
    signs = [np.sign(evaluate(surface, points, np)) for surface in found]
    for term, other in zip(terms, replaced, strict=True):
        assert not found or max(variables_of(other)) >= 2
        values = evaluate(other, [*points, *signs], np)
        assert_allclose(values, evaluate(term, points, np), rtol=1e-12)


def test_a_step_is_read_evaluated_and_written():
    item = parse("2*step(x - 1)", NAMES)
    assert to_text(item) == "2*heaviside(-1 + x)" and parse(to_text(item), NAMES) == item
    assert evaluate(item, [np.array([0.0, 1.0, 3.0]), 0.0], np).tolist() == [0, 1, 2]
    x = sympy.Symbol("x")
    assert evaluate(item, [x, 0], sympy).subs(x, 1) == 1
    assert "np.heaviside(-1 + z, 0.5)" in to_text(item, functions="np.", names=["z", "w"])
    assert to_text(parse("heaviside(3)", NAMES)) == "1"


def test_libraries_hold_signs():
    names = [to_text(term) for term in parse_library("poly(1) + sign(v)").terms(NAMES)]
    assert names == ["1", "x", "v", "sign(v)"]
