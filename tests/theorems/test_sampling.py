"""Appendix B.1, B.2 and the minibatch paragraph of appendix D: samples, batches and cosines.
Probabilities are sums over all possible draws instead of estimates from some draws."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from instances import N, drawn, inner, seeds
from numpy.testing import assert_allclose
from scipy.stats import binom

from orthoreg._common.errors import InputError
from orthoreg.diagnostics import (
    minibatch_bias,
    minibatch_tail,
    orthogonality_gap_bound,
    overlap_interval,
    residual_cosine,
    residual_cosine_range,
)
from orthoreg.solving._moments import overlaps

confidences = st.floats(0.5, 0.999)
sizes = st.floats(0.1, 5.0)


def whole_numbers(seed: int, count: int = 25) -> np.ndarray:
    """Products f'phi that are integers up to 10, so that sums can be counted."""
    return np.random.default_rng(seed).integers(-10, 11, count)


@given(sizes, confidences, st.integers(1, 10_000))
def test_thm_finite_sample_solves_hoeffding(largest, confidence, samples):
    """The bound is the deviation whose Hoeffding tail on [-R, R] is exactly delta."""
    bound = orthogonality_gap_bound(largest, samples, confidence)
    tail = 2 * math.exp(-2 * samples * bound**2 / (2 * largest) ** 2)
    assert tail == pytest.approx(1 - confidence, rel=1e-9)


@given(sizes, confidences, st.integers(1, 400), st.floats(1e-9, 1.0))
def test_thm_finite_sample_interval_covers_the_population(largest, confidence, samples, share):
    """Products are +-R, where Hoeffding's bound is tightest. The interval contains the population
    value often enough."""
    positive = np.arange(samples + 1)
    population = (2 * share - 1) * largest
    covered = np.zeros(samples + 1, bool)
    for count in positive:
        products = np.repeat([largest, -largest], [count, samples - count])
        found = overlap_interval(products, largest=largest, confidence=confidence)
        gap = largest * math.sqrt(2 * math.log(2 / (1 - confidence)) / samples)
        assert found.empirical == pytest.approx(products.mean(), abs=1e-12 * largest)
        assert found.upper - found.empirical == pytest.approx(gap, rel=1e-9)
        assert found.empirical - found.lower == pytest.approx(gap, rel=1e-9)
        covered[count] = found.lower <= population <= found.upper
    assert binom.pmf(positive[covered], samples, share).sum() >= confidence - 1e-9


@given(seeds)
def test_def_orthogonality_gap_is_between_the_empirical_and_the_population_inner_product(seed):
    f, g = drawn(seed, 2, 2)
    products = np.sum(f * g, axis=1)
    largest = float(np.abs(products).max())
    found = overlap_interval(products, largest=largest, confidence=0.9)
    assert found.empirical == pytest.approx(inner(f, g), rel=1e-9)
    with pytest.raises(InputError, match="largest must bound every product"):
        overlap_interval(products, largest=0.999 * largest, confidence=0.9)
    with pytest.raises(InputError, match="confidence between 0 and 1"):
        orthogonality_gap_bound(1.0, N, 1.0)


@given(seeds, sizes, confidences)
def test_cor_population_orthogonality(seed, largest, confidence):
    """The function is orthogonal on the samples, and the interval for the population is +- the
    bound."""
    phi, f_aug = drawn(seed, 1, 1)
    f_aug = f_aug - phi * overlaps(phi, f_aug) / inner(phi, phi)
    products = (phi * f_aug)[:, 0]
    products *= largest / np.abs(products).max() * (1 - 1e-12)
    found = overlap_interval(products, largest=largest, confidence=confidence)
    expected = largest * math.sqrt(2 * math.log(2 / (1 - confidence)) / N)
    assert found.upper == pytest.approx(expected, rel=1e-9)
    assert found.lower == pytest.approx(-expected, rel=1e-9)


@given(sizes, confidences, st.integers(3, 200), st.floats(0.0, 1.0))
def test_cor_population_orthogonality_is_rarely_wrong(largest, confidence, half, share):
    """A function beyond the bound appears orthogonal with probability at most delta."""
    samples = 2 * half
    bound = orthogonality_gap_bound(largest, samples, confidence)
    population = bound + share * (largest - bound)
    if bound < largest:  # otherwise, no function lies beyond the bound
        looks_orthogonal = binom.pmf(half, samples, (1 + population / largest) / 2)
        assert looks_orthogonal <= 1 - confidence
    assert bound * math.sqrt(samples / 2) == pytest.approx(
        largest * math.sqrt(math.log(2 / (1 - confidence))), rel=1e-9
    )


@given(seeds, sizes, st.integers(40, 60))
def test_cor_population_orthogonality_fails_for_a_residual_learned_from_the_samples(
    seed, largest, samples
):
    """The remark of the paper: a function that is zero on the training samples and R elsewhere."""
    states = np.random.default_rng(seed).permutation(1000)
    f_aug = np.full(1000, largest)
    f_aug[states[:samples]] = 0.0  # phi = 1
    learned = overlap_interval(f_aug[states[:samples]], largest=largest, confidence=0.95)
    assert learned.empirical == 0 and learned.upper < f_aug.mean()
    width = 2 * largest * math.sqrt(2 * math.log(40) / samples)
    assert learned.upper - learned.lower == pytest.approx(width, rel=1e-9)


@given(seeds, st.integers(1, 30))
def test_lem_minibatch_deviation(seed, batch):
    """Return the exact probability of every deviation, from all batches with replacement."""
    products = whole_numbers(seed)
    largest = int(np.abs(products).max())
    one = np.bincount(products + largest, minlength=2 * largest + 1) / len(products)
    chance = np.ones(1)
    for _ in range(batch):
        chance = np.convolve(chance, one)
    means = np.arange(len(chance)) / batch - largest
    deviations = np.abs(means - products.mean())
    for deviation in np.unique(deviations):
        exact = chance[deviations >= deviation - 1e-9].sum()
        bound = minibatch_tail(float(largest), batch, float(deviation))
        stated = 2 * math.exp(-batch * deviation**2 / (2 * largest**2))
        assert exact <= bound + 1e-12 and bound == pytest.approx(min(1.0, stated), rel=1e-9)


def test_lem_minibatch_deviation_exponent_cannot_be_raised_by_one_per_cent():
    """For products +-R and large deviations, the logarithms of probability and bound agree."""
    batch, largest = 10**6, 2.0
    for standard_deviations in (33.0, 35.0, 36.5):
        positive = math.ceil((batch + standard_deviations * math.sqrt(batch)) / 2)
        deviation = largest * (2 * positive / batch - 1)
        exact = math.log(2) + float(binom.logsf(positive - 1, batch, 0.5))
        bound = math.log(minibatch_tail(largest, batch, deviation))
        assert 1.01 * bound < exact <= bound


@given(sizes, st.integers(1, 1000), confidences)
def test_lem_minibatch_deviation_forms_are_equivalent(largest, batch, confidence):
    bound = orthogonality_gap_bound(largest, batch, confidence)
    assert minibatch_tail(largest, batch, bound) == pytest.approx(1 - confidence, rel=1e-9)


@given(seeds, st.integers(1, 25))
def test_lem_minibatch_deviation_without_replacement(seed, batch):
    """For all subsets, the bound holds, and the variance has the factor (N - B) / (N - 1)."""
    products = whole_numbers(seed)
    largest = int(np.abs(products).max())
    count = np.zeros((batch + 1, 2 * largest * batch + 1))
    count[0, 0] = 1
    for product in products + largest:
        for size in range(batch, 0, -1):
            reached = count.shape[1] - product
            count[size, product:] += count[size - 1, :reached]
    chance = count[batch] / math.comb(len(products), batch)
    means = np.arange(len(chance)) / batch - largest
    deviations = np.abs(means - products.mean())
    for deviation in np.unique(deviations[chance > 0]):
        exact = chance[deviations >= deviation - 1e-9].sum()
        assert exact <= minibatch_tail(float(largest), batch, float(deviation)) + 1e-9
    variance = float(chance @ deviations**2)
    stated = minibatch_bias(products.astype(float), batch, replacement=False)
    assert stated == pytest.approx(variance, rel=1e-9, abs=1e-9)
    factor = (len(products) - batch) / (len(products) - 1)
    assert stated == pytest.approx(
        factor * minibatch_bias(products.astype(float), batch), rel=1e-12
    )


@given(seeds, st.integers(1, 4))
def test_app_complexity_squared_batch_estimate_is_biased_by_its_variance(seed, batch):
    products = np.random.default_rng(seed).normal(0.2, 1.0, 6)
    estimates = np.array([np.mean(drawn) for drawn in itertools.product(products, repeat=batch)])
    bias = np.mean(estimates**2) - products.mean() ** 2
    assert bias == pytest.approx(minibatch_bias(products, batch), rel=1e-9)
    assert bias == pytest.approx(minibatch_bias(products, 1) / batch, rel=1e-9)  # O(1/B)


@given(seeds, st.integers(1, 6))
def test_app_complexity_bias_vanishes_for_the_full_batch_without_replacement(seed, batch):
    products = np.random.default_rng(seed).normal(0.2, 1.0, 6)
    estimates = np.array([np.mean(drawn) for drawn in itertools.combinations(products, batch)])
    bias = np.mean(estimates**2) - products.mean() ** 2
    stated = minibatch_bias(products, batch, replacement=False)
    assert bias == pytest.approx(stated, rel=1e-9, abs=1e-14)
    assert (stated == 0) is (batch == 6)


@given(seeds, st.integers(1, 3))
def test_app_complexity_two_batches_have_no_bias(seed, batch):
    """The value and the gradient have no bias, whereas one batch is biased by Var / B."""
    rng = np.random.default_rng(seed)
    phi, psi, v = rng.normal(0.3, 1, 5), rng.normal(0.3, 1, (5, 2)), rng.standard_normal(2)
    slopes = phi[:, None] * psi  # derivatives of the products phi psi'v by v
    products = slopes @ v
    batches = [list(rows) for rows in itertools.product(range(5), repeat=batch)]
    value = np.array([products[rows].mean() for rows in batches])
    slope = np.array([slopes[rows].mean(axis=0) for rows in batches])
    exact = 2 * products.mean() * slopes.mean(axis=0)
    two = (
        2 * np.mean(value) * np.mean(slope, axis=0)
    )  # expectations of independent factors multiply
    assert_allclose(two, exact, atol=1e-12)
    assert np.mean(np.outer(value, value)) == pytest.approx(products.mean() ** 2, abs=1e-12)
    one = 2 * np.mean(value[:, None] * slope, axis=0)
    expected = [  # the bias is quadratic in v, so central differences are exact
        (minibatch_bias(slopes @ (v + e), batch) - minibatch_bias(slopes @ (v - e), batch)) / 2
        for e in np.eye(2)
    ]
    assert_allclose(one - exact, expected, rtol=1e-8, atol=1e-12)


@given(seeds)
def test_fig_n_samples_ablation_cosine(seed):
    symbolic, neural = drawn(seed, 2, 2)
    sizes = inner(symbolic, symbolic) * inner(neural, neural)
    expected = abs(inner(symbolic, neural)) / math.sqrt(sizes)
    assert residual_cosine(symbolic, neural) == pytest.approx(expected, rel=1e-10)
    assert residual_cosine(3 * symbolic, -0.1 * neural) == pytest.approx(expected, rel=1e-10)
    assert residual_cosine(symbolic, -2 * symbolic) == pytest.approx(1.0, rel=1e-12)
    assert math.isnan(residual_cosine(symbolic, 0 * neural))


@given(seeds)
def test_app_exp_design_cosine_is_the_reweighted_penalty_for_a_single_term(seed):
    """The cosine |<f_aug, phi>| / (|f_aug| |phi|) does not depend on the coefficient of a single
    term. For two terms, it does."""
    theta, neural = drawn(seed, 2, 1)
    phi = theta[:, :1]
    expected = abs(overlaps(phi, neural)[0, 0]) / math.sqrt(inner(phi, phi) * inner(neural, neural))
    assert residual_cosine(-0.7 * phi, neural) == pytest.approx(expected, rel=1e-10)
    weights = np.array([[1.0], [-overlaps(phi, neural)[0, 0] / overlaps(theta, neural)[1, 0]]])
    assert residual_cosine(theta @ weights, neural) < 1e-10 < np.sum(overlaps(theta, neural) ** 2)


@given(seeds, st.floats(0.01, 0.5), st.floats(0.0, 2 * math.pi), st.floats(0.0, 2 * math.pi))
def test_app_exp_design_cosine_range_holds_every_change_and_is_attained(seed, change, one, other):
    """Two parts in a plane, changed by `change` in all directions of the plane."""
    plane = np.linalg.qr(drawn(seed, 2)[0])[0] * math.sqrt(N)
    angle = np.random.default_rng(seed).uniform(0, math.pi / 2)
    symbolic = plane[:, :1]
    neural = plane @ np.array([[math.cos(angle)], [math.sin(angle)]])
    lowest, highest = residual_cosine_range(symbolic, neural, change)

    def changed(part, direction):
        return part + change * plane @ np.array([[math.cos(direction)], [math.sin(direction)]])

    cosine = residual_cosine(changed(symbolic, one), changed(neural, other))
    assert lowest - 1e-9 <= cosine <= highest + 1e-9
    turn = math.asin(change)  # orthogonal to the changed vector, in both directions
    apart = residual_cosine(
        changed(symbolic, -math.pi / 2 - turn), changed(neural, angle + math.pi / 2 + turn)
    )
    together = residual_cosine(
        changed(symbolic, math.pi / 2 + turn), changed(neural, angle - math.pi / 2 - turn)
    )
    if angle + 2 * turn < math.pi / 2:
        assert apart == pytest.approx(lowest, abs=1e-9)
    else:
        assert lowest == pytest.approx(0.0, abs=1e-12)
    if angle > 2 * turn:
        assert together == pytest.approx(highest, abs=1e-9)
    else:
        assert highest == 1.0
    small = residual_cosine_range(symbolic, change * neural, change)
    assert_allclose(small, (0.0, 1.0), atol=1e-7)
