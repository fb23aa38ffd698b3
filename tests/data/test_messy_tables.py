"""Tables as people have them: each way of being messy is read right and told, or refused in one
sentence with the place and the option that helps."""

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

import orthoreg as og
from orthoreg import DataError, DataWarning, read_table

T = np.array([0.0, 0.5, 1.0, 1.5, 2.0])
X = np.array([1.25, -2.5, 3.75, -5.125, 6.5])
V = np.array([-0.5, 0.25, 1e-3, 2.0, 12.0])
ROWS = "".join(f"{t},{x},{v}\n" for t, x, v in zip(T, X, V, strict=True))
CSV = "t,x,v\n" + ROWS


def with_times(times, header="t") -> str:
    """The table with other texts as times."""
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


def written(tmp_path, content, name="runs.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


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
        patch.setattr("orthoreg.data.tables._csv.LARGE", 0 if is_large else 1 << 30)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # a state that never changes
            data = read_table(path, "t", ["x"])
    assert data.states.ravel().tolist() == cells
    assert data.times.tolist() == [0.125 * i for i in range(len(cells))]


@pytest.mark.parametrize("kind", TEXTS)
def test_large_tables_read_as_small_ones_do(tmp_path, monkeypatch, kind):
    monkeypatch.setattr("orthoreg.data.tables._csv.LARGE", 0)
    test_ways_of_writing_a_table_are_found_out_and_told(tmp_path, kind)


def test_large_tables_are_left_to_arrow_and_their_faults_still_have_a_line(tmp_path, monkeypatch):
    monkeypatch.setattr("orthoreg.data.tables._csv.LARGE", 0)
    group = "".join(f"{'ab'[i // 3]},{i},{i**2}\n" for i in range(6))
    content = f"# rig\nrun,t,x\n\n{group}"
    with monkeypatch.context() as watched:
        watched.setattr("orthoreg.data.tables._csv.collect", None)  # the careful reader
        data = read_table(written(tmp_path, content), "t", ["x"], group="run")
        assert data.labels == ("a", "b") and data.states.ravel().tolist() == [0, 1, 4, 9, 16, 25]
        again, repairs = repaired(tmp_path, "t,x\n0,1\n1,NA\n2,\n3,4\n1,7\n")
        assert again.times.tolist() == [0, 1, 3] and repairs == {"missing": 2, "sorted": 2}
        with pytest.raises(DataError, match=r"line 8 \(run b\): time 't' goes back"):
            read_table(written(tmp_path, content.replace("b,4", "b,1")), "t", ["x"], group="run")
    with pytest.raises(DataError, match=r"line 8 \(run b\): column 'x' holds '16!'"):
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
def test_cells_that_are_absent_from_a_frame_are_left_out_on_request(absent):
    frame = FRAME.astype(object)
    frame.loc[2, "x"] = absent
    with pytest.raises(DataError, match="row 2: column 'x' is"):
        read_table(frame, "t", ["x", "v"])
    for one in (frame, frame.convert_dtypes(), pl.from_pandas(frame.convert_dtypes())):
        assert read_table(one, "t", ["x", "v"], repair=True).times.tolist() == [0, 0.5, 1.5, 2]


def test_what_is_no_table_is_named():
    with pytest.raises(DataError, match="path must be that of a file, or a table: .*; got int"):
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
    with pytest.raises(DataError, match="holds 2 files .*'folder/runs.csv', 'other.csv'"):
        read_table(path, "t", ["x", "v"])


def test_a_file_that_unpacks_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("orthoreg.data.tables._bytes._ALWAYS_FINE", 1 << 20)
    bomb = gzip.compress(b"t,x\n0,1\n1,2\n" + b"\n" * (1 << 22))
    with pytest.raises(DataError, match="unpacks to more than 1000 times its size"):
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
    with pytest.raises(DataError, match="No file is called as"):
        read_table(tmp_path / "runs" / "*.txt", "t", ["x", "v"])


# -- repairs


def repaired(tmp_path, content, **options):
    data = read_table(written(tmp_path, content), "t", ["x"], repair=True, **options)
    return data, {note.code: note.count for note in data.notes if note.is_repair}


def test_rows_without_values_are_left_out_and_counted(tmp_path):
    content = "t,x,u\n0,1,\n1,NA,\n2,3,\n,4,\n4,-,\n5,err,\n6,7,\n7,inf,\n8,off,1\n"
    data, repairs = repaired(tmp_path, content, missing="off")
    assert data.times.tolist() == [0, 2, 6] and data.states.ravel().tolist() == [1, 3, 7]
    assert repairs == {"missing": 6}
    assert "5 of 'x'" in str(data.notes[-1]) and "1 of 't'" in str(data.notes[-1])


def test_sensors_that_write_at_their_own_times_are_filled_in(tmp_path):
    """Two sensors on a long table, one three times as fast: the slow one is interpolated within
    its own steps, not over its gap and not beyond its ends."""
    fast = np.arange(0, 24, 0.1).round(1)
    slow = np.r_[0.05:8:0.3, 16.05:22:0.3].round(2)
    rows = [(t, "x", np.sin(t)) for t in fast] + [(t, "y", np.cos(t)) for t in slow]
    content = "t,name,value\n" + "".join(f"{t},{n},{v}\n" for t, n, v in sorted(rows))
    options = dict(long=("name", "value"), group=None)
    with pytest.raises(DataError, match="line 3: 'x' has no value .* fill=True to fill"):
        read_table(written(tmp_path, content), "t", ["x", "y"], **options)
    with pytest.raises(DataError, match="no row has a value in all columns"):
        read_table(written(tmp_path, content), "t", ["x", "y"], repair=True, **options)
    data = read_table(written(tmp_path, content), "t", ["x", "y"], fill=True, **options)
    np.testing.assert_allclose(
        data.states, np.column_stack([np.sin(data.times), np.cos(data.times)]), atol=2e-3
    )
    assert data.n_runs == 2 and data.times.min() >= 0.05 and data.times.max() <= slow.max()
    assert not ((data.times > slow[26]) & (data.times < 16)).any()
    assert {note.code for note in data.notes} == {"long", "filled", "missing", "gaps"}


def test_a_number_may_stand_for_a_missing_value(tmp_path):
    content = "t,x\n0,1\n1,-999\n2,-999.0\n3,4\n"
    data, repairs = repaired(tmp_path, content, missing="-999")
    assert data.times.tolist() == [0, 3] and repairs == {"missing": 2}
    with pytest.raises(DataError, match="line 3: column 'x' holds '-999', which is no value"):
        read_table(written(tmp_path, content), "t", ["x"], missing="-999")


def test_times_are_sorted_and_rows_of_one_time_averaged(tmp_path):
    data, repairs = repaired(tmp_path, "t,x\n0,1\n2,4\n1,2\n3,8\n2,6\n4,7\n")
    assert data.times.tolist() == [0, 1, 2, 3, 4]
    assert data.states.ravel().tolist() == [1, 2, 5, 8, 7]
    assert repairs == {"sorted": 4, "doubled": 1}


def test_runs_are_cut_where_times_begin_again(tmp_path):
    rows = "".join(f"{t},{t + k}\n" for k in range(3) for t in range(10))
    data, repairs = repaired(tmp_path, "t,x\n" + rows)
    assert data.offsets.tolist() == [0, 10, 20, 30] and data.labels == ("0.1", "0.2", "0.3")
    assert repairs == {"restarts": 2}


def test_runs_are_cut_at_gaps(tmp_path):
    times = [*range(10), *range(100, 102), *range(200, 210)]
    content = "t,x\n" + "".join(f"{t},{t % 7}\n" for t in times)
    data, repairs = repaired(tmp_path, content)
    assert data.offsets.tolist() == [0, 10, 20] and data.times[10] == 200
    assert repairs == {"gaps": 2, "short": 1}
    with pytest.warns(DataWarning, match="after t = 9 the next row .* first of 2. Pass repair=Tru"):
        assert read_table(written(tmp_path, content), "t", ["x"]).n_runs == 1
    assert repaired(tmp_path, content, gap=1000)[1] == {}


def test_steps_that_grow_are_no_gaps(tmp_path):
    content = "t,x\n" + "".join(f"{2.0**k},{k}\n" for k in range(40))
    assert read_table(written(tmp_path, content), "t", ["x"]).n_runs == 1
    assert repaired(tmp_path, content)[1] == {}


def test_a_sound_table_needs_no_repair(tmp_path, pendulum_runs):
    run = pendulum_runs.run_of_row
    frame = pd.DataFrame(pendulum_runs.states, columns=list(pendulum_runs.state_names))
    frame = frame.assign(t=pendulum_runs.times, run=run)
    names = list(pendulum_runs.state_names)
    plain, mended = (read_table(frame, "t", names, group="run", repair=r) for r in (False, True))
    assert np.array_equal(plain.states, mended.states) and plain.labels == mended.labels
    assert mended.notes == ()


def test_a_repair_of_many_runs_goes_run_by_run(tmp_path):
    rows = "a,0,1\nb,0,5\na,2,3\nb,1,6\na,1,2\nb,1,8\na,3,\nb,2,9\na,4,4\na,5,3\n"
    data, repairs = repaired(tmp_path, "run,t,x\n" + rows, group="run")
    assert data.labels == ("a", "b") and data.offsets.tolist() == [0, 5, 8]
    assert data.states.ravel().tolist() == [1, 2, 3, 4, 3, 5, 7, 9]
    assert repairs == {"missing": 1, "sorted": 2, "doubled": 1}


# -- what cannot be read

REFUSED = {
    "no header": ("0,1\n1,2\n", {}, ["line 1", "header", "numbers"]),
    "day or month": ("t;x\n3/4/2024;1\n4/4/2024;2\n", {}, ["line 2", "'t'", "date_format="]),
    "hours or minutes": ("t,x\n12:30,1\n12:31,2\n", {}, ["line 2", "'t'", "date_format='%H:%M'"]),
    "zone lost": (
        "t,x\n2024-01-01T00:00:00Z,1\n2024-01-01T00:00:01,2\n", {},
        ["line 3", "'t'", "time zone", "date_format=..."],
    ),
    "no such day": ("t,x\n2024-02-01,1\n2024-02-31,2\n", {}, ["line 3", "'2024-02-31'"]),
    "other dates": ("t,x\n01.02.24,1\n2024-02-03,2\n", {"date_format": "%d.%m.%y"},
                    ["line 3", "'2024-02-03'", "date_format='%d.%m.%y'"]),
    "a mark of its own": ("t,x\n0,1\n1,off\n", {}, ["line 3", "'x'", "'off'", "missing='off'"]),
    "a usual mark": ("t,x\n0,1\n1,n/a\n2,2\n", {}, ["line 3", "'x'", "'n/a'", "repair=True"]),
    "thousands or decimals": ("t;x\n0;1,250\n1;2,500\n", {}, ["line 2", "'x'", "decimal=','"]),
    "thousands": ("t;x\n0;1.250,5\n1;2\n", {"decimal": ","}, ["line 2", "'x'", "thousands"]),
    "wrong decimals": ("t;x\n0;1.5\n", {"decimal": ","}, ["line 2", "'x'", "decimal='.'"]),
    "header again": ("t,x\n0,1\nt,x\n1,2\n", {}, ["line 3", "'t'", "header stands there again"]),
    "remark": ("t,x\n0,1\nREM pump off\n1,2\n", {}, ["line 3", "1 field", "comment=..."]),
    "wrong encoding": ("t,x\n0,é\n".encode("latin-1"), {"encoding": "utf-8"},
                       ["utf-8", "encoding='latin-1'"]),
    "binary": (bytes(range(256)) * 8, {}, ["not a text table"]),
    "no values": ("t,x\n0,\n1,NA\n", {"repair": True}, ["runs.csv: no row", "'x'", "fill=True"]),
    "runs in one": ("t,x\n0,1\n0,2\n1,3\n1,4\n", {"repair": True}, ["'t'", "group=..."]),
    "cut off": (gzip.compress(CSV.encode())[:-10], {}, ["damaged gzip"]),
    "back": ("t,x\n0,1\n3,1\n2,1\n4,2\n", {}, ["line 4", "'t'", "mended, pass repair=True."]),
    "state of dates": ("t,x\n0,2024-01-01\n1,2024-01-02\n", {}, ["line 2", "'x'", "time=..."]),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_read_is_named_with_what_helps(tmp_path, kind):
    content, options, words = REFUSED[kind]
    with pytest.raises(DataError) as caught:
        read_table(written(tmp_path, content), "t", ["x"], **options)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [dict(decimal=";"), dict(encoding="utf-9"), dict(comment=""), dict(gap=0.5), dict(long="ab"),
     dict(decimal=",", delimiter=","), dict(sheet="a")],
)  # fmt: skip
def test_a_wrong_option_is_named(tmp_path, options):
    with pytest.raises(DataError, match=f"^{next(iter(options))} must"):
        read_table(written(tmp_path, CSV), "t", ["x"], **options)
