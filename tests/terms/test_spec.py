"""Libraries written as text on the command line."""

import pytest

from orthoreg._common.errors import FormulaError
from orthoreg.terms import feature_names, parse_library


@pytest.mark.parametrize(
    ("text", "variables", "names"),
    [
        ("x + rate + cube+y", ["x", "rate", "cube", "y"], ("x", "rate", "cube", "y")),
        ("rate+x", ["x", "rate"], ("rate", "x")),
        ("rate+poly(1)", ["rate"], ("rate", "1")),
        ("x2e+y", ["x2e", "y"], ("x2e", "y")),
        ("`a+b`+x", ["a+b", "x"], ("`a+b`", "x")),
        ("x**+2+y", ["x", "y"], ("x**2", "y")),
        ("sin(x+y)+x", ["x", "y"], ("sin(x + y)", "x")),
        ("poly(1)", ["x"], ("1", "x")),
        (" Poly( 1 ) ", ["x"], ("1", "x")),
    ],
)
def test_terms_are_joined_by_plus(text, variables, names):
    assert feature_names(parse_library(text), variables) == names


@pytest.mark.parametrize("number", ["1e+3", "1.e+3", "1.5E+3", ".5e+3"])
def test_an_exponent_keeps_its_sign(number):
    names = feature_names(parse_library(f"{number}*x + y"), ["x", "y"])
    assert len(names) == 2 and names[1] == "y"


def test_families_multiply():
    names = feature_names(parse_library("poly(1)*fourier(2)"), ["x"])
    assert set(names) == {
        f"{factor}{wave}({k}x)" for factor in ("", "x*") for wave in ("sin", "cos")
        for k in ("", "2*")
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("polly(2)", "Did you mean 'poly'"),
        ("poly(1)*sin(x)", "multiplied only by families"),
        ("x*fourier(1)", "formulas are separate terms"),
        ("poly(1)**2", "multiplied only by families"),
        ("x - poly(1)", "multiplied only by families"),
        ("poly(x)", "poly takes a whole number"),
        ("poly(2.5)", "poly takes a whole number"),
        ("poly(-1)", "poly takes a whole number"),
        ("poly()", "poly takes a whole number"),
        ("fourier(x)+x", "fourier takes a whole number"),
        ("poly(1)++x", "a part is empty"),
        ("", "a part is empty"),
    ],
)
def test_mistakes_are_named(text, words):
    with pytest.raises(FormulaError, match=words):
        parse_library(text)
