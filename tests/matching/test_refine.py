"""Matching of trajectories, compared with SciPy, and difficult cases."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import LV_TERMS, LV_TRUE, field_of, lotka_volterra, solved
from numpy.testing import assert_allclose
from scipy import stats
from scipy.integrate import solve_ivp
from scipy.optimize import least_squares

import orthoreg as og
from orthoreg.data import Dataset
from orthoreg.field import RandomFeatures
from orthoreg.matching import refine


@pytest.fixture(scope="module")
def refined(noisy_lv):
    return refine(field_of(LV_TERMS, ["x", "y"], 1.04 * LV_TRUE), noisy_lv)


@pytest.fixture(scope="module")
def by_scipy(noisy_lv, refined):
    """Solve the same problem with free starts by least_squares over adaptive integrations."""
    sigma = refined.noise

    def left(p):
        w, starts = p[:4], p[4:].reshape(-1, 2)
        found = []
        for run, x0 in zip(noisy_lv, starts, strict=True):
            found.append(
                solve_ivp(
                    lambda t, z: [z[0] * (w[0] + w[1] * z[1]), z[1] * (w[2] + w[3] * z[0])],
                    (run.times[0], run.times[-1]), x0, t_eval=run.times, rtol=1e-9, atol=1e-10,
                ).y.T - run.states
            )  # fmt: skip
        return (np.concatenate(found) / sigma).ravel()

    first = np.concatenate([[1.1, -0.4, -0.4, 0.1], noisy_lv.states[noisy_lv.offsets[:-1]].ravel()])
    return least_squares(left, first, x_scale=np.abs(first), xtol=1e-12, ftol=1e-12, gtol=1e-10)


def test_optimum_is_that_of_scipy(refined, by_scipy):
    assert refined.kept
    assert refined.segment_rows == 120
    assert_allclose(refined.values, by_scipy.x[:4], rtol=1e-4)
    assert refined.places == ((0, 0), (0, 2), (1, 1), (1, 2))


def test_covariance_is_that_of_scipys_jacobian(refined, by_scipy):
    inverse = np.linalg.inv(by_scipy.jac.T @ by_scipy.jac)
    assert not refined.is_sandwich
    assert_allclose(refined.covariance, inverse[:4, :4], rtol=0.02, atol=1e-3 * inverse[3, 3])


def test_interval_is_students_and_holds_the_truth(refined, noisy_lv):
    truth = LV_TRUE[LV_TRUE != 0]
    low, high = refined.interval().T
    free = 2 * noisy_lv.n_samples - len(truth) - 2 * noisy_lv.n_runs
    reach = stats.t.ppf(0.975, free)
    assert_allclose(high - low, 2 * reach * refined.standard_errors, rtol=1e-6)
    assert ((low < truth) & (truth < high)).all()
    ends = refined.coefficient_intervals()
    assert_allclose(ends[0, 2], refined.interval()[1])
    assert_allclose(ends[0, 1], 0)


def test_noise_is_estimated(refined, lv_runs):
    size = 0.03 * np.concatenate(lv_runs[1]).std(axis=0)
    assert_allclose(refined.noise, size, rtol=0.1)


def test_exact_data_give_the_true_constants(lv_runs):
    t, runs = lv_runs
    found = refine(
        field_of(LV_TERMS, ["x", "y"], LV_TRUE), Dataset.from_arrays(runs, t, names=["x", "y"])
    )
    assert found.kept
    assert_allclose(found.field.coefficients, LV_TRUE, rtol=1e-6, atol=1e-12)


def test_irregular_times_and_runs_of_different_length():
    rng = np.random.default_rng(0)
    times = [np.sort(rng.uniform(0, 10, count)) for count in (60, 110, 35)]
    starts = [[5.0, 2.0], [8.0, 4.0], [3.0, 3.0]]
    runs = [solved(lotka_volterra, [x0], t)[0] for x0, t in zip(starts, times, strict=True)]
    data = Dataset.from_arrays(runs, times, names=["x", "y"])
    found = refine(field_of(LV_TERMS, ["x", "y"], 1.05 * LV_TRUE), data)
    assert_allclose(found.field.coefficients, LV_TRUE, rtol=1e-5, atol=1e-12)


def test_parameter_inside_a_term():
    t = np.linspace(0, 8, 60)
    runs = solved(lambda t, z: [-2.0 * z[0] / (1.5 + z[0])], [[6.0], [2.0], [9.0]], t)
    data = Dataset.from_arrays(runs, t, names=["s"])
    found = refine(field_of(["s/(s + K)"], ["s"], [[-1.8]], [1.1]), data)
    assert found.parameters == ("K",)
    assert_allclose(found.values, [-2.0, 1.5], rtol=1e-5)
    assert_allclose(found.field.features.values, [1.5], rtol=1e-5)
    assert_allclose(found.field.parameters, [1.5], rtol=1e-5)


def test_parameter_stays_within_its_bounds():
    t = np.linspace(0, 8, 60)
    runs = solved(lambda t, z: [-2.0 * z[0] / (1.5 + z[0])], [[6.0], [2.0], [9.0]], t)
    data = Dataset.from_arrays(runs, t, names=["s"])
    field = field_of(["s/(s + K)"], ["s"], [[-1.8]], [1.1])
    found = refine(field, data, bounds={"K": (1.0, 1.3)})
    assert 1.0 <= found.field.features.values[0] <= 1.3


@pytest.mark.parametrize("kind", ["cubic", "hold", "linear"])
def test_interpolation_of_inputs(kind):
    t = np.linspace(0, 20, 161)
    rng = np.random.default_rng(3)
    u = np.sin(1.3 * t) if kind == "cubic" else np.repeat(rng.standard_normal(41), 4)[:161]

    def at(time):
        if kind == "hold":
            return u[min(int(np.floor(time / 0.125 + 1e-9)), 160)]
        return np.interp(time, t, u) if kind == "linear" else np.sin(1.3 * time)

    x = np.array([0.5])
    states = [x]
    for begin, end in zip(t[:-1], t[1:], strict=True):  # no step crosses a jump
        inside = (lambda s, b=begin: at(b)) if kind == "hold" else at
        x = solve_ivp(
            lambda s, z, u=inside: [-0.7 * z[0] + 1.2 * u(s)], (begin, end), x, rtol=1e-10,
            atol=1e-12,
        ).y[:, -1]  # fmt: skip
        states.append(x)
    data = Dataset.from_arrays(np.array(states), t, u[:, None], ["x"], input_names=["u"])
    found = refine(field_of(["x", "u"], ["x", "u"], [[-0.6, 1.0]]), data, interpolation={"u": kind})
    assert_allclose(found.values, [-0.7, 1.2], rtol=1e-4 if kind == "cubic" else 1e-6)


def test_second_order_with_an_unmeasured_velocity():
    rng = np.random.default_rng(0)
    t = np.linspace(0, 15, 150)
    runs = solved(
        lambda t, z: [z[1], -1.3 * np.sin(z[0]) - 0.2 * z[1]], [[2.0, 0.0], [0.5, 1.5]], t
    )
    noisy = [x[:, :1] + 0.02 * rng.standard_normal((150, 1)) for x in runs]
    states = [np.hstack([x, np.gradient(x, t, axis=0)]) for x in noisy]
    data = Dataset.from_arrays(states, t, names=["q", "v"])
    data = data.with_parts(velocity_of={"q": "v"}, estimated=("v",))
    found = refine(field_of(["v", "sin(q)"], ["q", "v"], [[1, 0], [-0.25, -1.1]]), data)
    assert found.places == ((1, 0), (1, 1))
    assert found.field.coefficients[0].tolist() == [1.0, 0.0]
    low, high = found.interval().T
    assert (low < [-0.2, -1.3]).all() and ([-0.2, -1.3] < high).all()
    assert_allclose(found.values, [-0.2, -1.3], rtol=0.03)
    assert_allclose(found.noise[0], 0.02, rtol=0.15)
    assert np.isinf(found.noise[1])


def test_outliers_have_little_influence(noisy_lv, refined):
    states = np.array(noisy_lv.states)
    states[[20, 77, 200, 301, 302]] += [[30.0, -20.0]]
    spoilt = refine(
        field_of(LV_TERMS, ["x", "y"], 1.04 * LV_TRUE), replace(noisy_lv, states=states)
    )
    apart = np.abs(spoilt.values - refined.values) / refined.standard_errors
    assert apart.max() < 1


def test_residual_weights_lower_the_error():
    """The terms lack the damping, which random features represent."""
    t = np.linspace(0, 12, 60)
    starts = [[1.5, 0.0], [0.3, 1.0], [-1.0, -0.8], [0.8, -1.2], [-0.5, 0.2], [1.2, 0.9]]
    runs = solved(lambda t, z: [z[1], -np.sin(z[0]) - 0.2 * z[1]], starts, t)
    data = Dataset.from_arrays(runs, t, names=["q", "v"]).with_parts(velocity_of={"q": "v"})
    field = field_of(["v", "sin(q)"], ["q", "v"], [[1, 0], [0, -0.9]])
    rng = np.random.default_rng(0)
    recipe = RandomFeatures(20, weight_scale=(0.3, 1.0))
    basis = recipe.init(data.states.mean(axis=0), data.states.std(axis=0), rng=rng)
    weights = np.zeros((21, 2))
    weights[:, 1] = 1e-2 * rng.standard_normal(21)
    found = refine(replace(field, basis=basis, weights=weights), data)
    assert found.kept
    assert found.error_after < 0.01 < 0.1 < found.error_before
    without = refine(replace(field, basis=basis, weights=weights), data, residual=False)
    assert_allclose(without.field.weights, weights)
    assert not without.kept or without.error_after > 10 * found.error_after


def test_misfit_widens_the_intervals():
    """A term is missing, so residuals are correlated. The covariance is estimated from parts of
    runs."""
    rng = np.random.default_rng(0)
    t = np.linspace(0, 20, 200)
    runs = solved(lambda t, z: [z[1], -z[0] - 0.15 * z[0] ** 3], [[1.0, 0.0], [0.0, 1.2]], t)
    noisy = [x + 0.01 * rng.standard_normal(x.shape) for x in runs]
    data = Dataset.from_arrays(noisy, t, names=["q", "v"])
    found = refine(field_of(["v", "q"], ["q", "v"], [[1, 0], [0, -1.0]]), data)
    assert found.is_sandwich
    assert np.isfinite(found.degrees_of_freedom)


def test_a_hopeless_model_is_not_refined(noisy_lv):
    field = field_of(["x**3", "y"], ["x", "y"], [[5.0, 0], [0, 3.0]])
    found = refine(field, noisy_lv)
    assert not found.kept
    assert found.status.startswith("not refined: ")
    assert found.field is field
    assert found.interval() is None


def test_the_status_says_that_there_is_nothing_to_refine(noisy_lv):
    found = refine(field_of(["x", "y"], ["x", "y"], np.zeros((2, 2))), noisy_lv)
    assert not found.kept and "no constant" in found.status
    short = Dataset.from_arrays([run.states[:3] for run in noisy_lv], 0.1, names=["x", "y"])
    found = refine(field_of(LV_TERMS, ["x", "y"], LV_TRUE), short)
    assert not found.kept and "rows" in found.status


def test_undetermined_constants_have_wide_intervals():
    """x and y always have the same ratio, so only a sum of their coefficients is determined."""
    t = np.linspace(0, 6, 100)
    x = np.exp(-t) + 1e-3 * np.random.default_rng(0).standard_normal(100)
    data = Dataset.from_arrays(np.column_stack([x, 2 * np.exp(-t)]), t, names=["x", "y"])
    found = refine(field_of(["x", "y"], ["x", "y"], [[-0.5, -0.25], [0, -1.0]]), data)
    assert found.kept
    assert found.standard_errors[:2].min() > 100 * found.standard_errors[2]


def test_the_status_of_runs_at_rest_and_poles():
    with pytest.warns(og.DataWarning):
        rest = Dataset.from_arrays(np.ones((50, 1)), 0.1, names=["x"])
    found = refine(field_of(["x"], ["x"], [[-1.0]]), rest)
    assert not found.kept and "no measured state moves" in found.status
    t = np.linspace(0, 6, 60)
    data = Dataset.from_arrays(0.1 * np.cos(t)[:, None], t, names=["x"])
    found = refine(field_of(["1/x"], ["x"], [[-5.0]]), data)
    assert not found.kept and "a few steps" in found.status


def test_a_match_that_does_not_converge_has_no_intervals(noisy_lv, monkeypatch):
    """Without convergence, the curvature does not show the distance from the minimum."""
    from orthoreg.matching import _refine

    stages = _refine.match_stages

    def stopped(*args, **options):
        found, smooth = stages(*args, **options)
        last = found[-1]
        solution = last.solution._replace(converged=False)
        return [*found[:-1], last._replace(solution=solution, sigma=1.5 * last.sigma)], smooth

    monkeypatch.setattr(_refine, "match_stages", stopped)
    result = refine(field_of(LV_TERMS, ["x", "y"], 1.04 * LV_TRUE), noisy_lv)
    assert result.kept and result.uncertainty is None and result.interval() is None
    assert "without reaching a minimum" in result.status


@pytest.mark.parametrize("seed", [1, 4])
def test_refinement_does_not_start_from_a_wrong_minimum(seed):
    """Ignition has local minima, in which the search of a fit may stop."""

    def reactor(_, x):
        rate = 7.2e10 * np.exp(-8750 / x[1]) * x[0]
        return [1 - x[0] - rate, 350 - x[1] + 209.2 * rate - 2.09 * (x[1] - 310)]

    t, draw = np.arange(0, 12, 0.02), np.random.default_rng(seed)
    starts = ([0.4, 345.0], [0.7, 330.0], [0.9, 355.0], [0.5, 350.0])
    exact = [
        solve_ivp(reactor, (0, 12), x0, "LSODA", t, rtol=1e-10, atol=1e-12).y.T for x0 in starts
    ]
    runs = [x + 0.005 * x.std(axis=0) * draw.standard_normal(x.shape) for x in exact]
    physics = og.Physics(
        equations={
            "c": "1 - c - k*exp(-8750/T)*c",
            "T": "350 - T + h*exp(-8750/T)*c - w*(T - 310)",
        }
    )
    model = og.OrthoReg(physics=physics).fit(Dataset.from_arrays(runs, t, names=["c", "T"]))
    assert model.refinement_.kept
    assert_allclose(model.parameters_["w"], 2.09, rtol=0.01)
