"""Systems with delays, integrated independently of the package."""

from typing import Any

import numpy as np

import orthoreg as og

from ._systems import forced, noisy, observed, steps, trajectory


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


def motor(rng: np.random.Generator) -> og.Dataset:
    """i' = 5 u(t - 0.35) - 3 i - w, w' = 2 i - 0.7 w: a run of 500 rows of w with 2% noise; the
    current i is hidden. The input is held for 20 rows of 0.05, so that 0.35 are seven rows."""
    rows, late = 500, 7
    u = steps(rows, 20, -1, 1, rng)

    def field(x: np.ndarray, u: float) -> np.ndarray:
        return np.array([5 * u - 3 * x[0] - x[1], 2 * x[0] - 0.7 * x[1]])

    earlier = np.concatenate([np.full(late, u[0]), u[:-late]])
    x = forced(field, [0.0, 0.0], 0.05 * np.arange(rows), earlier)
    return observed(
        [x], 0.05 * np.arange(rows), ["i", "w"], ["i"], 0.02, rng, inputs=[u]
    )  # fmt: skip


def oscillators(stiffness: np.ndarray, rng: np.random.Generator) -> og.Dataset:
    """x'' = -k x - 0.5 x' + 2 u(t - 0.35): a run of 150 rows with 2% noise for each k."""
    t, runs, inputs = 0.05 * np.arange(150), [], []
    for k in stiffness:
        frequencies, phases = rng.uniform(0.3, 4, 6), rng.uniform(0, 6.28, 6)

        def u(s: Any, w: np.ndarray = frequencies, p: np.ndarray = phases) -> Any:
            return np.sin(np.multiply.outer(s, w) + p).sum(axis=-1) / 2

        def slope(s: float, z: np.ndarray, k: float = k, u: Any = u) -> list[float]:
            return [z[1], -k * z[0] - 0.5 * z[1] + 2 * u(s - 0.35)]

        runs.append(trajectory(slope, [1.0, 0.0], t))
        inputs.append(u(t))
    return observed(runs, t, ["x", "v"], [], 0.02, rng, inputs)


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
