"""With many terms, only the most promising ones are searched."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from orthoreg.search.rows._search import growth, shortlist
from orthoreg.solving import Moments


def moments(rng: np.random.Generator, n_terms: int, true: np.ndarray, noise: float) -> Moments:
    """Return correlated terms and a target that is a sum of some of them."""
    mixed = rng.normal(size=(2000, n_terms)) + rng.normal(size=(2000, 1))
    y = mixed[:, true] @ rng.choice([-1.0, 1.0], len(true)) + noise * rng.normal(size=2000)
    both = np.column_stack([mixed, y])
    return Moments(2000, both.T @ both, n_terms, 0)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 6), st.sampled_from([0.0, 0.5]))
def test_the_terms_that_count_are_on_it(seed, count, noise):
    rng = np.random.default_rng(seed)
    true = np.sort(rng.choice(150, count, replace=False))
    found = shortlist(moments(rng, 150, true, noise), np.arange(150), 0)
    assert set(true) <= set(found) and len(found) <= 64
    assert_array_equal(found, np.unique(found))


def test_it_is_forward_growth():
    rng = np.random.default_rng(0)
    given_moments = moments(rng, 100, np.arange(5), 1.0)
    grown = growth(given_moments, np.arange(100), 0, 64)
    assert_array_equal(shortlist(given_moments, np.arange(100), 0), grown[-1])


def test_few_terms_stay_as_they_are_and_dependent_ones_do_no_harm():
    rng = np.random.default_rng(1)
    given_moments = moments(rng, 64, np.arange(3), 0.0)
    assert_array_equal(shortlist(given_moments, np.arange(64), 0), np.arange(64))
    total = given_moments.total
    twice = np.r_[np.arange(64), np.arange(10), 64]  # ten terms occur twice
    doubled = Moments(2000, total[np.ix_(twice, twice)], 74, 0)
    found = shortlist(doubled, np.arange(74), 0)
    assert {0, 1, 2} <= {int(k) % 64 for k in found}
