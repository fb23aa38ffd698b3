"""Parameters inside terms are estimated within their bounds if the data determine them."""

import numpy as np
import pytest

import orthoreg as og
from orthoreg._common.errors import InputError

MONOD = "S/(K + S)"
S = np.random.default_rng(0).uniform(0.05, 3.0, (300, 1))


def runs(slopes, x=S, names=("S",)):
    return og.Dataset.from_arrays(x, 1.0, names=names, derivatives=slopes)


def fitted(library, data, **params):
    return og.OrthoReg(library, params.pop("augmentation", og.Zero()), **params).fit(data)


@pytest.mark.parametrize("half", [0.02, 0.7, 25.0])
@pytest.mark.parametrize("unit", [1.0, 1e4])
def test_a_parameter_is_estimated_on_clean_data_in_any_unit(half, unit):
    x = unit * S
    model = fitted("poly(1) + S/(K + S)", runs(0.3 - 2 * x / (half * unit + x), x))
    assert model.parameters_["K"] == pytest.approx(half * unit, rel=1e-6)


@pytest.mark.parametrize("augmentation", [og.Zero(), og.RandomFeatures(20)], ids=["none", "tanh"])
def test_noise_of_one_percent_changes_a_parameter_by_a_few(augmentation):
    slopes = 0.3 - 2 * S / (0.7 + S)
    noise = np.random.default_rng(1).standard_normal(slopes.shape)
    data = runs(slopes + 0.01 * slopes.std() * noise)
    model = fitted("poly(1) + S/(K + S)", data, augmentation=augmentation)
    assert model.parameters_["K"] == pytest.approx(0.7, rel=0.03)


@pytest.mark.parametrize("sparsity", [0.0, 1e-3])
def test_a_parameter_is_estimated_without_a_selection(sparsity):
    data = runs(0.3 - 2 * S / (0.7 + S))
    for solver in (None, og.Exact()):
        model = fitted("poly(1) + S/(K + S)", data, sparsity=sparsity, solver=solver)
        assert model.parameters_["K"] == pytest.approx(0.7, rel=1e-6)


def test_two_parameters():
    x = np.random.default_rng(2).uniform(0.05, 3.0, (300, 2))
    a, b = x.T
    slopes = np.column_stack([b - 2 * a / (0.7 + a), 3 * np.exp(-1.3 * b) - a])
    model = fitted(
        og.Polynomial(1) + og.Terms([MONOD, "exp(-p*v)"]), runs(slopes, x, ["S", "v"])
    )  # fmt: skip
    assert model.parameters_ == pytest.approx({"K": 0.7, "p": 1.3}, rel=1e-6)
    assert model.support_.sum() == 4


def test_two_parameters_in_one_term():
    data = runs(1 - 2 * S**2.5 / (0.7 + S**2.5))
    model = fitted("poly(0) + S**n/(K + S**n)", data)
    assert model.parameters_ == pytest.approx({"K": 0.7, "n": 2.5}, rel=1e-6)


def test_a_parameter_is_positive_unless_bounds_say_otherwise():
    slopes = 1 - 2 * np.exp(0.4 * S)
    free = fitted(og.Terms(["1", "exp(-p*S)"], {"p": (-2, 2)}), runs(slopes))
    assert free.parameters_["p"] == pytest.approx(-0.4, rel=1e-6)
    positive = fitted(og.Terms(["1", "exp(-p*S)"]), runs(slopes))
    assert all(value >= 0 for value in positive.parameters_.values())


@pytest.mark.parametrize("ends", [(1.0, 5.0), (0.01, 0.3)])
def test_bounds_are_kept(ends):
    data = runs(0.3 - 2 * S / (0.7 + S))
    library = og.Polynomial(0) + og.Terms([MONOD], {"K": ends})
    nearest = min(ends, key=lambda end: abs(end - 0.7))
    assert fitted(library, data, sparsity=0.0).parameters_["K"] == pytest.approx(nearest, rel=1e-3)


def test_a_term_that_is_not_used_has_no_parameter():
    model = fitted("poly(1) + S/(K + S)", runs(1 - 2 * S))
    assert model.parameters_ == {} and model.equations() == ["S' = 1.000 - 2.000 S"]


def test_terms_that_are_nowhere_finite_are_an_error():
    library = og.Terms(["1", "log(K - 100*S)"], {"K": (0, 1)})
    with pytest.raises(InputError, match=r"not finite on the data.*Give bounds, as in Terms"):
        fitted(library, runs(1 + S))


def test_a_loss_without_rows_is_an_error():
    model = og.OrthoReg("poly(1) + x0/(K + x0)", og.Zero(), loss=og.MultiStep(1))
    with pytest.raises(InputError, match="A parameter inside a term"):
        model.fit(np.sort(S, axis=0), t=0.1)
