"""Intervals of constants that were estimated from derivatives of clean runs."""

from dataclasses import replace

import numpy as np
import pytest

import orthoreg as og

OFF = 1e-3  # relative error of all derivatives, which is the same in all runs


def decays():
    times = np.linspace(0, 5, 120)
    runs = [np.outer(np.exp(-0.7 * times), [start]) for start in (1.0, 1.5, 2.0, 2.5)]
    return og.Dataset.from_arrays(runs, times, names=["x"])


def test_intervals_include_errors_common_to_all_derivatives(monkeypatch):
    observe = og.VectorField.observe

    def biased(self, data):
        rows = observe(self, data)
        error = (OFF * rows.targets) ** 2
        return replace(rows, targets=(1 + OFF) * rows.targets, target_mse=error.mean(axis=0))

    monkeypatch.setattr(og.VectorField, "observe", biased)
    model = og.OrthoReg("x + x**2", og.Zero(), loss=og.VectorField()).fit(decays())
    (row,) = [row for row in model.summary().terms if row.coefficient]
    assert row.coefficient == pytest.approx(-0.7 * (1 + OFF), rel=1e-6)
    assert row.low is not None and row.high is not None
    assert row.low <= -0.7 <= row.high
    assert row.high - row.low < 10 * OFF * 0.7
