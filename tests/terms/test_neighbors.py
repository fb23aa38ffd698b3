"""Libraries in which each equation has only terms in neighbouring variables."""

import numpy as np
import pytest

import orthoreg as og
from orthoreg import InputError, Neighbors, Polynomial
from orthoreg._common.errors import FormulaError
from orthoreg.terms import bind, parse_library


def names_of(library: object, variables: list[str], equation: str) -> set[str]:
    features = bind(library, variables, [name for name in variables if name != "u"])  # type: ignore
    row = features.mask[[name for name in variables if name != "u"].index(equation)]
    return {features.names[k] for k in np.flatnonzero(row)}


def test_neighbours_are_told_by_the_numbers_in_names():
    chain = [f"q{i}" for i in range(9)] + [f"v{i}_dot" for i in range(9)]
    assert names_of(Neighbors(Polynomial(1)), chain, "v4_dot") == {
        "1", "q3", "q4", "q5", "v3_dot", "v4_dot", "v5_dot",
    }  # fmt: skip
    assert names_of(Neighbors(Polynomial(1), reach=0), chain, "q0") == {"1", "q0", "v0_dot"}


def test_what_has_no_number_is_seen_by_all_and_sees_only_its_like():
    variables = ["x0", "x1", "x2", "x3", "load", "u"]
    library = Neighbors(Polynomial(1, include_constant=False))
    assert names_of(library, variables, "x3") == {"x2", "x3", "load", "u"}
    assert names_of(library, variables, "load") == {"load", "u"}


def test_neighbours_that_are_given():
    library = Neighbors(Polynomial(1), of={"a": ["a", "c"], "b": ["b"], "c": ["a", "c"]})
    assert names_of(library, ["a", "b", "c"], "a") == {"1", "a", "c"}
    assert names_of(library, ["a", "b", "c"], "b") == {"1", "b"}
    with pytest.raises(InputError, match="no entry for 'd'"):
        bind(library, list("abcd"), list("abcd"))
    with pytest.raises(InputError, match="names 'c', which is not a variable"):
        bind(library, ["a", "b"], ["a", "b"])


def test_terms_are_those_of_the_library_in_the_neighbours():
    """Each equation has few terms, although all variables together would have too many."""
    variables = [f"x{i}" for i in range(200)]
    features = bind(Neighbors(Polynomial(2)), variables, variables)
    assert (features.mask.sum(axis=1)[1:-1] == 10).all()  # of three variables to degree two
    points = np.random.default_rng(0).standard_normal((3, 200))
    own = features.mask[7]
    expected = bind(Polynomial(2), ["x6", "x7", "x8"], ["x7"])(points[:, 6:9])
    found = features(points)[:, own]
    np.testing.assert_allclose(np.sort(found), np.sort(expected))


def test_text():
    assert parse_library("near(poly(2) + fourier(1), 2)") == Neighbors("poly(2) + fourier(1)", 2)
    assert parse_library("near(poly(1))") == Neighbors(Polynomial(1))
    with pytest.raises(FormulaError, match="near takes a library and the reach"):
        parse_library("near(poly(1), two)")


@pytest.mark.parametrize(
    "library", [og.Terms(["x0"]), og.PerState({"x0": Polynomial(1)}), Neighbors(Polynomial(1))]
)
def test_formulas_are_added_not_put_inside(library: object):
    with pytest.raises(InputError, match="Add formulas"):
        Neighbors(Polynomial(1) + library)  # type: ignore


@pytest.mark.slow
def test_a_discretised_heat_equation(tmp_path):
    """The neighbours of each state are given, and the model file contains the library."""
    n, rng = 12, np.random.default_rng(0)
    x = rng.uniform(-2, 2, (400, n))
    second = np.zeros((n, n)) - 2 * np.eye(n) + np.eye(n, k=1) + np.eye(n, k=-1)
    model = og.OrthoReg(Neighbors(Polynomial(2), 2), og.Zero()).fit(x, x @ second)
    found = np.zeros((n, n))
    for j in range(n):
        found[:, j] = model.coefficients_[:, model.feature_names_.index(f"x{j}")]
    np.testing.assert_allclose(found, second, atol=1e-9)
    assert np.count_nonzero(model.support_) == np.count_nonzero(second)
    file = tmp_path / "heat.orthoreg"
    model.save(file)
    assert og.load(file).library == model.library
