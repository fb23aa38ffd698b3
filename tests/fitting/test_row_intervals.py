"""Intervals of constants that were estimated from derivatives of clean runs."""

import numpy as np
from scipy.integrate import solve_ivp

import orthoreg as og


def enzyme_runs(k, r, p):
    """Substrate, complex and product of an enzyme, without noise."""
    times = np.linspace(0, 6, 200)

    def rates(t, z):
        bound = k * z[0] * (1 - z[1])
        return [-bound + r * z[1], bound - (r + p) * z[1], p * z[1]]

    starts = np.random.default_rng(3).uniform([0.5, 0, 0], [3.0, 0.3, 0.5], size=(6, 3))
    runs = [
        solve_ivp(rates, (0, 6), start, t_eval=times, rtol=1e-11, atol=1e-12).y.T
        for start in starts
    ]
    return og.Dataset.from_arrays(runs, times, names=["S", "C", "P"])


def test_errors_of_derivatives_are_in_the_intervals():
    held = count = 0
    for k, r, p in ((2.0, 0.5, 1.0), (2.1, 0.49, 1.09), (1.8, 0.6, 0.9)):
        data = enzyme_runs(k, r, p)
        model = og.OrthoReg("poly(2)").fit(data)
        truth = {("S", "S"): -k, ("S", "C"): r, ("S", "S*C"): k, ("C", "S"): k,
                 ("C", "C"): -(r + p), ("C", "S*C"): -k, ("P", "C"): p}  # fmt: skip
        rows = {(row.equation, row.term): row for row in model.summary().terms if row.coefficient}
        assert set(rows) == set(truth)
        for key, value in truth.items():
            held, count = held + (rows[key].low <= value <= rows[key].high), count + 1
            assert rows[key].high - rows[key].low < 0.02 * abs(value)
    assert count == 21 and held >= 19
