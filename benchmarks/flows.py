"""Systems of the suite and their runs."""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np

import orthoreg as og

STEP = 0.05


def runs(
    count: int,
    rows: int,
    slope: Callable[[np.ndarray], np.ndarray],
    dimension: int = 2,
    seed: int = 0,
) -> tuple[list[np.ndarray], np.ndarray]:
    """Return runs from random initial states and their times, five Runge-Kutta steps per row."""
    x = np.random.default_rng(seed).uniform(-2, 2, (count, dimension))
    states, h = [x], STEP / 5
    for _ in range(rows - 1):
        for _ in range(5):
            k1 = slope(x)
            k2 = slope(x + h / 2 * k1)
            k3 = slope(x + h / 2 * k2)
            k4 = slope(x + h * k3)
            x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        states.append(x)
    return list(np.stack(states, axis=1)), STEP * np.arange(rows)


def pendulum(x: np.ndarray, missing: float = 0.0) -> np.ndarray:
    """Return derivatives of a damped pendulum. `missing` multiplies a term outside the default
    library."""
    force = -np.sin(x[:, 0]) - 0.2 * x[:, 1] + missing * np.tanh(4 * x[:, 0])
    return np.stack([x[:, 1], force], axis=1)


def incomplete(x: np.ndarray) -> np.ndarray:
    return pendulum(x, 0.5)


def chain(x: np.ndarray) -> np.ndarray:
    """Return derivatives of damped oscillators that are coupled to their neighbours (positions,
    then velocities)."""
    n = x.shape[1] // 2
    q, v = x[:, :n], x[:, n:]
    a = -1.2 * q - 0.15 * v
    a[:, 1:] += 0.5 * (q[:, :-1] - q[:, 1:])
    a[:, :-1] += 0.5 * (q[:, 1:] - q[:, :-1])
    return np.hstack([v, a])


def chain_support(n: int) -> np.ndarray:
    """Return the mask of variables in each equation of the chain."""
    near = np.abs(np.subtract.outer(np.arange(n), np.arange(n))) <= 1
    own = np.eye(n, dtype=bool)
    return np.block([[np.zeros_like(own), own], [near, own]])


@lru_cache(maxsize=4)
def dataset(
    count: int,
    rows: int,
    slope: Callable[[np.ndarray], np.ndarray] = pendulum,
    dimension: int = 2,
    noise: float = 0.0,
) -> og.Dataset:
    states, times = runs(count, rows, slope, dimension)
    if noise:
        rng = np.random.default_rng(1)
        states = [run + noise * run.std(axis=0) * rng.standard_normal(run.shape) for run in states]
    return og.Dataset.from_arrays(states, times)


def write_table(file: Path, count: int, rows: int) -> None:
    """Write runs of the pendulum as CSV with the columns run, t, theta and omega."""
    states, times = runs(count, rows, pendulum)
    number = np.repeat(np.arange(count), rows)
    columns = np.column_stack([number, np.tile(times, count), np.concatenate(states)])
    np.savetxt(file, columns, delimiter=",", header="run,t,theta,omega", comments="", fmt="%.12g")
