"""Libraries: their terms, names and masks, alone, in sums and products, and per equation."""

from math import comb

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import PolynomialFeatures

from orthoreg import Fourier, PerState, Polynomial, Terms
from orthoreg._common.errors import FormulaError, InputError
from orthoreg.terms import bind, feature_names

XY = ("x", "y")


def names(library, variables=XY) -> list[str]:
    return list(feature_names(library, variables))


def test_terms_carry_the_users_names():
    assert names(Polynomial(2), ("theta", "arm angle")) == [
        "1", "theta", "`arm angle`", "theta**2", "theta*`arm angle`", "`arm angle`**2",
    ]  # fmt: skip
    assert names(Polynomial(1, include_constant=False)) == ["x", "y"]
    assert names(Fourier(2), ("x",)) == ["sin(x)", "cos(x)", "sin(2*x)", "cos(2*x)"]
    assert names(Terms(["sin(3*x)", "x**2*y"])) == ["sin(3*x)", "x**2*y"]


@given(degree=st.integers(1, 4), variables=st.integers(1, 4), constant=st.booleans())
def test_polynomial_matches_scikit_learn(degree, variables, constant):
    points = np.random.default_rng(0).normal(size=(6, variables))
    labels = [f"v{i}" for i in range(variables)]
    features = bind(Polynomial(degree, include_constant=constant), labels, labels)
    assert len(features.terms) == comb(variables + degree, degree) - (not constant)
    reference = PolynomialFeatures((0, degree), include_bias=True).fit_transform(points)
    np.testing.assert_allclose(features(points), reference[:, 0 if constant else 1 :], rtol=1e-13)


def test_one_definition_serves_numpy_and_jax(rng):
    library = Polynomial(3) * Fourier(2) + Terms(["exp(-x**2)/(1 + y**2)", "1"])
    features = bind(library, XY, XY)
    points = rng.normal(size=(20, 2))
    with jax.enable_x64(True):
        columns = features.columns(jnp.asarray(points.T), jnp)
        by_jax = jnp.stack([jnp.broadcast_to(column, 20) for column in columns], axis=1)
    np.testing.assert_allclose(features(points), by_jax, rtol=1e-12, atol=1e-14)
    x, y = points.T
    np.testing.assert_allclose(features(points)[:, -2], np.exp(-(x**2)) / (1 + y**2), rtol=1e-14)


def test_joining_merges_what_both_give():
    joined = Polynomial(2) + Terms(["y*x", "x*x", "sin(x)"]) + Fourier(1)
    assert names(joined) == [
        "1", "x", "y", "x**2", "x*y", "y**2", "sin(x)", "cos(x)", "sin(y)", "cos(y)",
    ]  # fmt: skip
    assert names(Terms(["x*y", "y*x", "x*y**2/y"])) == ["x*y"]


def test_products_hold_every_pair_once(rng):
    library = Polynomial(1) * (Polynomial(1) + Fourier(1))
    got = names(library, ("x",))
    assert got == ["1", "x", "sin(x)", "cos(x)", "x**2", "x*sin(x)", "x*cos(x)"]
    points = rng.normal(size=(9, 1))
    left, right = (bind(side, ["x"], ["x"])(points) for side in (library.first, library.second))
    pairs = np.einsum("ni,nj->nij", left, right).reshape(9, -1)
    features = bind(library, ["x"], ["x"])(points)
    for pair in pairs.T:
        assert np.isclose(features.T, pair, rtol=1e-13).all(axis=1).sum() == 1


@pytest.mark.parametrize("first", [Polynomial(2), Fourier(1), Terms(["x*y", "1", "y*x"])])
@pytest.mark.parametrize("second", [Polynomial(1), Fourier(2), Terms(["sin(x)", "x"])])
def test_joins_and_products_hold_no_term_twice(first, second):
    expected = {*names(first), *names(second)}
    assert sorted(names(first + second)) == sorted(expected)
    repeated = names(first * second * first)
    assert len(set(repeated)) == len(repeated)
    assert sorted(repeated) == sorted(names(first * first * second))


def test_equal_libraries_are_equal_and_hashable():
    def make():
        return (Polynomial(2, include_constant=False) + Fourier(1)) * Terms(["x"])

    assert make() == make() and hash(make()) == hash(make())
    assert eval(repr(make())) == make() != Polynomial(2) + Fourier(1) * Terms(["x"])


def test_each_equation_may_have_its_own_terms(rng):
    library = PerState({"omega": Fourier(1)}, default=Polynomial(1))
    features = bind(library, ("theta", "omega"), ("theta", "omega"))
    own = {
        equation: [name for name, allowed in zip(features.names, row, strict=True) if allowed]
        for equation, row in zip(("theta", "omega"), features.mask, strict=True)
    }
    assert own == {
        "theta": names(Polynomial(1), ("theta", "omega")),
        "omega": names(Fourier(1), ("theta", "omega")),
    }
    assert bind(Polynomial(1), XY, XY).mask.all()


def test_terms_shared_between_equations_stand_once():
    features = bind(PerState({"x": Polynomial(2), "y": Terms(["x*y", "exp(y)"])}), XY, XY)
    assert len(set(features.names)) == len(features.names) == 7
    assert features.mask.sum(axis=1).tolist() == [6, 2]
    assert features.mask[:, features.names.index("x*y")].all()


def test_inputs_are_variables_but_not_equations():
    features = bind(Polynomial(1), ("x", "u"), ("x",))
    assert features.names == ("1", "x", "u") and features.mask.shape == (1, 3)


def test_only_keeps_chosen_terms_with_their_masks():
    features = bind(PerState({"x": Polynomial(1), "y": Fourier(1)}), XY, XY)
    chosen = features.only([2, 4])
    assert chosen.names == (features.names[2], features.names[4])
    np.testing.assert_array_equal(chosen.mask, features.mask[:, [2, 4]])


def test_per_state_explains_a_wrong_or_missing_equation():
    with pytest.raises(InputError, match="'omga'.*Did you mean 'omega'"):
        bind(PerState({"omga": Fourier(1)}, Polynomial(1)), ("theta", "omega"), ("theta", "omega"))
    with pytest.raises(InputError, match="no library for 'y'.*default"):
        bind(PerState({"x": Fourier(1)}), XY, XY)


@pytest.mark.parametrize(
    "combine",
    [
        lambda one, other: one + other,
        lambda one, other: other + one,
        lambda one, other: one * other,
        lambda one, other: other * one,
    ],
)
def test_per_state_is_added_and_multiplied_equation_by_equation(combine):
    own, other = {"x": Fourier(1), "y": Polynomial(1)}, Polynomial(2)
    features = bind(combine(PerState({"x": own["x"]}, default=own["y"]), other), XY, XY)
    for equation, row in zip(XY, features.mask, strict=True):
        expected = names(combine(own[equation], other))
        assert {features.names[k] for k in np.flatnonzero(row)} == set(expected)


def test_per_state_without_a_default_extends_single_equations():
    features = bind(Polynomial(1) + PerState({"y": Terms(["exp(x)"])}), XY, XY)
    assert features.names == ("1", "x", "y", "exp(x)")
    np.testing.assert_array_equal(features.mask, [[1, 1, 1, 0], [1, 1, 1, 1]])


@pytest.mark.parametrize("make", [lambda one: PerState({"x": one}), lambda one: PerState({}, one)])
def test_per_state_stands_in_no_other(make):
    with pytest.raises(InputError, match="PerState cannot be nested in another PerState"):
        make(PerState({"x": Fourier(1)}, default=Polynomial(1)))


@pytest.mark.parametrize(
    "make, error, words",
    [
        (lambda: Polynomial(-1), InputError, "Polynomial.*at least 0; got -1"),
        (lambda: Fourier(0), InputError, "Fourier.*at least 1; got 0"),
        (lambda: Terms([]), FormulaError, "at least one"),
        (lambda: Terms("x*y"), FormulaError, r"Terms\(\['x\*y'\]\)"),
        (lambda: names(Terms(["x", "x*z"])), FormulaError, "'x\\*z'.*'z' only multiplies the term"),
        (lambda: names(Terms(["x", "sin(z)"])), FormulaError, "unknown variable 'z'"),
        (lambda: names(Polynomial(9), [f"v{i}" for i in range(30)]), InputError, "lower degree"),
    ],
)
def test_wrong_settings_are_refused_with_what_to_write(make, error, words):
    with pytest.raises(error, match=words):
        make()
