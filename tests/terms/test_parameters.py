"""Parameters inside terms: notation, bounds, names, output and files."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import orthoreg as og
from orthoreg._common.errors import FormulaError, InputError
from orthoreg.simulation import _compiled, _integrate
from orthoreg.terms import bind, parameter_bounds

X = np.random.default_rng(0).uniform(0.05, 3.0, (200, 2))
MONOD = "S/(K + S)"


def runs(half: float = 0.7) -> og.Dataset:
    """S' = v - 2 S/(half + S), v' = S - v."""
    S, v = X.T
    slopes = np.column_stack([v - 2 * S / (half + S), S - v])
    return og.Dataset.from_arrays(X, 1.0, names=["S", "v"], derivatives=slopes)


def fitted(half: float = 0.7) -> og.OrthoReg:
    library = og.Polynomial(1) + og.PerState({"S": og.Terms([MONOD])})
    return og.OrthoReg(library, og.Zero()).fit(runs(half))


@pytest.fixture(scope="module")
def model() -> og.OrthoReg:
    return fitted()


# -- writing them ---------------------------------------------------------------------------


def test_a_word_that_is_no_variable_is_a_parameter():
    features = bind(og.Terms([MONOD, "exp(-p*v)*S", "S*v"]), ["S", "v"], ["S", "v"])
    assert features.parameters == ("K", "p") and features.values == ()
    assert features.names == ("S/(S + K)", "S*exp(-v*p)", "S*v")
    values = features.with_values([2.0, 0.5])(X)
    S, v = X.T
    assert_allclose(values, np.column_stack([S / (2 + S), S * np.exp(-0.5 * v), S * v]), rtol=1e-14)
    assert features.with_values([2.0, 0.5]).resolved().names[0] == "S/(2 + S)"


@pytest.mark.parametrize(
    ("formula", "sentence"),
    [
        ("theeta/(K + theta)", "unknown variable 'theeta'. Did you mean 'theta'?"),
        ("K*theta", "'K' only multiplies the term, which already has a coefficient"),
        ("theta/K", "'K' only multiplies the term"),
        ("theta*K**2", "'K' only multiplies the term"),
        ("K", "unknown variable 'K'"),
        ("exp(K)", "unknown variable 'K'"),
    ],
)
def test_what_is_no_parameter_is_named(formula, sentence):
    with pytest.raises(FormulaError, match=re.escape(sentence)):
        og.Terms([formula]).terms(["theta", "omega"])


def test_a_factor_that_also_stands_elsewhere_is_a_parameter():
    assert bind(og.Terms(["K*S/(K + S)"]), ["S"], ["S"]).parameters == ("K",)


def test_bounds_name_parameters_that_there_are_and_have_two_ends():
    assert parameter_bounds(og.Polynomial(1) + og.Terms([MONOD], {"K": (1, 5)})) == {"K": (1, 5)}
    with pytest.raises(FormulaError, match="names 'L', which is not a parameter"):
        og.Terms([MONOD], bounds={"L": (1, 5)}).terms(["S"])
    with pytest.raises(InputError, match="a lower and a higher end for 'K'"):
        og.Terms([MONOD], bounds={"K": (5, 1)})
    # the bound shows that this name, which is similar to a variable, is intended
    meant = og.Terms(["theta/(thetas + theta)"], {"thetas": (0, 9)})
    assert bind(meant, ["theta"], ["theta"]).parameters == ("thetas",)
    with pytest.raises(FormulaError, match="Did you mean 'theta'"):
        og.Terms(["theta/(thetas + theta)"]).terms(["theta"])


def test_text_gives_the_same_terms():
    text = og.OrthoReg("poly(2) + S/(K + S)", og.Zero()).fit(runs())
    parts = og.OrthoReg(og.Polynomial(2) + og.Terms([MONOD]), og.Zero()).fit(runs())
    assert text.equations() == parts.equations() and text.parameters_ == parts.parameters_
    assert text.parameters_ == pytest.approx({"K": 0.7}, abs=1e-6)


def test_one_equation_is_extended(model):
    assert_array_equal(model.field_.features.mask, [[True] * 4, [True, True, True, False]])
    assert model.equations() == ["S' = 1.000 v - 2.000 S/(0.7 + S)", "v' = 1.000 S - 1.000 v"]


# -- showing and keeping them ---------------------------------------------------------------


def test_every_way_to_write_the_model_has_the_value(model):
    assert model.to_latex()[0] == r"\dot{S} = 1.000\,v - 2.000\,\frac{S}{0.7 + S}"
    source: dict = {}
    exec(model.to_python(), source)
    assert_allclose(source["vector_field"](X), model.predict(X), rtol=1e-13)
    value = repr(model.parameters_["K"])
    assert value.startswith(("0.7", "0.699999")) and value in model.to_c()
    assert "K" not in re.findall(r"\b\w+\b", model.to_python())
    other = fitted(1.2345678)
    assert other.equations()[0] == "S' = 1.000 v - 2.000 S/(1.235 + S)"
    assert other.equations(6)[0] == "S' = 1.00000 v - 2.00000 S/(1.23457 + S)"


def test_a_file_keeps_names_and_values(model, tmp_path):
    model.save(tmp_path / "m.orthoreg")
    loaded = og.load(tmp_path / "m.orthoreg")
    assert loaded.parameters_ == model.parameters_ and loaded.feature_names_ == model.feature_names_
    assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.get_params() == model.get_params() and loaded.equations() == model.equations()


def test_a_file_keeps_bounds(tmp_path):
    library = og.Polynomial(1) + og.Terms([MONOD], {"K": (0.1, 2)})
    first = og.OrthoReg(library, og.Zero()).fit(runs())
    first.save(tmp_path / "m.orthoreg")
    loaded = og.load(tmp_path / "m.orthoreg")
    assert loaded.library == library and parameter_bounds(loaded.library) == {"K": (0.1, 2.0)}
    assert loaded.fit(runs()).parameters_ == first.parameters_


def test_a_file_keeps_parameters_called_as_its_own_symbols(tmp_path):
    data = og.Dataset.from_arrays(X, 1.0, names=["S", "b"], derivatives=runs().derivatives)
    library = og.Polynomial(1) + og.Terms(["S/(v1 + S)"])
    first = og.OrthoReg(library, og.Zero()).fit(data)
    first.save(tmp_path / "m.orthoreg")
    loaded = og.load(tmp_path / "m.orthoreg")
    assert loaded.parameters_ == first.parameters_ and set(first.parameters_) == {"v1"}
    assert_array_equal(loaded.predict(X), first.predict(X))


# -- simulating -----------------------------------------------------------------------------


def test_both_routes_simulate_and_another_value_compiles_nothing(model, monkeypatch):
    times = np.linspace(0, 3, 31)
    plain = model.simulate([1.0, 2.0], times)
    monkeypatch.setattr(_integrate, "COMPILATION", 0.0)  # compiled together
    other = fitted(1.4)
    assert_allclose(model.simulate([1.0, 2.0], times).x, plain.x, rtol=1e-7)
    before = _compiled._block._cache_size()
    found = other.simulate([1.0, 2.0], times)
    assert _compiled._block._cache_size() == before
    assert np.abs(found.x - plain.x).max() > 0.1
    monkeypatch.setattr(_integrate, "COMPILATION", np.inf)
    assert_allclose(other.simulate([1.0, 2.0], times).x, found.x, rtol=1e-7)
