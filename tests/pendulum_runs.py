"""Runs of pendulums of different lengths, for tests of constants per run."""

import numpy as np
from scipy.integrate import solve_ivp

import orthoreg as og


def pendulums(count=8, noise=0.02, seed=0):
    """Return runs of pendulums of different lengths, and the lengths."""
    rng = np.random.default_rng(seed)
    lengths, t, runs = rng.uniform(0.5, 2, count), np.arange(0, 6, 0.05), []
    for length in lengths:
        x = solve_ivp(
            lambda t, x, length=length: [x[1], -9.81 / length * np.sin(x[0]) - 0.1 * x[1]],
            (0, t[-1]), [rng.uniform(0.5, 2), 0], t_eval=t, rtol=1e-9, atol=1e-9,
        ).y.T  # fmt: skip
        runs.append(x + noise * x.std(axis=0) * rng.standard_normal(x.shape))
    return og.Dataset.from_arrays(runs, t, names=["theta", "omega"]), lengths


KNOWN = {"theta": "omega", "omega": "-m*sin(theta) - c*omega"}
