"""Fields from formulas, and their exact trajectories."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from orthoreg.data import Dataset
from orthoreg.field import TanhLayers
from orthoreg.field.hybrid import HybridField
from orthoreg.terms import Terms, bind


def field_of(terms, variables, coefficients, parameters=()):
    """Return a field of these terms, in this order, without a residual."""
    coefficients = np.array(coefficients, dtype=float)
    states = variables[: len(coefficients)]
    features = bind(Terms(terms), variables, states).with_values(parameters)
    assert list(features.names) == list(terms)
    none = np.zeros(len(variables))
    return HybridField(
        features, coefficients, TanhLayers(none, none + 1, (), ()), np.zeros((0, len(states))),
        np.zeros_like(coefficients), None, np.array(parameters, dtype=float),
    )  # fmt: skip


def solved(rhs, starts, t):
    """Return exact runs from these starts."""
    return [
        solve_ivp(rhs, (t[0], t[-1]), x0, t_eval=t, rtol=1e-11, atol=1e-12).y.T for x0 in starts
    ]


def lotka_volterra(t, z):
    return [1.1 * z[0] - 0.4 * z[0] * z[1], -0.4 * z[1] + 0.1 * z[0] * z[1]]


LV_TERMS = ["x", "y", "x*y"]
LV_TRUE = np.array([[1.1, 0, -0.4], [0, -0.4, 0.1]])


@pytest.fixture(scope="session")
def lv_runs():
    t = np.linspace(0, 12, 120)
    return t, solved(lotka_volterra, [[5.0, 2.0], [8.0, 4.0], [3.0, 3.0], [10.0, 2.0]], t)


@pytest.fixture(scope="session")
def noisy_lv(lv_runs):
    """Four runs with 3% noise."""
    t, runs = lv_runs
    rng = np.random.default_rng(1)
    size = 0.03 * np.concatenate(runs).std(axis=0)
    noisy = [x + size * rng.standard_normal(x.shape) for x in runs]
    return Dataset.from_arrays(noisy, t, names=["x", "y"])
