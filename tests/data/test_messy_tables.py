"""Tables in many formats are read correctly, and notes say what was detected."""

import bz2
import gzip
import lzma
import warnings
import zipfile
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import feather
from small_table import CSV, ROWS, T, V, X, written

import orthoreg as og
from orthoreg import DataError, DataWarning, read_table


def with_times(times, header="t") -> str:
    """Return the table with other texts as times."""
    return f"{header};x;v\n" + "".join(
        f"{t};{x};{v}\n" for t, x, v in zip(times, X, V, strict=True)
    )


def dates(form: str, first=datetime(2024, 3, 31, 23, 59, 59, tzinfo=UTC)) -> list[str]:
    return [(first + timedelta(seconds=float(t))).strftime(form) for t in T]


def comma(text: str) -> str:
    return text.replace(",", ";").replace(".", ",")


TEXTS = {
    "semicolons": (CSV.replace(",", ";"), {}, {"delimiter"}),
    "tabs": (CSV.replace(",", "\t"), {}, {"delimiter"}),
    "aligned": (CSV.replace(",", "    "), {}, {"delimiter"}),
    "decimal comma": (comma(CSV), {}, {"delimiter", "decimal"}),
    "latin-1": (f"{CSV[:-1]}\n# 20 °C\n".encode("latin-1"), {}, {"encoding", "comments"}),
    "utf-16": (CSV.encode("utf-16"), {}, {"encoding"}),
    "utf-16 without a mark": (CSV.encode("utf-16-le"), {}, {"encoding"}),
    "odd signs": (f"{CSV[:-1]}\n# 20 \x85 \x0c C\n".encode("latin-1"), {},
                  {"encoding", "comments"}),
    "odd signs above": (f"# 20 \x85 \x0c \x1c C\n{CSV}".encode("latin-1"), {},
                        {"encoding", "preamble"}),
    "old line ends": (CSV.replace("\n", "\r"), {}, set()),
    "comments": (f"# rig 7\n# 2024-05-01\n{CSV}# pump off\n", {}, {"preamble", "comments"}),
    "header in a comment": (f"# rig\n# {CSV}", {}, {"preamble"}),
    "preamble": (f"Rig 7\nOperator;me\n\n{CSV}", {}, {"preamble"}),
    "own comments": (f"{CSV}REM off,x\n", {"comment": "REM"}, {"comments"}),
    "row of units": ("t,x,v\n[s],[m],[m/s]\n" + ROWS, {}, {"unit-row", "units"}),
    "trailing sign": (CSV.replace("\n", ",\n"), {}, set()),
    "units": ("t / s,x [m],v (m/s)\n" + ROWS, {}, {"units"}),
    "gzip": (gzip.compress(CSV.encode(), mtime=0), {}, {"packed"}),
    "bzip2": (bz2.compress(CSV.encode()), {}, {"packed"}),
    "xz": (lzma.compress(CSV.encode()), {}, {"packed"}),
    "zstd": (pa.compress(CSV.encode(), "zstd", asbytes=True), {}, {"packed"}),
    "dates": (with_times(dates("%Y-%m-%d %H:%M:%S.%f")), {}, {"delimiter", "dates"}),
    "zone": (with_times(dates("%Y-%m-%dT%H:%M:%S.%fZ")), {}, {"delimiter", "dates"}),
    "dotted dates": (with_times(dates("%d.%m.%Y %H:%M:%S.%f")), {}, {"delimiter", "dates"}),
    "month first": (
        with_times(dates("%m/%d/%Y %H:%M:%S.%f", datetime(2024, 3, 30, tzinfo=UTC))), {},
        {"delimiter", "dates"},
    ),
    "morning and evening": (
        with_times(dates("%m/%d/%Y %I:%M:%S.%f %p", datetime(2024, 3, 30, 11, 59, 59, tzinfo=UTC))),
        {}, {"delimiter", "dates"},
    ),
    "names of months": (
        with_times(dates("%d-%b-%Y %H:%M:%S.%f")), {}, {"delimiter", "dates"},
    ),
    "typeset minus": (CSV.replace("-", "\u2212"), {}, set()),
    "all at once": (
        "\ufeff" + comma("t,x,v\ns,m,m/s\n" + ROWS), {},
        {"delimiter", "decimal", "unit-row", "units"},
    ),
    "own dates": (
        with_times(dates("%d/%m/%y %H-%M-%S.%f")), {"date_format": "%d/%m/%y %H-%M-%S.%f"},
        {"delimiter", "dates"},
    ),
    "over midnight": (with_times(dates("%H:%M:%S.%f")), {}, {"delimiter", "durations"}),
    "durations": (with_times([f"PT1M{t}S" for t in T]), {}, {"delimiter", "durations"}),
    "days": (with_times([f"1 days 00:00:0{t}" for t in T]), {}, {"delimiter", "durations"}),
    "epoch ns": (
        with_times([1_700_000_000_000_000_123 + int(t * 1e9) for t in T]), {},
        {"delimiter", "epoch"},
    ),
    "epoch ms": (
        with_times([1_700_000_000_000 + int(t * 1e3) for t in T]), {}, {"delimiter", "epoch"}
    ),
}  # fmt: skip


def assert_same(data: og.Dataset) -> None:
    np.testing.assert_allclose(data.times, T, rtol=0, atol=1e-12)
    assert np.array_equal(data.states, np.column_stack([X, V]))
    assert data.state_names == ("x", "v") and data.time_name == "t"


@pytest.mark.parametrize("kind", TEXTS)
def test_ways_of_writing_a_table_are_found_out_and_told(tmp_path, kind):
    content, options, codes = TEXTS[kind]
    data = read_table(written(tmp_path, content), "t", ["x", "v"], **options)
    assert_same(data)
    assert {note.code for note in data.notes} == codes
    assert not any(note.is_repair for note in data.notes)
    assert all(code in repr(data) for code in codes)


@given(
    cells=st.lists(st.floats(-1e12, 1e12), min_size=3, max_size=12),
    delimiter=st.sampled_from(",;\t| "),
    has_comma=st.booleans(),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "latin-1"]),
    above=st.sampled_from(["", "rig: é 7\n", "# a, b; c | d\n\n", "x\nt only\n"]),
    header=st.sampled_from(["{0}", "{0} [µm]", '"{0}"', " {0} "]),
    end=st.sampled_from(["\n", "\r\n"]),
    pack=st.sampled_from([bytes, gzip.compress, lzma.compress]),
    is_large=st.booleans(),
)
def test_every_combination_of_ways_reads_back_to_the_last_bit(
    tmp_path_factory, cells, delimiter, has_comma, encoding, above, header, end, pack, is_large
):
    has_comma = has_comma and delimiter != ","
    if delimiter == " ":
        header = header.strip() if "[" not in header else '"{0} [µm]"'
    names = delimiter.join(header.format(name) for name in ("n", "t", "x"))
    lines = [f"{i}{delimiter}{i * 0.125!r}{delimiter}{x!r}" for i, x in enumerate(cells)]
    body = "\n".join([*lines, ""])
    text = above + names + "\n" + (body.replace(".", ",") if has_comma else body)
    path = tmp_path_factory.mktemp("ways") / "runs.csv"
    path.write_bytes(pack(text.replace("\n", end).encode(encoding)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("orthoreg.data.tables._text.LARGE", 0 if is_large else 1 << 30)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # a constant state
            data = read_table(path, "t", ["x"])
    assert data.states.ravel().tolist() == cells
    assert data.times.tolist() == [0.125 * i for i in range(len(cells))]


@pytest.mark.parametrize("kind", TEXTS)
def test_large_tables_read_as_small_ones_do(tmp_path, monkeypatch, kind):
    monkeypatch.setattr("orthoreg.data.tables._text.LARGE", 0)
    test_ways_of_writing_a_table_are_found_out_and_told(tmp_path, kind)


def test_large_tables_are_left_to_arrow_and_their_faults_still_have_a_line(tmp_path, monkeypatch):
    monkeypatch.setattr("orthoreg.data.tables._text.LARGE", 0)
    group = "".join(f"{'ab'[i // 3]},{i},{i**2}\n" for i in range(6))
    content = f"# rig\nrun,t,x\n\n{group}"
    with monkeypatch.context() as watched:
        watched.setattr("orthoreg.data.tables._text.collect", None)  # the slower built-in reader
        data = read_table(written(tmp_path, content), "t", ["x"], group="run")
        assert data.labels == ("a", "b") and data.states.ravel().tolist() == [0, 1, 4, 9, 16, 25]
        path = written(tmp_path, "t,x\n0,1\n1,NA\n2,\n3,4\n1,7\n")
        again = read_table(path, "t", ["x"], repair=True)
        assert again.times.tolist() == [0, 1, 3]
        assert {note.code: note.count for note in again.notes} == {"missing": 2, "sorted": 2}
        with pytest.raises(DataError, match=r"line 8 \(run b\): time 't' goes back"):
            read_table(written(tmp_path, content.replace("b,4", "b,1")), "t", ["x"], group="run")
    with pytest.raises(DataError, match=r"line 8 \(run b\): column 'x' contains '16!'"):
        read_table(written(tmp_path, content.replace("16", "16!")), "t", ["x"], group="run")


@pytest.mark.parametrize("kind", ["units", "row of units"])
def test_units_of_a_header_go_to_the_data_and_the_model(tmp_path, kind):
    path = written(tmp_path, TEXTS[kind][0])
    data = read_table(path, "t", ["x"], ["v"])
    assert data.units == {"t": "s", "x": "m", "v": "m/s"}
    assert read_table(path, "t", ["x"], units={"x": "km"}).units == {"t": "s", "x": "km"}


def test_a_column_may_be_named_with_its_unit(tmp_path):
    path = written(tmp_path, "t [s],v (m/s),v (km/h)\n0,1,3.6\n1,2,7.2\n")
    data = read_table(path, "t [s]", ["v (m/s)"])
    assert data.state_names == ("v",) and data.units == {"t": "s", "v": "m/s"}
    with pytest.raises(DataError, match="more than one column named 'v'"):
        read_table(path, "t", ["v"])
    both = read_table(path, "t", ["v (m/s)", "v (km/h)"])
    assert both.state_names == ("v (m/s)", "v (km/h)")


def test_round_brackets_may_hold_no_unit():
    frame = FRAME.rename(columns={"x": "Position (left)", "v": "speed (km/h)"})
    data = read_table(frame, "t", ["Position (left)", "speed (km/h)"])
    assert data.state_names == ("Position (left)", "speed")
    assert read_table(frame, "t", ["Position"]).state_names == ("Position",)


def test_rows_may_begin_with_the_sign_of_a_comment(tmp_path):
    path = written(tmp_path, "run,t,x\n#1,0,1\n# pump\n#1,1,2\n#2,0,4\n#2,1,3\n")
    data = read_table(path, "t", ["x"], group="run")
    assert data.labels == ("#1", "#2") and data.n_samples == 4
    assert [note.text for note in data.notes] == ["1 line is a comment."]
    path = written(tmp_path, "t,x\n0,1\n#0.5,7\n1,2\n")
    assert read_table(path, "t", ["x"]).times.tolist() == [0, 1]


def test_long_times_are_no_counts_since_1970():
    times = np.linspace(1e9, 4e9, 5)
    data = read_table({"t": times, "x": X}, "t", ["x"])
    assert np.array_equal(data.times, times) and data.notes == ()


def test_summer_time_is_no_jump(tmp_path):
    winter, summer = (timezone(timedelta(hours=h)) for h in (1, 2))
    first = datetime(2024, 3, 31, 1, 59, 59, tzinfo=winter)
    times = [first + timedelta(seconds=float(t)) for t in T]
    texts = [(t if i < 2 else t.astimezone(summer)).isoformat() for i, t in enumerate(times)]
    assert_same(read_table(written(tmp_path, with_times(texts)), "t", ["x", "v"]))


FRAME = pd.DataFrame({"t": T, "x": X, "v": V})
STAMPS = pd.to_datetime("2024-05-01") + pd.to_timedelta(T, unit="s")


def test_files_of_columns_read_alike(tmp_path):
    table = pa.Table.from_pandas(FRAME.assign(t=STAMPS.tz_localize("Europe/Paris")))
    feather.write_feather(table, str(tmp_path / "a.feather"))
    feather.write_feather(table, str(tmp_path / "b.arrow"), compression="zstd")
    with pa.ipc.new_stream(str(tmp_path / "c.arrow"), table.schema) as stream:
        stream.write_table(table)
    FRAME.assign(t=STAMPS).to_parquet(tmp_path / "d.parquet")
    FRAME.assign(t=pd.to_timedelta(T, unit="s")).to_parquet(tmp_path / "e.parquet")
    for path in sorted(tmp_path.iterdir()):
        assert_same(read_table(path, "t", ["x", "v"]))


FRAMES = {
    "index": FRAME.set_index("t"),
    "dates in the index": FRAME.assign(t=STAMPS).set_index("t"),
    "zone": FRAME.assign(t=STAMPS.tz_localize("Asia/Tokyo")),
    "zone in the index": FRAME.assign(t=STAMPS.tz_localize("UTC")).set_index("t"),
    "polars dates": pl.DataFrame({"t": STAMPS.to_numpy(), "x": X, "v": V}),
    "arrow": pa.table({"t": T, "x": X, "v": V}),
    "dict": {"t": T, "x": X.tolist(), "v": V},
    "objects": FRAME.astype(object),
    "units": FRAME.rename(columns={"x": "x [m]"}),
    "nullable": FRAME.convert_dtypes(),
    "text": FRAME.astype("string"),
    "structured": FRAME.to_records(index=False),
    "clock": FRAME.assign(t=[(datetime(2024, 1, 1) + timedelta(seconds=t)).time() for t in T]),
    "zones as objects": FRAME.assign(t=STAMPS.tz_localize("Asia/Tokyo").astype(object)),
    "polars zone": pl.DataFrame({"t": STAMPS.to_numpy(), "x": X, "v": V}).with_columns(
        pl.col("t").dt.replace_time_zone("Asia/Tokyo")
    ),
    "polars durations": pl.DataFrame(
        {"t": pd.to_timedelta(T, unit="s").to_numpy(), "x": X, "v": V}
    ),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_tables_in_memory_read_alike(kind):
    assert_same(read_table(FRAMES[kind], "t", ["x", "v"]))


@pytest.mark.parametrize("absent", [None, np.nan, pd.NA])
def test_cells_that_are_absent_from_a_frame_are_bridged_on_request(absent):
    frame = FRAME.astype(object)
    frame.loc[2, "x"] = absent
    with pytest.raises(DataError, match="row 2: column 'x' is"):
        read_table(frame, "t", ["x", "v"])
    for one in (frame, frame.convert_dtypes(), pl.from_pandas(frame.convert_dtypes())):
        data = read_table(one, "t", ["x", "v"], repair=True)
        assert data.times.tolist() == [0, 0.5, 1, 1.5, 2]
        assert np.argwhere(data.filled).tolist() == [[2, 0]]
        assert read_table(one, "t", ["x"], repair=True).times.tolist() == [0, 0.5, 1.5, 2]


def test_what_is_no_table_is_named():
    with pytest.raises(DataError, match="path must be a file name or a table .*; got int"):
        read_table(3, "t", ["x"])


def test_an_xarray_dataset_is_a_table():
    xarray = pytest.importorskip("xarray")
    data = xarray.Dataset({"x": ("t", X), "v": ("t", V)}, coords={"t": STAMPS})
    assert_same(read_table(data, "t", ["x", "v"]))
    runs = xarray.concat([data, data], dim="run").assign_coords(run=["a", "b"])
    assert read_table(runs, "t", ["x", "v"], group="run").labels == ("a", "b")


def test_an_excel_sheet_is_a_table(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["nothing here"])
    sheet = book.create_sheet("runs")
    for row in [["rig 7"], [], ["t [s]", "x [m]", "v"]]:
        sheet.append(row)
    for t, x, v in zip(STAMPS.to_pydatetime(), X.tolist(), V.tolist(), strict=True):
        sheet.append([t, x, v])
    book.save(tmp_path / "book.xlsx")
    data = read_table(tmp_path / "book.xlsx", "t", ["x", "v"], sheet="runs")
    assert_same(data)
    assert data.units == {"t": "s", "x": "m"}
    with pytest.raises(DataError, match="no column 't'"):
        read_table(tmp_path / "book.xlsx", "t", ["x"])
    with pytest.raises(DataError, match=r"no sheet 'run'. Did you mean 'runs'\? sheet=..."):
        read_table(tmp_path / "book.xlsx", "t", ["x"], sheet="run")


def test_excel_without_its_package_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    with pytest.raises(ImportError, match=r"orthoreg\[tables\]"):
        read_table(written(tmp_path, b"PK", "book.xlsx"), "t", ["x"])


def test_a_zip_holds_one_table(tmp_path):
    path = tmp_path / "runs.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("folder/runs.csv", CSV)
        archive.writestr("__MACOSX/folder/._runs.csv", "junk")
    assert_same(read_table(path, "t", ["x", "v"]))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("other.csv", CSV)
    with pytest.raises(DataError, match="has 2 files .*'folder/runs.csv', 'other.csv'"):
        read_table(path, "t", ["x", "v"])


def test_a_file_that_unpacks_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("orthoreg._common.unpacking.FREE_SIZE", 1 << 20)
    bomb = gzip.compress(b"t,x\n0,1\n1,2\n" + b"\n" * (1 << 22))
    with pytest.raises(DataError, match="unpacks to more than 1 MiB"):
        read_table(written(tmp_path, bomb, "bomb.csv.gz"), "t", ["x"])


def test_long_tables_and_runs_side_by_side(tmp_path):
    long = "run,when,what,how much\n" + "".join(
        f"{run},{t},{name},{value}\n"
        for run in "ab"
        for t, x, v in zip(T, X, V, strict=True)
        for name, value in (("v", v), ("x [m]", x))
    )
    data = read_table(
        written(tmp_path, long), "when", ["x", "v"], group="run", long=("what", "how much")
    )
    assert data.labels == ("a", "b") and np.array_equal(data.times, np.tile(T, 2))
    assert np.array_equal(data.states, np.tile(np.column_stack([X, V]), (2, 1)))
    wide = FRAME.assign(x_2=2 * X, v_2=V).rename(columns={"x": "x_1", "v": "v_1"})
    data = read_table(wide, "t", ["x_*", "v_*"])
    assert data.state_names == ("x", "v") and data.labels == ("1", "2")
    assert np.array_equal(data.states[:, 0], np.r_[X, 2 * X])
    with pytest.raises(DataError, match="has no column 'v_2', though it has 'x_2'"):
        read_table(wide.drop(columns="v_2"), "t", ["x_*", "v_*"])


def test_one_file_for_each_run(tmp_path):
    (tmp_path / "runs").mkdir()
    written(tmp_path, CSV, "runs/b.csv")
    written(tmp_path, CSV.replace(",", ";"), "runs/a.csv")
    data = read_table(tmp_path / "runs" / "*.csv", "t", ["x", "v"])
    assert data.labels == ("a", "b") and data.offsets.tolist() == [0, 5, 10]
    assert [str(note) for note in data.notes] == [
        "Columns are separated by semicolons. (in 1 of 2 files)"
    ]
    assert read_table([FRAME, FRAME], "t", ["x"]).labels == ("0", "1")
    written(tmp_path, CSV + "1.0,1,1\n", "runs/c.csv")
    with pytest.raises(DataError, match=r"^c.csv, line 7 \(run c\): time 't' goes back"):
        read_table(tmp_path / "runs" / "*.csv", "t", ["x", "v"])
    with pytest.raises(DataError, match="No file matches"):
        read_table(tmp_path / "runs" / "*.txt", "t", ["x", "v"])


def test_each_cell_is_parsed_once(tmp_path, monkeypatch):
    """A block of numbers is parsed as a whole; a block with another cell is parsed cell by cell."""
    from orthoreg.data.tables import _table

    monkeypatch.setattr("orthoreg.data.tables._text._CHUNK", 4)
    parsed = []
    parse = _table.parse_number

    def counted(text, *decimal):
        parsed.append(text)
        return parse(text, *decimal)

    monkeypatch.setattr(_table, "parse_number", counted)
    cells = ["1.5", "2.5", "3.5", "4.5", "5.5", "NA", "7.5", "8.5"]
    file = tmp_path / "x.csv"
    file.write_text("t,x\n" + "".join(f"{t},{cell}\n" for t, cell in enumerate(cells)))
    data = og.read_table(file, time="t", states=["x"], repair=True)
    assert data.states.ravel().tolist() == [1.5, 2.5, 3.5, 4.5, 5.5, 7.5, 8.5]
    assert [text for text in parsed if text in cells] == cells[4:]
