"""exp(-E/T): rates that depend on a temperature in kelvin."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import orthoreg as og
from orthoreg.data import Extent
from orthoreg.search.formulas._catalogue import catalogue
from orthoreg.terms import to_text

E, RATE = 5000.0, 0.5 * np.exp(5000.0 / 350.0)


def reactor(noise: float) -> og.Dataset:
    """c' = -k c and T' = 60 k c - 0.3 (T - 300) with k = k0 exp(-E/T), T from 310 to 430 K."""

    def slope(_: float, z: np.ndarray) -> list[float]:
        flow = RATE * np.exp(-E / z[1]) * z[0]
        return [-flow, 60 * flow - 0.3 * (z[1] - 300)]

    t, rng = np.linspace(0, 8, 150), np.random.default_rng(0)
    starts = ([1.0, 330.0], [2.0, 345.0], [0.5, 390.0], [1.5, 310.0])
    runs = [solve_ivp(slope, (0, 8), one, t_eval=t, rtol=1e-9, atol=1e-10).y.T for one in starts]
    size = noise * np.concatenate(runs).std(axis=0)
    return og.Dataset.from_arrays(
        [run + size * rng.standard_normal(run.shape) for run in runs], t, names=["c", "T"]
    )


def texts(states: np.ndarray) -> list[str]:
    return [to_text(one.expression) for one in catalogue(["c", "T"], Extent.of(states))]


def test_the_law_is_offered_for_positive_variables_alone():
    c, T = np.linspace(0, 1, 50), np.linspace(300, 400, 50)
    assert {"exp(-p/T)", "c*exp(-p/T)"} <= set(texts(np.column_stack([c, T])))
    assert not any("/c)" in text and "exp" in text for text in texts(np.column_stack([c, T])))
    assert not any("exp(-p/T)" in text for text in texts(np.column_stack([c, T - 350])))


def test_columns_differ_over_a_narrow_range():
    states = np.column_stack([np.linspace(0, 1, 50), np.linspace(300, 302, 50)])
    shapes = catalogue(["c", "T"], Extent.of(states))
    (law,) = [one for one in shapes if to_text(one.expression) == "exp(-p/T)"]
    columns = law.columns(states, law.grid)
    assert np.isfinite(columns).all() and (columns > 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_a_missing_rate_is_named(noise):
    data = reactor(noise)
    explained = og.OrthoReg("poly(2)", og.Zero()).fit(data).explain(data)
    for equation in ("c", "T"):
        first = next(one for one in explained.proposals if one.equation == equation)
        assert "c*exp(-" in first.formula and first.formula.endswith("/T)")
        (energy,) = [one for one in first.constants if one.name.startswith("p in ")]
        assert abs(energy.value / E - 1) < 0.05
    best = og.discover(data, "poly(2)").best
    assert all("c*exp(-" in line and "/T)" in line for line in best.equations())
