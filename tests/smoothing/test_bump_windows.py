"""Both sides of a weak form as weights of samples."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from orthoreg.smoothing import bump_windows

rng = np.random.default_rng(0)
EQUAL = np.linspace(0, 10, 201)
UNEQUAL = np.sort(np.r_[0, 10, rng.uniform(0, 10, 399)])
ONE_RUN = {"equal": EQUAL, "unequal": UNEQUAL}


@pytest.mark.parametrize(
    ("steps", "tolerances"),
    [("equal", (1e-9, 1e-7, 1e-5, 1e-3)), ("unequal", (2e-4, 1e-3, 6e-3, 4e-2))],
)
def test_integration_by_parts(steps, tolerances):
    t = ONE_RUN[steps]
    windows = bump_windows(t, np.array([0, len(t)]), 1.0, 8, n_rates=4)
    for m, weights in enumerate(windows.rates, start=1):
        rate = windows.mean @ (2**m * np.sin(2 * t + m * np.pi / 2))
        np.testing.assert_allclose(weights @ np.sin(2 * t), rate, atol=tolerances[m - 1])


def test_the_mean_is_the_integral_against_the_bump():
    windows = bump_windows(EQUAL, np.array([0, len(EQUAL)]), 1.0, 8)

    def phi(t, centre):
        return (1 - (t - centre) ** 2) ** 8

    for r in (0, 7):
        c = windows.centres[r]
        top = quad(lambda t, c=c: phi(t, c) * np.exp(-t), c - 1, c + 1)[0]
        whole = quad(lambda t, c=c: phi(t, c), c - 1, c + 1)[0]
        np.testing.assert_allclose((windows.mean @ np.exp(-EQUAL))[r], top / whole, rtol=1e-8)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**31), st.floats(0.6, 3.0), st.integers(3, 10))
def test_low_polynomials_are_differentiated_exactly_on_any_steps(seed, half_width, order):
    draw = np.random.default_rng(seed)
    t = np.cumsum(draw.uniform(0.02, 0.2, 120))
    windows = bump_windows(t, np.array([0, len(t)]), half_width, order, n_rates=3)
    s = t - t[0]
    scale = s[-1] ** 3
    for k in range(4):
        for m, weights in enumerate(windows.rates, start=1):
            rate = windows.mean @ (math.perm(k, m) * s ** max(k - m, 0))
            np.testing.assert_allclose(weights @ s**k, rate, atol=10.0 ** (m - 10) * scale)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**31), st.floats(0.5, 3.0))
def test_random_times_amplify_noise_little_more_than_equal_times(seed, half_width):
    """Samples may be arbitrarily close to each other next to long steps."""
    draw = np.random.default_rng(seed)
    random = np.sort(np.r_[0, 10, draw.uniform(0, 10, 199)])
    equal, unequal = (
        bump_windows(t, np.array([0, len(t)]), half_width, 8) for t in (EQUAL, random)
    )
    for equal_weights, weights in zip(
        (equal.mean, *equal.rates), (unequal.mean, *unequal.rates), strict=True
    ):
        gain = np.sqrt((weights**2).sum(axis=1))
        assert np.median(gain) < 2 * np.sqrt((equal_weights**2).sum(axis=1)).max()


def test_no_window_reaches_from_one_run_into_the_next():
    t = np.concatenate([EQUAL, EQUAL])
    offsets = np.array([0, len(EQUAL), 2 * len(EQUAL)])
    both = bump_windows(t, offsets, 1.0, 8)
    alone = bump_windows(EQUAL, offsets[:2], 1.0, 8)
    assert len(both) == 2 * len(alone) and both.run.tolist() == [0] * len(alone) + [1] * len(alone)
    second = both.rates[0][len(alone) :]
    assert second[:, : len(EQUAL)].nnz == 0
    np.testing.assert_allclose(second[:, len(EQUAL) :].toarray(), alone.rates[0].toarray())


@pytest.mark.parametrize("times", ONE_RUN.values(), ids=ONE_RUN)
def test_runs_with_the_same_times_have_the_same_windows(times):
    """Runs with one time changed are not grouped, and their windows are those of each run alone."""
    n = len(times)
    offsets = n * np.arange(4)
    tiled = bump_windows(np.tile(times, 3), offsets, 1.0, 8, n_rates=2)
    alone = bump_windows(times, offsets[:2], 1.0, 8, n_rates=2)
    pairs = zip((tiled.mean, *tiled.rates), (alone.mean, *alone.rates), strict=True)
    for whole, part in pairs:
        assert np.array_equal(whole.toarray(), np.kron(np.eye(3), part.toarray()))
    shifted = bump_windows(np.r_[times, times + 1, times], offsets, 1.0, 8)
    np.testing.assert_allclose(shifted.rates[0].toarray(), tiled.rates[0].toarray(), atol=1e-9)
    assert np.array_equal(shifted.run, tiled.run)


def test_a_run_shorter_than_a_window_has_none():
    offsets = np.array([0, 20, 201])
    windows = bump_windows(np.r_[EQUAL[:20], EQUAL[:181]], offsets, 1.0, 8)
    assert set(windows.run) == {1}
    assert len(bump_windows(EQUAL[:20], offsets[:2], 1.0, 8)) == 0
