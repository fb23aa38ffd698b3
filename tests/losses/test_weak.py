"""The weak form as a loss, and the conditions under which it is the default."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import orthoreg as og
from orthoreg.losses import Auto


def runs(slope, starts, t, noise=0.0, seed=0):
    draw = np.random.default_rng(seed)
    found = [
        solve_ivp(slope, (t[0], t[-1]), x0, t_eval=t, rtol=1e-10, atol=1e-12).y.T for x0 in starts
    ]
    return [x + noise * x.std(axis=0) * draw.standard_normal(x.shape) for x in found]


def predators(_, x):
    return [1.1 * x[0] - 0.4 * x[0] * x[1], 0.1 * x[0] * x[1] - 0.4 * x[1]]


def oscillator(_, x):
    return [x[1], -4 * x[0] - 0.3 * x[1] - x[0] ** 3]


t = np.linspace(0, 20, 400)
STARTS = [[10, 5], [5, 8], [15, 3], [8, 10]]


def test_clean_rows_are_exact():
    x = runs(predators, STARTS, t)
    model = og.OrthoReg("poly(2)", og.Zero(), loss=og.Weak(0.5)).fit(x, t=t)
    expected = np.zeros((2, 6))
    expected[0, [1, 4]] = 1.1, -0.4
    expected[1, [2, 4]] = -0.4, 0.1
    np.testing.assert_allclose(model.coefficients_, expected, atol=1e-4)


@pytest.mark.parametrize("widths", [0.4, (0.3, 0.9)])
def test_it_is_a_least_squares_problem_of_integrals(widths):
    """The result equals that of the normal equations with dense arrays."""
    x = runs(predators, STARTS[:2], t, noise=0.02)
    loss = og.Weak(widths)
    rows = loss.observe(og.Dataset.from_arrays(x, t))
    phi = rows.windows.toarray() @ np.column_stack(
        [rows.points[:, 0], rows.points[:, 0] * rows.points[:, 1]]
    )
    w = np.linalg.lstsq(phi, rows.targets[:, 0], rcond=None)[0]
    library = og.PerState({"x0": "x0 + x0*x1", "x1": "x1 + x0*x1"})
    solver = og.Exact()
    model = og.OrthoReg(library, og.Zero(), sparsity=0.0, loss=loss, solver=solver).fit(x, t=t)
    names = model.feature_names_
    found = [model.coefficients_[0, names.index(name)] for name in ("x0", "x0*x1")]
    np.testing.assert_allclose(found, w, rtol=1e-8)


def test_a_position_needs_no_velocity():
    x = runs(oscillator, [[1, 0], [2, 1], [-1.5, 0.5]], t, noise=0.01)
    data = og.Dataset.from_positions([run[:, :1] for run in x], t, names=["q"])
    model = og.OrthoReg("poly(3)", og.Zero(), loss=og.Weak()).fit(data)
    found = dict(zip(model.feature_names_, model.coefficients_[1], strict=True))
    assert {name for name, value in found.items() if value} >= {"q", "q_dot", "q**3"}
    np.testing.assert_allclose(found["q"], -4, rtol=0.05)
    np.testing.assert_allclose(found["q**3"], -1, rtol=0.1)


def test_noise_chooses_the_weak_form():
    def rule(noise):
        return Auto().rule(og.Dataset.from_arrays(runs(predators, STARTS, t, noise), t))

    assert isinstance(rule(0.0), og.VectorField)
    assert isinstance(rule(1e-4), og.VectorField)
    assert isinstance(rule(0.02), og.Weak)


def test_given_derivatives_are_taken():
    x = runs(predators, STARTS, t, 0.02)
    slopes = [np.array(predators(0, run.T)).T for run in x]
    data = og.Dataset.from_arrays(x, t, derivatives=slopes)
    assert isinstance(Auto().rule(data), og.VectorField)


@pytest.mark.parametrize("noise", [0.02, pytest.param(0.05, marks=pytest.mark.slow)])
def test_the_default_finds_the_equations_of_noisy_runs(noise):
    x = runs(predators, STARTS, t, noise)
    model = og.OrthoReg("poly(2)").fit(x, t=t)
    expected = np.zeros((2, 6), dtype=bool)
    expected[0, [1, 4]] = expected[1, [2, 4]] = True
    np.testing.assert_array_equal(model.support_, expected)
    np.testing.assert_allclose(model.coefficients_[expected], [1.1, -0.4, -0.4, 0.1], rtol=0.02)
    assert model.refinement_ is not None and model.refinement_.kept


def test_noise_of_the_targets_is_known():
    x = runs(predators, STARTS, t, 0.05)
    clean = runs(predators, STARTS, t)
    loss = og.Weak(0.6)
    noisy, exact = (loss.observe(og.Dataset.from_arrays(y, t)) for y in (x, clean))
    seen = np.mean((noisy.targets - exact.targets) ** 2, axis=0)
    np.testing.assert_allclose(noisy.target_mse, seen, rtol=0.5)


@pytest.mark.parametrize(
    ("widths", "order", "word"),
    [(0, 8, "positive"), (-1.0, 8, "positive"), ((), 8, "positive"), (None, 2, "order")],
)
def test_wrong_windows_are_refused(widths, order, word):
    with pytest.raises(og.InputError, match=word):
        og.Weak(widths, order)


def test_runs_shorter_than_a_window_are_refused():
    with pytest.raises(og.DataError, match="no run is as long as one window"):
        og.Weak(30.0).observe(og.Dataset.from_arrays(runs(predators, STARTS, t), t))
    few = og.Dataset.from_arrays([x[:6] for x in runs(predators, STARTS, t)], t[:6])
    with pytest.raises(og.DataError, match="with 6 rows. Take VectorField.., or measure longer"):
        og.Weak().observe(few)


def test_a_gradient_solver_says_what_it_needs():
    x = runs(predators, STARTS[:1], t)
    with pytest.raises(og.InputError, match="Exact"):
        og.OrthoReg("poly(2)", loss=og.Weak(0.5), solver=og.Adam(epochs=2)).fit(x, t=t)


def test_windows_at_rest_are_left_out():
    """At rest, dry friction balances any force, which sign(0) = 0 does not represent."""
    position = np.where(t < 10, 1 - np.cos(t * np.pi / 5), 0.0)
    rows = og.Weak(0.5).observe(og.Dataset.from_positions(position[:, None], t))
    assert np.max(rows.times) < 10.5
    restless = og.Dataset.from_positions(1 - np.cos(t * np.pi / 5)[:, None], t)
    assert np.max(og.Weak(0.5).observe(restless).times) > 19


def test_turning_round_is_no_rest():
    from orthoreg.losses._weak import Rest

    def at_rest(data):
        data = data.with_parts(estimated=("v",))
        return Rest.of(data).rows(data)

    times = np.linspace(0, 20, 4001)
    speed = np.cos(2 * times)  # slow for three rows at each reversal
    moves = og.Dataset.from_arrays(speed[:, None], times, names=["v"])
    assert (np.abs(speed) < 0.005).any() and not at_rest(moves).any()
    held = (times > 5) & (times < 6)
    stops = og.Dataset.from_arrays(np.where(held, 0.0, speed)[:, None], times, names=["v"])
    assert (at_rest(stops)[:, 0] == held).mean() > 0.999


def test_an_encoder_is_noisy_where_accelerations_matter():
    fine = np.linspace(0, 5, 5000)
    exact = 0.05 * np.sin(3 * fine)[:, None]
    encoder = 1e-6 * np.round(exact / 1e-6)
    assert isinstance(Auto().rule(og.Dataset.from_positions(encoder, fine)), og.Weak)
    assert isinstance(Auto().rule(og.Dataset.from_positions(exact, fine)), og.VectorField)
    assert isinstance(Auto().rule(og.Dataset.from_arrays(encoder, fine)), og.VectorField)


def test_the_measured_points_are_inside_the_trusted_region():
    """Windows are averages, so their centres cover a smaller range than the data."""
    x = runs(predators, STARTS, t, 0.02)
    model = og.OrthoReg("poly(2)", loss=og.Weak()).fit(x, t=t)
    assert np.mean(model.distance(np.concatenate(x)) > 1.0) < 0.01
