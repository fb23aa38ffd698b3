"""Simulated runs with unmeasured states, with constants per run, and of maps."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import orthoreg as og

Field = Callable[[float, np.ndarray], Sequence[float]]


def noisy(x: np.ndarray, noise: float, rng: np.random.Generator) -> np.ndarray:
    """Return columns with noise relative to their standard deviations."""
    return x + noise * x.std(axis=0) * rng.standard_normal(x.shape)


def trajectory(field: Field, start: Sequence[float], t: np.ndarray) -> np.ndarray:
    return solve_ivp(field, (t[0], t[-1]), start, t_eval=t, rtol=1e-9, atol=1e-9).y.T


def forced(
    field: Callable[[np.ndarray, float], np.ndarray], start: Sequence[float], t: np.ndarray,
    u: np.ndarray, substeps: int = 20,
) -> np.ndarray:  # fmt: skip
    """Return states at equal steps for an input that is held between rows. [Runge-Kutta]"""
    x, states, h = np.array(start, float), [], (t[1] - t[0]) / substeps
    for value in u:
        states.append(x)
        for _ in range(substeps):
            a = field(x, value)
            b = field(x + h / 2 * a, value)
            c = field(x + h / 2 * b, value)
            x = x + h / 6 * (a + 2 * b + 2 * c + field(x + h * c, value))
    return np.array(states)


def steps(rows: int, hold: int, low: float, high: float, rng: np.random.Generator) -> np.ndarray:
    """Return a random input that changes every `hold` rows."""
    return np.repeat(rng.uniform(low, high, rows // hold + 1), hold)[:rows]


def observed(
    states: Sequence[np.ndarray], t: np.ndarray, names: Sequence[str], hidden: Sequence[str],
    noise: float, rng: np.random.Generator, inputs: Sequence[np.ndarray] | None = None,
) -> og.Dataset:  # fmt: skip
    """Return the measured columns of runs with noise. An input is called "u"."""
    columns = [j for j, name in enumerate(names) if name not in hidden]
    return og.Dataset.from_arrays(
        [noisy(x[:, columns], noise, rng) for x in states],
        [t] * len(states),
        None if inputs is None else [u[:, None] for u in inputs],
        names=[names[j] for j in columns],
        input_names=None if inputs is None else ["u"],
        hidden=list(hidden),
    )


def fitted(data: og.Dataset, library: Any = None, **physics: Any) -> Any:
    settings = {} if library is None else {"library": library}
    return og.OrthoReg(**settings, physics=og.Physics(**physics) if physics else None).fit(data)
