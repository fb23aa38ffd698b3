"""Intervals of correlated constants are joint, independent of units, within bounds, and follow the
likelihood if it is curved."""

import numpy as np
import pytest
from conftest import field_of, solved

import orthoreg as og
from orthoreg.matching import refine


def reactor(seed, noise=0.01, count=4):
    """c' = -k0 exp(-E/T) c, T' = q k0 exp(-E/T) c - h (T - 340), with k0 of 7.2e10."""
    rng = np.random.default_rng(seed)
    t = np.linspace(0, 5, 100)

    def slope(t, z):
        rate = 7.2e10 * np.exp(-8750 / z[1]) * z[0]
        return [-rate, 40 * rate - 0.3 * (z[1] - 340)]

    exact = solved(slope, rng.uniform([0.7, 335], [1.3, 350], (count, 2)), t)
    size = noise * np.concatenate(exact).std(axis=0)
    noisy = [x + size * rng.standard_normal(x.shape) for x in exact]
    return og.Dataset.from_arrays(noisy, t, names=["c", "T"])


@pytest.mark.parametrize(
    ("unit", "term"),
    [(1, "c*exp(-E/T)"), (1e4, "10000*c*exp(-E/T)"), (1e10, "10000000000*c*exp(-E/T)")],
)
def test_intervals_are_joint_in_any_unit_of_a_constant(unit, term):
    data = reactor(0)
    k0 = 7.2e10 / unit
    field = field_of([term, "1", "T"], ["c", "T"], [[-k0, 0, 0], [40 * k0, 102, -0.3]], [8750.0])
    found = refine(field, data, bounds={"E": (1e3, 2e4)})
    assert found.kept and found.parameters == ("E",)
    errors = found.standard_errors
    assert errors[-1] == pytest.approx(13.4, rel=0.05)  # 0.5 if the other constants were known
    assert errors[0] * unit == pytest.approx(2.61e9, rel=0.05)


def arrhenius_rows(seed=0, noise=0.02, count=300):
    """Rows of y = -7.2e10 exp(-8750/T) c."""
    rng = np.random.default_rng(seed)
    x = rng.uniform([0.1, 320], [1.0, 370], (count, 2))
    y = -7.2e10 * np.exp(-8750 / x[:, 1]) * x[:, 0]
    return x, y + noise * y.std() * rng.standard_normal(count)


def rate_model(**options):
    terms = og.Terms(["x0*exp(-E/x1)"], bounds={"E": (1e3, 2e4)})
    return og.OrthoReg(terms, og.Zero(), **options)


def test_rows_have_the_joint_covariance_of_least_squares():
    x, y = arrhenius_rows()
    model = rate_model().fit(x, y)
    found = model.fit_.estimates
    E, k = model.parameters_["E"], model.coefficients_[0, 0]
    rate = np.exp(-E / x[:, 1]) * x[:, 0]
    J = np.column_stack([rate, -k * rate / x[:, 1]])
    left = y - k * rate
    expected = np.linalg.pinv(J / (scale := np.linalg.norm(J, axis=0)))
    expected = expected @ expected.T / np.outer(scale, scale) * left.var(ddof=2)
    np.testing.assert_allclose(found.standard_errors, np.sqrt(np.diag(expected)), rtol=0.3)
    assert found.degrees_of_freedom >= 19
    # all outputs with intervals use the same numbers
    ends = found.interval()
    np.testing.assert_allclose(og.bootstrap(model, resamples=20).interval[0, 0], ends[0])
    np.testing.assert_allclose(model.parameter_intervals_["E"], ends[1])
    summary = model.summary(x, y)
    assert (summary.terms[0].low, summary.terms[0].high) == pytest.approx(tuple(ends[0]))
    (pair,) = summary.correlations
    assert {pair.first, pair.second} == {"y0': x0*exp(-E/x1)", "E"}
    assert pair.correlation < -0.99
    assert any("Correlated estimates" in note for note in summary.notes)


def test_correlations_and_intervals_survive_a_file(tmp_path):
    model = rate_model().fit(*arrhenius_rows())
    model.save(tmp_path / "m.orthoreg")
    loaded = og.load(tmp_path / "m.orthoreg")
    assert loaded.correlations() == model.correlations() != ()
    assert loaded.parameter_intervals_ == model.parameter_intervals_
    page = og.report(loaded, tmp_path / "m.html").read_text()
    assert "Correlated estimates" in page and "-0.99" in page
    (pair,) = loaded.summary().to_dict()["correlations"]
    assert pair["correlation"] == model.correlations()[0].value


def test_an_interval_ends_at_an_active_bound():
    terms = og.Terms(["x0*exp(-E/x1)"], bounds={"E": (1e3, 8700)})
    x, y = arrhenius_rows()
    model = og.OrthoReg(terms, og.Zero()).fit(x, y)
    low, high = model.parameter_intervals_["E"]
    assert low < high == 8700
    notes = model.summary(x, y).notes
    assert any(note.startswith("E is at a bound") for note in notes)


def test_a_bound_on_a_refined_constant_holds_the_others_at_their_best():
    data = reactor(1)
    terms, guess = ["c*exp(-E/T)", "1", "T"], 7e10
    coefficients = [[-guess, 0, 0], [40 * guess, 102, -0.3]]
    held = refine(field_of(terms, ["c", "T"], coefficients, [8690.0]), data,
                  bounds={"E": (1e3, 8700.0)})  # fmt: skip
    given = refine(field_of([terms[0].replace("E", "8700"), *terms[1:]], ["c", "T"], coefficients),
                   data)  # fmt: skip
    assert held.kept and held.values[-1] == 8700
    np.testing.assert_allclose(held.values[:-1], given.values, rtol=1e-4)
    assert held.interval()[-1, 1] == 8700 and held.uncertainty.at_bound() == [len(held.places)]


def test_a_curved_likelihood_has_an_uneven_interval():
    """Far below saturation, a large constant fits almost as well as the true one."""
    t = np.linspace(0, 6, 60)
    exact = solved(lambda t, z: [-1.2 * z[0] / (3 + z[0])], [[0.5], [1.0], [2.0]], t)
    rng = np.random.default_rng(3)
    size = 0.1 * np.concatenate(exact).std()
    data = og.Dataset.from_arrays(
        [x + size * rng.standard_normal(x.shape) for x in exact], t, names=["S"]
    )
    found = refine(field_of(["S/(S + K)"], ["S"], [[-1.2]], [3.0]), data)
    low, high = found.interval()[-1]
    value = found.values[-1]
    assert 0 < low < value < high
    assert high - value > 1.2 * (value - low)
    assert low < 3.0 < high


def test_named_quotients_have_joint_intervals():
    """q is the ratio of two coefficients whose estimates have almost the same relative error."""
    data = reactor(0)
    physics = og.Physics(
        equations={"c": "-k0*exp(-E/T)*c", "T": "q*k0*exp(-E/T)*c - h*(T - 340)"},
        bounds={"E": (1e3, 2e4)},
    )
    model = og.OrthoReg(physics=physics).fit(data)
    ends = model.parameter_intervals_
    half = {name: (high - low) / 2 for name, (low, high) in ends.items()}
    assert half["E"] == pytest.approx(26.4, rel=0.1)
    assert 0.02 < half["q"] < 0.3  # 6 if the coefficients were independent
    pairs = {frozenset((pair.first, pair.second)) for pair in model.correlations()}
    assert frozenset(("k0", "E")) in pairs
