"""Sets of terms: the integral form, the search on it, and the scores of trajectories."""

from itertools import combinations, product

import numpy as np
import pytest
from conftest import LV_TERMS, LV_TRUE, field_of
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import solve_ivp

import orthoreg as og
from orthoreg.matching._limits import WINDOW
from orthoreg.search import choose_structure
from orthoreg.search._proposals import (
    Quadratic,
    SetSearch,
    duplicates,
    integral_form,
    neighbours,
)
from orthoreg.smoothing import estimate_noise_growth
from orthoreg.systems import Pendulum, Split, generate, true_derivatives

t = np.linspace(0, 12, 241)


def epidemic(_, x):
    return [-0.4 * x[0] * x[1], 0.4 * x[0] * x[1] - 0.3 * x[1]]


def test_integrals_of_exact_states_give_the_coefficients():
    x = solve_ivp(epidemic, (0, 12), [5.0, 0.5], t_eval=t, rtol=1e-11, atol=1e-12).y.T
    data = og.Dataset.from_arrays(x, t)
    terms = lambda z: np.column_stack([np.ones(len(z)), z[:, 1], z[:, 0] * z[:, 1]])  # noqa: E731
    found = integral_form(data, x, terms, np.ones_like(x))
    assert_allclose(np.linalg.solve(found[0].H, found[0].g), [0, 0, -0.4], atol=2e-4)
    assert_allclose(np.linalg.solve(found[1].H, found[1].g), [0, -0.3, 0.4], atol=2e-4)


def test_a_position_is_integrated_twice():
    q = np.cos(1.3 * t) + 0.2 * np.sin(1.3 * t)
    data = og.Dataset.from_positions(q, t, names=["q"])
    found = integral_form(data, data.states, lambda z: z, np.ones_like(data.states))
    assert list(found) == [1]
    assert_allclose(np.linalg.solve(found[1].H, found[1].g), [-(1.3**2), 0], atol=2e-3)


def test_offsets_are_free_in_every_stretch():
    """Noise-free states that jump between two runs satisfy one equation."""
    runs = [np.exp(-0.5 * t)[:, None], 3 * np.exp(-0.5 * t[:100])[:, None]]
    data = og.Dataset.from_arrays(runs, [t, t[:100]])
    found = integral_form(data, data.states, lambda z: z, np.ones_like(data.states))
    assert_allclose(found[0].g / np.diag(found[0].H), [-0.5], rtol=1e-5)


def _least_squares(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((80, 9)) @ (np.eye(9) + 0.5 * rng.standard_normal((9, 9)))
    y = X[:, [1, 4, 6]] @ [1.0, -0.7, 0.5] + 0.3 * rng.standard_normal(80)
    return X, y, Quadratic(X.T @ X, X.T @ y, float(y @ y), 80, 0)


def _rss(X, y, support):
    left = y - X[:, support] @ np.linalg.lstsq(X[:, support], y, rcond=None)[0]
    return left @ left


@pytest.mark.parametrize("seed", range(4))
def test_one_term_added_removed_or_exchanged_is_least_squares_with_these_terms(seed):
    X, y, quadratic = _least_squares(seed)
    own, every, none = np.isin(np.arange(9), [0, 1, 5]), np.ones(9, bool), np.zeros(9, bool)
    near = neighbours(quadratic, own, every, none)
    assert near.rss == pytest.approx(_rss(X, y, [0, 1, 5]))
    assert near.added[4] == pytest.approx(_rss(X, y, [0, 1, 4, 5]))
    assert near.removed[5] == pytest.approx(_rss(X, y, [0, 1]))
    assert near.exchanged[0, 6] == pytest.approx(_rss(X, y, [1, 5, 6]))
    assert not np.isfinite(near.added[own]).any()
    assert not np.isfinite(near.removed[~own]).any()


@pytest.mark.parametrize("support", [[0, 2, 3, 4], [1, 2, 3, 4], [0, 1, 2, 4], [0, 1, 4]])
def test_powers_of_a_temperature_in_kelvin_keep_their_digits(support):
    """Powers of T are nearly dependent, and the sum of squares of T is 1e12 times the noise."""
    rng = np.random.default_rng(0)
    T, u = 290 + 5 * rng.standard_normal(300), rng.integers(0, 2, 300)
    X = np.column_stack([np.ones(300), T, T**2, T**3, u]) / 1e-3
    w = np.array([283.0, -1.0, 0.0, 0.0, 15.0])  # expanded at the fit, like matches
    residual = rng.standard_normal(300)
    quadratic = Quadratic(X.T @ X, X.T @ residual, float(residual @ residual), 300, 0, w)
    near = neighbours(
        quadratic, np.isin(np.arange(5), support), np.ones(5, bool), np.zeros(5, bool)
    )
    orthonormal = np.linalg.qr((X / np.linalg.norm(X, axis=0))[:, support])[0]
    y = residual + X @ w
    expected = np.sum((y - orthonormal @ (orthonormal.T @ y)) ** 2)
    assert near.rss == pytest.approx(expected, rel=1e-3)


def test_a_constant_inside_a_term_is_fixed_without_the_term():
    """Columns: x, 1, the term x/(K + x) and the derivative of this term by K."""
    x = np.linspace(0.1, 4, 60)
    X = np.column_stack([x, np.ones(60), x / (0.5 + x), -0.8 * x / (0.5 + x) ** 2])
    w = np.array([0.0, 0.0, 0.8, 0.5])
    residual = 0.01 * np.random.default_rng(0).standard_normal(60)
    users = np.zeros((4, 4), dtype=bool)
    users[3, 2] = True
    quadratic = Quadratic(
        X.T @ X, X.T @ residual, float(residual @ residual), 60, 0, w, users=users
    )
    own, required = np.array([0, 0, 1, 1], dtype=bool), np.array([0, 0, 0, 1], dtype=bool)
    near = neighbours(quadratic, own, ~required, required)
    y = residual + X[:, 2] * 0.8  # K does not change
    assert near.removed[2] == pytest.approx(y @ y)
    assert near.exchanged[2, 0] == pytest.approx(_rss(X, y, [0]))
    assert near.added[1] == pytest.approx(_rss(X, residual, [1, 2, 3]))


def test_a_power_of_a_switch_is_the_switch():
    rng = np.random.default_rng(0)
    u, x = rng.integers(0, 2, 50).astype(float), rng.standard_normal(50)
    X = np.column_stack([u, u**2, x, x * u, x * u**2, -x])
    quadratic = Quadratic(X.T @ X, X.T @ u, float(u @ u), 50, 0)
    own = np.array([1, 0, 1, 0, 0, 0], dtype=bool)
    assert_array_equal(np.flatnonzero(duplicates(quadratic, own)), [1, 5])


@pytest.mark.parametrize("seed", range(4))
def test_search_finds_the_best_set(seed):
    X, y, quadratic = _least_squares(seed)
    price = np.full(9, 0.5 * np.log(80))

    def score(support):
        return _rss(X, y, support) / (2 * 0.09) + price[list(support)].sum()

    every, none = np.ones(9, bool), np.zeros(9, bool)
    found, support, _ = SetSearch(quadratic, every, none, price, 0.09).descend(none)
    best = min((c for k in range(1, 6) for c in combinations(range(9), k)), key=score)
    assert tuple(np.flatnonzero(support)) == best
    assert found == pytest.approx(score(best))


@pytest.mark.parametrize("seed", range(4))
def test_sets_within_a_window_have_the_scores_of_least_squares(seed):
    """The search finds the sets near the best one, as a search of all 512 sets does."""
    X, y, quadratic = _least_squares(seed)
    price, every, none = np.full(9, 6.0), np.ones(9, bool), np.zeros(9, bool)
    temperature = quadratic.temperature()
    sets = SetSearch(quadratic, every, none, price, temperature)
    _, best, _ = sets.descend(none)
    window = sets.within(best, {})

    def score(support):
        return _rss(X, y, support) / (2 * temperature) + price[support].sum()

    masks = [np.array(mask) for mask in product([False, True], repeat=9)]
    exact = {mask.tobytes(): score(mask) - score(best) for mask in masks}
    near = np.array([mask for mask in masks if exact[mask.tobytes()] < WINDOW])
    reached, new = {best.tobytes()}, [best]
    while new:
        changed = near ^ new.pop()
        n_added = (changed & near).sum(axis=1)
        is_step = (n_added <= 1) & (changed.sum(axis=1) - n_added <= 1)
        new += [mask for mask in near[is_step] if mask.tobytes() not in reached]
        reached |= {mask.tobytes() for mask in near[is_step]}
    assert len(reached) > 5
    assert set(window) == reached
    for key, value in window.items():
        assert value == pytest.approx(exact[key], abs=1e-6)


def test_matched_sets_of_a_window_have_their_own_score():
    _, _, quadratic = _least_squares(0)
    price, every, none = np.full(9, 3.0), np.ones(9, bool), np.zeros(9, bool)
    sets = SetSearch(quadratic, every, none, price, 1.0)
    _, best, _ = sets.descend(none)
    other = best ^ np.isin(np.arange(9), [0])
    window = sets.within(best, {other.tobytes(): np.inf})
    assert np.isinf(window[other.tobytes()])


def test_search_respects_required_terms_and_candidates():
    _, _, quadratic = _least_squares(0)
    required, candidates = np.isin(np.arange(9), [0]), np.isin(np.arange(9), [2, 4])
    sets = SetSearch(quadratic, candidates, required, np.full(9, 1.0), 0.09)
    _, support, near = sets.descend(np.zeros(9, bool))
    assert support[0]
    assert not support[[1, 3, 5, 6, 7, 8]].any()
    assert not np.isfinite(near.removed[0])


def test_growing_noise_is_distinguished_from_constant_noise():
    rng = np.random.default_rng(0)
    x = np.column_stack([np.exp(-0.4 * t), np.exp(-0.4 * t)])
    noise = 0.03 * rng.standard_normal(x.shape) * np.column_stack([x[:, 0], 0.3 * np.ones(len(t))])
    growth = estimate_noise_growth(x + noise, x)
    assert growth[0] > 0.99
    assert growth[1] == 0.0


def test_trajectories_find_the_terms_that_a_wrong_fit_lacks():
    """The noise is multiplicative, and one equation of the start has wrong coefficients."""
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


def test_correct_terms_stay(noisy_lv):
    field = field_of(LV_TERMS, ["x", "y"], 1.02 * LV_TRUE)
    found = choose_structure(field, noisy_lv, np.ones(LV_TRUE.shape, bool))
    assert_array_equal(np.asarray(found.field.coefficients) != 0, LV_TRUE != 0)


def test_diverging_trajectories_do_not_improve_a_score():
    """The system is a dipole, x' = 0.65 x y and y' = y^2 - x^2, at random times. With x*y instead
    of x^2, half of the segments diverge, and the others fit well."""
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


@pytest.mark.parametrize("seed", [0, 1])
def test_cosines_do_not_imitate_a_higher_power_within_noise(seed):
    """Within 10% noise, 1 - theta**2/2 - cos(theta) imitates the missing terms. From starts beyond
    the data, its error is more than a hundred times the derivative."""
    clean = generate(Pendulum(), Split.train, runs=32, seed=seed)
    noise = 0.1 * np.random.default_rng(seed).standard_normal(clean.states.shape)
    noisy = [run.states + part for run, part in zip(clean, np.split(noise, 32), strict=True)]
    times = [run.times for run in clean]
    data = og.Dataset.from_arrays(noisy, times, names=["theta", "omega"])
    model = og.OrthoReg().fit(data)
    assert "cos(theta)" not in model.equations()[1]
    beyond = generate(Pendulum(), Split.t2, runs=20, seed=seed)
    truth = true_derivatives(Pendulum(), Split.t2, beyond, seed=seed)
    assert np.mean((model.predict(beyond.states) - truth) ** 2) < np.mean(truth**2)
