"""Dependent terms are detected, left out in the order of the library, and explained."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from orthoreg.solving import independent_terms


@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(0, 4))
def test_keeps_a_basis_and_explains_the_rest(seed, independent, dependent):
    rng = np.random.default_rng(seed)
    base = rng.standard_normal((100, independent))
    mixed = base @ rng.standard_normal((independent, dependent))
    order = rng.permutation(independent + dependent)
    units = 10.0 ** rng.integers(-3, 4, len(order))
    Phi = np.hstack([base, mixed])[:, order] * units
    kept, relations = independent_terms(Phi.T @ Phi / 100)
    assert len(kept) == independent
    assert {relation.term for relation in relations} == set(range(len(order))) - set(kept)
    for relation in relations:
        assert all(other < relation.term for other in relation.others)
        combined = Phi[:, list(relation.others)] @ np.array(relation.weights)
        size = np.abs(Phi[:, relation.term]).max()
        assert_allclose(combined, Phi[:, relation.term], atol=1e-4 * size)


def test_a_term_that_is_always_zero_is_left_out():
    Phi = np.column_stack([np.ones(10), np.zeros(10), np.arange(10.0)])
    kept, relations = independent_terms(Phi.T @ Phi)
    assert kept.tolist() == [0, 2]
    assert relations[0].term == 1 and relations[0].others == ()


def test_a_circle_makes_one_square_redundant():
    angle = np.linspace(0, 6, 50)
    x, y = np.cos(angle), np.sin(angle)
    Phi = np.column_stack([np.ones(50), x, y, x**2, x * y, y**2])
    kept, (relation,) = independent_terms(Phi.T @ Phi / 50)
    assert kept.tolist() == [0, 1, 2, 3, 4]
    assert relation.others == (0, 3)
    assert_allclose(relation.weights, [1.0, -1.0], atol=1e-9)
