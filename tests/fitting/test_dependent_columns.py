"""Columns that are copies or sums of others get no large coefficients that cancel."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import orthoreg as og

TIMES = np.linspace(0, 6, 121)


def noisy_runs(column):
    """Noisy runs of x' = -0.8 x + y, y' = -x - 0.5 y, with a further column."""
    from scipy.linalg import expm

    rng = np.random.default_rng(2)
    flow = np.stack([expm(np.array([[-0.8, 1.0], [-1.0, -0.5]]) * t) for t in TIMES])
    paths = [flow @ start + 0.01 * rng.standard_normal((121, 2)) for start in np.eye(2) * 1.5]
    return og.Dataset.from_arrays(
        [np.c_[path, column(path)] for path in paths], [TIMES] * 2, names=["x", "y", "z"]
    )


@pytest.mark.parametrize(
    ("column", "relation", "rates"),
    [
        (lambda path: path[:, 0], "z = x", [-0.8, 1.0]),
        (lambda path: path.sum(axis=1), "z = x + y", [-1.8, 0.5]),
        (lambda path: 3 - 2 * path[:, 1], None, [2.0, 1.0]),
    ],
)
def test_a_repeated_column_changes_no_equation(column, relation, rates):
    data = noisy_runs(column)
    model = og.OrthoReg("poly(2)").fit(data)
    assert_allclose(model.coefficients_[:2, 1:3], [[-0.8, 1.0], [-1.0, -0.5]], atol=0.05)
    assert_allclose(model.coefficients_[2, 1:3], rates, atol=0.1)
    assert not model.coefficients_[
        :, [k for k, n in enumerate(model.feature_names_) if "z" in n]
    ].any()
    stated = [text for text in model.certificate_.dependences if text.startswith("z = ")]
    assert len(stated) == 1 and (relation is None or stated == [relation])
    assert any(f"On these data, {stated[0]}" in note for note in model.summary(data).notes)


def test_a_required_term_remains():
    data = noisy_runs(lambda path: path[:, 0])
    physics = og.Physics(required={"y": ["z"]})
    model = og.OrthoReg("poly(1)", physics=physics).fit(data)
    assert model.coefficients_[1, list(model.feature_names_).index("z")] != 0
