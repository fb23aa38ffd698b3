"""`to_jax()`: a pure function with the values, gradients and parameters of the model."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import orthoreg as og
from orthoreg._common.errors import InputError

X = np.random.default_rng(0).uniform(0.1, 0.9, (100, 2))
FAR = np.vstack([X[::20], 1.5 * X[::20] - 0.2, 4 * X[::20] - 2])
SLOPES = np.column_stack([2 - 3 * X[:, 1] + 0.3 * np.cos(9 * X[:, 0]), -X[:, 0] * X[:, 1]])
DATA = og.Dataset.from_arrays(X, 1.0, names=["S", "v"], derivatives=SLOPES)


def hybrid():
    return og.OrthoReg("poly(2)", og.RandomFeatures(20)).fit(DATA)


def test_values_are_those_of_predict_near_and_far():
    model = hybrid()
    with jax.enable_x64(True):
        field, parameters = model.to_jax()
        own = jnp.stack([field(0.0, jnp.asarray(row)) for row in FAR])
        given = field(0.0, jnp.asarray(FAR[0]), parameters)
    assert_allclose(own, model.predict(FAR), rtol=1e-11, atol=1e-11)
    assert_allclose(given, own[0], rtol=1e-15)
    assert field.states == ("S", "v") and field.terms == ("1", "v", "S*v")


def test_single_precision_is_what_jax_has_when_told_nothing():
    model = hybrid()
    value = model.to_jax()(0.0, X[0])
    assert value.dtype == jnp.float32
    assert_allclose(value, model.predict(X[:1])[0], rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("symmetry", [og.Odd(), og.Periodic("a"), None], ids=repr)
def test_it_is_compiled_mapped_and_differentiated(symmetry):
    signed = 2 * X - 1
    slopes = np.column_stack([signed[:, 1], -np.sin(3 * signed[:, 0]) - 0.3 * signed[:, 1] ** 3])
    data = og.Dataset.from_arrays(signed, 1.0, names=["a", "b"], derivatives=slopes)
    physics = None if symmetry is None else og.Physics(symmetry=symmetry)
    model = og.OrthoReg("poly(1)", og.RandomFeatures(12, ridge=1e-6), physics=physics).fit(data)
    with jax.enable_x64(True):
        field = model.to_jax()
        values = jax.jit(jax.vmap(lambda x: field(0.0, x)))(FAR)
        assert_allclose(values, model.predict(FAR), rtol=1e-10, atol=1e-10)
        jacobian = jax.jacfwd(lambda x: field(0.0, x))(jnp.asarray(X[0]))
        step = 1e-6 * np.eye(2)
        expected = (model.predict(X[0] + step) - model.predict(X[0] - step)).T / 2e-6
        assert_allclose(jacobian, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.slow
def test_gradients_reach_every_parameter_and_only_terms_in_use():
    slopes = np.column_stack([X[:, 1], -X[:, 0] / (0.4 + X[:, 0])])
    data = og.Dataset.from_arrays(X, 1.0, names=["S", "v"], derivatives=slopes)
    model = og.OrthoReg("poly(1) + S/(K + S)", og.Zero()).fit(data)
    with jax.enable_x64(True):
        field, start = model.to_jax()
        assert_allclose(start["constants"]["K"], 0.4, rtol=1e-6)

        def error(parameters):
            values = jax.vmap(lambda x: field(0.0, x, parameters))(jnp.asarray(X))
            return jnp.mean((values - 1.1 * slopes) ** 2)

        gradient = jax.grad(error)(start)
        used = np.asarray(start["coefficients"]) != 0
        assert (np.asarray(gradient["coefficients"]) != 0).tolist() == used.tolist()
        assert gradient["constants"]["K"] != 0
        import optax

        optimizer = optax.adam(0.02)
        state, parameters, step = optimizer.init(start), start, jax.jit(jax.grad(error))
        for _ in range(60):
            updates, state = optimizer.update(step(parameters), state)
            parameters: Any = optax.apply_updates(parameters, updates)
        assert error(parameters) < 0.01 * error(start)
        assert ((np.asarray(parameters["coefficients"]) != 0) == used).all()


@pytest.mark.slow
def test_a_layered_network_can_be_trained_further():
    model = og.OrthoReg("poly(1)", og.MLP(5, 2, ridge=1e-6), gate=None).fit(DATA)
    field, parameters = model.to_jax()
    gradient = jax.grad(lambda p: jnp.sum(field(0.0, X[0], p) ** 2))(parameters)
    assert len(gradient["layers"]) == 2
    assert all(np.any(weight) and np.any(bias) for weight, bias in gradient["layers"])
    assert np.any(gradient["weights"])


@pytest.mark.slow
def test_diffrax_solves_it_as_simulate_does():
    import diffrax

    t = np.linspace(0, 8, 161)
    x = np.column_stack([np.cos(t), -np.sin(t)])
    model = og.OrthoReg("poly(1)", og.Zero()).fit(x, t=t)
    with jax.enable_x64(True):
        field = model.to_jax()
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(field), diffrax.Tsit5(), 0.0, 8.0, 0.01, jnp.array([1.0, 0.0]),
            args=field.parameters, saveat=diffrax.SaveAt(ts=t),
            stepsize_controller=diffrax.PIDController(rtol=1e-9, atol=1e-9),
        )  # fmt: skip
    assert_allclose(solution.ys, model.simulate([1.0, 0.0], t).x, atol=1e-6)


def test_inputs_and_time():
    u = X[:, :1] ** 2
    model = og.OrthoReg("poly(1)", og.Zero()).fit(X, SLOPES + u, u=u)
    with jax.enable_x64(True):
        field = model.to_jax()
        value = field(0.0, jnp.asarray(X[3]), u=u[3])
        assert_allclose(value, model.predict(X[3:4], u[3:4])[0], rtol=1e-12)
        with pytest.raises(InputError, match="has the inputs 'u0'; pass their values as u="):
            field(0.0, X[0])
        with pytest.raises(InputError, match=r"u must have the shape \(1,\); got \(2,\)"):
            field(0.0, X[0], u=[1.0, 2.0])
        t = np.linspace(0, 6, 300)
        x = (np.exp(-t) + (np.cos(t) + np.sin(t)) / 2)[:, None]
        physics = og.Physics(equations={"x0": "-x0 + a*cos(t)"})
        clocked = og.OrthoReg("poly(1)", og.Zero(), physics=physics).fit(x, t=t)
        value = clocked.to_jax()(0.5, jnp.array([0.2]))
        constant = clocked.parameters_["a"]
        assert_allclose(value, [-0.2 + constant * np.cos(0.5)], rtol=1e-12)
