"""Cross-validation, information criteria and stability selection, alone and in models."""

import pickle
from contextlib import nullcontext

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scikit import checks_of
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import orthoreg as og
from orthoreg._common.errors import InputError

with pytest.warns(DeprecationWarning, match=r"use selection=Extrapolation\(\), the default"):
    DEPRECATED = og.StabilitySelection(threshold=0.7, halves=40, seed=3)
RULES = [
    og.Extrapolation(inner=0.6, caution=0.2),
    og.CrossValidation(folds=4),
    og.InformationCriterion("aicc"),
    DEPRECATED,
]


@pytest.fixture
def oscillator(rng) -> tuple[np.ndarray, np.ndarray]:
    x = rng.uniform(-1, 1, (200, 2))
    y = x @ np.array([[0.0, -1.0], [1.0, -0.5]])
    return x, y + 0.02 * rng.standard_normal(y.shape)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore:The data have:orthoreg._common.errors.DataWarning")
@checks_of([og.OrthoReg(og.Polynomial(1), og.Zero(), selection=og.Extrapolation())])
def test_every_scikit_learn_check_with_a_selection(estimator, check):
    check(estimator)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
def test_every_selection_finds_a_noisy_oscillator(rule, oscillator):
    model = og.OrthoReg(og.Polynomial(2), og.Zero(), selection=rule).fit(*oscillator)
    wanted = [{"x1"}, {"x0", "x1"}]
    found = [{model.feature_names_[k] for k in np.flatnonzero(row)} for row in model.support_]
    if isinstance(rule, og.InformationCriterion):  # AICc selects the true terms and possibly more
        assert all(a <= b for a, b in zip(wanted, found, strict=True))
    elif isinstance(rule, og.StabilitySelection):  # selects at most sqrt(0.4 * 6) = 1 term
        assert all(b <= a for a, b in zip(wanted, found, strict=True)) and found[0] == {"x1"}
    else:
        assert found == wanted


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
def test_a_saved_model_remembers_its_selection(rule, oscillator, tmp_path):
    model = og.OrthoReg(og.Polynomial(2), og.Zero(), selection=rule).fit(*oscillator)
    model.save(tmp_path / "m.orthoreg")
    with pytest.deprecated_call() if rule is DEPRECATED else nullcontext():
        loaded = og.load(tmp_path / "m.orthoreg")
    assert loaded.selection == rule
    assert_array_equal(loaded.coefficients_, model.coefficients_)
    assert_array_equal(loaded.fit(*oscillator).coefficients_, model.coefficients_)
    assert pickle.loads(pickle.dumps(model)).selection == rule
    assert clone(model).selection == rule


def test_bic_is_what_the_formula_says(oscillator):
    x, y = oscillator
    model = og.OrthoReg(og.Polynomial(2), og.Zero(), selection=og.InformationCriterion("bic")).fit(
        x, y
    )
    path, n = model.selection_.paths[1], len(x)
    phi = model.field_.features(x)
    target = y[:, 1] / np.sqrt((y[:, 1] ** 2).mean())
    for k, support in enumerate(path.supports):
        left = target - phi[:, support] @ np.linalg.lstsq(phi[:, support], target, rcond=None)[0]
        bic = n * np.log((left**2).mean()) + k * np.log(n)
        assert_allclose(n * np.log(path.outer[k]), bic, atol=1e-2)
    assert path.chosen == np.argmin(path.outer)


def test_cross_validation_holds_out_whole_runs():
    t = np.linspace(0, 6, 50)
    runs = [np.column_stack([a * np.cos(t), -a * np.sin(t)]) for a in np.linspace(0.5, 2, 10)]
    data = og.Dataset.from_arrays(runs, t)
    rows = og.VectorField().observe(data)
    partition = og.CrossValidation().divide(rows)(rows)
    by_run = partition.group.reshape(10, 50)
    assert (by_run == by_run[:, :1]).all() and len(np.unique(by_run)) == 10


def test_grid_search_compares_selections(oscillator):
    grid = {"selection": [None, og.Extrapolation(), og.InformationCriterion("bic")]}
    search = GridSearchCV(og.OrthoReg(og.Polynomial(2), og.Zero()), grid, cv=3)
    assert search.fit(*oscillator).best_score_ > 0.99


def test_bad_settings_are_named():
    with pytest.raises(InputError, match="'bic' or 'aicc'; got 'aic'"):
        og.InformationCriterion("aic")
    with pytest.raises(InputError, match=r"CrossValidation\(folds=\.\.\.\) must be a whole number"):
        og.CrossValidation(folds=1)
    wrong = r"StabilitySelection\(threshold=\.\.\.\) must be a number"
    with pytest.deprecated_call(), pytest.raises(InputError, match=wrong):
        og.StabilitySelection(threshold=0.5)
