"""Sets of terms: the integral form, the search on it, and what trajectories say."""

from itertools import combinations

import numpy as np
import pytest
from conftest import LV_TERMS, LV_TRUE, field_of
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import solve_ivp

import orthoreg as og
from orthoreg.refinement import choose_structure
from orthoreg.refinement._beam import beam_search, solved
from orthoreg.refinement._integral import NormalEquations, integral_form
from orthoreg.smoothing import noise_growth

t = np.linspace(0, 12, 241)


def epidemic(_, x):
    return [-0.4 * x[0] * x[1], 0.4 * x[0] * x[1] - 0.3 * x[1]]


def test_integrals_of_exact_states_give_the_coefficients():
    x = solve_ivp(epidemic, (0, 12), [5.0, 0.5], t_eval=t, rtol=1e-11, atol=1e-12).y.T
    data = og.Dataset.from_arrays(x, t)
    terms = lambda z: np.column_stack([np.ones(len(z)), z[:, 1], z[:, 0] * z[:, 1]])  # noqa: E731
    found = integral_form(data, x, terms, np.ones_like(x))
    assert_allclose(solved(found[0], (0, 1, 2)), [0, 0, -0.4], atol=2e-4)
    assert_allclose(solved(found[1], (0, 1, 2)), [0, -0.3, 0.4], atol=2e-4)


def test_a_position_is_integrated_twice():
    q = np.cos(1.3 * t) + 0.2 * np.sin(1.3 * t)
    data = og.Dataset.from_positions(q, t, names=["q"])
    found = integral_form(data, data.states, lambda z: z, np.ones_like(data.states))
    assert list(found) == [1]
    assert_allclose(solved(found[1], (0, 1)), [-(1.3**2), 0], atol=2e-3)


def test_offsets_are_free_in_every_stretch():
    """Noise-free states that jump between two runs are one equation."""
    runs = [np.exp(-0.5 * t)[:, None], 3 * np.exp(-0.5 * t[:100])[:, None]]
    data = og.Dataset.from_arrays(runs, [t, t[:100]])
    found = integral_form(data, data.states, lambda z: z, np.ones_like(data.states))
    assert_allclose(solved(found[0], (0,)), [-0.5], rtol=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_search_finds_the_best_set_of_all(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((80, 9)) @ (np.eye(9) + 0.5 * rng.standard_normal((9, 9)))
    y = X[:, [1, 4, 6]] @ [1.0, -0.7, 0.5] + 0.3 * rng.standard_normal(80)
    equations = NormalEquations(X.T @ X, X.T @ y, float(y @ y), 80, 0)
    price = np.full(9, 0.5 * np.log(80))

    def score(support):
        left = y - X[:, support] @ np.linalg.lstsq(X[:, support], y, rcond=None)[0]
        return 40 * np.log(left @ left / 80) + price[list(support)].sum()

    found = beam_search(equations, np.ones(9, bool), price, lambda v: 40 * np.log(v))
    every = [c for k in range(1, 6) for c in combinations(range(9), k)]
    best = min(every, key=score)
    assert found[0][1] == best
    assert found[0][0] == pytest.approx(score(best))


def test_search_leaves_out_what_is_not_allowed_and_sets_that_cancel():
    rng = np.random.default_rng(0)
    x = rng.uniform(-0.05, 0.05, 200)
    X = np.column_stack([x, np.sin(x), x**2])
    y = x**3 + 1e-9 * rng.standard_normal(200)
    equations = NormalEquations(X.T @ X, X.T @ y, float(y @ y), 200, 0)
    found = beam_search(equations, np.ones(3, bool), np.zeros(3), lambda v: 100 * np.log(v))
    assert (0, 1) not in [support for _, support in found]
    only = beam_search(equations, np.array([0, 0, 1], bool), np.zeros(3), lambda v: v)
    assert [support for _, support in only] == [(2,)]


def test_noise_that_grows_is_told_from_noise_that_does_not():
    rng = np.random.default_rng(0)
    x = np.column_stack([np.exp(-0.4 * t), np.exp(-0.4 * t)])
    noise = 0.03 * rng.standard_normal(x.shape) * np.column_stack([x[:, 0], 0.3 * np.ones(len(t))])
    growth = noise_growth(x + noise, x)
    assert growth[0] > 0.99
    assert growth[1] == 0.0


def test_trajectories_find_the_terms_that_a_wrong_fit_lacks():
    """Multiplicative noise, from coefficients of which one equation is wrong."""
    rng = np.random.default_rng(1)
    runs = [
        solve_ivp(epidemic, (0, 12), x0, t_eval=t, rtol=1e-9, atol=1e-11).y.T
        for x0 in ([5.0, 0.5], [3.0, 0.2])
    ]
    data = og.Dataset.from_arrays([x * (1 + 0.03 * rng.standard_normal(x.shape)) for x in runs], t)
    terms = ["1", "x0", "x1", "x0**2", "x0*x1", "x1**2", "sin(x0)", "sin(x1)"]
    wrong = np.zeros((2, 8))
    wrong[0, 4], wrong[1, 0] = -0.3, -0.2
    found = choose_structure(field_of(terms, ["x0", "x1"], wrong), data, np.ones((2, 8), bool))
    truth = np.zeros((2, 8))
    truth[0, 4], truth[1, 2], truth[1, 4] = -0.4, -0.3, 0.4
    coefficients = np.asarray(found.field.coefficients)
    assert_array_equal(coefficients != 0, truth != 0)
    assert_allclose(coefficients, truth, rtol=0.03)
    assert found.misfit < 1.2


def test_right_terms_stay(noisy_lv):
    field = field_of(LV_TERMS, ["x", "y"], 1.02 * LV_TRUE)
    found = choose_structure(field, noisy_lv, np.ones(LV_TRUE.shape, bool))
    assert_array_equal(np.asarray(found.field.coefficients) != 0, LV_TRUE != 0)


def test_a_set_whose_trajectories_run_away_is_not_the_better_for_it():
    """A dipole, x' = 0.65 x y and y' = y^2 - x^2, at random times: with x*y for x^2 half of the
    segments run away, and those that are left fit well."""
    rng = np.random.default_rng(29000)
    every = np.linspace(0, 10, 512)
    clean = solve_ivp(
        lambda _, z: [0.65 * z[0] * z[1], z[1] ** 2 - z[0] ** 2], (0, 10), [3.2, 1.4],
        t_eval=every, rtol=1e-9, atol=1e-9,
    ).y.T  # fmt: skip
    noisy = clean * (1 + 0.02 * rng.standard_normal(clean.shape))
    keep = np.sort(rng.permutation(512)[:256])
    data = og.Dataset.from_arrays(noisy[keep], every[keep], names=["x", "y"])
    model = og.OrthoReg("poly(2)").fit(data)
    names = np.array(model.feature_names_)
    assert [list(names[row]) for row in model.support_] == [["x*y"], ["x**2", "y**2"]]
