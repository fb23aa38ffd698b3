"""Intervals of correlated constants: joint, in any unit, within bounds, curved where needed."""

import numpy as np
import pytest
from conftest import field_of, solved

import orthoreg as og
from orthoreg.refinement import refine


def reactor(seed, noise=0.01, count=4):
    """c' = -k0 exp(-E/T) c, T' = q k0 exp(-E/T) c - h (T - 340), with k0 of 7.2e10."""
    rng = np.random.default_rng(seed)
    t = np.linspace(0, 5, 100)

    def slope(t, z):
        rate = 7.2e10 * np.exp(-8750 / z[1]) * z[0]
        return [-rate, 40 * rate - 0.3 * (z[1] - 340)]

    exact = solved(slope, rng.uniform([0.7, 335], [1.3, 350], (count, 2)), t)
    size = noise * np.concatenate(exact).std(axis=0)
    noisy = [x + size * rng.standard_normal(x.shape) for x in exact]
    return og.Dataset.from_arrays(noisy, t, names=["c", "T"])


@pytest.mark.parametrize(
    ("unit", "term"),
    [(1, "c*exp(-E/T)"), (1e4, "10000*c*exp(-E/T)"), (1e10, "10000000000*c*exp(-E/T)")],
)
def test_intervals_are_joint_in_any_unit_of_a_constant(unit, term):
    data = reactor(0)
    k0 = 7.2e10 / unit
    field = field_of([term, "1", "T"], ["c", "T"], [[-k0, 0, 0], [40 * k0, 102, -0.3]], [8750.0])
    found = refine(field, data, bounds={"E": (1e3, 2e4)})
    assert found.kept and found.parameters == ("E",)
    errors = found.standard_errors
    assert errors[-1] == pytest.approx(13.4, rel=0.05)  # 0.5 if the others were known
    assert errors[0] * unit == pytest.approx(2.61e9, rel=0.05)
