"""Simulated systems with delays, integrated independently of the package."""

from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import orthoreg as og


def forced_oscillator(seed: int, delay: float = 0.35, noise: float = 0.02) -> og.Dataset:
    """x'' = -4 x - 0.5 x' + 2 u(t - delay), with a smooth input of six frequencies."""
    rng = np.random.default_rng(seed)
    t = 0.05 * np.arange(401)
    frequencies, phases = rng.uniform(0.3, 4, 6), rng.uniform(0, 6.28, 6)

    def u(s: Any) -> Any:
        return sum(np.sin(w * s + p) for w, p in zip(frequencies, phases, strict=True)) / 2

    def slope(s: float, z: np.ndarray) -> list[float]:
        return [z[1], -4 * z[0] - 0.5 * z[1] + 2 * u(s - delay)]

    z = solve_ivp(slope, (0, t[-1]), [1, 0], t_eval=t, rtol=1e-9, atol=1e-9).y.T
    z = z + noise * z.std(axis=0) * rng.standard_normal(z.shape)
    return og.Dataset.from_arrays(z, t, u(t)[:, None], names=["x", "v"], input_names=["u"])


def heated_plant(
    seed: int, delay: float = 1.3, *, irregular: bool = False, with_disturbance: bool = False
) -> og.Dataset:
    """x' = (2 u(t - delay) - x)/3 for an input that is held between samples, by exact steps."""
    rng = np.random.default_rng(seed)
    t = 0.5 * np.arange(300)
    if irregular:
        t = np.cumsum(rng.uniform(0.3, 1.7, 300)) * 0.5
    u = np.repeat(rng.uniform(-1, 1, 25), 12)

    def w(s: Any) -> Any:
        return np.sin(0.7 * s) + np.sin(0.31 * s + 1)

    x, fine = np.zeros(300), 50
    for i in range(299):
        x[i + 1], d = x[i], (t[i + 1] - t[i]) / fine
        for s in t[i] + (np.arange(fine) + 0.5) * d:
            drive = 2 * u[max(np.searchsorted(t, s - delay, side="right") - 1, 0)]
            drive += 0.5 * w(s) if with_disturbance else 0.0
            x[i + 1] = drive + (x[i + 1] - drive) * np.exp(-d / 3)
    x += 0.02 * x.std() * rng.standard_normal(300)
    inputs = np.column_stack([u, w(t)]) if with_disturbance else u[:, None]
    names = ["u", "w"] if with_disturbance else ["u"]
    return og.Dataset.from_arrays(x[:, None], t, inputs, names=["x"], input_names=names)


def delay_equation(slope, history: float, delay: float, until: float, every: int) -> tuple:
    """x' = slope(x, x(t - delay)) by Heun steps of a thousandth of the delay."""
    size = delay / 1000
    steps = int(until / size)
    x = np.full(steps + 1001, history)
    for i in range(1000, steps + 1000):
        first = slope(x[i], x[i - 1000])
        second = slope(x[i] + size * first, x[i - 999])
        x[i + 1] = x[i] + size * (first + second) / 2
    t = size * np.arange(steps + 1)
    return t[::every], x[1000::every]


def mackey_glass(seed: int, noise: float = 0.01) -> og.Dataset:
    """Return rows of the Mackey-Glass equation (beta = 0.2, gamma = 0.1, n = 10, tau = 17) after a
    transient."""
    t, x = delay_equation(lambda x, p: 0.2 * p / (1 + p**10) - 0.1 * x, 0.8, 17.0, 700.0, 60)
    t, x = t[t >= 200] - 200, x[t >= 200]
    x = x + noise * x.std() * np.random.default_rng(seed).standard_normal(len(x))
    return og.Dataset.from_arrays(x[:, None], t, names=["x"])


def hutchinson(seed: int) -> og.Dataset:
    """x' = 0.9 x (1 - x(t - 1.9)/2)."""
    t, x = delay_equation(lambda x, p: 0.9 * x * (1 - p / 2), 0.5, 1.9, 80.0, 105)
    x = x + 0.02 * x.std() * np.random.default_rng(seed).standard_normal(len(x))
    return og.Dataset.from_arrays(x[:, None], t, names=["x"])
