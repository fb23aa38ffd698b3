"""The scikit-learn contract: all checks of `parametrize_with_checks`, and tools of scikit-learn."""

import numpy as np
import pandas as pd
import pytest
from scikit import checks_of
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import orthoreg as og
from orthoreg._common.errors import DataWarning

FEW = og.RandomFeatures(40)  # a smaller default, because the checks fit it two hundred times
MODELS = [og.OrthoReg(augmentation=FEW), og.OrthoReg(augmentation=og.Zero()), og.STLSQ()]
TRAINED = og.UniversalODE(8, 1, solver=og.Adam(epochs=30, normalize=True))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore:The data have:orthoreg._common.errors.DataWarning")
@checks_of(MODELS)
def test_every_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore:The data have:orthoreg._common.errors.DataWarning")
@checks_of([TRAINED])
def test_every_scikit_learn_check_of_a_trained_network(estimator, check):
    check(estimator)


def linear_field(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    x = rng.uniform(-1, 1, (200, 2))
    return x, x @ np.array([[0.0, -1.0], [1.0, -0.1]])


def test_a_scaler_in_front_is_noticed(rng):
    """A scaler changes states but not derivatives, so the scaled data satisfy neither equation."""
    x, y = linear_field(rng)
    x, y = x * [100, 0.01], y * [100, 0.01]
    plain = og.OrthoReg("poly(1)", og.Zero())
    with pytest.warns(DataWarning, match="as after a StandardScaler.* fit the states as measured"):
        make_pipeline(StandardScaler(), clone(plain)).fit(x, y)
    # the warning and the documentation recommend no scaler
    assert plain.fit(x, y).score(x, y) > 1 - 1e-10
    assert plain.equations() == ["x0' = 10000 x1", "x1' = -0.0001000 x0 - 0.1000 x1"]


def test_steps_that_keep_the_units_work_in_a_pipeline(rng):
    x, y = linear_field(rng)
    frame = pd.DataFrame(np.hstack([x, x**2]), columns=["a", "b", "c", "d"])
    chosen = make_column_transformer(("passthrough", ["b", "a"]), remainder="drop")
    model = make_pipeline(chosen, og.OrthoReg("poly(1)", og.Zero())).fit(frame, y[:, ::-1])
    assert model.score(frame, y[:, ::-1]) > 1 - 1e-10


def test_grid_search_reaches_every_strength(rng):
    x, y = linear_field(rng)
    grid = {"sparsity": [0.001, 1.9], "library": [og.Polynomial(1), og.Polynomial(2)]}
    search = GridSearchCV(og.OrthoReg(augmentation=og.Zero(), solver=og.Exact()), grid, cv=3)
    search.fit(x, y)
    assert search.best_params_["sparsity"] == 0.001


def test_cross_validation_over_whole_runs(pendulum_runs):
    model = og.OrthoReg(augmentation=og.RandomFeatures(200), loss=og.VectorField())
    scores = cross_val_score(model, pendulum_runs, cv=4)
    assert len(scores) == 4 and scores.min() > 0.99


def test_clone_keeps_parts_and_forgets_the_fit(pendulum_model):
    copy = clone(pendulum_model)
    assert copy.get_params() == pendulum_model.get_params()
    assert not hasattr(copy, "field_")


def test_same_seed_same_bits(pendulum_runs):
    def predictions(seed):
        few = og.RandomFeatures(30)
        model = og.OrthoReg(augmentation=few, loss=og.VectorField(), seed=seed)
        return model.fit(pendulum_runs).predict(pendulum_runs)

    assert np.array_equal(predictions(3), predictions(3))
    assert not np.array_equal(predictions(3), predictions(4))
