"""Strengths by validation: by `og.tune`, and by the tools of scikit-learn."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from sklearn.model_selection import GridSearchCV, GroupKFold

import orthoreg as og
from orthoreg._common.errors import InputError
from orthoreg.data import folds
from orthoreg.fitting import prepare
from orthoreg.search.rows import regularization_path
from orthoreg.solving import Regularization, TwoStage, gather, systems

LAMBDAS, MUS, FOLDS = (0.1, 3.0, math.inf), (0.01, 0.1, 0.4), 4


@pytest.fixture(scope="module")
def model() -> og.OrthoReg:
    return og.OrthoReg(augmentation=og.RandomFeatures(30, ridge=1e-3), solver=og.Exact())


def held_out_error(model, rows, fold_of_row, fold, lam, mu) -> float:
    """Fit the other folds and predict this one, sample by sample."""
    features, basis = model.field_.features, model.field_.basis
    train, test = rows.only(fold_of_row != fold), rows.only(fold_of_row == fold)
    result = og.Exact().solve(
        gather(features, basis, train), features.mask, Regularization(mu, lam, 0.0), 1e-3
    )
    predicted = features(test.variables) @ result.coefficients.T
    predicted = predicted + basis(test.variables) @ result.weights
    return float(np.mean(np.sum((predicted - test.targets) ** 2, axis=1)))


def test_the_path_is_what_fits_of_their_own_give(model, pendulum_runs):
    tuned = og.tune(model, pendulum_runs, orthogonalities=LAMBDAS, sparsities=MUS, folds=FOLDS)
    rows = og.VectorField().observe(pendulum_runs.sorted_runs)  # the same order in every fit
    fold_of_row = folds(rows, FOLDS)
    expected = [
        [
            [held_out_error(tuned.model, rows, fold_of_row, f, lam, mu) for f in range(FOLDS)]
            for mu in MUS
        ]
        for lam in LAMBDAS
    ]
    assert_allclose(tuned.path.errors, expected, rtol=1e-6, atol=1e-12)
    i, j = np.unravel_index(np.argmin(np.mean(expected, axis=2)), (len(LAMBDAS), len(MUS)))
    assert tuned.path.best == (LAMBDAS[i], MUS[j])
    assert (tuned.model.orthogonality, tuned.model.sparsity) == tuned.path.best
    assert model.orthogonality == math.inf and not hasattr(model, "field_")


def test_folds_are_whole_runs(pendulum_runs):
    rows = og.VectorField().observe(pendulum_runs)
    fold_of_row = folds(rows, FOLDS)
    for fold in range(FOLDS):
        inside = set(rows.run_of_row[fold_of_row == fold])
        assert inside.isdisjoint(rows.run_of_row[fold_of_row != fold])


@pytest.mark.slow
def test_the_default_grid_has_2500_pairs(model, pendulum_runs):
    tuned = og.tune(model, pendulum_runs)
    assert tuned.path.errors.shape == (50, 50, 5)
    assert math.inf in tuned.path.orthogonalities
    assert tuned.path.mean.min() < tuned.path.mean[-1, -1]


def test_normalised_strengths_do_not_depend_on_units(pendulum_runs):
    model = og.OrthoReg(
        og.Polynomial(2),
        og.RandomFeatures(20, ridge=1e-3),
        solver=og.Exact(normalize=True),
    )
    units = np.array([1024.0, 0.125])
    scaled = og.Dataset.from_arrays(
        [run.states * units for run in pendulum_runs], pendulum_runs[0].times
    )
    grid = {"orthogonalities": LAMBDAS, "sparsities": MUS}
    one = og.tune(model, pendulum_runs, **grid).path
    other = og.tune(model, scaled, **grid).path
    assert_allclose(one.errors, other.errors, rtol=1e-7)


def test_grid_search_takes_a_dataset_as_a_list_of_runs(model, pendulum_runs):
    grid = {"orthogonality": LAMBDAS[::2], "sparsity": MUS[::2]}
    search = GridSearchCV(model, grid, cv=FOLDS).fit(pendulum_runs[::2])
    # with contiguous folds and a mean of R^2 instead of a sum of squares, the same strengths win
    assert search.best_params_["sparsity"] == min(MUS)
    assert search.best_score_ > 0.95


def test_grid_search_over_rows_keeps_runs_together(pendulum_runs):
    rows = og.VectorField().observe(pendulum_runs)
    model = og.OrthoReg(augmentation=og.Zero(), solver=og.Exact())
    search = GridSearchCV(model, {"sparsity": [1e-3, 1.0]}, cv=GroupKFold(4))
    search.fit(rows.variables, rows.targets, groups=rows.run_of_row)
    assert search.best_params_ == {"sparsity": 1e-3}


@pytest.mark.slow
def test_grid_search_of_a_trained_network(pendulum_runs):
    model = og.OrthoReg(
        augmentation=og.MLP(6, 1), sparsity=0.01, solver=og.Adam(epochs=60, normalize=True)
    )
    search = GridSearchCV(model, {"orthogonality": [0.1, 10.0]}, cv=2).fit(pendulum_runs[:4])
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_a_complete_library_is_chosen_with_little_shrinkage():
    t = np.linspace(0, 6, 100)
    runs = [np.column_stack([a * np.cos(t), -a * np.sin(t)]) for a in (0.5, 1.0, 1.5, 2.0)]
    model = og.OrthoReg(og.Polynomial(2), og.Zero(), solver=og.Exact())
    tuned = og.tune(model, runs, t=t, folds=4, orthogonalities=[0.0])
    assert_allclose(tuned.model.coefficients_[0, 2], 1.0, atol=1e-4)
    assert tuned.path.best[1] < 1e-3


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"solver": None}, "tune needs a model with solver=Exact()"),
        ({"solver": og.Adam()}, "tune needs a model with solver=Exact()"),
        ({"solver": TwoStage()}, "tune needs a model with solver=Exact()"),
    ],
)
def test_other_solvers_are_refused(model, pendulum_runs, change, words):
    other = og.OrthoReg(augmentation=model.augmentation, solver=model.solver).set_params(**change)
    with pytest.raises(InputError, match="tune needs a model") as caught:
        og.tune(other, pendulum_runs)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"folds": 1}, "folds must be a whole number of at least 2; got 1."),
        ({"sparsities": [-1.0]}, "sparsity must be a number, finite and at least 0; got -1.0."),
        ({"orthogonalities": [math.nan]}, "orthogonality must be a number, at least 0"),
    ],
)
def test_wrong_grids_are_refused(model, pendulum_runs, arguments, words):
    with pytest.raises(InputError) as caught:
        og.tune(model, pendulum_runs, **arguments)
    assert words in str(caught.value)


def test_an_infinite_ridge_leaves_the_equations_alone(pendulum_runs):
    model = og.OrthoReg(augmentation=og.RandomFeatures(10, ridge=1e-3), solver=og.Exact()).fit(
        pendulum_runs
    )
    rows = og.VectorField().observe(pendulum_runs.sorted_runs)
    parts = gather(
        model.field_.features, model.field_.basis, rows, folds=3, fold_of_row=folds(rows, 3)
    )
    grid = {"orthogonalities": [1.0], "sparsities": [0.1]}
    total = sum(parts[1:], start=parts[0])
    one = (np.ones(total.n_features), np.ones(2))
    mask, weights = model.field_.features.mask, Regularization(0.0, 0.0, 0.0)
    groups = systems(total, mask, weights, one, None)
    path = regularization_path(parts, groups, **grid, ridges=[math.inf] * 2)
    alone = og.tune(
        og.OrthoReg(augmentation=og.Zero(), solver=og.Exact()), pendulum_runs, folds=3, **grid
    )
    assert_allclose(path.errors, alone.path.errors, rtol=1e-9)


def swings(noise=0.0):
    t = np.linspace(0, 6, 151)
    rng = np.random.default_rng(3)
    runs = [
        solve_ivp(lambda _, z: [z[1], -9.81 / 1.4 * np.sin(z[0]) - 0.3 * z[1]], (0, 6),
                  rng.uniform(-1.5, 1.5, 2), t_eval=t, rtol=1e-9, atol=1e-9).y.T
        for _ in range(5)
    ]  # fmt: skip
    noisy = [run + noise * rng.standard_normal(run.shape) for run in runs]
    return og.Dataset.from_arrays(noisy, t, names=["theta", "omega"])


GRID = {"orthogonalities": [0.1, math.inf], "sparsities": [1e-6, 1e-3, 0.1], "folds": 3}


@pytest.mark.parametrize("residual", [og.Zero(), og.RandomFeatures(15, ridge=1e-2)])
def test_what_is_known_holds_in_the_tuned_model(residual):
    physics = og.Physics(
        equations={"theta": "omega", "omega": "-g/L*sin(theta) + ..."}, values={"g": 9.81},
        bounds={("omega", "omega"): (-0.2, 0)},
    )  # fmt: skip
    model = og.OrthoReg(
        og.Polynomial(2), residual, physics=physics, solver=og.Exact(normalize=True)
    )
    tuned = og.tune(model, swings(), **GRID).model
    assert tuned.equations()[0] == "theta' = omega (given)"
    omega = tuned.feature_names_.index("omega")
    assert tuned.coefficients_[1, omega] == -0.2  # the true value, -0.3, is beyond the bound
    assert tuned.parameters_["L"] == pytest.approx(1.4, rel=0.1)


@pytest.mark.parametrize(
    "physics",
    [
        og.Physics(relations=["coef(theta, omega) = -coef(omega, theta)"]),
        og.Physics(conserved=["theta + omega"]),
        og.Physics(symmetry=og.Odd()),
    ],
)
def test_the_path_has_the_errors_of_constrained_fits_to_the_other_runs(physics):
    data = swings(0.02)
    model = og.OrthoReg(
        og.Polynomial(2), og.RandomFeatures(8, ridge=0.1), physics=physics, solver=og.Exact(),
        loss=og.VectorField(),
    )  # fmt: skip
    path = og.tune(model, data, **GRID).path
    rows = og.VectorField().observe(data)
    task, fold_of_row = prepare(model.recipe(), rows), folds(rows, GRID["folds"])
    for f in range(GRID["folds"]):
        moments = gather(task.features, task.basis, rows.only(fold_of_row != f))
        test = rows.only(fold_of_row == f)
        for i, lam in enumerate(path.orthogonalities):
            for j, mu in enumerate(path.sparsities):
                one = og.Exact().solve(
                    moments, task.support, Regularization(mu, lam, 0.0), 0.1,
                    knowledge=task.knowledge, basis_of=task.basis_of,
                )  # fmt: skip
                predicted = task.features(test.variables) @ one.coefficients.T
                predicted = predicted + task.basis(test.variables) @ one.weights
                error = np.mean(np.sum((predicted - test.targets) ** 2, axis=1))
                assert_allclose(path.errors[i, j, f], error, rtol=1e-6)
