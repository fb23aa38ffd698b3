"""Tables that are read in chunks contain whole runs, or an error explains why not."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import orthoreg as og
from orthoreg.data import concatenate

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
LENGTHS = [40, 7, 25, 100, 12, 30]


def columns(lengths=LENGTHS, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    t = np.concatenate([0.1 * np.arange(n) for n in lengths])
    x = np.concatenate([rng.uniform(0.5, 2) * np.exp(-0.1 * np.arange(n)) for n in lengths])
    run = np.repeat([f"r{i}" for i in range(len(lengths))], lengths)
    return {"run": run, "t": t, "x": x, "y": x**2, "u": np.cos(t)}


def written(folder, files: int = 3, group_rows: int = 33, **more):
    for i in range(files):
        pq.write_table(pa.table(columns(seed=i)), folder / f"f{i}.parquet",
                       row_group_size=group_rows, **more)  # fmt: skip
    return folder / "*.parquet"


CHOICE = {"time": "t", "states": ["x", "y"], "inputs": ["u"], "group": "run"}


@pytest.mark.parametrize("rows", [100, 150, 10_000])
@pytest.mark.parametrize("group_rows", [10, 33, 1000])
def test_chunks_are_the_runs_of_the_whole_table(tmp_path, rows, group_rows):
    pattern = written(tmp_path, group_rows=group_rows)
    whole = og.read_table(pattern, **CHOICE)
    parts = og.read_table(pattern, **CHOICE, chunks=rows)
    assert isinstance(parts, og.ChunkedDataset) and not isinstance(whole, og.ChunkedDataset)
    assert (parts.n_runs, parts.n_samples) == (whole.n_runs, whole.n_samples) == (18, 642)
    together = concatenate(list(parts.chunks()))
    assert_array_equal(together.states, whole.states)
    assert_array_equal(together.inputs, whole.inputs)
    assert_array_equal(together.offsets, whole.offsets)
    assert max(own.sum() for own in parts.lengths) <= max(rows, group_rows + 99)


def test_one_file_for_each_run_of_any_kind(tmp_path):
    for i, n in enumerate(LENGTHS):
        own = columns([n], seed=i)
        rows = zip(own["t"], own["x"], own["y"], own["u"], strict=True)
        lines = [",".join(repr(float(cell)) for cell in row) for row in rows]
        (tmp_path / f"run{i}.csv").write_text("t,x,y,u\n" + "\n".join(lines))
    choice = CHOICE | {"group": None}
    whole = og.read_table(tmp_path / "*.csv", **choice)
    parts = og.read_table(tmp_path / "*.csv", **choice, chunks=100)
    assert parts.n_chunks == 3 and parts.n_runs == 6
    assert_array_equal(concatenate(list(parts.chunks())).states, whole.states)


def test_a_run_that_is_longer_than_a_chunk_is_cut_and_that_is_said(tmp_path):
    pq.write_table(pa.table(columns([350])), tmp_path / "one.parquet", row_group_size=50)
    parts = og.read_table(tmp_path / "one.parquet", **(CHOICE | {"group": None}), chunks=100)
    assert [own.tolist() for own in parts.lengths] == [[87], [88], [87], [88]]
    assert "1 run longer than 100 rows was cut into chunks." in [note.text for note in parts.notes]


def test_positions_get_the_same_velocities_in_every_chunk(tmp_path):
    pattern = written(tmp_path)
    choice = {"time": "t", "positions": ["x"], "group": "run"}
    whole = og.read_table(pattern, **choice)
    parts = og.read_table(pattern, **choice, chunks=100)
    assert parts.sample.velocity_of == {"x": "x_dot"} and parts.state_names == ("x", "x_dot")
    found = concatenate(list(parts.chunks()))
    assert_allclose(found.states, whole.states, rtol=1e-12, atol=1e-12)


def test_arrow_datasets_addresses_and_dates(tmp_path):
    dataset = pytest.importorskip("pyarrow.dataset")
    fsspec = pytest.importorskip("fsspec")
    written(tmp_path)
    whole = og.read_table(tmp_path / "*.parquet", **CHOICE)
    arrow = dataset.dataset(sorted(map(str, tmp_path.glob("*.parquet"))), format="parquet")
    store = fsspec.filesystem("memory")
    for file in tmp_path.glob("*.parquet"):
        with store.open(f"/bucket/{file.name}", "wb") as target:
            target.write(file.read_bytes())
    try:
        for path, chunks in (
            (arrow, 100), (arrow, None), ("memory://bucket/*.parquet", 100),
            ("memory://bucket/*.parquet", None),
        ):  # fmt: skip
            found = og.read_table(path, **CHOICE, chunks=chunks)
            parts = list(found.chunks()) if chunks else [found]
            assert_array_equal(concatenate(parts).states, whole.states)
        with pytest.raises(og.DataError, match="No file matches 'memory://bucket/no"):
            og.read_table("memory://bucket/no*.parquet", **CHOICE)
    finally:
        store.rm("/bucket", recursive=True)


def test_what_cannot_be_read_in_chunks_is_named(tmp_path):
    own = columns()
    again = {name: np.concatenate([column, column[:20]]) for name, column in own.items()}
    pq.write_table(pa.table(again), tmp_path / "apart.parquet")
    with pytest.raises(og.DataError, match="apart.parquet: the rows of run r0 are not consecutive"):
        og.read_table(tmp_path / "apart.parquet", **CHOICE, chunks=True)
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 nothing of the kind PAR1")
    with pytest.raises(og.DataError, match="broken.parquet could not be read as Parquet"):
        og.read_table(tmp_path / "broken.parquet", **CHOICE, chunks=True)
    empty = {name: column[:0] for name, column in own.items()}
    pq.write_table(pa.table(empty), tmp_path / "empty.parquet")
    with pytest.raises(og.DataError, match="empty.parquet has no rows"):
        og.read_table(tmp_path / "empty.parquet", **CHOICE, chunks=True)
    for chunks in (5, -1, 0):
        with pytest.raises(og.DataError, match="chunks must be True, False, None or a number"):
            og.read_table(tmp_path / "empty.parquet", **CHOICE, chunks=chunks)
    with pytest.raises(og.DataError, match="chunks are made of files"):
        og.read_table(own, **CHOICE, chunks=True)
    missing = pa.table(own).set_column(0, "run", pa.array([None, *own["run"][1:]]))
    pq.write_table(missing, tmp_path / "null.parquet")
    with pytest.raises(og.DataError, match="null.parquet, row 0: column 'run' is empty"):
        og.read_table(tmp_path / "null.parquet", **CHOICE, chunks=True)


def test_a_file_that_changes_after_it_was_indexed_is_named(tmp_path):
    pattern = written(tmp_path)
    parts = og.read_table(pattern, **CHOICE, chunks=100)
    (tmp_path / "f1.parquet").unlink()
    with pytest.raises(og.DataError, match=r"f1\.parquet could not be read: .*No such file"):
        og.OrthoReg(og.Polynomial(1), og.Zero()).fit(parts)
    values = columns(seed=1)
    values["x"] = np.where(np.arange(len(values["x"])) == 50, np.nan, values["x"])
    pq.write_table(pa.table(values), tmp_path / "f1.parquet", row_group_size=33)
    with pytest.raises(og.DataError, match="f1"):
        og.OrthoReg(og.Polynomial(1), og.Zero()).fit(parts)


def test_large_files_come_in_chunks_without_being_asked(tmp_path, monkeypatch):
    pattern = written(tmp_path)
    monkeypatch.setattr("orthoreg.data.tables._read.MAX_BYTES_AT_ONCE", 100)
    assert isinstance(og.read_table(pattern, **CHOICE), og.ChunkedDataset)
    assert isinstance(og.read_table(pattern, **CHOICE, chunks=False), og.Dataset)
