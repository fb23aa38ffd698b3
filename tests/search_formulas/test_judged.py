"""Proposals of one equation: each function once, ordered by score."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import orthoreg as og


@pytest.fixture(scope="module")
def explanation():
    """x0' = sin(x0 - x1) can be written as -sin(x1 - x0); x1' has a cubic term."""
    x = np.random.default_rng(0).uniform(-2, 2, (400, 2))
    y = np.column_stack([np.sin(x[:, 0] - x[:, 1]) - x[:, 0], -x[:, 1] - 0.5 * x[:, 1] ** 3])
    return og.OrthoReg("poly(1)", og.Zero()).fit(x, y).explain(x, y)


def test_a_function_is_proposed_once(explanation):
    for equation in ("x0", "x1"):
        points = np.random.default_rng(1).uniform(-2, 2, (100, 2))
        mine = [one for one in explanation.proposals if one.equation == equation]
        assert mine
        values = [one.values(points) for one in mine]
        for i, one in enumerate(values):
            for other in values[:i]:
                assert np.abs(one - other).max() > 1e-3 * np.abs(one).max()


def test_a_formula_is_no_alternative_to_itself(explanation):
    for one in explanation.proposals:
        assert one.formula not in {other.formula for other in one.alternatives}
    first = next(one for one in explanation.proposals if one.equation == "x1")
    assert first.formula == "x1**3"


def test_what_extrapolates_worse_than_the_library_comes_last(explanation):
    is_worse = [one.is_worse_outside for one in explanation.proposals]
    assert is_worse == sorted(is_worse)
    gains = [one.gain for one in explanation.proposals if not one.is_worse_outside]
    assert gains == sorted(gains, reverse=True)


@pytest.mark.parametrize("noise", [0.01, 0.02])
def test_a_formula_whose_trajectories_leave_noise_explains_all_beyond_noise(noise):
    """Single rows are noisier than expected, but the misfit of the true formula is no reason for
    more terms."""
    rng, t = np.random.default_rng(5), np.linspace(0, 10, 101)
    runs = []
    for start in (1.0, 2.5, 5.0, 8.0):
        x = solve_ivp(lambda _, s: -1.7 * s / (1.08 + s), (0, 10), [start], t_eval=t, rtol=1e-10).y
        runs.append(x.T + noise * x.std() * rng.standard_normal((len(t), 1)))
    data = og.Dataset.from_arrays(runs, t, names=["S"])
    first = og.OrthoReg("poly(2)").fit(data).explain(data).proposals[0]
    assert "S/(1" in first.formula
    assert first.outside is not None and first.outside > 0.99
    assert first.inside is None or first.inside > 0.99


@pytest.mark.slow
def test_rows_decide_where_trajectories_are_followed_over_less_than_a_window():
    """A stage with dry friction at 1 kHz, whose motion over 25 rows is very small."""
    from benchmarks.measurements import stage

    data = stage.measured(2)
    found = og.OrthoReg("poly(1)").fit(data).explain(data)
    assert found.proposals[0].formula == "sign(x_dot)"
