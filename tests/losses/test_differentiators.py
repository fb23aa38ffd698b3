"""Differentiators: exactness, order of convergence, references, invariances and errors."""

import warnings
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import CubicSpline
from scipy.signal import savgol_filter

from orthoreg import (
    Automatic,
    Dataset,
    FiniteDifference,
    LocalPolynomial,
    SavitzkyGolay,
    SmoothedFiniteDifference,
    SmoothingSpline,
)
from orthoreg._common.errors import DataError, InputError
from orthoreg.smoothing import _polynomial as module

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import pysindy

EVERY = [
    FiniteDifference(), SmoothedFiniteDifference(), SmoothedFiniteDifference(7, 2),
    SavitzkyGolay(7, 3), LocalPolynomial(6, 3), SmoothingSpline(), SmoothingSpline(1e-3),
    Automatic(),
]  # fmt: skip
EQUAL_STEPS_ONLY = [SmoothedFiniteDifference(), SavitzkyGolay(7, 3)]
ANY_STEPS = [d for d in EVERY if not isinstance(d, SmoothedFiniteDifference | SavitzkyGolay)]


def irregular(rng: np.random.Generator, count: int = 40) -> np.ndarray:
    return np.cumsum(rng.uniform(0.3, 1.7, count)) / count


def slopes(differentiator, x, t) -> np.ndarray:
    return differentiator(Dataset.from_arrays(x, t)).derivatives


def waves(t: np.ndarray) -> np.ndarray:
    return np.column_stack([np.sin(3 * t), np.exp(-t) * np.cos(5 * t)])


def wave_slopes(t: np.ndarray) -> np.ndarray:
    damped = np.exp(-t) * (-np.cos(5 * t) - 5 * np.sin(5 * t))
    return np.column_stack([3 * np.cos(3 * t), damped])


@pytest.mark.parametrize(
    "differentiator, degree, is_any_step",
    [
        (FiniteDifference(), 2, True),
        (LocalPolynomial(6, 3), 3, True),
        (LocalPolynomial(9, 5), 5, True),
        (Automatic(), 3, True),
        (SmoothingSpline(0.0), 1, True),
        (SmoothedFiniteDifference(), 2, False),
        (SavitzkyGolay(7, 4), 4, False),
        (SavitzkyGolay(4, 2), 2, False),
    ],
    ids=repr,
)
@given(seed=st.integers(0, 10**6))
def test_exact_on_polynomials_of_its_degree(differentiator, degree, is_any_step, seed):
    rng = np.random.default_rng(seed)
    t = irregular(rng) if is_any_step else np.linspace(-1, 1, 40)
    curves = [np.polynomial.Polynomial(rng.normal(size=degree + 1)) for _ in range(2)]
    x = np.column_stack([curve(t) for curve in curves])
    exact = np.column_stack([curve.deriv()(t) for curve in curves])
    np.testing.assert_allclose(slopes(differentiator, x, t), exact, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(
    "differentiator, bend, order",
    [
        (FiniteDifference(), 0.0, 2),
        (FiniteDifference(), 0.3, 2),
        (SmoothedFiniteDifference(), 0.0, 2),
        (LocalPolynomial(5, 3), 0.0, 3),
        (LocalPolynomial(5, 3), 0.3, 3),
        (SavitzkyGolay(5, 3), 0.0, 3),
        (SavitzkyGolay(5, 4), 0.0, 4),
    ],
    ids=repr,
)
def test_halving_the_step_shows_the_order(differentiator, bend, order):
    def error(count: int) -> float:
        s = np.linspace(0, 2, count + 1)
        t = s + bend * np.sin(s)  # on a smooth grid, all steps halve together
        return np.abs(slopes(differentiator, waves(t), t) - wave_slopes(t)).max()

    observed = np.log2(error(200) / error(400))
    assert order - 0.15 < observed < order + 0.6


def test_finite_difference_equals_pysindy_and_numpy_on_any_grid(rng):
    t = irregular(rng)
    x = rng.normal(size=(40, 3))
    found = slopes(FiniteDifference(), x, t)
    np.testing.assert_allclose(found, np.gradient(x, t, axis=0, edge_order=2), rtol=1e-10)
    reference = pysindy.FiniteDifference(order=2)._differentiate(x, t)
    np.testing.assert_allclose(found, reference, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("window", [5, 7, 11])
def test_smoothed_finite_difference_equals_pysindy(rng, window):
    t = np.linspace(0, 3, 50)
    runs = [rng.normal(size=(50, 2)) for _ in range(3)]
    reference = pysindy.SmoothedFiniteDifference(smoother_kws={"window_length": window})
    expected = np.concatenate([reference._differentiate(run, t) for run in runs])
    found = slopes(SmoothedFiniteDifference(window), runs, t)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@given(half=st.integers(1, 7), degree=st.integers(1, 6), extra=st.integers(0, 20))
def test_savitzky_golay_equals_scipy(half, degree, extra):
    window = 2 * half + 1
    degree = min(degree, window - 1)
    x = np.random.default_rng(extra).normal(size=(window + extra, 2))
    expected = savgol_filter(x, window, degree, deriv=1, delta=0.02, axis=0)
    for differentiator in (SavitzkyGolay(window, degree), LocalPolynomial(window, degree)):
        np.testing.assert_allclose(slopes(differentiator, x, 0.02), expected, rtol=1e-7, atol=1e-7)


def test_spline_without_smoothing_is_the_natural_spline(rng):
    t = irregular(rng)
    expected = CubicSpline(t, waves(t), bc_type="natural")(t, 1)
    np.testing.assert_allclose(slopes(SmoothingSpline(0.0), waves(t), t), expected, atol=1e-8)


@given(
    st.lists(st.integers(9, 14), min_size=1, max_size=5),
    st.integers(1, 20),
    st.sampled_from(
        [FiniteDifference(), SmoothedFiniteDifference(7, 2), SavitzkyGolay(6, 3),
         SavitzkyGolay(9, 4)]
    ),
)  # fmt: skip
def test_neither_blocks_nor_neighbouring_runs_are_seen(counts, block, differentiator):
    """Runs of the minimum length and longer ones, in blocks that end at any row."""
    x = [np.random.default_rng(count).normal(size=(count, 2)) for count in counts]
    t = [7.0 - run + 0.1 * (run + 1) * np.arange(count) for run, count in enumerate(counts)]
    alone = np.concatenate([slopes(differentiator, *run) for run in zip(x, t, strict=True)])
    with mock.patch.object(module, "_BLOCK", block):
        together = slopes(differentiator, x, t)
    np.testing.assert_allclose(together, alone, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("differentiator", [d for d in EVERY if d != Automatic()], ids=repr)
def test_many_runs_at_once_equal_run_by_run(differentiator, rng):
    counts, steps = [12, 30, 12, 9], [0.1, 0.05, 0.2, 0.1]
    if differentiator == SmoothingSpline():  # runs on the same grid share the strength
        counts = [12, 30, 13, 9]
    t = [step * np.arange(count) for count, step in zip(counts, steps, strict=True)]
    if differentiator in ANY_STEPS:
        t = [np.sort(rng.uniform(0, 2, count)) for count in counts]
    x = [waves(times) + 0.01 * rng.normal(size=(len(times), 2)) for times in t]
    alone = np.concatenate([slopes(differentiator, *run) for run in zip(x, t, strict=True)])
    np.testing.assert_allclose(slopes(differentiator, x, t), alone, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("differentiator", EVERY, ids=repr)
@given(
    scale=st.sampled_from([-3.0, 1e-3, 20.0]),
    stretch=st.sampled_from([0.01, 0.5, 60.0]),
    shift=st.integers(-100, 100),
)
@settings(max_examples=10)
def test_units_and_origins_do_not_matter(differentiator, scale, stretch, shift):
    """The derivative of scale x + shift over stretch t + shift is scale / stretch times that of x
    over t."""
    rng = np.random.default_rng(abs(shift))
    t = irregular(rng) if differentiator in ANY_STEPS else np.linspace(0, 1, 40)
    if differentiator == SmoothingSpline(1e-3):  # the strength has units
        stretch = 1.0
    x = waves(t) + 0.01 * rng.normal(size=(40, 2))
    expected = scale / stretch * slopes(differentiator, x, t)
    found = slopes(differentiator, scale * x + shift, stretch * t + shift)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("differentiator", EVERY, ids=repr)
def test_states_are_kept_and_columns_do_not_mix(differentiator, rng):
    t = np.linspace(0, 1, 40)
    data = Dataset.from_arrays(waves(t), t, names=["a", "b"])
    result = differentiator(data)
    np.testing.assert_array_equal(result.states, waves(t))
    assert data.derivatives is None and result.state_names == ("a", "b")
    if differentiator != Automatic():  # one window is chosen for all states
        alone = slopes(differentiator, waves(t)[:, 1:], t)
        np.testing.assert_allclose(result.derivatives[:, 1:], alone, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("differentiator", EQUAL_STEPS_ONLY, ids=repr)
def test_unequal_steps_are_refused_with_the_alternatives(differentiator):
    t = np.linspace(0, 1, 11)
    uneven = np.where(np.arange(11) == 4, 0.43, t)
    with pytest.raises(DataError) as caught:
        slopes(differentiator, [waves(t), waves(uneven)], [t, uneven])
    alternatives = [f"{d!r}".partition("(")[0] + "(" for d in ANY_STEPS]
    for word in [repr(differentiator), "run 1", "0.07 to 0.13", *alternatives]:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    "differentiator, least",
    [(FiniteDifference(), 3), (SmoothedFiniteDifference(), 5), (SavitzkyGolay(7, 3), 7),
     (LocalPolynomial(9, 3), 9), (SmoothingSpline(), 8), (Automatic(), 3)],
    ids=repr,
)  # fmt: skip
def test_runs_that_are_too_short_are_named(differentiator, least):
    t = [0.1 * np.arange(count) for count in (20, least, least - 1)]
    x = [waves(times) for times in t]
    assert np.isfinite(slopes(differentiator, x[:2], t[:2])).all()
    with pytest.raises(DataError) as caught:
        slopes(differentiator, x, t)
    for word in [f"run 2 has {least - 1} points", repr(differentiator), f"at least {least}"]:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: SavitzkyGolay(5, 5), "SavitzkyGolay.*window=5, degree=5"),
        (lambda: LocalPolynomial(5, 0), "LocalPolynomial.*degree=0"),
        (lambda: SmoothedFiniteDifference(6), "odd; got 6"),
        (lambda: SmoothedFiniteDifference(3), "window=3, degree=3"),
        (lambda: SmoothingSpline(-1.0), "smoothing.*got -1"),
        (lambda: SmoothingSpline(np.nan), "smoothing.*got nan"),
    ],
)
def test_impossible_settings_are_refused(make, words):
    with pytest.raises(InputError, match=words):
        make()


def noisy(noise: float, t: np.ndarray) -> np.ndarray:
    return waves(t) + noise * np.random.default_rng(5).normal(size=(len(t), 2))


GRIDS = [np.linspace(0, 4, 400), 4 * irregular(np.random.default_rng(3), 400)]


@pytest.mark.parametrize("t", GRIDS, ids=["equal", "irregular"])
def test_automatic_widens_its_window_with_the_noise(t):
    windows = [
        Automatic().rule(Dataset.from_arrays(noisy(noise, t), t)).window
        for noise in (0.0, 1e-3, 3e-2, 0.3)
    ]
    assert windows == sorted(windows) and windows[0] < 10 and windows[-1] > 25


@pytest.mark.parametrize("differentiator", [Automatic(), SmoothingSpline()], ids=repr)
@pytest.mark.parametrize("t", GRIDS, ids=["equal", "irregular"])
@pytest.mark.parametrize("noise, gain", [(1e-3, 2.0), (3e-2, 10.0)])
def test_smoothing_beats_differences_on_noisy_data(differentiator, t, noise, gain):
    def error(chosen) -> float:
        return np.sqrt(np.mean((slopes(chosen, noisy(noise, t), t) - wave_slopes(t)) ** 2))

    assert error(differentiator) * gain < error(FiniteDifference())


@pytest.mark.parametrize("t", GRIDS, ids=["equal", "irregular"])
def test_automatic_uses_a_higher_order_on_clean_data(t):
    errors = [
        np.abs(slopes(d, waves(t), t) - wave_slopes(t)).max()
        for d in (Automatic(), FiniteDifference())
    ]
    assert errors[0] < errors[1] / 100


@pytest.mark.parametrize(
    "differentiator", [LocalPolynomial(5, 3), LocalPolynomial(7, 5), Automatic()], ids=repr
)
@pytest.mark.parametrize("step", [1e-2, 1e-3, 1e-4])
def test_bursts_of_samples_do_not_spoil_clean_data(differentiator, step):
    """Six samples are close together before a pause, so the normal equations are nearly
    singular."""
    t = np.cumsum(np.where(np.arange(120) % 6 == 0, 1.0, step))
    x = np.column_stack([np.sin(t / 8), np.cos(t / 8)])
    exact = np.column_stack([x[:, 1], -x[:, 0]]) / 8
    errors = [np.abs(slopes(d, x, t) - exact).max() for d in (differentiator, FiniteDifference())]
    assert errors[0] < errors[1]


def test_the_units_of_one_state_do_not_sway_the_choice():
    t = GRIDS[0]
    x = np.column_stack([noisy(0.3, t)[:, 0], waves(t)[:, 1]])
    chosen = {Automatic().rule(Dataset.from_arrays(x * [1.0, s], t)) for s in (1e-6, 1.0, 1e6)}
    assert len(chosen) == 1


@pytest.mark.parametrize("constant", [0.1, 1 / 3])
def test_a_constant_state_does_not_sway_the_choice(constant):
    t = GRIDS[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        both = Dataset.from_arrays(np.column_stack([noisy(0.03, t), np.full(400, constant)]), t)
    assert Automatic().rule(both) == Automatic().rule(Dataset.from_arrays(noisy(0.03, t), t))
