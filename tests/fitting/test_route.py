"""The steps of a fit, called without an estimator."""

import dataclasses
import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import orthoreg as og
from orthoreg._common.errors import InputError
from orthoreg.fitting import Fit, Recipe, choose_terms, finish, fit, fit_all, prepare
from orthoreg.losses import Informed
from orthoreg.search.rows import Shrinkage, Thresholding
from orthoreg.solving import Regularization, TwoStage

SMALL = og.RandomFeatures(40)


def plain(**changes) -> Recipe:
    """Equations and a projected residual without a selection, in the units of the data."""
    parts = {
        "library": og.Polynomial(2), "augmentation": SMALL, "loss": og.VectorField(),
        "regularization": Regularization(0.0, math.inf, 0.0), "solver": og.Exact(), **changes,
    }  # fmt: skip
    return Recipe(**parts)


@pytest.fixture(scope="module")
def rows(pendulum_runs):
    return og.VectorField().observe(pendulum_runs.sorted_runs)  # the same order in every fit


def assert_same(found: Fit, model: og.OrthoReg, points: np.ndarray) -> None:
    assert_array_equal(found.field.coefficients, model.coefficients_)
    assert_array_equal(found.field.values(points), model.field_.values(points))
    assert found.certificate == model.certificate_
    assert_array_equal(found.range, model.state_range_)


@pytest.mark.parametrize(
    "model",
    [
        og.OrthoReg(augmentation=SMALL),
        og.OrthoReg(augmentation=SMALL, sparsity=0.1, gate=None),
        og.OrthoReg("poly(2)", SMALL, sparsity=0.1, orthogonality=2.0, solver=og.Exact()),
        og.STLSQ(0.1),
    ],
    ids=["default", "L1", "literal", "STLSQ"],
)
def test_a_fit_is_what_its_estimator_learns(model, rows, pendulum_runs):
    found = fit(model.recipe(), rows)
    assert isinstance(found, Fit)
    assert_same(found, model.fit(pendulum_runs), rows.points[::7])
    assert (found.selection is None) == (model.selection_ is None)
    assert found.training is None


def test_the_steps_together_are_the_fit(rows):
    recipe = og.OrthoReg(augmentation=SMALL).recipe()
    task = prepare(recipe, rows)
    assert task.support.all() and task.linear is rows and task.library is None
    chosen, selection = choose_terms(recipe, task)
    assert_array_equal(chosen.support, selection.support)
    assert 0 < chosen.support.sum() < task.support.sum()
    assert chosen.library is not None  # computed once, for the selection and the solver
    (solution,) = recipe.solver.solve_all([chosen])
    stepwise, whole = finish(recipe, chosen, solution, selection), fit(recipe, rows)
    assert stepwise.certificate == whole.certificate
    assert_array_equal(stepwise.field.values(rows.points), whole.field.values(rows.points))


def test_recipe_and_rows_are_not_changed(rows):
    recipe = plain(selection=og.Extrapolation())
    before = (rows.points.copy(), rows.targets.copy(), repr(recipe))
    one, other = fit(recipe, rows), fit(recipe, rows)
    assert_array_equal(rows.points, before[0])
    assert_array_equal(rows.targets, before[1])
    assert repr(recipe) == before[2]
    assert one.certificate == other.certificate
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.field = other.field


def test_without_a_selection_all_terms_are_solved_for(rows):
    task = prepare(plain(), rows)
    chosen, selection = choose_terms(plain(), task)
    assert chosen is task and selection is None
    theta = task.features(rows.points)
    expected = np.linalg.lstsq(theta, rows.targets, rcond=None)[0].T
    assert_allclose(fit(plain(), rows).field.coefficients, expected, rtol=1e-6, atol=1e-8)


def test_chosen_terms_are_solved_for_without_l1(rows):
    recipe = plain(selection=Thresholding(0.3), regularization=Regularization(5.0, math.inf, 0.0))
    found = fit(recipe, rows)
    used = np.asarray(found.field.coefficients) != 0
    theta = found.field.features(rows.points)
    for c, row in enumerate(used):
        expected = np.linalg.lstsq(theta[:, row], rows.targets[:, c], rcond=None)[0]
        assert_allclose(found.field.coefficients[c, row], expected, rtol=1e-8)
    assert found.certificate.sparsity == 0 and 0 < used.sum() < used.size


def test_several_recipes_share_the_rows_and_keep_their_order(rows):
    recipes = [plain(seed=0), plain(library=og.Fourier(1), seed=1), plain(augmentation=og.Zero())]
    for one, recipe in zip(fit_all(recipes, rows), recipes, strict=True):
        alone = fit(recipe, rows)
        assert one.certificate == alone.certificate
        assert_array_equal(one.field.values(rows.points), alone.field.values(rows.points))


def test_a_constant_variable_does_not_change_the_residual(rows):
    still = replace(
        rows, points=np.column_stack([rows.points, np.full(len(rows), 0.1)]),
        names=(*rows.names, "u"),
    )  # fmt: skip
    found = fit(plain(library=og.Terms(["theta", "omega"])), still)
    moved = still.points[::9] + [0.0, 0.0, 5.0]
    assert_array_equal(found.field.neural(moved), found.field.neural(still.points[::9]))
    assert found.field.neural(moved).any()


# -- a loss that is no linear problem --------------------------------------------------------------

LOSSES = [og.MultiStep(2), Informed({"theta": "omega"})]
with pytest.deprecated_call():
    DEPRECATED = og.StabilitySelection()
NEED_ROWS = {
    "Exact": {},
    "Exact on some rows": {"solver": og.Exact(normalize=True, most_rows=500)},
    "two stages": {"solver": TwoStage()},
    "Extrapolation": {"selection": og.Extrapolation()},
    "CrossValidation": {"selection": og.CrossValidation()},
    "InformationCriterion": {"selection": og.InformationCriterion()},
    "StabilitySelection": {"selection": DEPRECATED},
    "Thresholding": {"selection": Thresholding()},
    "Shrinkage": {"selection": Shrinkage()},
}


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("kind", NEED_ROWS)
def test_a_loss_without_linear_rows_is_an_error(kind, loss, pendulum_runs):
    observed = loss.observe(pendulum_runs)
    recipe = plain(loss=loss, **NEED_ROWS[kind])
    with pytest.raises(InputError) as caught:
        fit(recipe, observed)
    message = str(caught.value)
    assert f"a loss that is linear in the learned parameters, unlike loss={loss!r}." in message
    assert message.endswith("Use loss=VectorField(), or solver=Adam() without a selection.")


def test_sparsity_replaces_the_default_selection_for_such_losses(pendulum_runs):
    recipe = plain(loss=og.MultiStep(1), selection=og.Extrapolation(), fallback_sparsity=0.25)
    task = prepare(recipe, og.MultiStep(1).observe(pendulum_runs))
    chosen, selection = choose_terms(recipe, task)
    assert selection is None and chosen.regularization.sparsity == 0.25 and chosen.support.all()
    given = replace(recipe, regularization=Regularization(0.7, math.inf, 0.0))
    chosen, _ = choose_terms(given, prepare(given, task.observed))
    assert chosen.regularization.sparsity == 0.7


# -- refusals --------------------------------------------------------------------------------------


def test_one_row_is_not_enough(rows):
    with pytest.raises(InputError, match="at least 2 samples; the data have 1"):
        fit(plain(), rows.only(np.arange(len(rows)) == 5))


def test_models_with_different_solvers_are_not_fitted_together(rows):
    with pytest.raises(InputError, match="the same loss and solver; got"):
        fit_all([plain(), plain(solver=og.Exact(normalize=True))], rows)


@pytest.mark.parametrize(
    ("part", "value", "words"),
    [
        ("library", og.Zero(), r"library must be a part such as Polynomial\(2\).*got Zero"),
        ("augmentation", og.Polynomial(1), "augmentation must be a part such as RandomFeatures"),
        ("solver", og.VectorField(), "solver must be a part such as Exact"),
        ("loss", og.Exact(), "loss must be a part such as VectorField"),
        ("selection", "l1", "selection must be a part such as Extrapolation.*got 'l1'"),
        ("gate", 0.5, r"gate must be Gate\(\) or None; got 0.5"),
        ("seed", -1, "seed must be a whole number of at least 0; got -1"),
        ("seed", True, "seed must be a whole number of at least 0; got True"),
    ],
)
def test_an_invalid_part_is_an_error(part, value, words):
    with pytest.raises(InputError, match=words):
        plain(**{part: value})
