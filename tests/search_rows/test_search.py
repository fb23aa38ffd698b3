"""The fast steps of the search compared with simple ones: adding and removing a term."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import orthoreg as og
from orthoreg.data import Rows
from orthoreg.search.rows._search import Splits, elimination, growth, splits
from orthoreg.solving import Moments, gather_partitioned
from orthoreg.terms import bind

seeds = st.integers(0, 10_000)


def moments_of(seed: int, terms: int, rows: int = 300, mixing: float = 0.5) -> Moments:
    """Return correlated terms and two targets that consist of some of them."""
    rng = np.random.default_rng(seed)
    shared = rng.standard_normal((rows, 1))
    phi = rng.standard_normal((rows, terms)) + mixing * shared
    phi /= np.sqrt((phi**2).mean(axis=0))
    w = rng.standard_normal((terms, 2)) * (rng.random((terms, 2)) < 0.5)
    z = np.hstack([phi, phi @ w + 0.3 * rng.standard_normal((rows, 2))])
    return Moments(rows, z.T @ z, terms, 0)


def parts_of(seed: int, caution: float) -> tuple[Splits, np.ndarray]:
    """Return splits of random rows, and the terms that are not nearly dependent."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, (400, 2))
    y = np.column_stack([x[:, 1], -np.sin(x[:, 0]) + 0.2 * x[:, 0] * x[:, 1]])
    y = y + 0.05 * rng.standard_normal(y.shape)
    rows = Rows(x, y, np.arange(400) // 20, np.zeros(2), ("x", "v"), ("x", "v"))
    features = bind(og.Polynomial(2) + og.Fourier(1), rows.names, rows.outputs)
    rule = og.Extrapolation()
    cells, _, _ = gather_partitioned(features, rows, rule.divide(rows)).scaled()
    return splits(cells, rule.held_out(cells), caution=caution), np.arange(len(features.names))


def error_of(moments: Moments, terms: np.ndarray, equation: int) -> float:
    """Return the squared error of least squares with these terms."""
    A, a = moments.A[np.ix_(terms, terms)], moments.a[terms, equation]
    return float(moments.yy[equation] - a @ np.linalg.solve(A, a)) if len(terms) else float(
        moments.yy[equation]
    )  # fmt: skip


# -- one more term ---------------------------------------------------------------------------------


@settings(max_examples=15)
@given(seeds, st.sampled_from([0.0, 0.1, 2.0]), st.integers(0, 4), st.integers(0, 1))
def test_errors_of_a_grown_support_are_those_of_the_support_with_one_more(
    seed, caution, size, equation
):
    parts, terms = parts_of(seed, caution)
    support = np.sort(np.random.default_rng(seed).permutation(terms)[:size])
    rest = np.setdiff1d(terms, support)
    grown = parts.grown_errors(support, rest, equation)
    together = np.stack([np.sort(np.append(support, term)) for term in rest])
    with mock.patch("orthoreg.search.rows._limits.MAX_CANCELLATION", np.inf):
        _, outer = parts.errors(together, equation)  # those that cancel as well, as they are
    assert grown.shape == outer.shape == (len(rest), len(parts.inner))
    assert_allclose(grown, outer, rtol=1e-6, atol=1e-9)


def test_a_term_that_the_support_spans_is_never_the_best():
    parts, terms = parts_of(0, 0.1)
    doubled = np.r_[terms, 2, np.arange(len(terms), len(parts.inner[0]))]
    twice = Splits(
        *(part[:, doubled[:, None], doubled] for part in (parts.inner, parts.outer, parts.all)),
        parts.extrapolation_gram[np.ix_(doubled[:11], doubled[:11])],
        parts.centered,
    )
    errors = twice.grown_errors(np.array([2, 4]), np.array([1, 6, 10]), 1)
    assert np.isfinite(errors[:2]).all()
    best = errors.mean(axis=1)
    assert best[2] >= best[:2].min()


# -- one term fewer --------------------------------------------------------------------------------


def plain_elimination(moments: Moments, terms: np.ndarray, equation: int) -> list[np.ndarray]:
    """Return the minimum error with one term removed."""
    path = [terms]
    while len(terms):
        smaller = [np.delete(terms, i) for i in range(len(terms))]
        terms = min(smaller, key=lambda one: error_of(moments, one, equation))
        path.append(terms)
    return path


@given(seeds, st.integers(1, 12), st.integers(0, 1))
def test_elimination_by_updates_is_the_plain_one(seed, terms, equation):
    moments = moments_of(seed, terms)
    quick = elimination(moments, np.arange(terms), equation)
    plain = plain_elimination(moments, np.arange(terms), equation)
    assert [one.tolist() for one in quick] == [one.tolist() for one in plain]


def test_elimination_stays_right_over_many_updates():
    """The search removes so many terms that the inverse is computed again."""
    moments = moments_of(3, 50, rows=400)
    quick = elimination(moments, np.arange(50), 0)
    assert [len(one) for one in quick] == list(range(50, -1, -1))
    plain = plain_elimination(moments, np.arange(50), 0)
    assert [one.tolist() for one in quick] == [one.tolist() for one in plain]


@given(seeds, st.floats(1e-4, 1e-2))
def test_elimination_of_nearly_dependent_terms_loses_nothing(seed, distance):
    """The error of each step is that of the simple search, whichever of two equal terms was
    removed."""
    rng = np.random.default_rng(seed)
    phi = rng.standard_normal((300, 6))
    phi[:, 5] = phi[:, 0] + distance * phi[:, 5]
    z = np.column_stack([phi, phi[:, 0] - phi[:, 3] + 0.3 * rng.standard_normal(300)])
    moments = Moments(300, z.T @ z, 6, 0)
    quick, plain = (
        [error_of(moments, one, 0) for one in way(moments, np.arange(6), 0)]
        for way in (elimination, plain_elimination)
    )
    assert_allclose(quick, plain, rtol=1e-6)


# -- forward growth --------------------------------------------------------------------------------


@given(seeds, st.integers(1, 10), st.integers(0, 1))
def test_growth_takes_the_term_that_lowers_the_error_most(seed, terms, equation):
    moments = moments_of(seed, terms)
    path = growth(moments, np.arange(terms), equation, 6)
    chosen = np.zeros(0, dtype=np.int64)
    assert len(path) == min(terms, 6)
    for found in path:
        rest = np.setdiff1d(np.arange(terms), chosen)
        larger = [np.sort(np.append(chosen, term)) for term in rest]
        chosen = min(larger, key=lambda one: error_of(moments, one, equation))
        assert_array_equal(found, chosen)


@pytest.mark.parametrize("way", [elimination, lambda m, t, c: growth(m, t, c, 3)])
def test_only_terms_that_are_offered_are_used(way):
    moments = moments_of(1, 8)
    offered = np.array([1, 4, 6])
    assert all(set(one) <= set(offered) for one in way(moments, offered, 1))
