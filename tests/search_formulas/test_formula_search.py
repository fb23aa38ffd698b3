"""The parts of the search compared with simple references."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import least_squares

from orthoreg.data import Rows
from orthoreg.search.formulas import _limits as limits
from orthoreg.search.formulas import rows_as_measurements
from orthoreg.search.formulas._beam import beam, best_pairs, exchange, support_of
from orthoreg.search.formulas._candidates import make_readable, prune, scored_fit
from orthoreg.search.formulas._catalogue import catalogue
from orthoreg.search.formulas._equation import DictionaryProblem
from orthoreg.search.formulas._measurements import misfit_nats
from orthoreg.search.formulas._parametric_term import ParametricTerm
from orthoreg.search.formulas._projection import least_squares as coefficients_of
from orthoreg.search.formulas._projection import project, subset_fits
from orthoreg.search.formulas._search import search
from orthoreg.terms import Polynomial, parse, to_text

NAMES, LINEAR = ("x", "y"), Polynomial(1)


def equation(target, shapes=None, noise=1e-3, rows=300, known=LINEAR) -> DictionaryProblem:
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (rows, 2))
    y = target(*X.T) + noise * rng.standard_normal(rows)
    data = Rows(X, y[:, None], np.zeros(rows, dtype=int), np.array([noise**2]), NAMES, ("f",))
    measured_rows = rows_as_measurements(data)
    base = [ParametricTerm(term, "known", known=True) for term in known.terms(NAMES)]
    if shapes is None:
        shapes = catalogue(NAMES, measured_rows.extent)
    return DictionaryProblem(measured_rows, [*base, *shapes], 0)


def shape(text, parameters=(), grid=((),), low=(), high=()) -> ParametricTerm:
    item = parse(text, NAMES, parameters)
    return ParametricTerm(item, "own", tuple(parameters), np.array(grid, dtype=float), low, high)


SMALL = [shape(text) for text in ("sin(2*x)", "cos(y)", "x*y", "x**2", "y**2", "abs(x)")]


def rss_of(problem, columns) -> float:
    left = np.linalg.lstsq(problem.phi[:, columns], problem.target, rcond=None)[1]
    return float(left[0])


def test_supports_have_the_misfit_of_least_squares():
    problem = equation(lambda x, y: x + np.sin(2 * x) + 0.3 * x * y, SMALL)
    found = beam(problem, np.ones(len(problem), dtype=bool), depth=3)
    assert len(found) > 10
    for one in found:
        if one.columns:
            assert_allclose(one.rss, rss_of(problem, list(one.columns)), rtol=1e-6)
            assert_allclose(one.price, problem.price[list(one.columns)].sum())


def test_the_best_pair_is_that_of_all_pairs():
    problem = equation(lambda x, y: np.sin(2 * x) + np.cos(y) + 0.1 * y, SMALL)
    everything = np.ones(len(problem), dtype=bool)
    begin = support_of(problem, (1,))
    found = min(best_pairs(problem, begin, everything, 3), key=lambda one: one.rss)
    rest = [k for k in range(len(problem)) if k != 1]
    tried = {(i, j): rss_of(problem, [1, i, j]) for i in rest for j in rest if i < j}
    assert set(min(tried, key=tried.__getitem__)) == set(found.columns[1:])
    assert_allclose(found.rss, min(tried.values()), rtol=1e-6)
    assert limits.MIN_NEW_NORM < 1e-6


def test_exchange_leaves_a_wrong_start():
    problem = equation(lambda x, y: np.sin(2 * x) + np.cos(y), SMALL)
    texts = [to_text(problem.terms[s].expression) for s in problem.term_of_column]
    wrong = support_of(problem, (texts.index("x"), texts.index("y**2"), texts.index("x*y")))
    found = exchange(problem, np.ones(len(problem), dtype=bool), [wrong])
    best = min(found, key=lambda one: problem.nats(one.rss) + one.price)
    assert {texts[k] for k in best.columns} >= {"sin(2*x)", "cos(y)"}


def test_projection_is_nonlinear_least_squares():
    target = lambda x, y: 0.5 * x - 1.3 * np.exp(-0.7 * (y - 0.4) ** 2)  # noqa: E731
    bump = shape("exp(-p*(y - c)**2)", ("p", "c"), [[0.5, 0.0]], low=(0.01, -2.0), high=(10.0, 2.0))
    problem = equation(target, [bump], noise=0.05)
    line = ParametricTerm(parse("x", NAMES), "known", known=True)
    found = project(problem, [line, bump], [(), (0.5, 0.0)])
    X = problem.rows.points

    def left(v):
        value = v[0] * X[:, 0] + v[1] * np.exp(-v[2] * (X[:, 1] - v[3]) ** 2)
        return problem.target - value * problem.weight

    reference = least_squares(left, [0.5, -1.3, 0.7, 0.4])
    assert_allclose(found.coefficients, reference.x[:2], rtol=1e-4)
    assert_allclose(found.values[1], reference.x[2:], rtol=1e-3)
    assert_allclose(found.rss, 2 * reference.cost, rtol=1e-6)
    covariance = np.linalg.inv(reference.jac.T @ reference.jac)
    assert_allclose(np.diag(found.covariance), np.diag(covariance), rtol=1e-2)


def test_cancelling_terms_are_pruned():
    nearly = shape("sin(0.01*x)")
    problem = equation(lambda x, y: y, [nearly])
    x, y = (ParametricTerm(parse(name, NAMES), "known", known=True) for name in "xy")
    whole = scored_fit(problem, project(problem, [x, nearly, y], [(), (), ()]))
    assert [to_text(term) for term in prune(problem, whole).expressions] == ["y"]


def test_a_simple_number_is_taken_where_the_score_allows():
    wave = shape("sin(p*x)", ("p",), [[2.0]], low=(0.1,), high=(6.0,))
    for truth, expected in ((3.0, 3.0), (2.83, 2.83)):
        problem = equation(lambda x, y, p=truth: np.sin(p * x), [wave])
        found = scored_fit(problem, project(problem, [wave], [(2.7,)]))
        read = make_readable(problem, found)
        assert_allclose(read.fit.values[0][0], expected, rtol=1e-3)
        assert read.fit.held[0][0] == (truth == 3.0)
        assert read.score <= found.score


def test_the_score_is_tempered_within_the_noise():
    """A factor of two in the misfit counts fully above twice the noise, and like 60 rows below."""
    assert_allclose(misfit_nats(8.0, 1.0, 500.0) - misfit_nats(4.0, 1.0, 500.0), 250 * np.log(2))
    assert_allclose(misfit_nats(2.0, 1.0, 500.0) - misfit_nats(1.0, 1.0, 500.0), 30 * np.log(2))
    assert misfit_nats(0.5, 1.0, 500.0) == misfit_nats(0.1, 1.0, 500.0)


@pytest.mark.parametrize(
    "target, structure",
    [
        (lambda x, y: x + 0.5 * np.exp(-(y**2)), {"x", "exp(-y**2*p)"}),
        pytest.param(
            lambda x, y: y - 0.3 * x * np.abs(x), {"y", "x*abs(x)"}, marks=pytest.mark.slow
        ),
        (lambda x, y: 2 * x, {"x"}),
    ],
)
def test_the_truth_is_found_and_nothing_else(target, structure):
    found = search(equation(target))
    assert set(found.candidates[0].structure) == structure
    assert found.candidates[0].score <= found.base.score


@given(st.integers(0, 1000), st.integers(1, 8), st.floats(-12, 0))
def test_coefficients_are_those_of_singular_values(seed, size, digits):
    """Return whether columns are clearly different or nearly equal."""
    rng = np.random.default_rng(seed)
    phi = rng.standard_normal((60, size))
    phi[:, -1] = phi[:, 0] + 10**digits * phi[:, -1]
    phi /= np.linalg.norm(phi, axis=0)
    y = phi @ rng.uniform(-1, 1, size) + 0.1 * rng.standard_normal(60)
    expected = y - phi @ np.linalg.lstsq(phi, y, rcond=1e-11)[0]
    assert_allclose(y - phi @ coefficients_of(phi, y), expected, atol=1e-9)


def test_fits_without_terms_are_those_of_projections():
    problem = equation(lambda x, y: x + np.sin(2 * x) + 0.3 * x * y, SMALL)
    whole = project(problem, problem.terms, [()] * len(problem.terms))
    assert whole is not None
    left_out = [set[int](), {0}, {1, 4}]
    for out, fit in zip(left_out, subset_fits(problem, whole, left_out), strict=True):
        kept = [one for k, one in enumerate(problem.terms) if k not in out]
        expected = project(problem, kept, [()] * len(kept))
        assert expected is not None and list(fit.terms) == kept
        assert_allclose(fit.coefficients, expected.coefficients, rtol=1e-9)
        assert_allclose(fit.rss, expected.rss, rtol=1e-9)
        assert fit.covariance.shape == expected.covariance.shape


def test_slopes_are_those_of_differences_and_keep_the_column():
    problem = equation(lambda x, y: x, SMALL)
    bump = shape("x*exp(-p*(y - q)**2)", ("p", "q"), ((1.0, 0.0),), (0.1, -1.0), (5.0, 1.0))
    values, step = np.array([1.3, 0.4]), 1e-6
    slopes = problem.slopes(bump, tuple(values))
    for i, along in enumerate(step * np.eye(2)):
        ahead = problem.whitened(bump, tuple(values + along))
        behind = problem.whitened(bump, tuple(values - along))
        assert_allclose(slopes[i], (ahead - behind) / (2 * step), rtol=1e-5, atol=1e-3)
    fresh = equation(lambda x, y: x, SMALL)
    assert_allclose(problem.whitened(bump, tuple(values)), fresh.whitened(bump, tuple(values)))


def test_columns_that_are_added_are_those_of_a_larger_dictionary():
    problem, whole = equation(lambda x, y: x, SMALL[:2]), equation(lambda x, y: x, SMALL)
    for one in SMALL[2:]:
        problem.offer(one)
    assert_allclose(problem.phi, whole.phi, atol=1e-12)
    assert_allclose(problem.gram, whole.gram, atol=1e-12)
    assert_allclose(problem.moments, whole.moments, atol=1e-9)


def test_where_nothing_could_be_better_nothing_is_sought():
    told: list[str] = []
    exact = equation(lambda x, y: y, noise=0.0)
    found = search(exact, on_progress=lambda part, what: told.append(what))
    assert told == ["terms of the library"]
    assert [to_text(term) for term in found.candidates[0].expressions] == ["y"]
    told.clear()
    search(equation(lambda x, y: y + 0.2 * np.sin(3 * x), noise=0.0),
           on_progress=lambda part, what: told.append(what))  # fmt: skip
    assert len(told) > 3
    told.clear()
    refused = equation(lambda x, y: y, noise=0.0)
    search(
        refused, allow=lambda one: bool(one.new), on_progress=lambda part, what: told.append(what)
    )
    assert len(told) > 3
