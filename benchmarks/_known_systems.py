"""Runs of systems with partly known physics."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import orthoreg as og

LENGTH, GRAVITY, DAMPING = 0.8, 9.81, 0.15
KNOWN_OF_PENDULUM = og.Physics(
    equations={"theta": "omega", "omega": "-g/L*sin(theta) + ..."}, values={"g": GRAVITY}
)


def swings(noise: float, seed: int) -> og.Dataset:
    def rate(x: np.ndarray) -> np.ndarray:
        return np.stack([x[1], -GRAVITY / LENGTH * np.sin(x[0]) - DAMPING * x[1]])

    starts = np.random.default_rng(seed).uniform(-2, 2, (6, 2))
    return _solved(rate, starts, np.linspace(0, 5, 201), ["theta", "omega"], noise, seed)


def epidemic(extra: float) -> og.Dataset:
    def rate(x: np.ndarray) -> np.ndarray:
        flow = 0.6 * x[0] * x[1] / (1 + extra * x[1])
        return np.stack([-flow, flow - 0.25 * x[1], 0.25 * x[1]])

    starts = [[0.99, 0.01, 0.0], [0.7, 0.05, 0.25], [0.85, 0.15, 0.0], [0.95, 0.05, 0.0]]
    return _solved(rate, starts, np.linspace(0, 40, 161), ["S", "I", "R"])


def prey() -> og.Dataset:
    def rate(x: np.ndarray) -> np.ndarray:
        return np.stack([x[0] - 0.4 * x[0] * x[1], -0.8 * x[1] + 0.4 * x[0] * x[1]])

    starts = [[1, 1], [3, 2], [2, 4], [1, 3]]
    return _solved(rate, starts, np.linspace(0, 8, 161), ["x", "y"], 0.01)


def lorenz() -> og.Dataset:
    def rate(x: np.ndarray) -> np.ndarray:
        return np.stack([10 * (x[1] - x[0]), x[0] * (28 - x[2]) - x[1], x[0] * x[1] - 8 / 3 * x[2]])

    return _solved(rate, [[1, 1, 20]], np.linspace(0, 20, 2001), ["x", "y", "z"])


def _solved(
    rate: Callable[[np.ndarray], np.ndarray],
    starts: Any,
    times: np.ndarray,
    names: Sequence[str],
    noise: float = 0.0,
    seed: int = 0,
) -> og.Dataset:
    """Return solutions from these starts, with noise in standard deviations of the states."""
    from scipy.integrate import solve_ivp

    runs = [
        solve_ivp(lambda t, x: rate(x), times[[0, -1]], start, t_eval=times, rtol=1e-9,
                  atol=1e-10).y.T
        for start in starts
    ]  # fmt: skip
    rng = np.random.default_rng(seed)
    size = noise * np.concatenate(runs).std(axis=0)
    noisy = [run + size * rng.standard_normal(run.shape) for run in runs]
    return og.Dataset.from_arrays(noisy, times, names=names)
