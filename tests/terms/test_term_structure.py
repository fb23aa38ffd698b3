"""Classification of formulas by their structure."""

import pytest

from orthoreg.terms import monomial, parse, sine_argument, to_text, variables_of

NAMES = ["x", "y", "z"]


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("1", (1.0, (0, 0, 0))),
        ("y", (1.0, (0, 1, 0))),
        ("3*x**2*z", (3.0, (2, 0, 1))),
        ("x/y", None),
        ("x**0.5", None),
        ("x + y", None),
        ("sin(x)", None),
    ],
)
def test_monomials_have_whole_exponents(formula, expected):
    assert monomial(parse(formula, NAMES), 3) == expected


def test_the_variables_of_a_formula_are_all_of_them():
    assert variables_of(parse("x**z + 2*sin(3*x)", NAMES)) == {0, 2}
    assert variables_of(parse("2", NAMES)) == frozenset()


def test_the_argument_of_a_sine_is_found_where_the_formula_is_one():
    argument = sine_argument(parse("cos(2*x + y)", NAMES))
    assert argument is not None and to_text(argument) in ("2*x + y", "y + 2*x")
    assert sine_argument(parse("x*sin(y)", NAMES)) is None
