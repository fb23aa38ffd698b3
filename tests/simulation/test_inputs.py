"""Interpolated inputs, compared with SciPy and closed forms."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline

from orthoreg._common.errors import InputError
from orthoreg.simulation import NumpyField, SampledInput, Status, _compiled, integrate, sampled
from orthoreg.simulation._inputs import from_function, visible_interpolation

TIMES = np.append(0.0, np.cumsum(np.linspace(0.1, 1.1, 12)))


class Linear(eqx.Module):
    """x' = A x + b u."""

    matrix: np.ndarray
    gain: np.ndarray

    def __call__(self, t, x, u, xp=jnp):
        return x @ self.matrix.T + u @ self.gain.T


def oscillator(stiffness, damping, gain):
    return Linear(np.array([[0.0, 1.0], [-stiffness, -damping]]), np.array([[0.0], [gain]]))


# two cases of a report, in which rollouts stopped without a reason: a fast and a damped system
SYSTEMS = {
    "sines": (oscillator(4, 0.2, 1), lambda t: np.sin(t) + 0.5 * np.sin(2.3 * t)),
    "jumps": (oscillator(2, 0.3, 1.5),
              lambda t: 0.8 * np.sign(np.sin(0.5 * t)) + 0.5 * np.sin(1.7 * t)),
    "fast": (oscillator(100, 2, 100), lambda t: np.cos(3 * t)),
    "damped": (oscillator(1, 80, 1), lambda t: np.exp(-t) * np.sin(5 * t)),
}  # fmt: skip


def one_signal(times, u, kind, count):
    return sampled([SampledInput(times, u[:, None])], [kind], np.zeros(count, dtype=int))


def simulated(field, starts, times, inputs, route="numpy", **options):
    grid = np.tile(times, (len(starts), 1))
    if route == "numpy":
        in_numpy = NumpyField(lambda t, x, u: field(t, x, u, np))
        return integrate(None, starts, grid, inputs, in_numpy=in_numpy, **options)
    return integrate(field, starts, grid, inputs, **options)


def reference(field, start, times, u, kind):
    """Return the solution of SciPy with the same interpolant, interval by interval."""
    spline = CubicSpline(times, u)
    states, x = [start], start
    for i in range(len(times) - 1):
        a, b = times[i : i + 2]

        def value(t, i=i, a=a, b=b):
            if kind == "cubic":
                return spline(t)
            return u[i] if kind == "hold" else u[i] + (u[i + 1] - u[i]) * (t - a) / (b - a)

        def slope(t, x, value=value):
            return field(t, x, np.atleast_1d(value(t)), np)

        x = solve_ivp(slope, (a, b), x, "DOP853", rtol=1e-11, atol=1e-12).y[:, -1]
        states.append(x)
    return np.array(states)


@pytest.mark.parametrize("kind", ["cubic", "linear", "hold"])
@pytest.mark.parametrize("step", [0.03, 0.1, 0.37])
@pytest.mark.parametrize("name", SYSTEMS)
def test_rollouts_with_inputs_complete_and_agree_with_scipy(name, step, kind):
    rng = np.random.default_rng(0)
    field, signal = SYSTEMS[name]
    regular = step * np.arange(min(int(3 / step), 30))
    irregular = np.append(0.0, np.cumsum(rng.uniform(0.1, 1.9, len(regular) - 1) * step))
    for times in (regular, irregular):
        u, starts = signal(times), rng.normal(size=(32, 2))
        result = simulated(field, starts, times, one_signal(times, u, kind, 32))
        assert result.status == [Status.completed] * 32
        expected = reference(field, starts[5], times, u, kind)
        assert_allclose(result.x[5], expected, rtol=0, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("kind", ["cubic", pytest.param("hold", marks=pytest.mark.slow)])
def test_compiled_steps_with_inputs_are_those_of_numpy(kind, monkeypatch):
    monkeypatch.setitem(_compiled._STEPS, 1, 100)
    times = np.cumsum(np.random.default_rng(1).uniform(0.01, 0.1, 500))  # several windows
    u, starts = np.sin(times), np.array([[1.0, 0.0]])
    field, inputs = SYSTEMS["sines"][0], one_signal(times, u, kind, 1)
    one, other = (simulated(field, starts, times, inputs, route) for route in ("numpy", "jax"))
    assert one.completed.all() and other.completed.all()
    assert_allclose(one.x, other.x, rtol=0, atol=1e-11)


def test_more_rows_or_starts_compile_nothing_anew():
    field = SYSTEMS["sines"][0]

    def compiled(rows, count):
        times = 0.05 * np.arange(rows)
        starts = np.random.default_rng(0).normal(size=(count, 2))
        inputs = one_signal(times, np.sin(times), "cubic", count)
        assert simulated(field, starts, times, inputs, "jax").completed.all()
        return _compiled._block._cache_size()

    before = compiled(50, 2)
    assert compiled(2000, 2) == compiled(50, 13) == before


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["hold", "linear"])
def test_stiff_fields_with_inputs_complete(kind):
    """x' = -1e6 (x - u) follows its input over a time that explicit steps could not cover."""
    field = Linear(np.array([[-1e6]]), np.array([[1e6]]))
    times = np.append(0.0, np.cumsum(np.linspace(5, 15, 10)))
    u = np.array([0.0, 1.0, 1.0, -2.0, 0.5, 0.5, 3.0, 0.0, 1.0, -1.0, 0.0])
    fine = np.sort(np.append(times, times[:-1] + 2.0))
    grid, starts = np.tile(fine, (2, 1)), np.array([[0.0], [4.0]])
    result = integrate(field, starts, grid, one_signal(times, u, kind, 2))
    assert result.completed.all()
    before = u[np.searchsorted(times, fine[1:]) - 1]
    expected = before if kind == "hold" else np.interp(fine[1:], times, u)
    assert_allclose(result.x[:, 1:, 0], [expected, expected], rtol=0, atol=1e-5)


def test_signals_of_many_rollouts_do_not_mix():
    """Two rollouts with different times, lengths and values of the input; one input for two
    rollouts."""
    field = Linear(np.array([[-1.0]]), np.array([[1.0]]))
    grids = [TIMES, TIMES[:7] * 2, np.linspace(0, 9, 40)]
    signals = [SampledInput(t, np.cos(t + i)[:, None]) for i, t in enumerate(grids)]
    inputs = sampled(signals, ["cubic"], np.array([2, 0, 1, 0]))
    times = np.tile(np.linspace(0, 3, 20), (4, 1))
    starts = np.array([[0.0], [1.0], [2.0], [1.0]])
    in_numpy = NumpyField(lambda t, x, u: field(t, x, u, np))
    result = integrate(None, starts, times, inputs, in_numpy=in_numpy).x
    for row, signal in enumerate([2, 0, 1, 0]):
        alone = sampled([signals[signal]], ["cubic"], np.zeros(1, dtype=int))
        expected = integrate(None, starts[[row]], times[:1], alone, in_numpy=in_numpy).x
        assert_allclose(result[[row]], expected, rtol=0, atol=1e-12)
        spline = CubicSpline(grids[signal], signals[signal].values[:, 0])
        assert_allclose(inputs.at(times)[row, :, 0], spline(times[row]), atol=1e-12)


@settings(max_examples=10)
@given(arrays(float, (2, 13, 1), elements=st.floats(-10, 10)))
def test_straight_lines_have_the_area_of_trapezoids(values):
    signals = [SampledInput(TIMES, one) for one in values]
    starts = np.array([[0.0], [5.0]])
    result = simulated(INTEGRAL, starts, TIMES, sampled(signals, ["linear"], np.arange(2)))
    areas = np.diff(TIMES) * (values[:, 1:, 0] + values[:, :-1, 0]) / 2
    expected = np.cumsum(np.concatenate([starts, areas], axis=1), axis=1)
    assert_allclose(result.x[..., 0], expected, rtol=0, atol=1e-7)


INTEGRAL = Linear(np.zeros((1, 1)), np.ones((1, 1)))


@settings(max_examples=10)
@given(arrays(float, (13,), elements=st.floats(-10, 10)))
def test_held_values_have_the_area_of_rectangles(values):
    """A jump is neither skipped nor smoothed after long steps without a change."""
    times = np.concatenate([TIMES, TIMES[-1] + [1000.0, 1000.001, 2000.0]])
    u = np.concatenate([values, [0.0, 1.0, 0.0]])  # constant for a long time, then a short pulse
    result = simulated(INTEGRAL, np.zeros((1, 1)), times, one_signal(times, u, "hold", 1))
    expected = np.append(0.0, np.cumsum(np.diff(times) * u[:-1]))
    assert_allclose(result.x[0, :, 0], expected, rtol=0, atol=1e-6)


def test_repeated_values_cost_no_steps():
    times, calls = np.linspace(0, 10, 10_001), []

    def slope(t, x, u):
        calls.append(1)
        return u - x

    u = np.where(times < 5, 1.0, 2.0)
    inputs = one_signal(times, u, "hold", 1)
    integrate(None, np.zeros((1, 1)), times[None], inputs, in_numpy=NumpyField(slope))
    assert len(calls) < 1500


def test_cubic_interpolation_loses_little_of_a_sinusoid():
    times = np.linspace(0, 6 * np.pi, 28)  # nine samples per period
    fine = np.linspace(0, 6 * np.pi, 500)[None]
    lost = {
        kind: np.abs(
            one_signal(times, np.sin(times), kind, 1).at(fine)[0, :, 0] - np.sin(fine)
        ).max()
        for kind in ("cubic", "linear", "hold")
    }
    assert lost["cubic"] < 0.006 and 0.05 < lost["linear"] < 0.07 and lost["hold"] > 0.5


@pytest.mark.parametrize("kind", ["cubic", "linear", "hold"])
@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_few_samples_are_enough(kind, count):
    times = np.array([0.0, 1.0, 1.5, 4.0])[:count]
    inputs = one_signal(times, 2 * times + 1, kind, 1)
    assert_allclose(inputs.at(times[None])[0, :, 0], 2 * times + 1, atol=1e-12)
    if kind != "hold":
        fine = np.linspace(0, times[-1], 20)
        assert_allclose(inputs.at(fine[None])[0, :, 0], 2 * fine + 1, atol=1e-12)


def test_columns_have_their_own_kinds():
    times = np.arange(5.0)
    values = np.column_stack([times**2, times**2])
    inputs = sampled([SampledInput(times, values)], ["hold", "cubic"], np.zeros(1, dtype=int))
    assert inputs.jumps
    assert_allclose(inputs.at(np.array([[2.5, 3.0]]))[0], [[4.0, 6.25], [9.0, 9.0]], atol=1e-12)


# -- functions of time ---------------------------------------------------------------------


FUNCTIONS = {
    "sine": (lambda t: np.sin(7 * t), 1e-9),
    "jump": (lambda t: float(t > 1.23456), 1e-9),
    "kink": (lambda t: abs(t - 2.2), 1e-9),
    "constant": (lambda t: 5.0, 1e-12),
    "steep": (lambda t: np.tanh(200 * (t - 3.1)), 1e-9),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_is_followed(name):
    function, tolerance = FUNCTIONS[name]
    inputs = from_function(function, np.linspace(0, 5, 6), 1, 2)
    fine = np.linspace(0, 5, 2001)
    found = inputs.at(np.tile(fine, (2, 1)))
    expected = [function(t) for t in fine]
    assert_allclose(found[..., 0], [expected, expected], rtol=0, atol=tolerance)


def test_a_function_with_a_jump_is_integrated_exactly():
    inputs = from_function(lambda t: [float(t >= 1.3), np.cos(t)], np.array([0.0, 2.0]), 2, 1)
    both = Linear(np.zeros((2, 2)), np.eye(2))
    result = simulated(both, np.zeros((1, 2)), np.array([0.0, 2.0]), inputs)
    assert_allclose(result.x[0, -1], [0.7, np.sin(2.0)], atol=1e-8)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda t: [1.0, 2.0], "return 1 number;"),
        (lambda: 1.0, "take one time"),
        (lambda t: "a", "return 1 number;"),
        (lambda t: 1 / (t - 1) if t != 1 else np.inf, "finite numbers; at t = 1"),
        (lambda t: np.sin(1e15 * t), "too fast"),
    ],
)
def test_functions_that_cannot_be_followed_are_refused(function, words):
    with pytest.raises(InputError, match=words):
        from_function(function, np.array([0.0, 1.0, 2.0]), 1, 1)


# -- what the data show --------------------------------------------------------------------


T = np.linspace(0, 20, 400)
RNG = np.random.default_rng(0)
SHOWN = {
    "sine": (np.sin(T), "cubic"),
    "noise": (RNG.normal(size=400), "cubic"),
    "square wave": (np.sign(np.sin(T)), "hold"),
    "random levels": (np.repeat(RNG.normal(size=40), 10), "hold"),
    "random bits": (RNG.integers(0, 2, 400).astype(float), "hold"),
    "one step": ((T > 7).astype(float), "hold"),
    "constant": (np.ones(400), "cubic"),
    "ramps and plateaus": (np.clip(5 * np.sin(T), -1, 1), "cubic"),
    "coarsely rounded sine": (np.round(50 * np.sin(T / 20)) / 50, "cubic"),
    "rounded noise": (np.round(RNG.normal(size=400)), "cubic"),
}  # fmt: skip


@pytest.mark.parametrize("name", SHOWN)
def test_steps_are_seen_where_there_are_steps(name):
    column, expected = SHOWN[name]
    assert visible_interpolation(column, np.ones(399, dtype=bool)) == expected


def test_the_change_from_run_to_run_is_no_step():
    column = np.concatenate([np.zeros(50), np.ones(50), np.sin(T[:100])])
    same_run = np.ones(199, dtype=bool)
    same_run[[49, 99]] = False
    assert visible_interpolation(column, same_run) == "cubic"
    assert_array_equal(np.unique(column[:100]), [0.0, 1.0])
    assert visible_interpolation(column[:100], same_run[:99]) == "cubic"
