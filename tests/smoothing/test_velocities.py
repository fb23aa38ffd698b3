"""Velocities from positions, compared with closed forms, SciPy and the same differentiator."""

import numpy as np
import pytest
from scipy.signal import savgol_filter

import orthoreg as og
from orthoreg.losses import Automatic
from orthoreg.smoothing import best_polynomial, polynomial_weights, sliding_fit, velocities


def preferred_velocities(times, values, offsets):
    return velocities(times, values, offsets, best_polynomial(times, values, offsets))


def test_a_cubic_has_its_own_slope_on_any_times(rng):
    times = np.sort(rng.uniform(0, 3, 40))
    found = preferred_velocities(times, (times**3 - 2 * times)[:, None], np.array([0, 40]))
    np.testing.assert_allclose(found[:, 0], 3 * times**2 - 2, atol=1e-9)


def test_equal_steps_are_scipys_savitzky_golay(rng):
    values = rng.normal(size=(50, 2))
    found = sliding_fit(0.1 * np.arange(50), values, np.array([0, 50]), 9, 3, derivative=1)
    np.testing.assert_allclose(found, savgol_filter(values, 9, 3, deriv=1, delta=0.1, axis=0))


def test_second_derivatives_of_a_fitted_polynomial(rng):
    points = np.sort(rng.uniform(-1, 1, (1, 9)))
    weights = polynomial_weights(points, np.array([0.3]), 4, 2)
    np.testing.assert_allclose(weights @ points[0] ** 4, 12 * 0.3**2)


@pytest.mark.parametrize("noise", [0.0, 0.05])
@pytest.mark.parametrize("regular", [True, False])
def test_the_rule_is_that_of_the_automatic_differentiator(rng, noise, regular):
    lengths = [80, 3, 130, 4]
    times = [np.linspace(0, 0.1 * n, n) if regular else np.sort(rng.uniform(0, 0.1 * n, n))
             for n in lengths]  # fmt: skip
    runs = [np.sin(t)[:, None] + noise * rng.normal(size=(len(t), 1)) for t in times]
    data = og.Dataset.from_arrays(runs, times)
    found = preferred_velocities(data.times, data.states, data.offsets)
    np.testing.assert_allclose(found, Automatic().slopes(data), rtol=1e-9, atol=1e-12)


def test_noise_takes_a_longer_window(rng):
    times, bounds = 0.02 * np.arange(400), np.array([0, 400])
    clean = np.sin(3 * times)[:, None]
    quiet = best_polynomial(times, clean, bounds)
    loud = best_polynomial(times, clean + 0.05 * rng.normal(size=clean.shape), bounds)
    assert quiet is not None and loud is not None and loud[0] > 2 * quiet[0]
