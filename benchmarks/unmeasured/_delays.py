"""Systems with delays, integrated independently of the package."""

from typing import Any

import numpy as np

import orthoreg as og

from ._systems import noisy, trajectory


def forced_oscillator(delay: float, rng: np.random.Generator) -> og.Dataset:
    """Return x'' = -4 x - 0.5 x' + 2 u(t - delay) with 2% noise, for a smooth input of six
    frequencies."""
    t = 0.05 * np.arange(401)
    frequencies, phases = rng.uniform(0.3, 4, 6), rng.uniform(0, 6.28, 6)

    def u(s: Any) -> Any:
        return sum(np.sin(w * s + p) for w, p in zip(frequencies, phases, strict=True)) / 2

    x = trajectory(lambda s, z: [z[1], -4 * z[0] - 0.5 * z[1] + 2 * u(s - delay)], [1.0, 0.0], t)
    return og.Dataset.from_arrays(
        noisy(x, 0.02, rng), t, u(t)[:, None], names=["x", "v"], input_names=["u"]
    )


def mackey_glass(rng: np.random.Generator) -> og.Dataset:
    """Return 500 rows of x' = 0.2 p/(1 + p**10) - 0.1 x with p = x(t - 17) and 1% noise. [Heun's
    method]"""
    steps, h = 41_176, 0.017
    x = np.full(steps + 1001, 0.8)

    def slope(x: float, p: float) -> float:
        return 0.2 * p / (1 + p**10) - 0.1 * x

    for i in range(1000, steps + 1000):
        first = slope(x[i], x[i - 1000])
        x[i + 1] = x[i] + h * (first + slope(x[i] + h * first, x[i - 999])) / 2
    t, x = h * np.arange(steps + 1)[::60], x[1000::60]
    late = t >= 200
    return og.Dataset.from_arrays(noisy(x[late, None], 0.01, rng), t[late] - 200, names=["x"])
