"""Correlated noise: its correlation time, and its distinction from a missing term."""

import numpy as np
import pytest
from scipy.signal import lfilter

import orthoreg as og
from orthoreg.matching._noise import correlation_time
from orthoreg.smoothing import left_out_errors


def correlated(rng, phi, shape):
    """AR(1) noise of unit variance along the first axis."""
    start = rng.standard_normal((200 + shape[0], *shape[1:]))
    return np.asarray(lfilter([np.sqrt(1 - phi**2)], [1, -phi], start, axis=0))[200:]


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.8])
def test_correlation_time_of_a_first_order_process(phi):
    noise = correlated(np.random.default_rng(0), phi, (400, 2, 30))
    noise[300:, :, 20:] = 1e3  # these rows do not count
    counted = np.ones((400, 30), dtype=bool)
    counted[300:, 20:] = False
    found = correlation_time(noise, counted)
    np.testing.assert_allclose(found, (1 + phi) / (1 - phi), rtol=0.25)


def test_left_out_errors_are_those_of_fits_without_the_row():
    rng = np.random.default_rng(1)
    offsets = np.array([0, 18, 40])
    values = rng.standard_normal((40, 2))
    for times in (np.linspace(0, 1, 40), np.sort(rng.uniform(0, 1, 40))):
        errors = []
        for first, last in zip(offsets[:-1], offsets[1:], strict=True):
            for i in range(first, last):
                start = min(max(i - 4, first), last - 9)
                rest = [j for j in range(start, start + 9) if j != i]
                fit = np.polyfit(times[rest] - times[i], values[rest], 3)
                errors.append((values[i] - fit[-1]) ** 2)
        found = left_out_errors(times, values, offsets, 9, 3)
        np.testing.assert_allclose(found, np.mean(errors, axis=0), rtol=1e-6)


def oscillator(phi, noise, seed, *, cubic=0.0):
    """Runs of x'' = -4 x - 0.2 x' - cubic x^3, both states with noise."""
    from scipy.integrate import solve_ivp

    rng = np.random.default_rng(seed)
    times = np.linspace(0, 12, 200)
    runs = [
        solve_ivp(
            lambda t, z: [z[1], -4 * z[0] - 0.2 * z[1] - cubic * z[0] ** 3],
            (0, 12), rng.uniform(-2, 2, 2), t_eval=times, rtol=1e-8, atol=1e-8,
        ).y.T
        for _ in range(5)
    ]  # fmt: skip
    size = noise * np.concatenate(runs).std(axis=0)
    runs = [run + size * correlated(rng, phi, run.shape) for run in runs]
    return og.Dataset.from_arrays(runs, times, names=["x", "v"]), size


@pytest.mark.slow
def test_correlated_noise_widens_intervals():
    """Smoothing removes half of this noise; trajectories show that the other half is noise too."""
    data, size = oscillator(0.85, 0.03, 0)
    model = og.OrthoReg("poly(2)", og.Zero()).fit(data)
    assert model.support_.sum() == 3
    found = model.refinement_
    assert found is not None and found.kept and found.is_sandwich
    np.testing.assert_allclose(found.noise, size, rtol=0.25)
    interval = found.interval()
    assert interval is not None
    truth = np.array([1.0, -4.0, -0.2])
    assert ((interval[:, 0] <= truth) & (truth <= interval[:, 1])).all()
    white, _ = oscillator(0.0, 0.03, 0)
    plain = og.OrthoReg("poly(2)", og.Zero()).fit(white).refinement_
    assert plain is not None and not plain.is_sandwich
    assert plain.standard_errors is not None and found.standard_errors is not None
    assert (found.standard_errors > 2 * plain.standard_errors).all()


@pytest.mark.slow
def test_a_missing_term_is_not_noise():
    data, _ = oscillator(0.0, 0.01, 1, cubic=0.5)
    model = og.OrthoReg("poly(2)", og.Zero()).fit(data)
    assert model.refinement_ is None or not model.refinement_.kept
