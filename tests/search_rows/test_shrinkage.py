"""`sparsity` selects terms by an L1 norm, but coefficients are estimated without shrinkage."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import orthoreg as og

LIBRARY = og.Polynomial(2)


@pytest.mark.parametrize("augmentation", [og.Zero(), og.RandomFeatures(20)], ids=["none", "tanh"])
def test_what_l1_leaves_is_solved_for_again_without_shrinkage(augmentation, rng):
    x = rng.uniform(-1, 1, (400, 2))
    y = np.column_stack([x[:, 1] - 0.3 * x[:, 0], np.sin(4 * x[:, 0]) - x[:, 1] ** 2])
    strength = {"sparsity": 0.3, "augmentation": augmentation}
    shrunk = og.OrthoReg(LIBRARY, solver=og.Exact(normalize=True), **strength).fit(x, y)
    solved = og.OrthoReg(LIBRARY, **strength).fit(x, y)
    assert_array_equal(solved.support_, shrunk.support_)
    assert 2 <= solved.support_.sum() < solved.support_.size
    features = solved.field_.features(x)
    for c, used in enumerate(solved.support_):
        free = np.linalg.lstsq(features[:, used], y[:, c], rcond=None)[0]
        assert_allclose(solved.coefficients_[c, used], free, atol=1e-9)
        assert np.all(np.abs(shrunk.coefficients_[c, used]) < np.abs(free) - 1e-3)
