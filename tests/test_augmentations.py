"""Random features: the distribution of their units, and its effect."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import orthoreg as og
from orthoreg._common.errors import InputError


def drawn(recipe: og.RandomFeatures, n_variables: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    basis = recipe.init(np.zeros(n_variables), np.ones(n_variables), rng=rng)
    return np.asarray(basis.weights[0])


@pytest.mark.parametrize("n_variables", [1, 2, 3])
def test_units_that_see_one_variable_take_turns_at_every_steepness(n_variables):
    seen = drawn(og.RandomFeatures(240), n_variables) != 0
    single = seen.sum(axis=0) == 1
    assert single.mean() == (1 if n_variables == 1 else 0.5)
    for part in np.split(np.arange(240), 4):  # from small to large weights
        assert_array_equal(
            seen[:, part][:, single[part]].sum(axis=1), single[part].sum() / len(seen)
        )


def test_steepness_goes_from_one_end_to_the_other_by_equal_ratios():
    flat = drawn(og.RandomFeatures(50, weight_scale=1.0), 2)
    spread = drawn(og.RandomFeatures(50, weight_scale=(0.5, 8.0)), 2)
    ratios = (spread.sum(axis=0) / flat.sum(axis=0)) ** 49
    assert_allclose(ratios, 0.5**49 * 16.0 ** np.arange(50), rtol=1e-9)


def test_units_are_as_steep_alone_as_together():
    sizes = {
        share: np.linalg.norm(
            drawn(og.RandomFeatures(20_000, weight_scale=1.0, univariate_fraction=share), 3), axis=0
        )
        for share in (0.0, 1.0)
    }
    assert_allclose(np.square(sizes[1.0]).mean(), np.square(sizes[0.0]).mean(), rtol=0.05)


def test_fine_detail_in_one_of_three_variables_is_followed(rng):
    """Units with a single weight scale that depend on all variables cannot represent the target."""
    x = rng.uniform(-1, 1, (3000, 3))
    y = x[:, :1] + np.cos(18 * x[:, 1:2])
    fresh = rng.uniform(-1, 1, (500, 3))
    truth = fresh[:, :1] + np.cos(18 * fresh[:, 1:2])
    errors = []
    for net in (og.RandomFeatures(), og.RandomFeatures(weight_scale=1.0, univariate_fraction=0.0)):
        model = og.OrthoReg(og.Polynomial(1), net, sparsity=0.01).fit(x, y)
        errors.append(np.sqrt(np.mean((model.predict(fresh) - truth) ** 2)))
    assert errors[0] < 0.1 < 0.5 < errors[1]


@pytest.mark.parametrize("steepness", [0, -1.0, np.inf, np.nan, (1.0,), (1, 2, 3), (0, 1)])
def test_steepness_that_makes_no_sense_is_refused(steepness):
    with pytest.raises(InputError, match=r"weight_scale=\.\.\.\) must be a positive number"):
        og.RandomFeatures(5, weight_scale=steepness)


@pytest.mark.parametrize("alone", [-0.1, 1.1, np.nan])
def test_a_share_that_is_none_is_refused(alone):
    with pytest.raises(
        InputError, match=r"univariate_fraction=\.\.\.\) must be a number from 0 to 1"
    ):
        og.RandomFeatures(5, univariate_fraction=alone)
