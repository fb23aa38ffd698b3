"""`read_table` and `write_table` give the same table for every source, and errors name
the place."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orthoreg import read_table
from orthoreg._common.errors import DataError, DataWarning
from orthoreg.data import write_table

SOURCES = ["csv", "parquet", "pandas", "polars"]
# the rows of two runs are interleaved, and "late" comes first
TABLE = dict(
    time=[0.0, 0.0, 0.5, 1.0, 1.5, 3.0],
    x=[1.0, 10.0, 2.0, 20.0, 4.0, 40.0],
    u=[0.0, 1.0, 0.0, 1.0, 0.0, 1.0],
    trial=["late", "early"] * 3,
)


def table(tmp_path, source: str, columns: dict):
    """Return the columns as an object of this kind."""
    frame = pd.DataFrame(columns)
    if source in ("pandas", "polars"):
        return frame if source == "pandas" else pl.from_pandas(frame)
    path = tmp_path / f"runs.{source}"
    frame.to_csv(path, index=False) if source == "csv" else frame.to_parquet(path)
    return path


def csv(tmp_path, content: str | bytes):
    path = tmp_path / "runs.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def assert_names(caught, *words: str) -> None:
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("source", SOURCES)
def test_every_source_gives_the_same_runs(tmp_path, source):
    path = table(tmp_path, source, TABLE | {"note": ["a, b"] * 6, "dx": TABLE["x"]})
    data = read_table(path, "time", ["x"], ["u"], "trial", derivatives=["dx"], units={"x": "m"})
    assert data.labels == ("late", "early")
    assert data.offsets.tolist() == [0, 3, 6]
    assert data.times.tolist() == [0.0, 0.5, 1.5, 0.0, 1.0, 3.0]
    assert data.states.ravel().tolist() == [1.0, 2.0, 4.0, 10.0, 20.0, 40.0]
    assert data.inputs.ravel().tolist() == [0.0] * 3 + [1.0] * 3
    np.testing.assert_array_equal(data.derivatives, data.states)
    assert (data.time_name, data.state_names, data.input_names) == ("time", ("x",), ("u",))
    assert data.units == {"x": "m"}


def changed(column: str, row: int, value) -> dict:
    """Return TABLE with one cell replaced."""
    cells = list(TABLE[column])
    cells[row] = value
    return TABLE | {column: [str(c) for c in cells] if isinstance(value, str) else cells}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(
    "columns, row, words",
    [
        (changed("x", 3, "oops"), 3, ["run early", "'x'", "'oops'"]),
        (changed("x", 3, np.nan), 3, ["run early", "'x'"]),
        (changed("u", 4, np.inf), 4, ["run late", "'u'", "inf"]),
        (changed("time", 2, np.nan), 2, ["run late", "'time'"]),
        (changed("time", 5, 1.0), 5, ["run early", "'time' repeats", "1 then 1"]),
        (changed("time", 4, 0.25), 4, ["run late", "'time' goes back", "0.5 then 0.25"]),
    ],
)
def test_a_bad_cell_is_named_by_file_place_column_and_run(tmp_path, source, columns, row, words):
    path = table(tmp_path, source, columns)
    with pytest.raises(DataError) as caught:
        read_table(path, "time", ["x"], ["u"], "trial")
    where = f"line {row + 2}" if source == "csv" else f"row {row}"
    name = "the table" if source in ("pandas", "polars") else path.name
    assert_names(caught, f"{name}, {where}", *words)


@pytest.mark.parametrize("source", SOURCES)
def test_a_missing_column_gets_a_suggestion(tmp_path, source):
    path = table(tmp_path, source, TABLE)
    with pytest.raises(DataError) as caught:
        read_table(path, "time", ["x"], group="tral")
    assert_names(caught, "no column 'tral'", "Did you mean 'trial'?", "'u'")


@pytest.mark.parametrize("source", SOURCES)
def test_a_table_without_rows_is_refused(tmp_path, source):
    path = table(tmp_path, source, {name: cells[:0] for name, cells in TABLE.items()})
    with pytest.raises(DataError, match="no rows"):
        read_table(path, "time", ["x"], group="trial")


@pytest.mark.parametrize("source", SOURCES)
def test_a_constant_state_is_warned_of(tmp_path, source):
    path = table(tmp_path, source, TABLE | {"x": [0.1] * 6})
    with pytest.warns(DataWarning, match="'x' never changes"):
        read_table(path, "time", ["x"], group="trial")


@pytest.mark.parametrize("source", SOURCES)
def test_labels_of_a_numeric_column_have_no_trailing_zeros(tmp_path, source):
    columns = dict(t=[0.0, 1.0, 0.0, 1.0], x=[1.0, 2.0, 3.0, 4.0], load=[0.0, 0.0, 0.5, 0.5])
    path = table(tmp_path, source, columns)
    assert read_table(path, "t", ["x"], group="load").labels == ("0", "0.5")
    written = csv(tmp_path, "t,x,load\n0,1,0.0000\n1,2,0.0000\n0,3,0.5000\n1,4,0.5000\n")
    assert read_table(written, "t", ["x"], group="load").labels == ("0", "0.5")
    versions = csv(tmp_path, "t,x,load\n0,1,1.1\n1,2,1.1\n0,3,1.10\n1,4,1.10\n")
    assert read_table(versions, "t", ["x"], group="load").labels == ("1.1", "1.10")


def test_integer_and_text_labels_read_alike(tmp_path):
    columns = TABLE | {"trial": [7, 3] * 3}
    for source in SOURCES:
        assert read_table(
            table(tmp_path, source, columns), "time", ["x"], group="trial"
        ).labels == (
            "7",
            "3",
        )


@pytest.mark.parametrize(
    "content",
    [
        "t,x\n0,1\n1,2\n",
        b"\xef\xbb\xbft,x\n0,1\n1,2\n",
        "t,x\r\n0,1\r\n1,2\r\n",
        "t,x\n0,1\n1,2",
        '"t","x"\n"0","1"\n"1","2"\n',
        " t , x \n 0 , 1 \n 1 , 2 \n",
        "\n\nt,x\n\n0,1\n\n\n1,2\n\n",
        'n,t,x\n"a, b",0,1\n"say ""c""",1,2\n',
        "#,t,x\n#1,0,1\n#2,1,2\n",
        "x,t\n1e0,0.0\n+2.,1E0\n",
    ],
    ids=["plain", "bom", "crlf", "no-last-newline", "quoted", "padded", "blank-lines",
         "quoted-delimiter", "hash", "exponents"],
)  # fmt: skip
def test_ways_of_writing_the_same_csv(tmp_path, content):
    data = read_table(csv(tmp_path, content), "t", ["x"])
    assert (data.times.tolist(), data.states.tolist()) == ([0.0, 1.0], [[1.0], [2.0]])


def test_blank_lines_between_named_runs(tmp_path):
    path = csv(tmp_path, 't,x,run\n\n0,1,"a, 1"\n1,2,"a, 1"\n\n0,3, b \n')
    assert read_table(path, "t", ["x"], group="run").labels == ("a, 1", "b")


@pytest.mark.parametrize(
    "content, words",
    [
        ("", ["empty"]),
        ("\n \n\n", ["empty"]),
        ("t,x\n", ["no rows"]),
        ("t,x\n\n0,1\n\n1,nan\n", ["line 5", "'x'", "nan"]),
        ("t,x\n\n0,1\n\n1,\n", ["line 5", "'x' is empty"]),
        ("t,x\n0,1\n1,NA\n", ["line 3", "'x'", "'NA'"]),
        ("t,x\n0,1_000\n1,2\n", ["line 2", "'x'", "'1_000'"]),
        ("t,x,y\n0,1,2\n1\n", ["line 3", "1 field", "3"]),
        ("t,x\n0,1,5\n1,2,5\n", ["line 2", "3 fields", "2"]),
        ("t,x\n0,1\n,\n1,2\n", ["line 3", "'t' is empty"]),
        ("t,x\n0,1\nt,x\n1,2\n", ["line 3", "'t'"]),
        ("t,x,x\n0,1,2\n", ["more than one column", "'x'"]),
        ("t,x\n0,1\n1,2\n0,3\n", ["line 4", "'t' goes back", "start again", "group=..."]),
        ("t,x\n0,1\n3,2\n2,3\n4,3\n", ["line 4", "Sort the rows by 't'", "several runs"]),
        ("t,x\n0,1\n1,2\n1,3\n2,1\n3,3\n3,3\n4,1\n", ["Keep one", "(lines 4, 7)"]),
        ("t,x\n0,1\n0,2\n1,3\n1,1\n", ["line 3", "more than once", "group=..."]),
        ("t,x\n0,1\n1,4.9e300\n2,1\n", ["line 3", "4.9e+300", "too large", "1e+150"]),
        ("t,x\n0,1\n1,1e999\n", ["line 3", "inf", "not finite", "1 such row)"]),
        ("t,x\n12:30,1\n12:31,2\n", ["'12:30'", "date_format='%H:%M'"]),
        ("t,x\n0,\"1,5\"\n1,2\n", ["'1,5'", "with a point"]),
        (b"PK\x03\x04 and more", ["spreadsheet", ".xlsx"]),
        (b"PAR1 and more", [".parquet"]),
    ],
)  # fmt: skip
def test_a_bad_csv_is_named(tmp_path, content, words):
    with pytest.raises(DataError) as caught:
        read_table(csv(tmp_path, content), "t", ["x"])
    assert_names(caught, "runs.csv", *words)


def test_the_wrong_delimiter_is_noticed_when_it_was_asked_for(tmp_path):
    with pytest.raises(DataError) as caught:
        read_table(csv(tmp_path, "t,x\n0,1\n"), "t", ["x"], delimiter=";")
    assert_names(caught, "runs.csv", "delimiter=','")
    data = read_table(csv(tmp_path, "t;x\n0;1\n1;2\n"), "t", ["x"], delimiter=";")
    assert data.states.tolist() == [[1.0], [2.0]]


def test_a_given_derivative_is_named_as_the_user_names_it(tmp_path):
    path = csv(tmp_path, "t,x,speed\n0,1,1\n1,2,nan\n")
    with pytest.raises(DataError, match="line 3: column 'speed' is nan"):
        read_table(path, "t", ["x"], derivatives=["speed"])


def test_a_frame_with_two_columns_of_one_name_is_refused():
    frame = pd.DataFrame([[0.0, 1.0, 2.0]], columns=["t", "x", "x"])
    with pytest.raises(DataError, match="more than one column named 'x'"):
        read_table(frame, "t", ["x"])


@pytest.mark.parametrize(
    "choice, words",
    [
        (dict(states="x"), ["states", "['x']"]),
        (dict(states=[]), ["states"]),
        (dict(states=["x", "time"]), ["'time'", "twice"]),
        (dict(states=["x"], inputs=["x"]), ["'x'", "twice"]),
        (dict(states=["x"], derivatives=["x", "u"]), ["derivatives", "1 states"]),
        (dict(states=["x"], delimiter=",,"), ["delimiter", "',,'"]),
        (dict(states=["x"], delimiter="\n"), ["delimiter", "end of a line"]),
        (dict(states=["x"], group=" "), ["group must name a column"]),
    ],
)
def test_a_wrong_choice_of_columns_is_refused(tmp_path, choice, words):
    with pytest.raises(DataError) as caught:
        read_table(table(tmp_path, "csv", TABLE), "time", **choice)
    assert_names(caught, *words)


def test_files_that_are_no_tables_are_named(tmp_path):
    with pytest.raises(DataError, match="no file '.*nothing.csv'"):
        read_table(tmp_path / "nothing.csv", "t", ["x"])
    with pytest.raises(DataError, match="is a folder"):
        read_table(tmp_path, "t", ["x"])
    fake = tmp_path / "fake.parquet"
    fake.write_text("t,x\n0,1\n")
    with pytest.raises(
        DataError, match="fake.parquet is a damaged Parquet file, or a file of another type"
    ):
        read_table(fake, "t", ["x"])


def test_a_frame_and_its_dataset_do_not_share_numbers():
    frame = pd.DataFrame(TABLE)
    data = read_table(frame, "time", ["x"], group="trial")
    frame.loc[:, ["time", "x"]] = -1.0
    assert data.states.ravel().tolist() == [1.0, 2.0, 4.0, 10.0, 20.0, 40.0]


@given(
    cells=st.lists(st.floats(-1e150, 1e150), min_size=2, max_size=8, unique=True),
    name=st.text(st.sampled_from("ab ,\"'é"), min_size=1).filter(lambda name: name == name.strip()),
)
def test_written_tables_read_back_to_the_last_bit(tmp_path_factory, cells, name):
    path = tmp_path_factory.mktemp("tables") / "out.csv"
    write_table(path, {"t": np.arange(len(cells)), name: np.array(cells)})
    assert read_table(path, "t", [name]).states.ravel().tolist() == cells
    assert [file.name for file in path.parent.iterdir()] == ["out.csv"]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("old")
    with pytest.raises(ValueError):
        write_table(path, {"t": np.arange(3), "x": np.arange(2)})
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
