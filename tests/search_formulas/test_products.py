"""Products of two functions, and steps, which no single template of the catalogue represents."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

import orthoreg as og
from orthoreg.data import Rows
from orthoreg.physics import Symmetries
from orthoreg.search.formulas import rows_as_measurements
from orthoreg.search.formulas._beam import added_gains, support_of
from orthoreg.search.formulas._composed import add_products, orthonormal, product, product_gains
from orthoreg.search.formulas._equation import DictionaryProblem
from orthoreg.search.formulas._parametric_term import ParametricTerm
from orthoreg.search.formulas._projection import project
from orthoreg.terms import Polynomial, parse, to_text

NAMES = ("x", "y")


def shape(text, parameters=(), grid=((),), low=(), high=()) -> ParametricTerm:
    item = parse(text, NAMES, parameters)
    return ParametricTerm(item, "own", tuple(parameters), np.array(grid, dtype=float), low, high)


def equation(target, symmetries=None, rows=300, noise=1e-3) -> DictionaryProblem:
    """Return the search for a target at random points, with the terms of poly(1)."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (rows, 2))
    y = target(*X.T) + noise * rng.standard_normal(rows)
    data = Rows(X, y[:, None], np.zeros(rows, dtype=int), np.array([noise**2]), NAMES, ("f",))
    found = rows_as_measurements(data)
    base = [ParametricTerm(term, "known", known=True) for term in Polynomial(1).terms(NAMES)]
    return DictionaryProblem(found, base, 0, symmetries)


def runs(slope, low, high, until, noise) -> og.Dataset:
    rng = np.random.default_rng(0)
    t = np.linspace(0, until, 200)
    states = [
        solve_ivp(
            lambda _, s: slope(*s), (0, until), rng.uniform(low, high), t_eval=t, rtol=1e-7
        ).y.T
        for _ in range(4)
    ]
    spread = np.concatenate(states).std(axis=0)
    noisy = [one + noise * spread * rng.standard_normal(one.shape) for one in states]
    return og.Dataset.from_arrays(noisy, t, names=NAMES)


SYSTEMS = {
    "exp(-x/2)*sin(2*y)": (
        lambda x, y: (y, -x - 0.1 * y - np.exp(-0.5 * x) * np.sin(2 * y)), 2.0, 8.0,
        lambda x, y: np.exp(-0.5 * x) * np.sin(2 * y),
    ),
    "tanh(2*y)*cos(x)": (
        lambda x, y: (y, -x - 0.8 * np.tanh(2 * y) * np.cos(x)), 2.5, 8.0,
        lambda x, y: np.tanh(2 * y) * np.cos(x),
    ),
    "exp(-x**2)*sign(y)": (
        lambda x, y: (y, -x + 0.5 * np.exp(-(x**2)) * np.sign(y)), 1.5, 6.0,
        lambda x, y: np.exp(-(x**2)) * np.sign(y),
    ),
    "exp(-y**2)*sin(3*x)": (
        lambda x, y: (y - 0.1 * x, -x + 1.5 * np.exp(-(y**2)) * np.sin(3 * x)), 2.0, 8.0,
        lambda x, y: np.exp(-(y**2)) * np.sin(3 * x),
    ),
    "x**2*y**2/((1 + x**2)*(1 + y**2))": (
        lambda x, y: (y, -x - 2 * x**2 * y**2 / (1 + x**2) / (1 + y**2)), 2.5, 8.0,
        lambda x, y: x**2 * y**2 / (1 + x**2) / (1 + y**2),
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.0, 0.02])
@pytest.mark.parametrize("name", SYSTEMS)
def test_a_withheld_product_is_named(name, noise):
    slope, size, until, term = SYSTEMS[name]
    data = runs(slope, (-size, -size), (size, size), until, noise)
    found = og.OrthoReg("poly(2)", og.Zero()).fit(data).explain(data)
    first = next(one for one in found.proposals if one.equation == "y")
    x, y = runs(slope, (-size, -size), (size, size), until, 0.0).states.T
    none = np.zeros((1, 0))
    values = [shape(one).columns(np.column_stack([x, y]), none)[:, 0] for one in first.terms]
    alike = [abs(np.corrcoef(one, term(x, y))[0, 1]) for one in values]
    assert max(alike) > 0.999, first.text


def test_gains_of_products_are_those_of_added_columns():
    problem = equation(lambda x, y: x + np.exp(-0.5 * x) * np.sin(2 * y))
    one = shape("exp(p*x)", ("p",), [[-1.0], [-0.5], [0.3]], (-3.0,), (3.0,))
    two = shape("sin(p*y)", ("p",), [[1.0], [2.0]], (0.1,), (6.0,))
    supports = [(), (0,), (0, 1, 2)]
    bases = [orthonormal(problem.phi[:, list(chosen)]) for chosen in supports]
    points = problem.rows.points
    gains = product_gains(
        problem, bases, one.columns(points, one.grid), two.columns(points, two.grid)
    )
    before = len(problem)
    problem.offer(product(one, two))
    for mine, chosen in zip(gains, supports, strict=True):
        assert_allclose(mine.ravel(), added_gains(problem, chosen)[before:], rtol=1e-8)


def test_a_product_that_a_support_has_gains_nothing():
    problem = equation(lambda x, y: x * y)
    x, y = problem.rows.points.T
    gains = product_gains(problem, [problem.phi], np.column_stack([x, np.full_like(x, np.inf)]),
                          np.ones((len(y), 1)))  # fmt: skip
    assert np.isneginf(gains).all()


def test_factors_have_parameters_of_their_own():
    one = shape("exp(-p*(x - c)**2)", ("p", "c"), [[1.0, 0.0]], (0.1, -2.0), (9.0, 2.0))
    two = shape("sin(p*y)", ("p",), [[1.0], [2.0]], (0.1,), (6.0,))
    both = product(one, two)
    assert both.parameters == ("p", "c", "p2")
    assert both.grid.tolist() == [[1.0, 0.0, 1.0], [1.0, 0.0, 2.0]]
    assert both.low == (0.1, -2.0, 0.1) and both.high == (9.0, 2.0, 6.0)


def test_products_beside_a_support_are_estimated_and_keep_symmetries():
    def target(x, y):
        return x + np.exp(-0.7 * x**2) * np.sin(2 * y)

    problem = equation(target)
    begun = add_products(problem, [support_of(problem, (1,))])
    texts = [
        to_text(problem.terms[problem.term_of_column[columns[-1]]].expression) for columns in begun
    ]
    place = next(i for i, text in enumerate(texts) if "exp(-x**2*p)" in text and "sin(" in text)
    assert_allclose(problem.values[begun[place][-1]], (0.7, 2.0), rtol=0.01)
    # odd under reflection of both variables, so no cosine times a Gaussian
    odd = Symmetries(np.array([[-1.0, -1.0]]), np.array([[-1.0]]), np.zeros(2))
    problem = equation(target, odd)
    for columns in add_products(problem, [support_of(problem, (1,))]):
        k = columns[-1]
        item = problem.terms[problem.term_of_column[k]]
        points = np.random.default_rng(0).uniform(0.2, 1.8, (9, 2))
        here, there = (
            item.columns(p, np.array([problem.values[k]]).reshape(1, -1)) for p in (points, -points)
        )
        assert_allclose(here, -there, atol=1e-9)


def test_time_that_is_up_leaves_products_out():
    problem = equation(lambda x, y: np.exp(-0.5 * x) * np.sin(2 * y))
    before = len(problem)
    assert add_products(problem, [support_of(problem, ())], lambda: False) == []
    assert len(problem) == before


@pytest.mark.slow
def test_where_the_library_is_enough_no_product_is_sought(monkeypatch):
    from orthoreg.search.formulas import _search

    def refuse(*_):
        raise AssertionError("products were sought")

    monkeypatch.setattr(_search, "add_products", refuse)
    data = runs(lambda x, y: (y, -x - 0.3 * y - 0.2 * x * y), (-2, -2), (2, 2), 8.0, 0.02)
    found = og.OrthoReg("poly(2)", og.Zero()).fit(data).explain(data)
    assert not found.proposals


def test_a_threshold_is_estimated_by_differences():
    problem = equation(lambda x, y: x - 0.6 * np.sign(x - 0.71))
    formula, start = parse("sign(x - c)", NAMES, ("c",)), np.array([[0.5]])
    step = ParametricTerm(formula, "power", ("c",), start, (-2.0,), (2.0,), widths=(0.08,))
    line = ParametricTerm(parse("x", NAMES), "known", known=True)
    found = project(problem, [line, step], [(), (0.5,)])
    x = np.sort(problem.rows.points[:, 0])
    below, above = x[x < 0.71][-1], x[x > 0.71][0]
    assert below <= found.values[1][0] <= above
    assert_allclose(found.coefficients, [1.0, -0.6], atol=1e-3)


@pytest.mark.slow
def test_a_step_takes_the_place_of_a_steep_sigmoid():
    data = runs(
        lambda x, y: (y, -x - 0.1 * y - 0.6 * np.sign(x - 0.7)), (-2, -2), (2, 2), 8.0, 0.02
    )
    first = og.OrthoReg("poly(2)", og.Zero()).fit(data).explain(data).proposals[0]
    assert len(first.terms) == 1 and first.terms[0].startswith("sign(")
    threshold = next(one for one in first.constants if one.name.startswith("c in"))
    assert_allclose(threshold.value, 0.7, atol=0.05)
