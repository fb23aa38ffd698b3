"""Presets have the settings of the paper, or those that the package recommends."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import orthoreg as og
from orthoreg import presets
from orthoreg.search.rows import Thresholding
from orthoreg.solving import TwoStage

X = np.random.default_rng(0).uniform(-1, 1, (60, 2))
Y = X @ np.array([[0.0, -1.0], [1.0, -0.1]]) + 0.3 * np.cos(3 * X[:, :1])
PAPER = og.Adam(epochs=2000, learning_rate=0.0089)
NET = og.MLP(128, 3)

EXPECTED = {  # augmentation, mu, lam, lam2, solver, selection
    "paper_orthoreg": (NET, 0.003, 0.005, 0.0, PAPER, None),
    "paper_l2": (NET, 0.001, 0.0, 0.005, PAPER, None),
    "paper_pure": (og.Zero(), 0.001, 0.0, 0.0, PAPER, None),
    "lasso": (og.Zero(), 0.001, 0.0, 0.0, og.Exact(), None),
    "two_stage": (NET, 0.003, 0.0, 0.0, TwoStage(PAPER), None),
    "selection_refit": (NET, None, math.inf, 0.0, TwoStage(PAPER), Thresholding(0.045)),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_preset_has_the_settings_of_the_paper(name):
    model = getattr(presets, name)()
    augmentation, mu, lam, lam2, solver, selection = EXPECTED[name]
    assert clone(model).get_params() == {
        "library": og.Polynomial(2) + og.Fourier(1),
        "augmentation": augmentation,
        "sparsity": mu,
        "orthogonality": lam,
        "magnitude": lam2,
        "loss": og.VectorField(og.SmoothedFiniteDifference()),
        "selection": selection,
        "solver": solver,
        "gate": None,
        "physics": None,
        "seed": 0,
    }
    recipe = model.recipe()  # all parts are accepted
    assert (recipe.solver, recipe.augmentation) == (solver, augmentation)
    assert recipe.selection == selection


def test_the_recommended_preset_is_the_default():
    assert presets.recommended().get_params() == og.OrthoReg().get_params()
    assert presets.recommended(seed=4).seed == 4


def test_presets_take_their_strengths_and_seeds():
    assert presets.paper_orthoreg(2.0, 0.1, 7).get_params()["orthogonality"] == 2.0
    assert presets.paper_l2(2.0, 0.1, 7).get_params()["magnitude"] == 2.0
    assert presets.two_stage(2.0, 0.1, 7).get_params()["orthogonality"] == 2.0
    assert presets.selection_refit(0.5, 7).selection == Thresholding(0.5)
    for make in (presets.paper_orthoreg, presets.paper_l2, presets.two_stage):
        assert make(2.0, 0.1, 7).sparsity == 0.1 and make(2.0, 0.1, 7).seed == 7
    assert presets.paper_pure(0.1, 7).sparsity == presets.lasso(0.1).sparsity == 0.1


def test_the_pure_model_trains_towards_its_exact_minimum():
    pure, lasso = presets.paper_pure(0.02).fit(X, Y), presets.lasso(0.02).fit(X, Y)
    reached, least = (
        sum(one.objective for one in model.certificate_.equations) for model in (pure, lasso)
    )
    assert least <= reached <= 1.05 * least
    assert_allclose(pure.predict(X), lasso.predict(X), atol=0.05)
    assert_array_equal(pure.decompose(X)[1], np.zeros((60, 2)))
