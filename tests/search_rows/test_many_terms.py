"""With very many terms, each equation selects among a shortlist, with the same result."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import orthoreg as og
from orthoreg.search.rows import _limits

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, (600, 4))
Y = np.column_stack([X[:, 1], -X[:, 0] * X[:, 2], X[:, 3] - 0.5 * X[:, 2], 0 * X[:, 0]])


with pytest.deprecated_call():
    DEPRECATED = og.StabilitySelection()


@pytest.mark.parametrize(
    "selection",
    [
        og.Extrapolation(),
        og.CrossValidation(),
        og.InformationCriterion(),
        pytest.param(DEPRECATED, marks=pytest.mark.slow),
    ],
)
def test_the_choice_does_not_depend_on_whether_equations_choose_apart(selection, monkeypatch):
    library = og.PerState({"x0": "poly(1)"}, "poly(2)")
    model = og.OrthoReg(library, og.Zero(), selection=selection)
    together = model.fit(X, Y)
    support, coefficients = together.support_, together.coefficients_
    probability = og.bootstrap(together, resamples=50).probability
    monkeypatch.setattr(_limits, "MAX_TERMS_JOINT", 3)
    apart = model.fit(X, Y)
    assert_array_equal(apart.support_, support)
    assert_allclose(apart.coefficients_, coefficients, rtol=1e-10, atol=1e-12)
    assert_allclose(og.bootstrap(apart, resamples=50).probability, probability, atol=0.05)
