"""Chunks from memory-mapped arrays, iterators and Dask collections contain the original runs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import orthoreg as og
from orthoreg.data import concatenate

T = 0.1 * np.arange(25)


def block(runs: int = 40) -> np.ndarray:
    rates = np.linspace(0.5, 2, runs)[:, None]
    return np.stack([np.exp(-rates * T), np.cos(rates * T)], axis=2)


def together(data: og.ChunkedDataset) -> og.Dataset:
    return concatenate(list(data.chunks()))


def test_memory_mapped_arrays_are_read_by_slices(tmp_path):
    x = block()
    file = np.lib.format.open_memmap(tmp_path / "x.npy", "w+", np.float64, x.shape)
    file[:] = x
    file.flush()
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    data = og.ChunkedDataset.from_arrays(mapped, T, names=["x", "y"], rows=200)
    assert (data.n_runs, data.n_samples, data.n_chunks) == (40, 1000, 5)
    assert_array_equal(together(data).states, x.reshape(-1, 2))
    assert data.state_names == ("x", "y")
    import pickle

    assert len(pickle.dumps(data.read)) < 2000  # only the name of the file, not its numbers
    for wrong in (x[0], "runs"):
        with pytest.raises(og.DataError, match=r"x must be an array \(runs, times, states\)"):
            og.ChunkedDataset.from_arrays(wrong, T)


def test_runs_of_an_iterator_are_written_down_for_as_long_as_they_are_needed(tmp_path):
    x = block()
    lengths = [10 + i % 15 for i in range(40)]

    def runs():
        for one, n in zip(x, lengths, strict=True):
            yield one[:n], T[:n], np.cos(T[:n])[:, None]

    data = og.ChunkedDataset.from_runs(runs(), rows=150)
    expected = og.Dataset.from_arrays(
        [one[:n] for one, n in zip(x, lengths, strict=True)], [T[:n] for n in lengths],
        [np.cos(T[:n])[:, None] for n in lengths],
    )  # fmt: skip
    found = together(data)
    assert data.n_chunks > 3
    assert_array_equal(found.states, expected.states)
    assert_array_equal(found.inputs, expected.inputs)
    assert_array_equal(found.offsets, expected.offsets)
    place = data.keys[0]
    del data, found
    import gc
    from pathlib import Path

    gc.collect()
    assert not Path(place).exists()
    named = og.ChunkedDataset.from_runs(expected, folder=str(tmp_path / "spool"))
    assert_array_equal(together(named).states, expected.states)
    assert len(list((tmp_path / "spool").iterdir())) == 1
    for wrong, words in (([], "the iterable is empty"), ([3], "A run must be a Dataset")):
        with pytest.raises(og.DataError, match=words):
            og.ChunkedDataset.from_runs(iter(wrong))


@pytest.mark.slow
def test_collections_of_dask():
    bag = pytest.importorskip("dask.bag")
    array = pytest.importorskip("dask.array")
    frame = pytest.importorskip("dask.dataframe")
    import pandas as pd

    x = block()
    flat = x.reshape(-1, 2)
    items = bag.from_sequence([(one, T) for one in x], npartitions=4)
    assert_array_equal(together(og.ChunkedDataset.from_runs(items)).states, flat)
    lazy = array.from_array(x, chunks=(15, 10, 1))
    data = og.ChunkedDataset.from_arrays(lazy, T, names=["x", "y"])
    assert data.n_chunks == 3
    assert_array_equal(together(data).states, flat)
    table = pd.DataFrame(flat, columns=["x", "y"]).assign(
        t=np.tile(T, 40), run=np.arange(1000) // 25
    )
    for partitions in (4, 7):  # runs that are whole, and runs that are not
        own = frame.from_pandas(table, npartitions=partitions, sort=False)
        data = og.read_table(own, "t", ["x", "y"], group="run")
        assert isinstance(data, og.ChunkedDataset) and data.n_runs == 40
        found = together(data)
        order = np.argsort([int(label) for label in found.labels])
        assert_array_equal(found[order].states, flat)
    model = og.OrthoReg(og.Polynomial(1), og.Zero(), loss=og.VectorField(), selection=None)
    np.testing.assert_allclose(
        model.fit(data).coefficients_,
        model.fit(og.read_table(table, "t", ["x", "y"], group="run")).coefficients_,
        rtol=1e-9, atol=1e-10,
    )  # fmt: skip


def test_runs_with_values_that_were_filled_in_keep_their_marks(tmp_path):
    """A sensor writes only every second row. The other rows are filled in and marked."""
    t = 0.1 * np.arange(60)
    second = np.where(np.arange(60) % 2, np.nan, np.cos(t))
    tables = [{"t": t, "x": size * np.sin(t), "y": size * second} for size in (1.0, 2.0, 3.0)]
    runs = [og.read_table(table, "t", ["x", "y"], fill=True) for table in tables]
    assert all(run.filled is not None for run in runs)
    whole = np.concatenate([run.filled for run in runs])
    data = og.ChunkedDataset.from_runs(iter([*runs, og.read_table(
        {"t": t, "x": np.sin(t), "y": np.cos(t)}, "t", ["x", "y"])]), rows=100)  # fmt: skip
    marks = [np.zeros_like(one.states, dtype=bool) if one.filled is None else one.filled
             for one in data.chunks()]  # fmt: skip
    assert_array_equal(np.concatenate(marks)[: len(whole)], whole)
    assert not np.concatenate(marks)[len(whole) :].any()
    model = og.OrthoReg("poly(1)", og.Zero()).fit(data)
    assert_allclose(model.coefficients_[:, 1:], [[0, 1], [-1, 0]], atol=0.02)
