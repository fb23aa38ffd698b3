"""Simulations by NumPy and compiled, compared with SciPy and closed forms: accuracy, batches,
stiffness and divergence."""

import subprocess
import sys

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

from orthoreg._common.errors import SimulationError
from orthoreg.simulation import NumpyField, Status, integrate
from orthoreg.simulation import _integrate as rule

TIMES = np.append(0.0, np.cumsum(np.linspace(0.1, 1.1, 15)))  # unequal steps up to t = 9
ROUTES = ["numpy", "compiled"]


class Pendulum(eqx.Module):
    damping: float

    def __call__(self, t, x, u, xp=jnp):
        angle, speed = x[..., 0], x[..., 1]
        force = -xp.sin(angle) - self.damping * speed + 0.3 * xp.cos(3 * angle)
        return xp.stack([speed, force], axis=-1)


class Failing(eqx.Module):
    """x**2, which diverges, or -sqrt(x) - 0.1, which ends where x becomes negative."""

    root: float

    def __call__(self, t, x, u, xp=jnp):
        return xp.where(self.root, -xp.sqrt(x) - 0.1, x**2)


class VanDerPol(eqx.Module):
    mu: float = 1000.0

    def __call__(self, t, x, u, xp=jnp):
        place, speed = x[..., 0], x[..., 1]
        return xp.stack([speed, self.mu * (1 - place**2) * speed - place], axis=-1)


class Owner:
    """Anything that lives: work is added up for it."""


class Sliding(eqx.Module):
    """x' is -1 above zero and 1 below, so x reaches zero and stays there."""

    def __call__(self, t, x, u, xp=jnp):
        return xp.where(x > 0, -1.0, 1.0)


def reference(field, start, times, method="DOP853"):
    solution = solve_ivp(
        lambda t, x: field(t, x, None, np),
        (times[0], times[-1]), start, method, times, rtol=1e-12, atol=1e-13,
    )  # fmt: skip
    return solution.y.T


def in_numpy(field, **options):
    return NumpyField(lambda t, x, u: field(t, x, u, np), **options)


def rollout(field, starts, times=TIMES, route="numpy", **options):
    grid = np.tile(times, (len(starts), 1))
    if route == "numpy":
        return integrate(None, starts, grid, in_numpy=in_numpy(field), **options)
    return integrate(field, starts, grid, **options)


@settings(max_examples=5)
@given(arrays(float, (4, 2), elements=st.floats(-3, 3)), st.floats(0, 1))
def test_agrees_with_scipy_in_double_precision(starts, damping):
    field = Pendulum(damping)
    result = rollout(field, starts)
    assert result.x.dtype == np.float64 and result.completed.all()
    assert result.stopped_at == [None] * 4 and result.message == [""] * 4
    expected = np.stack([reference(field, start, TIMES) for start in starts])
    # near the separatrix, errors of 1e-8 grow a hundredfold per unit of time
    assert_allclose(result.x, expected, rtol=0, atol=5e-6)


@pytest.mark.parametrize("count", [1, 3, pytest.param(20, marks=pytest.mark.slow)])
def test_compiled_steps_are_those_of_numpy(count):
    starts = np.random.default_rng(0).uniform(-2, 2, (count, 2))
    one, other = (rollout(Pendulum(0.2), starts, route=route) for route in ROUTES)
    assert_allclose(one.x, other.x, rtol=0, atol=1e-12)


def test_what_is_handed_over_goes_on_where_it_was(monkeypatch):
    starts = np.array([[0.1, 0.0], [2.0, 1.0]])
    field, times = Pendulum(0.0), np.linspace(0, 60, 301)
    grid = np.tile(times, (2, 1))
    alone = integrate(None, starts, grid, in_numpy=in_numpy(field)).x
    both = {}
    for price in (0.0, 2e6, 1e12):  # at once, after some blocks, or never
        monkeypatch.setattr(rule, "COMPILATION", price)
        both[price] = integrate(field, starts, grid, in_numpy=in_numpy(field)).x
    assert_array_equal(both[1e12], alone)
    for price in (0.0, 2e6):
        assert_allclose(both[price], alone, rtol=0, atol=1e-11)
        assert (both[price] != alone).any()  # or no input was given


def test_savings_add_up_until_a_loop_of_simulations_is_compiled(monkeypatch):
    monkeypatch.setattr(rule, "COMPILATION", 1e7)
    field, starts, calls = Pendulum(0.1), np.array([[1.0, 0.0]]), []

    def slope(t, x, u):
        calls.append(len(x))
        return field(t, x, u, np)

    numpy_calls, owner = [], Owner()
    for _ in range(6):
        calls.clear()
        integrate(field, starts, TIMES[None], in_numpy=NumpyField(slope, owner=owner))
        numpy_calls.append(len(calls))
    assert numpy_calls[0] == numpy_calls[1] > 300
    assert numpy_calls[-1] == 1  # only the first derivative


def test_short_simulations_load_no_compiler():
    code = (
        "import sys, numpy as np, orthoreg as og\n"
        "t = np.linspace(0, 6, 200)\n"
        "data = og.Dataset.from_arrays(np.column_stack([np.cos(t), -np.sin(t)]), t)\n"
        "model = og.OrthoReg().fit(data)\n"
        "assert model.forecast(data)[0].completed\n"
        "assert model.simulate(np.ones((50, 2)), t).completed.all()\n"
        "print(sorted({'orthoreg.simulation._compiled', 'diffrax'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert found.stdout.strip() == "[]"


def test_jax_stays_in_single_precision_outside():
    rollout(Pendulum(0.1), np.ones((4, 2)), route="compiled")
    assert not jax.config.jax_enable_x64
    assert jnp.asarray(np.ones(1)).dtype == jnp.float32


@pytest.mark.parametrize("route", ROUTES)
def test_a_batch_equals_its_members_one_by_one(route):
    starts = np.array([[0.1, 0], [3, 2], [-1, 1], [0, -2.5]])
    together = rollout(Pendulum(0.2), starts, route=route).x
    alone = [rollout(Pendulum(0.2), start[None], route=route).x for start in starts]
    assert_allclose(together, np.concatenate(alone), rtol=1e-12, atol=1e-12)


def test_more_rollouts_than_go_side_by_side():
    starts = np.random.default_rng(0).uniform(-2, 2, (300, 2))
    few = integrate(
        Pendulum(0.2), starts, np.tile(TIMES, (300, 1)), in_numpy=in_numpy(Pendulum(0.2), cost=1e3)
    )
    assert_allclose(few.x, rollout(Pendulum(0.2), starts).x, rtol=0, atol=1e-12)


@pytest.mark.parametrize("route", ROUTES)
def test_members_of_a_batch_have_times_of_their_own(route):
    starts = np.tile([1.0, 0.5], (4, 1))
    times = np.stack([TIMES, TIMES / 2, TIMES - 5, np.full(16, 2.0)])
    given_as = {"in_numpy": in_numpy(Pendulum(0.0))} if route == "numpy" else {}
    field = None if given_as else Pendulum(0.0)
    result = integrate(field, starts, times, **given_as)
    assert_allclose(result.x[2], result.x[0], atol=1e-7)  # the field does not depend on time
    assert_allclose(result.x[1], reference(Pendulum(0.0), starts[1], times[1]), atol=1e-6)
    assert_array_equal(result.x[3], np.tile(starts[3], (16, 1)))  # without time, nothing changes
    assert result.completed.all()


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_the_unit_of_time_does_not_matter(unit):
    slow = NumpyField(lambda t, x, u: Pendulum(0.2)(t, x, u, np) / unit)
    result = integrate(None, np.array([[2.0, 0.5]]), unit * TIMES[None], in_numpy=slow)
    assert result.completed.all()
    assert_allclose(result.x[0], reference(Pendulum(0.2), [2.0, 0.5], TIMES), atol=1e-6)


@pytest.mark.parametrize("route", ROUTES)
def test_finite_time_blow_up_stops_with_a_status_and_spares_the_rest(route):
    times = np.linspace(0, 2.25, 16)
    starts = np.array([[1.0], [-1.0], [0.0], [0.4]])  # x = x0 / (1 - x0 t)
    result = rollout(Failing(0.0), starts, times, route)
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


@pytest.mark.parametrize("route", ROUTES)
def test_a_field_that_becomes_nan_ends_the_rollout(route):
    times = np.linspace(0, 4, 16)
    result = rollout(Failing(1.0), np.array([[1.0], [-1.0], [1.0], [9.0]]), times, route)
    assert result.status == [Status.stalled] * 3 + [Status.completed]
    assert "undefined" in result.message[0]
    zero_at = 2 * (1 - 0.1 * np.log(11))
    assert result.stopped_at[0] == pytest.approx(zero_at, abs=1e-5)
    assert_array_equal(np.isnan(result.x[0, :, 0]), times > zero_at)
    assert result.stopped_at[1] == 0 and result.stopped_state[1] == -1


def test_failures_are_found_in_few_steps():
    """A rollout that stops does not use up the steps of a longer one."""
    counts = []
    for root, start in ((0.0, 1.0), (1.0, 1.0)):
        calls = []

        def slope(t, x, u, root=root, calls=calls):
            calls.append(1)
            return Failing(root)(t, x, u, np)

        result = integrate(
            None, np.array([[start]]), np.array([[0.0, 4.0]]), in_numpy=NumpyField(slope)
        )
        assert not result.completed[0]
        counts.append(len(calls))
    assert max(counts) < 4000


def test_long_oscillations_are_not_cut_short():
    """300,000 steps with few output times: explicit steps continue if nothing is stiff."""
    fast = Spring(1e4)
    result = integrate(fast, np.array([[1.0, 0.0]]), np.array([[0.0, 1.0, 2.5]]))
    assert result.completed.all()
    assert_allclose(result.x[0, -1], [np.cos(2.5e4), -1e4 * np.sin(2.5e4)], rtol=0.01, atol=30)


class Spring(eqx.Module):
    rate: float

    def __call__(self, t, x, u, xp=jnp):
        return xp.stack([x[..., 1], -(self.rate**2) * x[..., 0]], axis=-1)


@pytest.mark.slow
def test_stiff_van_der_pol_completes():
    times = np.linspace(0, 2000, 9)
    result = integrate(
        VanDerPol(), np.array([[2.0, 0.0]]), times[None], in_numpy=in_numpy(VanDerPol())
    )
    assert result.status == [Status.completed]
    expected = reference(VanDerPol(), [2.0, 0.0], times, "LSODA")
    assert_allclose(result.x[0], expected, rtol=1e-5, atol=1e-9)


@pytest.mark.slow
def test_a_field_that_jumps_back_and_forth_slides():
    times = np.linspace(0, 1.02, 4)
    result = integrate(Sliding(), np.array([[1.0], [-3.0]]), np.tile(times, (2, 1)))
    assert result.completed.all()
    expected = np.stack([np.maximum(1 - times, 0), times - 3])
    assert_allclose(result.x[..., 0], expected, atol=1e-5)
