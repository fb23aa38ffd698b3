"""Models for tests of linearizations, equilibria and observers."""

from functools import cache

import numpy as np
from scipy.integrate import solve_ivp

import orthoreg as og


def simulated(rate, starts, times, noise=0.0, seed=0):
    """Return one run per start, with relative noise."""
    rng, runs = np.random.default_rng(seed), []
    for start in starts:
        x = solve_ivp(
            rate, (times[0], times[-1]), start, t_eval=times, rtol=1e-9, atol=1e-10
        ).y.T  # fmt: skip
        runs.append(x + noise * x.std(axis=0) * rng.standard_normal(x.shape))
    return runs


@cache
def pendulum(noise=0.02):
    """Return the fitted model of a damped pendulum."""
    runs = simulated(
        lambda t, x: [x[1], -np.sin(x[0]) - 0.2 * x[1]],
        [(2.0, 0.0), (1.0, 1.0), (-2.5, 0.5)], np.arange(0, 12, 0.05), noise,
    )  # fmt: skip
    data = og.Dataset.from_arrays(runs, np.arange(0, 12, 0.05), names=["theta", "omega"])
    return og.OrthoReg().fit(data), data


@cache
def hybrid(symmetric=False, hold=True):
    """Return a model with a residual, a correction and a gate, and an input."""
    rng = np.random.default_rng(0)
    z = rng.uniform(-1.5, 1.5, (500, 3))
    y = np.column_stack([z[:, 1], np.sin(2 * z[:, 0]) - 0.3 * z[:, 1] + z[:, 2] * z[:, 0]])
    physics = og.Physics(symmetry=og.Odd()) if symmetric else None
    model = og.OrthoReg(
        og.Polynomial(1), og.RandomFeatures(40, weight_scale=1.0), orthogonality=np.inf,
        selection=None, gate=og.Gate(hold=hold), physics=physics,
    )  # fmt: skip
    return model.fit(z[:, :2], y, u=z[:, 2:])


def differences(function, z, step=1e-6):
    """Return the derivatives of a function of rows (N, V) -> (N, c) by central differences."""
    columns = []
    for j in range(z.shape[1]):
        moved = np.zeros_like(z)
        moved[:, j] = step
        columns.append((function(z + moved) - function(z - moved)) / (2 * step))
    return np.stack(columns, axis=2)
