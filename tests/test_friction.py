"""From measurements with dry friction to a model that can be simulated and exported."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import orthoreg as og
from orthoreg.field.hybrid import switched


@pytest.fixture(scope="module")
def fitted():
    t = np.linspace(0, 9, 901)
    half = np.floor(t / np.pi)  # x'' = -x - 0.3 sign(x') from (2, 0)
    moves = half < 3
    size, around = 1.7 - 0.6 * half, 0.3 * (-1) ** half
    x = np.where(moves, around + size * np.cos(t), -0.2)
    v = np.where(moves, -size * np.sin(t), 0.0)
    slopes = np.column_stack([v, -x - 0.3 * np.sign(v)])
    data = og.Dataset.from_arrays(np.column_stack([x, v]), t, names=["x", "v"], derivatives=slopes)
    return og.OrthoReg("poly(1) + sign(v)", augmentation=og.Zero()).fit(data), data


def test_dry_friction_is_fitted_and_simulated_until_rest(fitted):
    model, data = fitted
    assert str(model).endswith("v' = -1.000 x - 0.3000 sign(v)")
    times = np.linspace(0, 20, 401)
    rollout = model.simulate(data.states[0], times)
    assert rollout.completed
    known = times <= 9
    assert_allclose(
        rollout.x[known, 0], np.interp(times[known], data.times, data.states[:, 0]), atol=1e-4
    )
    assert (rollout.x[times > 10, 1] == 0).all() and np.ptp(rollout.x[times > 10, 0]) == 0


def test_exports_hold_the_sign(fitted):
    model, _ = fitted
    assert r"\operatorname{sign}\left(v\right)" in model.to_latex()[1]
    assert "sign(v)" in str(model.to_sympy()[1])
    assert "sign(s" in model.to_c() and "np.sign(" in model.to_python()


def test_a_field_without_signs_takes_the_usual_route():
    t = np.linspace(0, 6, 100)
    data = og.Dataset.from_arrays(np.column_stack([np.cos(t), -np.sin(t)]), t, names=["x", "v"])
    model = og.OrthoReg("poly(1) + sign(v)", augmentation=og.Zero()).fit(data)
    assert "sign" not in str(model).split("\n", 1)[1]
    assert switched(model.field_.without_idle_basis().without_idle_terms()) is None


def pushed(dry, *, noise, seed=0, switched=False):
    """Return positions of x'' = -3 x' - dry sign(x') + 20 u with steps of 0.02 and 20 inner steps
    each. u is a sum of sines, or switches every half second."""
    rng = np.random.default_rng(seed)
    t, fine = 0.02 * np.arange(400), 20
    u = np.sin(1.3 * t) + np.sin(3.1 * t + 1)
    if switched:
        u = np.repeat(rng.uniform(-2, 2, 16), 25)
    x, v, rows = 0.0, 0.0, []
    for force in np.repeat(20 * u, fine):
        rows.append(x)
        free = v + 0.02 / fine * (force - 3 * v)
        v = np.sign(free) * max(abs(free) - 0.02 / fine * dry, 0.0)
        x += 0.02 / fine * v
    x = np.array(rows[::fine])
    x += noise * x.std() * rng.standard_normal(len(x))
    return og.Dataset.from_positions(x[:, None], t, u[:, None], ["x"], ["u"])


@pytest.mark.slow
def test_constants_of_dry_friction_are_matched_to_trajectories():
    data = pushed(8.0, noise=2e-3, switched=True)
    model = og.OrthoReg("poly(1) + sign(x_dot)", augmentation=og.Zero()).fit(data)
    assert model.refinement_ is not None and model.refinement_.kept
    assert model.refinement_.error_after < 0.5 * model.refinement_.error_before
    for name, truth in {"x_dot": -3.0, "u": 20.0, "sign(x_dot)": -8.0}.items():
        found = model.coefficients_[1, model.feature_names_.index(name)]
        assert abs(found / truth - 1) < 0.03


@pytest.mark.slow
def test_signs_that_no_equation_uses_do_not_prevent_matching():
    data = pushed(0.0, noise=2e-3)
    model = og.OrthoReg("poly(1) + sign(x_dot)", augmentation=og.Zero()).fit(data)
    assert "sign" not in model.equations()[0]
    assert model.refinement_ is not None and "jump" not in model.refinement_.status
    ends = og.bootstrap(model, resamples=20).interval[1][model.support_[1]]
    assert np.isfinite(ends).all() and (ends[:, 0] < ends[:, 1]).all()  # although it was refused
