"""Rows of a search: integrals of noisy runs, and the range in which functions must be defined."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import orthoreg as og
from orthoreg.losses import Auto
from orthoreg.search._proposals import antiderivative, integral_form
from orthoreg.search.formulas import measurements
from orthoreg.search.formulas._candidates import make_readable, scored_fit
from orthoreg.search.formulas._equation import DictionaryProblem
from orthoreg.search.formulas._parametric_term import ParametricTerm, symbols
from orthoreg.search.formulas._projection import project
from orthoreg.search.formulas._rows import Samples, integral_rows
from orthoreg.search.formulas._search import ranked_structures
from orthoreg.terms import Polynomial, parse

NAMES = ("x", "y")


def runs(noise: float, seed: int = 0, count: int = 3, points: int = 150) -> og.Dataset:
    """Return the exact solution of x' = y, y' = -x."""
    rng = np.random.default_rng(seed)
    t = np.sort(rng.uniform(0, 9, points))
    starts = rng.uniform(0, 6, count)
    exact = [np.column_stack([np.sin(t + s), np.cos(t + s)]) for s in starts]
    noisy = [one + noise * rng.standard_normal(one.shape) for one in exact]
    return og.Dataset.from_arrays(noisy, t, names=list(NAMES))


def rows_of(data: og.Dataset, states: np.ndarray, most: int = 10_000):
    return integral_rows(data, Samples.of(data), states, most)


def equation(rows, output: int, known=Polynomial(2)) -> DictionaryProblem:  # noqa: B008
    base = [ParametricTerm(term, "known", known=True) for term in known.terms(NAMES)]
    return DictionaryProblem(rows, base, output)


@given(st.integers(4, 40), st.integers(0, 3), st.integers(0, 1000))
def test_integrals_of_cubics_are_exact(points, degree, seed):
    times = np.cumsum(np.random.default_rng(seed).uniform(0.2, 1.0, points))
    found = antiderivative(times, times[:, None] ** degree)[:, 0]
    exact = (times ** (degree + 1) - times[0] ** (degree + 1)) / (degree + 1)
    assert_allclose(found, exact, rtol=1e-9, atol=1e-9 * np.abs(exact).max())


def test_few_samples_are_integrated_by_lines():
    times = np.array([0.0, 1.0, 3.0])
    assert_allclose(antiderivative(times, times[:, None])[:, 0], times**2 / 2)


def test_rows_are_the_integral_form():
    """The normal equations equal those of the selection of terms for noisy runs."""
    data = runs(0.05)
    rows = rows_of(data, runs(0.0).states)
    problem = equation(rows, 1)
    shapes = [ParametricTerm(term, "known") for term in Polynomial(2).terms(NAMES)]

    def features(points):
        return np.hstack([one.columns(points, one.grid) for one in shapes])

    reference = integral_form(data, rows.points, features, rows.noise**2)[1]
    scale = np.sqrt(np.diag(reference.H))
    # the reference integrates splines over whole runs, the rows over parts of runs
    assert_allclose(problem.square, reference.square, rtol=1e-12)
    assert_allclose(problem.gram, reference.H / np.outer(scale, scale), atol=1e-5)
    assert_allclose(problem.moments, reference.g / scale, rtol=1e-4, atol=1e-4)


def test_what_the_truth_leaves_is_noise():
    """With exact states, the misfit of the true terms has the variance of the noise, and
    coefficients are correct within their errors."""
    data, exact = runs(0.05, count=4, points=250), runs(0.0, count=4, points=250)
    rows = rows_of(data, exact.states)
    problem = equation(rows, 1)
    fit = project(problem, [s for s in problem.terms if s.expression == parse("x", NAMES)], [()])
    assert fit is not None
    free = len(problem.target) - len(np.unique(rows.stretch)) - 1
    assert 0.8 < fit.rss / free < 1.2
    found = scored_fit(problem, fit)
    assert found is not None
    assert abs(fit.coefficients[0] + 1) < 3 * found.standard_errors()[0] < 0.02


def test_means_of_samples_keep_what_many_samples_tell():
    data, exact = runs(0.05, points=600), runs(0.0, points=600)
    errors = []
    for most in (10_000, 200):
        rows = rows_of(data, exact.states, most)
        problem = equation(rows, 1)
        fit = project(
            problem, [s for s in problem.terms if s.expression == parse("x", NAMES)], [()]
        )
        found = scored_fit(problem, fit)
        assert found is not None
        errors.append(found.standard_errors()[0])
    assert len(problem.target) <= 250
    assert_allclose(errors[1], errors[0], rtol=0.2)


def test_integrals_are_taken_of_states_that_are_the_data_but_for_noise():
    noisy, exact = runs(0.05), runs(0.0).states
    assert measurements(Auto(), noisy).stretch is None
    assert measurements(Auto(), noisy, states=exact).stretch is not None
    assert measurements(Auto(), noisy, states=exact + 0.1).stretch is None
    assert_allclose(Samples.of(noisy).misfit(exact), 1.0, rtol=0.2)
    places = og.Dataset.from_positions(noisy.states[:150, :1], noisy.times[:150], names=["q"])
    smooth = measurements(Auto(), places, states=places.states)
    assert smooth.stretch is None  # the velocity was not measured


def test_functions_are_defined_wherever_they_must_be():
    rows = rows_of(runs(0.05), runs(0.0).states)
    positive = replace(rows, points=np.abs(rows.points) + 0.1)
    shapes = [ParametricTerm(parse(text, NAMES), "own") for text in ("log(x)", "x*y")]
    assert len(DictionaryProblem(positive, shapes, 0)) == 2
    further = positive.defined_at(np.array([[-0.2, 1.0], [0.5, 0.5]]))
    assert_allclose(further.beyond, [[-0.2, 1.0]])
    found = DictionaryProblem(further, shapes, 0)
    assert [found.terms[k].expression for k in found.term_of_column] == [parse("x*y", NAMES)]


def test_a_snapped_formula_that_the_library_has_is_its_term():
    rng = np.random.default_rng(1)
    x = rng.uniform(0.5, 3, (300, 2))
    data = og.Dataset.from_arrays(x, np.arange(300.0), names=list(NAMES))
    rows = replace(
        rows_of(data, x), windows=None, stretch=None, noise=np.full((300, 2), 0.01),
        targets=np.column_stack([x[:, 0] ** 2, x[:, 1]]) + 0.01 * rng.standard_normal((300, 2)),
    )  # fmt: skip
    problem = equation(rows, 0)
    power = ParametricTerm(
        parse("x**p", NAMES, ("p",)), "power", ("p",), np.array([[1.5]]), (-6.0,), (6.0,)
    )
    found = scored_fit(problem, project(problem, [power], [(1.5,)]))
    assert found is not None and found.new == (0,)
    readable = make_readable(problem, found)
    assert readable.new == () and readable.expressions == (parse("x**2", NAMES),)
    square = next(s for s in problem.terms if s.expression == parse("x**2", NAMES))
    plain = scored_fit(problem, project(problem, [square], [()]))
    assert plain is not None
    assert_allclose(readable.price, plain.price)
    assert len(ranked_structures(problem, [found, plain], lambda one: True)) == 1


@pytest.mark.parametrize(
    "one, other", [("x**3", "x*x*y"), ("x**2", "x*y"), ("x**2*y", "x*y*y"), ("x**4", "x**2*y**2")]
)
def test_a_power_costs_what_its_product_does(one, other):
    assert symbols(parse(one, NAMES)) == symbols(parse(other, NAMES))
