"""The search respects symmetries, given terms, bounds and time, and finds fractions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import orthoreg as og
from orthoreg._common.errors import InputError
from orthoreg.losses import Auto
from orthoreg.search.formulas import measurements, points_around


@pytest.fixture(scope="module")
def plane() -> np.ndarray:
    return np.random.default_rng(0).uniform(0.1, 3, (400, 2))


def rational(z: np.ndarray) -> np.ndarray:
    """Two equations; only the first has a denominator of two variables."""
    x, y = z.T
    return np.column_stack([1 - 2 * x * y / (1 + x + 0.6 * y), -0.4 * y + 0.2 * x])


@pytest.mark.slow
def test_a_fraction_of_two_variables_is_found(plane):
    model = og.OrthoReg("poly(2)", og.Zero()).fit(plane, rational(plane))
    found = model.explain(plane, rational(plane))
    first = found.proposals[0]
    assert first.terms == ("x0*x1/(1 + x0 + 0.6*x1)",)
    accepted = found.accept(0)
    assert_allclose(accepted.predict(plane), rational(plane), atol=1e-6)
    assert {one.equation for one in found.proposals} == {"x0"}


@pytest.mark.slow
def test_terms_over_one_denominator_share_its_constants(plane):
    x, y = plane.T
    slope = np.column_stack([(3 * x - 2 * y**2) / (1 + 0.7 * x + 1.6 * y), x - y])
    first = og.OrthoReg("poly(1)", og.Zero()).fit(plane, slope).explain(plane, slope).proposals[0]
    fit = first.candidate.fit
    shared = [v for s, v in zip(fit.terms, fit.values, strict=True) if s.numerator is not None]
    assert len(shared) == 2 and len(set(shared)) == 1
    assert_allclose(shared[0], [0.7, 1.6], rtol=1e-6)
    assert_allclose(first.values(plane), slope[:, 0], atol=1e-6)


@pytest.mark.slow
def test_a_pole_among_the_data_is_no_denominator():
    x = np.random.default_rng(2).uniform(-2, 2, (300, 1))
    y = 1 / (x - 0.4)
    sound = np.abs(x[:, 0] - 0.4) > 0.05
    x, y = x[sound], y[sound]
    found = og.OrthoReg("poly(1)", og.Zero()).fit(x, y).explain(x, y)
    for one in found.proposals:
        for term in one.candidate.fit.terms:
            assert term.numerator is None


@pytest.mark.slow
def test_proposals_have_the_symmetry_that_is_known():
    x = np.random.default_rng(3).uniform(-2, 2, (300, 1))
    y = -x + 0.4 * np.sin(3 * x) + 0.05 * np.cos(2 * x)
    for symmetry, even in ((None, True), (og.Odd(), False)):
        physics = None if symmetry is None else og.Physics(symmetry=symmetry)
        model = og.OrthoReg("poly(1)", og.Zero(), physics=physics).fit(x, y)
        found = model.explain(x, y).proposals
        assert found
        grid = np.linspace(0.1, 2, 20)[:, None]
        odd = [np.allclose(one.values(grid), -one.values(-grid)) for one in found]
        assert all(odd) != even


def test_a_given_term_is_subtracted_and_a_given_equation_left_alone():
    rng = np.random.default_rng(4)
    z = rng.uniform(-2, 2, (400, 2))
    y = np.column_stack([z[:, 1], -2 * z[:, 0] + 0.5 * np.sin(3 * z[:, 0])])
    physics = og.Physics(equations={"x0": "x1", "x1": "-2*x0 + ..."})
    model = og.OrthoReg("poly(2)", og.Zero(), physics=physics).fit(z, y)
    found = model.explain(z, y)
    assert found.proposals[0].terms == ("sin(3*x0)",)
    assert {one.equation for one in found.proposals} == {"x1"}
    assert "x0" not in found.proposals[0].changes
    assert_allclose(found.accept(0).predict(z), y, atol=1e-6)


def test_a_proposal_does_not_go_beyond_a_bound():
    x = np.random.default_rng(5).uniform(-2, 2, (300, 1))
    y = 0.5 * x + 0.4 * np.sin(3 * x)
    physics = og.Physics(bounds={("x0", "x0"): (None, 0)})
    model = og.OrthoReg("poly(1)", og.Zero(), physics=physics).fit(x, y)
    for one in model.explain(x, y).proposals:
        fit = one.candidate.fit
        for shape, w in zip(fit.terms, fit.coefficients, strict=True):
            assert not (shape.written_as == "x0" and w > 0.05)


def forced(t: np.ndarray) -> np.ndarray:
    """Return the exact solution of x' = -x + cos(2 t) from a start with a transient."""
    return ((np.cos(2 * t) + 2 * np.sin(2 * t)) / 5 + 1.5 * np.exp(-t))[:, None]


@pytest.mark.slow
def test_a_function_of_time_is_named_where_it_is_asked_for():
    t = np.linspace(0, 12, 400)
    data = og.Dataset.from_arrays(forced(t), t, names=["x"])
    model = og.OrthoReg("poly(1)", og.Zero()).fit(data)
    found = model.explain(data, functions_of_time=True)
    assert found.proposals[0].formula == "cos(2*t)"
    accepted = found.accept(0)
    assert accepted.equations() == ["x' = -1.000 x + 1.000 cos(2*t)"]
    assert_allclose(accepted.simulate([1.7], t).x, forced(t), atol=1e-4)
    with pytest.raises(InputError, match="need runs in time"):
        model.explain(forced(t), forced(t), functions_of_time=True)


def test_a_formula_of_the_library_may_name_time():
    t = np.linspace(0, 12, 400)
    data = og.Dataset.from_arrays(forced(t), t, names=["x"])
    model = og.OrthoReg(og.Polynomial(1) + og.Terms(["cos(w*t)"], {"w": (1, 3)}), og.Zero())
    model.fit(data)
    assert model.clock_ == "t"
    assert_allclose(model.parameters_["w"], 2, rtol=1e-3)
    assert not any("t" in name for name in model.feature_names_ if "cos" not in name)


def test_where_candidates_differ_most_is_a_place_that_can_be():
    """Amounts are never negative."""
    t = np.linspace(0, 6, 200)
    amounts = np.column_stack([np.exp(-t), -1 - np.sin(t) ** 2])
    rows = measurements(Auto(), og.Dataset.from_arrays(amounts, t, names=["a", "b"]))
    points = points_around(rows.extent)
    assert points[:, 0].min() >= 0 and points[:, 1].max() <= 0
    assert points[:, 0].max() > rows.extent.high[0] and points[:, 1].min() < rows.extent.low[1]
