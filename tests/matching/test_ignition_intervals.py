"""Intervals where errors of the initial state grow by many orders of magnitude along a segment."""

import numpy as np
import pytest

import orthoreg as og
from benchmarks.truth._systems import SYSTEMS


@pytest.mark.slow
def test_intervals_of_an_ignition_contain_the_truth():
    """Computed from the initial states alone, the intervals were 1e-20 wide because of rounding."""
    drawn = SYSTEMS["reactor with ignition"].drawn(1)
    runs = drawn.simulate(600, 3, 1)
    rng = np.random.default_rng(1)
    std = np.concatenate(runs.states).std(axis=0)
    noisy = [run + 0.005 * std * rng.standard_normal(run.shape) for run in runs.states]
    data = og.Dataset.from_arrays(noisy, runs.times, runs.inputs, ["C", "T"], input_names=["Tc"])
    given = {"C": "1 - C - k*exp(-E/T)*C", "T": "350 - T + h*k*exp(-E/T)*C - w*(T - Tc)"}
    model = og.OrthoReg("poly(1)", physics=og.Physics(equations=given)).fit(data)
    for name in ("k", "E", "h", "w"):
        true, (low, high) = drawn.constants[name], model.parameter_intervals_[name]
        assert low <= true <= high, name
        assert 1e-5 < (high - low) / true < 0.2, name
