"""Intervals of constants that were estimated from derivatives of clean runs."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import orthoreg as og


def toggle_runs(rate, rows=120):
    """Two genes that repress each other, x' = rate / (1 + y**2) - x, without noise."""
    times = np.linspace(0, 8, rows)
    starts = np.random.default_rng(3).uniform(0.1, 3, size=(6, 2))
    return [
        solve_ivp(
            lambda t, z: [rate / (1 + z[1] ** 2) - z[0], rate / (1 + z[0] ** 2) - z[1]],
            (0, 8), start, t_eval=times, rtol=1e-11, atol=1e-12,
        ).y.T
        for start in starts
    ], times  # fmt: skip


def test_errors_of_derivatives_are_in_the_intervals():
    held = count = 0
    for rate in (2.2, 2.7, 3.3):
        states, times = toggle_runs(rate)
        data = og.Dataset.from_arrays(states, times, names=["x", "y"])
        model = og.OrthoReg("x + y + 1/(1 + x**2) + 1/(1 + y**2)").fit(data)
        for row in model.summary(data).terms:
            true = -1.0 if row.term in ("x", "y") else rate
            if row.coefficient:
                assert row.coefficient == pytest.approx(true, rel=1e-3)
                held, count = held + (row.low <= true <= row.high), count + 1
                assert row.high - row.low < 0.01 * abs(true)
    assert count == 12 and held >= 11
