"""A residual that the equations need is reported even if their misfit is small."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import orthoreg as og
from orthoreg.matching import Misfit


def left(systematic, chance=1e-6):
    return Misfit(systematic, 1e-7, systematic, chance, 5e-4)


def test_two_models_are_compared_below_what_a_single_one_is_judged_by():
    assert left(3e-4).is_explained_by(left(2e-5)) and not left(3e-4).exceeds_noise
    assert not left(3e-4).is_explained_by(left(2e-4))  # hardly better
    assert not left(5e-5).is_explained_by(left(1e-6))  # differences that files round away
    assert not left(3e-4, chance=4e-4).is_explained_by(left(2e-5))  # noise


@pytest.mark.slow
def test_a_sine_that_imitates_a_cube_is_not_called_right():
    """The rows are many and clean, and the equations are wrong by 0.03% of the motion."""
    t = np.arange(0, 250, 0.01)

    def duffing(_, z):
        return [z[1], -z[0] - 0.5 * z[0] ** 3 - 0.1 * z[1]]

    starts = ((0.9, 0.0), (-0.45, 0.72))
    runs = [
        solve_ivp(duffing, (0, 250), start, t_eval=t, rtol=1e-10, atol=1e-12).y.T
        for start in starts
    ]
    data = og.Dataset.from_arrays(runs, t, names=["x", "v"])
    model = og.OrthoReg("x + v + sin(x)").fit(data)
    summary = model.summary(data)
    assert summary.verdict.code == "needs-residual"
    assert "explain" in {one.code for one in summary.advice}
