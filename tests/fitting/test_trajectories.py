"""Decisions of trajectories after a fit: the residual, the constants and the terms."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.integrate import solve_ivp

import orthoreg as og
from orthoreg.matching import forecast_error, starting_states
from orthoreg.search import choose_structure

t = np.linspace(0, 15, 300)
STARTS = [[10, 5], [5, 8], [15, 3], [8, 10], [12, 6], [6, 4]]


def predators(_, x):
    return [1.1 * x[0] - 0.4 * x[0] * x[1], 0.1 * x[0] * x[1] - 0.4 * x[1]]


def wobbly(_, x):
    return [x[1], -2 * x[0] - 0.2 * x[1] + 1.5 * np.sin(3 * x[0])]


def measured(slope, starts, noise=0.0, seed=0):
    draw = np.random.default_rng(seed)
    found = [solve_ivp(slope, (0, 15), x0, t_eval=t, rtol=1e-9, atol=1e-10).y.T for x0 in starts]
    noisy = [x + noise * x.std(axis=0) * draw.standard_normal(x.shape) for x in found]
    return og.Dataset.from_arrays(noisy, t), og.Dataset.from_arrays(found, t)


@pytest.fixture(scope="module")
def prey():
    return measured(predators, STARTS, 0.03)


@pytest.fixture(scope="module")
def fitted(prey):
    return og.OrthoReg("poly(2)").fit(prey[0])


def test_noise_gives_no_residual(fitted):
    assert not np.any(fitted.field_.weights)
    assert fitted.refinement_.kept
    assert fitted.support_.sum() == 4


def test_a_needed_residual_is_kept():
    starts = [[2, 0], [1, 1], [-1.5, 2], [2.5, -1]]
    data, _ = measured(wobbly, starts)
    model = og.OrthoReg("poly(1)", og.RandomFeatures(150)).fit(data)
    assert np.any(np.asarray(model.field_.weights)[:, 1])
    alone = replace(model.field_, weights=np.zeros_like(model.field_.weights))
    assert forecast_error(model.field_, data, {}) < 0.2 * forecast_error(alone, data, {})


def test_a_dropped_residual_leaves_no_held_value():
    field = og.OrthoReg("poly(2)").fit(measured(wobbly, [[1, 0], [0.5, 1], [-1, 0.5]])[1]).field_
    far = np.array([[9.0, -9.0], [-20.0, 3.0]])
    assert np.abs(field.neural(far)).max() > 0
    assert not field.without_residual().neural(far).any()


def test_terms_that_trajectories_do_not_need_are_left_out(prey, fitted):
    extended = np.array(fitted.coefficients_)
    extended[0, fitted.feature_names_.index("x1**2")] = 0.003
    extended[1, fitted.feature_names_.index("1")] = -0.01
    allowed = np.ones(extended.shape, dtype=bool)
    found = choose_structure(replace(fitted.field_, coefficients=extended), prey[0], allowed)
    assert found is not None
    np.testing.assert_array_equal(np.asarray(found.field.coefficients) != 0, fitted.support_)
    kept = fitted.coefficients_[fitted.support_]
    np.testing.assert_allclose(found.field.coefficients[fitted.support_], kept, rtol=1e-2)


def test_intervals_contain_the_truth(fitted):
    low, high = np.moveaxis(og.bootstrap(fitted, resamples=40).interval[fitted.support_], -1, 0)
    truth = np.array([1.1, -0.4, -0.4, 0.1])
    assert np.all((high - low) / np.abs(truth) < 0.05)
    assert np.sum((low < truth) & (truth < high)) >= 3


def test_starting_states_are_better_than_measured_ones(prey, fitted):
    noisy, clean = prey
    truth = clean.states[clean.offsets[:-1]]
    apart = starting_states(fitted.field_, noisy, {})[0] - truth
    raw = noisy.states[noisy.offsets[:-1]] - truth
    assert np.sqrt(np.mean(apart**2)) < 0.6 * np.sqrt(np.mean(raw**2))
    rollouts = fitted.forecast(noisy)
    np.testing.assert_allclose(rollouts[0].x[0] - truth[0], apart[0], atol=1e-9)


def test_explicit_parts_are_used(prey):
    model = og.OrthoReg("poly(2)", loss=og.VectorField()).fit(prey[0])
    assert model.refinement_ is None
    slopes = og.VectorField().observe(prey[0]).targets
    given = prey[0].with_derivatives(slopes)
    assert og.OrthoReg("poly(2)").fit(given).refinement_ is None


def test_the_default_loss_given_explicitly_changes_nothing(prey, fitted):
    model = og.OrthoReg("poly(2)", loss=og.Auto()).fit(prey[0])
    assert_array_equal(model.coefficients_, fitted.coefficients_)
    assert model.parameter_intervals_ == fitted.parameter_intervals_


@pytest.mark.slow
@pytest.mark.parametrize("rows", [21, 61])
def test_sparse_clean_samples(rows):
    """Derivatives would have errors of a fifth. Trajectories give the terms and the constants."""
    times = np.linspace(0, 15, rows)
    runs = [
        solve_ivp(predators, (0, 15), x0, t_eval=times, rtol=1e-10, atol=1e-10).y.T
        for x0 in STARTS[:4]
    ]
    model = og.OrthoReg("poly(2)").fit(og.Dataset.from_arrays(runs, times, names=["x", "y"]))
    assert [dict(terms) for terms in _terms(model)] == [
        {"x": pytest.approx(1.1, rel=1e-4), "x*y": pytest.approx(-0.4, rel=1e-4)},
        {"y": pytest.approx(-0.4, rel=1e-4), "x*y": pytest.approx(0.1, rel=1e-4)},
    ]


def _terms(model):
    for row in model.coefficients_:
        yield {name: w for name, w in zip(model.feature_names_, row, strict=True) if w != 0}
