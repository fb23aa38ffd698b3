"""A direct implementation of the paper's Algorithm 1 in JAX: a network, coefficients, one loss, a
compiled Adam step, and a Python loop."""

from collections.abc import Callable
from typing import Any

import numpy as np

_LAM, _MU, _RATE = 0.005, 0.003, 1e-3


def plain_loop(x: Any, y: Any, width: int = 128, depth: int = 3) -> Callable[[int], Any]:
    """Return a function that trains for a number of epochs from the start."""
    import jax
    import jax.numpy as jnp
    import optax

    rng = np.random.default_rng(0)
    x, y = (jnp.asarray(np.asarray(array), jnp.float32) for array in (x, y))
    sizes = [x.shape[1], *[width] * depth, y.shape[1]]
    layers = [
        (jnp.asarray(rng.normal(size=pair) / np.sqrt(pair[0]), jnp.float32), jnp.zeros(pair[1]))
        for pair in zip(sizes[:-1], sizes[1:], strict=True)
    ]

    def library(x: Any) -> Any:
        a, b = x[:, :1], x[:, 1:]
        one = jnp.ones_like(a)
        trigonometric = [jnp.sin(a), jnp.cos(a), jnp.sin(b), jnp.cos(b)]
        return jnp.concatenate([one, a, b, a * a, a * b, b * b, *trigonometric], axis=1)

    def network(layers: Any, x: Any) -> Any:
        for weight, bias in layers[:-1]:
            x = jnp.tanh(x @ weight + bias)
        weight, bias = layers[-1]
        return x @ weight + bias

    def loss(parameters: Any) -> Any:
        coefficients, layers = parameters
        phi, residual = library(x), network(layers, x)
        overlap = phi.T @ residual / len(x)
        error = ((y - phi @ coefficients - residual) ** 2).sum(1).mean()
        return error + _MU * jnp.abs(coefficients).sum() + _LAM * (overlap**2).sum()

    rule = optax.adam(_RATE)

    @jax.jit
    def epoch(parameters: Any, state: Any) -> Any:
        change, state = rule.update(jax.grad(loss)(parameters), state)
        return optax.apply_updates(parameters, change), state

    first = (jnp.zeros((10, y.shape[1])), layers)

    def train(epochs: int) -> Any:
        parameters, state = first, rule.init(first)
        for _ in range(epochs):
            parameters, state = epoch(parameters, state)
        return jax.block_until_ready(parameters)

    return train
