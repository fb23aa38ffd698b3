"""The noise level of a signal, and the smoothed signal."""

import numpy as np
import pytest

from orthoreg.smoothing import Smoother, best_smoother, estimate_noise

t = np.linspace(0, 20, 1000)
ONE = np.array([0, len(t)])
signal = np.column_stack([np.sin(t), np.cos(3 * t)])


@pytest.mark.parametrize("size", [1e-3, 0.02, 0.2])
def test_the_level_of_white_noise(size):
    x = signal + size * np.random.default_rng(1).standard_normal(signal.shape)
    level, is_noise = estimate_noise(t, x, ONE)
    assert is_noise.all()
    np.testing.assert_allclose(level, size, rtol=0.15)


def test_clean_and_coarse_signals_are_no_noise():
    assert not estimate_noise(t, signal, ONE)[1].any()
    assert not estimate_noise(t[::12], signal[::12], np.array([0, len(t[::12])]))[1].any()


@pytest.mark.parametrize("is_regular", [True, False])
@pytest.mark.parametrize("decimals", [1, 2])
def test_rounding_is_noise(is_regular, decimals):
    """Neighbouring samples are rounded to the same value, so that their differences do not show the
    error."""
    times = t if is_regular else np.sort(np.random.default_rng(0).uniform(0, 20, 1000))
    x = np.column_stack([np.sin(times), np.cos(3 * times)])
    level, is_noise = estimate_noise(times, np.round(x, decimals), ONE)
    assert is_noise.all()
    error = (np.round(x, decimals) - x).std(axis=0)
    assert ((level > 0.8 * error) & (level < 2 * error)).all()


def test_exact_values_on_a_grid_are_not_rounded():
    """Return a parabola at equal times, and a switch."""
    times = np.arange(50) / 4
    x = np.column_stack([2 * times**2, np.sign(np.sin(times))])
    level, is_noise = estimate_noise(times, x, np.array([0, 50]))
    assert not is_noise.any() and level[0] < 1e-9


@pytest.mark.parametrize("size", [3e-3, 3e-2])
def test_noise_on_motion_of_few_samples_a_period(size):
    """Return a signal with random phases and frequencies up to two thirds of the Nyquist
    frequency."""
    draw = np.random.default_rng(1)
    phases = np.exp(2j * np.pi * draw.random(1001)) * (np.arange(1001) < 650)
    motion = np.fft.irfft(phases / (1 + np.arange(1001) / 200) ** 2, 2000)
    motion = (motion / motion.std())[:, None]
    times, whole = np.arange(2000) * 0.1, np.array([0, 2000])
    level, is_noise = estimate_noise(times, motion + size * draw.standard_normal((2000, 1)), whole)
    assert is_noise.all()
    np.testing.assert_allclose(level, size, rtol=0.3)
    assert not estimate_noise(times, motion, whole)[1].any()


@pytest.mark.parametrize("steps", ["equal", "unequal"])
def test_each_column_is_smoothed_over_its_own_window(steps):
    times = t if steps == "equal" else np.sort(np.random.default_rng(2).uniform(0, 20, 1000))
    clean = np.column_stack([np.sin(0.5 * times), np.sin(6 * times)])
    noisy = clean + 0.1 * np.random.default_rng(3).standard_normal(clean.shape)
    found = best_smoother(times, noisy, ONE)
    assert found.window[0] > 2 * found.window[1]
    left = np.sqrt(np.mean((found(times, noisy, ONE) - clean) ** 2, axis=0))
    assert left[0] < 0.025 and left[1] < 0.06
    np.testing.assert_allclose(found.noise, 0.1, rtol=0.2)


def test_clean_data_stay_as_they_are():
    np.testing.assert_allclose(best_smoother(t, signal, ONE)(t, signal, ONE), signal, atol=1e-6)


def test_a_short_run_is_smoothed_over_all_of_its_rows():
    x = signal[:, :1] + 0.1 * np.random.default_rng(4).standard_normal((1000, 1))
    offsets = np.array([0, 6, 1000])
    runs = np.r_[t[:6], t[:994]], np.r_[x[:6], x[:994]], offsets
    found = best_smoother(*runs)(*runs)
    assert np.isfinite(found).all()
    line = np.polynomial.Polynomial.fit(t[:6], x[:6, 0], 3)(t[:6])
    np.testing.assert_allclose(found[:6, 0], line, atol=1e-9)


@pytest.mark.parametrize("window, degree", [(5, 3), (7, 3), (13, 5), (61, 3)])
def test_smoothing_leaves_all_noise_but_its_leverage(window, degree):
    noise = np.random.default_rng(window).standard_normal((20_000, 1))
    times, offsets = np.arange(20_000.0), np.array([0, 20_000])
    found = Smoother(np.ones(1), np.array([window]), np.array([degree]))
    left = noise - found(times, noise, offsets)
    np.testing.assert_allclose(np.mean(left**2), 1 - found.leverage[0], rtol=0.03)
