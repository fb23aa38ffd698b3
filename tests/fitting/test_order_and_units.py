"""Results depend neither on the order in which runs are given nor on the unit of time."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import orthoreg as og

TIMES = np.linspace(0, 8, 161)


def runs(noise, seed=0):
    """Runs of the van der Pol oscillator with different lengths. The library of `fitted` lacks its
    cubic term, so splits of the runs decide on a residual."""
    rng = np.random.default_rng(seed)

    def slope(_, x):
        return [x[1], 1.2 * (1 - x[0] ** 2) * x[1] - x[0]]

    paths = []
    for start in rng.uniform(-2, 2, (5, 2)):
        times = TIMES[: rng.integers(90, 161)]
        path = solve_ivp(slope, (0, 8), start, t_eval=times, rtol=1e-9, atol=1e-10).y.T
        paths.append(path + noise * path.std(axis=0) * rng.standard_normal(path.shape))
    return paths


def fitted(paths, per_time=1.0, order=None):
    """Results of a fit and its summary, with rates per unit of the first time unit."""
    order = range(len(paths)) if order is None else order
    data = og.Dataset.from_arrays(
        [paths[i] for i in order], [TIMES[: len(paths[i])] / per_time for i in order]
    )
    model = og.OrthoReg("poly(2) + fourier(1)", og.RandomFeatures(60)).fit(data)
    summary = model.summary(data)
    shares = {(row.equation, row.term): row.stability for row in summary.terms}
    weights = np.asarray(model.field_.weights) / per_time
    return model.coefficients_ / per_time, weights, summary.verdict.code, shares


@pytest.mark.parametrize("noise, seed", [(0.0, 0), (0.03, 0), (0.03, 1)])
def test_the_order_of_runs_changes_no_digit(noise, seed):
    paths = runs(noise, seed)
    expected = fitted(paths)
    for order in ([4, 3, 2, 1, 0], [2, 0, 4, 1, 3]):
        coefficients, weights, *findings = fitted(paths, order=order)
        np.testing.assert_array_equal(coefficients, expected[0])
        np.testing.assert_array_equal(weights, expected[1])
        assert findings == list(expected[2:])


@pytest.mark.parametrize("per_time, tolerance", [(4096.0, 0.0), (3600.0, 1e-9)])
@pytest.mark.parametrize("noise", [0.0, 0.03])
def test_the_unit_of_time_changes_only_rounding(noise, per_time, tolerance):
    paths = runs(noise)
    expected, found = fitted(paths), fitted(paths, per_time)
    np.testing.assert_allclose(found[0], expected[0], rtol=tolerance, atol=tolerance)
    assert found[2] == expected[2] and found[3].keys() == expected[3].keys()


def test_the_plan_is_the_same_for_each_order():
    paths = runs(0.03)
    first, second = (
        og.Dataset.from_arrays([paths[i] for i in order], [TIMES[: len(paths[i])] for i in order])
        for order in (range(5), [3, 1, 4, 0, 2])
    )
    assert (first.plan.noise == second.plan.noise).all()
    assert first.plan.half_widths(8) == second.plan.half_widths(8)
    for label, run in zip((3, 1, 4, 0, 2), second, strict=True):
        np.testing.assert_array_equal(run.states, paths[label])  # the data keep their order


@pytest.mark.parametrize("factor", [1.0, -1.0, 1e-3, 7.0])
def test_runs_are_sorted_by_content(factor):
    rng = np.random.default_rng(0)
    start = rng.normal(size=(6, 1, 2))
    start[1] = -start[0]  # mirrored runs are equally far from the mean
    paths = list(factor * start * np.exp(-TIMES[:50, None]))
    paths.append(paths[2].copy())
    expected = og.Dataset.from_arrays(paths, TIMES[:50]).sorted_runs.states
    for _ in range(5):
        mixed = [paths[i] for i in rng.permutation(len(paths))]
        data = og.Dataset.from_arrays(mixed, TIMES[:50])
        np.testing.assert_array_equal(data.sorted_runs.states, expected)
        assert data.sorted_runs.sorted_runs is data.sorted_runs
