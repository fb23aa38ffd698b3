"""`Extent` of chunks equals that of the whole data."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from orthoreg.data import Extent, _extent, _limits

seeds = st.integers(0, 10_000)
cuts = st.lists(st.integers(1, 199), max_size=6, unique=True).map(sorted)


def drawn(seed: int, rows: int = 200) -> np.ndarray:
    """Columns with very different sizes and large means, and a constant column."""
    rng = np.random.default_rng(seed)
    columns = rng.standard_normal((rows, 3)) @ rng.standard_normal((3, 3)) * [1e-3, 1.0, 1e4]
    return np.column_stack([columns + [1.0, -5.0, 3e5], np.full(rows, 7.0)])


def in_chunks(variables: np.ndarray, places: list[int]) -> Extent:
    edges = [0, *places, len(variables)]
    parts = [Extent.of(variables[a:b], first=a) for a, b in zip(edges[:-1], edges[1:], strict=True)]
    return sum(parts[1:], start=parts[0])


@given(seeds, cuts)
def test_it_is_that_of_all_rows_whatever_the_chunks(seed, places):
    variables = drawn(seed)
    found = in_chunks(variables, places)
    assert found.count == 200
    assert_array_equal(found.range, [variables.min(axis=0), variables.max(axis=0)])
    assert_allclose(found.mean, variables.mean(axis=0), rtol=1e-13)
    assert_allclose(found.std[:3], variables[:, :3].std(axis=0), rtol=1e-12)
    size = variables.std(axis=0)
    away = variables - variables.mean(axis=0)
    scale = np.outer(size, size) * 200 + 1e-300
    assert_allclose(found.square / scale, away.T @ away / scale, atol=1e-11)
    assert_array_equal(found.varies, [True, True, True, False])
    assert found.std[3] == 1


@given(seeds, cuts)
def test_chunks_may_come_in_any_order(seed, places):
    variables = drawn(seed)
    edges = [0, *places, 200]
    parts = [Extent.of(variables[a:b], first=a) for a, b in zip(edges, edges[1:], strict=False)]
    parts = [parts[i] for i in np.random.default_rng(seed).permutation(len(parts))]
    mixed, whole = sum(parts[1:], start=parts[0]), Extent.of(variables)
    assert_allclose(mixed.mean, whole.mean, rtol=1e-12)
    assert_allclose(mixed.std, whole.std, rtol=1e-9)
    assert_array_equal(np.sort(mixed.sample, axis=0), np.sort(whole.sample, axis=0))


@given(seeds, cuts, st.sampled_from([20, 150, 199]))
def test_the_sample_does_not_depend_on_the_cut(seed, places, most):
    variables = drawn(seed)
    with (
        mock.patch.object(_limits, "EXTENT_SAMPLE", most),
        mock.patch.object(_extent, "_BLOCK", 10),
    ):
        whole, parts = Extent.of(variables), in_chunks(variables, places)
    assert len(whole.sample) == len(parts.sample) == most and whole.count == 200
    kept = [set(map(tuple, one.sample)) for one in (whole, parts)]
    assert kept[0] == kept[1] <= set(map(tuple, variables))


def test_quantiles_of_the_sample_are_those_of_the_data():
    variables = np.random.default_rng(0).standard_normal((40_000, 1)) ** 3
    whole = Extent.of(variables)
    assert_array_equal(np.sort(whole.sample, axis=0), np.sort(variables, axis=0))
    with (
        mock.patch.object(_limits, "EXTENT_SAMPLE", 4000),
        mock.patch.object(_extent, "_BLOCK", 3000),
    ):
        sample = Extent.of(variables).sample[:, 0]
    assert len(sample) == 4000
    for share in (0.05, 0.5, 0.95):
        below = np.mean(variables[:, 0] <= np.quantile(sample, share))
        assert below == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / 4000))


def test_the_sample_is_spread_over_all_rows():
    with (
        mock.patch.object(_limits, "EXTENT_SAMPLE", 1000),
        mock.patch.object(_extent, "_BLOCK", 500),
    ):
        rows = Extent.of(np.arange(20_000.0)[:, None]).sample[:, 0]
    share = np.histogram(rows, bins=10, range=(0, 20_000))[0] / 1000
    assert np.abs(share - 0.1).max() < 0.04  # a standard deviation is 0.0095


@given(seeds)
def test_distances_are_mahalanobis_and_free_of_units(seed):
    variables = drawn(seed)
    distance = Extent.of(variables).distance(variables)
    moving = variables[:, :3]
    inverse = np.linalg.inv(np.cov(moving.T, bias=True))
    away = moving - moving.mean(axis=0)
    assert_allclose(distance, np.sqrt(np.einsum("ni,ij,nj->n", away, inverse, away)), rtol=1e-5)
    scaled = variables * [1e3, 1e-3, 7.0, 1.0]
    assert_allclose(Extent.of(scaled).distance(scaled), distance, rtol=1e-5)
    assert_array_equal(Extent.of(variables[:1]).distance(variables[:5]), np.zeros(5))


def test_noise_decides_where_a_variable_has_one_sign():
    points = np.array([[-0.1, -0.1, 0.2, -5.0], [3.0, 3.0, 4.0, 0.1]])
    extent = Extent.of(points)
    signed = extent.signed(points, np.array([0.2, 0.0, 0.2, 0.2]))
    assert_array_equal(signed.low, [0.0, -0.1, 0.2, -5.0])
    assert_array_equal(signed.high, [3.0, 3.0, 4.0, 0.0])
    assert_array_equal(signed.sample, [*points, *points])  # the values of both columns exceed zero
    kept = signed.with_signs(points + [[-9.0], [9.0]])
    assert_array_equal(kept, [[0.0, -9.1, 0.0, -14.0], [12.0, 12.0, 13.0, 0.0]])


def test_noise_alone_has_no_sign():
    extent = Extent.of(np.array([[-0.1], [0.15]]))
    assert_array_equal(extent.signed(extent.sample, np.array([0.3])).range, extent.range)


def test_points_beyond_zero_are_in_the_sample_of_rows_that_are_not():
    extent = Extent.of(np.array([[0.1], [3.0]]))
    signed = extent.signed(np.array([[-0.1], [2.0]]), np.array([0.2]))
    assert_array_equal(signed.low, [0.1])
    assert_array_equal(signed.sample, [[0.1], [3.0], [-0.1]])
    far = extent.signed(np.array([[-0.3], [2.0]]), np.array([0.2]))
    assert_array_equal(far.sample, extent.sample)
