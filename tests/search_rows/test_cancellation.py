"""Terms that cancel each other are rejected. Terms that only seem to cancel are not."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import orthoreg as og
from orthoreg.solving import CenteredTerms
from orthoreg.terms import bind

LIBRARY = og.Polynomial(2) + og.Fourier(1)


@pytest.fixture
def narrow(rng) -> np.ndarray:
    """Return columns that are not angles and cover a small part of a period."""
    return rng.uniform(-0.2, 0.2, (300, 2))


def hard_spring(x: np.ndarray) -> np.ndarray:
    """The library lacks the cubic term, which 361 (sin(x0) - x0) imitates."""
    return np.column_stack([x[:, 1], -4 * x[:, 0] - 0.2 * x[:, 1] - 60 * x[:, 0] ** 3])


def fitted(x, y, library=LIBRARY, selection=None) -> og.OrthoReg:
    return og.OrthoReg(library, og.Zero(), selection=selection).fit(x, y)


def worst(model: og.OrthoReg, x: np.ndarray) -> float:
    """Return the sum of the sizes of the terms over the size of their sum."""
    terms = model.field_.features(x)[:, None] * model.coefficients_
    sizes = np.sqrt((terms**2).mean(axis=0)).sum(axis=1)
    return float((sizes / np.sqrt((terms.sum(axis=2) ** 2).mean(axis=0))).max())


@pytest.mark.parametrize(
    "rule", [og.Extrapolation(), og.CrossValidation(), og.InformationCriterion("bic")]
)
def test_a_set_whose_terms_are_many_times_larger_than_their_sum_is_refused(narrow, rule):
    assert worst(fitted(narrow, hard_spring(narrow), selection=rule), narrow) < 10


def test_no_resample_chooses_terms_that_cancel(narrow):
    model = fitted(narrow, hard_spring(narrow))
    sure = og.bootstrap(model, resamples=40)
    column = model.feature_names_.index
    both = sure.probability[1, [column("x0"), column("sin(x0)")]]
    assert both.sum() <= 1


@pytest.mark.parametrize("noise", [0.0, 0.01])
@pytest.mark.parametrize(
    ("library", "low", "high", "field", "terms"),
    [
        (og.Polynomial(3), [8, -2], [12, 2], lambda x, v: (v, (10 - x) + (10 - x) ** 3),
         [{"x1"}, {"1", "x0", "x0**2", "x0**3"}]),
        (LIBRARY, [290, -2], [296, 2], lambda x, v: (v, (293 - x) + 0.2 * (293 - x) ** 2),
         [{"x1"}, {"1", "x0", "x0**2"}]),
        (og.Polynomial(3), [-1.5, -1], [1.5, 1], lambda x, v: (v, x - x**3 - 0.2 * v),
         [{"x1"}, {"x0", "x1", "x0**3"}]),
        (LIBRARY, [0.9, 1.9], [1.1, 2.1], lambda x, y: (x - 0.5 * x * y, -y + x * y),
         [{"x0", "x0*x1"}, {"x1", "x0*x1"}]),
    ],
    ids=["cubic about 10", "square about 293", "two wells", "near a balance"],
)  # fmt: skip
def test_true_terms_are_not_lost(library, low, high, field, terms, noise, rng):
    x = rng.uniform(low, high, (400, 2))
    y = np.column_stack(field(*x.T))
    y = y + noise * y.std(axis=0) * rng.standard_normal(y.shape)
    model = fitted(x, y, library)
    names = np.array(model.feature_names_)
    found = [set(names[row]) for row in model.support_]
    assert all(true <= used for true, used in zip(terms, found, strict=True))
    assert noise or found == terms


def test_the_difference_of_two_columns_that_move_together_is_kept(rng):
    a = rng.uniform(-1, 1, 400)
    x = np.column_stack([a, a + 0.002 * rng.standard_normal(400)])
    model = fitted(x, 500 * (x[:, ::-1] - x), og.Polynomial(2))
    assert [list(np.flatnonzero(row)) for row in model.support_] == [[1, 2], [1, 2]]


def test_terms_are_sums_of_parts_about_the_mean(rng):
    x = rng.normal([300.0, -2.0], [1.0, 0.3], (200, 2))
    features = bind(og.Polynomial(3) + og.Fourier(2), ["a", "b"], ["a"])
    parts = CenteredTerms.of(features, x)
    theta = features(x) - features(x).mean(axis=0)
    covariance = theta.T @ theta / len(x)
    alone = [features.names.index(name) for name in ("a**3", "a", "sin(2*a)", "a**2")]
    spanned = (parts.expansion @ parts.correlation @ parts.expansion.T)[np.ix_(alone, alone)]
    assert_allclose(spanned, covariance[np.ix_(alone, alone)], rtol=1e-6)


def test_cancellation_does_not_depend_on_units_and_for_polynomials_not_on_the_origin(rng):
    x = rng.uniform(-1, 1, (300, 2))
    features = bind(og.Polynomial(3), ["a", "b"], ["a"])
    target = 5 * x[:, 0] - 6 * x[:, 0] ** 3 + x[:, 1] * x[:, 0]

    def cancellation(moved: np.ndarray) -> float:
        w = np.linalg.lstsq(features(moved), target, rcond=None)[0]
        size = np.sqrt([np.mean(target**2)])
        return CenteredTerms.of(features, moved).cancellation(w[None], size)[0]

    here = cancellation(x)
    assert 3 < here < 10
    assert_allclose(cancellation(x * [1e3, 1e-4]), here, rtol=1e-6)
    assert_allclose(cancellation(x + [30.0, -5.0]), here, rtol=1e-5)


def test_sines_of_columns_that_are_no_angles_are_no_candidates_by_default(rng):
    x = np.column_stack([rng.uniform(-0.5, 0.5, 300), rng.uniform(4.0, 6.0, 300)])
    y = np.column_stack([-np.sin(x[:, 0]), -np.sin(x[:, 1])])
    default = fitted(x, y, None)
    assert default.selection_.left_out == ("sin(x0)", "cos(x0)")
    assert default.equations()[1] == "x1' = -1.000 sin(x1)"
    assert "sin" not in default.equations()[0]
    for library in (LIBRARY, og.Polynomial(2) + og.Terms(["sin(x0)", "sin(x1)"])):
        asked = fitted(x, y, library)
        assert asked.selection_.left_out == ()
        assert asked.equations()[0] == "x0' = -1.000 sin(x0)"
