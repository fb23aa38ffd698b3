"""Rollouts against SciPy and closed forms: accuracy, batches, stiffness, divergence, inputs."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import solve_ivp

from orthoreg._errors import SimulationError
from orthoreg.simulation import Status, integrate

TIMES = np.append(0.0, np.cumsum(np.linspace(0.1, 1.1, 15)))  # unequal steps up to t = 9


class Pendulum(eqx.Module):
    damping: float

    def __call__(self, t, x, u, xp=jnp):
        return xp.stack([x[1], -xp.sin(x[0]) - self.damping * x[1] + 0.3 * xp.cos(3 * x[0])])


class Failing(eqx.Module):
    """x**2, which reaches infinity, or -sqrt(x) - 0.1, which ends where x becomes negative."""

    root: float

    def __call__(self, t, x, u):
        return jnp.where(self.root, -jnp.sqrt(x) - 0.1, x**2)


class VanDerPol(eqx.Module):
    def __call__(self, t, x, u, xp=jnp):
        return xp.stack([x[1], 1000 * (1 - x[0] ** 2) * x[1] - x[0]])


class Input(eqx.Module):
    def __call__(self, t, x, u):
        return u


def reference(field, start, times, method="DOP853"):
    solution = solve_ivp(
        lambda t, x: field(t, x, None, np),
        (times[0], times[-1]), start, method, times, rtol=1e-12, atol=1e-13,
    )  # fmt: skip
    return solution.y.T


def rollout(field, starts, times=TIMES, inputs=None, **options):
    return integrate(field, starts, np.tile(times, (len(starts), 1)), inputs, **options)


@settings(max_examples=5)
@given(arrays(float, (4, 2), elements=st.floats(-3, 3)), st.floats(0, 1))
def test_agrees_with_scipy_in_double_precision(starts, damping):
    field = Pendulum(damping)
    result = rollout(field, starts)
    assert result.x.dtype == np.float64 and result.completed.all()
    assert result.stopped_at == [None] * 4 and result.message == [""] * 4
    expected = np.stack([reference(field, start, TIMES) for start in starts])
    assert_allclose(result.x, expected, rtol=0, atol=1e-6)


def test_jax_stays_in_single_precision_outside():
    rollout(Pendulum(0.1), np.ones((4, 2)))
    assert not jax.config.jax_enable_x64
    assert jnp.asarray(np.ones(1)).dtype == jnp.float32


def test_a_batch_equals_its_members_one_by_one():
    starts = np.array([[0.1, 0], [3, 2], [-1, 1], [0, -2.5]])
    together = rollout(Pendulum(0.2), starts).x
    alone = np.concatenate([rollout(Pendulum(0.2), start[None]).x for start in starts])
    assert_allclose(together, alone, rtol=1e-12, atol=1e-12)


def test_members_of_a_batch_have_times_of_their_own():
    starts = np.tile([1.0, 0.5], (4, 1))
    times = np.stack([TIMES, TIMES / 2, TIMES - 5, np.full(16, 2.0)])
    result = integrate(Pendulum(0.0), starts, times)
    assert_allclose(result.x[2], result.x[0], atol=1e-7)  # the field does not depend on time
    assert_allclose(result.x[1], reference(Pendulum(0.0), starts[1], times[1]), atol=1e-6)
    assert_array_equal(
        result.x[3], np.tile(starts[3], (16, 1))
    )  # where no time passes, nothing moves
    assert result.completed.all()


def test_finite_time_blow_up_stops_with_a_status_and_spares_the_rest():
    times = np.linspace(0, 2.25, 16)
    starts = np.array([[1.0], [-1.0], [0.0], [0.4]])  # x = x0 / (1 - x0 t)
    result = rollout(Failing(0.0), starts, times)
    assert result.status == [Status.diverged] + [Status.completed] * 3
    assert_array_equal(result.completed, [False, True, True, True])
    assert result.stopped_at[0] == pytest.approx(1, abs=1e-6)
    assert result.stopped_state[0][0] > 1e11 and np.isfinite(result.stopped_state[0]).all()
    assert_allclose(result.x[1:, :, 0], starts[1:] / (1 - starts[1:] * times), rtol=1e-6)
    before = times < 0.99
    assert_allclose(result.x[0, before, 0], 1 / (1 - times[before]), rtol=1e-5)
    assert np.isnan(result.x[0, times > 1.01]).all()
    with pytest.raises(SimulationError):
        result.raise_unless_completed()


def test_a_state_beyond_the_bound_counts_as_diverged():
    starts = np.array([[1.0], [-1.0], [0.0], [0.4]])
    result = rollout(Failing(0.0), starts, np.linspace(0, 2.25, 16), bound=2.0)
    assert result.status == [Status.diverged] + [Status.completed] * 2 + [Status.diverged]
    assert result.stopped_at[0] == pytest.approx(0.5, abs=0.05)
    assert result.stopped_at[3] == pytest.approx(2.0, abs=0.05)
    assert result.stopped_state[0][0] == pytest.approx(2.0, rel=0.2)


def test_a_field_that_becomes_nan_ends_the_rollout():
    times = np.linspace(0, 4, 16)
    result = rollout(Failing(1.0), np.array([[1.0], [-1.0], [1.0], [9.0]]), times)
    assert result.status == [Status.stalled] * 3 + [Status.completed]
    assert "undefined" in result.message[0]
    zero_at = 2 * (1 - 0.1 * np.log(11))
    assert result.stopped_at[0] == pytest.approx(zero_at, abs=1e-5)
    assert_array_equal(np.isnan(result.x[0, :, 0]), times > zero_at)
    assert result.stopped_at[1] == 0 and result.stopped_state[1] == -1


def test_stiff_van_der_pol_completes():
    times = np.linspace(0, 2000, 9)
    result = rollout(VanDerPol(), np.array([[2.0, 0.0]]), times)
    assert result.status == [Status.completed]
    expected = reference(VanDerPol(), [2.0, 0.0], times, "LSODA")
    assert_allclose(result.x[0], expected, rtol=1e-5, atol=1e-9)


@settings(max_examples=10)
@given(arrays(float, (2, 13, 1), elements=st.floats(-10, 10)))
def test_inputs_are_interpolated_linearly_between_the_times(inputs):
    times = TIMES[:13]
    result = rollout(Input(), np.array([[0.0], [5.0]]), times, inputs, rtol=1e-10, atol=1e-10)
    areas = np.diff(times) * (inputs[:, 1:, 0] + inputs[:, :-1, 0]) / 2
    expected = np.cumsum(np.concatenate([[[0.0], [5.0]], areas], axis=1), axis=1)
    assert_allclose(result.x[..., 0], expected, rtol=0, atol=1e-7)
