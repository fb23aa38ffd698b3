"""Atoms of users and of the catalogue: their meaning, and errors in one sentence."""

import numpy as np
import pytest

import orthoreg as og
from orthoreg._common.errors import FormulaError, InputError
from orthoreg.data import Extent
from orthoreg.search.formulas import _limits as limits
from orthoreg.search.formulas._catalogue import catalogue
from orthoreg.search.formulas._parametric_term import symbols
from orthoreg.terms import parse, to_text

NAMES = ("x", "y")


def extent(low=(-2.0, 0.5), high=(2.0, 4.0), rows=400) -> Extent:
    return Extent.of(np.random.default_rng(0).uniform(low, high, (rows, 2)))


def formulas(shapes) -> set[str]:
    return {to_text(shape.expression) for shape in shapes}


def test_placeholders_stand_for_any_variables():
    found = og.Atom("exp(-p*z)*w", p=(0, 2)).terms(NAMES, extent())
    assert formulas(found) == {"y*exp(-x*p)", "x*exp(-y*p)"}
    assert all((one.grid > 0).all() and (one.grid < 2).all() for one in found)


def test_a_column_of_that_name_is_meant_itself():
    found = og.Atom("exp(-p*z)", p=(0, 2)).terms(("z", "y"), extent())
    assert formulas(found) == {"exp(-z*p)"}


@pytest.mark.parametrize(
    "atom, error, sentence",
    [
        (lambda: og.Atom("sin(q*z)"), FormulaError, r"'q' is not a variable.*q=\(0, 10\)"),
        (lambda: og.Atom("sin(xx)"), FormulaError, r"'sin\(xx\)': unknown.*Did you mean 'x'"),
        (lambda: og.Atom("log(x)"), InputError, r"log\(x\).*not finite on \d+ of 400.*x = -"),
        (lambda: og.Atom("log(z)*log(w)"), InputError, "is not finite"),
        (lambda: og.Atom("p", p=(0, 1)), FormulaError, "contains no variable"),
    ],
)
def test_what_data_cannot_hold_is_refused(atom, error, sentence):
    with pytest.raises(error, match=sentence) as caught:
        atom().terms(NAMES, extent())
    assert str(caught.value).count("\n") == 0


@pytest.mark.parametrize(
    "given, sentence",
    [
        ({"p": (0, np.inf)}, r"two finite bounds.*p=\(0, 10\)"),
        ({"p": (3, 1)}, "the lower one first"),
        ({"p": 2}, "two finite bounds"),
        ({"p": (0, 1), "q": (0, 1)}, "bounds for 'q', which is not in the formula"),
    ],
)
def test_bounds_that_are_none_are_refused(given, sentence):
    with pytest.raises(InputError, match=sentence):
        og.Atom("sin(p*z)", **given)


def test_one_distinct_value_is_refused():
    flat = Extent.of(np.column_stack([np.linspace(0, 1, 50), np.full(50, 3.0)]))
    with pytest.raises(InputError, match="'y' has only one value in the data, 3,"):
        og.Atom("sin(p*y)", p=(0, 2)).terms(NAMES, flat)
    assert not any("y" in text for text in formulas(catalogue(NAMES, flat)))


def test_no_logarithm_of_negatives_and_no_pole_within_the_range():
    found = formulas(catalogue(NAMES, extent()))
    assert {"log(y)", "1/y", "y/(y + c)", "y**p"} <= found
    assert not {"log(x)", "1/x", "x/(x + c)", "sqrt(x)", "x**p"} & found
    assert "abs(x)" in found and "abs(y)" not in found
    for shape in catalogue(NAMES, extent()):
        values = shape.columns(extent().sample, shape.grid)
        assert np.isfinite(values).all(), to_text(shape.expression)


@pytest.mark.parametrize("factor", [1e-4, 1e4])
def test_grids_follow_the_units_of_the_columns(factor):
    """For a column in another unit, the same functions are tried, except for rounded numbers."""
    one = extent()
    other = Extent.of(factor * one.sample)
    for a in catalogue(NAMES, one):
        if to_text(a.expression) not in ("exp(-x**2*p)", "y/(y + c)"):
            continue
        (b,) = [s for s in catalogue(NAMES, other) if s.expression == a.expression]
        scaled = a.grid * factor ** (-2 if "exp" in to_text(a.expression) else 1)
        assert all(np.isclose(scaled, value, rtol=1e-9).any() for value in b.grid[:, 0])


def test_frequencies_end_where_they_would_follow_noise():
    for shape in catalogue(NAMES, extent()):
        if to_text(shape.expression) == "sin(x*p)":
            assert shape.grid.max() * 4.0 <= limits.MAX_PHASE * 1.01
            assert {1.0, 2.0, 3.0} <= set(shape.grid[:, 0].tolist())


@pytest.mark.parametrize(
    "text, count",
    [("1", 0), ("x", 1), ("x**2", 2), ("x*y", 2), ("sin(3*x)", 4), ("exp(-x**2)", 4), ("1/y", 2)],
)
def test_symbols_are_counted(text, count):
    assert symbols(parse(text, NAMES)) == count


def test_an_input_that_never_moves_is_one_value_whatever_windows_round():
    t = np.linspace(0, 6, 200)
    x = np.exp(-t) + 0.001 * np.random.default_rng(0).standard_normal(200)
    data = og.Dataset.from_arrays(x[:, None], t, u=np.full((200, 1), 0.7), input_names=["zone"])
    model = og.OrthoReg("poly(1)", og.Zero()).fit(data)
    with pytest.raises(InputError, match="'zone' has only one value in the data, 0.7"):
        model.explain(data, atoms=[og.Atom("tanh(p*zone)", p=(0, 2))])
