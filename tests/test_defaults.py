"""Default fits of systems with complete libraries, and of difficult data."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import orthoreg as og


def solved(field, start, times) -> np.ndarray:
    solution = solve_ivp(
        lambda _, s: field(*s), (0, times[-1]), start, t_eval=times, rtol=1e-10, atol=1e-10
    )
    return solution.y.T


def support(model: og.OrthoReg) -> list[set[str]]:
    names = np.array(model.feature_names_)
    return [set(names[row]) for row in model.support_]


def test_lorenz_is_found_without_a_residual():
    times = np.linspace(0, 10, 2001)
    x = solved(
        lambda x, y, z: [10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z], [1, 1, 1], times
    )
    data = og.Dataset.from_arrays(x, times, names=["x", "y", "z"])
    model = og.OrthoReg(og.Polynomial(2)).fit(data)
    assert support(model) == [{"x", "y"}, {"x", "y", "x*z"}, {"z", "x*y"}]
    assert not model.field_.weights.any()


@pytest.mark.parametrize("library", [og.Polynomial(2), None, og.Polynomial(3)])
def test_logistic_growth_is_found(library):
    times = np.linspace(0, 10, 101)
    x = 1 / (1 + 9 * np.exp(-times))
    model = og.OrthoReg(library).fit(x[:, None], t=times)
    assert support(model) == [{"x0", "x0**2"}]
    np.testing.assert_allclose(model.coefficients_[model.support_], [1, -1], rtol=1e-3)


@pytest.mark.parametrize("augmentation", [None, og.Zero()])
@pytest.mark.parametrize("offset", [0.0, 5.0, 300.0])
def test_an_oscillator_far_from_zero_is_found(offset, augmentation):
    times = np.linspace(0, 6, 121)
    runs = [
        np.column_stack([offset + a * np.cos(times), -a * np.sin(times)])
        for a in np.linspace(0.5, 2, 6)
    ]
    model = og.OrthoReg(og.Polynomial(2), augmentation).fit(runs, t=times)
    assert support(model) == [{"x1"}, {"x0", "1"} if offset else {"x0"}]


def test_noisy_predators_and_prey_are_found():
    times = np.linspace(0, 20, 401)
    x = solved(lambda x, y: [x - 0.5 * x * y, -0.8 * y + 0.3 * x * y], [2, 1], times)
    x = x * (1 + 0.01 * np.random.default_rng(0).standard_normal(x.shape))
    model = og.OrthoReg(og.Polynomial(2)).fit(x, t=times)
    assert support(model) == [{"x0", "x0*x1"}, {"x1", "x0*x1"}]
    np.testing.assert_allclose(model.coefficients_[model.support_], [1, -0.5, -0.8, 0.3], rtol=0.02)


def test_the_certificate_says_how_much_of_the_residual_left_out_terms_could_say():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (2000, 1))
    y = x + 0.3 * np.sin(25 * x)
    poor = og.OrthoReg(og.Polynomial(3), sparsity=0.5).fit(x, y)
    assert 0 < poor.certificate_.equations[0].library_r2 < 0.2
    everything = og.Polynomial(3) + og.Terms(["sin(25*x0)", "cos(40*x0)"])
    solver = og.Exact(normalize=True)
    shrunk = og.OrthoReg(everything, og.RandomFeatures(200, ridge=1e-8), solver=solver,
                         sparsity=3.0, orthogonality=0.0).fit(x, y)  # fmt: skip
    assert not shrunk.support_.any()
    assert shrunk.certificate_.equations[0].library_r2 > 0.9


def test_a_short_run_does_not_spoil_the_long_ones():
    times = np.linspace(0, 8, 161)
    long = [np.column_stack([a * np.cos(times), -a * np.sin(times)]) for a in (1.0, 1.5, 2.0)]
    short = np.column_stack([np.cos(times[:4]), -np.sin(times[:4])])
    data = og.Dataset.from_arrays([*long, short], [times] * 3 + [times[:4]])
    slopes = og.Automatic()(data).derivatives
    exact = np.column_stack([data.states[:, 1], -data.states[:, 0]])
    error = np.abs(slopes - exact).max(axis=1)
    assert error[:-4].max() < 1e-6 < 1e-4 < error[-4:].max() < 1e-2


def test_an_input_that_never_varied_changes_nothing_in_the_residual():
    times = np.linspace(0, 8, 161)
    x = solved(lambda x, v: [v, -x - 0.3 * v + 0.5 * np.tanh(4 * x)], [1.5, 0.0], times)
    data = og.Dataset.from_arrays(x, times, np.full((161, 1), 0.3))
    model = og.OrthoReg(og.Terms(["x0", "x1"]), og.RandomFeatures(100)).fit(data)
    assert model.field_.weights.any()
    _, at = model.decompose(x, np.full((161, 1), 0.3))
    _, elsewhere = model.decompose(x, np.full((161, 1), 7.0))
    np.testing.assert_array_equal(at, elsewhere)


def test_a_fit_that_fails_leaves_the_earlier_one_whole(pendulum_runs):
    model = og.OrthoReg(augmentation=og.Zero()).fit(pendulum_runs)
    before = model.equations()
    other = og.Dataset.from_arrays(np.random.default_rng(0).normal(size=(30, 3)), 0.1)
    with pytest.raises(ValueError, match="unknown variable 'zz'"):
        model.set_params(library=og.Terms(["zz"])).fit(other)
    assert model.equations() == before
    assert model.predict(pendulum_runs).shape == pendulum_runs.states.shape


def test_lists_of_runs_are_predicted_as_they_are_fitted(pendulum_runs, pendulum_model):
    parts = [pendulum_runs[0], pendulum_runs[1]]
    expected = pendulum_model.predict(pendulum_runs[[0, 1]])
    np.testing.assert_array_equal(pendulum_model.predict(parts), expected)


def test_a_long_chaotic_forecast_is_not_cut_short():
    model = og.OrthoReg(og.Polynomial(2), og.Zero())
    times = np.linspace(0, 10, 2001)
    x = solved(
        lambda x, y, z: [10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z], [1, 1, 1], times
    )
    rollout = model.fit(x, t=times).simulate([1.0, 1.0, 1.0], np.linspace(0, 400, 1001))
    assert rollout.completed
