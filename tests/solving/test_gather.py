"""Moments compared with dense products: folds, cells, chunks, and rows that are weighted sums."""

from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.sparse import csr_array

import orthoreg as og
from orthoreg._common.errors import DataError
from orthoreg.data import Partition, Rows, extrapolation_rule
from orthoreg.solving import Moments, _limits, gather, gather_partitioned, no_basis
from orthoreg.solving._partitioned import _fewer_cuts
from orthoreg.terms import bind

FEATURES = bind(og.Polynomial(2) + og.Fourier(1), ("x", "y"), ("x", "y"))
seeds = st.integers(0, 10_000)


@pytest.fixture(scope="module", autouse=True)
def short_blocks():
    with mock.patch.object(_limits, "BLOCK_NUMBERS", 1):
        yield


def made(seed: int, n_rows: int = 700, windows: bool = False) -> Rows:
    """Return more rows than a block, in ten runs. With windows, each row is a sum over
    four points."""
    rng = np.random.default_rng(seed)
    rows = Rows(
        rng.standard_normal((n_rows, 2)), rng.standard_normal((n_rows, 2)),
        np.arange(n_rows) * 10 // n_rows, np.array([0.01, 0.0]), ("x", "y"), ("x", "y"),
        np.arange(float(n_rows)),
    )  # fmt: skip
    if not windows:
        return rows
    places = np.minimum(np.arange(n_rows)[:, None] + np.arange(4), n_rows - 1)
    weights = rng.standard_normal((n_rows, 4)).ravel()
    index = (np.repeat(np.arange(n_rows), 4), places.ravel())
    return replace(rows, windows=csr_array((weights, index), shape=(n_rows, n_rows)))


def dense(rows: Rows, *functions) -> np.ndarray:
    """Return the matrix (theta, psi, y), row by row."""
    values = np.hstack([function(rows.points) for function in functions])
    values = values if rows.windows is None else rows.windows.toarray() @ values
    return np.hstack([values, rows.targets])


@given(seeds, st.booleans())
def test_moments_are_the_dense_product(seed, windows):
    rows = made(seed, windows=windows)
    basis = og.RandomFeatures(7).init(np.zeros(2), np.ones(2), rng=np.random.default_rng(seed))
    z = dense(rows, FEATURES, basis)
    (found,) = gather(FEATURES, basis, rows)
    assert (found.count, found.n_features, found.n_basis, found.n_targets) == (700, 10, 8, 2)
    size = np.sqrt(np.diag(z.T @ z))
    assert_allclose(found.total / np.outer(size, size), z.T @ z / np.outer(size, size), atol=1e-12)


@given(seeds, st.integers(1, 6), st.booleans())
def test_folds_add_up_and_each_is_that_of_its_rows(seed, count, windows):
    rows = made(seed, windows=windows)
    fold = np.random.default_rng(seed).integers(0, count, 700)
    found = gather(FEATURES, no_basis, rows, folds=count, fold_of_row=fold)
    z = dense(rows, FEATURES)
    for i, one in enumerate(found):
        assert one.count == np.sum(fold == i)
        assert_allclose(one.total, z[fold == i].T @ z[fold == i], rtol=1e-9, atol=1e-9)
    total = sum(found[1:], start=found[0])
    assert_allclose(total.total, z.T @ z, rtol=1e-9, atol=1e-9)
    rest = total - found[0]
    assert_allclose(rest.total, z[fold != 0].T @ z[fold != 0], rtol=1e-8, atol=1e-8)


@given(seeds, st.booleans())
def test_cells_of_weighted_rows_add_up_to_the_dense_product(seed, windows):
    rows = made(seed, windows=windows)
    partition = extrapolation_rule(rows, 0.5, 2.0)(rows)
    cells = gather_partitioned(FEATURES, rows, partition)
    z = dense(rows, FEATURES)
    assert_allclose(cells.all.total, z.T @ z, rtol=1e-9, atol=1e-9)
    for q, outer in enumerate(partition.outer.T):
        mine = cells.total[cells.outer[:, q]].sum(axis=0)
        assert_allclose(mine, z[outer].T @ z[outer], rtol=1e-9, atol=1e-9)
    far = FEATURES(partition.extrapolated)
    assert_allclose(cells.extrapolation_gram, far.T @ far / len(far), rtol=1e-9, atol=1e-9)
    assert cells.n_extrapolated == 700


@given(seeds, st.integers(1, 699))
def test_cells_of_two_chunks_add_up_to_those_of_all_rows(seed, place):
    rows = made(seed)
    partition = extrapolation_rule(rows, 0.5, 2.0)(rows)
    whole = gather_partitioned(FEATURES, rows, partition)
    parts = []
    for chosen in (np.arange(place), np.arange(place, 700)):
        piece = replace(
            partition, group=partition.group[chosen], outer=partition.outer[chosen],
            extrapolated=partition.extrapolated[chosen],
        )  # fmt: skip
        parts.append(gather_partitioned(FEATURES, rows.at(chosen), piece))
    both = parts[0] + parts[1]
    assert_allclose(both.all.total, whole.all.total, rtol=1e-9, atol=1e-9)
    assert_allclose(both.extrapolation_gram, whole.extrapolation_gram, rtol=1e-9, atol=1e-9)
    assert_allclose(both.target_mse, whole.target_mse)
    for group in range(whole.n_groups):
        for q in range(whole.outer.shape[1]):
            for side in (True, False):
                one, other = (
                    c.total[(c.group == group) & (c.outer[:, q] == side)].sum(axis=0)
                    for c in (both, whole)
                )
                assert_allclose(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("windows", [False, True])
def test_a_term_that_is_not_finite_is_named_with_its_point(windows):
    rows = made(0, windows=windows)
    rows.points[:, 0] = 1.0 + rows.points[:, 0] ** 2
    rows.points[33, 0] = 0.0
    features = bind(og.Terms(["y", "1/x"]), ("x", "y"), ("x", "y"))
    for attempt in (
        lambda: gather(features, no_basis, rows),
        lambda: gather_partitioned(features, rows, extrapolation_rule(rows, 0.5, 2.0)(rows)),
    ):
        with pytest.raises(DataError, match=r"'1/x' is inf at row 33 \(x = 0, y = "):
            attempt()


def test_cuts_along_single_variables_go_where_cells_would_not_fit():
    rng = np.random.default_rng(0)
    outer = rng.random((500, 6)) < 0.5
    partition = Partition(np.arange(500) % 7, outer, ("shell", "a", "b", "c", "runs", "tail"))
    assert _fewer_cuts(partition, 512) is partition
    fewer = _fewer_cuts(partition, 2800)
    assert fewer.cuts == ("shell", "runs", "tail")
    assert (fewer.outer == outer[:, [0, 4, 5]]).all() and (fewer.group == partition.group).all()
    assert _fewer_cuts(partition, 5000).cuts == ("shell", "tail")


@given(seeds)
def test_moments_of_a_turned_basis(seed):
    rng = np.random.default_rng(seed)
    features, basis, targets = (rng.normal(size=(30, k)) for k in (3, 7, 2))
    axes = rng.normal(size=(7, 4))

    def moments(psi):
        columns = np.hstack([features, psi, targets])
        return Moments(30, columns.T @ columns, 3, psi.shape[1])

    found, expected = moments(basis).turned_basis(axes), moments(basis @ axes)
    assert_allclose(found.total, expected.total, rtol=1e-10, atol=1e-10)
    assert found.n_basis == 4
