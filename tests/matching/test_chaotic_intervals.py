"""Intervals of chaotic systems: beyond the horizon the likelihood has many maxima."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import orthoreg as og

TRUTH = {("x", "x"): -10.0, ("x", "y"): 10.0, ("y", "x"): 28.0, ("y", "y"): -1.0,
         ("y", "x*z"): -1.0, ("z", "z"): -8 / 3, ("z", "x*y"): 1.0}  # fmt: skip


def lorenz(t, s):
    return [10 * (s[1] - s[0]), s[0] * (28 - s[2]) - s[1], s[0] * s[1] - 8 / 3 * s[2]]


@pytest.mark.slow
def test_intervals_of_lorenz_hold_though_runs_are_far_longer_than_its_horizon():
    rng = np.random.default_rng(0)
    times = np.linspace(0, 20, 1000)
    runs = [
        solve_ivp(lorenz, (0, 20), start, t_eval=times, rtol=1e-10, atol=1e-10).y.T
        for start in rng.uniform([-8, -8, 20], [8, 8, 30], size=(3, 3))
    ]
    spread = np.concatenate(runs).std(axis=0)
    noisy = [run + 0.01 * spread * rng.standard_normal(run.shape) for run in runs]
    data = og.Dataset.from_arrays(noisy, times, names=["x", "y", "z"])
    model = og.OrthoReg("poly(2)").fit(data)
    assert model.refinement_.segment_rows < 600
    rows = {(row.equation, row.term): row for row in model.summary().terms if row.coefficient}
    assert set(rows) == set(TRUTH)
    ends = {key: (row.low or 0.0, row.high or 0.0) for key, row in rows.items()}
    held = sum(ends[key][0] <= value <= ends[key][1] for key, value in TRUTH.items())
    assert held >= 6
