"""Losses compared with closed forms and SciPy, and training on states alone."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import orthoreg as og
from orthoreg._common.errors import DataError, InputError
from orthoreg.losses import Informed

A = np.array([[-0.3, 1.7, 0.2], [-1.1, 0.4, 0.0], [0.5, -0.2, -0.9]])
STEPS = {"euler": 1, "rk4": 4}
"""The order of convergence of each method."""


def errors(loss, data, field, scale=None):
    """Return the error of each segment in double precision; `field` maps rows of
    variables to rows."""
    segments = loss.segments(loss.observe(data))
    B, P, V = segments.points.shape
    scale = np.ones(data.n_states) if scale is None else scale
    with jax.enable_x64(True):
        values = jnp.asarray(field(segments.points.reshape(-1, V))).reshape(B, P, -1)
        return np.asarray(loss.errors(field, values, segments, scale))


def walks(*lengths, inputs=0, seed=0):
    """Runs of these lengths at irregular times, with random states and inputs."""
    rng = np.random.default_rng(seed)
    times = [np.cumsum(rng.uniform(0.05, 0.4, length)) for length in lengths]
    states = [rng.standard_normal((length, 3)) for length in lengths]
    u = [rng.standard_normal((length, inputs)) for length in lengths] if inputs else None
    return og.Dataset.from_arrays(states, times, u)


def linear(z):
    return z[:, :3] @ A.T


def taylor(dt, order):
    """Return the matrix that a method of this order uses instead of exp(dt A)."""
    result, term = np.eye(3), np.eye(3)
    for k in range(1, order + 1):
        term = term @ A * dt / k
        result = result + term
    return result


# -- one step --------------------------------------------------------------------------------


def test_vector_field_is_the_squared_distance_of_derivatives(rng):
    x, y = rng.standard_normal((2, 9, 3))
    data = og.Dataset.from_arrays(x, 1.0, derivatives=y)
    expected = (((y - x @ A.T) / [1, 2, 4]) ** 2).sum(axis=1)
    found = errors(og.VectorField(), data, linear, np.array([1.0, 2.0, 4.0]))
    assert_allclose(found, expected, rtol=1e-12)


def test_a_state_that_does_not_change_has_no_derivative_but_a_slow_one_has():
    times = np.linspace(0, 10, 201)
    held = 9.81 * (1 + 1e-16 * np.sin(40 * times))
    slow = 5.0 + 1e-7 * times
    data = og.Dataset.from_arrays(np.column_stack([held, slow, np.cos(times)]), times)
    targets = og.VectorField().observe(data).targets
    assert_array_equal(targets[:, 0], 0.0)
    assert_allclose(targets[:, 1], 1e-7, rtol=1e-3)
    model = og.OrthoReg(og.Polynomial(1)).fit(data)
    assert model.equations()[0] == "x0' = 0"
    assert og.bootstrap(model, resamples=20).probability[0].max() == 0
    single = og.Dataset.from_arrays(
        [[[1.0]], [[2.0]]], [[0.0], [0.0]], derivatives=[[[3.0]], [[4.0]]]
    )
    assert_array_equal(og.VectorField().observe(single).targets, [[3.0], [4.0]])


@pytest.mark.parametrize("method, order", STEPS.items())
def test_one_step_of_a_linear_field_is_the_taylor_series_of_its_exponential(method, order):
    data = walks(7, 4)
    found = errors(og.MultiStep(1, method), data, linear, np.array([1.0, 2.0, 4.0]))
    expected = [
        np.sum(((after - taylor(dt, order) @ before) / [1, 2, 4]) ** 2)
        for run in data
        for before, after, dt in zip(run.states, run.states[1:], np.diff(run.times), strict=False)
    ]
    assert len(expected) == 9
    assert_allclose(found, expected, rtol=1e-12)
    exact = expm(0.1 * A)
    assert np.abs(taylor(0.1, order) - exact).max() < 0.5 * 0.2 ** (order + 1)


@pytest.mark.parametrize("method, order", STEPS.items())
def test_order_of_accuracy_against_scipy_on_irregular_steps(method, order, rng):
    """The error of a step of h is c h^(order + 1), as the errors of a step ten times as
    long show."""
    shares = np.cumsum(rng.uniform(0.5, 1.5, 12))

    def miss(h):
        times = np.append(0.0, h * shares)
        solution = solve_ivp(
            lambda t, s: [s[1], -np.sin(s[0]) - 0.2 * s[1]], (0, times[-1]), [1.0, 0.5], "DOP853",
            times, rtol=1e-13, atol=1e-14,
        )  # fmt: skip
        data = og.Dataset.from_arrays(solution.y.T, times)

        def pendulum(z):
            return jnp.stack([z[:, 1], -jnp.sin(z[:, 0]) - 0.2 * z[:, 1]], axis=1)

        return np.sqrt(errors(og.MultiStep(1, method), data, pendulum))[0]

    found = np.log10(miss(0.2) / miss(0.02))
    assert found == pytest.approx(order + 1, abs=0.15)


def test_inputs_run_on_straight_lines_within_a_step():
    """For dx/dt = u, u^2, u^3, Simpson's rule in RK4 is exact. Euler uses the input at
    the start."""
    data = walks(6, 5, inputs=1)

    def driven(z):
        u = z[:, 3]
        return jnp.stack([u, u**2, u**3], axis=1)

    for method in STEPS:
        expected = []
        for run in data:
            for i, dt in enumerate(np.diff(run.times)):
                u0, u1 = run.inputs[i : i + 2, 0]
                powers = [1, 2, 3]
                integral = [
                    np.mean([u0**j * u1 ** (p - j) for j in range(p + 1)]) if method == "rk4"
                    else u0**p
                    for p in powers
                ]  # fmt: skip
                step = run.states[i + 1] - run.states[i]
                expected.append(np.sum((step - dt * np.array(integral)) ** 2))
        assert_allclose(errors(og.MultiStep(1, method), data, driven), expected, rtol=1e-10)


def test_a_step_with_inputs_follows_scipy(rng):
    times = np.append(0.0, np.cumsum(rng.uniform(0.01, 0.05, 20)))
    u = rng.standard_normal((21, 1))
    solution = solve_ivp(
        lambda t, s: [s[1], -s[0] * s[1] + np.interp(t, times, u[:, 0])], (0, times[-1]),
        [1.0, 0.0], "RK45", times, rtol=1e-12, atol=1e-13, max_step=0.002,
    )  # fmt: skip
    data = og.Dataset.from_arrays(solution.y.T, times, u)
    found = errors(
        og.MultiStep(1), data, lambda z: jnp.stack([z[:, 1], -z[:, 0] * z[:, 1] + z[:, 2]], axis=1)
    )
    assert np.sqrt(found).max() < 1e-6


# -- several steps ---------------------------------------------------------------------------


@given(st.lists(st.integers(9, 30), min_size=1, max_size=4), st.integers(1, 8))
def test_windows_tile_each_run(lengths, window):
    """Every transition of every run is in a window, and no window is empty or leaves its run."""
    data = walks(*lengths)
    segments = og.MultiStep(window).segments(og.MultiStep(window).observe(data))
    row = {tuple(state): i for i, state in enumerate(data.states)}
    starts = np.array([[row[tuple(z)] for z in one] for one in segments.points])
    ends = np.array([[row[tuple(z)] for z in one] for one in segments.targets])
    assert starts.shape == (sum(-(-(n - 1) // window) for n in lengths), window)
    assert_array_equal(ends, starts + 1)
    assert_array_equal(starts[:, 1:], ends[:, :-1])
    assert_array_equal(data.run_of_row[starts], data.run_of_row[ends])
    assert set(ends.ravel()) == set(range(data.n_samples)) - set(data.offsets[:-1])
    assert_allclose(segments.steps, data.times[ends] - data.times[starts], rtol=1e-12)


def test_a_window_is_predicted_from_its_first_state_alone():
    data = walks(7, 5)
    times, expected = data.times, []
    for run, starts in ((0, [0, 3]), (1, [7, 8])):  # rows 0..6 and 7..11; the last windows overlap
        for start in starts:
            assert data.run_of_row[start] == run
            x, error = data.states[start], 0.0
            for row in range(start, start + 3):
                x = taylor(times[row + 1] - times[row], 4) @ x
                error += np.sum((data.states[row + 1] - x) ** 2) / 3
            expected.append(error)
    assert_allclose(errors(og.MultiStep(3), data, linear), expected, rtol=1e-11)


def test_one_step_is_the_former_name_of_a_window_of_one_step():
    with pytest.warns(DeprecationWarning, match=r"OneStep\(\) is deprecated: use MultiStep\(1\)"):
        found = og.OneStep("euler")
    assert found == og.MultiStep(1, "euler")


def test_measured_is_the_former_name_of_auto():
    with pytest.warns(DeprecationWarning, match=r"Measured\(\) is deprecated: use Auto\(\)"):
        found = og.Measured()
    assert found == og.Auto()


# -- what a fitted field is measured against ---------------------------------------------------


def test_implied_derivatives_of_euler_are_slopes_whatever_the_field():
    data = walks(6, 4)
    loss = og.MultiStep(1, "euler")
    rows = loss.observe(data)
    last = [5, 9]
    steps = np.diff(data.times)[[0, 1, 2, 3, 4, 6, 7, 8]]
    slopes = np.diff(data.states, axis=0)[[0, 1, 2, 3, 4, 6, 7, 8]] / steps[:, None]
    found = loss.targets(rows, linear)
    assert_allclose(np.delete(found, last, axis=0), slopes, rtol=1e-10, atol=1e-12)
    missed = slopes[[4, 7]] - linear(data.states[[4, 8]])
    assert_allclose(found[last], linear(data.states[last]) + missed, rtol=1e-10, atol=1e-12)


def test_a_right_field_has_no_implied_error():
    times = np.cumsum(np.random.default_rng(3).uniform(0.1, 0.6, 9))
    states = [[1.0, -1.0, 0.5]]
    for dt in np.diff(times):
        states.append(taylor(dt, 4) @ states[-1])
    loss = og.MultiStep(1)
    rows = loss.observe(og.Dataset.from_arrays(np.array(states), times))
    truth = linear(rows.variables)
    assert_allclose(loss.targets(rows, linear), truth, atol=1e-12)
    assert (
        np.abs(rows.targets - truth).max() > 0.1
    )  # differences over coarse steps are not derivatives
    wrong = loss.targets(rows, lambda z: 1.1 * linear(z))
    assert np.abs(wrong - truth).max() < np.abs(0.1 * truth).max()


def test_a_row_that_a_split_leaves_alone_takes_nothing_from_other_runs():
    times = np.linspace(0, 2, 12)
    runs = [solve_ivp(lambda t, x: A @ x, (0, 2), start, "DOP853", times, rtol=1e-10).y.T
            for start in ([1.0, 0, 0], [0, 5.0, 1.0])]  # fmt: skip
    loss = og.MultiStep(1)
    rows = loss.observe(og.Dataset.from_arrays(runs, [times, times]))
    kept = rows.only(np.arange(24) >= 11)  # one row of the first run, all of the second
    targets = loss.targets(kept, linear)
    assert_allclose(targets, linear(kept.variables), atol=1e-3)


# -- known equations ---------------------------------------------------------------------------


def test_known_equations_add_their_distance_where_they_are_known(rng):
    x, y = rng.standard_normal((2, 30, 3))
    data = og.Dataset.from_arrays(x, 1.0, names=["a", "b", "c"], derivatives=y)
    loss = Informed({"c": "-2*sin(a) + b", "a": "0"}, 0.7)
    known = np.column_stack([0 * x[:, 0], -2 * np.sin(x[:, 0]) + x[:, 1]])
    f, scale = x @ A.T, np.array([1.0, 2.0, 4.0])
    expected = (((y - f) / scale) ** 2).sum(axis=1)
    expected += 0.7 * (((known - f[:, [0, 2]]) / scale[[0, 2]]) ** 2).sum(axis=1)
    assert_allclose(errors(loss, data, linear, scale), expected, rtol=1e-10)
    rows = loss.observe(data)
    assert_array_equal(loss.targets(rows, linear), y)


# -- training on states alone ------------------------------------------------------------------

SHOOTING = og.Adam(epochs=1000, learning_rate=0.1, decay=0.01, normalize=True, threshold=0.02)


def test_one_step_recovers_an_oscillator_from_irregular_states(rng):
    times = [np.cumsum(rng.uniform(0.1, 0.6, length)) for length in (31, 22)]
    M = np.array([[-0.1, 2.0], [-1.0, -0.1]])
    runs = [np.array([expm(M * (t - own[0])) @ start for t in own])
            for own, start in zip(times, ([1.0, 0.0], [0.0, -2.0]), strict=True)]  # fmt: skip
    model = og.OrthoReg(
        og.Polynomial(2), og.Zero(), sparsity=1e-3, loss=og.MultiStep(1), solver=SHOOTING
    ).fit(runs, t=times)
    assert model.feature_names_[1:3] == ["x0", "x1"]
    assert_array_equal(model.support_, [[0, 1, 1, 0, 0, 0]] * 2)
    assert_allclose(model.coefficients_[:, 1:3], M, atol=0.02)
    slopes = np.concatenate([np.diff(x, axis=0) / np.diff(t)[:, None]
                             for x, t in zip(runs, times, strict=True)])  # fmt: skip
    states = np.concatenate([x[:-1] for x in runs])
    by_slopes = np.linalg.lstsq(states, slopes, rcond=None)[0].T
    assert np.abs(by_slopes - M).max() > 0.1  # the steps are too coarse for derivatives
    assert model.score(runs, t=times) > 0.999
    for one in model.certificate_.equations:
        assert one.fit_error < 0.03 and one.residual_share == 0 and one.overlap == 0
        assert math.isnan(one.duality_gap) and math.isnan(one.objective)  # from another problem


def test_several_steps_recover_a_driven_logistic_equation(rng):
    """Simulate x' = x - x^2 + u with linear interpolation of the input."""
    times = np.append(0.0, np.cumsum(rng.uniform(0.1, 0.5, 8)))
    u = [rng.uniform(-1, 1, (9, 1)) for _ in range(4)]
    runs = [
        solve_ivp(lambda t, x, v=v: x - x**2 + np.interp(t, times, v[:, 0]), (0, times[-1]),
                  [start], "RK45", times, rtol=1e-9, max_step=0.05).y.T
        for start, v in zip((0.5, 1.0, 2.0, 3.0), u, strict=True)
    ]  # fmt: skip
    data = og.Dataset.from_arrays(runs, [times] * 4, u, names=["x"], input_names=["u"])
    model = og.OrthoReg(
        og.Terms(["x", "u", "x**2", "u**2"]), og.Zero(), sparsity=1e-4,
        loss=og.MultiStep(4), solver=SHOOTING,
    ).fit(data)  # fmt: skip
    assert_array_equal(model.support_, [[1, 1, 1, 0]])
    assert_allclose(model.coefficients_, [[1, 1, -1, 0]], atol=0.02)
    assert model.score(data) > 0.999
    assert model.certificate_.equations[0].fit_error < 0.03
    assert model.training_.history[-1, 0] < 1e-3 * model.training_.history[0, 0]


# -- refusals ----------------------------------------------------------------------------------

STATES = np.random.default_rng(1).standard_normal((9, 2))
TIMES = np.arange(9.0)
QUICK = og.Adam(epochs=3)
REFUSED = {
    "derivatives alone": (
        lambda: og.OrthoReg(loss=og.MultiStep(3), solver=QUICK).fit(STATES, STATES),
        InputError, r"MultiStep\(window=3\) predicts in time and needs runs .*: fit\(data\)",
    ),
    "window as long as the run": (
        lambda: og.OrthoReg(loss=og.MultiStep(9), solver=QUICK).fit(STATES, t=TIMES),
        DataError, r"MultiStep\(window=9\) needs runs of at least 10 rows; x has 9.*smaller window",
    ),
    "one short run": (
        lambda: og.OrthoReg(loss=og.MultiStep(4), solver=QUICK).fit(
            [STATES, STATES[:4]], t=[TIMES, TIMES[:4]]
        ),
        DataError, "at least 5 rows; run '1' has 4",
    ),
    "one row": (
        lambda: og.OrthoReg(loss=og.MultiStep(1), solver=QUICK).fit(STATES[:1], t=[0.0]),
        DataError, r"MultiStep\(window=1\) needs runs of at least 2 rows; x has 1",
    ),
    "windows that validation cuts": (
        lambda: og.OrthoReg(
            loss=og.MultiStep(6), solver=og.Adam(epochs=3, validation=0.2)
        ).fit(STATES, t=TIMES),
        DataError, "training part",
    ),
    "one row for derivatives": (
        lambda: og.OrthoReg(solver=QUICK).fit(og.Dataset.from_arrays(STATES[:1], 1.0)),
        DataError, "needs at least 3",
    ),
    "exact": (
        lambda: og.OrthoReg(loss=og.MultiStep(1), solver=og.Exact()).fit(STATES, t=TIMES),
        InputError,
        r"Exact\(\) needs a loss that is linear.*unlike loss=MultiStep.*Use .*, or solver=Adam",
    ),
    "the default solver": (
        lambda: og.OrthoReg(loss=og.MultiStep(2)).fit(STATES, t=TIMES),
        InputError, "solver=Adam",
    ),
    "STLSQ": (
        lambda: og.STLSQ(loss=og.MultiStep(1)).fit(STATES, t=TIMES),
        InputError,
        r"Thresholding\(\) needs a loss that is linear.*unlike loss=MultiStep.*VectorField",
    ),
    "polish": (
        lambda: og.OrthoReg(loss=og.MultiStep(1), solver=og.Adam(polish=True)).fit(STATES, t=TIMES),
        InputError, "polish=True.*needs loss=VectorField",
    ),
    "method": (lambda: og.MultiStep(1, "heun"), InputError, "'rk4' or 'euler'; got 'heun'"),
    "window of zero": (lambda: og.MultiStep(0), InputError, "at least 1; got 0"),
    "weight below zero": (lambda: Informed({"x0": "x1"}, -1.0), InputError, "at least 0; got -1"),
    "infinite weight": (lambda: Informed({"x0": "x1"}, np.inf), InputError, "finite"),
    "nothing known": (lambda: Informed({}), InputError, "known equations by state"),
    "unknown state": (
        lambda: og.OrthoReg(loss=Informed({"x9": "x1"}), solver=QUICK).fit(STATES, STATES),
        InputError, "refer to 'x9', which is not an equation.*'x0', 'x1'",
    ),
    "unknown variable": (
        lambda: og.OrthoReg(loss=Informed({"x0": "y"}), solver=QUICK).fit(STATES, STATES),
        InputError, "unknown variable 'y'",
    ),
    "equation without value": (
        lambda: og.OrthoReg(loss=Informed({"x0": "log(x1)"}), solver=QUICK).fit(STATES, STATES),
        InputError, r"'log\(x1\)' of 'x0' is not finite",
    ),
    "exact with known equations": (
        lambda: og.OrthoReg(loss=Informed({"x0": "x1"}), solver=og.Exact()).fit(STATES, STATES),
        InputError, "needs a loss that is linear in the learned parameters, unlike loss=Informed",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED)
def test_losses_refuse_in_a_sentence(kind):
    attempt, error, message = REFUSED[kind]
    with pytest.raises(error, match=message) as caught:
        attempt()
    assert str(caught.value).endswith(".")


# -- what a fitted model is ------------------------------------------------------------------------


SLOWLY = pytest.param(og.MultiStep(3), marks=pytest.mark.slow)


@pytest.mark.parametrize("loss", [og.MultiStep(1), SLOWLY], ids=repr)
def test_the_projection_is_that_of_the_states_the_loss_sees(loss):
    """In short runs, states at the ends, where no step begins, would change the projection."""
    times = np.linspace(0, 1, 5)
    runs = [
        np.column_stack([a * np.cos(3 * times), -3 * a * np.sin(3 * times)])
        for a in np.linspace(0.5, 2, 10)
    ]
    model = og.OrthoReg(
        og.Polynomial(2), og.MLP(8, 1), sparsity=0.0, loss=loss,
        solver=og.Adam(epochs=100, threshold=0.0, learning_rate=0.02),
    ).fit(runs, t=times)  # fmt: skip
    segments = loss.segments(loss.observe(og.Dataset.from_arrays(runs, times)))
    with jax.enable_x64(True):

        def field(z):
            return jax.vmap(lambda one: model.field_(0.0, one))(z)

        values = field(segments.points.reshape(-1, 2)).reshape(segments.points.shape)
        error = float(np.mean(loss.errors(field, values, segments, np.ones(2))))
    training = model.training_
    assert error == pytest.approx(training.history[training.best_epoch, 0], rel=1e-3)
    assert max(one.overlap for one in model.certificate_.equations) < 1e-12


def test_normalised_errors_of_windows_start_at_one_for_each_equation():
    times = np.linspace(0, 6, 61)
    data = og.Dataset.from_arrays(np.column_stack([np.cos(times), -np.sin(times)]), times)
    for window in (1, 10):
        model = og.OrthoReg(
            og.Polynomial(1), og.Zero(), sparsity=0.0, orthogonality=0.0,
            loss=og.MultiStep(window), solver=og.Adam(epochs=1, normalize=True),
        ).fit(data)  # fmt: skip
        assert model.training_.history[0, 0] == pytest.approx(2, rel=0.1)
