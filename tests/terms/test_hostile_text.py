"""Text is refused by its size before it is expanded, or read in linear time."""

import time

import pytest

import orthoreg as og
from orthoreg.physics import parse_bound, parse_equation, parse_symmetry
from orthoreg.physics._statement import read_side, summands
from orthoreg.terms import parse, parse_library, to_text

SECONDS = 1.0  # CPU seconds. These texts took 1.5 to 60 s, and now take less than 0.1 s
VARIABLES = ("v0", "v1")


@pytest.fixture(autouse=True)
def limited():
    start = time.process_time()
    yield
    assert time.process_time() - start < SECONDS


def long_text(part: str, sign: str) -> str:
    """Return parts with a number each, joined to just below the maximum length of a formula."""
    text = part.format(0)
    number = 1
    while len(text) + len(sign) + len(part.format(number)) <= 10_000:
        text += sign + part.format(number)
        number += 1
    return text


@pytest.mark.parametrize(
    ("part", "sign"),
    [
        ("v0**{}", " + "), ("v0**{}*v1", " - "), ("sin({}*v0)", " + "), ("v0**a{}", " * "),
        ("1/(v0 + {})", " + "), ("sin(v0 + sin(v0 + {}))", "+"), ("v0*v1**{}", "*"),
    ],
)  # fmt: skip
def test_long_formulas_are_read_in_linear_time(part, sign):
    formula = parse(long_text(part, sign), VARIABLES, free=True)
    assert parse(to_text(formula), VARIABLES, free=True, limit=10**6) == formula


def test_products_of_very_many_factors_are_refused():
    with pytest.raises(og.InputError, match="at most 200 factors; got 9"):
        parse(long_text("(v0 + {})", "*"), VARIABLES)
    assert parse("*".join(f"(v0 + {k})" for k in range(1, 201)), VARIABLES)
    with pytest.raises(og.InputError, match="at most 200 factors; got 201"):
        parse("*".join(f"(v0 + {k})" for k in range(1, 202)), VARIABLES)


@pytest.mark.parametrize(
    ("read", "text", "words"),
    [
        (parse_bound, "x" + " " * 20_000 + "x", "at most 10000 characters; got 20002"),
        (parse_bound, "1" * 9_999 + "x", "A bound must have the form"),
        (parse_bound, "x" + " " * 9_000 + "x", "A bound must have the form"),
        (parse_symmetry, "a" + " " * 9_000 + "(", "A symmetry must have the form"),
        (parse_symmetry, "periodic(x, y)", "A symmetry must have the form"),
        (parse_equation, "x' = " + "1" * 10_000, "at most 10000 characters"),
        (parse_library, "1" * 200_000 + "+x", "at most 100000 characters"),
        (parse_library, "+".join(["poly(1)"] * 5000), "at most 200 parts; got 5000"),
        (parse_library, "*".join(["poly(1)"] * 5000), "at most 200 parts; got 5000"),
        (parse_library, "near(" * 200 + "poly(1)" + ")" * 200, "must not contain another near"),
    ],
)
def test_texts_are_refused_by_their_size(read, text, words):
    with pytest.raises(og.InputError, match=words) as caught:
        read(text)
    assert len(str(caught.value)) < 400


def test_a_library_text_of_the_maximum_length_is_read_in_linear_time():
    text = "+".join(["1" * 400 + "*x"] * 200)
    assert len(parse_library(text).parts()) == 2
    with pytest.raises(og.InputError, match="the sign '#'"):
        parse_library("1+" * 100 + "x" * 90_000 + "#")


def test_right_hand_sides_are_read_in_linear_time():
    with pytest.raises(og.InputError, match="at most 10000 characters"):
        read_side("x" + " " * 100_000 + "x", VARIABLES, {}, ())
    with pytest.raises(og.InputError, match="'v1' was not expected"):
        read_side("v0" + " " * 9_900 + "v1", VARIABLES, {}, ())
    for text in ("v0 + ...", "v0+...", "v0 ...", " v0 +... "):
        assert read_side(text, VARIABLES, {}, ()) == (parse("v0", VARIABLES), True)


def product_of_sums(count: int) -> str:
    return "*".join(f"(a{i} + b{i})" for i in range(count))


def test_sums_are_counted_before_they_are_expanded():
    assert len(summands(parse(product_of_sums(12), VARIABLES, free=True))) == 4096
    with pytest.raises(og.InputError, match="has 65536 terms when it is expanded; at most 5000"):
        summands(parse(product_of_sums(16), VARIABLES, free=True))
    power = parse("(v0 + v1)*(v0 - v1)*(v0 + 2*v1)", VARIABLES)
    assert len(summands(power)) == 1
    assert len(summands(power, expand_all=True)) == 8


@pytest.mark.parametrize(
    ("library", "words"),
    [
        (og.Fourier(400) * og.Fourier(400), "10240000 products; at most 100000"),
        (og.Fourier(10**9), "over a billion terms"),
        (og.Polynomial(10**9), "over a billion terms"),
    ],
)
def test_libraries_are_counted_before_they_are_built(library, words):
    with pytest.raises(og.InputError, match=words):
        library.terms(VARIABLES + ("v2", "v3"))


def test_the_formula_that_is_zero_is_named():
    with pytest.raises(og.InputError, match="Formula 'v0 - v0' is zero"):
        og.Terms(["v1", "v0 - v0"]).terms(VARIABLES)
    with pytest.raises(og.InputError, match="at most 5000 formulas; got 20000"):
        og.Terms([f"sin({k}*x)" for k in range(20_000)])
